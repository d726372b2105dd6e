package measure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// part is a derived table: measures of one entity over the rows of one aim.
type part struct {
	of     *source
	aim    *aim
	at     int    // the first call that needs it
	alias  string // of the derived table
	tables *tables
	names  []string // of the measures
	leaves []*metric.Leaf
	where  []func(*writer)
	prefix string // of the aliases made here
	semi   string // the one measure of a part that counts only rows at the last, or first, time of its groups
}

// derive writes a call as the value of a derived table.
func (l *layout) derive(c *call, m *semantic.Measure, a *aim) {
	semi := ""
	if m.Semi != nil {
		semi = string(m.Name)
	}
	p, ok := l.part(c, a, semi)
	if !ok {
		return
	}
	i := slices.Index(p.names, string(m.Name))
	if i < 0 {
		i = len(p.names)
		p.names = append(p.names, string(m.Name))
		p.leaves = append(p.leaves, l.measures.Leaf(c.of.entity.Name, m.Name, p.tables.root()))
	}
	value := p.value(i)
	whole := edit{c.at, c.last(l.rewrite.asked), func(w *writer) { w.put(c.at, value) }}
	if !l.level.grouped {
		whole.write = func(w *writer) {
			w.put(c.at, "(CASE WHEN count(*) >= 0 THEN (SELECT "+value+" FROM ")
			l.table(w, p)
			l.on(w, p, " WHERE ")
			w.put(c.at, ") END)")
		}
	}
	l.edits = append(l.edits, whole)
}

// value reads one measure of the derived table. All rows of a group meet the same
// row of it.
func (p *part) value(i int) string {
	m := "max(" + column(p.alias, p.column("m", i+1)) + ")"
	if fill := p.leaves[i].Fill; fill != nil {
		n := "max(" + column(p.alias, p.column("n", i+1)) + ")"
		return fmt.Sprintf("(CASE WHEN %s > 0 THEN %s ELSE %d END)", n, m, *fill)
	}
	if len(p.aim.where) > 0 && counts[p.leaves[i].Measure.Agg] {
		return "coalesce(" + m + ", 0)"
	}
	return m
}

// counts are the aggregates that are 0 where a condition of AT leaves no row. A
// group that has none to begin with stays NULL, as in questions of metrics.
var counts = map[semantic.Agg]bool{semantic.Count: true, semantic.CountDistinct: true, semantic.ApproxDistinct: true}

// column is one column of the derived table: k for keys and then sets, m for
// measures, n for the rows behind those that have a fill.
func (p *part) column(kind string, n int) semantic.Name {
	return semantic.Name(p.prefix + kind + strconv.Itoa(n))
}

// part finds or makes the derived table for an aim.
func (l *layout) part(c *call, a *aim, semi string) (*part, bool) {
	if l.level.grouped {
		for _, p := range l.parts {
			if p.of == c.of && p.semi == semi && l.sameAim(p.aim, a) {
				return p, true
			}
		}
	}
	p := &part{of: c.of, aim: a, at: c.at, alias: l.fresh("g"), prefix: l.prefix, semi: semi, tables: l.rewrite.tables(c.of.entity)}
	if l.level.grouped && commas(l.level.node.From) {
		return nil, l.unsupported("write CROSS JOIN, or JOIN ... ON, in place of the comma", "MEASURE with AT, or over a join that repeats rows, cannot stand beside a comma in FROM")
	}
	failed := len(l.errs)
	l.place(c, p)
	l.filters(c, p)
	l.capture(p.tables, c.at)
	if len(l.errs) > failed || l.failure != nil {
		return nil, false
	}
	if l.level.grouped {
		l.parts = append(l.parts, p)
	}
	return p, true
}

func commas(t sqlast.TableRef) bool {
	j, ok := t.(*sqlast.JoinRef)
	return ok && (j.Implicit || commas(j.Left) || commas(j.Right))
}

