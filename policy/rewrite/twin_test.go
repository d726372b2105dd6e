package rewrite_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// view is what a decision lets a subject see.
type view struct{ policy.Decision }

func (v view) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := semantictest.Shop().Entity(n)
	if e == nil || !v.Entities[n.Key()].Visible {
		return nil, nil
	}
	out := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}}
	for key, c := range v.Entities[n.Key()].Columns {
		out.Fields[key] = c.Class
	}
	return out, nil
}

func (v view) Names() []string { return nil }

// twin makes a schema with one table per entity that holds only what the person
// may see: rows by the rule, masks as values, no other column. Over it the
// caller's text runs as it stands.
func twin(t *testing.T, db *ducktest.DB, who string, d policy.Decision) {
	v := view{d}
	db.Exec(t, "CREATE SCHEMA memory."+who)
	for _, e := range semantictest.Shop().Entities {
		vis, err := v.Entity(e.Name)
		require.NoError(t, err)
		var inner, outer []string
		for _, f := range e.Fields {
			name := semantic.Quote(string(f.Name))
			c, ok := d.Entities[e.Name.Key()].Columns[f.Name.Key()]
			if !ok || c.Class != semantic.Output {
				continue
			}
			outer = append(outer, name)
			if c.Mask != nil {
				name = c.Mask.SQL + " AS " + name
			}
			inner = append(inner, name)
		}
		for _, dim := range e.Dimensions {
			if _, ok := vis.Class(dim.Name); ok && dim.Expr != "" {
				outer = append(outer, dim.Expr+" AS "+semantic.Quote(string(dim.Name)))
			}
		}
		rule := "true"
		switch a := d.Entities[e.Name.Key()].Rows; a.Truth {
		case policy.Never:
			rule = "false"
		case policy.When:
			rule = a.SQL
		}
		db.Exec(t, fmt.Sprintf("CREATE TABLE memory.%s.%s AS SELECT %s FROM (SELECT %s FROM %s WHERE %s)",
			who, semantic.Quote(string(e.Name)), strings.Join(outer, ", "), strings.Join(inner, ", "), semantic.StorageName(e.Name), rule))
	}
}

// gen writes random questions over customers, orders and products.
type gen struct {
	t    *rapid.T
	next int
}

func (g *gen) pick(words ...string) string { return rapid.SampledFrom(words).Draw(g.t, "word") }
func (g *gen) maybe(n int) bool            { return rapid.IntRange(1, n).Draw(g.t, "maybe") == 1 }

func (g *gen) fresh() string {
	g.next++
	return fmt.Sprintf("r%d", g.next)
}

// source gives a relation, its alias, and two columns of it that compare.
func (g *gen) source(depth int) (text, alias string, columns []string) {
	alias = g.fresh()
	if depth > 0 && g.maybe(4) {
		return "(" + g.query(depth-1, 1) + ") AS " + alias + "(c1)", alias, []string{"c1"}
	}
	entity := g.pick("orders", "customers", "products")
	columns = map[string][]string{"orders": {"id", "customer_id"}, "customers": {"id", "region", "big_region"}, "products": {"id", "label"}}[entity]
	name := g.pick(entity, semantic.Quote(entity), strings.ToUpper(entity[:1])+entity[1:], "/* from orders */ "+entity)
	switch rapid.IntRange(1, 4).Draw(g.t, "alias") {
	case 1:
		return name + " " + alias, alias, columns
	case 2:
		return name + " -- the source\n AS \"" + alias + "\"", alias, columns
	case 3:
		return alias + " : " + name, alias, columns
	}
	if g.maybe(2) {
		return "'" + entity + "' AS " + alias, alias, columns
	}
	return name + " AS " + alias, alias, columns
}

