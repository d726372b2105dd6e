package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// line is one row of an answer: its key by dimension, its values by metric.
// over has the dimensions that a row of totals is over.
type line struct {
	scope  scope
	key    []any
	values []any
	over   []bool
	other  bool
}

// answer evaluates a question that can be answered.
func (o *oracle) answer(q metric.Question) []line {
	a := &asked{o, q, location(cmp.Or(q.Zone, o.catalog.Time.Zone))}
	lines := a.groups(scope{asked: a}, q.Dimensions, q.Metrics...)
	a.fill(lines)
	if q.Top != nil {
		lines = a.top(lines)
	}
	lines = slices.DeleteFunc(lines, func(l line) bool { return !a.passes(l) })
	lines = append(lines, a.totals()...) // of all groups, also those that a filter on metrics drops
	slices.SortStableFunc(lines, a.order)
	if q.Offset > 0 {
		lines = lines[min(q.Offset, len(lines)):]
	}
	if q.Limit != nil {
		lines = lines[:min(*q.Limit, len(lines))]
	}
	return lines
}

// facts are the entities whose rows a metric aggregates.
func (o *oracle) facts(name string) []*semantic.Entity {
	m := o.catalog.Metric(semantic.Name(name))
	var parts []semantic.Name
	switch m.Kind {
	case semantic.SimpleMetric:
		return []*semantic.Entity{o.catalog.Entity(m.Entity)}
	case semantic.RatioMetric:
		parts = []semantic.Name{m.Numerator, m.Denominator}
	case semantic.DerivedMetric:
		parts = m.Reads
	case semantic.ConversionMetric:
		parts = []semantic.Name{m.Conversion.Base}
	default:
		parts = []semantic.Name{m.Of}
	}
	var out []*semantic.Entity
	for _, p := range parts {
		out = append(out, o.facts(string(p))...)
	}
	return out
}

// groups are the keys of the rows behind metrics, together with the days that a
// cumulative metric runs over.
func (a *asked) groups(s scope, dims []metric.DimensionRef, metrics ...string) []line {
	var out []line
	seen := map[string]bool{}
	add := func(key []any) {
		id := ""
		for _, v := range key {
			id += text(v) + "\x00"
		}
		if seen[id] {
			return
		}
		seen[id] = true
		at := s
		for i, d := range dims {
			at = at.is(d, key[i])
		}
		at.present = at.present || len(dims) == 0
		out = append(out, line{scope: at, key: key, over: make([]bool, len(dims))})
	}
	if len(dims) == 0 {
		add(nil)
	}
	looking := s
	looking.by = dims
	for _, name := range metrics {
		for _, e := range a.facts(name) {
			for _, w := range looking.rowsOf(e, nil) {
				add(s.key(e, w, dims))
			}
		}
	}
	var keys [][]any
	switch {
	case slices.ContainsFunc(metrics, func(n string) bool { return a.cumulativeIn(n) != nil }):
		beyond := looking
		beyond.forever = true // a window reaches back before the range
		for _, name := range metrics {
			for _, e := range a.facts(name) {
				for _, w := range beyond.rowsOf(e, nil) {
					if s.inWindow(e, w, a.cumulativeIn(name), dims) {
						keys = append(keys, s.key(e, w, dims))
					}
				}
			}
		}
		for _, l := range out {
			keys = append(keys, l.key)
		}
	case a.q.FillGaps:
		for _, l := range out {
			keys = append(keys, l.key)
		}
	default:
		return out
	}
	a.spine(s, dims, metrics, keys, add)
	return out
}

func (s scope) key(e *semantic.Entity, w weighted, dims []metric.DimensionRef) []any {
	key := make([]any, len(dims))
	for i, d := range dims {
		key[i] = s.bucketed(e, w, d)
	}
	return key
}

// cumulativeIn finds a cumulative metric in a metric.
func (a *asked) cumulativeIn(name string) *semantic.Metric {
	m := a.catalog.Metric(semantic.Name(name))
	if m.Kind == semantic.CumulativeMetric {
		return m
	}
	for _, part := range append([]semantic.Name{m.Numerator, m.Denominator, m.Of}, m.Reads...) {
		if part != "" {
			if c := a.cumulativeIn(string(part)); c != nil {
				return c
			}
		}
	}
	return nil
}

