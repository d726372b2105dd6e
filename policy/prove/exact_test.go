package prove_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy/prove"
)

// edit is one change of one field of a tree.
type edit struct {
	path string
	do   func()
}

// instead are values of fields by their name, beside the ones made of the value.
var instead = map[string][]string{
	"Name":       {"sum", "count", "-", "row"},
	"Op":         {"COMPARE_EQUAL", "COMPARE_LESSTHAN", "CONJUNCTION_OR", "OPERATOR_IS_NULL", "COMPARE_NOT_IN"},
	"Type":       {"SEMI", "ANTI"},
	"Kind":       {"NATURAL", "ASOF", "CROSS"},
	"Schema":     {"main"},
	"ID":         {"VARCHAR"},
	"Aggregates": {"FORCE_AGGREGATES"},
	"Names":      {"id", "tenant", "region", "o", "c"},
}

var (
	exprType = reflect.TypeFor[sqlast.Expr]()
	offset   = reflect.TypeFor[sqlast.Offset]()
)

// edits lists the changes of everything below v: each text, number and list is
// another one, each part that is absent is there, and each expression is another.
func edits(path, field string, v reflect.Value) []edit {
	var out []edit
	set := func(what string, to reflect.Value) {
		out = append(out, edit{path + " " + what, func() { v.Set(to) }})
	}
	switch {
	case v.Type() == offset:
	case v.Kind() == reflect.String:
		for _, s := range append([]string{v.String() + "x", ""}, instead[field]...) {
			if s != v.String() {
				set("is "+s, reflect.ValueOf(s).Convert(v.Type()))
			}
		}
	case v.Kind() == reflect.Bool:
		set("flips", reflect.ValueOf(!v.Bool()))
	case v.Kind() == reflect.Int:
		set("grows", reflect.ValueOf(int(v.Int())+1).Convert(v.Type()))
	case v.Kind() == reflect.Slice:
		set("has one more", reflect.Append(reflectSlice(v), some(v.Type().Elem())))
		if v.Len() > 1 || v.Len() == 1 && field != "Names" && field != "Args" { // which are never empty
			set("has one less", v.Slice(0, v.Len()-1))
		}
		for i := range v.Len() {
			out = append(out, edits(fmt.Sprintf("%s[%d]", path, i), field, v.Index(i))...)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			out = append(out, edits(path+"."+name, name, v.Field(i))...)
		}
	case v.IsNil():
		set("is there", some(v.Type()))
	default:
		if v.Type() == exprType {
			set("is a literal", some(v.Type()))
			set("is a column", reflect.ValueOf(&sqlast.ColumnRef{Names: []string{"tenant"}}))
			if slices.Contains([]string{"Where", "Having", "Offset"}, field) {
				set("is absent", reflect.Zero(v.Type()))
			}
		}
		out = append(out, edits(path, field, reflect.Indirect(reflect.ValueOf(v.Interface())))...)
	}
	return out
}

// reflectSlice is a list of one value, so that a copy of it has room of its own.
func reflectSlice(v reflect.Value) reflect.Value {
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len()+1)
	reflect.Copy(c, v)
	return c
}

// some is a value of a type that is not its zero value, where the type has one.
func some(t reflect.Type) reflect.Value {
	one := &sqlast.Constant{Value: sqlast.Value{Type: sqlast.TypeName{ID: "INTEGER"}, Raw: "1"}}
	for _, v := range []any{one, &sqlast.Distinct{}, &sqlast.SelectNode{Select: []sqlast.Expr{one}, From: &sqlast.EmptyRef{}}, &sqlast.EmptyRef{},
		&sqlast.Sample{Seed: "1"}, sqlast.Order{Expr: one}, sqlast.CTE{Name: "w", Query: &sqlast.SelectNode{Select: []sqlast.Expr{one}, From: &sqlast.EmptyRef{}}},
		sqlast.CaseCheck{When: one, Then: one}, "more"} {
		if reflect.TypeOf(v).AssignableTo(t) {
			return reflect.ValueOf(v)
		}
	}
	if t.Kind() == reflect.Slice {
		return reflect.MakeSlice(t, 1, 1)
	}
	return reflect.Zero(t)
}

// fenceNodes are the fences of a tree, and the queries round one that compute dimensions.
func fenceNodes(root sqlast.Query) []reflect.Value {
	var out []reflect.Value
	sqlast.Walk(root, func(n any) bool {
		ref, ok := n.(*sqlast.SubqueryRef)
		if !ok {
			return true
		}
		s, ok := ref.Query.(*sqlast.SelectNode)
		if b, base := s.From.(*sqlast.BaseTable); ok && base && b.Schema != "" {
			out = append(out, reflect.ValueOf(s).Elem())
		}
		return true
	})
	return out
}

