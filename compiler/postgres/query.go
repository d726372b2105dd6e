package postgres

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
)

// query reads one query, with what names mean around it, and gives its tree and
// its columns. The expressions of the columns are not set.
func (t *translator) query(q *selectStmt, s *scope) (sqlast.Query, []*field) {
	t.worked(nodeCost)
	if len(q.Locking) > 0 {
		t.refuse(-1, "leave FOR UPDATE out", "rows are read here and never locked")
	}
	ctes := t.with(q.With, s)
	var tree sqlast.Query
	var fields []*field
	switch {
	case q.Op != "SETOP_NONE":
		tree, fields = t.setOperation(q, s)
	case len(q.Values) > 0:
		tree, fields = t.values(q, s)
	default:
		tree, fields = t.selectNode(q, s)
	}
	base := sqlast.Base(tree)
	base.CTEs = ctes
	if l := t.limit(q, s); l != nil {
		base.Modifiers = append(base.Modifiers, l)
	}
	return tree, fields
}

func (t *translator) with(w *withClause, s *scope) []sqlast.CTE {
	if w == nil {
		return nil
	}
	s.ctes = map[string]*table{}
	var out []sqlast.CTE
	for _, n := range w.CTEs {
		c, ok := n.v.(*commonTable)
		if !ok {
			t.refuse(w.Location, "", "this form of WITH is not supported")
		}
		if s.ctes[c.Name] != nil {
			t.refuse(c.Location, "give one of them another name", "WITH has two queries of the name %q", c.Name)
		}
		out = append(out, t.cte(c, w.Recursive, s))
	}
	return out
}

var materialized = map[string]string{"CTEMaterializeDefault": "CTE_MATERIALIZE_DEFAULT",
	"CTEMaterializeAlways": "CTE_MATERIALIZE_ALWAYS", "CTEMaterializeNever": "CTE_MATERIALIZE_NEVER"}

func (t *translator) cte(c *commonTable, recursive bool, s *scope) sqlast.CTE {
	q, ok := c.Query.v.(*selectStmt)
	if !ok || materialized[c.Materialized] == "" {
		t.refuse(c.Location, "", "this form of WITH is not supported")
	}
	columns := t.strings(c.Columns, c.Location)
	r := &relation{}
	r.name = t.freshCTE(c.Name)
	out := sqlast.CTE{Name: r.name, Aliases: columns, Materialized: materialized[c.Materialized]}
	rename := func(fields []*field) {
		if len(columns) > len(fields) {
			t.refuse(c.Location, "", "WITH names more columns than the query has")
		}
		r.fields = t.copyFields(fields)
		for i, name := range columns {
			r.fields[i].label, r.fields[i].model = name, false
		}
		r.label = c.Name
		t.distinctNames(r, c.Location)
		s.ctes[c.Name] = &table{name: r.name, fields: r.fields}
	}
	if recursive && q.Op == "SETOP_UNION" && mentions(q.Right, c.Name) {
		out.Query = t.recursive(q, s, c, rename, &out)
		return out
	}
	tree, fields := t.query(q, &scope{outer: s})
	if set, ok := tree.(*sqlast.SetOperation); ok && set.Op == "UNION" {
		tree = t.wrapped(set, fields)
	}
	rename(fields)
	out.Query = tree
	return out
}

// freshCTE gives a WITH item a name that no entity has, which it would hide.
func (t *translator) freshCTE(name string) string {
	for _, n := range t.view.Names() {
		t.taken[strings.ToLower(n)] = true
	}
	return t.fresh(name)
}

// wrapped selects all columns of a query, where the query itself would be read as
// another form: after WITH RECURSIVE, which the print always says, a UNION is one.
func (t *translator) wrapped(q sqlast.Query, fields []*field) sqlast.Query {
	name := t.fresh("u")
	out := &sqlast.SelectNode{Aggregates: "STANDARD_HANDLING",
		From: &sqlast.SubqueryRef{RefBase: sqlast.RefBase{Alias: name, At: sqlast.NoOffset}, Query: q}}
	for _, f := range fields {
		e := column(-1, name, f.label)
		sqlast.Meta(e).Alias = f.label
		out.Select = append(out.Select, e)
	}
	return out
}

