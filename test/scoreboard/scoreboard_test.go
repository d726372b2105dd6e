package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOurSuites asks every committed case.
func TestOurSuites(t *testing.T) {
	folders, err := filepath.Glob("cases/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b, err := play(context.Background(), dir)
			require.NoError(t, err)
			for _, f := range b.failures {
				t.Errorf("%s %s: %s", f.Verdict, f.Case, f.Why)
			}
			t.Logf("%d right, %d refused, %d pending", b.counts[right], b.counts[refused], b.pending)
		})
	}
}

// planted has one test of every verdict.
const planted = `package models

import "plumbline.dev/schema:plumbline"

model: plumbline.#Model & {
	entities: t: {primary_key: ["id"], fields: {id: type: "bigint", a: type: "varchar"}, dimensions: a: field: "a", measures: n: agg: "count"}
	metrics: n: {entity: "t", measure: "n"}
	tests: {
		right: {rows: t: [{id: 1}], question: metrics: ["n"], expect: [[1]]}
		in_sql: {rows: t: [{id: 1, a: "x"}], sql: "SELECT a, 0.5::DOUBLE AS h, NULL AS z FROM t", expect: [["x", 0.50000000000001, null]]}
		refused: {rows: {}, question: metrics: ["m"], refused: "metric.unknown"}
		other_rows: {rows: t: [{id: 1}], question: metrics: ["n"], expect: [[2]]}
		too_few: {rows: {}, question: metrics: ["n"], expect: []}
		other_order: {rows: t: [{id: 1, a: "x"}, {id: 2, a: "y"}], question: {metrics: ["n"], dimensions: ["a"]}, ordered: true, expect: [["y", 1], ["x", 1]]}
		null_is_no_zero: {rows: t: [{id: 1}], question: {metrics: ["n"], dimensions: ["a"]}, expect: [["NULL", 1]]}
		other_code: {rows: {}, question: metrics: ["m"], refused: "metric.filter"}
		answered: {rows: {}, question: metrics: ["n"], refused: "metric.filter"}
		no_such_column: {rows: {}, question: metrics: ["n"], columns: ["m"], expect: [[0]]}
		unexpected: {rows: {}, question: metrics: ["m"], expect: [[1]]}
	}
}
`

// TestPlantedCases: the scoreboard sees what is wrong, and fails.
func TestPlantedCases(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a.cue", planted)
	write("loads.cue", "// refused: model.cycle\n\n"+planted)
	write("broken.cue", "package models\n\nmodel: 1\n")
	write("pending.txt", "a.cue:right\tit passes\na.cue:other_rows\tit waits\na.cue:gone\tit is not there\n")

	results, err := suite(context.Background(), dir)
	require.NoError(t, err)
	got := map[string]verdict{}
	for _, r := range results {
		got[r.Case] = r.Verdict
	}
	want := map[string]verdict{
		"a.cue:right": right, "a.cue:in_sql": right, "a.cue:refused": refused, "a.cue:other_rows": wrong, "a.cue:too_few": wrong, "a.cue:other_order": wrong,
		"a.cue:null_is_no_zero": wrong, "a.cue:other_code": wrong, "a.cue:answered": wrong, "a.cue:no_such_column": wrong,
		"a.cue:unexpected": unexpected, "loads.cue": wrong, "broken.cue": unexpected,
	}
	require.Equal(t, want, got)

	var out strings.Builder
	require.Equal(t, 1, run(context.Background(), []string{dir}, &out))
	require.Contains(t, out.String(), "a.cue:right: this case passes: take it out of pending.txt")
	require.Contains(t, out.String(), "a.cue:gone: pending.txt names a case that is not there")
	require.NotContains(t, out.String(), "a.cue:other_rows")

	write("a.cue", strings.Replace(planted, `expect: [[2]]`, `expect: [[1]]`, 1)) // other_rows is right now
	out.Reset()
	require.Equal(t, 1, run(context.Background(), []string{dir}, &out))
	require.Contains(t, out.String(), "a.cue:other_rows: this case passes")

	require.Equal(t, 2, run(context.Background(), []string{filepath.Join(dir, "nothing")}, &out))
}

// TestSame compares cells by their types.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		got, want any
		typ       string
		same      bool
	}{
		{"9007199254740993", "9007199254740992", "HUGEINT", false},
		{"1.50", "1.5", "DECIMAL(4,2)", true},
		{"1.50", "1.51", "DECIMAL(4,2)", false},
		{"1", "1.0000000000001", "DOUBLE", true},
		{"1", "1.001", "DOUBLE", false},
		{"NaN", "1", "DOUBLE", false},
		{"1", "01", "VARCHAR", false},
		{"2024-01-01 00:00:00", "2024-01-01T00:00:00Z", "TIMESTAMP", true},
		{"2024-01-01", "2024-01-02", "DATE", false},
		{nil, "", "VARCHAR", false},
		{nil, nil, "VARCHAR", true},
		{[]any{"1", nil}, []any{"1", nil}, "BIGINT[]", true},
		{[]any{"1", nil}, []any{nil, "1"}, "BIGINT[]", false},
	} {
		require.Equal(t, c.same, same(c.got, c.want, c.typ), "%v", c)
	}
}
