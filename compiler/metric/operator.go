package metric

import (
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// operators maps what callers write to the operator's name.
var operators = map[string]string{
	"=": "=", "==": "=", "eq": "=", "equals": "=", "is": "=",
	"!=": "!=", "<>": "!=", "ne": "!=", "neq": "!=", "not_equals": "!=", "is_not": "!=",
	"<": "<", "lt": "<", "<=": "<=", "lte": "<=", "le": "<=", ">": ">", "gt": ">", ">=": ">=", "gte": ">=", "ge": ">=",
	"in": "in", "not_in": "not_in", "notin": "not_in", "nin": "not_in", "between": "between",
	"is_null": "is_null", "isnull": "is_null", "is_not_null": "is_not_null", "not_null": "is_not_null",
	"contains": "contains", "starts_with": "starts_with", "startswith": "starts_with", "ends_with": "ends_with", "endswith": "ends_with",
}

// Operators lists the operators of a filter.
var Operators = []string{"=", "!=", "<", "<=", ">", ">=", "in", "not_in", "between", "is_null", "is_not_null", "contains", "starts_with", "ends_with"}

// operator reads an operator without regard to case, blanks and underscores between words.
func operator(written string) (string, bool) {
	op, ok := operators[strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(written), "_", " ")), "_")]
	if !ok {
		return written, false
	}
	return op, true
}

// operandType is what a filter's values must fit.
type operandType struct {
	name   string
	typ    semantic.Type // "" is a number of a type that only the engine knows
	metric bool          // a whole metric may be compared with 2.5
	time   *Bucket       // for times; a Grain in it means that buckets are compared
}

// test turns a filter into a test of its operand.
func test(of operandType, f Filter) (Test, *diag.Error) {
	op, ok := operator(f.Op)
	if !ok {
		return nil, diag.New(diag.MetricFilter, "the filter on %q has no operator %q", of.name, f.Op).WithHint("the operators are %s", strings.Join(Operators, ", "))
	}
	if err := counts(of.name, op, f.Values); err != nil {
		return nil, err
	}
	values, null, err := of.operands(op, f.Values)
	if err != nil {
		return nil, err
	}
	switch op {
	case "is_null", "is_not_null":
		return Null{Not: op == "is_not_null"}, nil
	case "=", "in":
		return among(values, null), nil
	case "!=", "not_in":
		return notAmong(values, null), nil
	case "between":
		return All{values[0].from(), values[1].upTo()}, nil
	case "<":
		return values[0].below(), nil
	case "<=":
		return values[0].upTo(), nil
	case ">":
		return values[0].after(), nil
	case ">=":
		return values[0].from(), nil
	}
	return Call{op, values[0].first}, nil
}

// counts checks how many values an operator takes.
func counts(name, op string, values []any) *diag.Error {
	want := ""
	switch op {
	case "is_null", "is_not_null":
		if len(values) != 0 {
			want = "no value"
		}
	case "in", "not_in":
		if len(values) == 0 {
			want = "at least one value; an empty list would match nothing or everything"
		}
	case "between":
		if len(values) != 2 {
			want = "two values, the first and the last"
		}
	default:
		if len(values) != 1 {
			want = "one value; for several use in or not_in"
		}
	}
	if want == "" {
		return nil
	}
	return diag.New(diag.MetricFilter, "%s on %q takes %s", op, name, want)
}

// bounds is one value as literals: first, and, where the value is a whole day
// of a finer column, next: the first moment that is past it. A value between two
// neighbours of its type has the lower one as first.
type bounds struct {
	first, next string
	between     bool
	at          *moment // for times that are no buckets
}

func (v bounds) from() Test {
	if v.between {
		return Compare{">", v.first}
	}
	return Compare{">=", v.first}
}

func (v bounds) below() Test {
	if v.between {
		return Compare{"<=", v.first}
	}
	return Compare{"<", v.first}
}

func (v bounds) upTo() Test {
	if v.next != "" {
		return Compare{"<", v.next}
	}
	return Compare{"<=", v.first}
}

func (v bounds) after() Test {
	if v.next != "" {
		return Compare{">=", v.next}
	}
	return Compare{">", v.first}
}

