package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck"
)

func TestMain(m *testing.M) {
	duck.WorkerMain()
	os.Exit(m.Run())
}

const corpus = "testdata/bypass.tsv"

// found are the lines of attacks that once got through.
const found = "testdata/found.tsv"

// TestBypass is the two-twins run, as the command does it.
func TestBypass(t *testing.T) {
	lines, err := readCorpus(corpus)
	require.NoError(t, err)
	more, err := readCorpus(found)
	require.NoError(t, err)
	require.NotEmpty(t, more)
	lines = append(lines, more...)
	findings, err := runAll(context.Background(), t.TempDir(), lines, settings, openEngine)
	require.NoError(t, err)
	var out strings.Builder
	leaks, blocks := report(&out, findings)
	t.Log("\n" + out.String())
	t.Logf("security: bypass cases=%d leaks=%d overblocks=%d", len(lines), leaks, blocks)
	require.Zero(t, leaks)
	require.Zero(t, blocks)
}

// TestCorpusIsWhole keeps lines from vanishing, and words from being unknown.
func TestCorpusIsWhole(t *testing.T) {
	lines, err := readCorpus(corpus)
	require.NoError(t, err)
	require.Len(t, lines, 407)
	ids := map[string]bool{}
	for _, l := range lines {
		require.False(t, ids[l.id], l.id)
		ids[l.id] = true
		if later[l.category] == "" {
			_, reason := judge(l, Answer{Code: "policy.denied"}, Answer{Code: "policy.denied"})
			require.NotContains(t, reason, "not known", l.id)
		}
	}
}

