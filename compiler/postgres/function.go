package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"plumbline/compiler/sqlast"
)

// functionName gives the name of a called function, which PostgreSQL has folded.
func (t *translator) functionName(f *funcCall) string {
	names := t.strings(f.Name, f.Location)
	if len(names) > 1 && names[0] != "pg_catalog" || len(names) > 2 {
		t.refuse(f.Location, "write the function's name alone", "a function's name has no schema here")
	}
	return names[len(names)-1]
}

// call reads a call of a scalar function, an aggregate or a window function.
func (t *translator) call(f *funcCall, s *scope) value {
	name := t.functionName(f)
	switch {
	case f.Over != nil:
		return t.windowCall(name, f, s)
	case f.Star || f.Within || f.Distinct || f.Filter.v != nil || len(f.Order) > 0 || aggregates[name] != nil || name == "count":
		return t.aggregateCall(name, f, s)
	case windowOnly[name].kind != "":
		t.refuse(f.Location, "write OVER (...) behind it", "%s is a window function", name)
	}
	build := scalars[name]
	if name == "measure" || name == "aggregate" {
		t.refuse(f.Location, "leave the dialect out", "measures are called in DuckDB's dialect")
	}
	if build == nil {
		t.refuse(f.Location, "docs/postgres.md lists the functions that are read", "the function %q is not supported", name)
	}
	c := &scalarCall{t: t, name: name, at: f.Location, args: t.exprs(f.Args, s)}
	v := build(c)
	v.at = f.Location
	return v
}

// scalarCall is one call while its function gives it a value.
type scalarCall struct {
	t    *translator
	name string
	at   int
	args []value
}

func (c *scalarCall) refuse(hint, format string, args ...any) {
	c.t.refuse(c.at, hint, format, args...)
}

// takes checks the number of arguments.
func (c *scalarCall) takes(least, most int) {
	if n := len(c.args); n < least || n > most {
		c.refuse("", "%s with %d arguments is not supported", c.name, n)
	}
}

func (c *scalarCall) text(i int) sqlast.Expr { return c.t.implicit(c.args[i], tText).e }

func (c *scalarCall) double(i int) sqlast.Expr {
	if c.args[i].t == tUnknown {
		c.args[i] = c.t.literal(c.args[i], tFloat8)
	}
	if !isNumber(c.args[i].t) {
		c.bad(i)
	}
	return c.t.toDouble(c.args[i], c.at)
}

func (c *scalarCall) bad(i int) {
	c.refuse("cast it", "%s of %s is not supported", c.name, c.args[i].t)
}

// count is an argument that must be a whole number that is written out.
func (c *scalarCall) count(i int, least int64) int64 {
	n := c.args[i].whole
	if n == nil || *n < least {
		c.refuse("write it as a number", "%s takes a number from %d on there, written out", c.name, least)
	}
	return *n
}

func (c *scalarCall) integer(i int) sqlast.Expr {
	v := c.t.implicit(c.args[i], tInt4)
	return v.e
}

// textFunction takes texts and gives a text, by the same name.
func textFunction(n int) func(*scalarCall) value {
	return func(c *scalarCall) value {
		c.takes(n, n)
		args := make([]sqlast.Expr, n)
		for i := range args {
			args[i] = c.text(i)
		}
		return typed(tText, call(c.name, args...))
	}
}

// lengthOf gives an integer of one text, by DuckDB's name.
func lengthOf(duck string) func(*scalarCall) value {
	return func(c *scalarCall) value {
		c.takes(1, 1)
		return typed(tInt4, call(duck, c.text(0)))
	}
}

// doubleFunction is computed with double precision. PostgreSQL computes some with
// numeric when they are given one, more exactly: those then have about their value.
func doubleFunction(duck string, n int, guard func(c *scalarCall, args []sqlast.Expr) sqlast.Expr) func(*scalarCall) value {
	return func(c *scalarCall) value {
		c.takes(n, n)
		out := value{t: tFloat8}
		args := make([]sqlast.Expr, n)
		for i := range args {
			args[i] = c.double(i)
			if c.args[i].t == tNumeric && numericToo[c.name] {
				out.t, out.approx = tNumeric, true
			}
		}
		out.e = call(duck, args...)
		if guard != nil {
			out.e = guarded(guard(c, args), out.e, args[0], "DOUBLE")
		}
		return out
	}
}

