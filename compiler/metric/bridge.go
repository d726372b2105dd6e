package metric

import (
	"slices"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// A dimension behind a bridge repeats the fact's rows, once for each partner, in
// the groups of a question that asks for it; the answer says that such groups do
// not add up. A filter on it never repeats: a row passes once when any one partner
// passes all filters behind the bridge. Where the question groups by the bridge too,
// the partners that do not pass have no group. Under weights a filter leaves only
// the parts of the partners that pass, grouped by them or not.

// mixed reports that a condition is partly behind a bridge.
func mixed(c Condition) bool {
	found := overs(c)
	return slices.ContainsFunc(found, func(t *Table) bool { return t != found[0] })
}

// PassesNull reports that a condition on dimensions holds where they have no value.
func (c Condition) PassesNull() bool {
	if len(c.Parts) == 0 {
		return c.Test != nil && !c.Test.dropsNull()
	}
	fails := func(p Condition) bool { return !p.PassesNull() }
	if c.Or {
		return slices.ContainsFunc(c.Parts, Condition.PassesNull)
	}
	return !slices.ContainsFunc(c.Parts, fails)
}

// overs gives the bridge of each comparison in a condition, nil for those without.
func overs(c Condition) []*Table {
	if len(c.Parts) == 0 {
		return []*Table{c.Operand.Table.Over()}
	}
	var out []*Table
	for _, p := range c.Parts {
		out = append(out, overs(p)...)
	}
	return out
}

// allocate makes the leaves of each leg count parts of rows where a bridge with
// weights is joined.
func (b *builder) allocate() {
	for _, l := range b.legs {
		for _, t := range l.Tables {
			if t.Bridge != nil && t.Bridge.Allocate == semantic.AllocateWeight {
				b.weigh(l, t)
			}
		}
	}
	if b.main() {
		for i, m := range b.plan.Metrics {
			b.plan.Metrics[i].Type = typeOf(m.Value)
		}
	}
}

func (b *builder) weigh(l leg, t *Table) {
	for _, leaf := range b.frame.Leaves {
		if leaf.Leg != l.Leg {
			continue
		}
		agg := leaf.Measure.Agg
		if agg != semantic.Sum && agg != semantic.Count {
			b.refuse(diag.New(diag.MetricFanOut, "metric %q has a %s, which cannot be split by the weights of %q: only sums and counts can", l.asked, agg, t.Entity.Name).
				WithHint("ask for it without the dimensions behind %q", t.Join.Name))
			continue
		}
		leaf.Weights = append(leaf.Weights, t)
		if floating(t.Entity.Field(t.Bridge.Weight).Type) {
			leaf.Type = "double"
		} else if leaf.Type != "double" {
			leaf.Type = ""
		}
	}
}

// repeated marks the metrics whose rows stand in several groups of the answer, and
// refuses what would count them several times in one.
func (p *planner) repeated() {
	repeats := func(l *Leg, key int) bool {
		over := l.Keys[key].Table.Over()
		return over != nil && over.Bridge.Allocate != semantic.AllocateWeight
	}
	of := func(leaf *Leaf) bool {
		for k := range leaf.Leg.Keys {
			if repeats(leaf.Leg, k) {
				return true
			}
		}
		return false
	}
	for i := range p.plan.Metrics {
		m := &p.plan.Metrics[i]
		Walk(m.Value, func(v Value) {
			switch v := v.(type) {
			case *Leaf:
				m.Additive = m.Additive && !of(v)
			case *Cell:
				m.Additive = m.Additive && !of(v.Leaf)
			}
		})
	}
	if t := p.plan.Kept; t != nil && t.Other >= 0 && slices.ContainsFunc(p.plan.Main().Legs, func(l *Leg) bool { return l.Keys[t.Key].Table.Over() != nil }) {
		p.refuse(diag.New(diag.UnsupportedAsk, "the rest beside the top groups of a dimension behind a bridge would count rows that the top groups have as well").
			WithHint("ask for top without other"))
	}
}
