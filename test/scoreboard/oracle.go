package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// The oracle answers questions by definition: every metric is computed from the
// rows of its own entity that belong to a group, row by row, with no SQL, no plan
// and nothing of the compiler but the type of a question. A group is a condition
// on rows; a window, an earlier period or a total is another condition.
//
// It takes for granted that a question can be answered, and that the SQL of the
// model is known to it: meanings gives each expression as a Go function.

// row is one row: nil, string, bool, float64 or time.Time by the field's key.
// Dates and local times are wall clocks written as UTC.
type row map[string]any

// meaning is an expression of the model over a row and the question's parameters.
type meaning func(r row, parameters map[string]any) any

// oracle is one catalog with rows.
type oracle struct {
	catalog  *semantic.Catalog
	rows     map[string][]row   // by entity key
	meanings map[string]meaning // by the SQL text
	// arithmetic gives derived metrics by their expression, over metrics by name.
	arithmetic map[string]func(of func(string) any) any
	reads      map[string][]semantic.Name // fields that the segments read, by the SQL text
	now        time.Time
}

// scope says which rows of each entity count: those that pass all its conditions.
type scope struct {
	*asked
	at      []at                  // values of dimensions
	every   bool                  // the caller's filters on dimensions do not apply
	forever bool                  // the time ranges do not apply
	ago     []semantic.Period     // the time ranges are that much earlier
	present bool                  // the group exists even without rows
	by      []metric.DimensionRef // groups by these are looked for: every partner of a row may be in one
}

// at is one condition: the dimension's value is accepted. value is the one value
// that is, where there is only one.
type at struct {
	dim    metric.DimensionRef
	value  any
	accept func(v any) bool
}

// asked is a question with what stays the same while it is answered.
type asked struct {
	*oracle
	q    metric.Question
	zone *time.Location
}

// where gives a copy with one more condition.
func (s scope) where(dim metric.DimensionRef, accept func(any) bool) scope {
	s.at = append(slices.Clone(s.at), at{dim, nil, accept})
	return s
}

// is gives a copy in which a dimension has one value.
func (s scope) is(dim metric.DimensionRef, v any) scope {
	s.at = append(slices.Clone(s.at), at{dim, v, func(x any) bool { return text(x) == text(v) }})
	return s
}

// without gives a copy that has no condition on the dimensions that drop names.
func (s scope) without(drop func(string) bool) scope {
	s.at = slices.DeleteFunc(slices.Clone(s.at), func(a at) bool { return drop(a.dim.Name) })
	return s
}

// rowsOf gives the rows of an entity in the scope. Over a bridge a row may stand
// there several times, once for each partner that passes, with its part as its weight:
// where the question groups by the bridge, or weights count. Otherwise it counts once.
func (s scope) rowsOf(e *semantic.Entity, extra []semantic.Where) []weighted {
	bridge := s.bridge(e)
	repeats := bridge != nil && (bridge.Through.Allocate == semantic.AllocateWeight || bridge.Through.Allocate == semantic.AllocateNone && s.groupsBy(bridge) || len(s.by) > 0)
	var out []weighted
	for _, r := range s.visible(e) {
		for _, w := range s.spread(e, r, bridge) {
			if !s.keeps(e, w, extra) {
				continue
			}
			out = append(out, w)
			if !repeats {
				break
			}
		}
	}
	return out
}

func (s scope) keeps(e *semantic.Entity, w weighted, extra []semantic.Where) bool {
	for _, a := range s.at {
		if !a.accept(s.bucketed(e, w, a.dim)) {
			return false
		}
	}
	for _, x := range extra {
		if !s.holds(e, w, metric.Filter{Field: x.Field, Op: x.Op, Values: x.Values, Grain: x.Grain}) {
			return false
		}
	}
	for _, f := range s.q.Filters {
		if (!s.every || s.onTime(e, f)) && !s.readsMetric(f) && !s.holds(e, w, f) {
			return false
		}
	}
	if !s.every {
		for _, name := range s.q.Segments {
			if is, _ := s.inSegment(e, w, name); !is {
				return false
			}
		}
	}
	if !s.forever {
		for _, t := range s.q.Time {
			if s.read(e, w, t.Field) == nil || !s.within(s.earlier(t), s.local(e, w, t.Field)) {
				return false
			}
		}
	}
	return true
}

// onTime reports a filter that says a period, as ranges do.
func (s scope) onTime(e *semantic.Entity, f metric.Filter) bool {
	if f.Field == "" || s.readsMetric(f) {
		return false
	}
	_, _, d := s.place(e, weighted{}, f.Field)
	return !s.forever && d != nil && d.Type.Kind() == semantic.KindTime
}

