package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// weighted is a fact's row on its way to a group: over a bridge, with the partner
// it was paired with and the part of its value that goes there.
type weighted struct {
	row
	weight  float64
	partner map[string]row // by the bridged relationship's key; nil row: none
}

// bridge is the relationship of an entity that the scope's conditions or filters
// go over to many partners; nil when they go over none.
func (s scope) bridge(e *semantic.Entity) *semantic.Relationship {
	for _, r := range e.Relationships {
		if r.Kind == semantic.ManyToMany && slices.ContainsFunc(s.names(), func(n string) bool { return s.over(r, n) }) {
			return r
		}
	}
	return nil
}

// over reports that a spelling means something behind a relationship: behind its
// role, or a segment of the entity it leads to.
func (s scope) over(r *semantic.Relationship, name string) bool {
	role, rest, ok := strings.Cut(name, ".")
	return ok && r.Name.Key() == semantic.Name(role).Key() || !ok && rest == "" && s.catalog.Entity(r.To).Segment(semantic.Name(name)) != nil ||
		!ok && s.catalog.Entity(r.To).Dimension(semantic.Name(name)) != nil
}

// groupsBy reports that the groups are told apart by what lies behind a relationship.
func (s scope) groupsBy(r *semantic.Relationship) bool {
	return slices.ContainsFunc(s.at, func(a at) bool { return s.over(r, a.dim.Name) })
}

// spread pairs a row with each of its partners over a bridge; one pair that stands
// there twice counts with the greater weight.
func (s scope) spread(e *semantic.Entity, r row, bridged *semantic.Relationship) []weighted {
	if bridged == nil {
		return []weighted{{r, 1, nil}}
	}
	b := bridged.Through
	between := s.catalog.Entity(b.Entity)
	far := between.Relationship(b.Far)
	var out []weighted
	at := map[string]int{}
	for _, pair := range s.visible(between) {
		near := s.follow(between, pair, between.Relationship(b.Near))
		if near == nil || orderBy(e.PrimaryKey, near, r) != 0 {
			continue
		}
		w := weighted{r, 1, map[string]row{bridged.Name.Key(): s.follow(between, pair, far)}}
		if b.Allocate == semantic.AllocateWeight {
			w.weight, _ = pair[b.Weight.Key()].(float64)
		}
		key := ""
		for _, p := range far.On {
			key += text(pair[p.From.Key()]) + "\x00"
		}
		i, seen := at[key]
		switch {
		case !seen:
			at[key] = len(out)
			out = append(out, w)
		case w.weight > out[i].weight:
			out[i] = w
		}
	}
	if out == nil {
		return []weighted{{r, 1, map[string]row{bridged.Name.Key(): nil}}}
	}
	return out
}

// names are the dimensions and segments that the scope's conditions and filters read.
func (s scope) names() []string {
	var out []string
	for _, a := range s.at {
		out = append(out, a.dim.Name)
	}
	for _, d := range s.by {
		out = append(out, d.Name)
	}
	if s.every {
		return out
	}
	var filters func(list []metric.Filter)
	filters = func(list []metric.Filter) {
		for _, f := range list {
			out = append(out, f.Field)
			filters(f.Any)
			filters(f.All)
		}
	}
	filters(s.q.Filters)
	return append(out, s.q.Segments...)
}

// inSegment reports that a row, or its partner, is in a segment; false when the
// name means none from here.
func (s scope) inSegment(e *semantic.Entity, w weighted, name string) (is, found bool) {
	if g := e.Segment(semantic.Name(name)); g != nil {
		return w.row != nil && s.meanings[g.Expr](w.row, s.parameters()) == true, true
	}
	for _, r := range e.Relationships {
		if is, found = s.inSegment(s.catalog.Entity(r.To), weighted{row: s.partnerOf(e, w, r)}, name); found {
			return is, true
		}
	}
	return false, false
}

