package metric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// filteredBy remembers that the caller filters a table, for the model's default
// and required filters.
type filteredBy struct {
	fields    []string // keys of the fields the filter reads
	dimension string   // its key
	supplies  bool     // plain comparisons of the bare column with literals
}

// filters places the question's filters.
func (b *builder) filters() {
	for _, f := range b.q.Filters {
		if len(f.Any) > 0 || len(f.All) > 0 {
			b.compound(f)
			continue
		}
		if f.Field == "" {
			b.refuse(unnamed("filters", `{"field": ..., "op": ..., "values": [...]}`))
			continue
		}
		if i, ok := b.askedMetric(f.Field); ok {
			if !b.main() {
				continue // it filters the rows of the answer
			}
			if err := b.alsoDimension(f.Field, i); err != nil {
				b.refuse(err)
				continue
			}
			b.later = append(b.later, func() { b.having(f, i) })
			continue
		}
		if m := b.metric(semantic.Name(f.Field)); m != nil && len(b.places(b.legs[0].fact, f.Field)) == 0 {
			b.refuse(diag.New(diag.MetricFilter, "a filter on a metric needs the metric in the question, and %q is not asked for", f.Field).
				WithHint("add %q to metrics", m.Name))
			continue
		}
		b.dimensionFilter(f.Field, f.Grain, filterText(f), func(name string, t semantic.Type, tc *Bucket) (Test, *diag.Error) {
			return test(operandType{name: name, typ: t, time: tc}, f)
		})
	}
}

// metricFilters places the filters on metrics.
func (b *builder) metricFilters() {
	for _, place := range b.later {
		place()
	}
}

// askedMetric finds the asked metric that a filter names: NAME, or metric.NAME
// where no dimension is spelled so.
func (b *builder) askedMetric(name string) (int, bool) {
	key := fold(name)
	if rest, ok := strings.CutPrefix(key, metricPrefix); ok && len(b.dimensionsCalled(name)) == 0 {
		key = rest
	}
	i := slices.IndexFunc(b.asked, func(m *semantic.Metric) bool { return m.Name.Key() == key })
	return i, i >= 0
}

// metricPrefix tells a metric from a dimension of the same name.
const metricPrefix = "metric."

// dimensionsCalled spells, as entity.dimension, what a name means beside metrics.
func (b *builder) dimensionsCalled(name string) []string {
	var out []string
	for _, l := range b.legs {
		for _, p := range b.places(l.fact, name) {
			spelled := string(p.path.to.Entity.Name) + "." + string(p.dim.Name)
			if !slices.Contains(out, spelled) {
				out = append(out, spelled)
			}
		}
	}
	return out
}

// alsoDimension refuses a filter whose name is an asked metric and a dimension too.
func (b *builder) alsoDimension(name string, i int) *diag.Error {
	dims := b.dimensionsCalled(name)
	if len(dims) == 0 {
		return nil
	}
	return diag.New(diag.MetricAmbiguous, "%q is a metric of the question and a dimension", name).
		WithHint("write %s%s for the metric, %s for the dimension", metricPrefix, b.asked[i].Name, listed(dims))
}

// having places a filter on an asked metric; it applies after aggregation.
func (b *builder) having(f Filter, i int) {
	c, ok := b.onMetric(f, i)
	if !ok {
		return
	}
	b.expected, b.placed = b.expected+1, b.placed+1
	b.plan.Having = append(b.plan.Having, c)
	b.narrow(f.Field, c.Operand, c.Test)
	b.tell(AppliedFilter{Origin: OfCaller, Text: filterText(f)})
}

// onMetric is a comparison of an asked metric.
func (b *builder) onMetric(f Filter, i int) (Condition, bool) {
	m := &b.plan.Metrics[i]
	of := operandType{name: m.Label, typ: m.Type, metric: true}
	switch {
	case f.Grain != "":
		b.refuse(diag.New(diag.MetricGrain, "a grain belongs to a time dimension, and %q is a metric", f.Field).WithHint("leave the grain out"))
		return Condition{}, false
	case m.Type == "date":
		of.time = &Bucket{Type: "date", Stored: utc, Shown: utc}
	case m.Type.Kind() == semantic.KindTime:
		b.refuse(diag.New(diag.UnsupportedAsk, "metric %q is a %s, and such metrics cannot be filtered by", f.Field, m.Type).
			WithHint("filter by a time dimension, or ask without the filter"))
		return Condition{}, false
	}
	t, err := test(of, f)
	if err != nil {
		b.refuse(err)
		return Condition{}, false
	}
	return b.condition(Condition{Operand: Operand{Metric: m}, Test: t}), true
}

// dimensionFilter places one filter of the caller in every leg.
func (b *builder) dimensionFilter(field, grain, text string, make func(string, semantic.Type, *Bucket) (Test, *diag.Error)) {
	places, ok := b.placesOf(field, semantic.FilterOnly)
	if ok {
		ok = b.placeFilter(places, field, grain, make)
	}
	if !ok {
		b.notPlaced(places)
		return
	}
	told := AppliedFilter{Origin: OfCaller, Text: text}
	if fold(field) != MetricTime {
		told.Entity = places[0].path.to.Entity.Name
	}
	b.tell(told)
}

// notPlaced remembers what a refused filter would have been about: asking for it
// once more as a required filter would be no help.
func (b *builder) notPlaced(places []place) {
	for i, p := range places {
		if p.dim != nil {
			b.refused = append(b.refused, refusedFilter{b.legs[i].Leg, p.path.key(), p.dim.Field.Key()})
		}
	}
}

// refusedFilter is a filter of the caller that stands in no leg, by what it would have read.
type refusedFilter struct {
	leg         *Leg
	path, field string
}

// placeFilter puts a filter in every leg; false when it was refused.
func (b *builder) placeFilter(places []place, field, grain string, make func(string, semantic.Type, *Bucket) (Test, *diag.Error)) bool {
	b.expected += len(b.legs)
	for i, l := range b.legs {
		p := places[i]
		op, err := b.operand(l, p, grain)
		if err == nil {
			err = b.noFilter(p.dim, grain)
		}
		if err != nil {
			b.refuse(err)
			return false
		}
		tc := op.Bucket
		if tc == nil && p.dim.Type.Kind() == semantic.KindTime {
			col, err := b.timeColumn(p.path.to.Entity, p.dim)
			if err != nil {
				b.refuse(err)
				return false
			}
			tc = &col
		}
		t, err := make(field, p.dim.Type, tc)
		if err != nil {
			b.refuse(err)
			return false
		}
		l.Where = append(l.Where, b.condition(Condition{Operand: op, Test: t}))
		b.placed++
		b.narrow(field, op, t)
		by := filteredBy{dimension: p.dim.Name.Key(), supplies: grain == "" && p.dim.Field != "" && p.dim.Bins == nil && plain(t)}
		for _, r := range b.reads(p.path.to.Entity, p.dim) {
			by.fields = append(by.fields, r.Key())
		}
		b.filtered[op.Table] = append(b.filtered[op.Table], by)
	}
	return true
}

// plain reports whether a test is comparisons of its column with literals that
// rows without a value do not pass: what a required filter accepts.
func plain(t Test) bool {
	switch t := t.(type) {
	case Compare:
		return t.Op != distinct
	case In:
		return !t.Not
	case All:
		return !slices.ContainsFunc(t, func(x Test) bool { return !plain(x) })
	}
	return false
}

// timeRanges places the question's time ranges: from <= field < to, and the
// whole last day when to is a day.
func (b *builder) timeRanges() {
	for _, r := range b.q.Time {
		if r.Field == "" {
			b.refuse(unnamed("time", `{"field": "metric_time", "from": ..., "to": ...}`))
			continue
		}
		b.dimensionFilter(r.Field, "", rangeText(r), func(name string, t semantic.Type, tc *Bucket) (Test, *diag.Error) {
			if tc == nil {
				return nil, diag.New(diag.MetricFilter, "a time range is on a time dimension, and %q is %s", name, t.Kind()).WithHint("use filters")
			}
			if tc.Type == "date" && withinDay(unitOf(r)) {
				return nil, diag.New(diag.MetricFilter, "%q is a date, and %ss are parts of a day", name, unitOf(r)).
					WithHint("ask for days, weeks, months, quarters or years")
			}
			return rangeTest(name, *tc, r)
		})
		if n := len(b.plan.Applied); n > 0 && relativeWords(r) != nil && b.plan.Applied[n-1].Text == rangeText(r) {
			b.plan.Applied[n-1].Counted = true
		}
	}
}