func named(list []string, path string) bool {
	return slices.ContainsFunc(list, func(h string) bool { return strings.Contains(path, h) })
}

// TestEveryFieldOfAFenceMatters changes each field of each node of a fence's tree,
// also to what DuckDB's parser would not give. What may pass is named here.
func TestEveryFieldOfAFenceMatters(t *testing.T) {
	db := openShop(t)
	text := limited(fenced(`SELECT c.id FROM [[customers: id, name, email | "region" = 'eu']] AS c, [[products: id]] AS p`, shopRules()))
	harmless := []string{
		"Select has one less", ".Select[0] is a column", ".Select[1] is a column", ".Select[2] is a column", // other columns that the subject has
		"Select[0].Names[0] is tenant", "Select[0].Names[0] is region", "fence 1.Select[0] is a literal",
		"Select[1].Args[0].Args[0].Args[1] is a literal", "Where.Args[0].Args[0] is a column", // what it was
		"Offset.Value.Type", "Offset.ExprBase.Alias", // the plan shows a number
		"Where.Args has one less", "Where.Args[1].Op", "Where.Args[1].Right.Value", "Where.Args[1].Right.ExprBase", "Where.Args[1].Right is a literal", // the caller's own condition
		"Where.Args[1].Left.Names[0] is id", "Where.Args[1].Left.Names[0] is tenant", "Where.Args[1].Left is a column", "Where.Args[1].Left.ExprBase",
		"Where.ExprBase.Alias", "Where.Args[0].ExprBase.Alias", "Where.Args[1].ExprBase.Alias", // a condition has no name
	}
	decode, read, err := prove.TreeOf(context.Background(), db, input(db, text))
	require.NoError(t, err)
	for f := range fenceNodes(decode()) {
		count := len(edits("", "", fenceNodes(decode())[f]))
		require.Greater(t, count, 30)
		for i := range count {
			root := decode()
			e := edits("", "", fenceNodes(root)[f])[i]
			e.do()
			if what := fmt.Sprintf("fence %d%s", f, e.path); read(root) == nil && !named(harmless, what) {
				t.Errorf("%s passes", what)
			}
		}
	}
}

// TestEveryFieldOfAHavingMatters does so for what minimum groups ask of HAVING.
func TestEveryFieldOfAHavingMatters(t *testing.T) {
	db := openShop(t)
	harmless := []string{
		".Alias", ".Value.Type.", // names no result and is bound by DuckDB
		".Args has one more",        // a further condition; IS NOT NULL takes one value
		".Then.", ".Else.Value.Raw", // row() is no aggregate, and NULL has no text
		".Query.Select",                                      // other columns that the subject has, and other dimensions
		".Where.Left is a column", ".Where.Args[0] is a col", // what it was
	}
	for _, query := range []string{
		`SELECT sum(o.total_cents) AS s FROM [[orders: id, total_cents]] AS o HAVING count(DISTINCT "o"."id") >= 5 AND count("o"."total_cents") >= 5`,
		`SELECT sum(i.qty) AS s FROM [[order_items: order_id, line, qty]] AS i HAVING count(DISTINCT CASE WHEN "i"."order_id" IS NOT NULL AND "i"."line" IS NOT NULL THEN ("i"."order_id", "i"."line") END) >= 5 AND count("i"."qty") >= 5`,
		`SELECT count(*) AS n FROM (SELECT (upper("region")) AS big_region, "id" FROM [[customers: region, id]]) AS u HAVING count(DISTINCT "u"."id") >= 7`,
	} {
		in := groupInput(db, limited(fenced(query, groupRules())))
		decode, read, err := prove.TreeOf(context.Background(), db, in)
		require.NoError(t, err)
		require.NoError(t, read(decode()))
		of := func(root sqlast.Query) []edit {
			return slices.DeleteFunc(edits("", "", reflect.ValueOf(root.(*sqlast.SelectNode)).Elem()), func(e edit) bool {
				return !strings.HasPrefix(e.path, ".Having") && !strings.HasPrefix(e.path, ".From") && !strings.HasPrefix(e.path, ".Qualify") &&
					!strings.HasPrefix(e.path, ".Sample") && !strings.HasPrefix(e.path, ".QueryBase.CTEs")
			})
		}
		for i := range of(decode()) {
			root := decode()
			e := of(root)[i]
			e.do()
			if read(root) == nil && !named(harmless, e.path) {
				t.Errorf("%s passes", e.path)
			}
		}
	}
}

