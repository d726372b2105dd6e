package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// The types of PostgreSQL, by the names it uses itself; a list has [] behind its
// element's. opaque is what is shown and counted and nothing more.
const (
	tBool        = "boolean"
	tInt2        = "smallint"
	tInt4        = "integer"
	tInt8        = "bigint"
	tNumeric     = "numeric"
	tFloat8      = "double precision"
	tText        = "text"
	tDate        = "date"
	tTimestamp   = "timestamp"
	tTimestamptz = "timestamptz"
	tInterval    = "interval"
	tJSON        = "jsonb"
	tUUID        = "uuid"
	tUnknown     = "unknown" // a literal in quotes, or NULL, whose type its use decides
	tOpaque      = "opaque"
)

// value is an expression with the type that PostgreSQL gives it.
type value struct {
	e       sqlast.Expr
	t       string
	at      int     // byte of the asked text
	literal *string // of tUnknown: what stands in quotes; nil for NULL
	exact   bool    // integers: DuckDB's type is this one, too
	scale   int     // numeric: digits behind the point, no fewer than PostgreSQL has
	padded  bool    // numeric: PostgreSQL may show another number of digits
	// approx: numeric in PostgreSQL and double precision here. rounded then gives
	// the value at a number of digits as PostgreSQL rounds it; nil when that is not
	// sure. quotient are the two exact numbers that it was divided of, if it was.
	approx   bool
	rounded  func(digits int) sqlast.Expr
	quotient *[2]value
	whole    *int64 // the value of a whole number that is a literal
	counted  bool   // a count of rows as a divisor: zero of them have no mean
}

func (v value) isNull() bool { return v.t == tUnknown && v.literal == nil }

// typed is an expression of a type; exact says that DuckDB's type is the same.
func typed(t string, e sqlast.Expr) value { return value{e: e, t: t, at: -1} }

func exactly(t string, e sqlast.Expr) value { return value{e: e, t: t, at: -1, exact: true} }

// typeOfField is the PostgreSQL type of a model's type, with the scale of a
// decimal. Types that PostgreSQL lacks or computes with otherwise are opaque.
func typeOfField(t semantic.Type) value {
	base, args, _ := strings.Cut(string(t), "(")
	switch base {
	case "boolean":
		return value{t: tBool}
	case "smallint":
		return value{t: tInt2, exact: true}
	case "integer":
		return value{t: tInt4, exact: true}
	case "bigint":
		return value{t: tInt8, exact: true}
	case "decimal":
		_, scale, _ := strings.Cut(strings.TrimSuffix(args, ")"), ",")
		n, err := strconv.Atoi(strings.TrimSpace(scale))
		if err != nil {
			return value{t: tOpaque}
		}
		return value{t: tNumeric, scale: n}
	case "double":
		return value{t: tFloat8}
	case "varchar":
		return value{t: tText}
	case "date", "timestamp", "timestamptz", "uuid", "interval":
		return value{t: base}
	case "json":
		return value{t: tJSON}
	}
	return value{t: tOpaque}
}

// duckTypes are the names that DuckDB has for the types.
var duckTypes = map[string]string{
	tBool: "BOOLEAN", tInt2: "SMALLINT", tInt4: "INTEGER", tInt8: "BIGINT", tFloat8: "DOUBLE", tText: "VARCHAR",
	tDate: "DATE", tTimestamp: "TIMESTAMP", tTimestamptz: "TIMESTAMP WITH TIME ZONE", tInterval: "INTERVAL", tUUID: "UUID", tJSON: "JSON",
}

// typeWords are the names that a cast may use.
var typeWords = map[string]string{
	"bool": tBool, "int2": tInt2, "int4": tInt4, "int8": tInt8, "numeric": tNumeric, "float8": tFloat8,
	"text": tText, "varchar": tText, "date": tDate, "timestamp": tTimestamp, "timestamptz": tTimestamptz,
	"interval": tInterval, "jsonb": tJSON, "uuid": tUUID,
}

var (
	integers = []string{tInt2, tInt4, tInt8}
	numbers  = []string{tInt2, tInt4, tInt8, tNumeric, tFloat8}
	times    = []string{tDate, tTimestamp, tTimestamptz}
)

func isInteger(t string) bool { return slices.Contains(integers, t) }
func isNumber(t string) bool  { return slices.Contains(numbers, t) }
func isTime(t string) bool    { return slices.Contains(times, t) }

