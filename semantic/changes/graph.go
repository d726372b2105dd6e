package changes

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumbline/semantic"
)

// Ref names a noun of a catalog. It is comparable; names are folded as DuckDB
// folds them, so that one noun has one Ref.
type Ref struct {
	Kind   string // metric, entity, field, dimension, measure, relationship, filter, segment, hierarchy, calendar, parameter, view, time
	Entity string // of what an entity declares; "" otherwise
	Name   string // "" for time
}

// String gives "measure orders.revenue".
func (r Ref) String() string {
	name := r.Name
	if r.Entity != "" {
		name = r.Entity + "." + name
	}
	return strings.TrimSpace(r.Kind + " " + name)
}

// noun is one noun of a catalog and the entity that declares it.
type noun struct {
	ref   Ref
	value reflect.Value // of the struct
	owner *semantic.Entity
}

// graph is a catalog as nouns that depend on nouns.
type graph struct {
	catalog *semantic.Catalog
	nouns   map[Ref]noun
	order   []Ref // as declared
}

func newGraph(c *semantic.Catalog) *graph {
	g := &graph{catalog: c, nouns: map[Ref]noun{}}
	g.add(&c.Time, "", nil)
	all(g, c.Parameters, nil, func(p *semantic.Parameter) semantic.Name { return p.Name })
	all(g, c.Calendars, nil, func(x *semantic.Calendar) semantic.Name { return x.Name })
	for _, e := range c.Entities {
		g.add(e, e.Name, nil)
		all(g, e.Fields, e, func(x *semantic.Field) semantic.Name { return x.Name })
		all(g, e.Dimensions, e, func(x *semantic.Dimension) semantic.Name { return x.Name })
		all(g, e.Measures, e, func(x *semantic.Measure) semantic.Name { return x.Name })
		all(g, e.Relationships, e, func(x *semantic.Relationship) semantic.Name { return x.Name })
		all(g, e.Filters, e, func(x *semantic.Filter) semantic.Name { return x.Name })
		all(g, e.Segments, e, func(x *semantic.Segment) semantic.Name { return x.Name })
		all(g, e.Hierarchies, e, func(x *semantic.Hierarchy) semantic.Name { return x.Name })
	}
	all(g, c.Metrics, nil, func(m *semantic.Metric) semantic.Name { return m.Name })
	all(g, c.Views, nil, func(v *semantic.View) semantic.Name { return v.Name })
	return g
}

func all[T any](g *graph, list []*T, owner *semantic.Entity, name func(*T) semantic.Name) {
	for _, x := range list {
		g.add(x, name(x), owner)
	}
}

func (g *graph) add(pointer any, name semantic.Name, owner *semantic.Entity) {
	v := reflect.ValueOf(pointer).Elem()
	own := v.Addr().Interface()
	ref := Ref{Kind: kinds[v.Type()], Name: name.Key()}
	if owner != nil {
		ref.Entity = owner.Name.Key()
	}
	if e, ok := own.(*semantic.Entity); ok {
		owner = e
	}
	g.nouns[ref] = noun{ref, v, owner}
	g.order = append(g.order, ref)
}

// closure gives the nouns that are reached from some, these included.
func (g *graph) closure(from ...Ref) map[Ref]bool {
	seen := map[Ref]bool{}
	for len(from) > 0 {
		r := from[len(from)-1]
		from = from[:len(from)-1]
		n, ok := g.nouns[r]
		if !ok || seen[r] {
			continue
		}
		seen[r] = true
		w := walk{g: g}
		if m, ok := n.value.Addr().Interface().(*semantic.Metric); ok {
			w.metric = m
		}
		if r, ok := n.value.Addr().Interface().(*semantic.Relationship); ok {
			w.far = g.catalog.Entity(r.To)
		}
		w.parts(n.value, n.owner)
		from = append(from, w.found...)
	}
	return seen
}

// walk collects what one noun names.
type walk struct {
	g      *graph
	metric *semantic.Metric // whose facts paths start from; nil for other nouns
	far    *semantic.Entity // that a relationship leads to
	found  []Ref
}

