package postgres

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// from adds the items of FROM to the scope and gives their tree.
func (t *translator) from(list []node, s *scope) sqlast.TableRef {
	if len(list) == 0 {
		return &sqlast.EmptyRef{RefBase: sqlast.RefBase{At: sqlast.NoOffset}}
	}
	if len(list) > sqlast.MaxJoins+1 {
		panic(&refusal{diag.New(diag.LimitTree, "FROM has %d tables, more than %d", len(list), sqlast.MaxJoins+1)})
	}
	var out sqlast.TableRef
	for _, n := range list {
		item := t.item(n, s)
		s.relations = append(s.relations, item.relations...)
		s.fields = append(s.fields, item.fields...)
		if out == nil {
			out = item.ref
			continue
		}
		out = &sqlast.JoinRef{RefBase: sqlast.RefBase{At: sqlast.NoOffset}, Left: out, Right: item.ref, Type: "INNER", Kind: "CROSS", Implicit: true}
	}
	labels := map[string]bool{}
	for _, r := range s.relations {
		if labels[r.label] {
			t.refuse(-1, "give one of them an alias", "%q names two tables of one FROM", r.label)
		}
		labels[r.label] = true
	}
	return out
}

// fromItem is one item of FROM: its tree, and what it offers.
type fromItem struct {
	ref       sqlast.TableRef
	relations []*relation
	fields    []*field
}

func single(ref sqlast.TableRef, r *relation) fromItem {
	return fromItem{ref, []*relation{r}, r.fields}
}

// item reads one item. left is the scope to its left, which LATERAL sees.
func (t *translator) item(n node, left *scope) fromItem {
	switch n := n.v.(type) {
	case *rangeVar:
		return t.table(n, left)
	case *rangeSubselect:
		return t.derived(n, left)
	case *rangeFunction:
		return t.series(n, left)
	case *joinExpr:
		return t.join(n, left)
	}
	t.refuse(-1, "", "this form of FROM is not supported")
	return fromItem{}
}

func (t *translator) table(n *rangeVar, s *scope) fromItem {
	if n.Schema != "" {
		t.refuse(n.Location, "write the name alone", "a table's name has no schema here")
	}
	if !n.Inherit {
		t.refuse(n.Location, "leave ONLY out", "ONLY is not supported")
	}
	base := sqlast.RefBase{At: sqlast.Offset(n.Location)}
	if c := s.cte(n.Name); c != nil {
		r := &relation{fields: t.copyFields(c.fields)}
		columns := t.settle(r, n.Name, n.Alias, n.Location)
		base.Alias = r.name
		return single(&sqlast.BaseTable{RefBase: base, Table: c.name, ColumnAliases: columns}, r)
	}
	r, e := t.entity(n)
	if n.Alias != nil && len(n.Alias.Columns) > 0 {
		t.refuse(n.Location, "name the columns with AS in the select list", "a list of columns behind a table's alias is not supported")
	}
	label := r.label
	if n.Alias != nil {
		label, r.model = n.Alias.Name, false
	}
	r.settle(t, label)
	base.Alias = r.name
	return single(&sqlast.BaseTable{RefBase: base, Table: string(e.Name)}, r)
}

// settle names a relation that is no entity after its alias, and gives the names
// of its columns where the alias has a list of them.
func (t *translator) settle(r *relation, label string, a *alias, place int) []string {
	var columns []string
	if a != nil {
		label = a.Name
		columns = t.strings(a.Columns, place)
	}
	if len(columns) > len(r.fields) {
		t.refuse(place, "", "the alias names more columns than there are")
	}
	for i, name := range columns {
		r.fields[i].label = name
	}
	r.settle(t, label)
	return columns
}

// copyFields gives each use of a WITH item columns of its own.
func (t *translator) copyFields(list []*field) []*field {
	t.worked(len(list))
	out := make([]*field, len(list))
	for i, f := range list {
		fresh := *f
		out[i] = &fresh
	}
	return out
}

func (t *translator) derived(n *rangeSubselect, left *scope) fromItem {
	q, ok := n.Query.v.(*selectStmt)
	if !ok || n.Alias == nil {
		t.refuse(-1, "write (SELECT ...) AS name", "a query in FROM needs an alias")
	}
	outer := &scope{outer: left.outer, ctes: left.ctes}
	if n.Lateral {
		outer = left
	}
	tree, fields := t.query(q, &scope{outer: outer})
	r := &relation{fields: fields}
	columns := t.settle(r, "", n.Alias, -1)
	t.distinctNames(r, -1)
	return single(&sqlast.SubqueryRef{RefBase: sqlast.RefBase{Alias: r.name, At: sqlast.NoOffset}, Query: tree, ColumnAliases: columns}, r)
}

// distinctNames refuses a relation two of whose columns DuckDB would take for one.
func (t *translator) distinctNames(r *relation, place int) {
	seen := map[string]bool{}
	for _, f := range r.fields {
		key := strings.ToLower(f.label)
		if seen[key] {
			t.refuse(place, "give one of them another name with AS", "two columns of %q have the name %q", r.label, f.label)
		}
		seen[key] = true
	}
}

