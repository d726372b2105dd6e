package prove

import (
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// groupReader proves that a text over entities with a minimum group shows groups of
// that size only. It holds such a text to one SELECT over fences, its aggregates to a
// closed list, and its HAVING to what each group must have.
type groupReader struct {
	*treeReader
	root      *sqlast.SelectNode
	relations []relation // one, or none after a refusal
	having    []sqlast.Expr
}

// relation is one fence of the FROM clause.
type relation struct {
	alias   string            // key
	entity  *semantic.Entity  // whose rows it gives
	size    int               // of the minimum group; 0 for none
	columns map[string]string // by key of the name it offers: the field's key, "" where it is computed
}

// groupFunctions show no single value of a group.
var groupFunctions = set("count", "count_star", "sum", "avg", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "approx_count_distinct")

// unfitForGroups are the kinds of nodes in which small groups could be told apart.
var unfitForGroups = []string{"SUBQUERY", "WINDOW", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "PIVOT", "TABLE_FUNCTION", "EXPRESSION_LIST", "SAMPLE"}

// grouped checks the text when a fence in it is of an entity with a minimum group.
func (r *treeReader) grouped(root sqlast.Query) {
	guarded := 0
	for _, f := range r.fences {
		if r.in.Decision.Entities[f.entity].MinGroup.Size > 1 {
			guarded++
		}
	}
	if guarded == 0 {
		return
	}
	r.guarded = true
	g := &groupReader{treeReader: r}
	g.shape(root)
	if g.root == nil {
		return
	}
	for _, rel := range g.relations {
		if rel.size > 0 {
			guarded--
		}
	}
	if guarded != 0 {
		g.fail("an entity with a minimum group is read outside the outermost FROM")
	}
	g.having = conjuncts(g.root.Having)
	for _, rel := range g.relations {
		if rel.size > 0 && !g.holds(func(e sqlast.Expr) bool {
			return g.enough(e, rel.size, func(f *sqlast.Function) bool { return f.Distinct && isKey(f.Args[0], rel) })
		}) {
			g.fail("no HAVING counts %d rows of %q", rel.size, rel.entity.Name.Key())
		}
	}
	g.calls()
}

func (g *groupReader) shape(root sqlast.Query) {
	s, ok := root.(*sqlast.SelectNode)
	if !ok || len(s.CTEs) > 0 || s.Qualify != nil || s.Sample != nil || len(s.GroupSets) > 1 {
		g.fail("a text over a minimum group is more than one grouped SELECT")
		return
	}
	for _, kind := range unfitForGroups {
		if g.nodes[kind] {
			g.fail("a text over a minimum group holds %s", kind)
		}
	}
	if g.functions["unnest"] {
		g.fail("a text over a minimum group repeats rows")
	}
	g.root = s
	g.from(s.From)
	for _, e := range s.Select {
		alias := semantic.Name(sqlast.Meta(e).Alias).Key()
		if slices.ContainsFunc(g.relations, func(rel relation) bool { return rel.alias == alias }) {
			g.fail("a result column is called as a relation is")
		}
	}
}

func (g *groupReader) from(t sqlast.TableRef) {
	switch t := t.(type) {
	case *sqlast.SubqueryRef:
		if rel, ok := g.relation(t); ok && t.Sample == nil && len(t.ColumnAliases) == 0 {
			g.relations = append(g.relations, rel)
			return
		}
		g.fail("a minimum group stands beside what is no fence")
	default:
		g.fail("a minimum group stands beside a %T", t)
	}
}

func bareColumn(e sqlast.Expr) bool {
	_, ok := e.(*sqlast.ColumnRef)
	return ok
}

// relation recognises a fence, or the query round one that computes dimensions of
// its rows and nothing else.
func (g *groupReader) relation(t *sqlast.SubqueryRef) (relation, bool) {
	out := relation{alias: semantic.Name(t.Alias).Key(), columns: map[string]string{}}
	outer, ok := t.Query.(*sqlast.SelectNode)
	if !ok {
		return out, false
	}
	inner := outer
	if around, ok := outer.From.(*sqlast.SubqueryRef); ok {
		if inner, ok = around.Query.(*sqlast.SelectNode); !ok || around.Sample != nil || len(around.ColumnAliases) > 0 || !onlyItems(outer) {
			return out, false
		}
	}
	i := slices.IndexFunc(g.fences, func(f *fence) bool { return f.node == inner })
	if i < 0 {
		return out, false
	}
	out.entity = g.in.Catalog.Entity(semantic.Name(g.fences[i].entity))
	if n := g.in.Decision.Entities[g.fences[i].entity].MinGroup.Size; n > 1 {
		out.size = n
	}
	fence := offers(inner, nil)
	if out.columns = fence; inner != outer {
		out.columns = offers(outer, fence)
	}
	return out, true
}

// valueOfMask stands for a column whose values are what the decision makes of a field.
const valueOfMask = "a mask"

// offers gives the field behind each column of a fence, or of the query round one.
func offers(s *sqlast.SelectNode, fence map[string]string) map[string]string {
	out := map[string]string{}
	for _, item := range s.Select {
		field := ""
		shown, _ := flattened(item)
		switch c, bare := shown.(*sqlast.ColumnRef); {
		case bare && len(c.Names) == 1 && fence != nil:
			field = fence[semantic.Name(c.Names[0]).Key()]
		case bare && len(c.Names) == 1:
			field = semantic.Name(c.Names[0]).Key()
		case fence == nil: // fences compute nothing else
			field = valueOfMask
		}
		out[semantic.Name(itemName(item)).Key()] = field
	}
	return out
}

// onlyItems reports that a query gives one row for each row of its FROM.
func onlyItems(s *sqlast.SelectNode) bool {
	return same(s, &sqlast.SelectNode{Select: s.Select, From: s.From, Aggregates: plainAggregates}) && !slices.ContainsFunc(s.Select, func(e sqlast.Expr) bool {
		return found(e, func(e sqlast.Expr) bool { f, ok := e.(*sqlast.Function); return ok && groupFunctions[f.Name] })
	})
}

// found looks for an expression in another.
func found(e sqlast.Expr, is func(sqlast.Expr) bool) bool {
	out := false
	sqlast.Walk(e, func(n any) bool {
		if x, ok := n.(sqlast.Expr); ok && is(x) {
			out = true
		}
		return !out
	})
	return out
}

// calls checks each aggregate of the text. That there is no other one is read from
// the plan.
func (g *groupReader) calls() {
	visit := func(n any) bool {
		f, ok := n.(*sqlast.Function)
		if !ok || !groupFunctions[strings.ToLower(f.Name)] {
			return true
		}
		g.call(f)
		return false
	}
	for _, list := range [][]sqlast.Expr{g.root.Select, g.root.Groups, g.having} {
		for _, e := range list {
			sqlast.Walk(e, visit)
		}
	}
	for _, m := range g.root.Modifiers {
		sqlast.Walk(m, visit)
	}
}

// call checks one aggregate: over a column, or what the model itself wrote; and that
// no group shows it over fewer values than rows are asked for.
func (g *groupReader) call(f *sqlast.Function) {
	if f.Filter != nil || len(f.OrderBy) > 0 || len(f.Args) > 1 {
		g.fail("%s of a minimum group is over part of a group", f.Name)
		return
	}
	if len(f.Args) == 0 {
		return
	}
	if slices.ContainsFunc(g.relations, func(rel relation) bool { return isKey(f.Args[0], rel) }) && f.Name == "count" {
		return // the rows of a group
	}
	if !bareColumn(f.Args[0]) && !(arithmetic(f.Args[0]) && g.byModel(f.At)) {
		g.fail("%s of a minimum group is over an expression", f.Name)
		return
	}
	for _, rel := range g.relations {
		if rel.size == 0 || !found(f.Args[0], func(e sqlast.Expr) bool { return g.reads(e, rel) }) {
			continue
		}
		if !g.holds(func(e sqlast.Expr) bool {
			return g.enough(e, rel.size, func(c *sqlast.Function) bool { return !c.Distinct && g.sameColumns(c.Args[0], f.Args[0]) })
		}) {
			g.fail("no HAVING counts %d values of what %s is over", rel.size, f.Name)
		}
	}
}

// arithmetic recognises what is computed from columns alone, row by row.
func arithmetic(e sqlast.Expr) bool {
	switch e := e.(type) {
	case *sqlast.ColumnRef, *sqlast.Constant:
		return true
	case *sqlast.Cast:
		return arithmetic(e.Child)
	case *sqlast.Function:
		return set("+", "-", "*", "/", "//")[e.Name] && !slices.ContainsFunc(e.Args, func(a sqlast.Expr) bool { return !arithmetic(a) })
	}
	return false
}

// reads reports that a column may be one of the relation's. What a dimension
// computes may single out a row, so no aggregate is over it.
func (g *groupReader) reads(e sqlast.Expr, rel relation) bool {
	c, ok := e.(*sqlast.ColumnRef)
	if !ok {
		return false
	}
	if len(c.Names) > 2 || len(c.Names) == 2 && !slices.ContainsFunc(g.relations, func(r relation) bool { return r.alias == semantic.Name(c.Names[0]).Key() }) {
		g.fail("an aggregate of a minimum group is over a part of a column")
		return true
	}
	if len(c.Names) == 2 && semantic.Name(c.Names[0]).Key() != rel.alias {
		return false
	}
	field, offered := rel.columns[semantic.Name(c.Names[len(c.Names)-1]).Key()]
	if offered && field == "" {
		g.fail("an aggregate of a minimum group is over a computed column")
	}
	return offered
}

func (g *groupReader) holds(is func(sqlast.Expr) bool) bool { return slices.ContainsFunc(g.having, is) }

// enough recognises count(...) >= size.
func (g *groupReader) enough(e sqlast.Expr, size int, is func(*sqlast.Function) bool) bool {
	q, ok := e.(*sqlast.Comparison)
	if !ok || q.Op != "COMPARE_GREATERTHANOREQUALTO" {
		return false
	}
	c, ok := q.Right.(*sqlast.Constant)
	f := counted(e)
	return ok && f != nil && !c.Value.IsNull && c.Value.Raw == strconv.Itoa(size) && set("INTEGER", "BIGINT")[c.Value.Type.ID] && is(f)
}

// counted gives the plain count on the left of a comparison; nil when there is none.
func counted(e sqlast.Expr) *sqlast.Function {
	if q, ok := e.(*sqlast.Comparison); ok {
		return plainCount(q.Left)
	}
	return nil
}

func plainCount(e sqlast.Expr) *sqlast.Function {
	f, ok := e.(*sqlast.Function)
	if !ok || f.Name != "count" || f.Catalog != "" || f.Schema != "" || len(f.Args) != 1 || f.Filter != nil || len(f.OrderBy) > 0 || f.IsOperator || f.ExportState {
		return nil
	}
	return f
}

// isKey recognises the primary key of a relation's rows, qualified; a key of several
// fields as a row of them that is NULL where one is.
func isKey(e sqlast.Expr, rel relation) bool {
	keys := rel.entity.PrimaryKey
	if len(keys) == 1 {
		return isField(e, rel, keys[0])
	}
	c, ok := e.(*sqlast.Case)
	if !ok || len(c.Checks) != 1 {
		return false
	}
	none, isNull := c.Else.(*sqlast.Constant)
	row, isRow := c.Checks[0].Then.(*sqlast.Function)
	there := conjuncts(c.Checks[0].When)
	if !isNull || !none.Value.IsNull || !isRow || row.Name != "row" || len(row.Args) != len(keys) || len(there) != len(keys) {
		return false
	}
	for i, k := range keys {
		test, ok := there[i].(*sqlast.Operator)
		if !ok || test.Op != "OPERATOR_IS_NOT_NULL" || !isField(test.Args[0], rel, k) || !isField(row.Args[i], rel, k) {
			return false
		}
	}
	return true
}

// isField recognises a field of the relation by its qualified name.
func isField(e sqlast.Expr, rel relation, n semantic.Name) bool {
	c, ok := e.(*sqlast.ColumnRef)
	return ok && len(c.Names) == 2 && semantic.Name(c.Names[0]).Key() == rel.alias && semantic.Name(c.Names[1]).Key() == n.Key() &&
		rel.columns[n.Key()] == n.Key()
}

// sameColumns compares what is counted with what is aggregated: equal, or the same
// column with and without the name of its relation.
func (g *groupReader) sameColumns(counted, aggregated sqlast.Expr) bool {
	c, ok := counted.(*sqlast.ColumnRef)
	a, column := aggregated.(*sqlast.ColumnRef)
	if !ok || !column {
		return !ok && !column && sameExpr(counted, aggregated)
	}
	key := semantic.Name(a.Names[len(a.Names)-1]).Key()
	if len(c.Names) != 2 || semantic.Name(c.Names[1]).Key() != key {
		return false
	}
	i := slices.IndexFunc(g.relations, func(r relation) bool { return r.alias == semantic.Name(c.Names[0]).Key() })
	if i < 0 || len(a.Names) == 2 && semantic.Name(a.Names[0]).Key() != g.relations[i].alias {
		return false
	}
	_, offered := g.relations[i].columns[key]
	return offered
}

// groupedPlan refuses a plan with an aggregate that could show a single value.
func groupedPlan(tree *treeReader, plan *planReading) error {
	var problems []error
	for name := range plan.aggregates {
		if tree.guarded && !groupFunctions[name] {
			problems = append(problems, because("the plan aggregates a minimum group by %q", name))
		}
	}
	return together(problems)
}