// recursive reads a WITH item that refers to itself: the types of its columns are
// those of the part that does not.
func (t *translator) recursive(q *selectStmt, s *scope, c *commonTable, rename func([]*field), out *sqlast.CTE) sqlast.Query {
	if q.With != nil || len(q.Sort) > 0 || q.Count.v != nil || q.Offset.v != nil {
		t.refuse(c.Location, "order and limit outside", "a recursive query has no WITH, ORDER BY or LIMIT of its own")
	}
	left, fields := t.query(q.Left, &scope{outer: s})
	for _, f := range fields {
		if isInteger(f.value.t) {
			f.value.exact = false
		}
	}
	rename(fields)
	right, more := t.query(q.Right, &scope{outer: s})
	if len(more) != len(fields) {
		t.refuse(c.Location, "", "the two parts of a recursive query have %d and %d columns", len(fields), len(more))
	}
	for i, f := range fields {
		if f.value.t != more[i].value.t || f.value.t == tNumeric {
			t.refuse(c.Location, "cast both to one type other than numeric", "column %d of the recursive query is %s and then %s", i+1, f.value.t, more[i].value.t)
		}
	}
	t.convertColumns(left, fields, typesOf(fields))
	t.convertColumns(right, more, typesOf(fields))
	return &sqlast.RecursiveCTE{Name: out.Name, UnionAll: q.All, Left: left, Right: right, Aliases: out.Aliases}
}

func typesOf(fields []*field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.value.t
	}
	return out
}

// mentions reports whether a query reads from a name; too often is no harm.
func mentions(q *selectStmt, name string) bool {
	found := false
	visit(q, func(n any) {
		if r, ok := n.(*rangeVar); ok && r.Name == name {
			found = true
		}
	})
	return found
}

func (t *translator) setOperation(q *selectStmt, s *scope) (sqlast.Query, []*field) {
	op := map[string]string{"SETOP_UNION": "UNION", "SETOP_EXCEPT": "EXCEPT", "SETOP_INTERSECT": "INTERSECT"}[q.Op]
	if op == "" || q.Left == nil || q.Right == nil {
		t.refuse(-1, "", "this set operation is not supported")
	}
	left, a := t.query(q.Left, &scope{outer: s})
	right, b := t.query(q.Right, &scope{outer: s})
	if len(a) != len(b) {
		t.refuse(-1, "select the same number of columns", "the sides of %s have %d and %d columns", op, len(a), len(b))
	}
	fields, types := make([]*field, len(a)), make([]string, len(a))
	for i := range a {
		to, _ := t.common("the columns of "+op, -1, []value{shown(a[i]), shown(b[i])})
		types[i] = to
		v := result(to, -1, []value{a[i].value, b[i].value}, nil)
		if !q.All || op != "UNION" {
			t.grouped(v)
		}
		if isInteger(to) {
			v.exact = false
		}
		fields[i] = &field{label: a[i].label, model: a[i].model, starry: true, value: v}
	}
	t.convertColumns(left, a, types)
	t.convertColumns(right, b, types)
	out := &sqlast.SetOperation{Op: op, All: q.All}
	for _, side := range []sqlast.Query{left, right} {
		if set, ok := side.(*sqlast.SetOperation); ok && op == "UNION" && set.Op == op && set.All == q.All && len(set.CTEs) == 0 && len(set.Modifiers) == 0 {
			out.Children = append(out.Children, set.Children...) // as DuckDB reads it
			continue
		}
		out.Children = append(out.Children, side)
	}
	out.Modifiers = t.setOrder(q, fields)
	return out, fields
}

func shown(f *field) value {
	v := f.value
	v.e = null() // only its type is asked
	return v
}

