package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine"
	"plumbline/engine/duck/ducktest"
)

// forms are the ways in which a query reads what calls give. %t stands for the
// relation, %s for the calls in a list, %n for a number that each of them adds to.
var forms = []string{
	"SELECT DISTINCT %s FROM %t AS e",
	"SELECT count(*) FROM %t AS e WHERE %n >= 0",
	"SELECT count(*) FROM (SELECT %s, count(*) AS n FROM %t AS e GROUP BY ALL) AS g",
	"SELECT max(s.id) FROM (SELECT e.id FROM %t AS e ORDER BY %s LIMIT 100000) AS s",
	"SELECT count(*) FROM (SELECT 1 AS k) AS o JOIN %t AS e ON o.k = e.id AND %n >= 0",
}

func inForm(form int, calls []string, relation string) string {
	number := "(" + strings.Join(calls, " IS NULL)::BIGINT + (") + " IS NULL)::BIGINT"
	return strings.NewReplacer("%s", strings.Join(calls, ", "), "%n", number, "%t", relation).Replace(forms[form%len(forms)])
}

// failingCalls gives calls over the columns of edges that fail on some values, at
// most two of each function, and every cast that fails.
func failingCalls(t *testing.T) []string {
	db := ducktest.Open(t, nil)
	var names []string
	aggregate := map[string]bool{}
	for _, f := range resolve.Functions() {
		if f.Raises && f.Size == "" && !f.Clock {
			names = append(names, f.Name)
		}
		aggregate[f.Name] = aggregate[f.Name] || f.Kind == resolve.Aggregate
	}
	var out []string
	of := map[string]int{}
	for _, s := range db.Signatures(t, names) {
		if aggregate[s.Name] || of[s.Name] == 2 {
			continue
		}
		if _, raises := db.Raises(s); !raises {
			continue
		}
		of[s.Name]++
		for only := range len(s.Args) + 1 {
			if call, ok := overEdges(s, only-1); ok && !slices.Contains(out, call) {
				out = append(out, call)
			}
		}
	}
	for from, columns := range edgeColumns {
		short, _, _ := strings.Cut(from, "(")
		for _, to := range resolve.FailingCasts()[short] {
			out = append(out, "CAST(e."+columns[0]+" AS "+to+")")
		}
	}
	slices.Sort(out)
	return out
}

// overEdges writes a call with columns of edges as its arguments, or as the only one
// of that index beside constants, which DuckDB runs otherwise; false when none is one.
func overEdges(s ducktest.Signature, only int) (string, bool) {
	args, read := make([]string, len(s.Args)), false
	for i, typ := range s.Args {
		base := strings.TrimSuffix(typ, "[]")
		columns, ok := edgeColumns[base]
		hint := hints[fmt.Sprintf("%s %d", s.Name, i)]
		switch {
		case typ == ducktest.Lambda:
			args[i] = ducktest.LambdaOf(s.Name)
		case (s.Fixed[i] || !ok || only >= 0 && only != i) && hint != nil:
			args[i] = hint[0]
		case s.Fixed[i] || !ok || only >= 0 && only != i:
			args[i] = ducktest.Literal(typ, ducktest.Edges[typ][0])
		case base == typ:
			args[i], read = "e."+columns[min(i, 1)], true
		default:
			args[i], read = "[e."+columns[0]+", e."+columns[1]+"]", true
		}
	}
	return s.Call(args...), read
}

