package opa

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/semantic"
)

// kinds are the columns of the property's entity: Rego values that a row may hold
// and a rule may name, and how a value is written in SQL.
var kinds = []struct {
	name   semantic.Name
	kind   semantic.Type
	values []string // as JSON; null is added
	sql    func(json string) string
	order  bool
}{
	{"s1", "varchar", texts, sqlText, true},
	{"s2", "varchar", texts, sqlText, true},
	{"n1", "bigint", []string{"-9007199254740993", "-1", "0", "1", "2", "9007199254740993"}, plain, true},
	{"n2", "bigint", []string{"0", "1", "2"}, plain, true},
	{"tiny", "tinyint", []string{"-1", "0", "100", "127"}, plain, true},
	{"dec", "decimal(12,2)", []string{"-0.5", "0", "1", "1.25", "1.3", "1000000000.01"}, plain, true},
	{"dbl", "double", []string{"-0.1", "0", "0.1", "0.30000000000000004", "2", "100000"}, plain, true},
	{"flag", "boolean", []string{"true", "false"}, plain, false},
	{"größe", "varchar", texts, sqlText, true},
	{"id", "uuid", []string{`"11111111-2222-3333-4444-555555555555"`, `"aaaaaaaa-2222-3333-4444-555555555555"`}, sqlText, true},
	{"day", "date", []string{`"0001-01-01"`, `"2025-12-31"`, `"2026-01-01"`, `"9999-12-31"`}, sqlText, true},
	{"at", "timestamp", []string{`"2026-01-01T00:00:00"`, `"2026-01-01T00:00:01"`, `"2026-03-29T02:30:00"`}, sqlText, true},
	{"tz", "timestamptz", []string{`"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:01Z"`, `"2026-03-29T01:30:00Z"`}, sqlText, true},
}

var texts = []string{`""`, `"a"`, `"A"`, `"ab"`, `"ac'me"`, `"a%b"`, `"a_b"`, `"\\"`, `"ä"`, `"zß"`, `"\"x\""`, `" a"`}

func plain(j string) string { return j }

func sqlText(j string) string {
	var s string
	if err := json.Unmarshal([]byte(j), &s); err != nil {
		panic(err)
	}
	return semantic.QuoteText(s)
}

func propertyEntity() *semantic.Entity {
	e := &semantic.Entity{Name: "t"}
	for _, k := range kinds {
		e.Fields = append(e.Fields, &semantic.Field{Name: k.name, Column: string(k.name), Type: k.kind, Visibility: semantic.Output})
	}
	return e
}

// ruleText draws a rows rule: conditions, and helper rules for OR and for the
// negation of several conditions. ordered gathers the fields in order comparisons.
type ruleText struct {
	t       *rapid.T
	helpers []string
	ordered map[semantic.Name]bool
}

func (r *ruleText) body(depth int) []string {
	out := make([]string, rapid.IntRange(1, 2).Draw(r.t, "width"))
	for i := range out {
		out[i] = r.term(depth)
	}
	return out
}

func (r *ruleText) term(depth int) string {
	not := ""
	if rapid.IntRange(0, 3).Draw(r.t, "not") == 0 {
		not = "not "
	}
	if depth == 0 || rapid.IntRange(0, 2).Draw(r.t, "leaf") > 0 {
		return not + r.atom()
	}
	var bodies []string
	name := fmt.Sprintf("h%d", len(r.helpers))
	r.helpers = append(r.helpers, "")
	for range rapid.IntRange(1, 3).Draw(r.t, "bodies") {
		bodies = append(bodies, name+" if {\n\t"+strings.Join(r.body(depth-1), ";\n\t")+"\n}\n")
	}
	r.helpers = append(r.helpers, bodies...)
	return not + name
}

