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
	if v := raw.Valid; v != nil {
		n.child("valid", "at").timeField(e, v.At)
		r.Valid = &semantic.Validity{At: nameOf(v.At), From: nameOf(v.From), To: nameOf(v.To)}
	}
	if a := raw.AsOf; a != nil {
		n.child("as_of", "at").timeField(e, a.At)
		r.AsOf = &semantic.AsOf{At: nameOf(a.At), Time: nameOf(a.Time)}
	}
	if t := raw.Through; t != nil {
		r.Through = &semantic.Bridge{Entity: nameOf(t.Entity), Near: nameOf(t.Near), Far: nameOf(t.Far),
			Allocate: semantic.Allocation(t.Allocate), Weight: nameOf(t.Weight)}
	}
	n.parts(r)
	return r
}

// parts checks that a relationship has what its kind has, and nothing else.
func (n node) parts(r *semantic.Relationship) {
	many := r.Kind == semantic.ManyToMany
	if !slices.Contains(kinds, r.Kind) {
		return // reported by CUE
	}
	switch {
	case many && len(r.On) > 0:
		n.child("on").invalid("a many_to_many relationship goes through a bridge and joins no fields itself")
	case many && r.Through == nil:
		n.refuse(diag.New(diag.ModelInvalid, "a many_to_many relationship needs its bridge; %q has none", r.Name).WithHint("add through: {entity, near, far, allocate}"))
	case many && r.Complete:
		n.child("complete").invalid("a many_to_many relationship promises nothing about partners; leave complete out")
	case !many && r.Through != nil:
		n.child("through").invalid("only a many_to_many relationship goes through another entity")
	case !many && len(r.On) == 0:
		n.invalid("a %s relationship joins fields; %q has no on", r.Kind, r.Name)
	}
	for part, set := range map[string]bool{"valid": r.Valid != nil, "as_of": r.AsOf != nil} {
		if set && !toOne(r) {
			n.child(part).invalid("%s picks one row of the other entity, and a %s relationship leads to many", part, r.Kind)
		}
	}
	if r.Valid != nil && r.AsOf != nil {
		n.child("as_of").invalid("a relationship picks its partner by valid or as_of, not both")
	}
}

var kinds = []semantic.RelationshipKind{semantic.ManyToOne, semantic.OneToOne, semantic.OneToMany, semantic.ManyToMany}

// toOne reports that a row meets at most one row of the other side.
func toOne(r *semantic.Relationship) bool {
	return r.Kind == semantic.ManyToOne || r.Kind == semantic.OneToOne
}

// reach checks where the relationships of e lead: that the entity and its fields
// exist, that joined fields are of one kind, and that the side said to be one
// is joined by its whole primary key, since anything less would multiply rows.
// Where versions are picked the key tells versions apart, and on does not join it.
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
		if r.Through != nil {
			b.bridge(n.child("through"), e, to, r)
		}
		sound := n.versions(e, to, r)
		for i, pair := range r.On {
			sound = n.child("on", strconv.Itoa(i)).pair(e, to, pair) && sound
		}
		if !sound || len(r.On) == 0 || !slices.Contains(kinds, r.Kind) {
			continue
		}
		if toOne(r) && r.Valid == nil && r.AsOf == nil {
			n.wholeKey(r, to, func(p semantic.JoinPair) semantic.Name { return p.To })
		}
		if r.Kind == semantic.OneToMany || r.Kind == semantic.OneToOne {
			n.wholeKey(r, e, func(p semantic.JoinPair) semantic.Name { return p.From })
		}
	}
}

// versions checks the times by which a relationship picks its partner; false
// when they are wrong.
func (n node) versions(e, to *semantic.Entity, r *semantic.Relationship) bool {
	switch {
	case r.Valid != nil:
		at, _ := find(e.Fields, string(r.Valid.At), fieldName)
		from := n.child("valid", "from").timeField(to, string(r.Valid.From))
		until := n.child("valid", "to").timeField(to, string(r.Valid.To))
		if from != nil && from == until {
			n.child("valid", "to").invalid("a version is valid from one field to another; both are %q", from.Name)
			return false
		}
		return n.child("valid", "from").comparable(at, from) && n.child("valid", "to").comparable(at, until)
	case r.AsOf != nil:
		at, _ := find(e.Fields, string(r.AsOf.At), fieldName)
		return n.child("as_of", "time").comparable(at, n.child("as_of", "time").timeField(to, string(r.AsOf.Time)))
	}
	return true
}

