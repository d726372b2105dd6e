package metric

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"

	"plumbline/semantic/diag"
)

// interval is what comparisons leave of one operand's values. A bound without a
// literal is open.
type interval struct{ low, high bound }

// bound is one end of an interval; the literal itself belongs to it unless strict.
type bound struct {
	literal string
	strict  bool
}

// narrow keeps the filters on one operand together, and refuses those that no
// value can pass: an empty answer would look like a finding.
func (b *builder) narrow(field string, op Operand, t Test) {
	key := fmt.Sprintf("%p %p %s", op.Table, op.Metric, op.Column)
	if op.Bucket != nil {
		key += " " + op.Bucket.Grain
	}
	if op.Bins != nil {
		key += fmt.Sprint(*op.Bins)
	}
	in := b.ranges[key]
	if in == nil {
		in = &interval{}
		b.ranges[key] = in
	}
	if in.add(t); in.empty() {
		b.refuse(diag.New(diag.MetricFilter, "the filters on %q exclude each other: no value passes all of them", field).
			WithHint("between takes the smaller value first; filters and time ranges all apply together; for a choice of values use in"))
	}
}

// add narrows the interval by every comparison that must hold.
func (in *interval) add(t Test) {
	switch t := t.(type) {
	case All:
		for _, x := range t {
			in.add(x)
		}
	case Compare:
		at := bound{t.Literal, t.Op == "<" || t.Op == ">"}
		if t.Op == "=" || strings.HasPrefix(t.Op, ">") {
			in.low = tighter(in.low, at, 1)
		}
		if t.Op == "=" || strings.HasPrefix(t.Op, "<") {
			in.high = tighter(in.high, at, -1)
		}
	}
}

// tighter gives the bound that leaves less; sign is 1 for lower bounds, -1 for upper ones.
func tighter(a, b bound, sign int) bound {
	if a.literal == "" {
		return b
	}
	switch c := compareLiterals(a.literal, b.literal) * sign; {
	case c > 0, c == 0 && a.strict:
		return a
	}
	return b
}

func (in *interval) empty() bool {
	if in.low.literal == "" || in.high.literal == "" {
		return false
	}
	c := compareLiterals(in.low.literal, in.high.literal)
	return c > 0 || (c == 0 && (in.low.strict || in.high.strict))
}

// compareLiterals orders two literals of one type as the engine does: numbers by
// value, texts by their bytes. Times are written so that their texts are in order.
func compareLiterals(a, b string) int {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if okX && okY {
		return x.Cmp(y)
	}
	return cmp.Compare(unquoted(a), unquoted(b))
}

// unquoted is a text literal's text; other literals stay as they are.
func unquoted(literal string) string {
	text, ok := strings.CutPrefix(literal, "'")
	if !ok {
		return strings.TrimSuffix(literal, "'") // a time: a fraction sorts behind none
	}
	return strings.ReplaceAll(strings.TrimSuffix(text, "'"), "''", "'")
}