func (r *ruleText) atom() string {
	k := kinds[rapid.IntRange(0, len(kinds)-1).Draw(r.t, "field")]
	field := fmt.Sprintf("input.row[%q]", k.name)
	value := func() string { return rapid.SampledFrom(k.values).Draw(r.t, "value") }
	choices := []string{"eq", "neq", "in", "null", "in null", "in nothing"}
	if k.order {
		choices = append(choices, "order", "order", "between")
	}
	if k.kind == "varchar" {
		choices = append(choices, "match", "match", "match", "fields")
	}
	if k.kind == "bigint" {
		choices = append(choices, "fields")
	}
	op := rapid.SampledFrom([]string{"<", "<=", ">", ">="}).Draw(r.t, "op")
	switch rapid.SampledFrom(choices).Draw(r.t, "shape") {
	case "eq":
		return field + " == " + value()
	case "neq":
		return value() + " != " + field
	case "in":
		return field + " in [" + value() + ", " + value() + "]"
	case "in nothing":
		return field + " in []"
	case "in null":
		return field + " in {" + value() + ", null}"
	case "null":
		return field + rapid.SampledFrom([]string{" == null", " != null"}).Draw(r.t, "null")
	case "match":
		return rapid.SampledFrom([]string{"startswith", "endswith", "contains"}).Draw(r.t, "match") + "(" + field + ", " + value() + ")"
	case "fields":
		other := map[semantic.Name]semantic.Name{"s1": "s2", "s2": "größe", "größe": "s1", "n1": "n2", "n2": "n1"}[k.name]
		op := rapid.SampledFrom([]string{"==", "!=", "<", ">="}).Draw(r.t, "fields")
		if op == "<" || op == ">=" {
			r.ordered[k.name], r.ordered[other] = true, true
		}
		return fmt.Sprintf("%s %s input.row[%q]", field, op, other)
	case "between":
		r.ordered[k.name] = true
		return value() + " " + op + " " + field
	}
	r.ordered[k.name] = true
	return field + " " + op + " " + value()
}

// TestPredicateAgreesWithRego compares, row by row, the rule evaluated by OPA with
// the printed predicate run by DuckDB. They are equal, except that an order
// comparison never lets NULL through, which may only take rows away.
func TestPredicateAgreesWithRego(t *testing.T) {
	said, refused := 0, 0
	check := agreement(t)
	rapid.Check(t, func(rt *rapid.T) {
		if check(rt) {
			said++
		} else {
			refused++
		}
	})
	require.Greater(t, said, refused, "most drawn rules can be said")
}

// FuzzPredicateAgreesWithRego is the same property, steered by coverage.
func FuzzPredicateAgreesWithRego(f *testing.F) {
	check := agreement(f)
	for seed := range 8 {
		f.Add(bytes.Repeat([]byte{byte(seed * 31), byte(seed), 7, byte(255 - seed*17)}, 64))
	}
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) { check(rt) }))
}

// agreement makes the check of one drawn rule; it tells whether the rule could be said.
func agreement(t testing.TB) func(*rapid.T) bool {
	e := propertyEntity()
	db := ducktest.Open(t, semantic.NewCatalog(semantic.Catalog{Revision: "", Entities: []*semantic.Entity{e}}))
	rows, dir := propertyRows(t, db), writeBundle(t, nil)
	return func(rt *rapid.T) bool {
		r := &ruleText{t: rt, ordered: map[semantic.Name]bool{}}
		body := strings.Join(r.body(2), ";\n\t")
		text := "package plumbline.access\n\nrows.test if {\n\t" + body + "\n}\n\n" + strings.Join(r.helpers, "\n")
		require.NoError(rt, os.WriteFile(filepath.Join(dir, "rows.rego"), []byte(text), 0o600))
		p, err := Open(dir, Options{Timeout: 5 * time.Second})
		require.NoError(rt, err)
		access, err := p.decideEntity(context.Background(), people["ana"], testNow, e)
		if err != nil {
			requireUnsayable(rt, err)
			return false
		}
		compareRows(rt, db, text, access.Rows, rows, r.ordered)
		return true
	}
}

