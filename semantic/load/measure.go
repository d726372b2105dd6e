package load

import (
	"slices"
	"strconv"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func (b *builder) measure(n node, e *semantic.Entity, label string, raw rawMeasure) *semantic.Measure {
	m := &semantic.Measure{
		Name: nameOf(label), Description: raw.Description, Agg: semantic.Agg(raw.Agg), Field: nameOf(raw.Field), Expr: raw.Expr,
		Filter: raw.Filter, Discrete: raw.Discrete, By: nameOf(raw.By), Separator: raw.Separator, Fill: raw.Fill,
		Unit: raw.Unit, Format: raw.Format, Tags: raw.Tags, Synonyms: raw.Synonyms, Pos: n.label(),
	}
	if raw.Expr != "" {
		m.ExprPos = b.places.text(n.child("expr").path)
	}
	if raw.Filter != "" {
		m.FilterPos = b.places.text(n.child("filter").path)
	}
	f := n.child("field").fieldOf(e, raw.Field)
	n.aggregate(m, f)
	n.arguments(m, e, raw)
	if raw.Semi != nil {
		m.Semi = n.child("semi_additive").semi(m, e, raw.Semi)
	}
	if alike(e.Fields, label, fieldName) != nil || alike(e.Dimensions, label, dimensionName) != nil {
		b.errs = append(b.errs, diag.New(diag.ModelDuplicate, "measure %q has the name of a field or dimension of entity %q", label, e.Name).At(m.Pos))
	}
	return m
}

// aggregates are all aggs, with what they take: numbers, text, values in order, or anything.
var aggregates = map[semantic.Agg]string{
	semantic.Sum: "number", semantic.Avg: "number", semantic.Median: "number", semantic.Percentile: "number",
	semantic.Stddev: "number", semantic.Variance: "number",
	semantic.Min: "order", semantic.Max: "order", semantic.StringAgg: "text",
	semantic.Count: "", semantic.CountDistinct: "", semantic.ApproxDistinct: "",
	semantic.First: "", semantic.Last: "", semantic.ListAgg: "", semantic.Custom: "",
}

// filled are the aggs whose empty groups may be filled with a number.
var filled = []semantic.Agg{semantic.Sum, semantic.Count, semantic.CountDistinct, semantic.ApproxDistinct, semantic.Custom}

// aggregate checks that the aggregate fits what it is given.
func (n node) aggregate(m *semantic.Measure, f *semantic.Field) {
	takes, ok := aggregates[m.Agg]
	if !ok {
		return // reported by CUE
	}
	if m.Agg == semantic.Percentile && m.Discrete {
		takes = "order"
	}
	kind := semantic.Kind("")
	if f != nil && f.Type != "" {
		kind = f.Type.Kind()
	}
	switch {
	case m.Field != "" && m.Expr != "":
		n.child("expr").invalid("a measure has field or expr, not both")
	case m.Agg == semantic.Custom && m.Expr == "":
		n.invalid("custom needs an expr that aggregates; measure %q has none", m.Name)
	case m.Field == "" && m.Expr == "" && m.Agg != semantic.Count:
		n.invalid("%s needs a field or an expr; measure %q has neither", m.Agg, m.Name)
	case kind == "":
	case takes == "number" && kind != semantic.KindNumber:
		n.child("agg").invalid("%s needs a number; field %q is %s", m.Agg, f.Name, f.Type)
	case takes == "order" && kind == semantic.KindOther:
		n.child("agg").invalid("%s needs values that have an order; field %q is %s", m.Agg, f.Name, f.Type)
	case takes == "text" && f.Type != "varchar":
		n.child("agg").refuse(diag.New(diag.ModelInvalid, "%s joins texts; field %q is %s", m.Agg, f.Name, f.Type).
			WithHint("write it as text: expr: %q", "CAST("+semantic.Quote(string(f.Name))+" AS VARCHAR)"))
	}
	if m.Fill != nil && !slices.Contains(filled, m.Agg) {
		n.child("fill").invalid("fill stands for groups without rows, and %s of no rows is no number", m.Agg)
	}
}

// arguments checks what some aggregates have beside their values.
func (n node) arguments(m *semantic.Measure, e *semantic.Entity, raw rawMeasure) {
	if _, ok := aggregates[m.Agg]; !ok {
		return // reported by CUE
	}
	only := func(part string, set bool, of ...semantic.Agg) bool {
		if set && !slices.Contains(of, m.Agg) {
			n.child(part).invalid("%s has no %s", m.Agg, part)
		}
		return set && slices.Contains(of, m.Agg)
	}
	if only("quantile", raw.Quantile != "", semantic.Percentile) {
		digits, value := decimalText(raw.Quantile)
		if value == nil {
			n.child("quantile").invalid("a quantile has at most 18 digits")
		}
		m.Quantile = digits
	} else if m.Agg == semantic.Percentile {
		n.invalid("percentile needs a quantile between 0 and 1, for example 0.9; measure %q has none", m.Name)
	}
	only("discrete", raw.Discrete, semantic.Percentile)
	only("separator", raw.Separator != "", semantic.StringAgg)
	only("order", len(raw.Order) > 0, semantic.StringAgg, semantic.ListAgg)
	for i, o := range raw.Order {
		n.child("order", strconv.Itoa(i), "by").ordered(e, o.By)
		m.Order = append(m.Order, semantic.OrderBy{By: nameOf(o.By), Desc: o.Desc})
	}
	picks := m.Agg == semantic.First || m.Agg == semantic.Last
	if only("by", raw.By != "", semantic.First, semantic.Last) {
		n.child("by").ordered(e, raw.By)
	} else if picks {
		n.invalid("%s needs by, the field that tells what is first and last; measure %q has none", m.Agg, m.Name)
	}
	if (picks || m.Agg == semantic.StringAgg || m.Agg == semantic.ListAgg) && len(e.PrimaryKey) == 0 {
		n.child("agg").invalid("%s takes rows in an order that the primary key completes, and entity %q declares none", m.Agg, e.Name)
	}
}

// ordered finds the field that the value of n names and checks that it has an order.
func (n node) ordered(e *semantic.Entity, name string) {
	if f := n.fieldOf(e, name); f != nil && f.Type != "" && f.Type.Kind() == semantic.KindOther {
		n.invalid("an order needs values that have one; field %q is %s", f.Name, f.Type)
	}
}

func (n node) semi(m *semantic.Measure, e *semantic.Entity, raw *rawSemiAdditive) *semantic.SemiAdditive {
	n.child("over").timeField(e, raw.Over)
	for i, name := range raw.Per {
		at := n.child("per", strconv.Itoa(i))
		at.fieldOf(e, name)
		switch {
		case name == raw.Over:
			at.invalid("%q is the time itself, and cannot have a last time for each of its values", name)
		case slices.Contains(raw.Per[:i], name):
			at.invalid("field %q is listed twice", name)
		}
	}
	if m.Agg == semantic.First || m.Agg == semantic.Last {
		n.invalid("%s picks rows by time already, and is not semi_additive as well", m.Agg)
	}
	return &semantic.SemiAdditive{Over: nameOf(raw.Over), Pick: semantic.Agg(raw.Pick), Per: namesOf(raw.Per)}
}
