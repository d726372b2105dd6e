package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// column is a column that an expression may read.
type column struct {
	name string // with its relation's alias
	typ  string // one of kinds; "" for one of another type
	use  string // "" anywhere, or where it may stand: selected, filtered, joined
}

// entityColumns are the columns of the random world as the subjects have them.
var entityColumns = map[string][]column{
	"orders": {{"id", "BIGINT", ""}, {"buyer", "BIGINT", ""}, {"code", "VARCHAR", ""}, {"note", "VARCHAR", ""}, {"amount", "BIGINT", ""},
		{"price", "DECIMAL", ""}, {"ratio", "DOUBLE", ""}, {"n", "INTEGER", ""}, {"paid", "BOOLEAN", ""}, {"day", "DATE", ""},
		{"at", "TIMESTAMP", ""}, {"doc", "VARCHAR", ""}, {"big", "BOOLEAN", ""}, {"tenant", "VARCHAR", ""}, {"home", "VARCHAR", ""},
		{"dropped", "DATE", ""}, {"risk", "INTEGER", "filtered"}, {"ssn", "VARCHAR", "joined"}},
	"people": {{"id", "BIGINT", ""}, {"region", "VARCHAR", ""}, {"mail", "VARCHAR", ""}, {"iban", "VARCHAR", ""}, {"born", "DATE", ""},
		{"tenant", "VARCHAR", ""}, {"opened", "TIMESTAMP", ""}, {"name", "VARCHAR", "selected"}, {"phone", "VARCHAR", "selected"},
		{"joined", "TIMESTAMP", "selected"}, {"salary", "BIGINT", "selected"}, {"points", "BIGINT", ""}, {"nick", "VARCHAR", ""},
		{"person", "VARCHAR", ""}, {"ssn", "VARCHAR", "joined"}},
	"items": {{"order_id", "BIGINT", ""}, {"sku", "VARCHAR", ""}, {"qty", "INTEGER", ""}},
}

// generator writes random questions over the random world. features gathers what a
// question is made of.
type generator struct {
	r        *rand.Rand
	calls    *callTable
	features map[string]bool
	scopes   [][]column // of the queries round an expression, the innermost last
	ctes     map[string][]column
	next     int
	inside   bool // an aggregate: no other one, no window
}

// question writes one question.
func (g *generator) question() string {
	g.features, g.scopes, g.ctes, g.next, g.inside = map[string]bool{}, nil, map[string][]column{}, 0, false
	var with []string
	if g.chance(20) {
		for range g.between(1, 2) {
			with = append(with, g.cte())
		}
	}
	types := g.types(g.between(1, 4))
	text := g.query(types, 2)
	if g.chance(15) {
		text += " ORDER BY ALL" + g.pick("", " DESC NULLS LAST", " LIMIT 7", " LIMIT 3 OFFSET 2")
		g.uses("order and limit")
	}
	if len(with) > 0 {
		text = "WITH " + strings.Join(with, ", ") + " " + text
	}
	return text
}

// kinds are the types of columns and of most expressions.
var kinds = []string{"BIGINT", "INTEGER", "DOUBLE", "DECIMAL", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP"}

func (g *generator) types(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.pick(kinds...)
	}
	return out
}

func (g *generator) cte() string {
	name, types := g.alias("w"), g.types(g.between(1, 3))
	g.uses("cte")
	text := name + "(" + strings.Join(numbered(len(types)), ", ") + ") AS (" + g.query(types, 1) + ")"
	g.ctes[name] = given(types)
	return text
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("c%d", i+1)
	}
	return out
}

func given(types []string) []column {
	out := make([]column, len(types))
	for i, name := range numbered(len(types)) {
		out[i] = column{name: name, typ: types[i]}
	}
	return out
}

