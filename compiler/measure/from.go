package measure

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// source is one entity or view of a level's FROM that a call may be of.
type source struct {
	node   *sqlast.BaseTable
	ref    int // of the bound text
	alias  string
	entity *semantic.Entity // whose measures it has
	view   *view            // nil for an entity
}

// sourcesOf lists the entities and views that stand in a FROM clause itself and
// can be named outside it.
func sourcesOf(t sqlast.TableRef, found func(*sqlast.BaseTable) *source) []*source {
	switch t := t.(type) {
	case *sqlast.BaseTable:
		if s := found(t); s != nil {
			return []*source{s}
		}
	case *sqlast.JoinRef:
		left := sourcesOf(t.Left, found)
		if t.Type == "SEMI" || t.Type == "ANTI" {
			return left
		}
		return append(left, sourcesOf(t.Right, found)...)
	}
	return nil
}

// standing says how the rows of one entity come through a FROM clause.
type standing struct {
	here     bool
	repeated bool    // a join may repeat them
	invented bool    // an outer join may add a row of NULLs
	dropped  bool    // a join other than those of links may drop some
	links    []*link // to-one joins, each behind the one that it starts from
}

// link is a join by the keys of a declared to-one relationship.
type link struct {
	from, to *source
	role     *semantic.Relationship
	back     bool // the relationship is declared on the other side, one to one
	inner    bool // rows without a partner drop out
}

// inFrom reads one level's FROM for one of its entities.
type inFrom struct {
	level  *level
	column func(sqlast.Expr) (ref int, name semantic.Name, ok bool)
	of     *source
}

func (f *inFrom) stand(t sqlast.TableRef) standing {
	switch t := t.(type) {
	case *sqlast.BaseTable:
		return standing{here: t == f.of.node}
	case *sqlast.JoinRef:
		left, right := f.stand(t.Left), f.stand(t.Right)
		switch {
		case left.here:
			return f.joined(t, left, t.Right, t.Type, t.Kind == "ASOF")
		case right.here:
			return f.joined(t, right, t.Left, mirrored(t.Type), false)
		}
	}
	return standing{}
}

func mirrored(kind string) string {
	switch kind {
	case "LEFT":
		return "RIGHT"
	case "RIGHT":
		return "LEFT"
	}
	return kind
}

// joined goes over one join, as if the rows stood to its left.
func (f *inFrom) joined(t *sqlast.JoinRef, s standing, other sqlast.TableRef, kind string, asof bool) standing {
	if kind == "SEMI" || kind == "ANTI" {
		s.dropped = true
		return s
	}
	s.invented = s.invented || kind == "RIGHT" || kind == "FULL"
	if t.Kind == "REGULAR" {
		if links, dropped, ok := f.links(t, s, other, kind == "INNER" || kind == "RIGHT"); ok {
			s.links, s.dropped = append(s.links, links...), s.dropped || dropped
			return s
		}
	}
	s.repeated = s.repeated || !asof
	s.dropped = s.dropped || kind == "INNER" || kind == "RIGHT" || kind == ""
	return s
}

// links reads a join as one to-one relationship, with those that its other side
// begins with; false when it is anything else. Where rows without a partner stay,
// the other side must not lose any of its own.
func (f *inFrom) links(t *sqlast.JoinRef, s standing, other sqlast.TableRef, inner bool) (out []*link, dropped, ok bool) {
	for _, to := range f.within(other) {
		first := f.link(t, s, to)
		if first == nil {
			continue
		}
		beyond := (&inFrom{f.level, f.column, to}).stand(other)
		if beyond.repeated || !inner && (beyond.dropped || slices.ContainsFunc(beyond.links, func(l *link) bool { return l.inner })) {
			return nil, false, false
		}
		first.inner = inner
		return append([]*link{first}, beyond.links...), beyond.dropped, true
	}
	return nil, false, false
}

// within lists the level's sources that stand in a part of its FROM.
func (f *inFrom) within(t sqlast.TableRef) []*source {
	return sourcesOf(t, func(b *sqlast.BaseTable) *source {
		i := slices.IndexFunc(f.level.sources, func(x *source) bool { return x.node == b })
		if i < 0 {
			return nil
		}
		return f.level.sources[i]
	})
}