// convertColumns makes the columns of a query of other types, in each SELECT of it.
func (t *translator) convertColumns(q sqlast.Query, fields []*field, types []string) {
	if set, ok := q.(*sqlast.SetOperation); ok {
		for _, child := range set.Children {
			t.convertColumns(child, fields, types)
		}
		return
	}
	node, ok := q.(*sqlast.SelectNode)
	if !ok {
		t.refuse(-1, "", "this set operation is not supported")
	}
	for i, f := range fields {
		if f.value.t == types[i] && (!isInteger(types[i]) || f.value.exact) || f.value.t != tNumeric && types[i] == tNumeric {
			continue
		}
		if duckTypes[types[i]] == "" {
			continue // numeric, lists: DuckDB finds their width
		}
		alias := sqlast.Meta(node.Select[i]).Alias
		sqlast.Meta(node.Select[i]).Alias = ""
		node.Select[i] = cast(node.Select[i], duckTypes[types[i]])
		sqlast.Meta(node.Select[i]).Alias = alias
	}
}

// setOrder is ORDER BY of a set operation, which names columns of its result.
func (t *translator) setOrder(q *selectStmt, fields []*field) []sqlast.Modifier {
	if len(q.Sort) == 0 {
		return nil
	}
	out := &sqlast.OrderBy{}
	for _, n := range q.Sort {
		by := n.v.(*sortBy)
		i := t.position(by.Node, fields)
		if i < 0 {
			t.refuse(-1, "order by the name or the number of a column", "the result of a set operation is ordered by its columns")
		}
		t.sorted(fields[i].value)
		out.Orders = append(out.Orders, t.order(by, number(int64(i+1))))
	}
	return []sqlast.Modifier{out}
}

// position gives the index of the result column that a term of ORDER BY or GROUP
// BY names by number or name; -1 when it is an expression.
func (t *translator) position(n node, fields []*field) int {
	switch n := n.v.(type) {
	case *constant:
		if n.Int == nil {
			t.refuse(n.Location, "name a column", "a constant has no place here")
		}
		if n.Int.V < 1 || n.Int.V > int64(len(fields)) {
			t.refuse(n.Location, "", "there is no column %d", n.Int.V)
		}
		return int(n.Int.V) - 1
	case *columnRef:
		if len(n.Fields) != 1 {
			return -1
		}
		s, ok := n.Fields[0].v.(*stringNode)
		found := -1
		for i, f := range fields {
			if ok && named(s.Val, f.label, f.model) {
				if found >= 0 {
					t.refuse(n.Location, "give one of them another name, or order by its number", "%q names two columns of the result", s.Val)
				}
				found = i
			}
		}
		return found
	}
	return -1
}

// order gives a term its direction and the place of NULL: last when ascending,
// first when descending.
func (t *translator) order(by *sortBy, e sqlast.Expr) sqlast.Order {
	out := sqlast.Order{Expr: e, Dir: "ASCENDING", Nulls: "NULLS LAST"}
	switch by.Dir {
	case "SORTBY_DESC":
		out.Dir, out.Nulls = "DESCENDING", "NULLS FIRST"
	case "SORTBY_ASC", "SORTBY_DEFAULT":
	default:
		t.refuse(by.Location, "write ASC or DESC", "ORDER BY ... USING is not supported")
	}
	switch by.Nulls {
	case "SORTBY_NULLS_FIRST":
		out.Nulls = "NULLS FIRST"
	case "SORTBY_NULLS_LAST":
		out.Nulls = "NULLS LAST"
	}
	return out
}

func (t *translator) limit(q *selectStmt, s *scope) sqlast.Modifier {
	if q.LimitOption == "LIMIT_OPTION_WITH_TIES" {
		t.refuse(-1, "write LIMIT, or rank() in a query around it", "WITH TIES is not supported")
	}
	bound := func(n node) sqlast.Expr {
		switch c := n.v.(type) {
		case nil:
			return nil
		case *constant:
			if c.IsNull {
				return nil
			}
			if c.Int != nil && c.Int.V >= 0 {
				return number(c.Int.V)
			}
		}
		t.refuse(-1, "write it as a number", "LIMIT and OFFSET take whole numbers that are written out")
		return nil
	}
	l := &sqlast.Limit{Limit: bound(q.Count), Offset: bound(q.Offset)}
	if l.Limit == nil && l.Offset == nil {
		return nil
	}
	return l
}