func (g *gen) predicate(depth int, column string) string {
	switch {
	case depth > 0 && g.maybe(4):
		return "CAST(" + column + " AS VARCHAR) IN (" + g.query(depth-1, 1) + ")"
	case depth > 0 && g.maybe(5):
		return "EXISTS (" + g.query(depth-1, 1) + ")"
	case g.maybe(4):
		return column + g.pick(" IS NOT NULL", " IS NULL")
	case strings.HasSuffix(column, "id"):
		return column + g.pick(" = 1", " > 1", " BETWEEN 2 AND 11", " IN (1, 3, 12)", " <> 10")
	case g.maybe(2):
		return column + g.pick(" = 'eu'", " <> 'x'", " IN ('eu', 'us', 'x')", " LIKE 'e%'")
	}
	return "CAST(" + column + " AS VARCHAR) " + g.pick("=", "<>", "<") + " '" + g.pick("1", "10", "eu", "x") + "'"
}

// query writes a query of so many columns.
func (g *gen) query(depth, width int) string {
	from, a, cols := g.source(depth)
	if g.maybe(2) {
		other, b, more := g.source(depth)
		on := fmt.Sprintf("CAST(%s.%s AS VARCHAR) = CAST(%s.%s AS VARCHAR)", a, g.pick(cols...), b, g.pick(more...))
		from += g.pick(" JOIN ", " LEFT JOIN ", " FULL JOIN ") + other + " ON " + on
	}
	column := a + "." + g.pick(cols...)
	var items []string
	for range width {
		items = append(items, g.item(depth, a+"."+g.pick(cols...)))
	}
	if width > 1 && g.maybe(3) {
		items = []string{g.pick("*", a+".*")}
	}
	q := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	if width > 1 && g.maybe(4) {
		q = "FROM " + from
	}
	if g.maybe(2) {
		q += " WHERE " + g.predicate(depth, column)
		if g.maybe(2) {
			q += g.pick(" AND ", " OR ") + g.predicate(0, a+"."+g.pick(cols...))
		}
	}
	if width == 1 && depth > 0 && g.maybe(4) {
		q += g.pick(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ") + g.query(depth-1, 1)
	}
	return q
}

func (g *gen) item(depth int, column string) string {
	if depth > 0 && g.maybe(4) {
		return "(SELECT CAST(max(c) AS VARCHAR) FROM (" + g.query(depth-1, 1) + ") AS s(c))"
	}
	return "CAST(" + column + g.pick(" AS VARCHAR)", " AS VARCHAR) AS \"the name\"")
}

// TestTwins: the rewritten text over all rows answers as the caller's own text
// does over a world that holds only what the person may see, names included.
func TestTwins(t *testing.T) {
	db := open(t)
	ctx := context.Background()
	decisions := people()
	whos := []string{"admin", "adminmasked", "analyst", "either", "masked", "stranger"}
	for _, who := range whos {
		twin(t, db, who, decisions[who])
	}
	asked, run := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		g := &gen{t: rt}
		who := g.pick(whos...)
		text := g.query(2, 2) + g.pick("", ";", " -- end", "\n/* end */ ;")
		if g.maybe(4) {
			text = "WITH w AS (" + g.query(1, 1) + ") SELECT * FROM w, (" + g.query(1, 1) + ") AS v" + g.pick("", " -- end")
		}
		asked++
		st, err := sqlast.Parse(ctx, db, text)
		require.NoError(rt, err, text)
		b, err := resolve.Resolve(ctx, st, view{decisions[who]}, resolve.Options{})
		if err != nil {
			return
		}
		r, err := rewrite.Apply(ctx, db, b, decisions[who], rewrite.Options{RowCap: 100000})
		require.NoError(rt, err, text)
		run++
		db.Exec(t, "USE memory."+who)
		require.Equal(rt, answer(rt, db, text), answer(rt, db, r.Text), "%s\n%s", text, r.Text)
	})
	require.Greater(t, run, asked/2)
}

// answer gives names and rows, in no order.
func answer(t *rapid.T, db *ducktest.DB, text string) []string {
	rows, err := db.Query(text)
	require.NoError(t, err, text)
	defer rows.Close()
	cols, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		require.NoError(t, rows.Scan(ptrs...))
		out = append(out, fmt.Sprint(vals...))
	}
	require.NoError(t, rows.Err())
	slices.Sort(out)
	return append(cols, out...)
}
