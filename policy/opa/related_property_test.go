package opa

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/semantic"
)

// family is a model whose entity a leads to others in every way that a rule may go.
func family() *semantic.Catalog {
	entity := func(name semantic.Name, fields ...semantic.Name) *semantic.Entity {
		e := &semantic.Entity{Name: name}
		for _, f := range fields {
			kind := semantic.Type("bigint")
			switch f {
			case "s":
				kind = "varchar"
			case "day":
				kind = "date"
			}
			e.Fields = append(e.Fields, &semantic.Field{Name: f, Column: string(f), Type: kind, Visibility: semantic.Output})
		}
		return e
	}
	lead := func(e *semantic.Entity, name, to semantic.Name, kind semantic.RelationshipKind, on ...semantic.Name) {
		r := &semantic.Relationship{Name: name, To: to, Kind: kind}
		for i := 0; i < len(on); i += 2 {
			r.On = append(r.On, semantic.JoinPair{From: on[i], To: on[i+1]})
		}
		e.Relationships = append(e.Relationships, r)
	}
	a := entity("a", "id", "b_id", "x", "y", "s", "n", "day")
	b := entity("b", "id", "d_id", "s", "n", "day")
	c := entity("c", "a_id", "b_id", "s", "n", "day")
	d := entity("d", "id", "s", "n", "day")
	p := entity("p", "x", "y", "s", "n", "day")
	ad := entity("ad", "a_id", "d_id")
	lead(a, "b", "b", semantic.ManyToOne, "b_id", "id")
	lead(a, "cs", "c", semantic.OneToMany, "id", "a_id")
	lead(a, "pair", "p", semantic.ManyToOne, "x", "x", "y", "y")
	lead(b, "d", "d", semantic.ManyToOne, "d_id", "id")
	lead(c, "b", "b", semantic.ManyToOne, "b_id", "id")
	lead(ad, "of", "a", semantic.ManyToOne, "a_id", "id")
	lead(ad, "to", "d", semantic.ManyToOne, "d_id", "id")
	a.Relationships = append(a.Relationships, &semantic.Relationship{Name: "ds", To: "d", Kind: semantic.ManyToMany,
		Through: &semantic.Bridge{Entity: "ad", Near: "of", Far: "to"}})
	return semantic.NewCatalog(semantic.Catalog{Entities: []*semantic.Entity{a, b, c, d, p, ad}})
}

// toOnes are the ways from a to one row, toManys those to several; a way goes on
// from each of several rows as ways says.
var (
	toOnes  = []string{"b", "b.d", "pair"}
	toManys = map[string][]string{"cs": {"", "b", "b.d"}, "ds": {""}}
)

// relatedText draws rules over related rows.
type relatedText struct {
	t       *rapid.T
	helpers []string
	names   int
	inNot   int
	// missing says that a row may be kept out since a related row is missing where
	// a negated condition asks for it; unordered, since a null has no order.
	missing, unordered bool
}

func (r *relatedText) body(depth int) []string {
	var out []string
	for range rapid.IntRange(1, 2).Draw(r.t, "width") {
		out = append(out, r.term(depth)...)
	}
	return out
}

func (r *relatedText) term(depth int) []string {
	switch rapid.IntRange(0, 6).Draw(r.t, "term") {
	case 0:
		return []string{r.condition("input.row")}
	case 1:
		r.missing = r.missing || r.inNot > 0
		return []string{r.condition("input.row." + rapid.SampledFrom(toOnes).Draw(r.t, "way"))}
	case 2:
		r.missing = true
		return []string{"not " + r.condition("input.row."+rapid.SampledFrom(toOnes).Draw(r.t, "way"))}
	case 3:
		return []string{rapid.SampledFrom([]string{"", "not "}).Draw(r.t, "not") + "input.row." + rapid.SampledFrom([]string{"b", "pair"}).Draw(r.t, "way")}
	case 4, 5:
		return r.some()
	}
	if depth == 0 {
		return []string{r.condition("input.row")}
	}
	name := fmt.Sprintf("h%d", len(r.helpers))
	r.helpers = append(r.helpers, "")
	not := rapid.SampledFrom([]string{"", "not ", "not "}).Draw(r.t, "not")
	r.inNot += len(not)
	for range rapid.IntRange(1, 2).Draw(r.t, "bodies") {
		r.helpers = append(r.helpers, name+" if {\n\t"+strings.Join(r.body(depth-1), "\n\t")+"\n}\n")
	}
	r.inNot -= len(not)
	return []string{not + name}
}

