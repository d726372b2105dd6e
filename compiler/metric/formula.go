package metric

import (
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// value resolves a metric to leaf aggregates in a context. metric has checked that
// all of it is there. nil when it was refused.
func (p *planner) value(m *semantic.Metric, c context) Value {
	c = c.filtered(m.Where)
	switch m.Kind {
	case semantic.RatioMetric:
		return p.ratio(p.part(m, m.Numerator, c), p.part(m, m.Denominator, c))
	case semantic.DerivedMetric:
		return p.derived(m, c)
	case semantic.CumulativeMetric:
		return p.cumulative(m, c)
	case semantic.CompareMetric:
		return p.compare(m, c)
	case semantic.ShareMetric:
		return p.share(m, c)
	case semantic.RankMetric:
		return p.rank(m, c)
	case semantic.ConversionMetric, semantic.SimpleMetric:
		return p.cell(m, c)
	}
	p.fail(diag.New(diag.BugInternal, "metric %q has no kind", m.Name))
	return nil
}

// part is a metric that m is made from. Both are leaves of the main frame, so
// that the rows of the answer are those that m has.
func (p *planner) part(m *semantic.Metric, name semantic.Name, c context) Value {
	of := p.catalog.Metric(name)
	if of == nil {
		p.fail(diag.New(diag.BugInternal, "metric %q is made from one that is not there", m.Name))
		return nil
	}
	return p.value(of, c)
}

func (p *planner) ratio(num, den Value) Value {
	if num == nil || den == nil {
		return nil
	}
	return &Ratio{Num: num, Den: den}
}

func minus(a, b Value) Value {
	if a == nil || b == nil {
		return nil
	}
	return &Apply{Kind: resolve.DerivedOperator, Text: "-", Args: []Value{a, b}}
}

// derived computes arithmetic over metrics.
func (p *planner) derived(m *semantic.Metric, c context) Value {
	tree, ok := p.exprs.Derived(m.Name)
	if !ok {
		p.fail(diag.New(diag.BugInternal, "the expression of metric %q was never checked", m.Name))
		return nil
	}
	return p.arithmetic(m, tree, c)
}

func (p *planner) arithmetic(m *semantic.Metric, d *resolve.Derived, c context) Value {
	switch d.Kind {
	case resolve.DerivedMetric:
		return p.part(m, d.Name, c)
	case resolve.DerivedParameter:
		return p.parameter(d.Name)
	}
	out := &Apply{Kind: d.Kind, Text: d.Text}
	for _, a := range d.Args {
		v := p.arithmetic(m, a, c)
		if v == nil {
			return nil
		}
		out.Args = append(out.Args, v)
	}
	return out
}

// cell is one measure's value in a context. The main frame always has the leaf as
// well: it is what gives the answer its rows.
func (p *planner) cell(m *semantic.Metric, c context) Value {
	here := p.rows.measured(m, c)
	if c.here() {
		return here
	}
	if c.run != nil && !p.accumulates(m, c) {
		return nil
	}
	if c.cut {
		return p.toDate(m, c)
	}
	return p.looked(m, c)
}

// looked is a measure's value in another context.
func (p *planner) looked(m *semantic.Metric, c context) Value {
	l := p.sourceOf(c, m)
	if l == nil {
		return nil
	}
	return l.cell(m, c)
}

// toDate is an earlier value of a measure like for like: cut in the period that the
// data of its own fact end in, whole in all others.
func (p *planner) toDate(m *semantic.Metric, c context) Value {
	cut := p.looked(m, c)
	c.cut = false
	whole := p.looked(m, c)
	if cut == nil || whole == nil {
		return nil
	}
	key, ok := p.timeKey(c, m)
	if !ok {
		return nil
	}
	return &ToDate{Cut: cut, Whole: whole, Mark: p.watermark(m, key)}
}

func (l *lookup) cell(m *semantic.Metric, c context) Value {
	if l.Run == nil {
		return inCells(l.part.measured(m, c), l.Source)
	}
	if !l.part.holistic(m, l.Run) {
		return inCells(l.part.parts(m, c), l.Source)
	}
	l.part.leg(l.part.entity(m.Entity), l.part.asking) // for the groups and buckets that there are
	if l.whole == nil {
		l.whole = l.part.frameAgain()
		l.whole.frame.Over, l.Source.Whole = l.Source, l.whole.frame
		for _, kept := range l.Levels {
			l.whole.level(kept)
		}
	}
	return inCells(l.whole.measured(m, c), l.Source)
}

// inCells reads the leaves of a value from a source.
func inCells(v Value, s *Source) Value {
	switch v := v.(type) {
	case *Leaf:
		return &Cell{Source: s, Leaf: v}
	case *Ratio:
		return &Ratio{Num: inCells(v.Num, s), Den: inCells(v.Den, s)}
	}
	return nil
}

// frameAgain begins another frame that asks the same.
func (b *builder) frameAgain() *builder { return b.planner.frame(b.q) }

// share divides a metric by its total.
func (p *planner) share(m *semantic.Metric, c context) Value {
	of := p.catalog.Metric(m.Of)
	total := c
	total.all = total.all || m.Share.Scope == "all"
	drop, ok := p.totalled(m)
	if !ok {
		return nil
	}
	total = total.dropping(drop)
	return p.ratio(p.value(of, c), p.value(of, total))
}

// totalled gives the keys that the total of a share is over.
func (p *planner) totalled(m *semantic.Metric) ([]int, bool) {
	if m.Share.Scope == "parent" {
		i, ok := p.finest(m)
		return []int{i}, ok
	}
	keep, ok := p.within(m, m.Share.Within)
	var drop []int
	for i := range p.q.Dimensions {
		if !slices.Contains(keep, i) {
			drop = append(drop, i)
		}
	}
	return drop, ok
}

// within finds the keys that a metric names; they must be in the question.
func (p *planner) within(m *semantic.Metric, names []string) ([]int, bool) {
	var out []int
	ok := true
	for _, name := range names {
		i := slices.IndexFunc(p.q.Dimensions, func(d DimensionRef) bool { return p.sameDimension(d.Name, name, m) })
		if i < 0 {
			p.refuse(diag.New(diag.MetricDimension, "metric %q is counted within %q, which the question does not group by", m.Name, name).
				WithHint("add %q to dimensions", name))
			ok = false
			continue
		}
		out = append(out, i)
	}
	slices.Sort(out)
	return slices.Compact(out), ok
}

// sameDimension reports that two spellings mean one dimension beside a metric.
func (p *planner) sameDimension(a, b string, m *semantic.Metric) bool {
	if fold(a) == fold(b) {
		return true
	}
	for _, fact := range p.facts(m) {
		x, y := p.places(fact, a), p.places(fact, b)
		if len(x) != 1 || len(y) != 1 || x[0].dim != y[0].dim || x[0].path.key() != y[0].path.key() {
			return false
		}
	}
	return true
}

// finest is the key that a share of the parent leaves out: the lowest level of a
// hierarchy that the question has, else its last dimension.
func (p *planner) finest(m *semantic.Metric) (int, bool) {
	if len(p.q.Dimensions) == 0 {
		p.refuse(diag.New(diag.MetricDimension, "metric %q is the part of a parent group, and the question has no dimensions", m.Name).
			WithHint("group by one dimension for its part of the whole, by two for the last one's part of the first"))
		return 0, false
	}
	fact := p.facts(m)[0]
	level := func(i int) (h *semantic.Hierarchy, at int) {
		found := p.places(fact, p.q.Dimensions[i].Name)
		if len(found) != 1 {
			return nil, -1
		}
		for _, h := range found[0].path.to.Entity.Hierarchies {
			if at := slices.IndexFunc(h.Levels, func(n semantic.Name) bool { return n.Key() == found[0].dim.Name.Key() }); at >= 0 {
				return h, at
			}
		}
		return nil, -1
	}
	best, depth := len(p.q.Dimensions)-1, -1
	var of *semantic.Hierarchy
	for i := range p.q.Dimensions {
		h, at := level(i)
		if h == nil || of != nil && h != of {
			continue
		}
		of = h
		if at > depth {
			best, depth = i, at
		}
	}
	return best, true
}

// rank numbers the rows of the answer; what it ranks stands in the same row.
func (p *planner) rank(m *semantic.Metric, c context) Value {
	if !c.here() {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q is a rank, and ranks are given for the groups of the answer alone", m.Name).
			WithHint("compare or share what it ranks, %q", m.Of))
		return nil
	}
	if t := p.q.Top; t != nil && t.Other && (m.Rank.Asc || fold(t.By) != m.Of.Key() && fold(t.By) != m.Name.Key()) {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q ranks all groups by %q, and top gives one name to all but those that are greatest by %q", m.Name, m.Of, t.By).
			WithHint("leave other out, or ask for the rank apart"))
		return nil
	}
	within, ok := p.within(m, m.Rank.Within)
	of := p.part(m, m.Of, c)
	if !ok || of == nil {
		return nil
	}
	ties := m.Rank.Ties
	if ties == "" {
		ties = "rank"
	}
	return &Ranked{Of: of, Asc: m.Rank.Asc, Ties: ties, Within: within}
}

