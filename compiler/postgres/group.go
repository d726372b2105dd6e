package postgres

import (
	"fmt"
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
	g := &grouping{t: t, s: s, items: items, texts: map[string]int{}}
	sets := [][]int{{}}
	for _, n := range q.Group {
		sets = g.product(sets, g.sets(n))
	}
	seen := map[string]bool{}
	for i := range sets {
		sets[i] = unique(sets[i])
		key := fmt.Sprint(slices.Sorted(slices.Values(sets[i])))
		if seen[key] {
			t.refuse(-1, "name each grouping set once", "two grouping sets are the same")
		}
		seen[key] = true
	}
	return g.exprs, sets
}

// maxSets bounds the grouping sets of one GROUP BY.
const maxSets = 64

// count refuses a number of grouping sets before they are made.
func (g *grouping) count(sets int) {
	if sets > maxSets {
		g.t.refuse(-1, "", "GROUP BY makes more than %d grouping sets", maxSets)
	}
}

type grouping struct {
	t     *translator
	s     *scope
	items []item
	exprs []sqlast.Expr
	texts map[string]int // the grouped expressions by their text
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
				g.count(len(out))
			}
			return out
		case "GROUPING_SET_ROLLUP":
			g.count(len(n.Content) + 1)
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
				out = g.product(out, [][]int{g.sets(c)[0], {}})
			}
			return out
		}
		g.t.refuse(n.Location, "", "this form of GROUP BY is not supported")
	case *rowExpr:
		var out []int
		for _, a := range g.t.columns(n) {
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
	text := g.t.printExpr(v.e)
	i, ok := g.texts[text]
	if !ok {
		i = len(g.exprs)
		g.exprs, g.texts[text] = append(g.exprs, v.e), i
	}
	return i
}

// noPosition keeps DuckDB from taking a constant for the number of a column.
func noPosition(v value) sqlast.Expr {
	if v.whole != nil {
		return cast(v.e, duckTypes[v.t])
	}
	return v.e
}

func (g *grouping) product(a, b [][]int) [][]int {
	g.count(len(a) * len(b))
	if len(b) == 1 {
		for i := range a {
			a[i] = append(a[i], b[0]...)
		}
		return a
	}
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
	out, seen := []int{}, map[int]bool{}
	for _, n := range list {
		if !seen[n] {
			out, seen[n] = append(out, n), true
		}
	}
	return out
}