func rangeTest(name string, tc Bucket, r TimeRange) (Test, *diag.Error) {
	var out All
	var first, last moment
	for i, end := range []string{r.From, r.To} {
		if end == "" {
			continue
		}
		m, err := momentOf(name, tc, end)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			first = m
			out = append(out, Compare{">=", must(tc.literal(m))})
			continue
		}
		last = m
		if m.day {
			m = m.nextDay()
		}
		out = append(out, Compare{"<", must(tc.literal(m))})
	}
	if len(out) == 0 {
		return nil, diag.New(diag.MetricFilter, "a time range on %q needs from, to or both", name)
	}
	if len(out) == 2 {
		if err := alike(name, first, last); err != nil {
			return nil, err
		}
	}
	if len(out) == 2 && (last.t.Before(first.t) || (last.t.Equal(first.t) && !last.day)) {
		return nil, diag.New(diag.MetricFilter, "the time range on %q is empty: it ends before it starts", name).
			WithHint("from is the first moment kept; a date as to is kept whole")
	}
	return out, nil
}

// must is for moments that momentOf has tried.
func must(sql string, _ bool) string { return sql }

// rangeText says a range as it was understood: a relative one with its dates.
func rangeText(r TimeRange) string {
	parts := relativeWords(r)
	if r.From != "" {
		parts = append(parts, "from "+r.From)
	}
	if r.To != "" {
		parts = append(parts, "to "+r.To)
	}
	return r.Field + " " + strings.Join(parts, " ")
}

// filterText says a filter as it was understood.
func filterText(f Filter) string {
	if len(f.Any) > 0 || len(f.All) > 0 {
		return choiceText(f)
	}
	op, _ := operator(f.Op)
	field := f.Field
	if f.Grain != "" {
		field += " by " + fold(f.Grain)
	}
	text := field + " " + op
	if len(f.Values) > 0 {
		raw, err := json.Marshal(f.Values)
		if err != nil {
			return text
		}
		text += " " + string(raw)
	}
	if (op == "!=" || op == "not_in") && !slices.Contains(f.Values, nil) {
		text += " (rows without a value are kept)"
	}
	return text
}

// modelFilters places the model's own filters on every table of the plan, and
// refuses a table whose required filter the caller does not supply. On a joined
// entity they stand in ON: its filtered rows are gone, the fact's rows stay.
func (b *builder) modelFilters() {
	for _, l := range slices.Concat(b.legs, b.sides) {
		for _, t := range l.Tables {
			if t.Parent == nil && l.Conversion != nil {
				continue // they stand with the base events
			}
			for _, f := range t.Entity.Filters {
				if f.Kind == semantic.RequiredFilter {
					b.required(l, t, f)
					continue
				}
				overridden := f.Kind == semantic.DefaultFilter && t.Rollup == nil && b.overrides(t, f)
				b.applied(t, f, overridden)
				if overridden {
					continue
				}
				expr := b.expr(t, f.Expr)
				c := b.condition(Condition{Model: &expr, By: f.Name})
				if t.Parent == nil {
					l.Where = append(l.Where, c)
				} else {
					t.Filters = append(t.Filters, c)
				}
			}
		}
	}
}

// overriding lets the caller's filters take the place of the model's default ones
// where they are themselves left out: the total that a share is of is over what
// the caller could have chosen.
func (b *builder) overriding() {
	var walk func(f Filter)
	walk = func(f Filter) {
		for _, x := range slices.Concat(f.Any, f.All) {
			walk(x)
		}
		if f.Field == "" || fold(f.Field) == MetricTime {
			return
		}
		for _, l := range b.legs {
			for _, at := range b.places(l.fact, f.Field) {
				i := slices.IndexFunc(l.Tables, func(t *Table) bool { return t.path == at.path.key() })
				if i < 0 {
					continue
				}
				by := filteredBy{dimension: at.dim.Name.Key()}
				for _, r := range b.reads(at.path.to.Entity, at.dim) {
					by.fields = append(by.fields, r.Key())
				}
				b.filtered[l.Tables[i]] = append(b.filtered[l.Tables[i]], by)
			}
		}
	}
	for _, f := range b.planner.q.Filters {
		walk(f)
	}
}

func (b *builder) overrides(t *Table, f *semantic.Filter) bool {
	for _, l := range b.legs {
		if l.Conversion != nil && l.Conversion.Base.Tables[0] == t {
			t = l.Tables[0] // what the caller filters of the base events
		}
	}
	return slices.ContainsFunc(b.filtered[t], func(by filteredBy) bool {
		for _, n := range append([]semantic.Name{f.Field}, f.Unless...) {
			if n != "" && (by.dimension == n.Key() || slices.Contains(by.fields, n.Key())) {
				return true
			}
		}
		return false
	})
}