// drilled puts the levels of hierarchies in their place.
func (o *oracle) drilled(q metric.Question) metric.Question {
	var out []metric.DimensionRef
	for _, d := range q.Dimensions {
		levels := []metric.DimensionRef{d}
		for _, e := range o.catalog.Entities {
			for _, h := range e.Hierarchies {
				if string(h.Name) == d.Name {
					levels = nil
					for _, l := range h.Levels[:max(slices.Index(h.Levels, semantic.Name(d.Grain)), 0)+1] {
						levels = append(levels, metric.DimensionRef{Name: string(l)})
					}
				}
			}
		}
		out = append(out, levels...)
	}
	q.Dimensions = out
	return q
}

// read gives a dimension's value for a row of an entity; NULL without a partner.
// The spelling is a dimension's name, entity.dimension, or a path of roles.
func (s scope) read(e *semantic.Entity, w weighted, name string) any {
	owner, partner, d := s.place(e, w, name)
	if partner == nil {
		return nil
	}
	return s.own(owner, partner, d)
}

// place finds the entity that has the dimension, the row's partner there, and the dimension.
func (s scope) place(e *semantic.Entity, w weighted, name string) (*semantic.Entity, row, *semantic.Dimension) {
	if name == metric.MetricTime {
		return e, w.row, e.Dimension(e.TimeDimension)
	}
	if role, rest, ok := strings.Cut(name, "."); ok && e.Relationship(semantic.Name(role)) != nil {
		rel := e.Relationship(semantic.Name(role))
		return s.place(s.catalog.Entity(rel.To), weighted{row: s.partnerOf(e, w, rel)}, rest)
	}
	last := semantic.Name(name[strings.LastIndex(name, ".")+1:])
	if d := e.Dimension(last); d != nil && (string(last) == name || e.Name.Key() == semantic.Name(name[:len(name)-len(last)-1]).Key()) {
		return e, w.row, d
	}
	for _, rel := range e.Relationships {
		if rel.Kind == semantic.OneToMany {
			continue
		}
		if owner, r, d := s.place(s.catalog.Entity(rel.To), weighted{row: s.partnerOf(e, w, rel)}, name); d != nil {
			return owner, r, d
		}
	}
	return nil, nil, nil
}

func (s scope) partnerOf(e *semantic.Entity, w weighted, rel *semantic.Relationship) row {
	if w.row == nil {
		return nil
	}
	if rel.Kind == semantic.ManyToMany {
		return w.partner[rel.Name.Key()]
	}
	return s.follow(e, w.row, rel)
}

// follow gives the row's one partner over a to-one relationship; nil without one. Times
// are compared as they are stored.
func (s scope) follow(_ *semantic.Entity, r row, rel *semantic.Relationship) row {
	to := s.catalog.Entity(rel.To)
	var best row
	for _, p := range s.visible(to) {
		same := !slices.ContainsFunc(rel.On, func(on semantic.JoinPair) bool {
			return r[on.From.Key()] == nil || order(r[on.From.Key()], p[on.To.Key()]) != 0
		})
		if !same {
			continue
		}
		switch {
		case rel.Valid != nil:
			at, ok := r[rel.Valid.At.Key()].(time.Time)
			from, okFrom := p[rel.Valid.From.Key()].(time.Time)
			until, ends := p[rel.Valid.To.Key()].(time.Time)
			if ok && okFrom && !at.Before(from) && (!ends || at.Before(until)) {
				return p
			}
		case rel.AsOf != nil:
			at, ok := r[rel.AsOf.At.Key()].(time.Time)
			since, okSince := p[rel.AsOf.Time.Key()].(time.Time)
			if ok && okSince && !since.After(at) && (best == nil || order(p[rel.AsOf.Time.Key()], best[rel.AsOf.Time.Key()]) > 0) {
				best = p
			}
		default:
			return p
		}
	}
	return best
}