// numericToo are the functions that PostgreSQL has for numeric as well.
var numericToo = map[string]bool{"sqrt": true, "exp": true, "ln": true, "log": true, "log10": true}

func positive(_ *scalarCall, args []sqlast.Expr) sqlast.Expr {
	return compare("COMPARE_GREATERTHAN", args[0], number(0))
}

func notNegative(_ *scalarCall, args []sqlast.Expr) sqlast.Expr {
	return compare("COMPARE_GREATERTHANOREQUALTO", args[0], number(0))
}

func withinOne(_ *scalarCall, args []sqlast.Expr) sqlast.Expr {
	return &sqlast.Between{ExprBase: nowhere, Input: args[0], Lower: number(-1), Upper: number(1)}
}

// trimmed cuts characters, or blanks, from the ends of a text.
func trimmed(duck string) func(*scalarCall) value {
	return func(c *scalarCall) value {
		c.takes(1, 2)
		chars := text(" ")
		if len(c.args) == 2 {
			chars = c.text(1)
		}
		return typed(tText, call(duck, c.text(0), chars))
	}
}

// scalars are the functions that are read. Each gives DuckDB's way to say what
// PostgreSQL means, on the types that it is given, or refuses.
var scalars map[string]func(*scalarCall) value

func init() {
	scalars = map[string]func(*scalarCall) value{
		"upper": upperCase, "lower": textFunction(1), "reverse": reverse, "md5": textFunction(1),
		"replace": textFunction(3), "translate": textFunction(3),
		"length": lengthOf("length"), "char_length": lengthOf("length"), "character_length": lengthOf("length"),
		"octet_length": lengthOf("strlen"), "ascii": lengthOf("ascii"),
		"btrim": trimmed("trim"), "ltrim": trimmed("ltrim"), "rtrim": trimmed("rtrim"),
		"substring": substring, "substr": substring, "position": position, "strpos": strpos, "left": leftRight, "right": leftRight,
		"split_part": splitPart, "lpad": pad, "rpad": pad, "repeat": repeat, "concat": concatenate, "concat_ws": concatenate,
		"starts_with": startsWith, "regexp_replace": regexpReplace, "regexp_like": regexpLike, "chr": chr, "overlay": overlay,
		"abs": absolute, "sign": signOf, "round": rounding, "trunc": rounding, "ceil": rounding, "ceiling": rounding, "floor": rounding,
		"mod": modulo, "div": division, "power": powerOf, "pow": powerOf,
		"sqrt": doubleFunction("sqrt", 1, notNegative), "exp": doubleFunction("exp", 1, nil), "ln": doubleFunction("ln", 1, positive),
		"log": doubleFunction("log10", 1, positive), "log10": doubleFunction("log10", 1, positive), "cbrt": doubleFunction("cbrt", 1, nil),
		"sin": doubleFunction("sin", 1, nil), "cos": doubleFunction("cos", 1, nil), "tan": doubleFunction("tan", 1, nil),
		"asin": doubleFunction("asin", 1, withinOne), "acos": doubleFunction("acos", 1, withinOne), "atan": doubleFunction("atan", 1, nil),
		"atan2": doubleFunction("atan2", 2, nil), "degrees": doubleFunction("degrees", 1, nil), "radians": doubleFunction("radians", 1, nil),
		"pi":  func(c *scalarCall) value { c.takes(0, 0); return typed(tFloat8, call("pi")) },
		"gcd": wholeFunction("gcd"),
		"now": clockFunction, "transaction_timestamp": clockFunction, "statement_timestamp": clockFunction,
		"extract": extract, "date_part": extract, "date_trunc": dateTrunc, "age": age, "make_date": makeDate,
		"to_char": toChar, "to_date": toDate, "to_timestamp": toTimestamp, "timezone": timezone,
		"jsonb_array_length": jsonLength, "jsonb_typeof": jsonType, "jsonb_extract_path_text": jsonPathText,
		"array_length": arrayLength, "cardinality": arrayLength, "array_to_string": arrayToString,
		"array_position": arrayPosition,
	}
}

