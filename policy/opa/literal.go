package opa

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"

	"plumbline/semantic"
)

// columnSQL is a field as conditions compare it: a uuid as its text, and a
// floating value as null where JSON, and so Rego, has no number for it.
func columnSQL(f *semantic.Field) string {
	c := semantic.Quote(string(f.Name))
	switch f.Type {
	case "uuid":
		return "CAST(" + c + " AS VARCHAR)"
	case "float", "double":
		return "CASE WHEN isfinite(" + c + ") THEN " + c + " END"
	}
	return c
}

// literal prints a known value as a literal of the field's type. A value of
// another type, or one that SQL would round, is refused. The value itself never
// stands in the error: it may be a claim.
func (pr printer) literal(expr *ast.Expr, f *semantic.Field, t *ast.Term) (string, error) {
	var sql string
	ok := false
	switch v := t.Value.(type) {
	case ast.String:
		switch f.Type.Kind() {
		case semantic.KindText:
			sql, ok = semantic.QuoteText(string(v)), !strings.ContainsRune(string(v), 0)
		case semantic.KindTime:
			sql, ok = timeLiteral(f.Type, string(v))
		}
	case ast.Number:
		if f.Type.Kind() == semantic.KindNumber {
			sql, ok = numberLiteral(f.Type, string(v))
		}
	case ast.Boolean:
		sql, ok = strconv.FormatBool(bool(v)), f.Type.Kind() == semantic.KindBoolean
	}
	if !ok {
		return "", pr.refuse(expr, "a field is compared with a value of its type; %q is %s", f.Name, f.Type).
			WithHint("%s", wanted(f.Type))
	}
	return sql, nil
}

func wanted(t semantic.Type) string {
	switch {
	case t == "date":
		return `write the date as "2006-01-02"`
	case t == "timestamp":
		return `write the moment as "2006-01-02T15:04:05", without a zone`
	case t == "timestamptz":
		return `write the moment as "2006-01-02T15:04:05Z"`
	case t.Kind() == semantic.KindNumber:
		return "write a plain number that the type holds exactly"
	case t.Kind() == semantic.KindOther:
		return "such a field can be tested for null only"
	}
	return "check the type of a claim before comparing it, as the library's functions do"
}

var plainNumber = regexp.MustCompile(`^-?([0-9]{1,38})(?:\.([0-9]{1,38}))?$`)

// numberLiteral prints a number that compares exactly with the type.
func numberLiteral(t semantic.Type, text string) (string, bool) {
	parts := plainNumber.FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	switch base, args, _ := strings.Cut(string(t), "("); base {
	case "float", "double":
		return floatLiteral(text)
	case "decimal":
		whole, scale := decimalDigits(args)
		fits := max(whole, len(parts[1]))+max(scale, len(parts[2])) <= 38
		return text, fits
	}
	exact, _ := new(big.Rat).SetString(text)
	return exact.Num().String(), exact.IsInt() && exact.Num().IsInt64()
}

// decimalDigits reads "p,s)" as digits before and after the point; DuckDB's
// default is 18,3.
func decimalDigits(args string) (whole, scale int) {
	p, s, _ := strings.Cut(strings.TrimSuffix(args, ")"), ",")
	precision, err := strconv.Atoi(strings.TrimSpace(p))
	if err != nil {
		return 15, 3
	}
	scale, err = strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		scale = 0
	}
	return precision - scale, scale
}

// floatLiteral prints the shortest text of the float64, and only for a number
// that is that text: DuckDB reads a literal with an exponent as DOUBLE.
func floatLiteral(text string) (string, bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return "", false
	}
	short := strconv.FormatFloat(v, 'e', -1, 64)
	asked, _ := new(big.Rat).SetString(text)
	got, _ := new(big.Rat).SetString(short)
	return short, asked.Cmp(got) == 0
}

// timeLiteral prints a date or moment of the years 1 to 9999, to the microsecond.
func timeLiteral(t semantic.Type, text string) (string, bool) {
	layouts := map[semantic.Type]string{"date": "2006-01-02", "timestamp": "2006-01-02T15:04:05", "timestamptz": time.RFC3339}
	at, err := time.Parse(layouts[t], text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 || at.Nanosecond()%1000 != 0 {
		return "", false
	}
	switch t {
	case "date":
		return "DATE '" + at.Format("2006-01-02") + "'", true
	case "timestamp":
		return "TIMESTAMP '" + at.Format("2006-01-02 15:04:05.999999") + "'", true
	}
	return "TIMESTAMPTZ '" + at.UTC().Format("2006-01-02 15:04:05.999999") + "+00'", true
}
