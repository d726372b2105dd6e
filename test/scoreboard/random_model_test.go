package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"plumbline/semantic"
)

// world is a random model with the meanings of its expressions and random rows.
type world struct {
	rt *rapid.T
	*oracle
	names    []string // not used yet, plain ones first
	numbered int      // names given after those
	versions []*semantic.Entity
	bridges  []*semantic.Entity
}

// identifiers are what a model may be unlucky to call its things; plain ones come
// first, since shrinking prefers them.
var identifiers = []string{"a", "b", "c", "d", "e", "f", "g", "h", "select", "null", "größe", "Order", "user", "group", "日付", "end", "Case", "left", "é", "from", "total", "is_other", "rolled_up", "x", "y", "z", "count", "date", "value", "ORDER_BY", "f1", "t1", "k1", "table", "limit", "naïve", "Ω"}

func (w *world) name() semantic.Name {
	if len(w.names) == 0 {
		w.numbered++
		return semantic.Name(fmt.Sprintf("n%d", w.numbered))
	}
	i := rapid.IntRange(0, min(len(w.names), 30)-1).Draw(w.rt, "name")
	n := w.names[i]
	w.names = slices.Delete(w.names, i, i+1)
	return semantic.Name(n)
}

func chance(rt *rapid.T, percent int) bool {
	return rapid.IntRange(0, 99).Draw(rt, "chance") >= 100-percent
}

func pick[T any](rt *rapid.T, pool []T) T { return rapid.SampledFrom(pool).Draw(rt, "pick") }

// drawWorld draws one to three hubs, of which each may lead to the next, and one
// to three facts that lead to hubs.
func drawWorld(rt *rapid.T) *world {
	w := &world{rt: rt, oracle: &oracle{catalog: &semantic.Catalog{}, rows: map[string][]row{}, meanings: map[string]meaning{}, arithmetic: map[string]func(func(string) any) any{}, reads: map[string][]semantic.Name{}}, names: slices.Clone(identifiers)}
	w.catalog.Time = semantic.TimeSettings{
		Zone:      pick(rt, []string{"", "Europe/Copenhagen", "America/New_York", "Asia/Kolkata"}),
		WeekStart: pick(rt, []string{"", "sunday"}), FiscalStart: pick(rt, []int{0, 4}),
	}
	w.parameter()
	var hubs, facts []*semantic.Entity
	for range rapid.IntRange(1, 2).Draw(rt, "hubs") {
		h := w.entity()
		if len(hubs) > 0 && chance(rt, 60) {
			w.lead(h, hubs[len(hubs)-1])
		}
		hubs = append(hubs, h)
	}
	for range rapid.IntRange(1, 3).Draw(rt, "facts") {
		f := w.entity()
		w.dated(f)
		for _, h := range hubs {
			if chance(rt, 60) {
				w.lead(f, h)
			}
		}
		if chance(rt, 20) {
			w.lead(f, hubs[0]) // perhaps a second role
		}
		facts = append(facts, f)
	}
	measured := slices.Concat(hubs, facts)
	for _, f := range facts {
		if chance(rt, 20) {
			w.versioned(f)
		}
	}
	if chance(rt, 30) {
		measured = append(measured, w.bridged(facts[0]))
	}
	for _, e := range measured {
		w.measures(e)
	}
	for _, f := range facts {
		w.dimensionOf(f)
	}
	if chance(rt, 30) {
		w.conversion(facts)
	}
	w.combine()
	if chance(rt, 20) {
		w.calendar()
	}
	for _, e := range w.catalog.Entities {
		w.fill(e)
	}
	w.settleAll()
	w.catalog = semantic.NewCatalog(*w.catalog)
	w.now = time.Date(2024, 4, 1, 12, 0, 0, 0, time.UTC)
	return w
}