// values reads VALUES as a query over them, so that its columns have names.
func (t *translator) values(q *selectStmt, s *scope) (sqlast.Query, []*field) {
	if len(q.Sort) > 0 {
		t.refuse(-1, "write SELECT ... FROM (VALUES ...) AS name ORDER BY ...", "ORDER BY directly behind VALUES is not supported")
	}
	var rows [][]value
	for _, n := range q.Values {
		items := n.v.(*list).Items
		row := make([]value, len(items))
		for i, item := range items {
			row[i] = t.expr(item, s)
		}
		if len(rows) > 0 && len(row) != len(rows[0]) {
			t.refuse(-1, "", "the rows of VALUES differ in length")
		}
		rows = append(rows, row)
	}
	r := &relation{}
	tree := make([][]sqlast.Expr, len(rows))
	for i := range rows[0] {
		col := make([]value, len(rows))
		for j := range rows {
			col[j] = rows[j][i]
		}
		to, converted := t.common("the rows of VALUES", -1, col)
		for j, v := range converted {
			tree[j] = append(tree[j], v.e)
		}
		v := result(to, -1, converted, nil)
		v.exact = false
		r.fields = append(r.fields, &field{label: "column" + itoa(i+1), starry: true, value: v})
	}
	r.settle(t, "values")
	names := make([]string, len(r.fields))
	out := &sqlast.SelectNode{Aggregates: "STANDARD_HANDLING"}
	for i, f := range r.fields {
		names[i] = f.label
		e := f.make(-1)
		sqlast.Meta(e).Alias = f.label
		out.Select = append(out.Select, e)
	}
	inner := &sqlast.SelectNode{Select: []sqlast.Expr{&sqlast.Star{ExprBase: nowhere}}, Aggregates: "STANDARD_HANDLING",
		From: &sqlast.ValuesRef{RefBase: sqlast.RefBase{Alias: "valueslist", At: sqlast.NoOffset}, Rows: tree}}
	out.From = &sqlast.SubqueryRef{RefBase: sqlast.RefBase{Alias: r.name, At: sqlast.NoOffset}, Query: inner, ColumnAliases: names}
	return out, r.fields
}

// item is one column of a select list.
type item struct {
	node  node // of the text; nil for a column of a star
	field *field
	value value
}

func (t *translator) selectNode(q *selectStmt, s *scope) (sqlast.Query, []*field) {
	if len(q.Targets) == 0 {
		t.refuse(-1, "select something", "a SELECT without columns is not supported")
	}
	s.windows = map[string]*windowDef{}
	for _, n := range q.Windows {
		w := n.v.(*windowDef)
		s.windows[w.Name] = w
	}
	out := &sqlast.SelectNode{Aggregates: "STANDARD_HANDLING", From: t.from(q.From, s)}
	if q.Where.v != nil {
		out.Where = t.condition(q.Where, s)
	}
	items := t.items(q, s)
	fields := make([]*field, len(items))
	for i, it := range items {
		e := it.value.e
		sqlast.Meta(e).Alias = it.field.label
		out.Select, fields[i] = append(out.Select, e), it.field
	}
	out.Groups, out.GroupSets = t.groups(q, s, items)
	if q.Having.v != nil {
		out.Having = t.condition(q.Having, s)
	}
	if len(q.Distinct) > 0 {
		d := &sqlast.Distinct{}
		for _, n := range q.Distinct {
			if n.v != nil {
				v := t.term(n, s, items)
				t.grouped(v)
				d.On = append(d.On, noPosition(v))
			}
		}
		for _, it := range items {
			if len(d.On) == 0 {
				t.grouped(it.value)
			}
		}
		out.Modifiers = append(out.Modifiers, d)
	}
	if len(q.Sort) > 0 {
		out.Modifiers = append(out.Modifiers, t.selectOrder(q.Sort, s, items))
	}
	return out, fields
}