// series reads generate_series, the one function that makes rows.
func (t *translator) series(n *rangeFunction, left *scope) fromItem {
	items, ok := n.Functions[0].v.(*list)
	if !ok || len(n.Functions) != 1 || len(items.Items) == 0 {
		t.refuse(-1, "", "this form of FROM is not supported")
	}
	f, ok := items.Items[0].v.(*funcCall)
	if !ok || t.functionName(f) != "generate_series" {
		t.refuse(-1, "", "only generate_series makes rows in FROM")
	}
	args := make([]value, len(f.Args))
	for i, a := range f.Args {
		args[i] = t.expr(a, left)
	}
	if len(args) < 2 || len(args) > 3 {
		t.refuse(f.Location, "", "generate_series takes two or three arguments")
	}
	to := tInt8
	switch {
	case !slices.ContainsFunc(args, func(v value) bool { return !isInteger(v.t) }):
		to, args = t.common("arguments", f.Location, args)
	case len(args) == 3 && args[0].t == tTimestamp:
		to = tTimestamp
		args[1], args[2] = t.implicit(args[1], to), t.implicit(args[2], tInterval)
	default:
		t.refuse(f.Location, "", "generate_series takes integers, or timestamps and an interval")
	}
	exprs := make([]sqlast.Expr, len(args))
	for i, a := range args {
		exprs[i] = a.e
	}
	label := "generate_series"
	if n.Alias != nil {
		label = n.Alias.Name
	}
	r := &relation{fields: []*field{{label: label, starry: true, value: value{t: to}}}}
	t.settle(r, label, n.Alias, f.Location)
	function := &sqlast.Function{ExprBase: at(f.Location), Name: "generate_series", Args: exprs}
	base := sqlast.RefBase{Alias: r.name, At: sqlast.Offset(f.Location)}
	return single(&sqlast.TableFunction{RefBase: base, Function: function, ColumnAliases: []string{r.fields[0].label}}, r)
}

var joinTypes = map[string]string{"JOIN_INNER": "INNER", "JOIN_LEFT": "LEFT", "JOIN_RIGHT": "RIGHT", "JOIN_FULL": "FULL"}

func (t *translator) join(n *joinExpr, outside *scope) fromItem {
	if n.Alias != nil {
		t.refuse(-1, "", "an alias of a join is not supported")
	}
	if _, nested := n.Right.v.(*joinExpr); nested {
		t.refuse(-1, "write the joins one after the other, or the inner one as a query", "a join on the right side of a join is not supported")
	}
	left := t.item(n.Left, outside)
	both := &scope{relations: append(slices.Clone(outside.relations), left.relations...), fields: append(slices.Clone(outside.fields), left.fields...),
		ctes: outside.ctes, outer: outside.outer}
	right := t.item(n.Right, both)
	inside := &scope{relations: append(slices.Clone(left.relations), right.relations...), fields: append(slices.Clone(left.fields), right.fields...),
		ctes: outside.ctes, outer: outside.outer}
	ref := &sqlast.JoinRef{RefBase: sqlast.RefBase{At: sqlast.NoOffset}, Left: left.ref, Right: right.ref, Type: joinTypes[n.Type], Kind: "REGULAR"}
	out := fromItem{ref: ref, relations: inside.relations, fields: inside.fields}
	switch {
	case ref.Type == "":
		t.refuse(-1, "", "this kind of join is not supported")
	case n.Natural || len(n.Using) > 0:
		out.fields, ref.Condition = t.merge(n, left, right)
	case n.On.v != nil:
		ref.Condition = t.condition(n.On, inside)
	default:
		ref.Kind = "CROSS"
	}
	return out
}

// merge joins on the columns of USING or NATURAL, which then stand once.
func (t *translator) merge(n *joinExpr, left, right fromItem) ([]*field, sqlast.Expr) {
	names := t.strings(n.Using, -1)
	if n.Natural {
		for _, f := range left.fields {
			if t.among(right.fields, f.label, -1) != nil {
				names = append(names, f.label)
			}
		}
		if len(names) == 0 {
			t.refuse(-1, "write CROSS JOIN", "the sides of NATURAL JOIN have no column in common")
		}
	}
	var conditions []sqlast.Expr
	var merged, gone []*field
	for _, name := range names {
		l, r := t.among(left.fields, name, -1), t.among(right.fields, name, -1)
		if l == nil || r == nil {
			t.unknown("column", name, -1, nil)
		}
		pair := t.comparison("=", -1, valueOf(l), valueOf(r))
		conditions = append(conditions, pair.e)
		merged, gone = append(merged, mergedField(t, n.Type, l, r)), append(gone, l, r)
	}
	rest := slices.DeleteFunc(append(slices.Clone(left.fields), right.fields...), func(f *field) bool { return slices.Contains(gone, f) })
	return append(merged, rest...), and(conditions...)
}

func valueOf(f *field) value {
	v := f.value
	v.e, v.at = f.make(-1), -1
	return v
}

func mergedField(t *translator, join string, l, r *field) *field {
	switch join {
	case "JOIN_RIGHT":
		out := *r
		return &out
	case "JOIN_FULL":
		if l.value.t != r.value.t {
			t.refuse(-1, "join ON them", "the columns %q that a FULL JOIN merges have two types", l.label)
		}
		out := *l
		out.make = func(place int) sqlast.Expr { t.worked(1); return coalesce(l.make(place), r.make(place)) }
		return &out
	}
	out := *l
	return &out
}