// elementOf gives the type of a list's elements, "" for what is no list.
func elementOf(t string) string {
	e, ok := strings.CutSuffix(t, "[]")
	if !ok {
		return ""
	}
	return e
}

// wider is the type to which both sides of an operator, or two branches of a
// result, are converted without being asked; "" when PostgreSQL wants a cast.
func wider(a, b string) string {
	for _, family := range [][]string{numbers, times} {
		if i, j := slices.Index(family, a), slices.Index(family, b); i >= 0 && j >= 0 {
			return family[max(i, j)]
		}
	}
	if a == b {
		return a
	}
	return ""
}

// common finds the one type of several values that stand for each other, as in
// CASE, COALESCE, VALUES and UNION, and converts them to it.
func (t *translator) common(what string, place int, list []value) (string, []value) {
	to := ""
	for _, v := range list {
		switch {
		case v.t == tUnknown:
		case to == "":
			to = v.t
		case wider(to, v.t) == "":
			t.refuse(place, "cast one of them", "%s of %s and %s have no common type", what, to, v.t)
		default:
			to = wider(to, v.t)
		}
	}
	if to == "" {
		to = tText
	}
	out := make([]value, len(list))
	for i, v := range list {
		out[i] = t.implicit(v, to)
	}
	return to, out
}

// implicit converts a value to a type that it has without being asked: a literal
// in quotes becomes what its use wants, an integer a larger number.
func (t *translator) implicit(v value, to string) value {
	switch {
	case v.t == to:
		return v
	case v.t == tUnknown:
		return t.literal(v, to)
	case v.t == tOpaque:
		t.refuse(v.at, "", "values of this type, and masked ones, are shown and nothing more")
	case wider(v.t, to) != to:
		t.refuse(v.at, fmt.Sprintf("cast it: ::%s", to), "%s is expected, not %s", to, v.t)
	}
	return t.convert(v, to)
}

// convert casts a value to another type of its family.
func (t *translator) convert(v value, to string) value {
	out := value{t: to, at: v.at}
	switch {
	case to == tNumeric:
		out.e = v.e // DuckDB computes with integers and decimals together
		if v.whole == nil && isInteger(v.t) {
			out.e = decimal(v.e, 19, 0)
		}
	default:
		out.e, out.exact = cast(v.e, duckTypes[to]), true
	}
	return out
}

// alternative makes one value of several that may be its own, by a function that
// can be given them rounded, too.
func (t *translator) alternative(to string, place int, list []value, of func([]sqlast.Expr) sqlast.Expr) value {
	out := result(to, place, list, of(exprsOf(list)))
	if out.approx && !slices.ContainsFunc(list, func(v value) bool { return v.approx && v.rounded == nil }) {
		out.rounded = func(digits int) sqlast.Expr {
			exact := make([]sqlast.Expr, len(list))
			for i, v := range list {
				exact[i] = t.roundedTo(v, digits)
			}
			return of(exact)
		}
	}
	return out
}

// roundedOf computes a value once more, as PostgreSQL rounds it.
func (t *translator) roundedOf(v value, digits int) sqlast.Expr {
	t.worked(nodeCost)
	return v.rounded(digits)
}

// roundedTo gives a numeric value at a number of digits.
func (t *translator) roundedTo(v value, digits int) sqlast.Expr {
	if v.approx {
		return t.roundedOf(v, digits)
	}
	return call("round", v.e, number(int64(digits)))
}

// mapped gives the numeric value that a function makes of another's, rounded or not.
func (v value) mapped(f func(sqlast.Expr) sqlast.Expr) value {
	out := value{t: v.t, at: v.at, scale: v.scale, padded: v.padded, approx: v.approx, e: f(v.e)}
	if rounded := v.rounded; rounded != nil {
		out.rounded = func(digits int) sqlast.Expr { return f(rounded(digits)) }
	}
	return out
}

// result makes one value of several alternatives that have one type already.
func result(to string, place int, list []value, e sqlast.Expr) value {
	out := value{t: to, at: place, e: e, exact: true}
	for _, v := range list {
		out.exact = out.exact && (v.exact || v.isNull())
		out.scale = max(out.scale, v.scale)
		out.approx = out.approx || v.approx
		out.padded = out.padded || v.padded || v.scale != list[0].scale
	}
	return out
}
