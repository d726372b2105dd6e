package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// parameterName is the one parameter that random worlds may have.
const parameterName = "par"

// parameter declares a value that questions may set.
func (w *world) parameter() {
	if chance(w.rt, 40) {
		w.catalog.Parameters = []*semantic.Parameter{{Name: parameterName, Type: "bigint", Default: "1"}}
	}
}

// atLeast is a condition on a number: at least 1, or the parameter.
func (w *world) atLeast(e *semantic.Entity) string {
	n := e.Fields[3].Name
	than := "1"
	if len(w.catalog.Parameters) > 0 && chance(w.rt, 60) {
		than = "$" + parameterName
	}
	expr := semantic.Quote(string(n)) + " >= " + than
	w.meanings[expr] = func(r row, parameters map[string]any) any {
		limit := 1.0
		if than != "1" {
			limit = parameters[parameterName].(float64)
		}
		if r[n.Key()] == nil {
			return nil
		}
		return r[n.Key()].(float64) >= limit
	}
	w.reads[expr] = []semantic.Name{n}
	return expr
}

// enrich gives an entity groups of values in place of the values, a segment and a hierarchy.
func (w *world) enrich(e *semantic.Entity) {
	if chance(w.rt, 30) {
		f := e.Fields[rapid.IntRange(2, 3).Draw(w.rt, "binned")]
		bins := pick(w.rt, []semantic.Bins{{Width: "2"}, {Width: "10"}, {Edges: []string{"0", "5"}}, {Edges: []string{"-2", "1", "100"}}})
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: w.name(), Kind: semantic.KindNumber, Type: f.Type, Field: f.Name, Reads: []semantic.Name{f.Name}, Bins: &bins, Visibility: semantic.Output})
	}
	if chance(w.rt, 30) {
		e.Segments = append(e.Segments, &semantic.Segment{Name: w.name(), Expr: w.atLeast(e)})
	}
	if chance(w.rt, 20) {
		e.Hierarchies = append(e.Hierarchies, &semantic.Hierarchy{Name: w.name(), Levels: []semantic.Name{e.Fields[4].Name, e.Fields[1].Name, e.Fields[3].Name}})
	}
}

// dimensionOf makes a measure of a fact a dimension of what it leads to.
func (w *world) dimensionOf(f *semantic.Entity) {
	for _, r := range f.Relationships {
		if r.Kind != semantic.ManyToOne || r.Valid != nil || r.AsOf != nil || !chance(w.rt, 30) {
			continue
		}
		m := pick(w.rt, f.Measures)
		t := map[semantic.Agg]semantic.Type{semantic.Count: "bigint", semantic.CountDistinct: "bigint", semantic.Sum: "hugeint"}[m.Agg]
		if m.Expr != "" {
			t = "double"
		}
		if to := entityCalled(w.catalog.Entities, r.To); t != "" && m.Semi == nil {
			to.Dimensions = append(to.Dimensions, &semantic.Dimension{Name: w.name(), Kind: semantic.KindNumber, Type: t, Of: &semantic.MeasureOf{Entity: f.Name, Measure: m.Name, Role: r.Name}, Visibility: semantic.Output})
		}
	}
}

// timeOf is the field that dates an entity's rows.
func timeOf(e *semantic.Entity) *semantic.Field {
	return e.Fields[slices.IndexFunc(e.Fields, func(f *semantic.Field) bool { return f.Name == e.TimeDimension })]
}

// versioned leads a fact to versions by its time, or to the last row before it.
func (w *world) versioned(f *semantic.Entity) {
	at := timeOf(f)
	v := &semantic.Entity{Name: w.name(), PrimaryKey: []semantic.Name{"id"}}
	plain := func(n semantic.Name, t semantic.Type) *semantic.Field {
		x := &semantic.Field{Name: n, Column: string(n), Type: t, Visibility: semantic.Output}
		v.Fields = append(v.Fields, x)
		return x
	}
	plain("id", "bigint")
	name, code := w.name(), w.name()
	plain(name, "varchar")
	v.Dimensions = append(v.Dimensions, &semantic.Dimension{Name: name, Kind: semantic.KindText, Type: "varchar", Field: name, Reads: []semantic.Name{name}, Visibility: semantic.Output})
	plain(code, "bigint")
	plain("since", at.Type).Zone = at.Zone
	key := w.name()
	f.Fields = append(f.Fields, &semantic.Field{Name: key, Column: string(key), Type: "bigint", Visibility: semantic.Output})
	r := &semantic.Relationship{Name: w.name(), To: v.Name, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: key, To: code}}}
	if chance(w.rt, 50) {
		plain("until", at.Type).Zone = at.Zone
		r.Valid = &semantic.Validity{At: at.Name, From: "since", To: "until"}
	} else {
		r.AsOf = &semantic.AsOf{At: at.Name, Time: "since"}
	}
	if chance(w.rt, 25) {
		expr := fmt.Sprintf("%s = 'a'", semantic.Quote(string(name)))
		w.meanings[expr] = func(r row, _ map[string]any) any { return r[name.Key()] == "a" }
		v.Filters = append(v.Filters, &semantic.Filter{Name: "known", Kind: semantic.FixedFilter, Expr: expr})
	}
	f.Relationships = append(f.Relationships, r)
	w.catalog.Entities = append(w.catalog.Entities, v)
	w.versions = append(w.versions, v)
}