// compare sets a metric beside what it was earlier.
func (p *planner) compare(m *semantic.Metric, c context) Value {
	of := p.catalog.Metric(m.Of)
	at := c.shifted(m.Compare.Offset)
	if m.Compare.ToDate {
		if c.run != nil || c.cut {
			p.refuse(diag.New(diag.UnsupportedAsk, "metric %q is compared to date, which a metric that runs over time is by itself", m.Name))
			return nil
		}
		at.cut = true
	}
	then := p.value(of, at)
	if warning := "totals over time have no earlier value but beside a time range, which moves as a whole"; p.q.Totals != "" && len(p.timed(of)) == 0 && !slices.Contains(p.plan.Warnings, warning) {
		p.plan.Warnings = append(p.plan.Warnings, warning)
	}
	switch m.Compare.Give {
	case "difference":
		return minus(p.value(of, c), then)
	case "growth":
		return p.ratio(minus(p.value(of, c), then), then)
	}
	p.value(of, c) // the rows of the answer are those of now
	return then
}

// additive reports that the groups of a metric add up to their total.
func (s *scope) additive(m *semantic.Metric) bool {
	switch m.Kind {
	case semantic.SimpleMetric:
		e := s.entity(m.Entity)
		return e.Entity.Measure(m.Measure).Additive()
	case semantic.DerivedMetric:
		return linear(m.Expr) && !slices.ContainsFunc(m.Reads, func(n semantic.Name) bool { return !s.additive(s.catalog.Metric(n)) })
	case semantic.ConversionMetric:
		return m.Conversion.Give == "count"
	}
	return false
}

// linear reports that an expression only adds and subtracts.
func linear(expr string) bool {
	return !strings.ContainsAny(expr, "*/(0123456789$<>=") && !strings.Contains(strings.ToLower(expr), "case")
}