func (w *walk) add(kind string, owner *semantic.Entity, names ...string) {
	for _, n := range names {
		r := Ref{Kind: kind, Name: semantic.Name(n).Key()}
		if owner != nil {
			r.Entity = owner.Name.Key()
		}
		w.found = append(w.found, r)
	}
}

// parts walks a struct, and what it holds. A struct that names an entity speaks
// of that entity's fields.
func (w *walk) parts(v reflect.Value, own *semantic.Entity) {
	if f := v.FieldByName("Entity"); f.IsValid() {
		if e := w.g.catalog.Entity(f.Interface().(semantic.Name)); e != nil {
			own = e
		}
	}
	for i := range v.NumField() {
		p := parts[v.Type()][v.Type().Field(i).Name]
		if p.class == meaning || p.lead == toFilters {
			w.part(p.lead, v.Field(i), own)
		}
	}
	if v.Type() == typeOf[semantic.Cumulative]() || v.Type() == typeOf[semantic.Compare]() {
		w.add("time", nil, "")
	}
}

func (w *walk) part(l lead, v reflect.Value, own *semantic.Entity) {
	switch l {
	case within:
		w.within(v, own)
	case toMetric:
		w.add("metric", nil, texts(v)...)
	case toEntity:
		w.add("entity", nil, texts(v)...)
	case toMeasure:
		w.add("measure", own, texts(v)...)
	case toField:
		w.add("field", own, texts(v)...)
	case toFarField:
		w.add("field", w.far, texts(v)...)
	case toDimension:
		w.add("dimension", own, texts(v)...)
	case toRole:
		w.add("relationship", own, texts(v)...)
	case toPath:
		for _, p := range texts(v) {
			w.path(p)
		}
	case toSQL, toFormula:
		w.expression(l, v.String(), own)
	case toFilters:
		for _, f := range own.Filters {
			w.add("filter", own, string(f.Name))
		}
	case toEvents:
		w.events()
	}
}

func (w *walk) within(v reflect.Value, own *semantic.Entity) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.within(v.Elem(), own)
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.within(v.Index(i), own)
		}
	case reflect.Struct:
		w.parts(v, own)
	}
}

// texts gives the names in a part: one, or a list; "" is none.
func texts(v reflect.Value) []string {
	if v.Kind() == reflect.String {
		if v.Len() == 0 {
			return nil
		}
		return []string{v.String()}
	}
	var out []string
	for i := range v.Len() {
		out = append(out, v.Index(i).String())
	}
	return out
}

// expression finds what a text reads by the names that stand in it. A name in a
// literal is found too: that a noun is held for one that is read makes a change
// known that has no effect, and never hides one.
func (w *walk) expression(l lead, text string, own *semantic.Entity) {
	if text == "" {
		return
	}
	for _, p := range w.g.catalog.Parameters {
		if names(text, p.Name) {
			w.add("parameter", nil, string(p.Name))
		}
	}
	if l == toFormula {
		for _, m := range w.g.catalog.Metrics {
			if names(text, m.Name) {
				w.add("metric", nil, string(m.Name))
			}
		}
		return
	}
	if own == nil {
		return
	}
	for _, f := range own.Fields {
		if names(text, f.Name) {
			w.add("field", own, string(f.Name))
		}
	}
}

// names reports that a name stands in a text as a word of its own.
func names(text string, n semantic.Name) bool {
	text, key := semantic.Name(text).Key(), strings.ReplaceAll(n.Key(), `"`, `""`)
	for from := 0; ; {
		at := strings.Index(text[from:], key)
		if at < 0 || key == "" {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(key):])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = at + 1
	}
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r))
}

// events: the fields that tell whose an event is, of the entities of two metrics.
func (w *walk) events() {
	c := w.metric.Conversion
	base, converted := w.g.catalog.Metric(c.Base), w.g.catalog.Metric(c.Converted)
	if base == nil || converted == nil {
		return
	}
	for _, p := range c.On {
		w.add("field", w.g.catalog.Entity(base.Entity), string(p.From))
		w.add("field", w.g.catalog.Entity(converted.Entity), string(p.To))
	}
}