// readings is DuckDB, except that it reads one text as it reads others.
type readings struct {
	*ducktest.DB
	of         func(text string) bool
	tree, plan string // "" for the text's own
	seen       int
}

func (r *readings) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	out, err := r.DB.Check(ctx, texts)
	for i, text := range texts {
		if err != nil || !r.of(text) {
			continue
		}
		r.seen++
		for _, from := range []string{r.tree, r.plan} {
			if from == "" {
				continue
			}
			other, err := r.DB.Check(ctx, []string{from})
			if err != nil || !other[0].OK {
				return nil, fmt.Errorf("%s: %w %s", from, err, other[0].Error)
			}
			if from == r.tree {
				out[i].Tree = other[0].Tree
			} else {
				out[i].Plan = other[0].Plan
			}
		}
	}
	return out, err
}

// TestOtherReadingsAreRefused reads the rule of an entity, and a fence alone, as other
// texts are read, by their trees or by their plans. Nothing but their own will do.
func TestOtherReadingsAreRefused(t *testing.T) {
	db := openShop(t)
	text := limited(fenced(`SELECT o.id FROM [[orders: id]] AS o`, shopRules()))
	const column = `COALESCE("id", NULL) AS "id"`
	rule := func(text string) bool { return strings.Contains(text, `SELECT 1 FROM "plumbline"."base"."orders"`) }
	fence := func(text string) bool { return strings.HasPrefix(text, "FROM (SELECT "+column) }
	for what, of := range map[string]func(string) bool{"1": rule, column: fence} {
		from, where := `FROM "plumbline"."base"."orders"`, ` WHERE ("tenant" = 'acme')`
		end := map[string]string{"1": "", column: " OFFSET 0"}[what]
		inner := "SELECT " + what + " " + from + where + end
		for _, other := range []string{
			`SELECT 1`, `SELECT 1 UNION SELECT 2`, `FROM (` + inner + `) LIMIT 1`, `FROM (` + inner + `) AS t WHERE true`, `FROM ((` + inner + `) UNION ALL SELECT 1)`,
			`FROM (SELECT 1 FROM range(3) WHERE true)`, `FROM (SELECT 1 FROM "plumbline"."base"."customers"` + where + end + `)`,
			`FROM (SELECT 1 FROM "memory"."base"."products" WHERE true` + end + `)`,
			`FROM (SELECT 1 FROM "memory"."main"."products" WHERE true` + end + `)`,
			`FROM (SELECT ` + what + ` ` + from + ` AS orders` + where + end + `)`,
			`FROM (WITH w AS (SELECT 1) ` + inner + `)`, `FROM (SELECT ` + what + ` ` + from + where + ` ORDER BY 1` + end + `)`,
			`FROM (SELECT ` + what + ` ` + from + where + ` GROUP BY 1` + end + `)`, `FROM (SELECT 1 ` + from + where + ` HAVING true` + end + `)`,
			`FROM (SELECT ` + what + ` ` + from + where + ` QUALIFY row_number() OVER () > 0` + end + `)`,
			`FROM (SELECT ` + what + ` ` + from + ` TABLESAMPLE 10%` + where + end + `)`,
			`FROM (SELECT ` + what + `, 2 ` + from + where + end + `)`, `FROM (SELECT ` + what + ` ` + from + end + `)`,
		} {
			if strings.HasPrefix(other, "FROM ("+inner+"\n)") {
				continue
			}
			pl := &readings{DB: db, of: of, tree: other}
			_, _, err := prove.Check(context.Background(), pl, input(db, text))
			require.Error(t, err, "the tree of %s for %s", other, inner)
			require.Positive(t, pl.seen)
		}
		for _, other := range []string{
			`SELECT 1`, `FROM (SELECT ` + what + ` FROM "plumbline"."base"."customers"` + where + end + `)`,
			`FROM (SELECT ` + what + ` FROM "plumbline"."base"."orders"` + where + end + `) AS a, (` + inner + `) AS b`,
			`SELECT 1 FROM (` + inner + `) AS a JOIN range(3) AS r(n) ON true`,
		} {
			pl := &readings{DB: db, of: of, plan: other}
			_, _, err := prove.Check(context.Background(), pl, input(db, text))
			require.Error(t, err, "the plan of %s for %s", other, inner)
			require.Positive(t, pl.seen)
		}
	}
}

