package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// relationship checks the near side; reach checks the far side when all entities are known.
func relationship(n node, e *semantic.Entity, label string, raw rawRelationship) *semantic.Relationship {
	r := &semantic.Relationship{
		Name: nameOf(label), To: nameOf(raw.To), Kind: semantic.RelationshipKind(raw.Kind), Complete: raw.Complete, Pos: n.label(),
	}
	for i, pair := range raw.On {
		n.child("on", strconv.Itoa(i), "from").fieldOf(e, pair.From)
		r.On = append(r.On, semantic.JoinPair{From: nameOf(pair.From), To: nameOf(pair.To)})
	}
	return r
}

var kinds = []semantic.RelationshipKind{semantic.ManyToOne, semantic.OneToOne, semantic.OneToMany}

// reach checks where the relationships of e lead: that the entity and its fields
// exist, that joined fields are of one kind, and that the side said to be one
// is joined by its whole primary key, since anything less would multiply rows.
func (b *builder) reach(e *semantic.Entity) {
	for _, r := range e.Relationships {
		n := b.role(e, r)
		to, ok := find(b.entities, string(r.To), entityName)
		if !ok {
			if r.To != "" {
				n.child("to").unknown("entity", string(r.To), "", texts(b.entities, entityName))
			}
			continue
		}
		sound := true
		for i, pair := range r.On {
			sound = n.child("on", strconv.Itoa(i)).pair(e, to, pair) && sound
		}
		if !sound || !slices.Contains(kinds, r.Kind) {
			continue
		}
		if r.Kind != semantic.OneToMany {
			n.wholeKey(r, to, func(p semantic.JoinPair) semantic.Name { return p.To })
		}
		if r.Kind == semantic.OneToMany || r.Kind == semantic.OneToOne {
			n.wholeKey(r, e, func(p semantic.JoinPair) semantic.Name { return p.From })
		}
	}
}

// pair checks one equality; false when it cannot be judged further.
func (n node) pair(e, to *semantic.Entity, pair semantic.JoinPair) bool {
	from, ok := find(e.Fields, string(pair.From), fieldName)
	other := n.child("to").fieldOf(to, string(pair.To))
	if !ok || other == nil || from.Type == "" || other.Type == "" {
		return false
	}
	if from.Type.Kind() != other.Type.Kind() {
		n.invalid("joined fields are of one kind; %q is %s and %q of entity %q is %s", from.Name, from.Type, other.Name, to.Name, other.Type)
		return false
	}
	return true
}

func (n node) wholeKey(r *semantic.Relationship, e *semantic.Entity, side func(semantic.JoinPair) semantic.Name) {
	var joined []semantic.Name
	for _, p := range r.On {
		joined = append(joined, side(p))
	}
	if len(e.PrimaryKey) == 0 {
		n.invalid("a %s relationship needs the primary key of entity %q, which declares none", r.Kind, e.Name)
		return
	}
	for _, k := range e.PrimaryKey {
		if !slices.Contains(joined, k) {
			n.invalid("a %s relationship joins the whole primary key of entity %q; %q is not joined", r.Kind, e.Name, k)
		}
	}
}

// edge is one relationship in the graph of steps that keep the number of rows.
type edge struct {
	from *semantic.Entity
	rel  *semantic.Relationship
}

// cycles refuses relationships that a path cannot tell apart. Where entities
// reach themselves again, or two relationships lead to the same entity, each of
// them must have a role of its own: a name other than that of the entity it
// leads to. Two longer paths to one entity are left to the compiler, which asks
// for the path whenever a question has more than one.
func (b *builder) cycles() {
	component := b.components()
	for _, e := range b.entities {
		for _, r := range e.Relationships {
			if r.Name.Key() != r.To.Key() || r.Kind == semantic.OneToMany {
				continue
			}
			at := b.role(e, r)
			to, ok := find(b.entities, string(r.To), entityName)
			switch {
			case !ok:
			case to == e:
				at.unnamed("entity %q reaches itself over %q", e.Name, r.Name)
			case component[e] == component[to]:
				at.unnamed("relationships form a cycle: %s", b.cycle(edge{e, r}, component))
			case slices.ContainsFunc(e.Relationships, func(o *semantic.Relationship) bool { return o != r && o.To == r.To && o.Kind != semantic.OneToMany }):
				at.unnamed("two relationships lead from %q to %q", e.Name, r.To)
			}
		}
	}
}

func (n node) unnamed(format string, args ...any) {
	e := diag.New(diag.ModelCycle, format, args...).At(n.label()).
		WithHint("give the relationship a role, a name other than that of the entity it leads to")
	n.b.errs = append(n.b.errs, e)
}

