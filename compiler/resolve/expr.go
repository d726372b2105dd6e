package resolve

import (
	"slices"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// ctx says where an expression stands.
type ctx struct {
	scope      *scope
	ctes       *env
	clause     Clause
	aggregate  string // the aggregate or window function around
	bare       bool   // the expression is the whole item, term or condition
	literal    bool   // compared with a literal
	aliasFirst bool   // HAVING and ORDER BY: an alias hides a relation of its name
	lambda     []string
}

// inner is c for a part of an expression.
func (c ctx) inner() ctx {
	c.bare, c.literal = false, false
	return c
}

func (r *resolver) exprIf(e sqlast.Expr, c ctx) {
	if e != nil {
		r.expr(e, c)
	}
}

func (r *resolver) exprs(list []sqlast.Expr, c ctx) {
	for _, e := range list {
		r.expr(e, c)
	}
}

// expr binds every name in e and records its uses.
func (r *resolver) expr(e sqlast.Expr, c ctx) {
	in := c.inner()
	switch e := e.(type) {
	case *sqlast.ColumnRef:
		r.kinds["COLUMN_REF"] = true
		r.columnRef(e, c)
	case *sqlast.Constant:
		r.kinds["CONSTANT"] = true
	case *sqlast.Function:
		r.kinds["FUNCTION"] = true
		r.function(e, in)
	case *sqlast.Window:
		r.kinds["WINDOW"] = true
		r.window(e, in)
	case *sqlast.Comparison:
		r.kinds[e.Op] = true
		r.compared(e.Left, in, isLiteral(e.Right))
		r.compared(e.Right, in, isLiteral(e.Left))
	case *sqlast.Between:
		r.kinds["COMPARE_BETWEEN"] = true
		r.compared(e.Input, in, isLiteral(e.Lower) && isLiteral(e.Upper))
		r.exprs([]sqlast.Expr{e.Lower, e.Upper}, in)
	case *sqlast.Conjunction:
		r.kinds[e.Op] = true
		r.exprs(e.Args, in)
	case *sqlast.Operator:
		r.operator(e, in)
	case *sqlast.Case:
		r.kinds["CASE_EXPR"] = true
		for _, k := range e.Checks {
			r.expr(k.When, in)
			r.expr(k.Then, in)
		}
		r.exprIf(e.Else, in)
	case *sqlast.Cast:
		r.kinds["CAST"] = true
		r.typeName(e.Type, place(e))
		r.expr(e.Child, in)
	case *sqlast.Collate:
		r.kinds["COLLATE"] = true
		r.expr(e.Child, in)
	case *sqlast.Subquery:
		r.kinds["SUBQUERY"] = true
		r.exprIf(e.Child, in)
		r.query(e.Query, c.scope, c.ctes, false)
	case *sqlast.Lambda:
		r.arrow(e, in)
	case *sqlast.Positional:
		r.positional(e, c)
	default:
		r.refusedExpr(e)
	}
}

// positional binds the column that ARRAY(SELECT ...) collects: DuckDB's parser
// makes a query over the one written, and names its column by position. One that
// the text itself holds has a place, and is refused.
func (r *resolver) positional(e *sqlast.Positional, c ctx) {
	if e.At == sqlast.NoOffset && len(c.scope.rels) == 1 && c.scope.rels[0].ref < 0 {
		if cols := c.scope.rels[0].cols; 1 <= e.Index && e.Index <= len(cols) {
			r.touch(cols[e.Index-1].from)
			return
		}
	}
	r.refuse(place(e), "name the column", "a column by position is not supported")
}

// refusedExpr words the refusal of what no clause accepts.
func (r *resolver) refusedExpr(e sqlast.Expr) {
	at := place(e)
	switch e.(type) {
	case *sqlast.Star:
		r.refuse(at, "list the columns by name", "* and COLUMNS stand only alone in a select list")
	case *sqlast.Parameter:
		r.report(diag.ParseParameter, at, "values are written as literals, and nothing binds a parameter").Hint = "write the value into the text"
	default:
		r.report(diag.UnsupportedNode, at, "this kind of expression is not supported").Hint = "write it another way"
	}
}

func (r *resolver) compared(e sqlast.Expr, c ctx, literal bool) {
	c.literal = literal
	r.expr(e, c)
}

var operators = []string{
	"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE",
	"ARRAY_EXTRACT", "ARRAY_SLICE", "ARRAY_CONSTRUCTOR", "STRUCT_EXTRACT", "GROUPING_FUNCTION",
}

func (r *resolver) operator(e *sqlast.Operator, c ctx) {
	r.kinds[e.Op] = true
	if !slices.Contains(operators, e.Op) {
		r.report(diag.UnsupportedNode, place(e), "this operator is not supported").Hint = "write it another way"
		return
	}
	if (e.Op == "COMPARE_IN" || e.Op == "COMPARE_NOT_IN") && len(e.Args) > 1 {
		literal := !slices.ContainsFunc(e.Args[1:], func(a sqlast.Expr) bool { return !isLiteral(a) })
		r.compared(e.Args[0], c, literal)
		r.exprs(e.Args[1:], c)
		return
	}
	r.exprs(e.Args, c)
}

// arrow binds JSON's -> operator, which the tree cannot tell from a lambda;
// lambdas are bound with the function that takes them.
func (r *resolver) arrow(e *sqlast.Lambda, c ctx) {
	r.kinds["LAMBDA"] = true
	if e.Syntax != "SINGLE_ARROW" {
		r.refuse(place(e), "pass it to a function such as list_transform", "a lambda stands only as an argument")
		return
	}
	r.bound.Functions = append(r.bound.Functions, FunctionUse{Name: "->", Kind: "operator", Args: 2, At: place(e)})
	r.exprs([]sqlast.Expr{e.Params, e.Body}, c)
}

func (r *resolver) lambda(e *sqlast.Lambda, c ctx) {
	r.kinds["LAMBDA"] = true
	params := []sqlast.Expr{e.Params}
	if f, ok := e.Params.(*sqlast.Function); ok && f.Name == "row" {
		params = f.Args
	}
	c.lambda = slices.Clone(c.lambda)
	for _, p := range params {
		ref, ok := p.(*sqlast.ColumnRef)
		if !ok || len(ref.Names) != 1 {
			r.refuse(place(e), "write lambda x: ...", "the parameters of a lambda are plain names")
			return
		}
		c.lambda = append(c.lambda, ref.Names[0])
	}
	r.expr(e.Body, c)
}

func (r *resolver) function(f *sqlast.Function, c ctx) {
	spec, ok := r.functionAllowed(f.Catalog, f.Schema, f.Name, f.Args, f.At)
	if !ok {
		return
	}
	if f.ExportState {
		r.report(diag.ResolveFunction, f.At, "EXPORT_STATE is not supported")
		return
	}
	kind := spec.Kind
	if kind == Scalar && f.IsOperator {
		kind = OperatorFunction
	}
	r.bound.Functions = append(r.bound.Functions, FunctionUse{Name: spec.Name, Kind: string(kind), Args: len(f.Args), Distinct: f.Distinct, At: f.At})
	if spec.Name == "unnest" {
		r.unnest(f, c)
	}
	r.orderOfCall(f, spec)
	if spec.Kind == Aggregate {
		c.lambda = nil // DuckDB reads columns here, not parameters
	}
	args := c
	if spec.Kind == Aggregate {
		args.clause, args.aggregate = InAggregate, spec.Name
	}
	for i, a := range f.Args {
		if l, ok := a.(*sqlast.Lambda); ok && spec.Lambda && i == 1 {
			r.lambda(l, args)
			continue
		}
		if spec.Kind == Aggregate && len(f.Args) == 1 {
			args.bare = true
		}
		r.expr(a, args)
	}
	r.namesOfMacro(spec, f.At, c)
	if spec.Kind == Aggregate && (spec.Name == "mode" || !slices.Contains(takeInOrder, spec.Name)) {
		r.aside(f.Filter, nil, c) // as quantile_disc(0.5 ORDER BY x), whose order is its argument
		for _, o := range f.OrderBy {
			r.expr(o.Expr, args)
		}
		return
	}
	r.aside(f.Filter, f.OrderBy, c)
}

// namesOfMacro binds what DuckDB reads in the body of a macro, where a column of
// the query that has the name comes first.
func (r *resolver) namesOfMacro(spec Function, at sqlast.Offset, c ctx) {
	if spec.Name == "ago" {
		now := &sqlast.ColumnRef{Names: []string{"current_timestamp"}}
		now.At = at
		r.plainName(now, c)
	}
}

// aside binds FILTER and the ORDER BY inside a call.
func (r *resolver) aside(filter sqlast.Expr, orders []sqlast.Order, c ctx) {
	c.aggregate = ""
	f, o := c, c
	f.clause, o.clause = InFilter, InOrder
	r.exprIf(filter, f)
	for _, ord := range orders {
		r.expr(ord.Expr, o)
	}
}

func (r *resolver) window(w *sqlast.Window, c ctx) {
	spec, ok := r.functionAllowed(w.Catalog, w.Schema, w.Name, w.Args, w.At)
	if !ok {
		return
	}
	if spec.Kind != Aggregate && spec.Kind != WindowOnly {
		r.report(diag.ResolveFunction, w.At, "%s is no window function", spec.Name)
		return
	}
	r.kinds[w.Kind] = true
	r.bound.Functions = append(r.bound.Functions, FunctionUse{Name: spec.Name, Kind: "window", Args: len(w.Args), Distinct: w.Distinct, At: w.At})
	r.orderOfWindow(w, spec)
	c.lambda = nil
	r.aside(w.Filter, nil, c)
	c.clause, c.aggregate = InWindow, spec.Name
	r.exprs(w.Args, c)
	r.exprs(w.Partitions, c)
	for _, o := range append(slices.Clone(w.Orders), w.ArgOrders...) {
		r.expr(o.Expr, c)
	}
	for _, e := range []sqlast.Expr{w.StartExpr, w.EndExpr, w.OffsetExpr, w.DefaultExpr} {
		r.exprIf(e, c)
	}
}

// record adds a use of a direct column.
func (r *resolver) record(h hit, u Use) {
	u.Ref, u.Column, u.Origin = h.rel.ref, h.col.from[0].name, r.origin(u.At)
	r.refs[h.rel.ref].used[u.Column.Key()] = true
	r.uses = append(r.uses, u)
}

func (r *resolver) use(hits []hit, e *sqlast.ColumnRef, c ctx) {
	for _, h := range hits {
		r.touch(h.col.from)
		if h.col.direct {
			r.record(h, Use{Clause: c.clause, Aggregate: c.aggregate, Bare: c.bare, Literal: c.literal, At: e.At})
		}
	}
}

// columnRef binds one column name, innermost level first.
func (r *resolver) columnRef(e *sqlast.ColumnRef, c ctx) {
	if slices.ContainsFunc(c.lambda, func(p string) bool { return fold(p) == fold(e.Names[0]) }) {
		r.parameter(e, c)
		return
	}
	if len(e.Names) == 1 {
		r.plainName(e, c)
		return
	}
	r.qualifiedName(e, c)
}

// parameter binds a lambda's parameter. DuckDB knows it by the last name or, in
// a struct, by the label, so {'a': x} and x.a read a column or a relation of the
// parameter's name, as does x for a parameter X: those are refused.
func (r *resolver) parameter(e *sqlast.ColumnRef, c ctx) {
	if len(e.Names) == 1 && e.Alias == "" && slices.Contains(c.lambda, e.Names[0]) {
		return
	}
	name, key := e.Names[0], fold(e.Names[0])
	for at := c.scope; at != nil; at = at.parent {
		what := "relation"
		if hits, _ := at.find(key, r.origin(e.At)); len(hits) > 0 {
			what = "column"
		} else if at.relation(key) == nil {
			continue
		}
		r.report(diag.ResolveAmbiguous, e.At, "%q is a parameter here and also a %s", name, what).Hint = "rename the parameter"
		return
	}
}

// plainName binds an unqualified name: a column, then an alias of the select
// list, then what DuckDB reads as a function without parentheses, level by
// level. Where a name is both a column and an alias, both count: which of the
// two DuckDB takes depends on the clause, and the stricter reading is safe.
func (r *resolver) plainName(e *sqlast.ColumnRef, c ctx) {
	name, key := e.Names[0], fold(e.Names[0])
	for at, depth := c.scope, 0; at != nil; at, depth = at.parent, depth+1 {
		hits, ambiguous := at.find(key, r.origin(e.At))
		alias := at.aliases[key]
		if ambiguous {
			r.report(diag.ResolveAmbiguous, e.At, "column %q belongs to more than one relation", name).Hint = "qualify it with its relation's name"
			return
		}
		if len(hits) == 0 && at.relation(key) != nil && (alias == nil || !c.aliasFirst || depth > 0) {
			r.refuse(e.At, "name the columns", "%q is a table here, and a whole row is no value", name)
			return
		}
		if depth > 0 && valueFunctions[key] != unknownValue && (len(hits) > 0 || alias != nil) {
			r.report(diag.ResolveAmbiguous, e.At, "%q is a function here and a column further out", name).Hint = "qualify the column"
			return
		}
		if alias != nil && slices.ContainsFunc(hits, hit.limited) {
			// The rewrite gives the column another name, and so must know which is meant.
			r.report(diag.ResolveAmbiguous, e.At, "%q names a result column here and a column that may not be selected", name).Hint = "give the result column another name"
			return
		}
		if alias != nil {
			r.touch(alias.col.from)
		}
		if len(hits) > 0 {
			r.use(hits, e, c)
			return
		}
		if alias != nil {
			r.columnFurtherOut(e, at.parent, c)
			return
		}
	}
	r.valueFunction(e, c)
}

// columnFurtherOut records the column that an alias hides, for the clauses in
// which DuckDB might not see the alias.
func (r *resolver) columnFurtherOut(e *sqlast.ColumnRef, from *scope, c ctx) {
	for at := from; at != nil; at = at.parent {
		if hits, _ := at.find(fold(e.Names[0]), r.origin(e.At)); len(hits) > 0 {
			r.use(hits, e, c)
			return
		}
	}
}

// valueFunction binds current_date and its like, and reports every other name.
func (r *resolver) valueFunction(e *sqlast.ColumnRef, c ctx) {
	name, key := e.Names[0], fold(e.Names[0])
	switch valueFunctions[key] {
	case allowedValue:
		r.bound.Functions = append(r.bound.Functions, FunctionUse{Name: key, Kind: string(Scalar), At: e.At})
		return
	case deniedValue:
		r.report(diag.ResolveFunction, e.At, "%q is not one of the reviewed functions", name)
		return
	}
	if !c.scope.anyBroken() {
		var rels []*relation
		for at := c.scope; at != nil; at = at.parent {
			rels = append(rels, at.rels...)
		}
		r.unknownColumn(e.At, []string{name}, rels, c.scope.names(r.origin(e.At)))
	}
}

// qualifiedName binds relation.column, and field access on columns that are no
// entity's own. Everything longer would name a schema, and entities have none.
func (r *resolver) qualifiedName(e *sqlast.ColumnRef, c ctx) {
	head, next := fold(e.Names[0]), fold(e.Names[1])
	for at := c.scope; at != nil; at = at.parent {
		rel := at.relation(head)
		if rel == nil {
			if head == "alias" && len(e.Names) == 2 && at.aliases[next] != nil {
				if at.parent.offers(head) { // which DuckDB takes where it does not know the alias
					r.report(diag.ResolveAmbiguous, e.At, "%q names the aliases here and something further out", e.Names[0]).Hint = "give the outer one another name"
					return
				}
				r.touch(at.aliases[next].col.from)
				return
			}
			if r.fieldAccess(e, at, c) {
				return
			}
			continue
		}
		col := rel.column(next, r.origin(e.At))
		if col == nil {
			r.missing(e, rel, at)
			return
		}
		if len(e.Names) > 2 && col.direct {
			r.unknown(e.At, "column", dotted(e.Names), nil)
			return
		}
		r.use([]hit{{rel, col}}, e, c)
		return
	}
	if !c.scope.anyBroken() {
		what := "relation"
		if len(e.Names) > 2 {
			what = "column"
			head = dotted(e.Names)
		} else {
			head = e.Names[0]
		}
		r.unknown(e.At, what, head, c.scope.relationNames())
	}
}

// missing reports a column that its relation does not have. A level further out
// may have a relation of the same name, which DuckDB would try: that is refused.
func (r *resolver) missing(e *sqlast.ColumnRef, rel *relation, at *scope) {
	if at.broken {
		return
	}
	for out := at.parent; out != nil; out = out.parent {
		if o := out.relation(fold(rel.alias)); o != nil && o.column(fold(e.Names[1]), r.origin(e.At)) != nil {
			r.report(diag.ResolveAmbiguous, e.At, "%q names a relation here and another one further out", rel.alias).Hint = "give one of them another alias"
			return
		}
	}
	one := &scope{level: &level{rels: []*relation{rel}}}
	r.unknownColumn(e.At, e.Names, one.rels, one.names(r.origin(e.At)))
}

// fieldAccess binds column.field on a column made by the query. An entity's own
// columns have no fields.
func (r *resolver) fieldAccess(e *sqlast.ColumnRef, at *scope, c ctx) bool {
	hits, ambiguous := at.find(fold(e.Names[0]), r.origin(e.At))
	if len(hits) == 0 || hits[0].col.direct {
		return false
	}
	further := false
	for out := at.parent; out != nil; out = out.parent {
		further = further || out.relation(fold(e.Names[0])) != nil
	}
	if ambiguous || further {
		r.report(diag.ResolveAmbiguous, e.At, "%q names more than one thing", e.Names[0]).Hint = "rename the column with AS"
		return true
	}
	r.use(hits, e, c)
	return true
}

// offers reports a relation or a column of that name at any level.
func (s *scope) offers(key string) bool {
	for at := s; at != nil; at = at.parent {
		if hits, _ := at.find(key, Caller); len(hits) > 0 || at.relation(key) != nil {
			return true
		}
	}
	return false
}

func (s *scope) relationNames() []string {
	var out []string
	for at := s; at != nil; at = at.parent {
		for _, rel := range at.rels {
			if rel.alias != "" {
				out = append(out, rel.alias)
			}
		}
	}
	return out
}

func dotted(names []string) string {
	out := names[0]
	for _, n := range names[1:] {
		out += "." + n
	}
	return out
}

// place is where a node begins, NoOffset when DuckDB did not say.
func place(e sqlast.Expr) sqlast.Offset {
	return sqlast.Meta(e).At
}