// entity has a key, a text, a number with decimals, whole numbers and a flag;
// all but the key are dimensions.
func (w *world) entity() *semantic.Entity {
	e := &semantic.Entity{Name: w.name(), PrimaryKey: []semantic.Name{"id"}}
	w.catalog.Entities = append(w.catalog.Entities, e)
	e.Fields = append(e.Fields, &semantic.Field{Name: "id", Column: "id", Type: "bigint", Visibility: semantic.Output})
	for _, t := range []semantic.Type{"varchar", "double", "bigint", "boolean"} {
		n := w.name()
		e.Fields = append(e.Fields, &semantic.Field{Name: n, Column: string(n), Type: t, Visibility: semantic.Output})
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: n, Kind: t.Kind(), Type: t, Field: n, Reads: []semantic.Name{n}, Visibility: semantic.Output})
	}
	if chance(w.rt, 40) {
		t := e.Fields[1].Name
		d := &semantic.Dimension{Name: w.name(), Kind: semantic.KindText, Type: "varchar", Visibility: semantic.Output,
			Expr: fmt.Sprintf("CASE WHEN %s = 'a' THEN 'yes' ELSE 'no' END", semantic.Quote(string(t)))}
		w.meanings[d.Expr] = func(r row, _ map[string]any) any {
			if r[t.Key()] == "a" {
				return "yes"
			}
			return "no"
		}
		e.Dimensions = append(e.Dimensions, d)
	}
	if chance(w.rt, 25) {
		n := e.Fields[3].Name
		expr := fmt.Sprintf("(%s >= 0 OR %s IS NULL)", semantic.Quote(string(n)), semantic.Quote(string(n)))
		w.meanings[expr] = func(r row, _ map[string]any) any { return r[n.Key()] == nil || r[n.Key()].(float64) >= 0 }
		if len(w.catalog.Parameters) > 0 && chance(w.rt, 30) {
			expr = w.atLeast(e)
		}
		f := &semantic.Filter{Name: "kept", Kind: semantic.FixedFilter, Expr: expr}
		if chance(w.rt, 50) {
			f.Kind, f.Field = semantic.DefaultFilter, n
		}
		e.Filters = append(e.Filters, f)
	}
	w.enrich(e)
	return e
}

var grainsOfTime = []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// dated gives an entity a time dimension of any type.
func (w *world) dated(e *semantic.Entity) {
	n := w.name()
	f := &semantic.Field{Name: n, Column: string(n), Type: pick(w.rt, []semantic.Type{"date", "timestamp", "timestamptz"}), Visibility: semantic.Output}
	if f.Type == "timestamp" && chance(w.rt, 30) {
		f.Zone = "Europe/Copenhagen"
	}
	d := &semantic.Dimension{Name: n, Kind: semantic.KindTime, Type: f.Type, Field: n, Reads: []semantic.Name{n}, Visibility: semantic.Output, Grains: grainsOfTime}
	if f.Type == "date" {
		d.Grains = grainsOfTime[3:]
	}
	e.Fields, e.Dimensions, e.TimeDimension = append(e.Fields, f), append(e.Dimensions, d), n
}

// lead adds a key and a relationship, whose role is a name of its own when there
// are several.
func (w *world) lead(e, to *semantic.Entity) {
	n := w.name()
	e.Fields = append(e.Fields, &semantic.Field{Name: n, Column: string(n), Type: "bigint", Visibility: semantic.Output})
	e.Relationships = append(e.Relationships, &semantic.Relationship{Name: w.name(), To: to.Name, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: n, To: "id"}}})
}