// visible gives the rows that the model's own filters leave.
func (s scope) visible(e *semantic.Entity) []row {
	return slices.DeleteFunc(slices.Clone(s.rows[e.Name.Key()]), func(r row) bool { return !s.admitted(e, r) })
}

// admitted applies fixed filters, and default ones that the caller does not replace.
func (s scope) admitted(e *semantic.Entity, r row) bool {
	for _, f := range e.Filters {
		replaced := f.Kind == semantic.DefaultFilter && s.callerFilters(e, append([]semantic.Name{f.Field}, f.Unless...))
		if f.Expr != "" && !replaced && s.meanings[f.Expr](r, s.parameters()) != true {
			return false
		}
	}
	return true
}

// callerFilters reports whether a filter of the question is about one of the
// fields. Questions spell these dimensions by the field's bare name.
func (s scope) callerFilters(e *semantic.Entity, fields []semantic.Name) bool {
	for _, f := range fields {
		same := func(name string) bool {
			return semantic.Name(name).Key() == f.Key() || name == metric.MetricTime && e.TimeDimension.Key() == f.Key()
		}
		if slices.ContainsFunc(s.q.Filters, func(x metric.Filter) bool { return same(x.Field) }) ||
			slices.ContainsFunc(s.q.Time, func(t metric.TimeRange) bool { return same(t.Field) }) ||
			slices.ContainsFunc(s.q.Segments, func(name string) bool {
				g := e.Segment(semantic.Name(name[strings.LastIndex(name, ".")+1:]))
				return g != nil && slices.ContainsFunc(s.reads[g.Expr], func(n semantic.Name) bool { return n.Key() == f.Key() })
			}) {
			return true
		}
	}
	return false
}

func (a *asked) parameters() map[string]any {
	out := map[string]any{}
	for _, p := range a.catalog.Parameters {
		out[string(p.Name)] = read(p.Default, p.Type)
		if v, ok := a.q.Parameters[string(p.Name)]; ok {
			out[string(p.Name)] = plain(v)
		}
	}
	return out
}

// value computes a metric in a scope.
func (s scope) value(name string, extra []semantic.Where) any {
	m := s.catalog.Metric(semantic.Name(name))
	extra = append(slices.Clone(extra), m.Where...)
	switch m.Kind {
	case semantic.SimpleMetric:
		e := s.catalog.Entity(m.Entity)
		return s.measure(e, e.Measure(m.Measure), m.Filter, extra)
	case semantic.RatioMetric:
		return quotient(s.value(string(m.Numerator), extra), s.value(string(m.Denominator), extra))
	case semantic.DerivedMetric:
		return s.arithmetic[m.Expr](func(n string) any { return s.value(n, extra) })
	case semantic.CumulativeMetric:
		return s.cumulative(m, extra)
	case semantic.CompareMetric:
		return s.compare(m, extra)
	case semantic.ShareMetric:
		return quotient(s.value(string(m.Of), extra), s.total(m).value(string(m.Of), extra))
	case semantic.ConversionMetric:
		return s.conversion(m.Conversion, extra)
	}
	panic("a rank is no value of one group: " + name)
}

// total is the scope of what a share is a part of. That of a running value is the
// total of the same day.
func (s scope) total(m *semantic.Metric) scope {
	bucket, _ := s.bucket()
	runs := s.cumulativeIn(string(m.Of)) != nil
	drop := func(d string) bool { return !slices.Contains(m.Share.Within, d) }
	if m.Share.Scope == "parent" {
		finest := s.finest()
		drop = func(d string) bool { return d == finest }
	}
	s.every = s.every || m.Share.Scope == "all"
	return s.without(func(d string) bool { return drop(d) && !(runs && d == bucket.dim.Name) })
}

// finest is the asked dimension that stands last in a hierarchy, or last of all.
func (s scope) finest() string {
	for _, e := range s.catalog.Entities {
		for _, h := range e.Hierarchies {
			for _, level := range slices.Backward(h.Levels) {
				if slices.ContainsFunc(s.q.Dimensions, func(d metric.DimensionRef) bool { return semantic.Name(d.Name).Key() == level.Key() }) {
					return string(level)
				}
			}
		}
	}
	return s.q.Dimensions[len(s.q.Dimensions)-1].Name
}

