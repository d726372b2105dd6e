package postgres

import (
	"strings"

	"plumbline/compiler/sqlast"
)

// prefix reads an operator before its one operand.
func (t *translator) prefix(name string, place int, v value) value {
	out := value{t: v.t, at: place, scale: v.scale, padded: v.padded}
	switch {
	case name == "+" && isNumber(v.t):
		return v
	case name == "-" && isInteger(v.t):
		out.e, out.exact = op("-", fixed(v)), true
	case name == "-" && v.t == tNumeric:
		return v.mapped(func(e sqlast.Expr) sqlast.Expr { return op("-", e) })
	case name == "-" && v.t == tFloat8, name == "-" && v.t == tInterval:
		out.e = op("-", v.e)
	default:
		t.noOperator(place, name, v.t)
	}
	return out
}

func (t *translator) noOperator(place int, name string, types ...string) {
	t.refuse(place, "cast the operands to types for which docs/postgres.md lists it", "the operator %s on %s is not supported", name, strings.Join(types, " and "))
}

// fixed gives an integer of PostgreSQL's own width, so that it overflows alike.
func fixed(v value) sqlast.Expr {
	if v.exact {
		return v.e
	}
	return cast(v.e, duckTypes[v.t])
}

// infix reads an operator between two operands.
func (t *translator) infix(name string, place int, a, b value) value {
	if name == "!=" {
		name = "<>"
	}
	if comparisons[name] != "" {
		return t.comparison(name, place, a, b)
	}
	switch name {
	case "+", "-", "*", "/", "%", "^":
		return t.arithmetic(name, place, a, b)
	case "||":
		return t.concat(place, a, b)
	case "~", "~*", "!~", "!~*":
		return t.matches(name, place, a, b)
	case "~~", "!~~", "~~*", "!~~*":
		return t.likeText(name, place, t.implicit(a, tText), t.implicit(b, tText), text(`\`))
	case "->", "->>", "#>", "#>>", "@>", "?":
		return t.jsonOperator(name, place, a, b)
	case "&", "|", "#", "<<", ">>":
		return t.bits(name, place, a, b)
	}
	t.noOperator(place, name, a.t, b.t)
	return value{}
}

func (t *translator) arithmetic(name string, place int, a, b value) value {
	switch {
	case a.t == tUnknown && isNumber(b.t):
		a = t.literal(a, b.t)
	case b.t == tUnknown && isNumber(a.t):
		b = t.literal(b, a.t)
	}
	if !isNumber(a.t) || !isNumber(b.t) {
		return t.timeArithmetic(name, place, a, b)
	}
	switch to := wider(a.t, b.t); {
	case name == "^":
		return t.power(place, a, b)
	case isInteger(to):
		return t.integerArithmetic(name, place, to, a, b)
	case to == tNumeric:
		return t.numericArithmetic(name, place, a, b)
	}
	x, y := t.toDouble(a, place), t.toDouble(b, place)
	out := value{t: tFloat8, at: place}
	switch name {
	case "+", "-", "*":
		out.e = op(name, x, y)
	case "/":
		out.e = divided(a, b, y, op("/", x, y), "DOUBLE")
	default:
		t.noOperator(place, name, a.t, b.t)
	}
	return out
}

// divided fails where a divisor is zero, as PostgreSQL does and DuckDB does not. A
// dividend that is NULL makes NULL there, too.
func divided(a, by value, divisor, e sqlast.Expr, to string) sqlast.Expr {
	if by.whole != nil && *by.whole != 0 {
		return e
	}
	if f, ok := by.e.(*sqlast.Function); ok && f.Name == "nullif" && isZero(f.Args[1]) {
		return e
	}
	zero := equals(divisor, number(0))
	if a.whole == nil {
		zero = and(zero, operator("OPERATOR_IS_NOT_NULL", a.e))
	}
	return when(zero, failing(divisor, to), e)
}

func isZero(e sqlast.Expr) bool {
	c, ok := e.(*sqlast.Constant)
	return ok && c.Value.Raw == "0"
}

func (t *translator) integerArithmetic(name string, place int, to string, a, b value) value {
	out := value{t: to, at: place, exact: true}
	x, y := fixed(a), fixed(b)
	switch name {
	case "+", "-", "*":
		out.e = op(name, x, y)
	case "/":
		out.e = divided(a, b, y, op("//", x, y), duckTypes[to])
	case "%":
		out.e = divided(a, b, y, op("%", x, y), duckTypes[to])
	}
	return out
}

func (t *translator) numericArithmetic(name string, place int, a, b value) value {
	out := value{t: tNumeric, at: place, padded: a.padded || b.padded}
	switch {
	case name == "%":
		t.noOperator(place, name, a.t, b.t)
	case name == "/":
		return t.quotient(place, a, b)
	case a.approx || b.approx:
		out.approx = true
		out.e = op(name, t.toDouble(a, place), t.toDouble(b, place))
		if name == "*" && (a.quotient != nil && !b.approx || b.quotient != nil && !a.approx) {
			if a.quotient == nil {
				a, b = b, a
			}
			out.setQuotient(t.numericArithmetic("*", place, a.quotient[0], b), a.quotient[1])
		}
	default:
		out.e, out.scale = op(name, a.e, b.e), max(a.scale, b.scale)
		if name == "*" {
			out.scale = a.scale + b.scale
			if a.scale > 0 && b.scale > 0 { // DuckDB would stay within 18 digits
				out.e = op(name, decimal(a.e, maxDigits, a.scale), b.e)
			}
		}
		if isInteger(a.t) && isInteger(b.t) { // of a quotient: keep it exact
			out.e = op(name, decimal(a.e, 19, 0), decimal(b.e, 19, 0))
		}
	}
	return out
}

// quotient divides two numerics. The result is of double precision, and keeps what
// it was divided of, so that it can be rounded exactly.
func (t *translator) quotient(place int, a, b value) value {
	out := value{t: tNumeric, at: place, approx: true}
	x, y := t.toDouble(a, place), t.toDouble(b, place)
	out.e = divided(a, b, y, op("/", x, y), "DOUBLE")
	switch {
	case !a.approx && !b.approx:
		out.setQuotient(a, b)
	case a.quotient != nil && !b.approx:
		out.setQuotient(a.quotient[0], t.numericArithmetic("*", place, a.quotient[1], b))
	}
	return out
}

// setQuotient keeps two exact numbers of which the value is the quotient.
func (v *value) setQuotient(a, b value) {
	v.quotient = &[2]value{a, b}
	v.rounded = func(digits int) sqlast.Expr {
		e := call("round", quotientDigits(a, b, digits+1), number(int64(digits)))
		if b.counted {
			return e
		}
		return divided(a, b, b.e, e, "INTEGER") // which leaves a decimal as wide as it is
	}
}

// quotientDigits computes a quotient with whole numbers, cut off behind a number of
// digits: rounding that to fewer digits gives what rounding the quotient would.
// A number too large for 38 digits fails.
func quotientDigits(a, b value, digits int) sqlast.Expr {
	shift := digits + b.scale - a.scale
	x, y := wholeOf(a), wholeOf(b)
	if shift >= 0 {
		x = op("*", x, powerOfTen(shift))
	} else {
		y = op("*", y, powerOfTen(-shift))
	}
	q := decimal(op("//", x, y), maxDigits, 0)
	return op("*", q, decimal(text("0."+strings.Repeat("0", digits-1)+"1"), digits+1, digits))
}

// wholeOf gives an exact number as a whole one, without its point.
func wholeOf(v value) sqlast.Expr {
	e := v.e
	if v.scale > 0 {
		e = op("*", decimal(e, maxDigits, v.scale), decimal(text("1"+strings.Repeat("0", v.scale)), v.scale+1, 0))
	}
	return cast(e, "HUGEINT")
}

func powerOfTen(n int) sqlast.Expr { return cast(text("1"+strings.Repeat("0", n)), "HUGEINT") }

// power reads x ^ n, for whole n that are written out: others may have no result
// in PostgreSQL.
func (t *translator) power(place int, a, b value) value {
	if b.whole == nil || *b.whole < 0 || a.t == tNumeric {
		t.refuse(place, "cast the base to double precision, and write the exponent as a whole number", "this power is not supported")
	}
	return value{t: tFloat8, at: place, e: call("pow", t.toDouble(a, place), cast(b.e, "DOUBLE"))}
}

// timeArithmetic reads + and - on dates and times, and intervals times a number.
func (t *translator) timeArithmetic(name string, place int, a, b value) value {
	if a.t == tUnknown || b.t == tUnknown {
		a, b = t.timeLiteral(name, a, b), t.timeLiteral(name, b, a)
	}
	if name == "+" && (isInteger(a.t) || a.t == tInterval) && isTime(b.t) {
		a, b = b, a
	}
	out := value{t: a.t, at: place}
	switch {
	case name == "-" && a.t == tDate && b.t == tDate:
		out.t, out.exact, out.e = tInt4, true, cast(op("-", a.e, b.e), "INTEGER")
	case (name == "+" || name == "-") && a.t == tDate && (b.t == tInt4 || b.t == tInt2):
		out.e = op(name, a.e, cast(b.e, "INTEGER"))
	case (name == "+" || name == "-") && isTime(a.t) && b.t == tInterval:
		if a.t == tDate {
			out.t = tTimestamp
		}
		out.e = op(name, a.e, b.e)
	case name == "-" && isTime(a.t) && isTime(b.t) && wider(a.t, b.t) != tDate:
		to := wider(a.t, b.t)
		out.t, out.e = tInterval, op("-", t.implicit(a, to).e, t.implicit(b, to).e)
	case (name == "+" || name == "-") && a.t == tInterval && b.t == tInterval:
		out.e = op(name, a.e, b.e)
	case name == "*" && a.t == tInterval && isInteger(b.t):
		out.e = op("*", a.e, cast(b.e, "BIGINT"))
	case name == "*" && b.t == tInterval && isInteger(a.t):
		out.t, out.e = tInterval, op("*", b.e, cast(a.e, "BIGINT"))
	default:
		t.noOperator(place, name, a.t, b.t)
	}
	return out
}

// timeLiteral makes a literal what PostgreSQL takes it for beside a date or time:
// the same type when one is taken from the other, an interval when it is added.
func (t *translator) timeLiteral(name string, v, other value) value {
	if v.t != tUnknown {
		return v
	}
	switch {
	case name == "-" && isTime(other.t):
		return t.literal(v, other.t)
	case other.t == tInterval, name == "+" && (other.t == tTimestamp || other.t == tTimestamptz):
		return t.literal(v, tInterval)
	}
	t.refuse(v.at, "write its type before it, as in interval '1 day'", "the type of this literal is not certain")
	return value{}
}

// concat reads ||, which is NULL when a side is.
func (t *translator) concat(place int, a, b value) value {
	if elementOf(a.t) != "" || elementOf(b.t) != "" || a.t == tJSON || b.t == tJSON {
		t.noOperator(place, "||", a.t, b.t)
	}
	a, b = t.known(a), t.known(b)
	if a.t != tText && b.t != tText {
		t.noOperator(place, "||", a.t, b.t)
	}
	return value{t: tText, at: place, e: op("||", t.toText(a, place), t.toText(b, place))}
}

func (t *translator) bits(name string, place int, a, b value) value {
	if !isInteger(a.t) || !isInteger(b.t) || name == "<<" || name == ">>" {
		t.noOperator(place, name, a.t, b.t)
	}
	to := wider(a.t, b.t)
	x, y := fixed(a), fixed(b)
	if name == "#" {
		return value{t: to, at: place, e: call("xor", x, y), exact: true}
	}
	return value{t: to, at: place, e: op(name, x, y), exact: true}
}
