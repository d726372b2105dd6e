// Package rowdiff tells what two sets of rows have apart: the rows that a test
// expects and an answer's, or one question's answers before and after a change.
//
// Two values are equal when they mean the same in the answer's type. Numbers are
// compared as numbers, however they are written ("1.50" is 1.5); DOUBLE and
// FLOAT within a billionth of the greater one, since sums of them depend on the
// order of the rows; everything else exactly. NULL equals NULL alone.
package rowdiff

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"plumbline/engine/shape"
)

// Diff is what is apart. The zero value means that nothing is.
type Diff struct {
	Missing    [][]any // expected, and not answered
	Unexpected [][]any // answered, and not expected
	Reordered  bool    // the same rows, in another order than expected
}

// Empty reports that nothing is apart.
func (d Diff) Empty() bool { return len(d.Missing)+len(d.Unexpected) == 0 && !d.Reordered }

// Rows compares rows of the given columns. Each row has a value per column.
// With ordered the order counts too.
func Rows(columns []shape.Column, want, got [][]any, ordered bool) Diff {
	var d Diff
	taken := make([]bool, len(got))
	for i, w := range want {
		at := find(columns, w, got, taken, i)
		if at < 0 {
			d.Missing = append(d.Missing, w)
			continue
		}
		taken[at] = true
		d.Reordered = d.Reordered || ordered && at != i
	}
	for i, g := range got {
		if !taken[i] {
			d.Unexpected = append(d.Unexpected, g)
		}
	}
	if len(d.Missing)+len(d.Unexpected) > 0 {
		d.Reordered = false // the places have shifted
	}
	return d
}

// find gives the place of a row that is not taken yet, at its own place first.
func find(columns []shape.Column, row []any, in [][]any, taken []bool, own int) int {
	fits := func(i int) bool { return !taken[i] && equalRows(columns, row, in[i]) }
	if own < len(in) && fits(own) {
		return own
	}
	for i := range in {
		if fits(i) {
			return i
		}
	}
	return -1
}

func equalRows(columns []shape.Column, a, b []any) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range columns {
		if !Equal(c.Type, a[i], b[i]) {
			return false
		}
	}
	return true
}

// Equal compares two values of a column of a DuckDB type.
func Equal(typ string, a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if element, ok := strings.CutSuffix(typ, "[]"); ok {
		as, isA := a.([]any)
		bs, isB := b.([]any)
		return isA && isB && slices.EqualFunc(as, bs, func(x, y any) bool { return Equal(element, x, y) })
	}
	if Numeric(typ) {
		x, y := Number(a), Number(b)
		return x != nil && y != nil && near(typ, x, y)
	}
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// Numeric reports that values of a DuckDB type are numbers.
func Numeric(typ string) bool {
	base, _, _ := strings.Cut(typ, "(")
	switch base {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
		"DECIMAL", "DOUBLE", "FLOAT":
		return !strings.HasSuffix(typ, "]")
	}
	return false
}

// Number reads a number of an answer or of a model; nil for what is none.
func Number(v any) *big.Rat {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return nil
	}
	if len(text) > 400 || strings.ContainsAny(text, "/_xXpP") { // what big.Rat reads beyond decimal digits
		return nil
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); ok && len(exponent) > 4 {
		return nil // no double has it, and its digits would fill the memory
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

var tolerance = big.NewRat(1, 1e9)

func near(typ string, a, b *big.Rat) bool {
	if typ != "DOUBLE" && typ != "FLOAT" {
		return a.Cmp(b) == 0
	}
	apart := RelativeTo(a, b)
	return apart == nil || apart.Cmp(tolerance) <= 0
}

// RelativeTo gives |b - a| over the greater of |a| and |b|; nil when both are 0.
func RelativeTo(a, b *big.Rat) *big.Rat {
	greater := new(big.Rat).Abs(a)
	if other := new(big.Rat).Abs(b); other.Cmp(greater) > 0 {
		greater = other
	}
	if greater.Sign() == 0 {
		return nil
	}
	apart := new(big.Rat).Sub(b, a)
	return apart.Quo(apart.Abs(apart), greater)
}