func (l *layout) sameAim(a, b *aim) bool {
	asked := l.rewrite.asked
	sameText := func(x, y *written) bool { return sameTokens(asked, x.text, asked, y.text) }
	return slices.Equal(a.keys, b.keys) && a.visible == b.visible &&
		slices.EqualFunc(a.where, b.where, sameText) &&
		slices.EqualFunc(a.sets, b.sets, func(x, y *setting) bool {
			return x.key == y.key && x.column.ref == y.column.ref && x.column.column == y.column.column && sameText(x.value, y.value)
		})
}

// inside gives a column of a source as the derived table's own tables have it.
func (l *layout) inside(p *part, c placed) (string, bool) {
	if c.ref == p.of.ref {
		if p.of.view != nil {
			at := p.of.view.column(c.column)
			return column(p.tables.path(at.Roles), at.Column), true
		}
		return column(p.tables.root(), c.column), true
	}
	links := l.stand(p.of).links
	i := slices.IndexFunc(links, func(k *link) bool { return k.to.ref == c.ref })
	if i < 0 {
		return "", false
	}
	return column(p.tables.link(links, p.of, links[i].to), c.column), true
}

// moved gives edits that make columns those of the derived table's tables; false
// when one of them is not to be had there.
func (l *layout) moved(p *part, columns []placed) ([]edit, bool) {
	var out []edit
	for _, c := range columns {
		name, ok := l.inside(p, c)
		if !ok {
			return nil, false
		}
		out = append(out, edit{c.at.Start, c.at.End, func(w *writer) { w.put(c.at.Start, name) }})
	}
	return out, true
}

// place makes sure that every key can be computed from the entity's rows.
func (l *layout) place(c *call, p *part) {
	keys := slices.Clone(p.aim.keys)
	for _, s := range p.aim.sets {
		if s.key != nil {
			keys = append(keys, s.key)
		}
	}
	for _, k := range keys {
		if l.ended() {
			return
		}
		_, ok := l.moved(p, k.columns)
		if ok && !k.unclear {
			continue
		}
		e := diag.New(diag.MetricFanOut, "measure %q cannot be split by %q: that is not read from %q or from what the query joins it to by the keys of a declared to-one relationship", c.name, l.show(k.text), c.of.alias)
		l.refuse(e.WithHint("group by a column of %q or behind its to-one relationships, or leave the key out with AT (ALL %s)", c.of.alias, l.show(k.text)), c.at)
	}
	for _, s := range p.aim.sets {
		if s.key == nil {
			l.moved(p, []placed{s.column})
		}
	}
}

// filters collects the conditions on the entity's rows: of the model, of AT, and
// of the query where they are visible.
func (l *layout) filters(c *call, p *part) {
	root := l.measures.Leaf(c.of.entity.Name, semantic.Name(c.name), p.tables.root()).Leg.Tables[0]
	var read []semantic.Name
	for _, s := range p.aim.sets {
		if s.key == nil && s.column.ref == c.of.ref {
			read = append(read, l.reads(c.of, s.column.column)...)
		}
		if s.key != nil {
			for _, k := range s.key.columns {
				if k.ref == c.of.ref {
					read = append(read, l.reads(c.of, k.column)...)
				}
			}
		}
	}
	for _, cond := range p.aim.where {
		for _, k := range cond.columns {
			if k.ref == c.of.ref {
				read = append(read, l.reads(c.of, k.column)...)
			}
		}
	}
	visible := l.filteredBy(c.of, l.level.clauses.Where)
	over := func(fields []semantic.Name) bool {
		return among(read)(fields) || p.aim.visible && visible(fields)
	}
	if own := l.measures.Filters(root, over); len(own) > 0 {
		p.where = append(p.where, func(w *writer) { w.byModel(c.at, emit.Conditions(own)) })
	}
	for _, cond := range p.aim.where {
		edits, ok := l.moved(p, cond.columns)
		if !ok {
			l.fail(diag.New(diag.BugInternal, "a condition of AT lost its column"))
			return
		}
		p.where = append(p.where, func(w *writer) { w.copy(cond.text.Start, cond.text.End, edits...) })
	}
	if p.aim.visible {
		l.visible(c, p)
	}
}