// own is a dimension's value for a row of its own entity.
func (s scope) own(e *semantic.Entity, r row, d *semantic.Dimension) any {
	var v any
	switch {
	case d.Of != nil:
		other := s.catalog.Entity(d.Of.Entity)
		bare := *s.asked // a question's filters do not reach in
		bare.q.Filters, bare.q.Segments, bare.q.Time = nil, nil, nil
		inner := scope{asked: &bare, every: true, forever: true, present: true}
		m := other.Measure(d.Of.Measure)
		var rows []weighted
		for _, x := range inner.visible(other) {
			p := inner.follow(other, x, other.Relationship(d.Of.Role))
			if p != nil && orderBy(e.PrimaryKey, p, r) == 0 && (m.Filter == "" || s.meanings[m.Filter](x, s.parameters()) == true) {
				rows = append(rows, weighted{x, 1, nil})
			}
		}
		if v = inner.aggregate(other, m, rows); len(rows) == 0 && m.Fill != nil {
			v = float64(*m.Fill)
		}
	case d.Expr != "":
		v = s.meanings[d.Expr](r, s.parameters())
	default:
		v = r[d.Field.Key()]
	}
	if d.Bins != nil && v != nil {
		return bin(v.(float64), d.Bins)
	}
	return v
}

// bin gives the lower edge of a number's group.
func bin(v float64, b *semantic.Bins) any {
	if b.Width != "" {
		width := read(b.Width, "double").(float64)
		return math.Floor(v/width) * width
	}
	var out any
	for _, edge := range b.Edges {
		if e := read(edge, "double").(float64); e <= v {
			out = e
		}
	}
	return out
}

// holds applies a filter by its documented meaning.
func (s scope) holds(e *semantic.Entity, w weighted, f metric.Filter) bool {
	switch {
	case f.Any != nil:
		return slices.ContainsFunc(f.Any, func(x metric.Filter) bool { return s.holds(e, w, x) })
	case f.All != nil:
		return !slices.ContainsFunc(f.All, func(x metric.Filter) bool { return !s.holds(e, w, x) })
	}
	if f.Grain != "" {
		return test(s.bucketed(e, w, metric.DimensionRef{Name: f.Field, Grain: f.Grain}), f)
	}
	v := s.read(e, w, f.Field)
	if _, ok := v.(time.Time); ok {
		v = s.local(e, w, f.Field)
	}
	return test(v, f)
}

// test compares a value with those of a filter. != and not_in keep NULL, unless
// null is among the values.
func test(v any, f metric.Filter) bool {
	among := func() bool { return slices.ContainsFunc(f.Values, func(x any) bool { return versus(v, x) == 0 }) }
	switch f.Op {
	case "is_null":
		return v == nil
	case "is_not_null":
		return v != nil
	case "=", "in":
		return among()
	case "!=", "not_in":
		return !among()
	}
	if v == nil {
		return false
	}
	t, _ := v.(string)
	switch f.Op {
	case "<":
		return versus(v, f.Values[0]) < 0
	case "<=":
		return versus(v, f.Values[0]) <= 0
	case ">":
		return versus(v, f.Values[0]) > 0
	case ">=":
		return versus(v, f.Values[0]) >= 0
	case "between":
		return versus(v, f.Values[0]) >= 0 && versus(v, f.Values[1]) <= 0
	case "contains":
		return strings.Contains(t, f.Values[0].(string))
	case "starts_with":
		return strings.HasPrefix(t, f.Values[0].(string))
	case "ends_with":
		return strings.HasSuffix(t, f.Values[0].(string))
	}
	panic(f.Op)
}

// versus orders a value against a caller's. A day is equal to every moment of it.
func versus(v, x any) int {
	x = plain(x)
	if t, ok := v.(time.Time); ok && x != nil {
		written := strings.Replace(x.(string), "T", " ", 1)
		if len(written) == len(time.DateOnly) {
			return strings.Compare(t.Format(time.DateOnly), written)
		}
		return strings.Compare(text(t), written)
	}
	return order(v, x)
}