// upperCase leaves the one letter as it is that DuckDB, unlike the C library, has a
// capital for; in a text that holds that capital, too, they cannot be told apart.
func upperCase(c *scalarCall) value {
	c.takes(1, 1)
	s, small, capital := c.text(0), text("ß"), text("ẞ")
	plain := call("upper", s)
	kept := guarded(not(call("contains", s, capital)), call("replace", plain, capital, small), s, "VARCHAR")
	return typed(tText, when(call("contains", s, small), kept, plain))
}

// reverse turns characters round. DuckDB leaves those together that are shown as
// one, so that a text with such fails.
func reverse(c *scalarCall) value {
	c.takes(1, 1)
	s := c.text(0)
	return typed(tText, guarded(equals(call("length", s), call("length_grapheme", s)), call("reverse", s), s, "VARCHAR"))
}

func substring(c *scalarCall) value {
	c.takes(2, 3)
	s := c.text(0)
	if c.args[1].t == tUnknown || c.args[1].t == tText { // from a pattern
		if len(c.args) == 3 {
			c.refuse("", "substring with an SQL pattern is not supported")
		}
		r := c.t.regex(c.args[1], false, true)
		found := call("regexp_extract", s, text(r.sql), number(int64(min(r.groups, 1))), text("s"))
		return typed(tText, when(call("regexp_matches", s, text(r.sql), text("s")), found, cast(null(), "VARCHAR")))
	}
	from := c.integer(1)
	if len(c.args) == 2 {
		return typed(tText, call("substring", s, atLeast(c.args[1], from)))
	}
	length := c.integer(2)
	// A start before the first character counts from there on.
	shorter := length
	start, count := c.args[1].whole, c.args[2].whole
	if start != nil && count != nil && *count >= 0 {
		shorter = number(max(*count+min(*start, 1)-1, 0))
	} else if n := c.args[1].whole; n == nil || *n < 1 {
		shorter = call("greatest", op("+", length, op("-", call("least", from, number(1)), number(1))), number(0))
	}
	e := call("substring", s, atLeast(c.args[1], from), shorter)
	if n := c.args[2].whole; n == nil || *n < 0 {
		bad := and(less(length, number(0)), operator("OPERATOR_IS_NOT_NULL", s), operator("OPERATOR_IS_NOT_NULL", from))
		e = when(bad, failing(length, "VARCHAR"), e)
	}
	if c.args[1].whole == nil || c.args[2].whole == nil { // greatest and least pass over NULL
		e = when(or(isNull(from), isNull(length)), cast(null(), "VARCHAR"), e)
	}
	return typed(tText, e)
}

func atLeast(v value, e sqlast.Expr) sqlast.Expr {
	if v.whole != nil {
		return number(max(*v.whole, 1))
	}
	return when(less(e, number(1)), number(1), e)
}

func position(c *scalarCall) value {
	c.takes(2, 2)
	return typed(tInt4, call("instr", c.text(0), c.text(1)))
}

func strpos(c *scalarCall) value { return position(c) }

func leftRight(c *scalarCall) value {
	c.takes(2, 2)
	return typed(tText, call(c.name, c.text(0), c.integer(1)))
}

func splitPart(c *scalarCall) value {
	c.takes(3, 3)
	if d := c.args[1].literal; d == nil || *d == "" {
		c.refuse("write the delimiter out", "split_part takes a delimiter that is written out")
	}
	return typed(tText, call("split_part", c.text(0), c.text(1), number(c.count(2, 1))))
}

