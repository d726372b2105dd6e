package postgres

import (
	"strings"

	"plumbline/compiler/sqlast"
)

// typeCast reads x::type, CAST(x AS type) and type 'literal'.
func (t *translator) typeCast(n *typeCast, s *scope) value {
	to, mods := t.typeOf(n.Type)
	place := n.Location
	if place < 0 {
		place = n.Type.Location
	}
	v := t.expr(n.Arg, s)
	if v.t == tUnknown {
		v = t.literal(v, to)
	}
	out := t.cast(v, to, mods, place)
	out.at = place
	return out
}

// typeOf reads the name of a type, with its lengths.
func (t *translator) typeOf(n *typeName) (string, []int) {
	names := t.strings(n.Names, n.Location)
	name := names[len(names)-1]
	to := typeWords[name]
	if to == "" || len(names) > 1 && names[0] != "pg_catalog" || len(n.Bounds) > 0 {
		t.refuse(n.Location, "cast to boolean, integer, bigint, numeric, double precision, text, date, timestamp, timestamptz, interval, uuid or jsonb",
			"the type %q is not supported", name)
	}
	var mods []int
	for _, m := range n.Mods {
		c, ok := m.v.(*constant)
		if !ok || c.Int == nil {
			t.refuse(n.Location, "", "this form of a type is not supported")
		}
		mods = append(mods, int(c.Int.V))
	}
	switch {
	case len(mods) == 0 || to == tText && len(mods) == 1:
	case to == tNumeric && len(mods) <= 2 && mods[0] >= 1 && mods[0] <= maxDigits:
		mods = append(mods, 0)[:2]
		if mods[1] < 0 || mods[1] > mods[0] {
			t.refuse(n.Location, "", "a numeric of this scale is not supported")
		}
	default:
		t.refuse(n.Location, "leave the length out", "a type %q of a length is not supported", name)
	}
	return to, mods
}

// cast converts a value by the rules of an explicit cast.
func (t *translator) cast(v value, to string, mods []int, place int) value {
	out := value{t: to, at: place}
	switch to {
	case tInt2, tInt4, tInt8:
		if v.whole != nil && v.t == to {
			return v
		}
		out.e, out.exact = t.toInteger(v, to, place), true
	case tNumeric:
		return t.toNumeric(v, mods, place)
	case tFloat8:
		out.e = t.toDouble(v, place)
	case tText:
		out.e = t.toText(v, place)
		if len(mods) > 0 {
			out.e = call("left", out.e, number(int64(mods[0])))
		}
	case tBool:
		out.e = t.toBoolean(v, place)
	case v.t:
		return v
	default:
		out.e = t.toOther(v, to, place)
	}
	return out
}

func (t *translator) noCast(v value, to string, place int) {
	t.refuse(place, "", "a cast of %s to %s is not supported", v.t, to)
}

