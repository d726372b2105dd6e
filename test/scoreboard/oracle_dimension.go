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

// spread pairs a row with its partners over the bridge that the question walks,
// if it walks one.
func (s scope) spread(e *semantic.Entity, r row) []weighted {
	var bridged *semantic.Relationship
	for _, name := range s.names() {
		if role, _, ok := strings.Cut(name, "."); ok {
			if rel := e.Relationship(semantic.Name(role)); rel != nil && rel.Kind == semantic.ManyToMany {
				bridged = rel
			}
		}
	}
	if bridged == nil {
		return []weighted{{r, 1, nil}}
	}
	b := bridged.Through
	between := s.catalog.Entity(b.Entity)
	var out []weighted
	seen := map[string]bool{}
	for _, pair := range s.visible(between) {
		near, far := s.follow(between, pair, between.Relationship(b.Near)), s.follow(between, pair, between.Relationship(b.Far))
		if near == nil || far == nil || orderBy(e.PrimaryKey, near, r) != 0 {
			continue
		}
		to := s.catalog.Entity(bridged.To)
		w := weighted{r, 1, map[string]row{bridged.Name.Key(): far}}
		// A pair counts once; distinct counts once for each group.
		key := ""
		for _, k := range to.PrimaryKey {
			key += text(far[k.Key()]) + "\x00"
		}
		if b.Allocate == semantic.AllocateDistinct {
			key = ""
			for _, a := range s.at {
				key += text(s.bucketed(e, w, a.dim)) + "\x00"
			}
		}
		if b.Allocate == semantic.AllocateWeight {
			w.weight, _ = pair[b.Weight.Key()].(float64)
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, w)
		}
	}
	if out == nil {
		return []weighted{{r, 1, map[string]row{bridged.Name.Key(): nil}}}
	}
	return out
}

// names are the dimensions that the scope's conditions and filters read.
func (s scope) names() []string {
	var out []string
	for _, a := range s.at {
		out = append(out, a.dim.Name)
	}
	if !s.every {
		for _, f := range s.q.Filters {
			out = append(out, f.Field)
		}
	}
	return out
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
		if rel.Kind == semantic.ManyToMany || rel.Kind == semantic.OneToMany {
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

// follow gives the row's one partner over a to-one relationship; nil without one.
func (s scope) follow(e *semantic.Entity, r row, rel *semantic.Relationship) row {
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
			at, ok := s.instant(e, r, rel.Valid.At)
			from, okFrom := s.instant(to, p, rel.Valid.From)
			until, ends := s.instant(to, p, rel.Valid.To)
			if ok && okFrom && !at.Before(from) && (!ends || at.Before(until)) {
				return p
			}
		case rel.AsOf != nil:
			at, ok := s.instant(e, r, rel.AsOf.At)
			since, okSince := s.instant(to, p, rel.AsOf.Time)
			if ok && okSince && !since.After(at) && (best == nil || order(p[rel.AsOf.Time.Key()], best[rel.AsOf.Time.Key()]) > 0) {
				best = p
			}
		default:
			return p
		}
	}
	return best
}

// instant reads a time field as a moment.
func (s scope) instant(e *semantic.Entity, r row, field semantic.Name) (time.Time, bool) {
	t, ok := r[field.Key()].(time.Time)
	if f := e.Field(field); ok && f.Type == "timestamp" && f.Zone != "" {
		t = relabel(t, location(f.Zone))
	}
	return t, ok
}

// own is a dimension's value for a row of its own entity.
func (s scope) own(e *semantic.Entity, r row, d *semantic.Dimension) any {
	var v any
	switch {
	case d.Of != nil:
		other := s.catalog.Entity(d.Of.Entity)
		inner := scope{asked: s.asked, every: true, forever: true, present: true}
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
