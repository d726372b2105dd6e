package postgres

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
)

// expr reads an expression and gives it its type.
func (t *translator) expr(n node, s *scope) value {
	t.worked(nodeCost)
	v := t.anyExpr(n, s)
	if m := sqlast.Meta(v.e); m.At == sqlast.NoOffset && v.at >= 0 {
		m.At = sqlast.Offset(v.at)
	}
	return v
}

func (t *translator) anyExpr(n node, s *scope) value {
	switch n := n.v.(type) {
	case *constant:
		return t.constant(n)
	case *columnRef:
		return t.column(n, s)
	case *typeCast:
		return t.typeCast(n, s)
	case *operatorExpr:
		return t.operatorExpr(n, s)
	case *boolExpr:
		return t.boolExpr(n, s)
	case *nullTest:
		v := t.expr(n.Arg, s)
		v = t.known(v)
		op := map[string]string{"IS_NULL": "OPERATOR_IS_NULL", "IS_NOT_NULL": "OPERATOR_IS_NOT_NULL"}[n.Type]
		return value{t: tBool, at: n.Location, e: operator(op, v.e)}
	case *booleanTest:
		return t.booleanTest(n, s)
	case *caseExpr:
		return t.caseExpr(n, s)
	case *coalesceExpr:
		to, list := t.common("the arguments of COALESCE", n.Location, t.exprs(n.Args, s))
		return t.alternative(to, n.Location, list, func(args []sqlast.Expr) sqlast.Expr { return coalesce(args...) })
	case *minMaxExpr:
		return t.minMax(n, s)
	case *collateClause:
		return t.collate(n, s)
	case *arrayExpr:
		return t.array(n, s)
	case *indirection:
		return t.indirection(n, s)
	case *subLink:
		return t.subLink(n, s)
	case *funcCall:
		return t.call(n, s)
	case *groupingFunc:
		args := exprsOf(t.exprs(n.Args, s))
		return value{t: tInt4, at: n.Location, e: operator("GROUPING_FUNCTION", args...)}
	case *valueFunction:
		return t.clock(n)
	case *rowExpr:
		t.refuse(n.Location, "compare rows with rows, column by column", "a row as a value is not supported")
	case *paramRef:
		t.refuse(n.Location, "write the value into the text", "the text holds a parameter")
	}
	t.refuse(-1, "", "a form of this PostgreSQL text is not supported")
	return value{}
}

func (t *translator) exprs(list []node, s *scope) []value {
	out := make([]value, len(list))
	for i, n := range list {
		out[i] = t.expr(n, s)
	}
	return out
}

func exprsOf(list []value) []sqlast.Expr {
	out := make([]sqlast.Expr, len(list))
	for i, v := range list {
		out[i] = v.e
	}
	return out
}

// known makes a literal in quotes a text, where nothing says what else it is.
func (t *translator) known(v value) value {
	if v.t == tUnknown {
		return t.literal(v, tText)
	}
	return v
}

// condition reads what must be true or false.
func (t *translator) condition(n node, s *scope) sqlast.Expr {
	return t.implicit(t.expr(n, s), tBool).e
}

func (t *translator) boolExpr(n *boolExpr, s *scope) value {
	args := make([]sqlast.Expr, len(n.Args))
	for i, a := range n.Args {
		args[i] = t.condition(a, s)
	}
	v := value{t: tBool, at: n.Location}
	switch n.Op {
	case "AND_EXPR":
		v.e = and(args...)
	case "OR_EXPR":
		v.e = or(args...)
	case "NOT_EXPR":
		v.e = not(args[0])
	default:
		t.refuse(n.Location, "", "a form of this PostgreSQL text is not supported")
	}
	return v
}

func (t *translator) booleanTest(n *booleanTest, s *scope) value {
	c := t.condition(n.Arg, s)
	v := value{t: tBool, at: n.Location}
	switch n.Type {
	case "IS_TRUE":
		v.e = coalesce(c, boolean(false))
	case "IS_NOT_TRUE":
		v.e = not(coalesce(c, boolean(false)))
	case "IS_FALSE":
		v.e = coalesce(not(c), boolean(false))
	case "IS_NOT_FALSE":
		v.e = not(coalesce(not(c), boolean(false)))
	case "IS_UNKNOWN":
		v.e = isNull(c)
	case "IS_NOT_UNKNOWN":
		v.e = not(isNull(c))
	}
	return v
}