// link reads a join as one to-one relationship to a source; nil when it is anything else.
func (f *inFrom) link(t *sqlast.JoinRef, s standing, to *source) *link {
	if to.view != nil || f.of.view != nil {
		return nil
	}
	from := append([]*source{f.of}, targets(s.links)...)
	pairs, of := f.pairs(t, from, to)
	if of == nil {
		return nil
	}
	for _, r := range of.entity.Relationships {
		if toOne(r) && r.To.Key() == to.entity.Name.Key() && same(r.On, pairs, false) {
			return &link{from: of, to: to, role: r}
		}
	}
	for _, r := range to.entity.Relationships {
		if r.Kind == semantic.OneToOne && toOne(r) && r.To.Key() == of.entity.Name.Key() && same(r.On, pairs, true) {
			return &link{from: of, to: to, role: r, back: true}
		}
	}
	return nil
}

func targets(links []*link) []*source {
	out := make([]*source, len(links))
	for i, l := range links {
		out[i] = l.to
	}
	return out
}

func toOne(r *semantic.Relationship) bool {
	return (r.Kind == semantic.ManyToOne || r.Kind == semantic.OneToOne) && r.Valid == nil && r.AsOf == nil && r.Through == nil
}

// pairs reads ON or USING as equalities between one source of from and to.
func (f *inFrom) pairs(t *sqlast.JoinRef, from []*source, to *source) ([]semantic.JoinPair, *source) {
	if len(t.Using) > 0 {
		return f.using(t, from, to)
	}
	if t.Condition == nil {
		return nil, nil
	}
	var out []semantic.JoinPair
	var of *source
	for _, e := range conjuncts(t.Condition) {
		c, ok := e.(*sqlast.Comparison)
		if !ok || c.Op != "COMPARE_EQUAL" {
			return nil, nil
		}
		a, acol, aok := f.column(c.Left)
		b, bcol, bok := f.column(c.Right)
		if !aok || !bok {
			return nil, nil
		}
		if a == to.ref {
			a, acol, b, bcol = b, bcol, a, acol
		}
		i := slices.IndexFunc(from, func(s *source) bool { return s.ref == a })
		if i < 0 || b != to.ref || of != nil && of != from[i] {
			return nil, nil
		}
		of = from[i]
		out = append(out, semantic.JoinPair{From: acol, To: bcol})
	}
	return out, of
}

// using takes the one source that has every column; its values are those of the
// join only where no column of the same name was merged before.
func (f *inFrom) using(t *sqlast.JoinRef, from []*source, to *source) ([]semantic.JoinPair, *source) {
	var out []semantic.JoinPair
	var of *source
	for _, name := range t.Using {
		for _, s := range f.level.sources {
			if s == to || !has(s.entity, semantic.Name(name)) {
				continue
			}
			if of != nil && of != s || !slices.Contains(from, s) {
				return nil, nil
			}
			of = s
		}
		out = append(out, semantic.JoinPair{From: semantic.Name(name), To: semantic.Name(name)})
	}
	return out, of
}

func has(e *semantic.Entity, n semantic.Name) bool { return e.Field(n) != nil || e.Dimension(n) != nil }

func conjuncts(e sqlast.Expr) []sqlast.Expr {
	c, ok := e.(*sqlast.Conjunction)
	if !ok || c.Op != "CONJUNCTION_AND" {
		return []sqlast.Expr{e}
	}
	var out []sqlast.Expr
	for _, a := range c.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// same reports that two sets of equalities are equal.
func same(on, pairs []semantic.JoinPair, back bool) bool {
	key := func(p semantic.JoinPair, back bool) string {
		if back {
			p.From, p.To = p.To, p.From
		}
		return p.From.Key() + "=" + p.To.Key()
	}
	var a, b []string
	for _, p := range on {
		a = append(a, key(p, back))
	}
	for _, p := range pairs {
		b = append(b, key(p, false))
	}
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// columnsAt gives what each column of the bound text is, by its place; a place
// that stands for several columns is left out.
func columnsAt(b *resolve.Bound) map[sqlast.Offset]resolve.Use {
	out := map[sqlast.Offset]resolve.Use{}
	several := map[sqlast.Offset]bool{}
	for _, u := range b.Uses {
		if old, ok := out[u.At]; ok && (old.Ref != u.Ref || old.Column.Key() != u.Column.Key()) {
			several[u.At] = true
		}
		out[u.At] = u
	}
	for at := range several {
		delete(out, at)
	}
	return out
}