func TestGeneratedTexts(t *testing.T) {
	for spec, want := range map[string]string{
		"@gen:deep_parens:2":        "SELECT ((1))",
		"@gen:deep_subquery:2":      "SELECT * FROM (SELECT * FROM (SELECT 1 AS x) t) t",
		"@gen:in_list:3":            "SELECT count(*) FROM orders WHERE id IN (0,1,2)",
		"@gen:and_chain:2":          "SELECT count(*) FROM orders WHERE id<>0 AND id<>1",
		"@gen:select_list:2":        "SELECT id+0,id+1 FROM orders",
		"@gen:union_all:2":          "SELECT id FROM orders UNION ALL SELECT id FROM orders",
		"@gen:joins:3":              "SELECT count(*) FROM orders o0 JOIN orders o1 ON o1.id=o0.customer_id JOIN orders o2 ON o2.id=o1.customer_id",
		"@gen:case_nest:1":          "SELECT CASE WHEN true THEN 1 END",
		"@gen:long_literal:3":       "SELECT 'xxx'",
		"@gen:deep_list:2":          "SELECT [[1]]",
		"@gen:cte_chain_double:3":   "WITH c0 AS (SELECT 1 x), c1 AS (SELECT a.x FROM c0 a, c0 b), c2 AS (SELECT a.x FROM c1 a, c1 b) SELECT count(*) FROM c2",
		"@gen:not_chain:2":          "SELECT NOT NOT true",
		"@gen:concat_chain:2":       "SELECT 'a' || 'a'",
		"@gen:comment_bomb:2":       "SELECT 1 /****/",
		`SELECT email\tFROM\nx`:     "SELECT email\tFROM\nx",
		`SELECT '\\x00'::BLOB, 'a'`: `SELECT '\\x00'::BLOB, 'a'`,
	} {
		got, err := expand(spec)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{"@gen:nothing:1", "@gen:deep_parens:x"} {
		_, err := expand(bad)
		require.Error(t, err)
	}
}

func TestVisibleKeepsOnlyWhatTheSubjectSees(t *testing.T) {
	a := full(seed)
	require.Equal(t, a, full(seed), "one seed, one world")
	b := visible(a, seed)
	for i, table := range b {
		require.Equal(t, a[i].columns, table.columns)
		require.Greater(t, len(table.rows), 50, table.name)
	}
	require.Less(t, len(b[1].rows), len(a[1].rows)/2)
	for _, row := range b[1].rows {
		require.Equal(t, tenant, row[5])
		require.True(t, slices.ContainsFunc(a[1].rows, func(r []string) bool { return slices.Equal(r, row) }))
	}
	require.Equal(t, "1", b[1].rows[0][0])
	keys, back := map[string]string{}, map[string]string{}
	for i, row := range b[0].rows {
		old := a[0].rows[i]
		require.Equal(t, "hidden", row[2])
		require.NotEqual(t, old[3], row[3])
		for _, m := range []struct {
			m    map[string]string
			k, v string
		}{{keys, old[3], row[3]}, {back, row[3], old[3]}} {
			if was, ok := m.m[m.k]; ok {
				require.Equal(t, was, m.v, "one to one")
			}
			m.m[m.k] = m.v
		}
		require.Equal(t, append(append([]string{}, old[:2]...), old[4:]...), append(append([]string{}, row[:2]...), row[4:]...))
	}
	require.Less(t, len(keys), len(b[0].rows), "some share a number")
}

func TestJudge(t *testing.T) {
	rows := func(cells ...string) Answer {
		a := Answer{Columns: []string{"x"}}
		for _, c := range cells {
			a.Rows = append(a.Rows, []string{c})
		}
		return a
	}
	no := func(text string) Answer { return Answer{Code: "resolve.unknown", Error: text} }
	for name, c := range map[string]struct {
		text, expected string
		a, b           Answer
		want           verdict
	}{
		"refused":                 {"SELECT 1", "deny", no("no"), no("no"), pass},
		"answered":                {"SELECT 1", "deny", rows("1"), rows("1"), leak},
		"another error":           {"SELECT 1", "deny", no("no 17"), no("no"), leak},
		"an error in one":         {"SELECT 1", "no-leak", no("no"), rows("1"), leak},
		"another order":           {"SELECT 1", "no-leak (x)", rows("1", "2"), rows("2", "1"), pass},
		"another value":           {"SELECT 1", "no-leak", rows("1"), rows("2"), leak},
		"another count":           {"SELECT 1", "no-leak", rows("1", "1"), rows("1"), leak},
		"another column":          {"SELECT 1", "no-leak", rows(), Answer{Columns: []string{"y"}}, leak},
		"hidden name in an error": {"SELECT emial", "deny-quietly", no(`did you mean "email"?`), no(`did you mean "email"?`), leak},
		"its own word back":       {"SELECT email", "deny", no(`no column "email"`), no(`no column "email"`), pass},
		"rule in a column name":   {"SELECT 1", "allow", Answer{Columns: []string{"(tenant = 'acme')"}}, Answer{Columns: []string{"(tenant = 'acme')"}}, leak},
		"storage in an error":     {"SELECT 1", "deny", no(`"plumbline"."base"`), no(`"plumbline"."base"`), leak},
		"stripped":                {"SELECT *", "deny-or-strip (x)", rows("1"), rows("1"), pass},
		"not stripped":            {"SELECT ssn", "deny-or-strip", Answer{Columns: []string{"SSN"}}, Answer{Columns: []string{"SSN"}}, leak},
		"control":                 {"SELECT 1", "allow", rows("1"), rows("1"), pass},
		"control refused":         {"SELECT 1", "allow", no("no"), no("no"), block},
		"our bug":                 {"SELECT 1", "deny", Answer{Code: "bug.prove"}, Answer{Code: "bug.prove"}, block},
		"no JSON":                 {"SELECT 1", "safe-encode (x)", rows("NaN"), rows("NaN"), block},
		"unknown word":            {"SELECT 1", "perhaps", rows(), rows(), block},
		"limits differ in time":   {"SELECT 1", "limit (x)", no("time"), rows("1"), pass},
	} {
		got, reason := judge(line{"X", "row-rule", c.text, c.expected}, c.a, c.b)
		require.Equal(t, c.want, got, "%s: %s", name, reason)
	}
}

// bare is DuckDB over the files, without any rule: what the run must find out.
type bare struct{ db *sql.DB }

func openBare(_ context.Context, dir string, s setting) (Asker, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	for _, t := range full(seed) {
		file := "'" + filepath.Join(dir, "data", t.name+"."+s.storage) + "'"
		read := "read_parquet(" + file + ")"
		if s.storage == "csv" {
			read = "read_csv(" + file + ", header = true, columns = " + columnsOf(t) + ")"
		}
		if _, err := db.Exec("CREATE VIEW " + t.name + " AS FROM " + read); err != nil {
			return nil, err
		}
	}
	return bare{db}, nil
}

func (b bare) Tool(context.Context, string, string, []byte) (Answer, error) {
	return Answer{}, errors.New("bare DuckDB has no tools")
}

func (b bare) Close() error { return b.db.Close() }

func (b bare) SQL(ctx context.Context, _, text string) (Answer, error) {
	rows, err := b.db.QueryContext(ctx, text)
	if err != nil {
		return Answer{Code: "execute.failed", Error: err.Error()}, nil
	}
	defer rows.Close()
	var out Answer
	if out.Columns, err = rows.Columns(); err != nil {
		return out, err
	}
	for rows.Next() {
		cells := make([]any, len(out.Columns))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			return out, err
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			raw, err := json.Marshal(*c.(*any))
			if err != nil {
				return out, err
			}
			row[i] = string(raw)
		}
		out.Rows = append(out.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return Answer{Code: "execute.failed", Error: err.Error()}, nil
	}
	return out, nil
}

// TestTheRunFindsLeaks plants a server without rules: nearly every line about
// forbidden rows and hidden columns must be found.
func TestTheRunFindsLeaks(t *testing.T) {
	all, err := readCorpus(corpus)
	require.NoError(t, err)
	wanted := []string{"row-rule", "rule-reorder", "hidden-projection", "hidden-order-window", "hidden-aggregate"}
	lines := slices.DeleteFunc(all, func(l line) bool {
		return !slices.Contains(wanted, l.category) || strings.Contains(l.text, "repeat(") // no bounds here
	})
	r, err := start(context.Background(), t.TempDir(), settings[0], openBare)
	require.NoError(t, err)
	r.before = nil // the world itself leaks, so there is no next question to compare
	found := 0
	for _, l := range lines {
		a, b, err := r.both(context.Background(), l.text)
		require.NoError(t, err)
		if v, _ := judge(l, a, b); v == leak {
			found++
		}
	}
	require.NoError(t, r.close())
	t.Logf("%d of %d", found, len(lines))
	require.Greater(t, found, len(lines)*3/4)
}

// TestControlsAnswerRightly compares the controls with bare DuckDB on World B,
// which holds only what the subject may see.
func TestControlsAnswerRightly(t *testing.T) {
	lines, err := readCorpus(corpus)
	require.NoError(t, err)
	ctx, dir := context.Background(), t.TempDir()
	require.NoError(t, writeWorkspace(ctx, dir, settings[0], visible(full(seed), seed)))
	ours, err := openEngine(ctx, dir, settings[0])
	require.NoError(t, err)
	defer ours.Close()
	plain, err := openBare(ctx, dir, settings[0])
	require.NoError(t, err)
	defer plain.Close()
	compared := 0
	for _, l := range lines {
		if l.expected != "allow" {
			continue
		}
		got, err := ours.SQL(ctx, subject, l.text)
		require.NoError(t, err)
		want, err := plain.SQL(ctx, subject, l.text)
		require.NoError(t, err)
		require.Empty(t, got.Error, l.text)
		require.Equal(t, want.Columns, got.Columns, l.text)
		require.Len(t, got.Rows, min(len(want.Rows), rowLimit), l.text)
		if strings.Contains(l.text, "LIMIT") {
			continue // which rows is not specified
		}
		require.Equal(t, plainCells(want.Rows), plainCells(got.Rows), l.text)
		compared++
	}
	require.Greater(t, compared, 12)
}

// plainCells evens out how the Go driver and our answers write the same values.
func plainCells(rows [][]string) []string {
	out := sorted(rows)
	for i, r := range out {
		out[i] = strings.NewReplacer(`"`, "", "T00:00:00Z", "", "T00:00:00", "").Replace(r)
	}
	slices.Sort(out)
	return out
}