func (t *translator) items(q *selectStmt, s *scope) []item {
	var out []item
	add := func(n node, f *field, v value) {
		t.worked(1)
		if v.t == tUnknown {
			v = t.literal(v, tText)
		}
		shared := v // its exact parts would be computed where they cannot be named
		shared.e, shared.rounded, shared.quotient, shared.whole = nil, nil, nil, nil
		f.value, f.whole = shared, v
		out = append(out, item{n, f, v})
	}
	for _, n := range q.Targets {
		target := n.v.(*target)
		if fields, ok := t.star(target.Val, s); ok {
			for _, f := range fields {
				v := f.value
				v.e = f.make(target.Location)
				add(node{}, &field{label: f.label, model: f.model, starry: true}, v)
			}
			continue
		}
		label := target.Name
		if label == "" {
			label, _ = nameOf(target.Val)
		}
		add(target.Val, &field{label: label, starry: true}, t.expr(target.Val, s))
	}
	return out
}

// star gives the columns of * and name.*.
func (t *translator) star(n node, s *scope) ([]*field, bool) {
	c, ok := n.v.(*columnRef)
	if !ok {
		return nil, false
	}
	if _, ok := c.Fields[len(c.Fields)-1].v.(*star); !ok {
		return nil, false
	}
	list := s.fields
	if len(c.Fields) > 1 {
		names := t.strings(c.Fields[:len(c.Fields)-1], c.Location)
		r := t.relation(names[0], c.Location, s)
		if r == nil || len(names) > 1 {
			t.unknown("table", strings.Join(names, "."), c.Location, nil)
		}
		list = r.fields
	}
	list = slices.DeleteFunc(slices.Clone(list), func(f *field) bool { return !f.starry })
	if len(list) == 0 {
		t.refuse(c.Location, "", "the star stands for no column")
	}
	return list, true
}

// term reads a term of DISTINCT ON: a column of the result by number or name, or
// an expression.
func (t *translator) term(n node, s *scope, items []item) value {
	if i := t.position(n, fieldsOf(items)); i >= 0 {
		return t.again(items[i], s)
	}
	return t.expr(n, s)
}

// again reads an item's expression once more, for another place of the tree.
func (t *translator) again(it item, s *scope) value {
	if it.node.v == nil {
		v := it.value
		c := *v.e.(*sqlast.ColumnRef) // of a star
		c.Alias = ""
		v.e = &c
		return v
	}
	return t.expr(it.node, s)
}

func fieldsOf(items []item) []*field {
	out := make([]*field, len(items))
	for i, it := range items {
		out[i] = it.field
	}
	return out
}

// selectOrder is ORDER BY of a SELECT: a name of the result first, then an
// expression over its tables. What is a column of the result goes by its number.
func (t *translator) selectOrder(list []node, s *scope, items []item) *sqlast.OrderBy {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = t.printExpr(it.value.e)
	}
	out := &sqlast.OrderBy{}
	for _, n := range list {
		by := n.v.(*sortBy)
		i := t.position(by.Node, fieldsOf(items))
		var v value
		if i >= 0 {
			v = items[i].value
		} else {
			v = t.expr(by.Node, s)
			if i = slices.Index(texts, t.printExpr(v.e)); v.whole != nil {
				i = -1
			}
		}
		switch exact := t.sorted(v); {
		case i < 0 || v.approx:
			out.Orders = append(out.Orders, t.order(by, noPosition(exact)))
		default:
			out.Orders = append(out.Orders, t.order(by, number(int64(i+1))))
		}
	}
	return out
}

// grouped refuses to tell values apart, or to take them for one, by what has only
// about its value here.
func (t *translator) grouped(v value) {
	if v.approx {
		t.refuse(v.at, "round it first, or cast it to double precision", "a numeric result of this kind has about its value here, and may fall into other groups")
	}
	if v.t == tJSON {
		t.refuse(v.at, "group by a part of it as text", "values of type jsonb are not grouped here")
	}
}

// sorted gives what to order by: the exact value where there is one.
func (t *translator) sorted(v value) value {
	v = t.known(v)
	t.ordered(v)
	return t.comparedExactly(v.at, v)[0]
}

// ordered refuses to order by what has another order in DuckDB.
func (t *translator) ordered(v value) {
	if v.t == tOpaque {
		t.refuse(v.at, "", "values of this type, and masked ones, are shown and nothing more")
	}
	if v.t == tJSON || elementOf(v.t) != "" {
		t.refuse(v.at, "order by something else", "values of type %s are not ordered here", v.t)
	}
}