func (t *translator) caseExpr(n *caseExpr, s *scope) value {
	var conditions []sqlast.Expr
	var results []value
	for _, w := range n.Whens {
		when := w.v.(*caseWhen)
		condition := when.When
		if n.Arg.v != nil {
			condition = node{&operatorExpr{Kind: "AEXPR_OP", Name: []node{{&stringNode{"="}}}, Left: n.Arg, Right: when.When, Location: when.Location}}
		}
		conditions = append(conditions, t.condition(condition, s))
		results = append(results, t.expr(when.Then, s))
	}
	otherwise := value{t: tUnknown, e: null(), at: n.Location}
	if n.Else.v != nil {
		otherwise = t.expr(n.Else, s)
	}
	to, results := t.common("the results of CASE", n.Location, append(results, otherwise))
	return t.alternative(to, n.Location, results, func(args []sqlast.Expr) sqlast.Expr {
		out := &sqlast.Case{ExprBase: at(n.Location), Else: args[len(args)-1]}
		for i, c := range conditions {
			out.Checks = append(out.Checks, sqlast.CaseCheck{When: c, Then: args[i]})
		}
		return out
	})
}

func (t *translator) minMax(n *minMaxExpr, s *scope) value {
	to, list := t.common("the arguments of GREATEST and LEAST", n.Location, t.exprs(n.Args, s))
	t.ordered(value{t: to, at: n.Location})
	name := map[string]string{"IS_GREATEST": "greatest", "IS_LEAST": "least"}[n.Op]
	return result(to, n.Location, list, call(name, exprsOf(list)...)) // both skip NULL
}

// collate reads COLLATE "C", the order that text has anyway.
func (t *translator) collate(n *collateClause, s *scope) value {
	name := t.strings(n.Name, n.Location)
	if c := name[len(name)-1]; c != "C" && c != "POSIX" && c != "ucs_basic" {
		t.refuse(n.Location, `leave it out, or write COLLATE "C"`, "text is ordered by its code points here, not by collation %q", c)
	}
	return t.implicit(t.expr(n.Arg, s), tText)
}

func (t *translator) array(n *arrayExpr, s *scope) value {
	if len(n.Elements) == 0 {
		t.emptyArray(n)
	}
	to, list := t.common("the elements of an array", n.Location, t.exprs(n.Elements, s))
	if elementOf(to) != "" || to == tOpaque || to == tJSON {
		t.refuse(n.Location, "", "an array of %s is not supported", to)
	}
	return value{t: to + "[]", at: n.Location, e: call("list_value", exprsOf(list)...)}
}

func (t *translator) emptyArray(n *arrayExpr) {
	t.refuse(n.Location, "", "an empty array is not supported")
}

// columns gives the columns of a row.
func (t *translator) columns(n *rowExpr) []node {
	if len(n.Args) == 0 {
		t.refuse(n.Location, "", "an empty row is not supported")
	}
	return n.Args
}

func (t *translator) indirection(n *indirection, s *scope) value {
	list := t.expr(n.Arg, s)
	i, ok := n.Path[0].v.(*indices)
	if !ok || len(n.Path) != 1 || i.Slice || elementOf(list.t) == "" {
		t.refuse(list.at, "", "this access to a part of a value is not supported")
	}
	index := t.implicit(t.expr(i.Upper, s), tInt4)
	if index.whole == nil || *index.whole < 1 {
		t.refuse(list.at, "write the index as a number from 1 on", "an index that is computed is not supported")
	}
	return value{t: elementOf(list.t), at: list.at, e: call("list_extract", list.e, index.e)}
}