// query writes a query that gives columns of the types.
func (g *generator) query(types []string, depth int) string {
	switch n := g.between(0, 99); {
	case depth > 0 && n < 10:
		g.uses("set operation")
		op := g.pick(" UNION ", " UNION ALL ", " EXCEPT ", " EXCEPT ALL ", " INTERSECT ", " INTERSECT ALL ", " UNION BY NAME ")
		return "(" + g.query(types, depth-1) + ")" + op + "(" + g.query(types, depth-1) + ")"
	case n < 35:
		return g.grouped(types, depth)
	}
	return g.plain(types, depth)
}

// plain writes a query without groups.
func (g *generator) plain(types []string, depth int) string {
	from := g.from(depth)
	items := make([]string, len(types))
	for i, typ := range types {
		items[i] = g.item(typ, depth) + fmt.Sprintf(" AS c%d", i+1)
	}
	text := "SELECT " + g.pick("", "", "", "DISTINCT ") + strings.Join(items, ", ") + from
	if len(g.scopes) == 1 && g.chance(8) {
		text = g.pick("FROM", "SELECT * FROM") + strings.TrimPrefix(from, " FROM")
		g.uses("star")
	}
	if g.chance(60) {
		text += " WHERE " + g.filter(depth)
	}
	if g.chance(4) {
		text += " QUALIFY " + g.window("BIGINT", depth) + " < 3"
	}
	g.leave()
	return text
}

// item writes an item of a select list, where masks and windows may stand.
func (g *generator) item(typ string, depth int) string {
	masked := slices.DeleteFunc(slices.Clone(g.scope()), func(c column) bool { return c.use != "selected" || c.typ != typ })
	switch {
	case len(masked) > 0 && g.chance(50):
		g.uses("mask")
		return g.pick(names(masked)...)
	case g.chance(12):
		return g.window(typ, depth)
	}
	return g.expr(typ, depth+1)
}

// filter writes a WHERE condition, where columns of class filter may stand.
func (g *generator) filter(depth int) string {
	condition := g.expr("BOOLEAN", depth+1)
	for _, c := range g.scope() {
		if c.use == "filtered" && g.chance(25) {
			g.uses("filter-only column")
			condition = "(" + condition + g.pick(" AND ", " OR ") + c.name + g.pick(" > 3", " = 2", " IN (1, 5)", " IS NOT NULL") + ")"
		}
	}
	return condition
}

// grouped writes a query with aggregates, over groups or over everything.
func (g *generator) grouped(types []string, depth int) string {
	from := g.from(depth)
	where := ""
	if g.chance(50) {
		where = " WHERE " + g.filter(depth)
	}
	items, keys := make([]string, len(types)), 0
	for i, typ := range types {
		if keys < len(types)-1 && g.chance(50) {
			keys++
			items[i] = g.expr(typ, 1) + fmt.Sprintf(" AS c%d", i+1)
			continue
		}
		items[i] = g.aggregate(typ, depth) + fmt.Sprintf(" AS c%d", i+1)
	}
	text := "SELECT " + strings.Join(items, ", ") + from + where
	if keys > 0 {
		g.uses("groups")
		text += " GROUP BY ALL"
	} else if g.chance(15) {
		g.uses("grouping sets")
		key := g.expr(g.pick("VARCHAR", "BOOLEAN", "DATE"), 1)
		text += " GROUP BY " + g.pick("ROLLUP(", "CUBE(", "GROUPING SETS ((), ") + key + ")"
	}
	if g.chance(15) {
		text += " HAVING " + g.aggregate("BIGINT", 0) + g.pick(" > 1", " IS NOT NULL", " < 40")
		g.uses("having")
	}
	g.leave()
	return text
}

// from writes a FROM clause and enters its scope; leave leaves it.
func (g *generator) from(depth int) string {
	g.scopes = append(g.scopes, nil)
	text, columns := g.relation(depth)
	g.scopes[len(g.scopes)-1] = columns
	for i := 0; i < 2 && g.chance(35); i++ {
		text += g.join(depth)
	}
	return " FROM " + text
}

func (g *generator) leave() { g.scopes = g.scopes[:len(g.scopes)-1] }

func (g *generator) scope() []column { return g.scopes[len(g.scopes)-1] }