// measures draws aggregates of an entity, each with a metric of its own.
func (w *world) measures(e *semantic.Entity) {
	txt, frac, num := e.Fields[1].Name, e.Fields[2].Name, e.Fields[3].Name
	sum := fmt.Sprintf("%s * %s", semantic.Quote(string(frac)), semantic.Quote(string(num)))
	w.meanings[sum] = func(r row, _ map[string]any) any {
		if r[frac.Key()] == nil || r[num.Key()] == nil {
			return nil
		}
		return r[frac.Key()].(float64) * r[num.Key()].(float64)
	}
	filter := fmt.Sprintf("%s = 'a'", semantic.Quote(string(txt)))
	w.meanings[filter] = func(r row, _ map[string]any) any { return r[txt.Key()] == "a" }
	pool := []semantic.Measure{
		{Agg: semantic.Count}, {Agg: semantic.Sum, Field: num}, {Agg: semantic.Sum, Expr: sum}, {Agg: semantic.Avg, Field: frac},
		{Agg: semantic.Count, Field: txt}, {Agg: semantic.CountDistinct, Field: txt}, {Agg: semantic.Min, Field: num}, {Agg: semantic.Max, Field: frac},
	}
	pool = append(pool, enabledMeasures(e)...)
	for range rapid.IntRange(1, 4).Draw(w.rt, "measures") {
		m := pick(w.rt, pool)
		m.Name = w.name()
		if chance(w.rt, 25) {
			m.Filter = filter
			if chance(w.rt, 50) {
				m.Filter = w.atLeast(e)
			}
		}
		if isNumber(e, &m) && chance(w.rt, 25) {
			zero := 0
			m.Fill = &zero
		}
		e.Measures = append(e.Measures, &m)
		x := &semantic.Metric{Name: m.Name, Kind: semantic.SimpleMetric, Entity: e.Name, Measure: m.Name}
		if chance(w.rt, 20) {
			x.Filter = filter
		}
		w.catalog.Metrics = append(w.catalog.Metrics, x)
	}
}

// pools of values. Small, so that they meet; a fifth of the rows has none.
var (
	texts   = []any{"a", "b", "é", "O'Hara", "", "A"}
	numbers = []any{0.0, 1.0, 5.0, -3.0, 100.0}
	halves  = []any{0.0, 0.25, 0.5, -2.0, 10.0}
	moments = []any{
		clock("2024-01-31 23:59:59"), clock("2024-02-01 00:00:00"), clock("2024-02-29 12:00:00"), clock("2024-03-30 23:30:00"),
		clock("2024-03-31 00:15:00"), clock("2024-03-31 22:30:00"), clock("2024-01-01 04:59:00"), clock("2024-01-01 00:00:00"), clock("2023-12-31 18:45:00"), clock("2024-03-10 08:30:00"),
	}
)

func (w *world) fill(e *semantic.Entity) {
	for i := range rapid.IntRange(0, 9).Draw(w.rt, "rows") {
		r := row{}
		for _, f := range e.Fields {
			r[f.Name.Key()] = w.value(f)
		}
		r["id"] = float64(i + 1)
		w.rows[e.Name.Key()] = append(w.rows[e.Name.Key()], r)
	}
}

func (w *world) value(f *semantic.Field) any {
	if chance(w.rt, 20) {
		return nil
	}
	switch f.Type {
	case "varchar":
		return pick(w.rt, texts)
	case "double":
		return pick(w.rt, halves)
	case "boolean":
		return chance(w.rt, 50)
	case "bigint": // numbers, and keys with orphans among them
		return pick(w.rt, numbers)
	}
	t := pick(w.rt, moments).(time.Time)
	if f.Type == "date" {
		t = t.Truncate(24 * time.Hour)
	}
	return t
}

// testRows are the rows as the pipeline takes them.
func (w *world) testRows() []semantic.TestRows {
	var out []semantic.TestRows
	for _, e := range w.catalog.Entities {
		t := semantic.TestRows{Entity: e.Name}
		for _, r := range w.rows[e.Name.Key()] {
			cells := map[string]any{}
			for _, f := range e.Fields {
				cells[string(f.Name)] = r[f.Name.Key()]
			}
			t.Rows = append(t.Rows, cells)
		}
		out = append(out, t)
	}
	return out
}