func compareRows(rt *rapid.T, db *ducktest.DB, text string, printed policy.Predicate, rows []map[string]any, ordered map[semantic.Name]bool) {
	got := matching(rt, db, printed)
	ask, err := rego.New(rego.Module("rows.rego", text), rego.Query("data.plumbline.access.rows.test")).PrepareForEval(context.Background())
	require.NoError(rt, err)
	for i, row := range rows {
		rs, err := ask.Eval(context.Background(), rego.EvalInput(map[string]any{"row": row}))
		require.NoError(rt, err)
		want, unordered := rs.Allowed(), false
		for f := range ordered {
			unordered = unordered || row[string(f)] == nil
		}
		if got[i] && !want || (want && !got[i] && !unordered) {
			rt.Fatalf("%s\nrow %v\nRego says %v, SQL says %v:\n%s", text, row, want, got[i], printed.SQL)
		}
	}
}

func requireUnsayable(t *rapid.T, err error) {
	// A drawn rule may come to no condition at all; nothing else is refused.
	if !strings.Contains(err.Error(), "holds for every row") && !strings.Contains(err.Error(), "alternatives") {
		t.Fatalf("refused: %v", err)
	}
}

// propertyRows fills the table with every value of every column beside drawn
// others and NULLs, and gives the same rows as Rego's input.
func propertyRows(t testing.TB, db *ducktest.DB) []map[string]any {
	var rows []map[string]any
	db.Exec(t, `ALTER TABLE "plumbline"."base"."t" ADD COLUMN "row number" INTEGER`)
	for i := range 120 {
		row, values := map[string]any{}, make([]string, len(kinds))
		for j, k := range kinds {
			pick := (i*(j+3) + i*i/7 + j) % (len(k.values) + 1)
			if pick == len(k.values) {
				row[string(k.name)], values[j] = nil, "NULL"
				if k.kind == "double" && i%2 == 0 {
					values[j] = map[bool]string{true: "'NaN'", false: "'-Infinity'"}[i%4 == 0]
				}
				continue
			}
			row[string(k.name)] = json.RawMessage(k.values[pick])
			values[j] = k.sql(k.values[pick])
		}
		db.Exec(t, fmt.Sprintf(`INSERT INTO "plumbline"."base"."t" VALUES (%s, %d)`, strings.Join(values, ", "), i))
		rows = append(rows, row)
	}
	return rows
}

func matching(rt *rapid.T, db *ducktest.DB, p policy.Predicate) map[int]bool {
	out := map[int]bool{}
	if p.Truth != policy.When {
		return out
	}
	rows, err := db.Query(`SELECT "row number" FROM "plumbline"."base"."t" WHERE (` + p.SQL + `)`)
	require.NoError(rt, err, p.SQL)
	defer rows.Close()
	for rows.Next() {
		var i int
		require.NoError(rt, rows.Scan(&i))
		out[i] = true
	}
	require.NoError(rt, rows.Err())
	return out
}

// TestNumberLiterals holds the numbers to what SQL compares exactly.
func TestNumberLiterals(t *testing.T) {
	for _, c := range []struct {
		kind semantic.Type
		text string
		want string
	}{
		{"bigint", "5", "5"}, {"bigint", "5.0", "5"}, {"bigint", "-9223372036854775808", "-9223372036854775808"},
		{"bigint", "9223372036854775808", ""}, {"bigint", "1e3", ""}, {"bigint", "1e999999999", ""}, {"bigint", "0.5", ""},
		{"decimal(38,10)", "1.12345678901", ""}, {"decimal(38,10)", "1.5", "1.5"}, {"decimal", "1.0005", "1.0005"},
		{"double", "0.1", "1e-01"}, {"double", "0.10000000000000001", ""}, {"double", "9007199254740993", ""},
		{"double", fmt.Sprintf("%.0f", math.MaxFloat64), ""},
	} {
		got, ok := numberLiteral(c.kind, c.text)
		if c.want == "" {
			require.False(t, ok, "%s %s", c.kind, c.text)
			continue
		}
		require.True(t, ok, "%s %s", c.kind, c.text)
		require.Equal(t, c.want, got)
	}
}