// settleAll gives the tables that are not like the others their rows.
func (w *world) settleAll() {
	for _, v := range w.versions {
		w.settle(v)
	}
	for _, b := range w.bridges {
		w.pairUp(b)
	}
	if len(w.catalog.Calendars) > 0 {
		w.fillCalendar()
	}
}

// settle makes the versions of one code follow each other, without two at a time.
func (w *world) settle(v *semantic.Entity) {
	rows := w.rows[v.Name.Key()]
	by := v.Fields[2].Name.Key()
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := order(a[by], b[by]); c != 0 {
			return c
		}
		return order(a["since"], b["since"])
	})
	var out []row
	for _, r := range rows {
		if n := len(out); n > 0 && order(out[n-1][by], r[by]) == 0 && order(out[n-1]["since"], r["since"]) == 0 {
			continue
		}
		out = append(out, r)
	}
	for i, r := range out {
		if _, ok := r["until"]; !ok {
			continue
		}
		next := any(nil)
		if i+1 < len(out) && order(out[i+1][by], r[by]) == 0 {
			next = out[i+1]["since"]
		}
		if t, ok := r["until"].(time.Time); next != nil && (!ok || t.After(next.(time.Time))) {
			r["until"] = next
		}
	}
	w.rows[v.Name.Key()] = out
}

// bridged leads a fact to many partners.
func (w *world) bridged(f *semantic.Entity) *semantic.Entity {
	far := w.entity()
	b := &semantic.Entity{Name: w.name(), PrimaryKey: []semantic.Name{"id"}}
	for _, n := range []semantic.Name{"id", "near_id", "far_id"} {
		b.Fields = append(b.Fields, &semantic.Field{Name: n, Column: string(n), Type: "bigint", Visibility: semantic.Output})
	}
	b.Fields = append(b.Fields, &semantic.Field{Name: "part", Column: "part", Type: "double", Visibility: semantic.Output})
	b.Relationships = []*semantic.Relationship{
		{Name: "near", To: f.Name, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: "near_id", To: "id"}}},
		{Name: "far", To: far.Name, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: "far_id", To: "id"}}},
	}
	through := &semantic.Bridge{Entity: b.Name, Near: "near", Far: "far", Allocate: pick(w.rt, []semantic.Allocation{semantic.AllocateNone, semantic.AllocateDistinct, semantic.AllocateWeight})}
	if through.Allocate == semantic.AllocateWeight {
		through.Weight = "part"
	}
	f.Relationships = append(f.Relationships, &semantic.Relationship{Name: w.name(), To: far.Name, Kind: semantic.ManyToMany, Through: through})
	w.catalog.Entities = append(w.catalog.Entities, b)
	w.bridges = append(w.bridges, b)
	return far
}

// pairUp fills a bridge: pairs twice, of rows that are not there, and without a key.
func (w *world) pairUp(b *semantic.Entity) {
	w.rows[b.Name.Key()] = nil
	for i := range rapid.IntRange(0, 12).Draw(w.rt, "pairs") {
		key := func() any { return pick(w.rt, []any{1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 9.0, nil}) }
		w.rows[b.Name.Key()] = append(w.rows[b.Name.Key()], row{"id": float64(i + 1), "near_id": key(), "far_id": key(), "part": pick(w.rt, []any{0.25, 0.5, 1.0, 0.0})})
	}
}

// calendar is a table of days with periods that begin on the 26th.
func (w *world) calendar() {
	e := &semantic.Entity{Name: "days", PrimaryKey: []semantic.Name{"day"}}
	for _, n := range []semantic.Name{"day", "begins"} {
		e.Fields = append(e.Fields, &semantic.Field{Name: n, Column: string(n), Type: "date", Visibility: semantic.Output})
	}
	w.catalog.Entities = append(w.catalog.Entities, e)
	w.catalog.Calendars = []*semantic.Calendar{{Name: "retail", Entity: e.Name, Date: "day", Grains: []semantic.CalendarGrain{{Name: "period", Start: "begins"}}}}
}