// measure aggregates the rows of the scope. A group that the entity has no row
// of is NULL, or has the fill; so has one where the measure's filters leave none.
func (s scope) measure(e *semantic.Entity, m *semantic.Measure, filter string, extra []semantic.Where) any {
	exists := s.present || len(s.at) == 0 || len(s.rowsOf(e, nil)) > 0
	rows := slices.DeleteFunc(s.rowsOf(e, extra), func(w weighted) bool {
		return m.Filter != "" && s.meanings[m.Filter](w.row, s.parameters()) != true ||
			filter != "" && s.meanings[filter](w.row, s.parameters()) != true
	})
	switch {
	case len(rows) == 0 && m.Fill != nil:
		return float64(*m.Fill)
	case !exists:
		return nil
	}
	if m.Semi != nil {
		rows = atEdge(rows, m.Semi)
	}
	return s.aggregate(e, m, rows)
}

// atEdge keeps the rows at the last, or first, time of each Per.
func atEdge(rows []weighted, semi *semantic.SemiAdditive) []weighted {
	edge := map[string]time.Time{}
	of := func(w weighted) (string, time.Time, bool) {
		t, ok := w.row[semi.Over.Key()].(time.Time)
		key := ""
		for _, p := range semi.Per {
			key += text(w.row[p.Key()]) + "\x00"
		}
		return key, t, ok
	}
	for _, w := range rows {
		key, t, ok := of(w)
		best, seen := edge[key]
		if ok && (!seen || semi.Pick == semantic.Last && t.After(best) || semi.Pick == semantic.First && t.Before(best)) {
			edge[key] = t
		}
	}
	return slices.DeleteFunc(slices.Clone(rows), func(w weighted) bool {
		key, t, ok := of(w)
		return !ok || !t.Equal(edge[key])
	})
}

// aggregate passes by NULL, except for a count of rows.
func (s scope) aggregate(e *semantic.Entity, m *semantic.Measure, rows []weighted) any {
	of := func(w weighted) any {
		switch {
		case m.Expr != "":
			return s.meanings[m.Expr](w.row, s.parameters())
		case m.Field != "":
			return w.row[m.Field.Key()]
		}
		return true
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(w weighted) bool { return of(w) == nil })
	values := make([]any, len(rows))
	weight := 0.0
	for i, w := range rows {
		values[i] = of(w)
		weight += w.weight
	}
	switch m.Agg {
	case semantic.Count:
		return weight
	case semantic.CountDistinct, semantic.ApproxDistinct:
		seen := map[string]bool{}
		for _, v := range values {
			seen[text(v)] = true
		}
		return float64(len(seen))
	case semantic.StringAgg, semantic.ListAgg:
		return listed(e, m, rows, of)
	case semantic.First, semantic.Last:
		return atBy(e, m, rows, of)
	}
	if len(values) == 0 {
		return nil
	}
	if m.Agg == semantic.Sum {
		sum := 0.0
		for i, v := range values {
			sum += v.(float64) * rows[i].weight
		}
		return sum
	}
	slices.SortFunc(values, order)
	return statistic(m, values)
}

// statistic is for sorted values, of which there is one or more.
func statistic(m *semantic.Measure, values []any) any {
	n := len(values)
	switch m.Agg {
	case semantic.Min:
		return values[0]
	case semantic.Max:
		return values[n-1]
	case semantic.Median:
		return between(values, 0.5)
	case semantic.Percentile:
		q := read(m.Quantile, "double").(float64)
		if m.Discrete {
			return values[max(int(math.Ceil(q*float64(n))), 1)-1]
		}
		return between(values, q)
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v.(float64)
	}
	mean := sum / float64(n)
	for _, v := range values {
		squares += (v.(float64) - mean) * (v.(float64) - mean)
	}
	switch {
	case m.Agg == semantic.Avg:
		return mean
	case n < 2:
		return nil
	case m.Agg == semantic.Variance:
		return squares / float64(n-1)
	case m.Agg == semantic.Stddev:
		return math.Sqrt(squares / float64(n-1))
	}
	panic(m.Agg)
}

// between interpolates in sorted numbers.
func between(values []any, q float64) any {
	at := q * float64(len(values)-1)
	low, high := values[int(math.Floor(at))].(float64), values[int(math.Ceil(at))].(float64)
	return low + (high-low)*(at-math.Floor(at))
}

// atBy gives the value at the first or last By; ties go to the greatest primary key.
func atBy(e *semantic.Entity, m *semantic.Measure, rows []weighted, of func(weighted) any) any {
	var best *weighted
	for i, w := range rows {
		if w.row[m.By.Key()] == nil {
			continue
		}
		c := 1
		if best != nil {
			if c = order(w.row[m.By.Key()], best.row[m.By.Key()]); m.Agg == semantic.First {
				c = -c
			}
			if c == 0 {
				c = orderBy(e.PrimaryKey, w.row, best.row)
			}
		}
		if c > 0 {
			best = &rows[i]
		}
	}
	if best == nil {
		return nil
	}
	return of(*best)
}

