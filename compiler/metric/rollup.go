package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Rollup makes a table a measure of each row of its Parent: the table's own rows are
// aggregated by the fields of its Join that lead there.
type Rollup struct {
	Leaf   *Leaf // over the table; of no frame
	Orphan bool  // Parent may be missing itself, and then has no value
}

// measureOf places a measure of a to-many entity beside an entity that a fact reaches.
func (b *builder) measureOf(l leg, p place) *Table {
	at := b.table(l.Leg, p.path)
	key := at.path + ".\x00of." + p.dim.Name.Key() // no path of roles has a name like this one
	if i := slices.IndexFunc(l.Tables, func(t *Table) bool { return t.path == key }); i >= 0 {
		return l.Tables[i]
	}
	of := p.dim.Of
	other := b.entity(of.Entity).Entity
	measure := other.Measure(of.Measure)
	t := b.addTable(l.Leg, &Table{Entity: other, Parent: at, Join: other.Relationship(of.Role), path: key})
	leaf := &Leaf{Leg: &Leg{Tables: []*Table{t}}, Measure: measure, Fill: measure.Fill}
	b.aggregate(leaf, t)
	t.Rollup = &Rollup{Leaf: leaf, Orphan: at.Parent != nil}
	return t
}

// rolledUp reports that the subject has, unmasked, all that a measure of a to-many
// entity reads. An entity that requires a filter has none to offer.
func (s *scope) rolledUp(vis *resolve.Visible, of *semantic.MeasureOf) bool {
	other := s.entity(of.Entity)
	if other == nil || requires(other) {
		return false
	}
	r, m := other.Entity.Relationship(of.Role), other.Entity.Measure(of.Measure)
	if r == nil || m == nil || r.To.Key() != vis.Entity.Name.Key() || r.Kind != semantic.ManyToOne && r.Kind != semantic.OneToOne ||
		r.Valid != nil || r.AsOf != nil || m.Semi != nil || !understood(other.Entity, m) || s.usable(other, r) == nil {
		return false
	}
	for _, text := range []string{m.Expr, m.Filter} {
		if !s.readable(other, text) || s.maskedIn(other, text) != "" {
			return false
		}
	}
	return !slices.ContainsFunc(measureFields(other.Entity, m), func(f semantic.Name) bool { return !present(other, f) || other.Masked[f.Key()] })
}
