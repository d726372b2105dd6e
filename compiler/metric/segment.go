package metric

import (
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// segments places the segments that a question names. A segment is a condition of
// the model that the caller chooses, so it reads what the caller may filter by.
func (b *builder) segments() {
	for i, name := range b.q.Segments {
		if name == "" {
			b.refuse(unnamed("segments", "the names of segments"))
			continue
		}
		if slices.ContainsFunc(b.q.Segments[:i], func(o string) bool { return fold(o) == fold(name) }) {
			b.refuse(diag.New(diag.RequestMalformed, "segment %q is asked for twice", name))
			continue
		}
		b.segment(name)
	}
}

// segmentAt is one segment as a fact reaches it.
type segmentAt struct {
	path    path
	segment *semantic.Segment
}

func (b *builder) segment(name string) {
	var found []segmentAt
	for _, l := range b.legs {
		at := b.segmentsCalled(l.fact, name)
		switch {
		case len(at) == 0:
			b.refuse(b.noSegment(l, name))
			return
		case len(at) > 1:
			b.refuse(diag.New(diag.MetricAmbiguous, "from metric %q, segment %q means more than one thing", l.asked, name).
				WithHint("say which: %s", strings.Join(b.spellSegments(at), " or ")))
			return
		case len(found) > 0 && found[0].segment != at[0].segment:
			b.refuse(diag.New(diag.MetricAmbiguous, "segment %q is one thing for metric %q and another for metric %q", name, b.legs[0].asked, l.asked).
				WithHint("name it as entity.segment, or ask the metrics apart"))
			return
		}
		found = append(found, at[0])
	}
	b.expected += len(b.legs)
	for i, l := range b.legs {
		t := b.table(l.Leg, found[i].path)
		expr := b.expr(t, found[i].segment.Expr)
		for at := t; at.Parent != nil; at = at.Parent {
			at.Inner = true // a row without a partner is in no segment of it
		}
		by := filteredBy{}
		for _, c := range b.columns(t.Entity, found[i].segment.Expr) {
			by.fields = append(by.fields, c.Column.Key())
		}
		b.filtered[t] = append(b.filtered[t], by) // it takes the place of a default filter, as any choice of the caller
		l.Where = append(l.Where, b.condition(Condition{Model: &expr, By: found[i].segment.Name}))
		b.placed++
	}
	s, e := found[0].segment, found[0].path.to.Entity
	b.tell(AppliedFilter{Origin: OfSegment, Entity: e.Name, Name: s.Name, Text: s.Expr})
}

// segmentsCalled gives everything that a spelling can mean from a fact: a segment
// of any entity in reach, entity.segment, or one behind a role path.
func (b *builder) segmentsCalled(fact *resolve.Visible, spelling string) []segmentAt {
	qualifier, name := splitLast(spelling)
	var out []segmentAt
	add := func(p path) {
		s := p.to.Entity.Segment(semantic.Name(name))
		if s != nil && b.choosable(p.to, s) && !slices.ContainsFunc(out, func(o segmentAt) bool { return o.path.key() == p.key() }) {
			out = append(out, segmentAt{p, s})
		}
	}
	for _, p := range b.reach(fact) {
		if qualifier == "" || fold(qualifier) == p.to.Entity.Name.Key() {
			add(p)
		}
	}
	if p, ok := b.rolePath(fact, qualifier); ok && qualifier != "" {
		add(p)
	}
	return out
}

// choosable reports that a caller may filter by all that a segment reads.
func (s *scope) choosable(vis *resolve.Visible, g *semantic.Segment) bool {
	return s.maskedIn(vis, g.Expr) == "" &&
		!slices.ContainsFunc(s.columns(vis.Entity, g.Expr), func(p resolve.Place) bool { return vis.Fields[p.Column.Key()] < semantic.FilterOnly })
}

func (b *builder) noSegment(l leg, name string) *diag.Error {
	var near []string
	for _, p := range b.reach(l.fact) {
		for _, s := range p.to.Entity.Segments {
			if b.choosable(p.to, s) {
				near = append(near, string(s.Name))
			}
		}
	}
	return diag.New(diag.MetricUnknown, "no segment %q for metric %q", name, l.asked).Suggest(semantic.Nearest(name, near)...).
		WithHint("%s has the segments %s", l.asked, listed(near))
}

func (b *builder) spellSegments(at []segmentAt) []string {
	var out []string
	for _, a := range at {
		var roles []string
		for _, r := range a.path.roles {
			roles = append(roles, string(r.Name))
		}
		if len(roles) == 0 {
			roles = []string{string(a.path.to.Entity.Name)}
		}
		out = append(out, strings.Join(append(roles, string(a.segment.Name)), "."))
	}
	return out
}