func (w *world) fillCalendar() {
	w.rows["days"] = nil
	for d := clock("2024-01-01 00:00:00"); d.Before(clock("2024-03-20 00:00:00")); d = d.AddDate(0, 0, 1) {
		begins := time.Date(d.Year(), d.Month(), 26, 0, 0, 0, 0, time.UTC)
		if d.Day() < 26 {
			begins = begins.AddDate(0, -1, 0)
		}
		w.rows["days"] = append(w.rows["days"], row{"day": d, "begins": begins})
	}
}

// conversion counts the rows of one fact that are followed by those of another.
func (w *world) conversion(facts []*semantic.Entity) {
	base, to := pick(w.rt, facts), pick(w.rt, facts)
	if timeOf(base).Type != timeOf(to).Type {
		to = base
	}
	counted := func(e *semantic.Entity, filter string) semantic.Name {
		m := &semantic.Measure{Name: w.name(), Agg: semantic.Count, Filter: filter}
		e.Measures = append(e.Measures, m)
		w.catalog.Metrics = append(w.catalog.Metrics, &semantic.Metric{Name: m.Name, Kind: semantic.SimpleMetric, Entity: e.Name, Measure: m.Name})
		return m.Name
	}
	filters := [2]string{}
	for i, e := range []*semantic.Entity{base, to} {
		if chance(w.rt, 50) {
			filters[i] = w.atLeast(e)
		}
	}
	at := rapid.IntRange(0, 1).Draw(w.rt, "whose")*2 + 1 // the text or the whole number
	w.catalog.Metrics = append(w.catalog.Metrics, &semantic.Metric{Name: w.name(), Kind: semantic.ConversionMetric, Conversion: &semantic.Conversion{
		Base: counted(base, filters[0]), Converted: counted(to, filters[1]), On: []semantic.JoinPair{{From: base.Fields[at].Name, To: to.Fields[at].Name}},
		Window: pick(w.rt, []semantic.Period{{N: 1, Unit: "day"}, {N: 2, Unit: "week"}, {N: 1, Unit: "month"}, {N: 1, Unit: "quarter"}}), Give: pick(w.rt, []string{"", "count", "rate"}),
	}})
}

// drawNouns adds to a question what goes by names of its own: segments, a
// parameter and a calendar's grain.
func (w *world) drawNouns(rt *rapid.T, q *metric.Question, facts []*semantic.Entity) {
	if len(w.catalog.Parameters) > 0 && chance(rt, 40) {
		q.Parameters = map[string]any{parameterName: json.Number(pick(rt, []string{"-3", "0", "5", "1000"}))}
	}
	if chance(rt, 30) {
		if s := w.segments(facts); len(s) > 0 {
			q.Segments = []string{pick(rt, s)}
		}
	}
	for i, d := range q.Dimensions {
		if len(w.catalog.Calendars) > 0 && d.Name == metric.MetricTime && slices.Contains(grainsOfTime[3:], d.Grain) && !w.needTime(*q) && chance(rt, 20) {
			q.Dimensions[i].Grain = "period"
		}
	}
}

// drawHierarchy groups by the levels of a hierarchy too.
func (w *world) drawHierarchy(rt *rapid.T, q *metric.Question, facts []*semantic.Entity) {
	if chance(rt, 30) {
		if h := w.hierarchies(facts); len(h) > 0 {
			found := pick(rt, h)
			taken := slices.ContainsFunc(q.Dimensions, func(d metric.DimensionRef) bool { return slices.Contains(found.Levels, semantic.Name(d.Name)) })
			if d := (metric.DimensionRef{Name: string(found.Name), Grain: string(pick(rt, append([]semantic.Name{""}, found.Levels...)))}); !taken {
				q.Dimensions = append(q.Dimensions, d)
			}
		}
	}
}

// reached lists the entities that all facts lead to, each by one way.
func (w *world) reached(facts []*semantic.Entity) []*semantic.Entity {
	var out []*semantic.Entity
	for _, e := range w.catalog.Entities {
		if !slices.ContainsFunc(facts, func(f *semantic.Entity) bool { return w.ways(f, e) != 1 }) {
			out = append(out, e)
		}
	}
	return out
}

func (w *world) ways(from, to *semantic.Entity) int {
	n := 0
	if from == to {
		n = 1
	}
	for _, r := range from.Relationships {
		n += w.ways(w.catalog.Entity(r.To), to)
	}
	return n
}

func (w *world) segments(facts []*semantic.Entity) []string {
	var out []string
	for _, e := range w.reached(facts) {
		for _, s := range e.Segments {
			out = append(out, string(s.Name))
		}
	}
	return out
}

func (w *world) hierarchies(facts []*semantic.Entity) []*semantic.Hierarchy {
	var out []*semantic.Hierarchy
	for _, e := range w.reached(facts) {
		out = append(out, e.Hierarchies...)
	}
	return out
}