// failing fails the call with a number, or breaks what it gives.
type failing struct {
	*ducktest.DB
	at, calls int
	broken    func([]prove.Checked) []prove.Checked
}

var errGone = errors.New("the worker is gone")

func (f *failing) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	f.calls++
	if f.calls != f.at {
		return f.DB.Check(ctx, texts)
	}
	if f.broken == nil {
		return nil, errGone
	}
	out, err := f.DB.Check(ctx, texts)
	return f.broken(out), err
}

// TestPlannerThatFails: what the planner says comes back, and what it breaks is refused.
func TestPlannerThatFails(t *testing.T) {
	db := openShop(t)
	in := input(db, limited(fenced(`SELECT o.id FROM [[orders: id]] AS o`, shopRules())))
	last := func(edit func(*prove.Checked)) func([]prove.Checked) []prove.Checked {
		return func(list []prove.Checked) []prove.Checked { edit(&list[len(list)-1]); return list }
	}
	for at := 1; at <= 2; at++ {
		_, _, err := prove.Check(context.Background(), &failing{DB: db, at: at}, in)
		require.ErrorIs(t, err, errGone)
		for name, broken := range map[string]func([]prove.Checked) []prove.Checked{
			"one less": func(list []prove.Checked) []prove.Checked { return list[1:] },
			"one more": func(list []prove.Checked) []prove.Checked { return append(list, list[0]) },
			"tree":     last(func(c *prove.Checked) { c.Tree = []byte(`{}`) }),
			"plan":     last(func(c *prove.Checked) { c.Plan = []byte(`{}`) }),
			"unbound":  last(func(c *prove.Checked) { *c = prove.Checked{} }),
		} {
			got, _, err := prove.Check(context.Background(), &failing{DB: db, at: at, broken: broken}, in)
			require.Error(t, err, "%s at %d", name, at)
			require.Empty(t, got.Text())
		}
	}
}

// plants lists the edits that put a call which nobody may make into each place of a
// tree where an expression may stand.
func plants(path string, v reflect.Value) []edit {
	var out []edit
	switch {
	case v.Type() == exprType:
		out = append(out, edit{path, func() { v.Set(reflect.ValueOf(&sqlast.Function{Name: "getenv"})) }})
		fallthrough
	case v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			node := reflect.Indirect(reflect.ValueOf(v.Interface()))
			out = append(out, plants(path+"("+node.Type().Name()+")", node)...)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			out = append(out, plants(path+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			out = append(out, plants(fmt.Sprintf("%s[%d]", path, i), v.Index(i))...)
		}
	}
	return out
}

// TestEveryPlaceIsRead plants a call into every place of the accepted texts' trees,
// also into places that their texts leave empty.
func TestEveryPlaceIsRead(t *testing.T) {
	db := openShop(t)
	harmless := []string{".Type.Expr", "(Lambda).Params"} // names of types and of parameters
	texts := acceptedTexts(t)
	for _, query := range []string{
		`SELECT CASE WHEN o.id BETWEEN 1 AND 2 THEN 'a' ELSE 'b' COLLATE NOCASE END AS x FROM [[orders: id]] AS o`,
		`SELECT sum(o.id) FILTER (WHERE o.id > 1) OVER (PARTITION BY o.status ORDER BY o.id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM [[orders: id, status]] AS o`,
		`SELECT DISTINCT ON (o.id) o.id, lag(o.id, 1, 0 ORDER BY o.id) OVER (ORDER BY o.id) AS l FROM [[orders: id]] AS o ORDER BY o.id LIMIT 5 OFFSET 1`,
		`SELECT list(o.id ORDER BY o.status) AS l, ('{}'::JSON)->'a' AS j FROM [[orders: id, status]] AS o, (VALUES (1), (2)) AS v(a)`,
		`WITH RECURSIVE r(n) USING KEY (n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r`,
	} {
		texts = append(texts, accepted{limited(fenced(query, shopRules())), shopRules()})
	}
	places := 0
	for _, c := range texts {
		text := c.text
		decode, read, err := prove.TreeOf(context.Background(), db, under(db, text, c.rules))
		require.NoError(t, err)
		require.NoError(t, read(decode()), text)
		of := func(root sqlast.Query) []edit { return plants("", reflect.ValueOf(&root).Elem()) }
		for i := range of(decode()) {
			root := decode()
			e := of(root)[i]
			e.do()
			places++
			if read(root) == nil && !named(harmless, e.path) {
				t.Errorf("%s\nnothing reads%s", text, e.path)
			}
		}
	}
	require.Greater(t, places, 1000)
}