// listed joins texts, or lists values, in order; NULL where there is none.
func listed(e *semantic.Entity, m *semantic.Measure, rows []weighted, of func(weighted) any) any {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b weighted) int {
		for _, o := range m.Order {
			if c := nullsLast(a.row[o.By.Key()], b.row[o.By.Key()], o.Desc); c != 0 {
				return c
			}
		}
		return orderBy(e.PrimaryKey, a.row, b.row)
	})
	var list []any
	var texts []string
	for _, w := range rows {
		list = append(list, of(w))
		texts = append(texts, text(of(w)))
	}
	if m.Agg == semantic.ListAgg {
		return list
	}
	return strings.Join(texts, cmp.Or(m.Separator, ", "))
}

// conversion credits each converted event to the last base event before it; each
// base event counts once.
func (s scope) conversion(c *semantic.Conversion, extra []semantic.Where) any {
	events := func(name semantic.Name, in scope) (*semantic.Entity, []weighted) {
		m := s.catalog.Metric(name)
		e := s.catalog.Entity(m.Entity)
		filters := []string{e.Measure(m.Measure).Filter, m.Filter}
		return e, slices.DeleteFunc(in.rowsOf(e, append(slices.Clone(extra), m.Where...)), func(w weighted) bool {
			return slices.ContainsFunc(filters, func(f string) bool { return f != "" && in.meanings[f](w.row, in.parameters()) != true })
		})
	}
	all := scope{asked: s.asked, every: true, forever: true}
	e, bases := events(c.Base, s)
	_, every := events(c.Base, all)
	to, converted := events(c.Converted, all)
	if len(s.at) > 0 && len(s.rowsOf(e, nil)) == 0 && !s.present {
		return nil
	}
	time1 := e.Dimension(e.TimeDimension).Field.Key()
	credited := map[string]bool{}
	for _, conv := range converted {
		var best row
		for _, b := range every {
			t1, ok1 := s.when(e, b)
			t2, ok2 := s.when(to, conv)
			same := !slices.ContainsFunc(c.On, func(p semantic.JoinPair) bool {
				return b.row[p.From.Key()] == nil || order(b.row[p.From.Key()], conv.row[p.To.Key()]) != 0
			})
			if ok1 && ok2 && same && !t1.After(t2) && t2.Before(s.later(e, t1, c.Window)) && (best == nil || orderBy([]semantic.Name{semantic.Name(time1), e.PrimaryKey[0]}, b.row, best) > 0) {
				best = b.row
			}
		}
		if best != nil {
			credited[text(best[e.PrimaryKey[0].Key()])] = true
		}
	}
	count := 0.0
	for _, b := range bases {
		if credited[text(b.row[e.PrimaryKey[0].Key()])] {
			count++
		}
	}
	if c.Give == "count" {
		return count
	}
	return quotient(count, float64(len(bases)))
}

func quotient(a, b any) any {
	if a == nil || b == nil || b.(float64) == 0 {
		return nil
	}
	return a.(float64) / b.(float64)
}

// order compares two values of one type; NULL is greatest.
func order(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(map[bool]int{false: 0, true: 1}[a == nil], map[bool]int{false: 0, true: 1}[b == nil])
	}
	switch a := a.(type) {
	case string:
		return strings.Compare(a, b.(string))
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(text(a), text(b))
	}
	return cmp.Compare(a.(float64), b.(float64))
}

func orderBy(keys []semantic.Name, a, b row) int {
	for _, k := range keys {
		if c := order(a[k.Key()], b[k.Key()]); c != 0 {
			return c
		}
	}
	return 0
}

func nullsLast(a, b any, desc bool) int {
	if desc && a != nil && b != nil {
		return -order(a, b)
	}
	return order(a, b)
}

// text is a value as a map's key and as the answer shows it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "\x00NULL"
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999")
	case float64:
		return fmt.Sprintf("%.12g", v)
	}
	return fmt.Sprint(v)
}

// plain makes a caller's value one of a row's.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64()
		return f
	case int:
		return float64(v)
	}
	return v
}

// read reads a text as a value of a type.
func read(s string, t semantic.Type) any {
	if t.Kind() == semantic.KindNumber {
		return plain(json.Number(s))
	}
	return s
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