// among holds for rows that have one of the values, or none when null is among them.
func among(values []bounds, null bool) Test {
	var parts Any
	var list []string
	for _, v := range values {
		if v.next != "" {
			parts = append(parts, All{v.from(), v.upTo()})
		} else {
			list = append(list, v.first)
		}
	}
	switch len(list) {
	case 0:
	case 1:
		parts = append(parts, Compare{"=", list[0]})
	default:
		parts = append(parts, In{Literals: list})
	}
	if null {
		parts = append(parts, Null{})
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts
}

// notAmong holds for rows that have none of the values. Rows without a value
// pass unless null is among them.
func notAmong(values []bounds, null bool) Test {
	var parts All
	var list []string
	for _, v := range values {
		if v.next != "" {
			parts = append(parts, Any{Compare{"<", v.first}, v.after()})
		} else {
			list = append(list, v.first)
		}
	}
	if len(list) == 1 && len(parts) == 0 && !null {
		return Compare{distinct, list[0]}
	}
	if len(list) > 0 {
		parts = append(parts, In{Not: true, Literals: list})
	}
	switch {
	case null && len(parts) == 0:
		return Null{Not: true}
	case null:
		return append(parts, Null{Not: true})
	case len(parts) == 1:
		return Any{parts[0], Null{}}
	}
	return Any{parts, Null{}}
}

// operands turns values into literals and tells nulls apart.
func (of operandType) operands(op string, values []any) (out []bounds, null bool, err *diag.Error) {
	if err := of.accepts(op); err != nil {
		return nil, false, err
	}
	for _, v := range values {
		if v == nil {
			null = true
			continue
		}
		b, err := of.bounds(v)
		if err != nil {
			return nil, false, err
		}
		if b.between && slices.Contains([]string{"=", "!=", "in", "not_in"}, op) {
			return nil, false, diag.New(diag.MetricFilter, "a number given for %q has more decimals than it, so it equals none", of.name).
				WithHint("%q is %s; for ranges use <, <=, >, >= or between", of.name, of.typ)
		}
		if !slices.ContainsFunc(out, func(o bounds) bool { return o.first == b.first && o.next == b.next }) {
			out = append(out, b)
		}
	}
	if null && !slices.Contains([]string{"=", "!=", "in", "not_in"}, op) {
		return nil, false, diag.New(diag.MetricFilter, "%s on %q cannot compare with null", op, of.name).WithHint("use is_null or is_not_null")
	}
	if op == "between" && len(out) == 1 {
		out = append(out, out[0])
	}
	if op == "between" && len(out) == 2 && out[0].at != nil {
		if err := alike(of.name, *out[0].at, *out[1].at); err != nil {
			return nil, false, err
		}
	}
	return out, null, nil
}

// accepts checks that an operator makes sense for a type.
func (of operandType) accepts(op string) *diag.Error {
	kind := of.kind()
	fits := true
	switch op {
	case "contains", "starts_with", "ends_with":
		fits = kind == semantic.KindText && of.typ != "uuid"
	case "<", "<=", ">", ">=", "between":
		fits = kind == semantic.KindNumber || kind == semantic.KindTime || kind == semantic.KindText
	case "is_null", "is_not_null":
	default:
		fits = kind != semantic.KindOther
	}
	if fits {
		return nil
	}
	return diag.New(diag.MetricFilter, "%q is %s, which %s does not fit", of.name, or(string(of.typ), "a number"), op)
}

func (of operandType) bounds(value any) (bounds, *diag.Error) {
	if of.time == nil {
		b, expected := of.value(value)
		if expected != "" {
			err := diag.New(diag.MetricFilter, "%q is compared with %s", of.name, expected)
			if of.typ != "" {
				err = err.WithHint("%q is %s", of.name, of.typ)
			}
			return bounds{}, err
		}
		return b, nil
	}
	text, ok := value.(string)
	if !ok {
		return bounds{}, notATime(of.name, of.time.Type)
	}
	if of.time.Grain != "" {
		return of.bucketBounds(text)
	}
	m, err := momentOf(of.name, *of.time, text)
	if err != nil {
		return bounds{}, err
	}
	out := bounds{first: must(of.time.literal(m)), at: &m}
	if m.day && of.time.Type != "date" {
		out.next = must(of.time.literal(m.nextDay()))
	}
	return out, nil
}

// value reads a value that is not a time.
func (of operandType) value(value any) (b bounds, expected string) {
	if of.kind() != semantic.KindNumber {
		b.first, expected = literal(of.typ, value)
		return b, expected
	}
	number, expected := digitsOf(value)
	if expected != "" {
		return b, expected
	}
	if whole(of.typ) && !of.metric && strings.Contains(number, ".") {
		return b, "a whole number"
	}
	f, expected := fit(of.typ, number)
	return bounds{first: f.sql, between: f.between}, expected
}

// kind is the kind of the type; a type that only the engine knows is a number.
func (of operandType) kind() semantic.Kind {
	if of.typ == "" {
		return semantic.KindNumber
	}
	return of.typ.Kind()
}

// bucketBounds reads a bucket's first day.
func (of operandType) bucketBounds(text string) (bounds, *diag.Error) {
	if withinDay(of.time.Grain) {
		return bounds{}, diag.New(diag.UnsupportedAsk, "a filter by %s buckets on %q is not supported", of.time.Grain, of.name).
			WithHint("leave the grain out and compare with times, or use time")
	}
	m, ok := parseMoment(text)
	if !ok || !m.day {
		return bounds{}, notATime(of.name, "date")
	}
	if !of.time.start(m) {
		return bounds{}, diag.New(diag.MetricFilter, "a %s of %q is named by its first day", of.time.Grain, of.name)
	}
	return bounds{first: "DATE '" + m.t.Format(dayLayout) + "'"}, nil
}

// momentOf reads a time that can be written as a literal of the column.
func momentOf(name string, tc Bucket, text string) (moment, *diag.Error) {
	m, ok := parseMoment(text)
	if !ok || (tc.Type == "date" && !m.day) {
		return moment{}, notATime(name, tc.Type)
	}
	if _, ok := tc.literal(m); !ok {
		return moment{}, diag.New(diag.MetricFilter, "a time given for %q does not exist, or comes twice, in %s: the clock changes there", name, tc.Shown).
			WithHint("write it with its offset, such as +01:00 or Z")
	}
	return m, nil
}

// alike refuses a range with one end an instant and the other a local time: its
// length would depend on the zone.
func alike(name string, from, to moment) *diag.Error {
	if from.instant == to.instant {
		return nil
	}
	return diag.New(diag.MetricFilter, "one end of the range on %q has Z or an offset and the other has none", name).
		WithHint("write both with it, or both without")
}

func notATime(name string, t semantic.Type) *diag.Error {
	if t == "date" {
		return diag.New(diag.MetricFilter, "%q is compared with dates", name).WithHint("write 2024-01-31")
	}
	return diag.New(diag.MetricFilter, "%q is compared with dates and times", name).
		WithHint("write 2024-01-31 for the whole day, or 2024-01-31 15:04:05, with Z or an offset where it matters")
}