// visible keeps the rows that the query's FROM and WHERE leave: by its WHERE
// alone where that reads nothing else, by the entity's key otherwise.
func (l *layout) visible(c *call, p *part) {
	s := l.stand(c.of)
	where := l.level.clauses.Where
	if !s.dropped {
		for _, k := range s.links {
			if k.inner {
				p.tables.link(s.links, c.of, k.to)
			}
		}
		if l.level.node.Where == nil {
			return
		}
		columns, unclear := l.placed(l.level.node.Where)
		if edits, ok := l.moved(p, columns); ok && !unclear && l.is(l.level.node.Where, where) {
			p.where = append(p.where, func(w *writer) { w.copy(where.Start, where.End, edits...) })
			return
		}
	}
	l.byKey(c, p)
}

// byKey keeps the rows whose primary key the query's FROM and WHERE give.
func (l *layout) byKey(c *call, p *part) {
	from, where := l.level.clauses.From, l.level.clauses.Where
	pk := c.of.entity.PrimaryKey
	refuse := func(hint, why string) {
		l.refuse(diag.New(diag.UnsupportedAsk, "which rows of %q the query leaves is not said by columns of %q alone, and %s", c.of.alias, c.of.alias, why).
			WithHint("%s", hint), c.at)
	}
	vis, err := l.views.Entity(c.of.entity.Name)
	switch {
	case err != nil || vis == nil:
		l.fail(err)
	case c.of.view != nil:
		refuse("join the entities themselves, or filter in a CTE", "a view has no key to tell them by")
	case len(pk) == 0 || len(c.of.node.ColumnAliases) > 0 || slices.ContainsFunc(pk, func(n semantic.Name) bool {
		return vis.Fields[n.Key()] == semantic.Private || vis.Masked[n.Key()]
	}):
		refuse("join by the keys of a declared relationship, and filter by columns of "+c.of.alias, "it has no primary key here to tell them by")
	case l.correlated(from) || l.correlated(where):
		refuse("take the measure in a CTE and join that", "the query is part of another one whose columns it reads")
	default:
		p.where = append(p.where, func(w *writer) { l.exists(w, c, p, pk) })
	}
}

func (l *layout) exists(w *writer, c *call, p *part, pk []semantic.Name) {
	from, where := l.level.clauses.From, l.level.clauses.Where
	w.put(c.at, "EXISTS (SELECT 1 FROM ")
	w.copy(from.Start, from.End)
	w.put(c.at, " WHERE ")
	if l.level.node.Where != nil {
		w.put(c.at, "(")
		w.copy(where.Start, where.End)
		w.put(c.at, ") AND ")
	}
	var same []string
	for _, n := range pk {
		same = append(same, column(c.of.alias, n)+" IS NOT DISTINCT FROM "+column(p.tables.root(), n))
	}
	w.byModel(c.at, strings.Join(same, " AND "))
	w.put(c.at, ")")
}

// correlated reports that a range reads a column of a relation further out.
func (l *layout) correlated(r sqlast.Range) bool {
	within := func(at int, r sqlast.Range) bool { return r.Start <= at && at < r.End }
	for _, u := range l.bound.Uses {
		home := l.bound.Refs[u.Ref].Name.Start
		if within(int(u.At), r) && !within(home, l.level.clauses.From) && !within(home, l.level.clauses.Where) {
			return true
		}
	}
	return false
}

// join puts the derived tables behind the FROM clause.
func (l *layout) join() {
	end := l.level.clauses.From.End
	for _, p := range l.parts {
		l.edits = append(l.edits, edit{end, end, func(w *writer) {
			word := " LEFT JOIN "
			if len(p.aim.keys)+len(p.aim.sets) == 0 {
				word = " CROSS JOIN "
			}
			w.put(p.at, word)
			l.table(w, p)
			l.on(w, p, " ON ")
		}})
	}
}