// timeField finds the date or timestamp field of e that the value of n names;
// nil, and refused, when there is none or it is no time.
func (n node) timeField(e *semantic.Entity, name string) *semantic.Field {
	f := n.fieldOf(e, name)
	if f != nil && f.Type != "" && f.Type.Kind() != semantic.KindTime {
		n.invalid("a date or timestamp is meant here; field %q is %s", f.Name, f.Type)
		return nil
	}
	return f
}

// comparable checks that two times can be held against each other as they are
// stored: both are moments, or both are local times of one zone. A date is local.
// It is true for what is unknown, and reported.
func (n node) comparable(a, b *semantic.Field) bool {
	if a == nil || b == nil || a.Type == "" || b.Type == "" {
		return true
	}
	zoned := func(f *semantic.Field) bool { return f.Type == "timestamptz" }
	switch {
	case zoned(a) != zoned(b):
		n.invalid("times are compared as they are stored; %q is %s and %q is %s", a.Name, a.Type, b.Name, b.Type)
		return false
	case a.Type == "timestamp" && b.Type == "timestamp" && zoneOf(a) != zoneOf(b):
		n.invalid("times are compared as they are stored; %q is in zone %s and %q in zone %s", a.Name, zoneOf(a), b.Name, zoneOf(b))
		return false
	}
	return true
}

func zoneOf(f *semantic.Field) string {
	if f.Zone == "" {
		return "UTC"
	}
	return f.Zone
}

// bridge checks the entity between two that are many to many.
func (b *builder) bridge(n node, e, to *semantic.Entity, r *semantic.Relationship) {
	t := r.Through
	between, ok := find(b.entities, string(t.Entity), entityName)
	if !ok {
		if t.Entity != "" {
			n.child("entity").unknown("entity", string(t.Entity), "", texts(b.entities, entityName))
		}
		return
	}
	for part, r := range map[string]*semantic.Relationship{"near": n.child("near").side(between, t.Near, e), "far": n.child("far").side(between, t.Far, to)} {
		if r != nil && (r.Valid != nil || r.AsOf != nil) {
			n.child(part).invalid("the relationships of a bridge pick no versions; %q of entity %q does", r.Name, between.Name)
		}
	}
	if t.Near != "" && t.Near == t.Far {
		n.child("far").invalid("a bridge leads to its two sides over two relationships; both are %q", t.Far)
	}
	switch {
	case t.Allocate == semantic.AllocateWeight && t.Weight == "":
		n.invalid("allocate weight needs weight, the field of entity %q that holds each pair's part", between.Name)
	case t.Weight == "":
	case t.Allocate != semantic.AllocateWeight:
		n.child("weight").invalid("only allocate weight has a weight")
	default:
		if f := n.child("weight").fieldOf(between, string(t.Weight)); f != nil && f.Type != "" && f.Type.Kind() != semantic.KindNumber {
			n.child("weight").invalid("a weight is a number; field %q is %s", f.Name, f.Type)
		}
	}
}

// side checks that the value of n is a relationship of an entity that leads to
// one row of another, and gives it; nil when it is not.
func (n node) side(of *semantic.Entity, role semantic.Name, to *semantic.Entity) *semantic.Relationship {
	if role == "" {
		return nil
	}
	r, ok := find(of.Relationships, string(role), relationshipName)
	switch {
	case !ok:
		n.unknown("relationship", string(role), fmt.Sprintf(" in entity %q", of.Name), texts(of.Relationships, relationshipName))
	case r.To != to.Name:
		n.invalid("relationship %q of entity %q leads to %q, and %q is meant here", role, of.Name, r.To, to.Name)
	case !toOne(r):
		n.invalid("a relationship that leads to one row is meant here; %q of entity %q is %s", role, of.Name, r.Kind)
	default:
		return r
	}
	return nil
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
			if r.Name.Key() != r.To.Key() || !toOne(r) {
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
			case slices.ContainsFunc(e.Relationships, func(o *semantic.Relationship) bool { return o != r && o.To == r.To && toOne(o) }):
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
		if to, ok := find(b.entities, string(r.To), entityName); ok && toOne(r) {
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