func pad(c *scalarCall) value {
	c.takes(2, 3)
	fill := text(" ")
	if len(c.args) == 3 {
		if f := c.args[2].literal; f == nil || *f == "" {
			c.refuse("", "%s takes a text to fill with that is written out", c.name)
		}
		fill = c.text(2)
	}
	return typed(tText, call(c.name, c.text(0), number(c.count(1, 0)), fill))
}

func repeat(c *scalarCall) value {
	c.takes(2, 2)
	return typed(tText, call("repeat", c.text(0), number(c.count(1, 0))))
}

// concatenate passes over NULL, as DuckDB does.
func concatenate(c *scalarCall) value {
	c.takes(1, 100)
	args := make([]sqlast.Expr, len(c.args))
	for i, a := range c.args {
		a = c.t.known(a)
		if a.t == tBool {
			c.refuse("cast it to text", "%s of boolean is not supported", c.name)
		}
		args[i] = c.t.toText(a, c.at)
	}
	return typed(tText, call(c.name, args...))
}

func startsWith(c *scalarCall) value {
	c.takes(2, 2)
	return typed(tBool, call("starts_with", c.text(0), c.text(1)))
}

func chr(c *scalarCall) value {
	c.takes(1, 1)
	if n := c.count(0, 1); n > 0x10FFFF || n >= 0xD800 && n < 0xE000 {
		c.refuse("", "chr takes the number of a character")
	}
	return typed(tText, call("chr", number(*c.args[0].whole)))
}

func overlay(c *scalarCall) value {
	c.takes(3, 4)
	s, with, from := c.text(0), c.text(1), c.count(2, 1)
	length := call("length", with)
	if w := c.args[1].literal; w != nil {
		length = number(int64(utf8.RuneCountInString(*w)))
	}
	if len(c.args) == 4 {
		length = number(c.count(3, 0))
	}
	after := op("+", length, number(from))
	if n, ok := length.(*sqlast.Constant); ok {
		skipped, _ := strconv.ParseInt(n.Value.Raw, 10, 64) // number wrote it
		after = number(skipped + from)
	}
	rest := call("substring", s, after)
	return typed(tText, op("||", op("||", call("left", s, number(from-1)), with), rest))
}

// flags reads the flags of a regexp function.
func (c *scalarCall) flags(i int) (anyCase, all bool) {
	if i >= len(c.args) {
		return false, false
	}
	f := c.args[i].literal
	if f == nil || strings.Trim(*f, "gi") != "" {
		c.refuse("write 'g', 'i' or both", "these flags of %s are not supported", c.name)
	}
	return strings.Contains(*f, "i"), strings.Contains(*f, "g")
}

