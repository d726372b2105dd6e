package semantic

import (
	"strconv"
	"strings"

	"plumbline/semantic/diag"
)

// Mask shows something else in place of a field's values, below everything that
// an asker writes. A model's mask holds for every subject; a policy's mask stands
// on what the model's mask shows. Which of N, Width, Expr, Purpose and Scope are
// set depends on Kind. The zero value is no mask that could be applied.
type Mask struct {
	Kind       string // null, hash, redact, first, last, year, range, expression, token
	N          int    // first, last: how many characters stay
	Width      string // range: of a band, as decimal digits or as a period such as "3 months"
	Expr       string // expression: SQL over the field alone
	Purpose    string // token: columns of one purpose, scope and join domain have equal tokens for equal values
	Scope      string // token: for example a tenant
	Filterable bool   // may also be filtered, grouped and ordered by
	Pos        diag.Pos
	ExprPos    diag.Pos
}

// ParsePeriod reads a count of units, for example "7 days"; false for any other text.
func ParsePeriod(text string) (Period, bool) {
	count, unit, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(count)
	unit = strings.TrimSuffix(unit, "s")
	switch unit {
	case "day", "week", "month", "quarter", "year":
		return Period{N: n, Unit: unit}, err == nil && 0 < n && n <= maxPeriod
	}
	return Period{}, false
}

const maxPeriod = 9999