// meets reports that some day of a bucket is in a range.
func (s scope) meets(t metric.TimeRange, b time.Time, grain string) bool {
	for day := b; day.Before(next(b, grain)); day = next(day, "day") {
		if s.within(t, day) {
			return true
		}
	}
	return false
}

// inWindow reports that a row is in some window that the ranges show.
func (s scope) inWindow(e *semantic.Entity, w weighted, m *semantic.Metric, dims []metric.DimensionRef) bool {
	i := slices.IndexFunc(dims, func(d metric.DimensionRef) bool { return d.Grain != "" })
	if i < 0 || m == nil {
		return false
	}
	day, ok := s.bucketed(e, w, metric.DimensionRef{Name: dims[i].Name, Grain: "day"}).(time.Time)
	for _, t := range s.q.Time {
		if !ok || t.To != "" && versus(day, t.To) > 0 {
			return false
		}
		if t.From == "" {
			continue
		}
		first := s.cut(clock(t.From+" 00:00:00"), dims[i].Grain)
		switch c := m.Cumulative; {
		case c.ToDate != "":
			first = s.cut(first, c.ToDate)
		case c.Window != nil:
			first = add(first, *c.Window, -1)
		default:
			continue
		}
		if day.Before(first) {
			return false
		}
	}
	return true
}

// spine adds every bucket from the first to the last day of the data, whatever
// the filters leave of them, beside each combination of the other dimensions.
func (a *asked) spine(s scope, dims []metric.DimensionRef, metrics []string, others [][]any, add func([]any)) {
	i := slices.IndexFunc(dims, func(d metric.DimensionRef) bool { return d.Grain != "" })
	if i < 0 {
		return
	}
	var first, last time.Time
	for _, name := range metrics {
		from, to, ok := s.extent(a.catalog.Metric(semantic.Name(name)), dims[i].Name)
		if ok && (first.IsZero() || from.Before(first)) {
			first = from
		}
		if ok && to.After(last) {
			last = to
		}
	}
	if first.IsZero() {
		return
	}
	if len(dims) == 1 {
		others = [][]any{{nil}}
	}
	for _, key := range others {
		for b := a.cut(first, dims[i].Grain); !b.After(last); b = next(b, dims[i].Grain) {
			if !slices.ContainsFunc(a.q.Time, func(t metric.TimeRange) bool { return !s.meets(t, b, dims[i].Grain) }) {
				key = slices.Clone(key)
				key[i] = b
				add(key)
			}
		}
	}
}

// fill computes the metrics of every line; ranks look at all of them.
func (a *asked) fill(lines []line) {
	for i := range lines {
		lines[i].values = make([]any, len(a.q.Metrics))
	}
	for j, name := range a.q.Metrics {
		m := a.catalog.Metric(semantic.Name(name))
		if m.Kind != semantic.RankMetric {
			for i, l := range lines {
				lines[i].values[j] = l.scope.value(name, nil)
			}
			continue
		}
		values := make([]any, len(lines))
		for i, l := range lines {
			values[i] = l.scope.value(string(m.Of), nil)
		}
		for i := range lines {
			lines[i].values[j] = a.rank(m.Rank, lines, values, i)
		}
	}
}

// rank counts who is ahead: groups, or with dense ties their distinct values.
func (a *asked) rank(r *semantic.Rank, lines []line, values []any, i int) any {
	if values[i] == nil {
		return nil
	}
	ahead := map[string]bool{}
	for k, l := range lines {
		beside := values[k] != nil && !slices.ContainsFunc(r.Within, func(w string) bool {
			d := slices.IndexFunc(a.q.Dimensions, func(d metric.DimensionRef) bool { return d.Name == w })
			return text(l.key[d]) != text(lines[i].key[d])
		})
		c := order(values[k], values[i])
		if r.Asc {
			c = -c
		}
		if beside && c > 0 {
			id := text(values[k])
			if r.Ties != "dense" {
				id = text(float64(k))
			}
			ahead[id] = true
		}
	}
	return float64(1 + len(ahead))
}