func regexpReplace(c *scalarCall) value {
	c.takes(3, 4)
	anyCase, all := c.flags(3)
	r := c.t.regex(c.args[1], anyCase, true)
	by := c.args[2].literal
	if by == nil || strings.Contains(strings.ReplaceAll(*by, `\`, `&`), "&") {
		c.refuse(`write a text without \`, "regexp_replace takes a replacement that is written out, without references to groups")
	}
	flags := "s"
	if all {
		flags = "sg"
	}
	return typed(tText, call("regexp_replace", c.text(0), text(r.sql), text(*by), text(flags)))
}

func regexpLike(c *scalarCall) value {
	c.takes(2, 3)
	anyCase, _ := c.flags(2)
	r := c.t.regex(c.args[1], anyCase, false)
	return typed(tBool, call("regexp_matches", c.text(0), text(r.sql), text("s")))
}

// numberArgument gives the one argument of a function on numbers.
func (c *scalarCall) numberArgument() value {
	v := c.args[0]
	if v.t == tUnknown {
		v = c.t.literal(v, tFloat8)
	}
	if !isNumber(v.t) {
		c.bad(0)
	}
	return v
}

func absolute(c *scalarCall) value {
	c.takes(1, 1)
	v := c.numberArgument()
	if isInteger(v.t) {
		return exactly(v.t, call("abs", fixed(v)))
	}
	return v.mapped(func(e sqlast.Expr) sqlast.Expr { return call("abs", e) })
}

func signOf(c *scalarCall) value {
	c.takes(1, 1)
	v := c.numberArgument()
	if v.t == tNumeric {
		return typed(tNumeric, decimal(call("sign", c.t.exactly(v, 15, c.at).e), 19, 0))
	}
	return typed(tFloat8, cast(call("sign", v.e), "DOUBLE"))
}

// rounding reads round, trunc, ceil and floor. Numeric halves are rounded away
// from zero; those of double precision to the even neighbour.
func rounding(c *scalarCall) value {
	c.takes(1, 2)
	name := map[string]string{"ceiling": "ceil"}[c.name]
	if name == "" {
		name = c.name
	}
	v := c.numberArgument()
	if isInteger(v.t) && len(c.args) == 2 {
		v = c.t.convert(v, tNumeric)
	}
	if v.t != tNumeric {
		if len(c.args) == 2 {
			c.refuse("cast the first to numeric", "PostgreSQL has no function %s of %s and integer", c.name, v.t)
		}
		x := c.t.toDouble(v, c.at)
		if name == "round" {
			return typed(tFloat8, call("round_even", x, number(0)))
		}
		return typed(tFloat8, call(name, x))
	}
	if name != "round" {
		if len(c.args) == 2 && c.count(1, 0) != 0 {
			c.refuse("", "%s to a number of digits is not supported", c.name)
		}
		return value{t: tNumeric, e: call(name, c.t.exactly(v, 15, c.at).e)}
	}
	digits := int64(0)
	if len(c.args) == 2 {
		if digits = c.count(1, 0); digits > 15 {
			c.refuse("", "round to more than 15 digits is not supported")
		}
	}
	x := c.t.exactly(v, int(digits), c.at)
	return value{t: tNumeric, scale: int(digits), padded: !v.approx && int(digits) > v.scale, e: call("round", x.e, number(digits))}
}

func modulo(c *scalarCall) value {
	c.takes(2, 2)
	return c.t.arithmetic("%", c.at, c.args[0], c.args[1])
}

func division(c *scalarCall) value {
	c.takes(2, 2)
	if !isInteger(c.args[0].t) || !isInteger(c.args[1].t) {
		c.bad(0)
	}
	v := c.t.arithmetic("/", c.at, c.args[0], c.args[1])
	return typed(tNumeric, decimal(v.e, 19, 0))
}

func powerOf(c *scalarCall) value {
	c.takes(2, 2)
	return c.t.power(c.at, c.args[0], c.args[1])
}

func wholeFunction(duck string) func(*scalarCall) value {
	return func(c *scalarCall) value {
		c.takes(2, 2)
		if !isInteger(c.args[0].t) || !isInteger(c.args[1].t) {
			c.bad(0)
		}
		to := wider(c.args[0].t, c.args[1].t)
		return exactly(to, cast(call(duck, fixed(c.args[0]), fixed(c.args[1])), duckTypes[to]))
	}
}

func arrayLength(c *scalarCall) value {
	c.takes(1, 2)
	if elementOf(c.args[0].t) == "" || len(c.args) == 2 && c.count(1, 1) != 1 || c.name == "array_length" && len(c.args) != 2 {
		c.refuse("", "%s of these arguments is not supported", c.name)
	}
	n := call("len", c.args[0].e)
	if c.name == "array_length" {
		n = call("nullif", n, number(0)) // an empty array has no dimension
	}
	return typed(tInt4, n)
}

func arrayToString(c *scalarCall) value {
	c.takes(2, 2)
	if c.args[0].t != tText+"[]" {
		c.bad(0)
	}
	return typed(tText, call("array_to_string", c.args[0].e, c.text(1)))
}

func arrayPosition(c *scalarCall) value {
	c.takes(2, 2)
	e := elementOf(c.args[0].t)
	if e == "" {
		c.bad(0)
	}
	return typed(tInt4, call("nullif", call("list_position", c.args[0].e, c.t.implicit(c.args[1], e).e), number(0)))
}