// table writes a derived table with its alias.
func (l *layout) table(w *writer, p *part) {
	w.put(p.at, "(SELECT ")
	keys := len(p.aim.keys) + len(p.aim.sets)
	if p.semi == "" {
		l.keysInside(w, p)
	} else {
		w.put(p.at, p.keyList(keys))
	}
	var out []string
	for i, leaf := range p.leaves {
		out = append(out, emit.Bare(leaf)+" AS "+semantic.Quote(string(p.column("m", i+1))))
		if leaf.Fill != nil {
			out = append(out, emit.Rows(leaf)+" AS "+semantic.Quote(string(p.column("n", i+1))))
		}
	}
	if p.semi == "" {
		w.byModel(p.at, strings.Join(out, ", ")+" FROM "+p.tables.from())
		l.conditions(w, p)
	} else {
		l.marked(w, p, out)
	}
	for i := range keys {
		w.put(p.at, map[bool]string{true: " GROUP BY ", false: ", "}[i == 0]+strconv.Itoa(i+1))
	}
	w.put(p.at, ") AS "+semantic.Quote(p.alias))
}

// marked writes what a semi-additive measure is aggregated from: the rows with
// their keys, and over those which of them count. Both take the entity's alias.
func (l *layout) marked(w *writer, p *part, out []string) {
	keys := len(p.aim.keys) + len(p.aim.sets)
	var names []string
	for i := range keys {
		names = append(names, column(p.tables.root(), p.column("k", i+1)))
	}
	text, before := emit.Marked(p.leaves[0], names)
	root := " AS " + semantic.Quote(p.tables.root())
	w.byModel(p.at, strings.Join(out, ", ")+" FROM (SELECT "+p.keyList(keys)+text+" FROM (SELECT ")
	l.keysInside(w, p)
	w.byModel(p.at, before+" FROM "+p.tables.from())
	l.conditions(w, p)
	w.put(p.at, ")"+root+")"+root)
}

// keyList reads the keys of the derived table's own rows.
func (p *part) keyList(n int) string {
	var b strings.Builder
	for i := range n {
		k := p.column("k", i+1)
		b.WriteString(column(p.tables.root(), k) + " AS " + semantic.Quote(string(k)) + ", ")
	}
	return b.String()
}

// keysInside writes the keys as they are computed from the tables.
func (l *layout) keysInside(w *writer, p *part) {
	n := 0
	key := func(write func()) {
		n++
		write()
		w.put(p.at, " AS "+semantic.Quote(string(p.column("k", n)))+", ")
	}
	for _, k := range p.aim.keys {
		key(func() { l.keyInside(w, p, k) })
	}
	for _, s := range p.aim.sets {
		key(func() {
			if s.key != nil {
				l.keyInside(w, p, s.key)
				return
			}
			name, _ := l.inside(p, s.column)
			w.put(s.column.at.Start, name)
		})
	}
}

func (l *layout) conditions(w *writer, p *part) {
	for i, write := range p.where {
		w.put(p.at, map[bool]string{true: " WHERE (", false: " AND ("}[i == 0])
		write(w)
		w.put(p.at, ")")
	}
}

func (l *layout) keyInside(w *writer, p *part, k *key) {
	edits, _ := l.moved(p, k.columns)
	w.copy(k.text.Start, k.text.End, edits...)
}

// on joins a derived table by its keys, NULL to NULL.
func (l *layout) on(w *writer, p *part, word string) {
	n := 0
	equals := func(at int, write func()) {
		w.put(at, map[bool]string{true: word, false: " AND "}[n == 0])
		n++
		w.put(at, column(p.alias, p.column("k", n))+" IS NOT DISTINCT FROM (")
		write()
		w.put(at, ")")
	}
	for _, k := range p.aim.keys {
		equals(k.text.Start, func() { w.copy(k.text.Start, k.text.End) })
	}
	for _, s := range p.aim.sets {
		equals(s.value.text.Start, func() { l.setValue(w, s.value) })
	}
}

func (l *layout) setValue(w *writer, v *written) {
	var edits []edit
	for _, b := range v.blank {
		edits = append(edits, edit{b.Start, b.End, func(*writer) {}})
	}
	for at, k := range v.keys {
		edits = append(edits, edit{at.Start, at.End, func(w *writer) {
			w.put(at.Start, "(")
			w.copy(k.text.Start, k.text.End)
			w.put(at.Start, ")")
		}})
	}
	w.copy(v.text.Start, v.text.End, edits...)
}