// path adds the dimensions that a question's spelling may mean, with every
// relationship by which a fact of the metric reaches them.
func (w *walk) path(spelling string) {
	w.add("time", nil, "")
	prefix, name := "", spelling
	if cut := strings.LastIndexByte(spelling, '.'); cut >= 0 {
		prefix, name = spelling[:cut], spelling[cut+1:]
		prefix = semantic.Name(prefix[strings.LastIndexByte(prefix, '.')+1:]).Key()
	}
	for _, fact := range w.g.facts(w.metric) {
		edges := w.g.edges(fact)
		for _, e := range reached(fact, edges) {
			dim := semantic.Name(name)
			if name == metricTime {
				dim = e.TimeDimension
			}
			if e.Dimension(dim) == nil || name == metricTime && e != fact || prefix != "" && !leadsTo(prefix, e, edges) {
				continue
			}
			w.add("dimension", e, string(dim))
			w.add("entity", nil, string(e.Name))
			w.found = append(w.found, roads(e, edges)...)
		}
	}
}

// metricTime is how questions spell each fact's own time dimension.
const metricTime = "metric_time"

// leadsTo reports that the last word before a dimension may mean an entity: it
// is its name, or a role that leads there.
func leadsTo(word string, e *semantic.Entity, edges []edge) bool {
	return word == e.Name.Key() || slices.ContainsFunc(edges, func(x edge) bool { return x.to == e && x.ref.Name == word })
}

// facts are the entities whose measures a metric is made from.
func (g *graph) facts(m *semantic.Metric) []*semantic.Entity {
	var out []*semantic.Entity
	seen := map[*semantic.Metric]bool{}
	var visit func(*semantic.Metric)
	visit = func(m *semantic.Metric) {
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		if e := g.catalog.Entity(m.Entity); e != nil {
			out = append(out, e)
		}
		w := walk{g: g, metric: m}
		v := reflect.ValueOf(m).Elem()
		for i := range v.NumField() {
			if p := parts[v.Type()][v.Type().Field(i).Name]; p.lead == toMetric || p.lead == toFormula {
				w.part(p.lead, v.Field(i), nil)
			}
		}
		if m.Conversion != nil {
			w.add("metric", nil, string(m.Conversion.Base), string(m.Conversion.Converted))
		}
		for _, r := range w.found {
			if r.Kind == "metric" {
				visit(g.catalog.Metric(semantic.Name(r.Name)))
			}
		}
	}
	visit(m)
	return out
}

// edge is a relationship on some road from a fact.
type edge struct {
	ref      Ref
	from, to *semantic.Entity
}

// edges are the relationships that a question over a fact may walk: those of the
// fact, and of all that they lead to, save against a to-one relationship.
func (g *graph) edges(fact *semantic.Entity) []edge {
	var out []edge
	seen := map[*semantic.Entity]bool{fact: true}
	for todo := []*semantic.Entity{fact}; len(todo) > 0; todo = todo[1:] {
		for _, r := range todo[0].Relationships {
			to := g.catalog.Entity(r.To)
			if to == nil || r.Kind == semantic.OneToMany {
				continue
			}
			out = append(out, edge{Ref{"relationship", todo[0].Name.Key(), r.Name.Key()}, todo[0], to})
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return out
}

// reached are a fact and the entities at the ends of its edges, each once.
func reached(fact *semantic.Entity, edges []edge) []*semantic.Entity {
	out := []*semantic.Entity{fact}
	for _, x := range edges {
		if !slices.Contains(out, x.to) {
			out = append(out, x.to)
		}
	}
	return out
}

// roads are the edges from which an entity is reached.
func roads(e *semantic.Entity, edges []edge) []Ref {
	var out []Ref
	seen := map[*semantic.Entity]bool{e: true}
	for todo := []*semantic.Entity{e}; len(todo) > 0; todo = todo[1:] {
		for _, x := range edges {
			if x.to != todo[0] {
				continue
			}
			out = append(out, x.ref)
			if !seen[x.from] {
				seen[x.from] = true
				todo = append(todo, x.from)
			}
		}
	}
	return out
}
