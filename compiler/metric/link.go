package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// walked reports that a relationship may be walked from the fact: to one partner,
// or to several over a declared bridge.
func walked(r *semantic.Relationship) bool {
	switch r.Kind {
	case semantic.ManyToOne, semantic.OneToOne:
		return true
	case semantic.ManyToMany:
		return r.Through != nil
	}
	return false
}

// bridged reports that a path goes over a bridge.
func (p path) bridged() bool {
	return slices.ContainsFunc(p.roles, func(r *semantic.Relationship) bool { return r.Kind == semantic.ManyToMany })
}

// follow gives the entity that a relationship leads to from the end of a path, nil
// for one that is not walked or that the subject may not use.
func (s *scope) follow(p path, r *semantic.Relationship) *resolve.Visible {
	if !walked(r) || r.Kind == semantic.ManyToMany && p.bridged() {
		return nil
	}
	return s.usable(p.to, r)
}

// usable gives the other entity of a relationship all of whose fields the subject
// has unmasked. Masks are equal where values are not, or differ where they are
// equal: a join over them would multiply or lose rows. A partner that is picked by
// its time, or a bridge, that requires a filter is closed: the filter would have to
// stand inside the join, where no caller can write it.
func (s *scope) usable(from *resolve.Visible, r *semantic.Relationship) *resolve.Visible {
	to := s.joined(from, r)
	if to == nil || s.maskedKey(from, r) != "" {
		return nil
	}
	if r.AsOf != nil && requires(to) {
		return nil
	}
	if r.Through != nil && requires(s.entity(r.Through.Entity)) {
		return nil
	}
	return to
}

func requires(vis *resolve.Visible) bool {
	return slices.ContainsFunc(vis.Entity.Filters, func(f *semantic.Filter) bool { return f.Kind == semantic.RequiredFilter })
}

// joined gives the other entity of a relationship all of whose fields the subject has, masked or not.
func (s *scope) joined(from *resolve.Visible, r *semantic.Relationship) *resolve.Visible {
	fields, ok := s.linked(from, r)
	if !ok || slices.ContainsFunc(fields, func(f fieldOf) bool { return !present(f.of, f.name) }) {
		return nil
	}
	return s.entity(r.To)
}

// maskedKey names a masked field that a relationship reads, "" when there is none.
func (s *scope) maskedKey(from *resolve.Visible, r *semantic.Relationship) string {
	fields, _ := s.linked(from, r)
	for _, f := range fields {
		if f.of.Masked[f.name.Key()] {
			return naming(f.of, f.name)
		}
	}
	return ""
}

// fieldOf is a field that a relationship reads.
type fieldOf struct {
	of   *resolve.Visible
	name semantic.Name
}

// linked lists the fields that a relationship reads; false when an entity it needs
// is not there.
func (s *scope) linked(from *resolve.Visible, r *semantic.Relationship) ([]fieldOf, bool) {
	to := s.entity(r.To)
	if to == nil {
		return nil, false
	}
	if r.Through != nil {
		return s.linkedBy(from, r.Through, to)
	}
	out := pairs(from, r, to)
	if v := r.Valid; v != nil {
		out = append(out, fieldOf{from, v.At}, fieldOf{to, v.From}, fieldOf{to, v.To})
	}
	if a := r.AsOf; a != nil {
		out = append(out, fieldOf{from, a.At}, fieldOf{to, a.Time})
	}
	return out, true
}

func (s *scope) linkedBy(from *resolve.Visible, t *semantic.Bridge, to *resolve.Visible) ([]fieldOf, bool) {
	bridge := s.entity(t.Entity)
	if bridge == nil {
		return nil, false
	}
	near, far := bridge.Entity.Relationship(t.Near), bridge.Entity.Relationship(t.Far)
	if near == nil || far == nil || near.To.Key() != from.Entity.Name.Key() || far.To.Key() != to.Entity.Name.Key() ||
		near.Valid != nil || near.AsOf != nil || far.Valid != nil || far.AsOf != nil {
		return nil, false
	}
	out := append(pairs(bridge, near, from), pairs(bridge, far, to)...)
	if t.Weight != "" {
		out = append(out, fieldOf{bridge, t.Weight})
	}
	return out, true
}

func pairs(from *resolve.Visible, r *semantic.Relationship, to *resolve.Visible) []fieldOf {
	var out []fieldOf
	for _, p := range r.On {
		out = append(out, fieldOf{from, p.From}, fieldOf{to, p.To})
	}
	return out
}
