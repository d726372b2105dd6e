package resolve

import (
	"strconv"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// query binds a query node and gives its result columns. outer is the chain it
// may refer to when it is correlated or lateral. top is true for the statement
// itself, whose order and limit are facts.
func (r *resolver) query(q sqlast.Query, outer *scope, ctes *env, top bool) []column {
	base := sqlast.Base(q)
	ctes = r.with(base.CTEs, outer, ctes)
	if top {
		r.topFacts(base)
	}
	switch q := q.(type) {
	case *sqlast.SelectNode:
		r.kinds["SELECT_NODE"] = true
		return r.selectNode(q, outer, ctes)
	case *sqlast.SetOperation:
		r.kinds["SET_OPERATION_NODE"] = true
		return r.setOperation(q, outer, ctes)
	}
	r.refuse(sqlast.NoOffset, "write it as WITH RECURSIVE", "a recursive part stands only in WITH RECURSIVE")
	return nil
}

func (r *resolver) topFacts(base *sqlast.QueryBase) {
	for _, m := range base.Modifiers {
		switch m := m.(type) {
		case *sqlast.OrderBy:
			r.bound.Ordered = len(m.Orders) > 0
		case *sqlast.Limit:
			if c, ok := m.Limit.(*sqlast.Constant); ok && !m.Percent {
				if n, err := strconv.Atoi(c.Value.Raw); err == nil {
					r.bound.Limit = &n
				}
			}
		}
	}
}

// with binds CTEs in order; each sees those before it, never itself unless it
// is the right part of a recursion.
func (r *resolver) with(list []sqlast.CTE, outer *scope, ctes *env) *env {
	seen := map[string]bool{}
	for i := range list {
		c := &list[i]
		key := fold(c.Name)
		if seen[key] {
			r.report(diag.ResolveDuplicate, sqlast.NoOffset, "WITH names %q twice", c.Name)
		}
		seen[key] = true
		if len(c.KeyTargets) > 0 {
			r.refuse(sqlast.NoOffset, "recurse with UNION or UNION ALL", "USING KEY in a recursive CTE is not supported")
		}
		before := len(r.errs)
		var cols []column
		if rec, ok := c.Query.(*sqlast.RecursiveCTE); ok {
			cols = r.recursive(rec, c, outer, ctes)
		} else {
			cols = r.cteColumns(c, r.query(c.Query, outer, ctes, false))
		}
		ctes = &env{key: key, cols: cols, broken: len(r.errs) > before, parent: ctes}
	}
	return ctes
}

func (r *resolver) cteColumns(c *sqlast.CTE, cols []column) []column {
	// DuckDB drops aliases that have no column, but a shorter list is a mistake.
	cols, ok := rename(cols, c.Aliases)
	if !ok {
		r.refuse(sqlast.NoOffset, "name at most as many columns as it has", "the column list of CTE %q is longer than its query", c.Name)
	}
	return dedupe(derived(cols))
}

// recursive binds a recursive CTE: the left part sees the names outside, the
// right part sees the CTE. What the right part feeds back adds to the lineage,
// so it is read again until nothing is added.
func (r *resolver) recursive(q *sqlast.RecursiveCTE, c *sqlast.CTE, outer *scope, ctes *env) []column {
	r.kinds["RECURSIVE_CTE_NODE"] = true
	if len(q.KeyTargets) > 0 {
		r.refuse(sqlast.NoOffset, "recurse with UNION or UNION ALL", "USING KEY in a recursive CTE is not supported")
	}
	ctes = r.with(q.CTEs, outer, ctes)
	broken := len(r.errs)
	left := r.query(q.Left, outer, ctes, false)
	var all lineage
	for _, col := range left {
		all.add(col.from...)
	}
	cols := r.cteColumns(c, left)
	self := &env{key: fold(c.Name), cols: cols, broken: len(r.errs) > broken, parent: ctes}
	right := r.query(q.Right, outer, self, false)
	if len(right) != len(left) && len(r.errs) == broken {
		r.refuse(sqlast.NoOffset, "give both parts the same columns", "the parts of recursive CTE %q differ in their number of columns", c.Name)
	}
	for _, col := range right {
		all.add(col.from...)
	}
	for i := range cols {
		cols[i].from, cols[i].bare = all, false
	}
	r.modifiers(q.Modifiers, &selection{scope: &scope{&level{}, outer}, ctes: ctes, cols: cols, combined: true, children: []*selection{{cols: left}}})
	return cols
}

// setOperation binds UNION, EXCEPT and INTERSECT. Names are those of the first child.
func (r *resolver) setOperation(q *sqlast.SetOperation, outer *scope, ctes *env) []column {
	byName := q.Op == "UNION_BY_NAME"
	r.kinds[q.Op] = true
	before, failed := len(r.refs), len(r.errs)
	var cols []column
	sel := &selection{scope: &scope{&level{}, outer}, ctes: ctes, combined: true}
	for i, child := range q.Children {
		part := r.query(child, outer, ctes, false)
		sel.children = append(sel.children, &selection{cols: part})
		switch {
		case byName:
			cols = unionByName(cols, dedupe(part))
		case i == 0:
			cols = derived(part)
		case len(part) != len(cols):
			if len(r.errs) == failed {
				r.refuse(sqlast.NoOffset, "select the same number of columns on both sides", "the sides of %s have %d and %d columns", q.Op, len(cols), len(part))
			}
			return cols
		default:
			for k := range cols {
				cols[k].combine(part[k])
			}
		}
	}
	if byName {
		for _, ref := range r.refs[before:] {
			ref.full = true
		}
	}
	sel.cols = cols
	sel.scope.broken = len(r.errs) > failed
	r.modifiers(q.Modifiers, sel)
	r.orderOfRows(q.Modifiers, false)
	return cols
}

func (c *column) combine(other column) {
	same := c.bare && other.bare && len(c.from) == 1 && len(other.from) == 1 && c.from[0] == other.from[0]
	l := append(lineage(nil), c.from...)
	l.add(other.from...)
	c.from, c.bare, c.list = l, same, c.list && other.list
}

func unionByName(cols, part []column) []column {
	for _, p := range derived(part) {
		found := false
		for i := range cols {
			if fold(cols[i].name) == fold(p.name) {
				cols[i].combine(p)
				found = true
			}
		}
		if !found {
			cols = append(cols, p)
		}
	}
	return cols
}

// selection is what the modifiers of a query may refer to.
type selection struct {
	scope    *scope
	ctes     *env
	cols     []column
	items    []*item
	combined bool // a set operation: only its columns and ordinals can be named
	children []*selection
}

func (r *resolver) selectNode(q *sqlast.SelectNode, outer *scope, ctes *env) []column {
	if q.Sample != nil {
		r.refuse(sqlast.NoOffset, "filter or limit the rows instead", "USING SAMPLE is not supported")
	}
	first, failed := len(r.refs), len(r.errs)
	lv := r.from(q.From, outer, ctes)
	lv.broken = lv.broken || len(r.errs) > failed
	lv.aliases = map[string]*item{}
	sel := &selection{scope: &scope{lv, outer}, ctes: ctes}
	if q.Aggregates == "FORCE_AGGREGATES" {
		for _, ref := range r.refs[first:] {
			ref.full = true
		}
	}
	r.selectList(q, sel)
	r.where(q.Where, sel)
	r.groups(q, sel)
	having := sel.in(InFilter)
	having.aliasFirst = true
	r.exprIf(q.Having, having)
	r.exprIf(q.Qualify, sel.in(InFilter))
	r.modifiers(q.Modifiers, sel)
	r.orderOfRows(q.Modifiers, oneRow(q))
	return sel.cols
}

func (s *selection) in(clause Clause) ctx {
	return ctx{scope: s.scope, ctes: s.ctes, clause: clause}
}

func (r *resolver) where(e sqlast.Expr, sel *selection) {
	if e == nil {
		return
	}
	for _, conj := range conjuncts(e) {
		r.conjunct(conj, sel.in(InFilter))
	}
	if len(conjuncts(e)) > 1 {
		r.kinds["CONJUNCTION_AND"] = true
	}
}

func (r *resolver) groups(q *sqlast.SelectNode, sel *selection) {
	for _, g := range q.Groups {
		c := sel.in(InGroup)
		c.bare = true
		if n, ok := ordinal(g); ok {
			r.repeat(n, g, sel, InGroup, "GROUP BY")
			continue
		}
		if it := r.aliasOnly(g, sel); it != nil {
			r.again(it, InGroup)
		}
		r.expr(g, c)
	}
}

// repeat counts an ordinal as the item it stands for.
func (r *resolver) repeat(n int, e sqlast.Expr, sel *selection, clause Clause, word string) {
	if n < 1 || n > len(sel.cols) {
		if !sel.scope.anyBroken() {
			r.refuse(place(e), "count from 1 over the selected columns", "%s %d is out of range", word, n)
		}
		return
	}
	if n <= len(sel.items) && sel.items[n-1] != nil {
		r.again(sel.items[n-1], clause)
	}
}

// again records the uses of a select item for another clause as well.
func (r *resolver) again(it *item, clause Clause) {
	for _, u := range r.uses[it.uses[0]:it.uses[1]] {
		if u.Clause == InOutput {
			u.Clause = clause
			r.uses = append(r.uses, u)
		}
	}
}

// aliasOnly gives the item that a bare name stands for when it is an alias and
// no column of this level.
func (r *resolver) aliasOnly(e sqlast.Expr, sel *selection) *item {
	c, ok := e.(*sqlast.ColumnRef)
	if !ok || len(c.Names) != 1 {
		return nil
	}
	key := fold(c.Names[0])
	if hits, _ := sel.scope.find(key, r.origin(c.At)); len(hits) > 0 {
		return nil
	}
	return sel.scope.aliases[key]
}

// ordinal reads a position, as GROUP BY and ORDER BY take it.
func ordinal(e sqlast.Expr) (int, bool) {
	c, ok := e.(*sqlast.Constant)
	if !ok || c.Value.IsNull || c.Value.Type.ID != "INTEGER" {
		return 0, false
	}
	n, err := strconv.Atoi(c.Value.Raw)
	return n, err == nil
}

func (r *resolver) modifiers(list []sqlast.Modifier, sel *selection) {
	for _, m := range list {
		switch m := m.(type) {
		case *sqlast.OrderBy:
			r.kinds["ORDER_MODIFIER"] = true
			for _, o := range m.Orders {
				r.order(o.Expr, sel)
			}
		case *sqlast.Distinct:
			r.kinds["DISTINCT_MODIFIER"] = true
			for _, e := range m.On {
				r.order(e, sel)
			}
		case *sqlast.Limit:
			r.kinds["LIMIT_MODIFIER"] = true
			r.literalBound(m.Limit, "LIMIT")
			r.literalBound(m.Offset, "OFFSET")
		}
	}
}

func (r *resolver) literalBound(e sqlast.Expr, word string) {
	if e == nil || isLiteral(e) {
		return
	}
	r.refuse(place(e), "write a number", "%s takes a literal number", word)
}

// order binds one ORDER BY or DISTINCT ON term: an ordinal, ALL, a result name,
// or an expression.
func (r *resolver) order(e sqlast.Expr, sel *selection) {
	if n, ok := ordinal(e); ok {
		r.repeat(n, e, sel, InOrder, "ORDER BY")
		return
	}
	if s, ok := e.(*sqlast.Star); ok && word(r.text, s.At, "all") {
		for _, it := range sel.items {
			if it != nil {
				r.again(it, InOrder)
			}
		}
		return
	}
	if sel.combined {
		c, ok := e.(*sqlast.ColumnRef)
		if !(ok && len(c.Names) == 1 && sel.resultNamed(fold(c.Names[0]))) && !sel.scope.broken {
			r.refuse(place(e), "order by a result column or its position", "ORDER BY after a set operation takes only result columns")
		}
		return
	}
	if it := r.aliasOnly(e, sel); it != nil {
		r.again(it, InOrder)
	}
	c := sel.in(InOrder)
	c.bare, c.aliasFirst = true, true
	r.expr(e, c)
}

func (s *selection) resultNamed(key string) bool {
	for _, c := range s.cols {
		if fold(c.name) == key {
			return true
		}
	}
	for _, child := range s.children {
		if child.resultNamed(key) {
			return true
		}
	}
	return false
}