// totals are computed anew over the rows of several groups.
func (a *asked) totals() []line {
	dims := a.q.Dimensions
	var out []line
	for n := len(dims) - 1; a.q.Totals != "" && n >= 0; n-- {
		if n > 0 && a.q.Totals == "total" {
			continue
		}
		lines := a.groups(scope{asked: a}, dims[:n], a.q.Metrics...)
		a.fill(lines)
		for _, l := range lines {
			for j, name := range a.q.Metrics {
				if a.catalog.Metric(semantic.Name(name)).Kind == semantic.RankMetric {
					l.values[j] = nil // groups have ranks, totals have none
				}
			}
			for i := n; i < len(dims); i++ {
				l.key, l.over = append(l.key, nil), append(l.over, true)
			}
			out = append(out, l)
		}
	}
	return out
}

// top keeps the greatest groups of one dimension; the rest is one group of its rows.
func (a *asked) top(lines []line) []line {
	i := slices.IndexFunc(a.q.Dimensions, func(d metric.DimensionRef) bool { return d.Name == a.q.Top.Dimension })
	dim := a.q.Dimensions[i]
	members := a.groups(scope{asked: a}, []metric.DimensionRef{dim}, a.q.Top.By) // a group without a row behind the metric is not among the greatest
	slices.SortStableFunc(members, func(x, y line) int {
		return cmp.Or(nullsLast(x.scope.value(a.q.Top.By, nil), y.scope.value(a.q.Top.By, nil), true), order(x.key[0], y.key[0]))
	})
	kept := map[string]bool{}
	for _, m := range members[:min(a.q.Top.N, len(members))] {
		kept[text(m.key[0])] = true
	}
	in := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return !kept[text(l.key[i])] })
	if !a.q.Top.Other || len(in) == len(lines) {
		return in
	}
	rest := scope{asked: a}.where(dim, func(v any) bool { return !kept[text(v)] })
	others := a.groups(rest, slices.Delete(slices.Clone(a.q.Dimensions), i, i+1), a.q.Metrics...)
	for j := range others {
		others[j].scope.present = false
	}
	a.fill(others)
	for _, l := range others {
		l.key, l.over, l.other = slices.Insert(l.key, i, any(nil)), make([]bool, len(a.q.Dimensions)), true
		in = append(in, l)
	}
	return in
}

// readsMetric reports a filter that is applied after aggregation.
func (a *asked) readsMetric(f metric.Filter) bool {
	return slices.Contains(a.q.Metrics, strings.TrimPrefix(f.Field, "metric.")) ||
		slices.ContainsFunc(append(slices.Clone(f.Any), f.All...), a.readsMetric)
}

func (a *asked) passes(l line) bool {
	return !slices.ContainsFunc(a.q.Filters, func(f metric.Filter) bool { return a.readsMetric(f) && !a.holdsFor(l, f) })
}

func (a *asked) holdsFor(l line, f metric.Filter) bool {
	switch {
	case f.Any != nil:
		return slices.ContainsFunc(f.Any, func(x metric.Filter) bool { return a.holdsFor(l, x) })
	case f.All != nil:
		return !slices.ContainsFunc(f.All, func(x metric.Filter) bool { return !a.holdsFor(l, x) })
	}
	return test(a.cell(l, strings.TrimPrefix(f.Field, "metric.")), f)
}

// cell is a line's value of an asked metric or dimension.
func (a *asked) cell(l line, name string) any {
	if i := slices.Index(a.q.Metrics, name); i >= 0 {
		return l.values[i]
	}
	return l.key[slices.IndexFunc(a.q.Dimensions, func(d metric.DimensionRef) bool { return d.Name == name })]
}

// order sorts as the question says and then by the keys, NULL last.
func (a *asked) order(x, y line) int {
	for _, o := range a.q.Order {
		if c := nullsLast(a.cell(x, o.By), a.cell(y, o.By), o.Desc); c != 0 {
			return c
		}
	}
	for i := range x.key {
		if c := order(x.key[i], y.key[i]); c != 0 {
			return c
		}
	}
	return 0
}
