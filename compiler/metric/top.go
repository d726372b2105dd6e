package metric

import (
	"slices"

	"plumbline/semantic/diag"
)

// maxTop bounds the groups that a question keeps by name.
const maxTop = 1000

// top plans the greatest groups of one dimension. A frame of their own finds them.
// With a row for the rest, the facts of all other frames are joined to what it
// finds, so that every aggregate of the rest is over its rows. Without, the rows of
// the answer are: it is a choice of what is shown, and changes no total or rank.
func (p *planner) top() {
	t := p.q.Top
	if t == nil || len(p.asked) == 0 {
		return
	}
	key := slices.IndexFunc(p.q.Dimensions, func(d DimensionRef) bool { return p.sameDimension(d.Name, t.Dimension, p.asked[0]) })
	by, ok := p.rows.askedMetric(t.By)
	switch {
	case t.N < 1 || t.N > maxTop:
		p.refuse(diag.New(diag.RequestMalformed, "top keeps from 1 to %d groups", maxTop).WithHint(`write {"dimension": ..., "by": ..., "n": 10}`))
	case key < 0:
		p.refuse(diag.New(diag.MetricDimension, "top keeps the groups of a dimension of the question, and %q is not among them", t.Dimension).WithHint("add it to dimensions"))
	case !ok:
		p.refuse(diag.New(diag.MetricUnknown, "top is by a metric of the question, and %q is not among them", t.By).WithHint("add it to metrics, or name one of those"))
	case !plainValue(p.plan.Metrics[by].Value):
		p.refuse(diag.New(diag.UnsupportedAsk, "top is by a metric of the groups themselves, and %q looks at other rows", t.By).WithHint("take a simple, ratio or derived metric"))
	case p.q.Totals == "subtotals" && key != 0:
		p.refuse(diag.New(diag.UnsupportedAsk, "beside subtotals, top keeps the groups of the first dimension").WithHint("put %q first in dimensions", t.Dimension))
	default:
		p.findTop(key, by)
	}
}

func (p *planner) findTop(key, by int) {
	q := p.q
	q.Dimensions = []DimensionRef{p.q.Dimensions[key]}
	b := p.frame(q)
	rows := p.rows
	p.rows = b
	value := p.value(p.asked[by], context{})
	p.rows = rows
	p.plan.Kept = &Kept{Key: key, Frame: b.frame, By: value, N: p.q.Top.N, Other: -1}
	b.frame.Whole = true
	if p.q.Top.Other {
		p.plan.Kept.Other = len(p.q.Dimensions)
	} else if p.q.Totals != "" {
		p.plan.Warnings = append(p.plan.Warnings, "totals are over all groups, not only those that top keeps")
	}
}

// plainValue reports that a value reads only the leaves of its own row.
func plainValue(v Value) bool {
	switch v := v.(type) {
	case *Leaf:
		return true
	case *Ratio:
		return plainValue(v.Num) && plainValue(v.Den)
	case *Apply:
		return !slices.ContainsFunc(v.Args, func(a Value) bool { return !plainValue(a) })
	}
	return false
}