// combine makes metrics of metrics.
func (w *world) combine() {
	simple := slices.DeleteFunc(slices.Clone(w.catalog.Metrics), func(m *semantic.Metric) bool { return m.Kind != semantic.SimpleMetric })
	var numeric []semantic.Name
	for _, m := range simple {
		e := entityCalled(w.catalog.Entities, m.Entity)
		for _, x := range e.Measures {
			if x.Name == m.Measure && isNumber(e, x) {
				numeric = append(numeric, m.Name)
			}
		}
	}
	if !slices.ContainsFunc(numeric, func(n semantic.Name) bool {
		m := simple[slices.IndexFunc(simple, func(m *semantic.Metric) bool { return m.Name == n })]
		return measureCalled(entityCalled(w.catalog.Entities, m.Entity), m.Measure).Semi == nil
	}) {
		return
	}
	for range rapid.IntRange(0, 2).Draw(w.rt, "ratios") {
		w.catalog.Metrics = append(w.catalog.Metrics, &semantic.Metric{Name: w.name(), Kind: semantic.RatioMetric, Numerator: pick(w.rt, numeric), Denominator: pick(w.rt, numeric)})
	}
	for range rapid.IntRange(1, 6).Draw(w.rt, "combined") {
		m := combinations[rapid.IntRange(0, len(combinations)-1).Draw(w.rt, "kind")](w, numeric)
		m.Name = w.name()
		w.catalog.Metrics = append(w.catalog.Metrics, m)
	}
}

func entityCalled(list []*semantic.Entity, n semantic.Name) *semantic.Entity {
	return list[slices.IndexFunc(list, func(e *semantic.Entity) bool { return e.Name.Key() == n.Key() })]
}

func isNumber(e *semantic.Entity, m *semantic.Measure) bool {
	switch m.Agg {
	case semantic.First, semantic.Last, semantic.Min, semantic.Max, semantic.StringAgg, semantic.ListAgg:
		i := slices.IndexFunc(e.Fields, func(f *semantic.Field) bool { return f.Name == m.Field })
		return m.Agg != semantic.StringAgg && m.Agg != semantic.ListAgg && e.Fields[i].Type.Kind() == semantic.KindNumber
	}
	return true
}

// describe writes a world for people: its model and rows in words.
func (w *world) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "time %+v\n", w.catalog.Time)
	for _, e := range w.catalog.Entities {
		fmt.Fprintf(&b, "entity %q time %q\n", e.Name, e.TimeDimension)
		for _, f := range e.Fields {
			fmt.Fprintf(&b, "  %q %s %s\n", f.Name, f.Type, f.Zone)
		}
		for _, d := range e.Dimensions {
			if d.Field == "" || d.Bins != nil {
				fmt.Fprintf(&b, "  dimension %q %q%q %+v %+v\n", d.Name, d.Field, d.Expr, d.Of, d.Bins)
			}
		}
		for _, r := range e.Relationships {
			fmt.Fprintf(&b, "  role %q to %q on %v %+v %+v %+v\n", r.Name, r.To, r.On, r.Valid, r.AsOf, r.Through)
		}
		for _, x := range e.Segments {
			fmt.Fprintf(&b, "  segment %q %s\n", x.Name, x.Expr)
		}
		for _, x := range e.Hierarchies {
			fmt.Fprintf(&b, "  hierarchy %q %q\n", x.Name, x.Levels)
		}
		for _, f := range e.Filters {
			fmt.Fprintf(&b, "  filter %s %q %s\n", f.Kind, f.Field, f.Expr)
		}
		for _, m := range e.Measures {
			fmt.Fprintf(&b, "  measure %q %s(%s%s) filter %q fill %v semi %+v\n", m.Name, m.Agg, m.Field, m.Expr, m.Filter, m.Fill != nil, m.Semi)
		}
		for _, r := range w.rows[e.Name.Key()] {
			var cells []string
			for _, f := range e.Fields {
				cells = append(cells, strings.TrimPrefix(text(r[f.Name.Key()]), "\x00"))
			}
			b.WriteString("    " + strings.Join(cells, " | ") + "\n")
		}
	}
	for _, m := range w.catalog.Metrics {
		fmt.Fprintf(&b, "metric %q %s %s.%s %q %s/%s expr %q of %q %+v %+v %+v %+v %+v where %v\n", m.Name, m.Kind, m.Entity, m.Measure, m.Filter, m.Numerator, m.Denominator, m.Expr, m.Of, m.Cumulative, m.Compare, m.Share, m.Rank, m.Conversion, m.Where)
	}
	return b.String()
}