// relation writes one relation with a new alias.
func (g *generator) relation(depth int) (string, []column) {
	alias := g.alias("t")
	switch n := g.between(0, 99); {
	case n < 12 && len(g.ctes) > 0:
		name := g.pick(slices.Sorted(maps.Keys(g.ctes))...)
		return name + " AS " + alias, under(alias, g.ctes[name])
	case n < 25 && depth > 0:
		g.uses("derived table")
		types := g.types(g.between(1, 3))
		return "(" + g.query(types, depth-1) + ") AS " + alias + "(" + strings.Join(numbered(len(types)), ", ") + ")", under(alias, given(types))
	case n < 28:
		g.uses("values")
		return "(VALUES (1, 'red'), (2, NULL), (4, '7')) AS " + alias + "(c1, c2)", under(alias, given([]string{"INTEGER", "VARCHAR"}))
	case n < 31:
		g.uses("table function")
		return g.pick("range(5)", "generate_series(1, 4)", "unnest([1, 2, 3])") + " AS " + alias + "(c1)", under(alias, given([]string{"BIGINT"}))
	}
	name := g.pick("orders", "orders", "people", "items")
	return name + " AS " + alias, under(alias, entityColumns[name])
}

func under(alias string, columns []column) []column {
	out := slices.Clone(columns)
	for i := range out {
		out[i].name = alias + "." + out[i].name
	}
	return out
}

// join writes a join to one more relation, and adds its columns to the scope.
func (g *generator) join(depth int) string {
	left := g.scope()
	text, right := g.relation(depth)
	g.uses("join")
	kind := g.pick(" JOIN ", " JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " SEMI JOIN ", " ANTI JOIN ", " CROSS JOIN ", " ASOF JOIN ")
	both := append(slices.Clone(left), right...)
	if kind == " SEMI JOIN " || kind == " ANTI JOIN " {
		g.scopes[len(g.scopes)-1] = left
	} else {
		g.scopes[len(g.scopes)-1] = both
	}
	if kind == " CROSS JOIN " {
		return kind + text
	}
	a, b, ok := g.pair(left, right)
	if !ok {
		return " CROSS JOIN " + text
	}
	on := " ON " + a.name + " = " + b.name
	switch {
	case kind == " ASOF JOIN ":
		on = " ON " + a.name + g.pick(" >= ", " > ", " <= ") + b.name
	case a.use == "joined":
		g.uses("join-only column")
	case g.chance(20):
		on += " AND " + g.predicateOver(both)
	}
	return kind + text + on
}

// pair picks two columns that may be joined: join-only ones, keys, or any of one type.
func (g *generator) pair(left, right []column) (a, b column, ok bool) {
	var pairs [][2]column
	for _, l := range left {
		for _, r := range right {
			if l.typ == r.typ && l.use == r.use && (l.use == "" || l.use == "joined" && g.chance(60)) {
				pairs = append(pairs, [2]column{l, r})
			}
		}
	}
	if len(pairs) == 0 {
		return a, b, false
	}
	joined := slices.IndexFunc(pairs, func(p [2]column) bool { return p[0].use == "joined" })
	if joined >= 0 && g.chance(40) {
		return pairs[joined][0], pairs[joined][1], true
	}
	p := pairs[g.between(0, len(pairs)-1)]
	return p[0], p[1], true
}

// predicateOver writes a condition on columns that are not in scope yet.
func (g *generator) predicateOver(columns []column) string {
	g.scopes = append(g.scopes, columns)
	defer g.leave()
	return g.expr("BOOLEAN", 1)
}

func names(columns []column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.name
	}
	return out
}

func (g *generator) alias(letter string) string {
	g.next++
	return fmt.Sprintf("%s%d", letter, g.next)
}

func (g *generator) uses(feature string) { g.features[feature] = true }

func (g *generator) pick(words ...string) string { return words[g.r.IntN(len(words))] }

func (g *generator) between(low, high int) int { return low + g.r.IntN(high-low+1) }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }
