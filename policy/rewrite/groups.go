package rewrite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// groups is what minimum groups add to a statement: a condition in the HAVING of its
// one SELECT. The zero value adds nothing.
type groups struct {
	text   string // the conditions, joined by AND
	tree   []sqlast.Expr
	having resolve.Span // the caller's own condition; empty when there is none
	at     int          // where a HAVING may be written
}

// grouper reads a statement over entities with a minimum group.
type grouper struct {
	bound *resolve.Bound
	model []resolve.Span
	names limited
	spelt map[sqlast.Offset]*respelling
	sizes map[int]int // of the guarded references, by index
	root  *sqlast.SelectNode
	calls []*sqlast.Function // aggregates
	list  diag.List
}

// groupsOf refuses a statement that shows an entity with a minimum group in any
// other way than by groups of its rows, and says what keeps small groups out.
func groupsOf(ctx context.Context, p sqlast.Parser, b *resolve.Bound, d policy.Decision, model []resolve.Span, names limited, spelt map[sqlast.Offset]*respelling) (groups, error) {
	g := grouper{bound: b, model: model, names: names, spelt: spelt, sizes: map[int]int{}}
	for i, r := range b.Refs {
		if n := d.Entities[r.Entity.Name.Key()].MinGroup.Size; n > 1 {
			g.sizes[i] = n
		}
	}
	if len(g.sizes) == 0 {
		return groups{}, nil
	}
	g.shape()
	if len(g.list) == 0 {
		g.aggregates()
	}
	if err := g.list.Err(); err != nil {
		return groups{}, err
	}
	return g.having(ctx, p)
}

// guarded names the first guarded entity, for the text of refusals.
func (g *grouper) guarded() semantic.Name {
	for i, r := range g.bound.Refs {
		if g.sizes[i] > 0 {
			return r.Entity.Name
		}
	}
	return ""
}

func (g *grouper) refuse(at sqlast.Offset, hint, format string, args ...any) {
	for i, r := range g.bound.Refs {
		if at == sqlast.NoOffset && g.sizes[i] > 0 {
			at = sqlast.Offset(r.Name.Start)
		}
	}
	what := fmt.Sprintf("%q is shown to you in groups of %d rows or more; ", g.guarded(), g.largest())
	g.list = append(g.list, diag.New(diag.PolicyGroup, "%s", what+fmt.Sprintf(format, args...)).At(diag.PosAt("", g.bound.Statement.Text, int(at))).WithHint("%s", hint))
}

func (g *grouper) largest() int {
	n := 0
	for _, size := range g.sizes {
		n = max(n, size)
	}
	return n
}

const plainly = "write one SELECT, such as SELECT column, count(*), sum(column) FROM entity GROUP BY column"

// shape holds the statement to one SELECT over the entity alone: whatever stands round it or in it could tell groups apart again.
func (g *grouper) shape() {
	root, ok := g.bound.Statement.Root.(*sqlast.SelectNode)
	if !ok || len(root.CTEs) > 0 {
		g.refuse(sqlast.NoOffset, plainly, "a set operation or a CTE is not answered over it")
		return
	}
	g.root = root
	sqlast.Walk(root, func(n any) bool {
		switch n := n.(type) {
		case *sqlast.SelectNode:
			if n != root {
				g.refuse(sqlast.NoOffset, plainly, "a query inside another is not answered over it")
				return false
			}
		case sqlast.Query:
			g.refuse(sqlast.NoOffset, plainly, "a query inside another is not answered over it")
			return false
		case *sqlast.Window:
			g.refuse(n.At, "compare the groups of the answer", "a window is not answered over it")
		case *sqlast.Function:
			if strings.EqualFold(n.Name, "unnest") {
				g.refuse(n.At, plainly, "unnest, which repeats rows, is not answered over it")
			}
		}
		return len(g.list) == 0
	})
	if len(g.list) > 0 {
		return
	}
	if root.Sample != nil || root.Qualify != nil {
		g.refuse(sqlast.NoOffset, plainly, "QUALIFY and samples are not answered over it")
	}
	if len(root.GroupSets) > 1 {
		g.refuse(sqlast.NoOffset, "ask for groups or for the total", "totals beside groups would tell what a group left out holds")
	}
	g.from(root.From)
	for _, e := range root.Select {
		if alias := semantic.Name(sqlast.Meta(e).Alias); alias != "" && slices.ContainsFunc(g.bound.Refs, func(r resolve.Ref) bool { return semantic.Name(r.Alias).Key() == alias.Key() }) {
			g.refuse(sqlast.Meta(e).At, "give the column another name", "a column of the answer is not named as a relation is")
		}
	}
}

// from holds the statement to the entity alone: rows of another table can be chosen
// so that one row counts for a whole group, or as many times as the asker likes.
func (g *grouper) from(t sqlast.TableRef) {
	base := sqlast.Ref(t)
	switch t := t.(type) {
	case *sqlast.BaseTable:
		if base.Sample != nil {
			g.refuse(base.At, plainly, "a sample is not answered over it")
		}
		if len(t.ColumnAliases) > 0 {
			g.refuse(t.At, "use the columns' own names", "a list of column names is not answered over it")
		}
	default:
		g.refuse(base.At, "ask for it alone, by its own columns and dimensions", "it is not joined to other tables")
	}
}

// groupAggregates show no single value of a group.
var groupAggregates = strings.Fields("count count_star sum avg stddev stddev_pop stddev_samp variance var_pop var_samp approx_count_distinct")

var aggregateNames = func() map[string]bool {
	out := map[string]bool{}
	for _, f := range resolve.Functions() {
		if f.Kind == resolve.Aggregate {
			out[f.Name] = true
		}
	}
	return out
}()

// aggregates finds the calls that see the rows of a group, and refuses those that
// would show one of them.
func (g *grouper) aggregates() {
	visit := func(n any) bool {
		f, ok := n.(*sqlast.Function)
		if !ok || !aggregateNames[strings.ToLower(f.Name)] {
			return true
		}
		g.call(f)
		return false
	}
	for _, e := range g.root.Select {
		sqlast.Walk(e, visit)
	}
	if g.root.Having != nil {
		sqlast.Walk(g.root.Having, visit)
	}
	for _, m := range g.root.Modifiers {
		sqlast.Walk(m, visit)
	}
	if len(g.calls)+len(g.root.Groups) == 0 && g.root.Aggregates != "FORCE_AGGREGATES" && len(g.list) == 0 {
		g.refuse(sqlast.NoOffset, plainly, "single rows are not")
	}
}

func (g *grouper) call(f *sqlast.Function) {
	g.calls = append(g.calls, f)
	ours := slices.ContainsFunc(g.model, func(s resolve.Span) bool { return s.Contains(int(f.At)) })
	switch {
	case !slices.Contains(groupAggregates, strings.ToLower(f.Name)):
		g.refuse(f.At, "use count, sum, avg, stddev or variance", "%s could show a single value", f.Name)
	case f.Filter != nil || len(f.OrderBy) > 0:
		g.refuse(f.At, "put the condition into WHERE, or into the question's filters", "an aggregate over part of a group's rows could be over one")
	case len(f.Args) > 1 || len(f.Args) == 1 && !g.argument(f.Args[0], ours):
		g.refuse(f.At, "aggregate a column as it is", "an aggregate over an expression could single out a row")
	}
}

// argument reports that an aggregate may be over the expression: a column, or what
// the model computes from columns by arithmetic.
func (g *grouper) argument(e sqlast.Expr, ours bool) bool {
	switch e := e.(type) {
	case *sqlast.ColumnRef:
		i := g.refOf(e)
		if i < 0 || len(e.Names) > 2 || len(e.Names) == 2 && semantic.Name(e.Names[0]).Key() != semantic.Name(g.bound.Refs[i].Alias).Key() {
			return false
		}
		return g.sizes[i] == 0 || g.stored(i, semantic.Name(e.Names[len(e.Names)-1])) // what a dimension computes may single out a row
	case *sqlast.Constant:
		return ours
	case *sqlast.Cast:
		return ours && g.argument(e.Child, ours)
	case *sqlast.Function:
		return ours && slices.Contains([]string{"+", "-", "*", "/", "//"}, e.Name) &&
			!slices.ContainsFunc(e.Args, func(a sqlast.Expr) bool { return !g.argument(a, ours) })
	}
	return false
}

// stored reports that a column is a field, or a dimension that is one.
func (g *grouper) stored(ref int, column semantic.Name) bool {
	e := g.bound.Refs[ref].Entity
	d := e.Dimension(column)
	return e.Field(column) != nil || d != nil && d.Expr == ""
}

// refOf gives the reference whose column stands at a place; -1 when none does.
func (g *grouper) refOf(c *sqlast.ColumnRef) int {
	for _, u := range g.bound.Uses {
		if u.At == c.At && u.Clause == resolve.InAggregate {
			return u.Ref
		}
	}
	return -1
}

// having writes what each group must hold: so many rows, and so many values of what
// is aggregated.
func (g *grouper) having(ctx context.Context, p sqlast.Parser) (groups, error) {
	var parts []string
	add := func(format string, args ...any) {
		if part := fmt.Sprintf(format, args...); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	for i, ref := range g.bound.Refs {
		size := g.sizes[i]
		if size == 0 {
			continue
		}
		key := keyOf(ref)
		add("count(DISTINCT %s) >= %d", key, size)
		for _, f := range g.calls {
			if !g.reads(f, i) {
				continue
			}
			arg, err := g.spelled(f)
			if err != nil {
				return groups{}, err
			}
			add("count(%s) >= %d", arg, size)
		}
	}
	out := groups{text: strings.Join(parts, " AND ")}
	st, err := sqlast.Parse(ctx, p, "SELECT 1 HAVING "+out.text)
	if err != nil {
		return groups{}, asBug(err)
	}
	out.tree = operands(st.Root.(*sqlast.SelectNode).Having)
	clauses, err := sqlast.ClausesAt(g.bound.Statement.Text, g.bound.Refs[0].Node.At)
	if err != nil {
		return groups{}, err
	}
	out.having, out.at = resolve.Span(clauses.Having), clauses.BeforeHaving
	return out, nil
}

// reads reports that an aggregate is over a column of the reference.
func (g *grouper) reads(f *sqlast.Function, ref int) bool {
	found := false
	sqlast.Walk(f, func(n any) bool {
		c, ok := n.(*sqlast.ColumnRef)
		found = found || ok && g.refOf(c) == ref
		return !found
	})
	return found
}

// spelled is what an aggregate is over. A caller's column is qualified, since in
// HAVING a bare name may mean a column of the answer.
func (g *grouper) spelled(f *sqlast.Function) (string, error) {
	if c, ok := f.Args[0].(*sqlast.ColumnRef); ok {
		name := c.Names[len(c.Names)-1]
		if r := g.spelt[c.At]; r != nil {
			name = r.name
		}
		return semantic.Quote(g.bound.Refs[g.refOf(c)].Alias) + "." + semantic.Quote(name), nil
	}
	text := g.bound.Statement.Text
	end, ok := sqlast.CallEnd(text, f.At)
	if !ok {
		return "", diag.New(diag.BugSplice, "no call stands where the tree says").At(diag.PosAt("", text, int(f.At)))
	}
	open := int(f.At) + strings.IndexByte(text[f.At:], '(') + 1
	var list []splice
	for at, r := range g.spelt {
		if open <= int(at) && int(at) < end {
			list = append(list, splice{resolve.Span{Start: r.span.Start - open, End: r.span.End - open}, semantic.Quote(r.name)})
		}
	}
	inner, err := apply(text[open:end-1], list)
	if f.Distinct {
		inner = strings.TrimSpace(inner)[len("DISTINCT"):]
	}
	return closed(inner), err
}

// keyOf counts rows of a reference: NULL where an outer join found none.
func keyOf(ref resolve.Ref) string {
	column := func(n semantic.Name) string {
		return semantic.Quote(ref.Alias) + "." + semantic.Quote(string(ref.Entity.Field(n).Name))
	}
	if len(ref.Entity.PrimaryKey) == 1 {
		return column(ref.Entity.PrimaryKey[0])
	}
	var there, list []string
	for _, k := range ref.Entity.PrimaryKey {
		list, there = append(list, column(k)), append(there, column(k)+" IS NOT NULL")
	}
	return "CASE WHEN " + strings.Join(there, " AND ") + " THEN (" + strings.Join(list, ", ") + ") END"
}

// withKey adds the primary key to the columns of a reference with a minimum group.
func withKey(ref resolve.Ref, size int) resolve.Ref {
	if size <= 1 {
		return ref
	}
	ref.Columns = slices.Clone(ref.Columns)
	for _, k := range ref.Entity.PrimaryKey {
		if !slices.ContainsFunc(ref.Columns, func(c semantic.Name) bool { return c.Key() == k.Key() }) {
			ref.Columns = append(ref.Columns, k)
		}
	}
	return ref
}

// splices writes the conditions before the caller's own.
func (g groups) splices() []splice {
	switch {
	case g.text == "":
		return nil
	case g.having == resolve.Span{}:
		return []splice{{resolve.Span{Start: g.at, End: g.at}, " HAVING " + g.text}}
	}
	return []splice{{resolve.Span{Start: g.having.Start, End: g.having.Start}, g.text + " AND ("},
		{resolve.Span{Start: g.having.End, End: g.having.End}, ")"}}
}

// spans are where the conditions lie in the spliced text. They count what the model
// aggregates, so they are the model's.
func (g groups) spans(list []splice) []resolve.Span {
	if g.text == "" {
		return nil
	}
	own, at := g.splices()[0], 0
	for _, s := range list { // in the order of apply
		if s == own {
			break
		}
		at += len(s.text) - (s.End - s.Start)
	}
	start := own.Start + at
	return []resolve.Span{{Start: start, End: start + len(own.text)}}
}

// set puts the conditions into the intended tree.
func (g groups) set(root sqlast.Query) {
	if g.text == "" {
		return
	}
	q := root.(*sqlast.SelectNode)
	all := slices.Concat(g.tree, operands(q.Having))
	q.Having = all[0]
	if len(all) > 1 {
		q.Having = &sqlast.Conjunction{Op: "CONJUNCTION_AND", Args: all}
	}
}

// operands are those of an AND, as DuckDB reads one in brackets beside others.
func operands(e sqlast.Expr) []sqlast.Expr {
	if e == nil {
		return nil
	}
	if c, ok := e.(*sqlast.Conjunction); ok && c.Op == "CONJUNCTION_AND" {
		return c.Args
	}
	return []sqlast.Expr{e}
}