// next lists where one step leads from e.
func (b *builder) next(e *semantic.Entity) []edge {
	var out []edge
	for _, r := range e.Relationships {
		if to, ok := find(b.entities, string(r.To), entityName); ok && r.Kind != semantic.OneToMany {
			out = append(out, edge{to, r})
		}
	}
	return out
}

// components numbers the strongly connected components (Tarjan).
func (b *builder) components() map[*semantic.Entity]int {
	var (
		stack     []*semantic.Entity
		index     = map[*semantic.Entity]int{}
		low       = map[*semantic.Entity]int{}
		component = map[*semantic.Entity]int{}
		visit     func(*semantic.Entity)
	)
	visit = func(e *semantic.Entity) {
		index[e] = len(index) + 1
		low[e] = index[e]
		stack = append(stack, e)
		for _, step := range b.next(e) {
			if index[step.from] == 0 {
				visit(step.from)
				low[e] = min(low[e], low[step.from])
			} else if component[step.from] == 0 {
				low[e] = min(low[e], index[step.from])
			}
		}
		if low[e] != index[e] {
			return
		}
		for {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			component[top] = index[e]
			if top == e {
				return
			}
		}
	}
	for _, e := range b.entities {
		if index[e] == 0 {
			visit(e)
		}
	}
	return component
}

// cycle spells the shortest way from the end of start back to its beginning.
func (b *builder) cycle(start edge, component map[*semantic.Entity]int) string {
	first, _ := find(b.entities, string(start.rel.To), entityName)
	came := map[*semantic.Entity]*semantic.Entity{first: nil}
	queue := []*semantic.Entity{first}
	for len(queue) > 0 && came[start.from] == nil && first != start.from {
		e := queue[0]
		queue = queue[1:]
		for _, step := range b.next(e) {
			if _, seen := came[step.from]; !seen && component[step.from] == component[first] {
				came[step.from] = e
				queue = append(queue, step.from)
			}
		}
	}
	var names []string
	for e := start.from; e != nil; e = came[e] {
		names = append(names, string(e.Name))
	}
	names = append(names, string(start.from.Name))
	slices.Reverse(names)
	return strings.Join(names, " -> ")
}

// metric builds one metric; it is a ratio when it has a numerator or a denominator.
func (b *builder) metric(n node, label string, raw *rawModel) *semantic.Metric {
	r := raw.Metrics[label]
	m := &semantic.Metric{
		Name: nameOf(label), Description: r.Description, Kind: semantic.SimpleMetric, Entity: nameOf(r.Entity), Measure: nameOf(r.Measure),
		Filter: r.Filter, Numerator: nameOf(r.Numerator), Denominator: nameOf(r.Denominator),
		Unit: r.Unit, Format: r.Format, Tags: r.Tags, Synonyms: r.Synonyms, Pos: n.label(),
	}
	n.reserved("metric", label)
	if r.Filter != "" {
		m.FilterPos = b.places.text(n.child("filter").path)
	}
	if r.Numerator != "" || r.Denominator != "" {
		m.Kind = semantic.RatioMetric
		b.ratio(n, r, raw)
		return m
	}
	b.simple(n, label, r, m)
	return m
}

func (b *builder) ratio(n node, r rawMetric, raw *rawModel) {
	for part, text := range map[string]string{"entity": r.Entity, "measure": r.Measure, "filter": r.Filter} {
		if text != "" {
			n.child(part).invalid("a ratio has a numerator and a denominator, and no %s", part)
		}
	}
	var known []string
	for name := range raw.Metrics {
		known = append(known, name)
	}
	for part, name := range map[string]string{"numerator": r.Numerator, "denominator": r.Denominator} {
		other, ok := raw.Metrics[name]
		switch {
		case name == "":
			n.invalid("a ratio has a numerator and a denominator; %s is missing", part)
		case !ok:
			n.child(part).unknown("metric", name, "", known)
		case other.Numerator != "" || other.Denominator != "":
			n.child(part).invalid("the parts of a ratio are metrics of one measure; %q is a ratio itself", name)
		}
	}
}

func (b *builder) simple(n node, label string, r rawMetric, m *semantic.Metric) {
	if r.Entity == "" || r.Measure == "" {
		if r.Description != "" {
			n.invalid("a metric has entity and measure, or numerator and denominator; %q has not", label)
		}
		return
	}
	e, ok := find(b.entities, r.Entity, entityName)
	if !ok {
		n.child("entity").unknown("entity", r.Entity, "", texts(b.entities, entityName))
		return
	}
	measure, ok := find(e.Measures, r.Measure, measureName)
	if !ok {
		n.child("measure").unknown("measure", r.Measure, fmt.Sprintf(" in entity %q", e.Name), texts(e.Measures, measureName))
		return
	}
	if m.Unit == "" {
		m.Unit = measure.Unit
	}
	if m.Format == "" {
		m.Format = measure.Format
	}
}