// fencesOfEdges gives the fence of edges under each rule as the product wrote it
// into its record.
func fencesOfEdges(t *testing.T) map[string]string {
	dir := t.TempDir()
	require.NoError(t, writeRandom(dir, "csv", randomTables(20240331)))
	e, err := engine.Open(context.Background(), dir, engine.Options{Temp: filepath.Join(dir, "temp")})
	require.NoError(t, err)
	for _, shape := range shapes {
		require.Empty(t, server{engine: e}.whole(asked{shape: shape, text: "SELECT * FROM edges AS e"}).Error)
	}
	require.NoError(t, e.Close())
	raw, err := os.ReadFile(filepath.Join(dir, "audit", "audit.jsonl"))
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		var r struct {
			Subject  struct{ ID string }
			FinalSQL string `json:"final_sql"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if _, rest, ok := strings.Cut(r.FinalSQL, " FROM (SELECT "); ok {
			end := strings.LastIndex(rest, " OFFSET 0)")
			require.Positive(t, end, r.FinalSQL)
			out[r.Subject.ID] = "(SELECT " + rest[:end] + " OFFSET 0)"
		}
	}
	require.Len(t, out, len(shapes))
	return out
}

// The rows of a set: enough of the subject's for DuckDB to hold whole vectors of
// them, with few values, as dictionaries, which the others' values are in too.
const rowsOfEdges, othersEach = 2400, 40

// openEdges gives a DuckDB set as a worker is, with edges as one storage holds it:
// all rows, or those that the subject sees.
func openEdges(t *testing.T, storage string, all bool) *ducktest.DB {
	db := ducktest.Open(t, nil)
	db.Exec(t, "SET preserve_insertion_order = false")
	db.Exec(t, "SET disabled_optimizers = 'statistics_propagation'")
	db.Exec(t, `CREATE TABLE plumbline.base.tenants AS FROM (VALUES ('acme', 'yes'), ('globex', 'no'), ('initech', NULL)) AS v(name, own)`)
	db.Exec(t, "CREATE TABLE kinds AS "+kindsOfRows(storage))
	rows := fmt.Sprintf(`SELECT n + 1 AS id, k.* EXCLUDE (kind) FROM range(%d) AS r(n) JOIN kinds AS k
		ON k.kind = CASE WHEN n %% %d <> 7 THEN 0 WHEN %v THEN 1 + n // %d %% %d END ORDER BY n`, rowsOfEdges, othersEach, all, othersEach, kindsOfOthers)
	dir := t.TempDir()
	if storage == "native" { // in a file, compressed, as a worker has it
		db.Exec(t, "ATTACH '"+filepath.Join(dir, "edges.duckdb")+"' AS stored")
		db.Exec(t, "CREATE TABLE stored.edges AS "+rows)
		db.Exec(t, "CHECKPOINT stored")
		db.Exec(t, "CREATE VIEW plumbline.base.edges AS FROM stored.edges")
		return db
	}
	file := filepath.Join(dir, "edges."+storage)
	format := map[string]string{"ndjson": "json"}[storage]
	if format == "" {
		format = storage
	}
	db.Exec(t, "COPY ("+rows+") TO '"+file+"' (FORMAT "+format+")")
	columns := "{'id': 'BIGINT', 'tenant': 'VARCHAR', 'home': 'VARCHAR', 'opened': 'TIMESTAMP', 'dropped': 'DATE'"
	for _, typ := range slices.Sorted(maps.Keys(edgeColumns)) {
		names := edgeColumns[typ]
		columns += ", '" + names[0] + "': '" + typ + "', '" + names[1] + "': '" + typ + "'"
	}
	read := map[string]string{"parquet": "read_parquet('" + file + "')", "csv": "read_csv('" + file + "', header = true, columns = " + columns + "})",
		"ndjson": "read_json('" + file + "', format = 'newline_delimited', columns = " + columns + "})"}[storage]
	db.Exec(t, "CREATE VIEW plumbline.base.edges AS FROM "+read)
	return db
}

const kindsOfOthers = 60

// kindsOfRows are the rows that differ: one of the subject's, with tame values, and
// others with every edge.
func kindsOfRows(storage string) string {
	out := "SELECT 0 AS kind, 'acme' AS tenant, 'acme' AS home, TIMESTAMP '2026-02-02' AS opened, NULL::DATE AS dropped" + edgeValues(0, storage)
	for i := 1; i <= kindsOfOthers; i++ {
		out += fmt.Sprintf(" UNION ALL SELECT %d, 'globex', 'x', TIMESTAMP '1999-01-01', DATE '2026-02-02'", i) + edgeValues(i, storage)
	}
	return out
}

// edgeValues are the values of one row; row 0 is the tame one. Text files hold years
// of four digits, and numbers that their readers can read back.
func edgeValues(row int, storage string) string {
	var b strings.Builder
	for _, typ := range slices.Sorted(maps.Keys(edgeColumns)) {
		names, edges := edgeColumns[typ], ducktest.Edges[typ]
		if storage == "csv" || storage == "ndjson" {
			edges = slices.DeleteFunc(slices.Clone(edges), func(v string) bool {
				year, _, dated := strings.Cut(v, "-")
				return (typ == "DATE" || typ == "TIMESTAMP") && (!dated || len(year) != len("'2026")) ||
					storage == "ndjson" && (typ == "DOUBLE" && strings.Contains(v, "'") || typ == "DECIMAL(18,3)" && len(v) > 10)
			})
		}
		for i, name := range names {
			fmt.Fprintf(&b, ", %s AS %s", ducktest.Literal(typ, edges[(row*(1+i*2)+i*min(row, 1))%len(edges)]), name)
		}
	}
	return b.String()
}

// throwing asks calls of a set with all rows, and of one with the subject's rows only.
type throwing struct {
	all, own *ducktest.DB
	known    map[string]string // what own said
}

// tells reports that calls in a form answer otherwise over all rows than over the
// subject's own, which any fence lets through.
func (th *throwing) tells(form int, calls []string, relation string) bool {
	question := inForm(form, calls, "")
	want, ok := th.known[question]
	if !ok {
		want = rowsOf(th.own, inForm(form, calls, "plumbline.base.edges"))
		th.known[question] = want
	}
	return rowsOf(th.all, inForm(form, calls, relation)) != want
}

// leaks gives those of the calls by which a relation tells.
func (th *throwing) leaks(form int, calls []string, relation string) (out []string) {
	if !th.tells(form, calls, relation) {
		return nil
	}
	for _, call := range calls {
		if len(calls) == 1 || th.tells(form, []string{call}, relation) {
			out = append(out, call)
		}
	}
	if len(out) == 0 {
		return []string{strings.Join(calls, ", ")} // only together
	}
	return out
}

// TestThrowingFunctions calls every function and cast that fails on some value, under
// every shape of a rule and over every storage, where only forbidden rows hold such
// values. Nothing may tell them. With columns that leave the
// fence as they are stored, the same calls must.
func TestThrowingFunctions(t *testing.T) {
	calls := failingCalls(t)
	fences, own := fencesOfEdges(t), openEdges(t, "native", false)
	calls = slices.DeleteFunc(calls, func(call string) bool { // which fail on tame values, so that they would hide others
		return rowsOf(own, inForm(1, []string{call}, "plumbline.base.edges")) == failure
	})
	groups := slices.Collect(slices.Chunk(calls, callsAtOnce))
	known := map[string]string{}
	for g, group := range groups {
		for form := range forms {
			require.NotEqual(t, failure, rowsOf(own, inForm(form, group, "plumbline.base.edges")), "group %d, form %d", g, form)
		}
	}
	cases, leaks, stored := 0, 0, 0
	for s, storage := range storages {
		th := &throwing{openEdges(t, storage, true), own, known}
		for i, shape := range shapes {
			fence := fences[shape]
			for g, group := range groups {
				if (i+g+s)%len(storages) != 0 {
					continue // each call meets each shape over one storage, and each storage under two or three shapes
				}
				cases += len(group)
				for _, call := range th.leaks(s+i+g, group, fence) {
					leaks++
					t.Errorf("%s, rule %q: %s", storage, shape, inForm(s+i+g, []string{call}, fence))
				}
			}
		}
		for _, group := range groups { // what holds, taken away
			if storage == "parquet" && th.tells(0, group, flat.ReplaceAllString(fences["equal"], "$1")) {
				stored++
			}
		}
	}
	t.Logf("%d calls; with columns as they are stored %d of %d groups tell", len(calls), stored, len(groups))
	t.Logf("security: throwing cases=%d leaks=%d overblocks=0", cases, leaks)
	require.Greater(t, len(calls), 200)
	require.Greater(t, stored, 3, "columns without dictionaries are what holds")
}

const callsAtOnce = 24

// flat finds a column as a fence writes it.
var flat = regexp.MustCompile(`COALESCE\(("\w+"), NULL\)`)

// failure is what the server tells of a query that failed: no more.
const failure = "a failure"

// rowsOf is what a query gives as one text.
func rowsOf(db *ducktest.DB, text string) string {
	rows, err := db.Query(text)
	if err != nil {
		return failure
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return failure
	}
	cells, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	var out []string
	for rows.Next() {
		if rows.Scan(into...) != nil {
			return failure
		}
		out = append(out, fmt.Sprint(cells...))
	}
	if rows.Err() != nil {
		return failure
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
