package load

import (
	"maps"
	"slices"
	"time"
	_ "time/tzdata" // zones are the same on every machine

	"golang.org/x/text/unicode/norm"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// builder makes the catalog from the raw model and collects what is wrong with
// it. It may be given a model that CUE refused: what is missing or has a wrong
// value there is reported already, so it stays silent about empty text.
type builder struct {
	places    *places
	workspace *semantic.Workspace // nil when the configuration is broken
	errs      diag.List
	later     []func() // what needs all entities

	entities   []*semantic.Entity
	metrics    []*semantic.Metric
	time       semantic.TimeSettings
	calendars  []*semantic.Calendar
	parameters []*semantic.Parameter
	views      []*semantic.View
	tests      []*semantic.Test
}

func (b *builder) build(raw *rawModel) {
	b.timeSettings(raw.Time)
	top := node{b: b, path: []string{"model"}}
	entities := top.child("entities")
	for _, label := range entities.scope(slices.Collect(maps.Keys(raw.Entities)), "entity") {
		b.entities = append(b.entities, b.entity(entities.child(label), label, raw.Entities[label]))
	}
	for _, e := range b.entities {
		b.reach(e)
	}
	for _, check := range b.later {
		check()
	}
	b.maskedKeys()
	b.cycles()
	for _, label := range top.child("calendars").scope(slices.Collect(maps.Keys(raw.Calendars)), "calendar") {
		b.calendars = append(b.calendars, b.calendar(top.child("calendars", label), label, raw.Calendars[label]))
	}
	b.allMetrics(top.child("metrics"), raw.Metrics)
	for _, label := range top.child("parameters").scope(slices.Collect(maps.Keys(raw.Parameters)), "parameter") {
		b.parameters = append(b.parameters, b.parameter(top.child("parameters", label), label, raw.Parameters[label]))
	}
	for _, label := range top.child("views").scope(slices.Collect(maps.Keys(raw.Views)), "view") {
		b.views = append(b.views, b.view(top.child("views", label), label, raw.Views[label]))
	}
	for _, label := range top.child("tests").scope(slices.Collect(maps.Keys(raw.Tests)), "test") {
		b.tests = append(b.tests, b.test(top.child("tests", label), label, raw.Tests[label]))
	}
}

func (b *builder) catalog(revision string) *semantic.Catalog {
	return semantic.NewCatalog(semantic.Catalog{Revision: revision, Entities: b.entities, Metrics: b.metrics, Time: b.time,
		Calendars: b.calendars, Parameters: b.parameters, Views: b.views, Tests: b.tests})
}

func (b *builder) timeSettings(raw rawTime) {
	b.time = semantic.TimeSettings{Zone: raw.Zone, WeekStart: raw.WeekStart, FiscalStart: raw.FiscalStart}
	node{b: b, path: []string{"model", "time"}}.zone(raw.Zone)
}

// role is the place of a relationship.
func (b *builder) role(e *semantic.Entity, r *semantic.Relationship) node {
	return node{b: b, path: []string{"model", "entities", string(e.Name), "relationships", string(r.Name)}}
}

// node is one place in the raw model: where errors about it point.
type node struct {
	b    *builder
	path []string
}

func (n node) child(labels ...string) node {
	return node{b: n.b, path: append(slices.Clip(n.path), labels...)}
}

func (n node) label() diag.Pos { return n.b.places.label(n.path) }

// refuse reports an error at the value of n.
func (n node) refuse(e *diag.Error) { n.b.errs = append(n.b.errs, e.At(n.b.places.value(n.path))) }

// invalid reports a mistake at the value of n.
func (n node) invalid(format string, args ...any) {
	n.refuse(diag.New(diag.ModelInvalid, format, args...))
}

// unknown reports that the value of n, a reference, names nothing of that noun.
func (n node) unknown(noun, name, where string, known []string) {
	e := diag.New(diag.ModelUnknown, "there is no %s %q%s", noun, name, where)
	if near := semantic.Nearest(name, known); len(near) > 0 {
		n.refuse(e.Suggest(near...))
		return
	}
	n.refuse(e)
}

// zone checks that the zone at n, when there is one, is known.
func (n node) zone(name string) {
	if name == "" {
		return
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" {
		n.child("zone").refuse(diag.New(diag.ModelUnknown, "there is no time zone %q", name).WithHint("write an IANA name, for example Europe/Berlin"))
	}
}

// scope orders the names below n as they are written, and refuses those that
// are equal without regard to case or to the way their letters are composed.
func (n node) scope(labels []string, noun string) []string {
	n.b.places.rank(n.path, labels)
	first := map[string]string{}
	for _, label := range labels {
		k := semantic.Name(label).Look()
		if other, taken := first[k]; taken {
			at := n.child(label)
			n.b.errs = append(n.b.errs, diag.New(diag.ModelDuplicate, "%s %q and %q have one name: case and composition do not tell names apart", noun, other, label).
				At(at.label()).WithHint("the other is at %s", n.child(other).label()))
			continue
		}
		first[k] = label
	}
	return labels
}

// nameOf is a label as a name.
func nameOf(label string) semantic.Name { return semantic.Name(norm.NFC.String(label)) }

func namesOf(labels []string) []semantic.Name {
	var out []semantic.Name
	for _, label := range labels {
		out = append(out, nameOf(label))
	}
	return out
}

// find looks a reference up among things by its exact name; the zero T and false when it is unknown.
func find[T any](things []T, reference string, name func(T) semantic.Name) (T, bool) {
	wanted := nameOf(reference)
	i := slices.IndexFunc(things, func(t T) bool { return name(t) == wanted })
	if i < 0 {
		var none T
		return none, false
	}
	return things[i], true
}

// alike finds the thing whose name is equal to label without regard to case; nil when there is none.
func alike[T any](things []*T, label string, name func(*T) semantic.Name) *T {
	k := semantic.Name(label).Look()
	i := slices.IndexFunc(things, func(t *T) bool { return name(t).Look() == k })
	if i < 0 {
		return nil
	}
	return things[i]
}

func texts[T any](things []T, name func(T) semantic.Name) []string {
	var out []string
	for _, t := range things {
		out = append(out, string(name(t)))
	}
	return out
}

func entityName(e *semantic.Entity) semantic.Name       { return e.Name }
func fieldName(f *semantic.Field) semantic.Name         { return f.Name }
func dimensionName(d *semantic.Dimension) semantic.Name { return d.Name }
func measureName(m *semantic.Measure) semantic.Name     { return m.Name }
func relationshipName(r *semantic.Relationship) semantic.Name {
	return r.Name
}
func metricName(m *semantic.Metric) semantic.Name { return m.Name }
