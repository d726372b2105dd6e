// Package tpc runs the 22 TPC-H and 99 TPC-DS queries through the whole
// pipeline under a policy that allows everything, and compares each answer with
// bare DuckDB on the same files.
package tpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/duck"
	"plumbline/engine/duck/ducktest"
	"plumbline/engine/shape"
	"plumbline/policy"
)

func TestMain(m *testing.M) {
	duck.WorkerMain() // does not return in a worker process
	os.Exit(m.Run())
}

// files makes the queries and data once per checkout, below build/.
func files(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../build/tpc")
	require.NoError(t, err)
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	cmd := exec.Command("go", "run", ".", dir)
	cmd.Dir = "gen"
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// workspace writes a workspace whose entities are the suite's tables as they are.
func workspace(t *testing.T, data string) string {
	t.Helper()
	root := t.TempDir()
	schema, err := os.ReadFile(filepath.Join(data, "schema.tsv"))
	require.NoError(t, err)
	tables := map[string][]string{}
	for line := range strings.Lines(string(schema)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		tables[cells[0]] = append(tables[cells[0]], fmt.Sprintf("\t\t\t%s: {type: %q, description: \"column of the benchmark\"}\n", cells[1], cells[2]))
	}
	var model strings.Builder
	model.WriteString("package models\n\nimport \"plumbline.dev/schema:plumbline\"\n\nmodel: plumbline.#Model & {\n\tentities: {\n")
	for name, columns := range tables {
		key, _, _ := strings.Cut(strings.TrimSpace(columns[0]), ":")
		fmt.Fprintf(&model, "\t\t%s: {\n\t\t\tdescription: \"table of the benchmark\"\n\t\t\tgrain: \"one row\"\n\t\t\tsource: {source: \"files\", path: \"%s.parquet\"}\n\t\t\tprimary_key: [%q]\n\t\t\tfields: {\n%s\t\t\t}\n\t\t}\n",
			name, name, key, strings.Join(columns, ""))
	}
	model.WriteString("\t}\n}\n")
	write := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("models/tables.cue", model.String())
	write("plumbline.cue", `package workspace

import "plumbline.dev/schema:plumbline"

workspace: plumbline.#Workspace & {
	name: "benchmark queries"
	sources: files: {kind: "files", root: "`+data+`"}
	limits: {rows: 100000, bytes: "64MiB", time: "60s", memory: "2GiB"}
	subjects: all: {roles: ["all"]}
	server: stdio_subject: "all"
}
`)
	policies, err := filepath.Glob("testdata/*.rego")
	require.NoError(t, err)
	for _, p := range policies {
		text, err := os.ReadFile(p)
		require.NoError(t, err)
		write(filepath.Join("rego", filepath.Base(p)), string(text))
	}
	return root
}

func TestQueriesAnswerAsBareDuckDB(t *testing.T) {
	all := files(t)
	for suite, count := range map[string]int{"tpch": 22, "tpcds": 99} {
		t.Run(suite, func(t *testing.T) { run(t, filepath.Join(all, suite), count) })
	}
}

func run(t *testing.T, data string, count int) {
	eng, err := engine.Open(context.Background(), workspace(t, data), engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	subject, ok := eng.Subject("all")
	require.True(t, ok)

	bare := bareTables(t, data)

	queries, err := filepath.Glob(filepath.Join(data, "q*.sql"))
	require.NoError(t, err)
	require.Len(t, queries, count)
	for _, file := range queries {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			compare(t, eng, subject, bare, string(text))
		})
	}
}

// bareTables is DuckDB alone on the suite's files.
func bareTables(t *testing.T, data string) *ducktest.DB {
	t.Helper()
	bare := ducktest.Open(t, nil)
	tables, err := filepath.Glob(filepath.Join(data, "*.parquet"))
	require.NoError(t, err)
	for _, file := range tables {
		name := strings.TrimSuffix(filepath.Base(file), ".parquet")
		bare.Exec(t, fmt.Sprintf("CREATE VIEW %q AS SELECT * FROM read_parquet('%s')", name, file))
	}
	return bare
}

// compare holds the two answers against each other as multisets of rows; where
// the text orders its rows, ties may be broken either way.
func compare(t *testing.T, eng *engine.Engine, s policy.Subject, bare *ducktest.DB, text string) {
	t.Helper()
	ans, err := eng.Answer(context.Background(), engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: text})
	require.NoError(t, err, "raw cause: %v", errors.Unwrap(err))
	require.False(t, ans.Table.Truncated)
	columns, want := bareRows(t, bare, text)
	require.Equal(t, len(columns), len(ans.Table.Columns))
	for i, c := range columns {
		require.Equal(t, c, ans.Table.Columns[i].Name)
	}
	got := cells(ans.Table)
	require.Len(t, got, len(want))
	sameTables(t, got, want)
}

// sameTables compares rows as multisets; it sorts both.
func sameTables(t *testing.T, got, want [][]string) {
	t.Helper()
	sortRows(got)
	sortRows(want)
	for i := range want {
		for j := range want[i] {
			require.True(t, same(got[i][j], want[i][j]), "row %d column %d: got %q, DuckDB says %q", i, j, got[i][j], want[i][j])
		}
	}
}

// bareRows runs the text on bare DuckDB; every column is read as text.
func bareRows(t *testing.T, db *ducktest.DB, text string) ([]string, [][]string) {
	t.Helper()
	rows, err := db.Query(text)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	var out [][]string
	for rows.Next() {
		values, ptrs := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			ptrs[i] = &values[i]
		}
		require.NoError(t, rows.Scan(ptrs...))
		row := make([]string, len(columns))
		for i, v := range values {
			row[i] = bareText(v, types[i].DatabaseTypeName())
		}
		out = append(out, row)
	}
	require.NoError(t, rows.Err())
	return columns, out
}

func cells(t *shape.Table) [][]string {
	out := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = make([]string, len(row))
		for j, v := range row {
			if v == nil {
				out[i][j] = "NULL"
				continue
			}
			out[i][j] = fmt.Sprint(v)
		}
	}
	return out
}

// sortRows orders rows by their cells, numbers rounded so that the last digits
// of a float do not decide.
func sortRows(rows [][]string) {
	key := func(r []string) string {
		var b strings.Builder
		for _, c := range r {
			if f, err := strconv.ParseFloat(c, 64); err == nil {
				c = fmt.Sprintf("%.6g", f)
			}
			b.WriteString(c + "\x00")
		}
		return b.String()
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(key(a), key(b)) })
}

func same(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-9*math.Max(1, math.Max(math.Abs(x), math.Abs(y)))
}
