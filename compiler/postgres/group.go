package postgres

import (
	"slices"

	"plumbline/compiler/sqlast"
)

// groups reads GROUP BY: the grouped expressions, each once, and the sets of them.
func (t *translator) groups(q *selectStmt, s *scope, items []item) ([]sqlast.Expr, [][]int) {
	if len(q.Group) == 0 {
		return nil, nil
	}
	if q.GroupDistinct {
		t.refuse(-1, "", "GROUP BY DISTINCT is not supported")
	}
	g := &grouping{t: t, s: s, items: items}
	sets := [][]int{{}}
	for _, n := range q.Group {
		sets = product(sets, g.sets(n))
	}
	for i := range sets {
		sets[i] = unique(sets[i])
		for j := range i {
			if slices.Equal(slices.Sorted(slices.Values(sets[i])), slices.Sorted(slices.Values(sets[j]))) {
				t.refuse(-1, "name each grouping set once", "two grouping sets are the same")
			}
		}
	}
	if len(sets) > 64 {
		t.refuse(-1, "", "GROUP BY makes more than 64 grouping sets")
	}
	return g.exprs, sets
}

type grouping struct {
	t     *translator
	s     *scope
	items []item
	exprs []sqlast.Expr
	texts []string
}

// sets gives the grouping sets of one element of GROUP BY.
func (g *grouping) sets(n node) [][]int {
	switch n := n.v.(type) {
	case *groupingSet:
		switch n.Kind {
		case "GROUPING_SET_EMPTY":
			return [][]int{{}}
		case "GROUPING_SET_SETS":
			var out [][]int
			for _, c := range n.Content {
				out = append(out, g.sets(c)...)
			}
			return out
		case "GROUPING_SET_ROLLUP":
			out := [][]int{{}}
			var all []int
			for _, c := range n.Content {
				all = append(slices.Clone(all), g.sets(c)[0]...)
				out = append(out, all)
			}
			slices.Reverse(out)
			return out
		case "GROUPING_SET_CUBE":
			out := [][]int{{}}
			for _, c := range n.Content {
				out = product(out, [][]int{g.sets(c)[0], {}})
			}
			return out
		}
		g.t.refuse(n.Location, "", "this form of GROUP BY is not supported")
	case *rowExpr:
		var out []int
		for _, a := range n.Args {
			out = append(out, g.index(a))
		}
		return [][]int{out}
	}
	return [][]int{{g.index(n)}}
}

// index adds a grouped expression, or finds it. A name means a column of FROM
// first, and a column of the result only where there is none.
func (g *grouping) index(n node) int {
	var v value
	c, isName := n.v.(*columnRef)
	_, isConstant := n.v.(*constant)
	if isName && len(c.Fields) == 1 {
		name, _ := c.Fields[0].v.(*stringNode)
		isName = name != nil && g.t.among(g.s.fields, name.Val, c.Location) == nil
	} else {
		isName = false
	}
	if isName || isConstant {
		v = g.t.term(n, g.s, g.items)
	} else {
		v = g.t.expr(n, g.s)
	}
	g.t.grouped(v)
	v.e = noPosition(v)
	text := printExpr(v.e)
	if i := slices.Index(g.texts, text); i >= 0 {
		return i
	}
	g.exprs, g.texts = append(g.exprs, v.e), append(g.texts, text)
	return len(g.exprs) - 1
}

// noPosition keeps DuckDB from taking a constant for the number of a column.
func noPosition(v value) sqlast.Expr {
	if v.whole != nil {
		return cast(v.e, duckTypes[v.t])
	}
	return v.e
}

func product(a, b [][]int) [][]int {
	var out [][]int
	for _, x := range a {
		for _, y := range b {
			out = append(out, append(slices.Clone(x), y...))
		}
	}
	return out
}

// unique drops repetitions, in order.
func unique(list []int) []int {
	out := []int{}
	for _, n := range list {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