func (t *translator) subLink(n *subLink, s *scope) value {
	q, ok := n.Query.v.(*selectStmt)
	if !ok {
		t.refuse(n.Location, "", "this form of a query is not supported")
	}
	tree, fields := t.query(q, &scope{outer: s})
	out := &sqlast.Subquery{ExprBase: at(n.Location), Comparison: "INVALID", Query: tree}
	if n.Type == "EXISTS_SUBLINK" {
		out.Kind = "EXISTS"
		return value{t: tBool, at: n.Location, e: out}
	}
	if len(fields) != 1 {
		t.refuse(n.Location, "select one column", "a query that stands for a value has one column, not %d", len(fields))
	}
	switch {
	case n.Type == "EXPR_SUBLINK":
		out.Kind = "SCALAR"
		v := fields[0].value
		v.e, v.at = out, n.Location
		if _, plain := tree.(*sqlast.SelectNode); plain && fields[0].whole.rounded != nil {
			v.rounded = func(digits int) sqlast.Expr { return t.roundedQuery(q, s, digits) }
		}
		return v
	case n.Type == "ANY_SUBLINK" && (len(n.Op) == 0 || t.strings(n.Op, n.Location)[0] == "="):
		if _, row := n.Test.v.(*rowExpr); row {
			t.refuse(n.Location, "write EXISTS with the columns compared inside", "IN with a row of columns is not supported")
		}
		test := t.expr(n.Test, s)
		item := fields[0].value
		item.e, item.at = null(), n.Location
		test, item = t.comparable("=", n.Location, test, item)
		t.convertColumns(tree, fields, []string{item.t})
		out.Kind, out.Comparison, out.Child = "ANY", "COMPARE_EQUAL", test.e
		return value{t: tBool, at: n.Location, e: out}
	}
	t.refuse(n.Location, "write EXISTS or IN", "this comparison with a query is not supported")
	return value{}
}

// roundedQuery reads a query for one value once more, and rounds the value inside.
func (t *translator) roundedQuery(q *selectStmt, s *scope, digits int) sqlast.Expr {
	tree, fields := t.query(q, &scope{outer: s})
	item := t.roundedOf(fields[0].whole, digits)
	sqlast.Meta(item).Alias = fields[0].label
	tree.(*sqlast.SelectNode).Select[0] = item
	return &sqlast.Subquery{ExprBase: nowhere, Kind: "SCALAR", Comparison: "INVALID", Query: tree}
}

// operatorExpr reads all that PostgreSQL's grammar makes an operator.
func (t *translator) operatorExpr(n *operatorExpr, s *scope) value {
	names := t.strings(n.Name, n.Location)
	name := names[len(names)-1]
	switch n.Kind {
	case "AEXPR_OP":
		return t.plainOperator(n, name, s)
	case "AEXPR_DISTINCT", "AEXPR_NOT_DISTINCT":
		a, b := t.comparable("=", n.Location, t.expr(n.Left, s), t.expr(n.Right, s))
		op := map[string]string{"AEXPR_DISTINCT": "COMPARE_DISTINCT_FROM", "AEXPR_NOT_DISTINCT": "COMPARE_NOT_DISTINCT_FROM"}[n.Kind]
		return value{t: tBool, at: n.Location, e: compare(op, a.e, b.e)}
	case "AEXPR_NULLIF":
		return t.nullIf(n, s)
	case "AEXPR_IN":
		return t.in(n, name, n.Right.v.(*list).Items, s)
	case "AEXPR_OP_ANY", "AEXPR_OP_ALL":
		return t.anyOf(n, name, s)
	case "AEXPR_LIKE", "AEXPR_ILIKE":
		return t.like(n, name, s)
	case "AEXPR_SIMILAR":
		t.refuse(n.Location, "write LIKE or ~", "SIMILAR TO is not supported")
	}
	if strings.HasPrefix(n.Kind, "AEXPR_BETWEEN") || strings.HasPrefix(n.Kind, "AEXPR_NOT_BETWEEN") {
		return t.between(n, s)
	}
	t.refuse(n.Location, "", "this operator is not supported")
	return value{}
}