// The forms of text that both systems read alike.
const (
	integerForm   = `\s*[+-]?[0-9]+\s*`
	numericForm   = `\s*[+-]?[0-9]{1,27}(\.[0-9]{0,10})?\s*`
	doubleForm    = `\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\s*`
	dateForm      = `(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}`
	timestampForm = dateForm + `([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?)?`
	uuidForm      = `[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
)

// ofForm converts a text that has a form, and fails on any other.
func ofForm(e sqlast.Expr, form, to string, args ...int) sqlast.Expr {
	fits := call("regexp_full_match", e, text(form))
	failure := to
	if len(args) > 0 {
		failure = "INTEGER" // which leaves a decimal as wide as it is
	}
	return guarded(fits, cast(e, to, args...), e, failure)
}

func (t *translator) toInteger(v value, to string, place int) sqlast.Expr {
	duck := duckTypes[to]
	switch {
	case isInteger(v.t), v.t == tBool && to == tInt4:
		return cast(v.e, duck)
	case v.t == tNumeric:
		return cast(call("round", t.exactly(v, 0, place).e, number(0)), duck)
	case v.t == tFloat8:
		return cast(call("round_even", v.e, number(0)), duck)
	case v.t == tText:
		return ofForm(v.e, integerForm, duck)
	}
	t.noCast(v, to, place)
	return nil
}

// exactly gives a numeric value that is exact, rounded to a number of digits where
// it is a quotient.
func (t *translator) exactly(v value, digits, place int) value {
	if !v.approx {
		return v
	}
	if v.rounded == nil {
		t.refuse(place, "cast it to double precision", "a numeric result of this kind has about its value here, and may round otherwise")
	}
	return value{t: tNumeric, at: v.at, scale: digits, e: t.roundedOf(v, digits)}
}

func (t *translator) toNumeric(v value, mods []int, place int) value {
	out := value{t: tNumeric, at: place, scale: v.scale}
	switch {
	case isInteger(v.t):
		out.e = decimal(v.e, 19, 0)
	case v.t == tNumeric:
		out = v
	case v.t == tFloat8:
		out.e, out.approx = v.e, true
		digits := decimal(call("printf", text("%.15g"), v.e), maxDigits, 15) // as many as PostgreSQL takes
		out.rounded = func(n int) sqlast.Expr { return call("round", digits, number(int64(n))) }
	case v.t == tText:
		out.e, out.scale, out.padded = ofForm(v.e, numericForm, "DECIMAL", maxDigits, 10), 10, true
	default:
		t.noCast(v, tNumeric, place)
	}
	if len(mods) > 0 {
		e := t.exactly(out, mods[1], place).e
		out = value{t: tNumeric, at: place, scale: mods[1], e: decimal(call("round", e, number(int64(mods[1]))), mods[0], mods[1])}
	}
	return out
}

func (t *translator) toDouble(v value, place int) sqlast.Expr {
	switch {
	case v.t == tFloat8, v.approx:
		return v.e
	case isNumber(v.t):
		return cast(v.e, "DOUBLE")
	case v.t == tText:
		return ofForm(v.e, doubleForm, "DOUBLE")
	}
	t.noCast(v, tFloat8, place)
	return nil
}

// toText writes a value as PostgreSQL does, where DuckDB does so too.
func (t *translator) toText(v value, place int) sqlast.Expr {
	switch {
	case v.t == tText:
		return v.e
	case v.t == tNumeric && (v.approx || v.padded):
		t.refuse(place, "round it first", "a numeric result of this kind is written with other digits here")
	case isInteger(v.t), v.t == tNumeric, v.t == tBool, v.t == tDate, v.t == tTimestamp, v.t == tUUID:
		return cast(v.e, "VARCHAR")
	}
	t.refuse(place, "select it as it is, or write dates and times with to_char", "a cast of %s to text is not supported", v.t)
	return nil
}

func (t *translator) toBoolean(v value, place int) sqlast.Expr {
	switch v.t {
	case tBool:
		return v.e
	case tInt4:
		return compare("COMPARE_NOTEQUAL", v.e, number(0))
	case tText:
		word := call("lower", call("trim", v.e, text(" ")))
		among := func(words []string) sqlast.Expr {
			args := []sqlast.Expr{word}
			for _, w := range words {
				args = append(args, text(w))
			}
			return operator("COMPARE_IN", args...)
		}
		known := among(append(append([]string{}, trueWords...), falseWords...))
		return guarded(known, among(trueWords), v.e, "BOOLEAN")
	}
	t.noCast(v, tBool, place)
	return nil
}

func (t *translator) toOther(v value, to string, place int) sqlast.Expr {
	switch {
	case isTime(v.t) && isTime(to):
		return cast(v.e, duckTypes[to])
	case v.t == tText && to == tDate:
		return ofForm(v.e, dateForm, "DATE")
	case v.t == tText && to == tTimestamp:
		return ofForm(v.e, timestampForm, "TIMESTAMP")
	case v.t == tText && to == tUUID:
		return ofForm(v.e, uuidForm, "UUID")
	case v.t == tText && to == tJSON:
		return guarded(call("json_valid", v.e), cast(v.e, "JSON"), v.e, "JSON")
	}
	t.noCast(v, to, place)
	return nil
}

// quoteMeta writes a text for a place in a pattern.
func quoteMeta(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
