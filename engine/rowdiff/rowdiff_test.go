package rowdiff_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/rowdiff"
	"plumbline/engine/shape"
)

func n(s string) json.Number { return json.Number(s) }

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		typ  string
		a, b any
		want bool
	}{
		{"BIGINT", n("1"), n("1"), true},
		{"BIGINT", n("1"), n("1.0"), true},
		{"BIGINT", n("1"), n("2"), false},
		{"BIGINT", n("9007199254740993"), "9007199254740993", true},
		{"BIGINT", n("9007199254740992"), "9007199254740993", false},
		{"DECIMAL(12,2)", n("1.5"), "1.50", true},
		{"DECIMAL(12,2)", "1.51", "1.50", false},
		{"DECIMAL(38,12)", "100000000000.000000000001", "100000000000.000000000002", false}, // decimals are exact
		{"DOUBLE", n("0.1"), n("0.10000000001"), true},
		{"DOUBLE", n("0.1"), n("0.100000001"), false},
		{"DOUBLE", n("0"), n("-0"), true},
		{"DOUBLE", n("0"), n("1e-300"), false}, // nothing is near 0 but 0
		{"DOUBLE", n("1e300"), n("1e300"), true},
		{"DOUBLE", "1/2", n("0.5"), false},
		{"DOUBLE", "1e99999", n("0.5"), false},
		{"DOUBLE", "abc", n("0.5"), false},
		{"DOUBLE", nil, n("0"), false},
		{"DOUBLE", n("0"), nil, false},
		{"DOUBLE", nil, nil, true},
		{"VARCHAR", "", nil, false},
		{"VARCHAR", "1", "1.0", false},
		{"VARCHAR", n("1"), "1", false},
		{"VARCHAR", "é", "e\u0301", false},
		{"DATE", "2026-01-02", "2026-01-02", true},
		{"TIMESTAMP", "2026-01-02T00:00:00", "2026-01-02", false},
		{"BOOLEAN", true, true, true},
		{"BOOLEAN", true, "true", false},
		{"INTEGER[]", []any{n("1"), nil}, []any{n("1.0"), nil}, true},
		{"INTEGER[]", []any{n("1")}, []any{n("1"), n("2")}, false},
		{"INTEGER[]", n("1"), []any{n("1")}, false},
		{"DECIMAL(5,1)[]", []any{n("1")}, []any{"1.0"}, true},
		{"VARCHAR[]", []any{"a", "b"}, []any{"b", "a"}, false},
	} {
		require.Equal(t, c.want, rowdiff.Equal(c.typ, c.a, c.b), "%s: %v and %v", c.typ, c.a, c.b)
	}
}

var columns = []shape.Column{{Name: "plan", Type: "VARCHAR"}, {Name: "revenue", Type: "DECIMAL(12,2)"}}

func TestRows(t *testing.T) {
	free, pro, none := []any{"free", "1.50"}, []any{"pro", n("2")}, []any{nil, nil}
	got := [][]any{{"pro", "2.00"}, {"free", "1.50"}, {nil, nil}}
	require.True(t, rowdiff.Rows(columns, [][]any{free, pro, none}, got, false).Empty())
	require.True(t, rowdiff.Rows(columns, [][]any{pro, free, none}, got, true).Empty())

	d := rowdiff.Rows(columns, [][]any{free, pro, none}, got, true)
	require.Equal(t, "the rows are right and their order is not\n", d.Text(columns))

	// A row that stands twice is expected twice.
	d = rowdiff.Rows(columns, [][]any{free, free}, [][]any{free, pro}, false)
	require.Equal(t, rowdiff.Diff{Missing: [][]any{free}, Unexpected: [][]any{pro}}, d)
	require.Equal(t, "   plan    revenue\n-  \"free\"  1.50\n+  \"pro\"   2\n", d.Text(columns))

	// A text NULL and no value print apart; a row of another width is no match.
	d = rowdiff.Rows(columns, [][]any{{"NULL", nil}, {"x"}}, [][]any{{nil, nil}}, false)
	require.Equal(t, "   plan    revenue\n-  \"NULL\"  NULL\n-  \"x\"\n+  NULL    NULL\n", d.Text(columns))
}

func TestTextIsBounded(t *testing.T) {
	var many [][]any
	for range 25 {
		many = append(many, []any{"free", "1.50"})
	}
	d := rowdiff.Rows(columns, many, nil, false)
	require.Len(t, d.Missing, 25)
	require.Contains(t, d.Text(columns), "\n- and 5 more\n")
}