func (t *translator) plainOperator(n *operatorExpr, name string, s *scope) value {
	if left, ok := n.Left.v.(*rowExpr); ok {
		right, ok := n.Right.v.(*rowExpr)
		if !ok || len(left.Args) != len(right.Args) {
			t.refuse(n.Location, "compare rows of the same number of columns", "this comparison of a row is not supported")
		}
		return t.rows(name, n.Location, t.columns(left), right.Args, s)
	}
	right := t.expr(n.Right, s)
	if n.Left.v == nil {
		return t.prefix(name, n.Location, right)
	}
	return t.infix(name, n.Location, t.expr(n.Left, s), right)
}

// rows compares two rows column by column, as PostgreSQL does.
func (t *translator) rows(name string, place int, left, right []node, s *scope) value {
	pair := func(op string, i int) sqlast.Expr {
		return t.comparison(op, place, t.expr(left[i], s), t.expr(right[i], s)).e
	}
	v := value{t: tBool, at: place}
	var parts []sqlast.Expr
	switch name {
	case "=", "<>":
		for i := range left {
			parts = append(parts, pair(name, i))
		}
		v.e = map[string]func(...sqlast.Expr) sqlast.Expr{"=": and, "<>": or}[name](parts...)
	case "<", "<=", ">", ">=":
		last := len(left) - 1
		v.e = pair(name, last)
		for i := last - 1; i >= 0; i-- {
			v.e = or(pair(name[:1], i), and(pair("=", i), v.e))
		}
	default:
		t.refuse(place, "", "rows are compared with =, <>, <, <=, > and >=")
	}
	return v
}

func (t *translator) nullIf(n *operatorExpr, s *scope) value {
	a, b := t.expr(n.Left, s), t.expr(n.Right, s)
	shown := t.known(a)
	a, b = t.comparable("=", n.Location, a, b)
	if a.t != shown.t || shown.approx {
		t.refuse(n.Location, "cast the second argument", "NULLIF of %s and %s is not supported", shown.t, b.t)
	}
	out := shown
	out.at, out.e, out.whole, out.quotient, out.rounded = n.Location, call("nullif", a.e, b.e), nil, nil, nil
	return out
}

// in reads x [NOT] IN (list).
func (t *translator) in(n *operatorExpr, name string, items []node, s *scope) value {
	if left, ok := n.Left.v.(*rowExpr); ok {
		return t.rowIn(n, name, left, items, s)
	}
	left := t.expr(n.Left, s)
	list := append([]value{left}, t.exprs(items, s)...)
	if left.t == tUnknown {
		left = t.known(left)
	}
	to := left.t
	for _, v := range list[1:] {
		if _, b := t.comparable("=", n.Location, left, v); wider(to, b.t) != "" {
			to = wider(to, b.t)
		}
	}
	for i := range list {
		list[i] = t.implicitFor(list[i], to)
	}
	list = t.comparedExactly(n.Location, list...)
	op := map[string]string{"=": "COMPARE_IN", "<>": "COMPARE_NOT_IN"}[name]
	return value{t: tBool, at: n.Location, e: operator(op, exprsOf(list)...)}
}

// implicitFor leaves numbers as they are, which DuckDB compares among each other
// as PostgreSQL does.
func (t *translator) implicitFor(v value, to string) value {
	if isNumber(v.t) && isNumber(to) {
		return v
	}
	return t.implicit(v, to)
}

func (t *translator) rowIn(n *operatorExpr, name string, left *rowExpr, items []node, s *scope) value {
	var parts []sqlast.Expr
	for _, item := range items {
		right, ok := item.v.(*rowExpr)
		if !ok || len(right.Args) != len(left.Args) {
			t.refuse(n.Location, "", "IN compares rows of the same number of columns")
		}
		parts = append(parts, t.rows("=", n.Location, t.columns(left), right.Args, s).e)
	}
	v := value{t: tBool, at: n.Location, e: or(parts...)}
	if name == "<>" {
		v.e = not(v.e)
	}
	return v
}

// anyOf reads x = ANY (ARRAY[...]) and x <> ALL (ARRAY[...]), which are IN.
func (t *translator) anyOf(n *operatorExpr, name string, s *scope) value {
	a, ok := n.Right.v.(*arrayExpr)
	if ok && len(a.Elements) == 0 {
		t.emptyArray(a)
	}
	if !ok || n.Kind+name != "AEXPR_OP_ANY=" && n.Kind+name != "AEXPR_OP_ALL<>" {
		t.refuse(n.Location, "write IN (...)", "this comparison with an array is not supported")
	}
	return t.in(n, name, a.Elements, s)
}

