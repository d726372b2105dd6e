package metric

import (
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// A filter may hold others, of which one or each must hold. Over dimensions alone
// it stands in each fact, before aggregation. With a metric in it, it stands
// after, where a dimension is only known that the question groups by.

// compound places a filter made of others.
func (b *builder) compound(f Filter) {
	if !b.wellFormed(f) {
		return
	}
	if b.asksMetric(f) {
		if b.main() {
			b.later = append(b.later, func() { b.after(f) })
		}
		return
	}
	ok := true
	for _, l := range b.legs {
		c, fine := b.before(l, f)
		if fine && mixed(c) {
			b.refuse(diag.New(diag.UnsupportedAsk, "a choice between what lies behind a bridge and other things is not supported: %s", choiceText(f)).
				WithHint("filter by the dimensions behind the bridge apart"))
			fine = false
		}
		if !fine {
			ok = false
			continue
		}
		l.Where = append(l.Where, c)
	}
	b.expected += len(b.legs)
	if ok {
		b.placed += len(b.legs)
		b.tell(AppliedFilter{Origin: OfCaller, Text: filterText(f)})
	}
}

// wellFormed reports that a filter and all in it are of one form each.
func (b *builder) wellFormed(f Filter) bool {
	parts := slices.Concat(f.Any, f.All)
	if len(parts) == 0 {
		if f.Field == "" {
			b.refuse(unnamed("filters", `{"field": ..., "op": ..., "values": [...]}`))
		}
		return f.Field != ""
	}
	if f.Field != "" || f.Op != "" || len(f.Values) > 0 || f.Grain != "" || len(f.Any) > 0 && len(f.All) > 0 {
		b.refuse(diag.New(diag.RequestMalformed, "a filter is a comparison, or any, or all; one entry of filters is more than one of them").
			WithHint(`write {"any": [{"field": ..., "op": ..., "values": [...]}, ...]}`))
		return false
	}
	return !slices.ContainsFunc(parts, func(x Filter) bool { return !b.wellFormed(x) })
}

// asksMetric reports that a filter, or one in it, is on an asked metric.
func (b *builder) asksMetric(f Filter) bool {
	if f.Field != "" {
		_, ok := b.askedMetric(f.Field)
		return ok
	}
	return slices.ContainsFunc(slices.Concat(f.Any, f.All), b.asksMetric)
}

// before is a filter over dimensions in one fact.
func (b *builder) before(l leg, f Filter) (Condition, bool) {
	if f.Field != "" {
		return b.compared(l, f)
	}
	out := Condition{Or: len(f.Any) > 0}
	ok := true
	for _, x := range slices.Concat(f.Any, f.All) {
		c, fine := b.before(l, x)
		ok = ok && fine
		out.Parts = append(out.Parts, c)
	}
	return b.condition(out), ok
}

// compared is one comparison in one fact.
func (b *builder) compared(l leg, f Filter) (Condition, bool) {
	var at place
	var err *diag.Error
	if fold(f.Field) == MetricTime {
		at, err = b.timeOf(l, semantic.FilterOnly)
	} else {
		at, err = b.lookup(l.fact, f.Field, l.asked, semantic.FilterOnly)
	}
	var op Operand
	if err == nil {
		op, err = b.operand(l, at, f.Grain)
	}
	if err == nil {
		err = b.noFilter(at.dim, f.Grain)
	}
	of := operandType{name: f.Field, time: op.Bucket}
	if err == nil {
		of.typ = at.dim.Type
		if of.time == nil && at.dim.Type.Kind() == semantic.KindTime {
			var col Bucket
			col, err = b.timeColumn(at.path.to.Entity, at.dim)
			of.time = &col
		}
	}
	var t Test
	if err == nil {
		t, err = test(of, f)
	}
	if err != nil {
		b.refuse(err)
		return Condition{}, false
	}
	by := filteredBy{dimension: at.dim.Name.Key()}
	for _, r := range b.reads(at.path.to.Entity, at.dim) {
		by.fields = append(by.fields, r.Key())
	}
	b.filtered[op.Table] = append(b.filtered[op.Table], by)
	return b.condition(Condition{Operand: op, Test: t}), true
}

// after is a filter over metrics and keys of the answer.
func (b *builder) after(f Filter) {
	c, ok := b.afterwards(f)
	b.expected++
	if ok {
		b.placed++
		b.plan.Having = append(b.plan.Having, c)
		b.tell(AppliedFilter{Origin: OfCaller, Text: filterText(f)})
	}
}

func (b *builder) afterwards(f Filter) (Condition, bool) {
	if f.Field == "" {
		out := Condition{Or: len(f.Any) > 0}
		ok := true
		for _, x := range slices.Concat(f.Any, f.All) {
			c, fine := b.afterwards(x)
			ok = ok && fine
			out.Parts = append(out.Parts, c)
		}
		return b.condition(out), ok
	}
	if i, ok := b.askedMetric(f.Field); ok {
		return b.onMetric(f, i)
	}
	return b.onKey(f)
}

// onKey is a comparison of a key of the answer.
func (b *builder) onKey(f Filter) (Condition, bool) {
	i := slices.IndexFunc(b.q.Dimensions, func(d DimensionRef) bool {
		return fold(d.Grain) == fold(f.Grain) && b.sameDimension(d.Name, f.Field, b.asked[0])
	})
	if i < 0 || i >= len(b.frame.Keys) {
		b.refuse(diag.New(diag.MetricFilter, "a choice between a metric and a dimension is made after aggregation, and the question does not group by %q", f.Field).
			WithHint("add %q to dimensions, or filter by it apart", f.Field))
		return Condition{}, false
	}
	of := operandType{name: f.Field, typ: b.frame.Keys[i].Type}
	if of.typ.Kind() == semantic.KindTime {
		key := b.frame.Legs[0].Keys[i]
		if key.Table != nil && key.Table.Day != nil {
			b.refuse(diag.New(diag.UnsupportedAsk, "a filter by %s, a period of a calendar, is not supported", fold(f.Grain)).
				WithHint("group by it, or use a time range with the period's first and last day"))
			return Condition{}, false
		}
		if key.Bucket == nil {
			of.time = &Bucket{Type: of.typ, Stored: utc, Shown: utc}
		} else {
			of.time = key.Bucket
		}
	}
	t, err := test(of, f)
	if err != nil {
		b.refuse(err)
		return Condition{}, false
	}
	return b.condition(Condition{Operand: Operand{Key: i + 1}, Test: t}), true
}

// choiceText says a compound filter as it was understood.
func choiceText(f Filter) string {
	word, parts := " or ", f.Any
	if len(f.All) > 0 {
		word, parts = " and ", f.All
	}
	texts := make([]string, len(parts))
	for i, x := range parts {
		texts[i] = filterText(x)
	}
	return "(" + strings.Join(texts, word) + ")"
}
