package prove

import (
	"maps"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// treeReader visits a whole tree. It names every kind of node it knows, so a new
// kind is refused, and it does not use the walk that resolve and rewrite use.
type treeReader struct {
	in        Input
	rules     map[string]*rule // by entity key
	fences    []*fence
	functions map[string]bool
	nodes     map[string]bool
	structs   map[int64]bool // places where the text itself makes a struct
	inCTE     int
	inLambda  int
	relations map[string]bool                      // what the text calls its relations, by key
	values    map[string]bool                      // bare names inside lambdas that are no parameters
	params    map[string]int                       // of the lambdas around
	columns   map[string]int                       // of the fences in scope
	limited   map[string]*limited                  // by the key of the name they leave their fences under
	entities  map[sqlast.TableRef]*semantic.Entity // whose fence a reference is
	inModel   map[*sqlast.ColumnRef]bool           // in the model's dimensions over a fence
	shown     []sqlast.TableRef                    // whose columns are shown or grouped unnamed
	// The reference whose fence is being read, its list of column names, and whether
	// it stands in a query of the model's dimensions.
	current      sqlast.TableRef
	fenceAliases []string
	wrapping     bool
	guarded      bool // an entity with a minimum group is read
	problems     []error
}

func readTree(in Input, rules map[string]*rule, root sqlast.Query) *treeReader {
	r := &treeReader{in: in, rules: rules, functions: map[string]bool{}, nodes: map[string]bool{}, structs: map[int64]bool{},
		relations: map[string]bool{}, values: map[string]bool{}, params: map[string]int{}, columns: map[string]int{},
		limited: map[string]*limited{}, entities: map[sqlast.TableRef]*semantic.Entity{}, inModel: map[*sqlast.ColumnRef]bool{}}
	r.query(root, nil)
	r.rowCap(root)
	r.uses(root)
	r.grouped(root)
	for name := range r.values {
		if r.relations[name] {
			r.fail("the relation %q is used as a value", name)
		}
	}
	return r
}

func (r *treeReader) failed() error { return together(r.problems) }

func (r *treeReader) fail(format string, args ...any) {
	r.problems = append(r.problems, because(format, args...))
}

// names is the set of CTE names in scope, by key; never changed, only copied.
type names map[string]bool

func (n names) with(name string) names {
	out := maps.Clone(n)
	if out == nil {
		out = names{}
	}
	out[semantic.Name(name).Key()] = true
	return out
}

// query visits a query node in the scope of the CTEs around it.
func (r *treeReader) query(q sqlast.Query, scope names) {
	base := sqlast.Base(q)
	for _, c := range base.CTEs {
		r.inCTE++
		r.query(c.Query, scope)
		r.exprs(c.KeyTargets, scope)
		r.inCTE--
		scope = scope.with(c.Name)
	}
	switch q := q.(type) {
	case *sqlast.SelectNode:
		r.nodes["SELECT_NODE"] = true
		r.selectNode(q, scope)
		return
	case *sqlast.SetOperation:
		r.nodes["SET_OPERATION_NODE"], r.nodes[q.Op] = true, true
		for _, c := range q.Children {
			r.query(c, scope)
		}
	case *sqlast.RecursiveCTE:
		r.nodes["RECURSIVE_CTE_NODE"] = true
		r.query(q.Left, scope)
		r.query(q.Right, scope.with(q.Name))
		r.exprs(q.KeyTargets, scope)
	default:
		r.fail("query node %T", q)
	}
	r.modifiers(base.Modifiers, scope)
}

func (r *treeReader) selectNode(s *sqlast.SelectNode, scope names) {
	out := r.within(s.From)
	for _, e := range s.Select {
		if !pivoted(e, s.From) && !r.joined(e, s.From) {
			r.expr(e, scope)
		}
	}
	out()
	r.ref(s.From, scope)
	defer r.within(s.From)()
	r.expr(s.Where, scope)
	r.exprs(s.Groups, scope)
	r.expr(s.Having, scope)
	r.expr(s.Qualify, scope)
	r.sample(s.Sample)
	r.modifiers(s.Modifiers, scope)
}

// pivoted recognises the plain star over a PIVOT, which cannot be spelled out in
// the PIVOT statement, and over rows that come from no entity. Every other star
// was spelled out by the rewrite.
func pivoted(e sqlast.Expr, from sqlast.TableRef) bool {
	switch from.(type) {
	case *sqlast.PivotRef, *sqlast.TableFunction, *sqlast.ValuesRef:
		s, ok := plainStar(e)
		return ok && !s.Columns
	}
	return false
}

// joined recognises the star that DuckDB writes for a join in brackets with an
// alias. It shows every column of the fences in it, so none may offer a limited one.
func (r *treeReader) joined(e sqlast.Expr, from sqlast.TableRef) bool {
	s, ok := plainStar(e)
	if !ok || s.Columns || s.At != sqlast.NoOffset {
		return false
	}
	_, ok = from.(*sqlast.JoinRef)
	r.shown = append(r.shown, from)
	return ok
}

// plainStar recognises a star without a qualifier and without changes; DuckDB
// writes the ALL of ORDER BY ALL as one that is marked as COLUMNS.
func plainStar(e sqlast.Expr) (*sqlast.Star, bool) {
	s, ok := e.(*sqlast.Star)
	return s, ok && s.Relation == "" && s.Expr == nil &&
		len(s.Exclude)+len(s.QualifiedExclude)+len(s.Replace)+len(s.Rename) == 0
}

func (r *treeReader) modifiers(list []sqlast.Modifier, scope names) {
	for _, m := range list {
		switch m := m.(type) {
		case *sqlast.OrderBy:
			r.nodes["ORDER_MODIFIER"] = true
			if len(m.Orders) == 1 {
				if _, all := plainStar(m.Orders[0].Expr); all {
					continue // ORDER BY ALL: the select list, which is read above
				}
			}
			r.orders(m.Orders, scope)
		case *sqlast.Limit:
			r.nodes["LIMIT_MODIFIER"] = true
			r.expr(m.Limit, scope)
			r.expr(m.Offset, scope)
		case *sqlast.Distinct:
			r.nodes["DISTINCT_MODIFIER"] = true
			r.exprs(m.On, scope)
		default:
			r.fail("modifier %T", m)
		}
	}
}

// rowCap checks the outermost LIMIT.
func (r *treeReader) rowCap(root sqlast.Query) {
	for _, m := range sqlast.Base(root).Modifiers {
		if l, ok := m.(*sqlast.Limit); ok {
			n, ok := integer(l.Limit)
			if ok && !l.Percent && 0 <= n && n <= int64(r.in.RowCap) {
				return
			}
		}
	}
	r.fail("the outermost LIMIT is no number up to %d", r.in.RowCap)
}

// ref visits one item of FROM. A sub-query over a qualified name is a fence.
func (r *treeReader) ref(t sqlast.TableRef, scope names) {
	base := sqlast.Ref(t)
	r.sample(base.Sample)
	r.relations[semantic.Name(base.Alias).Key()] = true
	switch t := t.(type) {
	case *sqlast.EmptyRef:
	case *sqlast.BaseTable:
		r.nodes["BASE_TABLE"] = true
		r.named(t, scope)
	case *sqlast.SubqueryRef:
		r.nodes["SUBQUERY_REF"] = true
		if s, ok := t.Query.(*sqlast.SelectNode); ok {
			r.current, r.fenceAliases = t, t.ColumnAliases
			if b, ok := s.From.(*sqlast.BaseTable); ok && (b.Catalog != "" || b.Schema != "") {
				r.fence(s, b)
				return
			}
			if inner, b := wrapped(s); b != nil {
				r.wrapper(s, inner, b, scope)
				return
			}
		}
		r.query(t.Query, scope)
	case *sqlast.JoinRef:
		r.nodes["JOIN"], r.nodes["JOIN_"+t.Type] = true, true
		if t.Kind == "POSITIONAL" {
			r.fail("a positional join")
		}
		r.ref(t.Left, scope)
		defer r.within(t.Left)()
		r.ref(t.Right, scope)
		defer r.within(t.Right)()
		r.expr(t.Condition, scope)
	case *sqlast.TableFunction:
		r.nodes["TABLE_FUNCTION"] = true
		r.expr(t.Function, scope)
	case *sqlast.ValuesRef:
		r.nodes["EXPRESSION_LIST"] = true
		for _, row := range t.Rows {
			r.exprs(row, scope)
		}
	case *sqlast.PivotRef:
		r.nodes["PIVOT"] = true
		r.pivot(t, scope)
	default:
		r.fail("table reference %T", t)
	}
}

// named checks a base table outside a fence: it can only be a CTE in scope.
func (r *treeReader) named(t *sqlast.BaseTable, scope names) {
	r.relations[semantic.Name(t.Table).Key()] = true
	switch {
	case t.Catalog != "" || t.Schema != "":
		r.fail("%q.%q.%q is named outside a fence", t.Catalog, t.Schema, t.Table)
	case t.AtClause != nil:
		r.fail("time travel on %q", t.Table)
	case !scope[semantic.Name(t.Table).Key()]:
		r.fail("%q is no CTE in scope", t.Table)
	}
}

func (r *treeReader) pivot(p *sqlast.PivotRef, scope names) {
	r.shown = append(r.shown, p.Source)
	r.ref(p.Source, scope)
	r.exprs(p.Aggregates, scope)
	for _, c := range p.Pivots {
		if c.Enum != "" {
			r.fail("a pivot by the enum %q", c.Enum)
		}
		r.exprs(c.Exprs, scope)
		for _, e := range c.Entries {
			r.expr(e.Star, scope)
		}
	}
}

func (r *treeReader) sample(s *sqlast.Sample) {
	if s == nil {
		return
	}
	r.nodes["SAMPLE"] = true
	if s.Seed == "" || s.Seed == "-1" {
		r.fail("a sample that is not repeatable")
	}
}

func (r *treeReader) orders(list []sqlast.Order, scope names) {
	for _, o := range list {
		r.expr(o.Expr, scope)
	}
}

func (r *treeReader) exprs(list []sqlast.Expr, scope names) {
	for _, e := range list {
		r.expr(e, scope)
	}
}

// expr visits an expression; nil is none.
func (r *treeReader) expr(e sqlast.Expr, scope names) {
	switch e := e.(type) {
	case nil:
	case *sqlast.ColumnRef:
		r.nodes["COLUMN_REF"] = true
		r.inLambdas(e)
	case *sqlast.Constant:
		r.nodes["CONSTANT"] = true
	case *sqlast.Function:
		r.nodes["FUNCTION"] = true
		r.call(e, scope)
	case *sqlast.Window:
		r.nodes["WINDOW"], r.nodes[e.Kind] = true, true
		r.window(e, scope)
	case *sqlast.Subquery:
		r.nodes["SUBQUERY"] = true
		r.expr(e.Child, scope)
		r.query(e.Query, scope)
	case *sqlast.Star:
		r.fail("a star is left in the text")
	case *sqlast.Positional:
		// ARRAY(SELECT ...) holds one that DuckDB made; the text's own has a place.
		if e.At != sqlast.NoOffset {
			r.fail("a positional reference")
		}
	default:
		r.plain(e, scope)
	}
}

// plain visits the expressions that only hold others.
func (r *treeReader) plain(e sqlast.Expr, scope names) {
	switch e := e.(type) {
	case *sqlast.Comparison:
		r.nodes[e.Op] = true
		r.exprs([]sqlast.Expr{e.Left, e.Right}, scope)
	case *sqlast.Conjunction:
		r.nodes[e.Op] = true
		r.exprs(e.Args, scope)
	case *sqlast.Operator:
		r.nodes[e.Op] = true
		r.exprs(e.Args, scope)
	case *sqlast.Between:
		r.nodes["COMPARE_BETWEEN"] = true
		r.exprs([]sqlast.Expr{e.Input, e.Lower, e.Upper}, scope)
	case *sqlast.Case:
		r.nodes["CASE_EXPR"] = true
		for _, c := range e.Checks {
			r.exprs([]sqlast.Expr{c.When, c.Then}, scope)
		}
		r.expr(e.Else, scope)
	case *sqlast.Cast:
		r.nodes["CAST"] = true
		r.expr(e.Child, scope)
	case *sqlast.Collate:
		r.nodes["COLLATE"] = true
		r.expr(e.Child, scope)
	case *sqlast.Lambda:
		r.nodes["LAMBDA"] = true
		r.lambda(e, scope)
	default:
		r.fail("expression %T", e)
	}
}

// lambda visits a lambda, or JSON's arrow, whose left side is an expression like
// any other. Calls in a lambda lose their places when DuckDB binds them, so a
// relation's name as a value is looked for here and not by wholeRows.
func (r *treeReader) lambda(l *sqlast.Lambda, scope names) {
	r.inLambda++
	defer func() { r.inLambda-- }()
	if l.Syntax != "LAMBDA_KEYWORD" {
		r.exprs([]sqlast.Expr{l.Params, l.Body}, scope)
		return
	}
	list := []sqlast.Expr{l.Params}
	if f, ok := l.Params.(*sqlast.Function); ok && f.Name == "row" {
		list = f.Args
	}
	for _, p := range list {
		c, ok := p.(*sqlast.ColumnRef)
		if !ok || len(c.Names) != 1 {
			r.fail("a lambda's parameter is no name")
			return
		}
		key := semantic.Name(c.Names[0]).Key()
		r.params[key]++
		defer func() { r.params[key]-- }()
	}
	r.expr(l.Body, scope)
}

// inLambdas looks at a name inside lambdas. DuckDB knows a parameter by the last
// name or the label, so {'x': phone} and phone.x read the column of a parameter's name.
func (r *treeReader) inLambdas(e *sqlast.ColumnRef) {
	key := semantic.Name(e.Names[0]).Key()
	switch {
	case r.inLambda == 0:
	case r.params[key] == 0 && len(e.Names) == 1:
		r.values[key] = true
	case r.params[key] > 0 && (len(e.Names) > 1 || e.Alias != "") && r.columns[key] > 0:
		r.fail("the column %q is read in place of a parameter", key)
	}
}

// within brings the columns of the fences of one FROM into scope; the function
// it gives takes them out again.
func (r *treeReader) within(t sqlast.TableRef) func() {
	var list []string
	r.offers(t, &list)
	for _, n := range list {
		r.columns[n]++
	}
	return func() {
		for _, n := range list {
			r.columns[n]--
		}
	}
}

func (r *treeReader) offers(t sqlast.TableRef, list *[]string) {
	switch t := t.(type) {
	case *sqlast.JoinRef:
		r.offers(t.Left, list)
		r.offers(t.Right, list)
	case *sqlast.SubqueryRef:
		if s, ok := t.Query.(*sqlast.SelectNode); ok {
			for i, item := range s.Select {
				name := itemName(item)
				if i < len(t.ColumnAliases) {
					name = t.ColumnAliases[i]
				}
				*list = append(*list, semantic.Name(name).Key())
			}
		}
	}
}

func (r *treeReader) call(f *sqlast.Function, scope names) {
	made := f.IsOperator || f.At == sqlast.NoOffset // by the parser, for an operator or ARRAY(SELECT ...)
	name := r.function(f.Catalog, f.Schema, f.Name, made)
	if name == "struct_pack" || name == "row" {
		r.structs[int64(f.At)] = true
		r.structs[noPlace] = r.structs[noPlace] || r.inLambda > 0
	}
	r.exprs(f.Args, scope)
	r.expr(f.Filter, scope)
	r.orders(f.OrderBy, scope)
}

func (r *treeReader) window(w *sqlast.Window, scope names) {
	r.function(w.Catalog, w.Schema, w.Name, false)
	r.exprs(w.Args, scope)
	r.exprs(w.Partitions, scope)
	r.orders(w.Orders, scope)
	r.orders(w.ArgOrders, scope)
	r.exprs([]sqlast.Expr{w.StartExpr, w.EndExpr, w.OffsetExpr, w.DefaultExpr, w.Filter}, scope)
}

func (r *treeReader) function(catalog, schema, name string, made bool) string {
	name = strings.ToLower(name)
	r.functions[name] = true
	if catalog != "" || schema != "" && schema != "main" { // the parser itself writes main.list_value for [1, 2]
		r.fail("the text calls %q.%q.%q", catalog, schema, name)
	}
	if !r.in.Functions[name] && !(made && boundNames[name]) {
		r.fail("the text calls %q", name)
	}
	return name
}