// some draws conditions on one of several related rows.
func (r *relatedText) some() []string {
	r.names++
	m := fmt.Sprintf("m%d", r.names)
	list := rapid.SampledFrom([]string{"cs", "ds"}).Draw(r.t, "list")
	out := []string{"some " + m + " in input.row." + list}
	for range rapid.IntRange(0, 3).Draw(r.t, "conditions") {
		way := rapid.SampledFrom(toManys[list]).Draw(r.t, "on")
		not := rapid.SampledFrom([]string{"", "", "not "}).Draw(r.t, "not")
		if way != "" {
			r.missing = r.missing || not != "" || r.inNot > 0
			way = "." + way
		}
		out = append(out, not+r.condition(m+way))
	}
	return out
}

func (r *relatedText) condition(row string) string {
	text := func() string { return rapid.SampledFrom([]string{`"a"`, `"b"`, "null"}).Draw(r.t, "text") }
	switch rapid.IntRange(0, 9).Draw(r.t, "shape") {
	case 6:
		r.unordered = true
		return row + ".day " + rapid.SampledFrom([]string{"<", ">=", "<=", ">"}).Draw(r.t, "order") + " data.plumbline.lib." +
			rapid.SampledFrom([]string{"days_ago(30)", "today", "start_of_year", "months_ago(12)"}).Draw(r.t, "day")
	case 7:
		return row + ".s in data.places.of[input.subject.claims.tenant]"
	case 8:
		return row + ".n == data.places.size[" + row + ".s]"
	case 0:
		return row + ".s == " + text()
	case 1:
		return row + ".s != " + text()
	case 2:
		return row + ".s in {" + text() + ", " + text() + "}"
	case 3:
		return `startswith(` + row + `.s, "a")`
	case 4:
		r.unordered = true
		return row + ".n " + rapid.SampledFrom([]string{"<", ">="}).Draw(r.t, "order") + " 1"
	}
	return row + ".n == " + rapid.SampledFrom([]string{"0", "1", "2"}).Draw(r.t, "number")
}

// TestRelatedRowsAgreeWithRego compares, row by row, rules over related rows as
// OPA evaluates them on documents with the printed predicate in DuckDB. The
// predicate lets no row through that the rule does not, and every row that it does
// but for those without the related row of a negated condition, or with a null in
// an order comparison.
func TestRelatedRowsAgreeWithRego(t *testing.T) {
	said, through, strict := 0, 0, 0
	check := relatedAgreement(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, fewer := check(rt)
		if p != nil {
			said++
			through += min(len(p.Through), 1)
			strict += min(fewer, 1)
		}
	})
	require.Greater(t, through, said/3, "many rules go through relationships")
	require.Less(t, strict, said/2, "most rules let through exactly what Rego does")
}

// FuzzRelatedRowsAgreeWithRego is the same property, steered by coverage.
func FuzzRelatedRowsAgreeWithRego(f *testing.F) {
	check := relatedAgreement(f)
	for seed := range 8 {
		f.Add(bytes.Repeat([]byte{byte(seed * 37), byte(seed), 5, byte(255 - seed*19)}, 64))
	}
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) { check(rt) }))
}

// relatedAgreement makes the check of one drawn rule. It gives the predicate, nil
// for a rule that comes to no condition, and how many rows it lets through less.
func relatedAgreement(t testing.TB) func(*rapid.T) (*policy.Predicate, int) {
	catalog := family()
	db := ducktest.Open(t, catalog)
	rows, lib := familyRows(t, db), sampleLib(t)
	dir := writeBundle(t, map[string]string{"lib.rego": lib, "places/data.json": places})
	return func(rt *rapid.T) (*policy.Predicate, int) {
		r := &relatedText{t: rt}
		text := "package plumbline.access\n\nrows.test if {\n\t" + strings.Join(r.body(2), "\n\t") + "\n}\n\n" + strings.Join(r.helpers, "\n")
		rt.Log(text)
		require.NoError(rt, os.WriteFile(filepath.Join(dir, "rows.rego"), []byte(text), 0o600))
		p, err := Open(dir, Options{Timeout: 5 * time.Second, Catalog: catalog})
		require.NoError(rt, err)
		access, err := p.decideEntity(context.Background(), people["ana"], testNow, catalog.Entity("a"))
		if err != nil {
			requireUnsayable(rt, err)
			return nil, 0
		}
		return &access.Rows, r.compare(rt, db, []func(*rego.Rego){rego.Module("rows.rego", text), rego.Module("lib.rego", lib)}, access.Rows, rows)
	}
}

// places are the data that drawn rules look things up in.
const places = `{"of": {"acme": ["a", "ab"], "other": ["b"]}, "size": {"a": 1, "ab": 2, "b": null}}`