func (b *builder) required(l leg, t *Table, f *semantic.Filter) {
	if slices.ContainsFunc(b.filtered[t], func(by filteredBy) bool { return by.supplies && slices.Contains(by.fields, f.Field.Key()) }) {
		b.applied(t, f, false)
		return
	}
	if slices.Contains(b.refused, refusedFilter{l.Leg, t.path, f.Field.Key()}) {
		return // it is there, and its own mistake is told
	}
	refusal := diag.New(diag.PolicyRequired, "%q is asked with a filter on %q", t.Entity.Name, f.Field)
	d := b.dimensionOf(b.entity(t.Entity.Name), f.Field)
	if d == nil {
		b.refuse(refusal.WithHint("no dimension names that field, so metric questions cannot filter by it; ask in SQL, or let the model name it as a dimension"))
		return
	}
	name, common := b.spellRequired(l, t, d)
	hint := fmt.Sprintf(`add {"field": %q, "op": "=", "values": [...]} to filters`, name)
	if d.Type.Kind() == semantic.KindTime {
		hint = fmt.Sprintf(`add {"field": %q, "from": "2024-01-01", "to": "2024-01-31"} to time, with your dates`, name)
	}
	if !common {
		hint = fmt.Sprintf("the other metrics have no such dimension: ask %q apart, and there %s", l.asked, hint)
	}
	b.refuse(refusal.WithHint("%s", hint))
}

// dimensionOf gives the dimension through which a caller filters by a field, nil without one.
func (s *scope) dimensionOf(vis *resolve.Visible, field semantic.Name) *semantic.Dimension {
	for _, d := range vis.Entity.Dimensions {
		if d.Field.Key() == field.Key() && s.dimension(vis, d.Name) != nil {
			return d
		}
	}
	return nil
}

// spellRequired spells a dimension so that a filter on it can be placed in every
// leg; false when there is no such spelling.
func (b *builder) spellRequired(l leg, t *Table, d *semantic.Dimension) (string, bool) {
	p := path{to: b.entity(t.Entity.Name)}
	for at := t; at.Parent != nil; at = at.Parent {
		p.roles = slices.Insert(p.roles, 0, at.Join)
	}
	own := b.spell(l.fact, place{p, d})
	if t.Parent == nil && t.Entity.TimeDimension.Key() == d.Name.Key() {
		own = MetricTime
	}
	for _, try := range []string{own, b.spell(l.fact, place{p, d}), string(t.Entity.Name) + "." + string(d.Name)} {
		if !slices.ContainsFunc(b.legs, func(o leg) bool { return !b.leadsTo(o, try, d) }) {
			return try, true
		}
	}
	return own, false
}

// leadsTo reports that a filter under the spelling can be placed in a leg.
func (b *builder) leadsTo(l leg, spelling string, d *semantic.Dimension) bool {
	if spelling == MetricTime {
		_, err := b.timeOf(l, semantic.FilterOnly)
		return err == nil
	}
	found := b.places(l.fact, spelling)
	return len(found) == 1 && found[0].dim == d
}

// applied tells of a model filter once. Its condition is shown only when the
// subject may filter by all that it reads.
func (b *builder) applied(t *Table, f *semantic.Filter, overridden bool) {
	out := AppliedFilter{Origin: FilterOrigin(f.Kind), Entity: t.Entity.Name, Name: f.Name, Text: or(f.Description, string(f.Name)), Overridden: overridden}
	if b.spelledOut(t, f) {
		out.Text = f.Expr
	}
	if !slices.Contains(b.plan.Applied, out) {
		b.tell(out)
	}
}

// spelledOut reports that a filter's condition may be shown to the subject.
func (b *builder) spelledOut(t *Table, f *semantic.Filter) bool {
	vis := b.entity(t.Entity.Name)
	return f.Expr != "" && !slices.ContainsFunc(b.columns(t.Entity, f.Expr), func(p resolve.Place) bool { return vis.Fields[p.Column.Key()] < semantic.FilterOnly })
}

// tell reports a filter to the caller. The other frames have those of the first.
func (b *builder) tell(f AppliedFilter) {
	if b.main() {
		b.plan.Applied = append(b.plan.Applied, f)
	}
}
