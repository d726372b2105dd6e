package metric

import (
	"fmt"
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// leaf gives the aggregate of a simple metric's measure, under the conditions of
// all metrics that it is part of. Metrics that need the same value share one leaf.
func (b *builder) leaf(m *semantic.Metric, measure *semantic.Measure, where []semantic.Where) *Leaf {
	fact := b.entity(m.Entity)
	id := identity(fact.Entity, measure, m.Filter, where)
	for _, l := range b.frame.Leaves {
		if l.id == id {
			return l
		}
	}
	form := ""
	if measure.Semi != nil {
		form = semiAdditive
	}
	l := b.legOf(fact, b.asking, form)
	out := &Leaf{Index: len(b.frame.Leaves), Leg: l.Leg, Measure: measure, Fill: measure.Fill, id: id}
	b.frame.Leaves = append(b.frame.Leaves, out)
	b.aggregate(out, l.Tables[0])
	if m.Filter != "" && m.Filter != measure.Filter {
		out.Filters = append(out.Filters, b.expr(l.Tables[0], m.Filter))
	}
	for _, w := range where {
		if c, ok := b.whereCondition(l, m, w); ok {
			out.Where = append(out.Where, c)
		}
	}
	b.filterable(out, m)
	if measure.Agg == semantic.ApproxDistinct {
		b.warn(fmt.Sprintf("%s is approximate: a distinct count that is off by about 2 %%", b.asking))
	}
	return out
}

// aggregate fills what a measure says of its leaf over a table.
func (b *builder) aggregate(out *Leaf, fact *Table) {
	measure := out.Measure
	var of semantic.Type
	switch {
	case measure.Field != "":
		f := fact.Entity.Field(measure.Field)
		of = f.Type
		out.Arg = &Expr{Table: fact, Text: semantic.Quote(string(f.Name)), Columns: []resolve.Place{{Column: f.Name}}}
	case measure.Expr != "":
		arg := b.expr(fact, measure.Expr)
		out.Arg = &arg
	}
	if measure.Filter != "" {
		out.Filters = append(out.Filters, b.expr(fact, measure.Filter))
	}
	out.Order = sorts(fact.Entity, measure)
	out.Type = leafType(measure, of)
}

// filterable refuses a condition on rows where an aggregate takes none.
func (b *builder) filterable(l *Leaf, m *semantic.Metric) {
	if l.Measure.Agg != semantic.Custom || len(l.Filters)+len(l.Where) == 0 && l.Measure.Semi == nil {
		return
	}
	if slices.ContainsFunc(resolve.AggregateCalls(l.Arg.Text), func(c resolve.AggregateCall) bool { return c.Macro }) {
		b.refuse(diag.New(diag.UnsupportedAsk, "metric %q filters rows of an aggregate that takes no filter", m.Name).
			WithHint("write the measure %q with sum and count in place of wavg or geomean", m.Measure))
	}
}

// identity tells values apart: what is aggregated, over which rows, and what
// stands where there are none.
func identity(e *semantic.Entity, m *semantic.Measure, filter string, where []semantic.Where) string {
	filters := slices.DeleteFunc([]string{m.Filter, filter}, func(s string) bool { return s == "" })
	slices.Sort(filters)
	conditions := make([]string, len(where))
	for i, w := range where {
		conditions[i] = fmt.Sprintf("%q %q %q %#v", fold(w.Field), w.Op, fold(w.Grain), w.Values)
	}
	slices.Sort(conditions)
	fill, semi := "", ""
	if m.Fill != nil {
		fill = fmt.Sprint(*m.Fill)
	}
	if m.Semi != nil {
		semi = fmt.Sprintf("%q", *m.Semi)
	}
	return fmt.Sprintf("%q %q %q %q %q %q %t %q %v %q %s %s %q", e.Name.Key(), m.Agg, m.Field.Key(), m.Expr, slices.Compact(filters),
		m.Quantile, m.Discrete, m.By.Key(), m.Order, m.Separator, semi, fill, slices.Compact(conditions))
}

// sorts is the order in which an aggregate reads its rows, completed so that only
// equal values can change places: by the primary key, then by the value itself.
// The first of them is the row that first and last take.
func sorts(e *semantic.Entity, m *semantic.Measure) []Sort {
	var out []Sort
	desc := false
	switch m.Agg {
	case semantic.First, semantic.Last:
		out = append(out, Sort{m.By, m.Agg == semantic.Last})
		desc = true // ties go to the greatest primary key
	case semantic.StringAgg, semantic.ListAgg:
		for _, o := range m.Order {
			out = append(out, Sort{o.By, o.Desc})
		}
	default:
		return nil
	}
	for _, k := range e.PrimaryKey {
		if !slices.ContainsFunc(out, func(s Sort) bool { return s.Column.Key() == k.Key() }) {
			out = append(out, Sort{k, desc})
		}
	}
	return append(out, Sort{"", desc})
}

// Reads are the fields of the fact that a leaf reads as it aggregates, its
// conditions aside.
func (l *Leaf) Reads() []semantic.Name {
	var out []semantic.Name
	if l.Arg != nil {
		for _, p := range l.Arg.Columns {
			if p.Parameter == "" {
				out = append(out, p.Column)
			}
		}
	}
	for _, s := range l.Order {
		if s.Column != "" {
			out = append(out, s.Column)
		}
	}
	return out
}

// measureFields are the fields that a measure reads beside its expressions.
func measureFields(e *semantic.Entity, m *semantic.Measure) []semantic.Name {
	var out []semantic.Name
	if m.Field != "" {
		out = append(out, m.Field)
	}
	for _, s := range sorts(e, m) {
		if s.Column != "" {
			out = append(out, s.Column)
		}
	}
	if m.Semi != nil {
		out = append(append(out, m.Semi.Over), m.Semi.Per...)
	}
	return out
}

// understood reports whether every part of a measure has the form that its
// aggregate takes; a part that is not read would be left out in silence.
func understood(e *semantic.Entity, m *semantic.Measure) bool {
	arg := m.Field != "" || m.Expr != ""
	number := m.Field == "" || e.Field(m.Field) == nil || e.Field(m.Field).Type.Kind() == semantic.KindNumber
	ok := m.Field == "" || m.Expr == ""
	switch m.Agg {
	case semantic.Count:
	case semantic.Sum, semantic.Avg, semantic.Min, semantic.Max, semantic.CountDistinct, semantic.ApproxDistinct:
		ok = ok && arg
	case semantic.Median, semantic.Stddev, semantic.Variance:
		ok = ok && arg && number
	case semantic.Percentile:
		ok = ok && arg && (number || m.Discrete) && quantile(m.Quantile)
	case semantic.First, semantic.Last:
		ok = ok && arg && m.By != ""
	case semantic.StringAgg, semantic.ListAgg:
		ok = ok && arg
	case semantic.Custom:
		ok = m.Expr != "" && m.Field == ""
	default:
		return false
	}
	if m.Semi != nil {
		ok = ok && m.Semi.Over != "" && (m.Semi.Pick == semantic.First || m.Semi.Pick == semantic.Last)
	}
	ranked := m.Agg == semantic.StringAgg || m.Agg == semantic.ListAgg
	return ok && (m.Quantile == "" || m.Agg == semantic.Percentile) && (!m.Discrete || m.Agg == semantic.Percentile) &&
		(m.By == "" || m.Agg == semantic.First || m.Agg == semantic.Last) && (len(m.Order) == 0 || ranked) &&
		(m.Separator == "" || m.Agg == semantic.StringAgg)
}

// quantile reports whether digits are a number between 0 and 1.
func quantile(digits string) bool {
	return plainNumber.MatchString(digits) && compareLiterals(digits, "0") > 0 && compareLiterals(digits, "1") < 0
}

// leafType is DuckDB's type of an aggregate; "" when it depends on an expression.
func leafType(m *semantic.Measure, of semantic.Type) semantic.Type {
	switch m.Agg {
	case semantic.Count, semantic.CountDistinct, semantic.ApproxDistinct:
		return "bigint"
	case semantic.Avg, semantic.Median, semantic.Stddev, semantic.Variance:
		return "double"
	case semantic.Percentile:
		if !m.Discrete {
			return "double"
		}
	case semantic.StringAgg:
		return "varchar"
	case semantic.ListAgg:
		return "list"
	case semantic.Sum:
		return sumType(of)
	}
	return of
}

func sumType(of semantic.Type) semantic.Type {
	switch {
	case whole(of):
		return "hugeint"
	case floating(of):
		return "double"
	}
	if _, scale, exact := precision(of); exact {
		return semantic.Type(fmt.Sprintf("decimal(38,%d)", scale))
	}
	return ""
}

// diverges goes by what is aggregated: a floating field, or a number computed
// from one or by a division.
func (l *Leaf) diverges() bool {
	if slices.ContainsFunc(l.Weights, func(t *Table) bool { return floating(t.Entity.Field(t.Bridge.Weight).Type) }) {
		return true
	}
	if l.Arg == nil {
		return false
	}
	reads := slices.ContainsFunc(l.Arg.Columns, func(p resolve.Place) bool {
		return p.Parameter == "" && floating(l.Arg.Table.Entity.Field(p.Column).Type)
	})
	switch l.Measure.Agg {
	case semantic.Count, semantic.CountDistinct, semantic.ApproxDistinct, semantic.StringAgg, semantic.ListAgg:
		return false
	case semantic.Sum, semantic.Avg, semantic.Median, semantic.Stddev, semantic.Variance, semantic.Custom:
		return reads || divides(l.Arg.Text)
	case semantic.Percentile:
		if !l.Measure.Discrete {
			return reads || divides(l.Arg.Text)
		}
	}
	return floating(l.Type) // of an expression, the others may be text
}

func divides(text string) bool {
	return slices.ContainsFunc(sqlast.Tokens(text), func(t sqlast.Token) bool {
		return t.Kind == sqlast.Symbol && text[t.Start:t.End] == "/"
	})
}

// warn tells the reader of the answer something once.
func (p *planner) warn(text string) {
	if !slices.Contains(p.plan.Warnings, text) {
		p.plan.Warnings = append(p.plan.Warnings, text)
	}
}