func (r *relatedText) compare(rt *rapid.T, db *ducktest.DB, rules []func(*rego.Rego), printed policy.Predicate, rows []map[string]any) (fewer int) {
	got := map[int64]bool{}
	if printed.Truth == policy.When {
		found, err := db.Query(`SELECT "id" FROM "plumbline"."base"."a" WHERE (` + printed.SQL + `)`)
		require.NoError(rt, err, printed.SQL)
		defer found.Close()
		for found.Next() {
			var id int64
			require.NoError(rt, found.Scan(&id))
			got[id] = true
		}
		require.NoError(rt, found.Err())
	}
	var held map[string]any
	require.NoError(rt, json.Unmarshal([]byte(places), &held))
	ask, err := rego.New(append(rules, rego.Store(inmem.NewFromObject(map[string]any{"places": held})), rego.Query("data.plumbline.access.rows.test"))...).PrepareForEval(context.Background())
	require.NoError(rt, err)
	for _, row := range rows {
		rs, err := ask.Eval(context.Background(), rego.EvalInput(map[string]any{"row": row, "now": testNow.Format(time.RFC3339), "subject": people["ana"]}))
		require.NoError(rt, err)
		want, has := rs.Allowed(), got[row["id"].(int64)]
		if has && !want || want && !has && !r.missing && !r.unordered {
			rt.Fatalf("row %v\nRego says %v, SQL says %v:\n%s", row, want, has, printed.SQL)
		}
		if want && !has {
			fewer++
		}
	}
	return fewer
}

// familyRows fills the tables and gives the rows of a as documents: related rows
// under the names of the relationships, one that is missing left out.
func familyRows(t testing.TB, db *ducktest.DB) []map[string]any {
	text := func(i int) any { return []any{"a", "b", "ab", nil}[i%4] }
	number := func(i int) any { return []any{int64(0), int64(1), int64(2), nil, int64(1)}[i%5] }
	day := func(i int) any {
		return []any{"2026-05-04", "2026-04-04", nil, "2025-12-31", "2026-01-01", "2025-05-04"}[i%6]
	}
	fill := func(table string, n int, make func(i int) []any, names ...string) []map[string]any {
		var out []map[string]any
		for i := range n {
			row, values, marks := map[string]any{}, make(i), []string{}
			for j, v := range values {
				row[names[j]] = v
				marks = append(marks, "?")
			}
			_, err := db.DB.Exec(`INSERT INTO "plumbline"."base"."`+table+`" VALUES (`+strings.Join(marks, ", ")+`)`, values...)
			require.NoError(t, err)
			out = append(out, row)
		}
		return out
	}
	key := func(i, n int) any { // some point nowhere
		if i%7 == 6 {
			return nil
		}
		return int64(i % (n + 1))
	}
	ds := fill("d", 4, func(i int) []any { return []any{int64(i), text(i + 1), number(i), day(i)} }, "id", "s", "n", "day")
	bs := fill("b", 8, func(i int) []any { return []any{int64(i), key(i, 4), text(i), number(i), day(i)} }, "id", "d_id", "s", "n", "day")
	ps := fill("p", 6, func(i int) []any { return []any{int64(i % 3), int64(i / 3), text(i), number(i + 2), day(i)} }, "x", "y", "s", "n", "day")
	as := fill("a", 60, func(i int) []any {
		return []any{int64(i), key(i, 8), key(i/2, 3), key(i/5, 2), text(i / 3), number(i / 4), day(i)}
	}, "id", "b_id", "x", "y", "s", "n", "day")
	cs := fill("c", 70, func(i int) []any { return []any{key(i*5, 59), key(i/2, 8), text(i / 3), number(i), day(i)} }, "a_id", "b_id", "s", "n", "day")
	ads := fill("ad", 50, func(i int) []any { return []any{key(i*3, 59), key(i, 4)} }, "a_id", "d_id")

	one := func(rows []map[string]any, keys ...any) any { // name, value, name, value
		for _, row := range rows {
			same := true
			for i := 0; i < len(keys); i += 2 {
				same = same && keys[i+1] != nil && row[keys[i].(string)] == keys[i+1]
			}
			if same {
				return row
			}
		}
		return nil
	}
	put := func(row map[string]any, name string, related any) {
		if related != nil {
			row[name] = related
		}
	}
	for _, b := range bs {
		put(b, "d", one(ds, "id", b["d_id"]))
	}
	for _, c := range cs {
		put(c, "b", one(bs, "id", c["b_id"]))
	}
	for _, a := range as {
		put(a, "b", one(bs, "id", a["b_id"]))
		put(a, "pair", one(ps, "x", a["x"], "y", a["y"]))
		var mine, tagged []any
		for _, c := range cs {
			if c["a_id"] == a["id"] {
				mine = append(mine, c)
			}
		}
		for _, l := range ads {
			if d := one(ds, "id", l["d_id"]); l["a_id"] == a["id"] && d != nil {
				tagged = append(tagged, d)
			}
		}
		a["cs"], a["ds"] = mine, tagged
	}
	return as
}
