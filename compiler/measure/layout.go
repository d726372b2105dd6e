package measure

import (
	"slices"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// layout writes out the calls of one level.
type layout struct {
	*rewrite
	level    *level
	standing map[*source]standing
	parts    []*part
	read     []*key // the group keys, once asked for
	readOK   bool
	asked1   bool
}

// groupKeys reads the keys once.
func (l *layout) groupKeys() ([]*key, bool) {
	if !l.asked1 {
		l.asked1 = true
		l.read, l.readOK = l.keys()
	}
	return l.read, l.readOK
}

func (l *layout) stand(s *source) standing {
	if l.standing == nil {
		l.standing = map[*source]standing{}
	}
	if _, ok := l.standing[s]; !ok {
		l.standing[s] = (&inFrom{l.level, l.column, s}).stand(l.level.node.From)
	}
	return l.standing[s]
}

// call writes out one call: in place where the rows of the group are the measure's
// own, from a derived table otherwise.
func (l *layout) call(c *call) {
	m := c.of.entity.Measure(semantic.Name(c.name))
	if onlyVisible(c.with) && m.Semi == nil {
		if text, ok := l.inPlace(c, m); ok {
			l.edits = append(l.edits, edit{c.at, c.last(l.rewrite.asked), func(w *writer) { w.byModel(c.at, text) }})
			return
		}
	}
	a, ok := l.aim(c)
	if !ok {
		return
	}
	l.derive(c, m, a)
}

func onlyVisible(list []modifier) bool {
	return !slices.ContainsFunc(list, func(m modifier) bool { return m.word != "VISIBLE" })
}

// inPlace gives the aggregate for the call's place; false where its rows do not
// come through the FROM clause one by one, or the caller's reference may not read
// what the measure does.
func (l *layout) inPlace(c *call, m *semantic.Measure) (string, bool) {
	s := l.stand(c.of)
	if s.repeated || s.invented || c.of.view != nil || len(c.of.node.ColumnAliases) > 0 {
		return "", false
	}
	leaf := l.measures.Leaf(c.of.entity.Name, m.Name, c.of.alias)
	filters := l.measures.Filters(leaf.Leg.Tables[0], l.filteredBy(c.of, l.level.clauses.Where))
	if !l.open(c.of, leaf, filters) || m.Agg == semantic.Custom && len(filters) > 0 {
		return "", false // a custom aggregate may hold one that takes no filter
	}
	leaf.Filters = append(leaf.Filters, filters...)
	text := emit.Aggregate(leaf, l.level.grouped && len(l.level.node.GroupSets) < 2)
	switch {
	case len(filters) == 0 && m.Fill == nil:
		return text, true
	case len(filters) > 0 && m.Fill == nil && l.level.grouped:
		text = "CASE WHEN count(*) FILTER (WHERE " + emit.Conditions(filters) + ") > 0 THEN " + text + " END"
	}
	return "(" + text + ")", true
}

// open reports that a measure reads only what the caller's own reference offers.
func (l *layout) open(s *source, leaf *metric.Leaf, filters []metric.Expr) bool {
	vis, err := l.views.Entity(s.entity.Name)
	if err != nil || vis == nil {
		return false
	}
	read := leaf.Reads()
	for _, x := range append(slices.Clone(leaf.Filters), filters...) {
		for _, p := range x.Columns {
			read = append(read, p.Column)
		}
	}
	return !slices.ContainsFunc(read, func(n semantic.Name) bool { return vis.Fields[n.Key()] == semantic.Private })
}

// filteredBy tells which fields of a source the caller's text in some ranges reads.
func (l *layout) filteredBy(s *source, ranges ...sqlast.Range) func([]semantic.Name) bool {
	var read []semantic.Name
	for _, u := range l.bound.Uses {
		for _, r := range ranges {
			if u.Ref == s.ref && r.Start <= int(u.At) && int(u.At) < r.End {
				read = append(read, l.reads(s, u.Column)...)
			}
		}
	}
	return among(read)
}

// reads gives the field or dimension behind a column of a source, with what it reads.
func (l *layout) reads(s *source, n semantic.Name) []semantic.Name {
	if s.view != nil {
		at := s.view.column(n)
		if len(at.Roles) > 0 {
			return nil
		}
		n = at.Dimension.Name
	}
	out := []semantic.Name{n}
	if d := s.entity.Dimension(n); d != nil {
		out = append(out, d.Reads...)
	}
	return out
}

func among(read []semantic.Name) func([]semantic.Name) bool {
	return func(fields []semantic.Name) bool {
		return slices.ContainsFunc(fields, func(f semantic.Name) bool {
			return f != "" && slices.ContainsFunc(read, func(r semantic.Name) bool { return r.Key() == f.Key() })
		})
	}
}