func (t *translator) between(n *operatorExpr, s *scope) value {
	bounds := n.Right.v.(*list).Items
	test := func(op string, i int) sqlast.Expr {
		return t.comparison(op, n.Location, t.expr(n.Left, s), t.expr(bounds[i], s)).e
	}
	v := value{t: tBool, at: n.Location}
	if strings.HasSuffix(n.Kind, "_SYM") {
		v.e = or(and(test(">=", 0), test("<=", 1)), and(test(">=", 1), test("<=", 0)))
	} else {
		v.e = t.plainBetween(n, bounds, s)
	}
	if strings.HasPrefix(n.Kind, "AEXPR_NOT") {
		v.e = not(v.e)
	}
	return v
}

func (t *translator) plainBetween(n *operatorExpr, bounds []node, s *scope) sqlast.Expr {
	x, lower := t.comparable(">=", n.Location, t.expr(n.Left, s), t.expr(bounds[0], s))
	y, upper := t.comparable("<=", n.Location, t.expr(n.Left, s), t.expr(bounds[1], s))
	if t.printExpr(x.e) != t.printExpr(y.e) {
		return and(compare("COMPARE_GREATERTHANOREQUALTO", x.e, lower.e), compare("COMPARE_LESSTHANOREQUALTO", y.e, upper.e))
	}
	return &sqlast.Between{ExprBase: at(n.Location), Input: x.e, Lower: lower.e, Upper: upper.e}
}

var comparisons = map[string]string{"=": "COMPARE_EQUAL", "<>": "COMPARE_NOTEQUAL", "<": "COMPARE_LESSTHAN", ">": "COMPARE_GREATERTHAN",
	"<=": "COMPARE_LESSTHANOREQUALTO", ">=": "COMPARE_GREATERTHANOREQUALTO"}

func (t *translator) comparison(name string, place int, a, b value) value {
	a, b = t.comparable(name, place, a, b)
	return value{t: tBool, at: place, e: compare(comparisons[name], a.e, b.e)}
}

// comparable gives both sides of a comparison types that are compared alike in
// PostgreSQL and in DuckDB.
func (t *translator) comparable(name string, place int, a, b value) (value, value) {
	switch {
	case a.t == tUnknown && b.t == tUnknown:
		a, b = t.known(a), t.known(b)
	case a.t == tUnknown:
		a = t.literalLike(a, b)
	case b.t == tUnknown:
		b = t.literalLike(b, a)
	}
	to := wider(a.t, b.t)
	switch {
	case to == "":
		t.refuse(place, "cast one of them", "PostgreSQL has no operator %s %s %s", a.t, name, b.t)
	case to == tOpaque || to == tJSON || elementOf(to) != "":
		t.refuse(place, "compare a part of it as text", "values of type %s are not compared here", to)
	case to == tUUID && name != "=" && name != "<>":
		t.refuse(place, "", "values of type uuid have another order here")
	case isTime(to) && a.t != b.t:
		a, b = t.implicit(a, to), t.implicit(b, to)
	}
	exact := t.comparedExactly(place, a, b)
	return exact[0], exact[1]
}

// comparedExactly refuses to compare what has only about its value here, where it
// cannot be computed exactly.
func (t *translator) comparedExactly(place int, list ...value) []value {
	out := slices.Clone(list)
	double := slices.ContainsFunc(list, func(v value) bool { return v.t == tFloat8 })
	for i, v := range list {
		if !v.approx || double { // PostgreSQL compares with a double as doubles, too
			continue
		}
		if v.rounded == nil {
			t.refuse(place, "round it first, or cast it to double precision", "a numeric result of this kind has about its value here, and may compare otherwise")
		}
		out[i].e, out[i].approx = t.roundedOf(v, comparedDigits), false
	}
	return out
}

// comparedDigits is how many digits of a quotient are compared with another number.
const comparedDigits = 15
