package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPostgresPage asks the queries of docs/postgres.md of the sample workspace.
func TestPostgresPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/postgres.md")
	require.NoError(t, err)
	root := t.TempDir()
	program(t, "demo", root, "--write", "--scale", sampleScale)
	asked := 0
	for _, b := range block.FindAllStringSubmatch(string(page), -1) {
		if b[1] != "sql" {
			continue
		}
		out := program(t, "sql", "-C", root, "--dialect", "postgres", b[2])
		require.Greater(t, strings.Count(out, "\n"), 1, b[2])
		asked++
	}
	require.Equal(t, 2, asked)
	require.Equal(t, "?column?\n3\n", program(t, "sql", "-C", root, "--dialect", "postgres", "SELECT 7 / 2"))
	require.Equal(t, "x\n3.5\n", program(t, "sql", "-C", root, "SELECT 7 / 2 AS x"))
}

// A refusal of any stage points into the text as it was asked, and so does the
// account of what the policy decided.
func TestPostgresPlacesAndExplain(t *testing.T) {
	root := t.TempDir()
	program(t, "demo", root, "--write", "--scale", sampleScale)
	refused := func(text string) string {
		var out strings.Builder
		code := run(context.Background(), []string{"sql", "-C", root, "--dialect", "postgres", text}, io.NopCloser(strings.NewReader("")), &out, &out)
		require.NotZero(t, code)
		return out.String()
	}
	require.Contains(t, refused("SELECT id,\n  nothing FROM orders"), `2:3: resolve.unknown: no column "nothing"`)
	require.Contains(t, refused("SELECT id\nFROM orders,\n  generate_series(1, id) g"), "3:3: resolve.function: generate_series takes literal bounds")
	require.Contains(t, refused("SELECT month\nFROM account_balances"), "2:6: policy.required_filter")
	require.Contains(t, refused("SELECT id FROM orders; SELECT 1"), "1:23: parse.one_statement")
	require.Contains(t, refused("DELETE FROM orders"), "parse.read_only")
	require.Contains(t, refused("SELECT "+strings.Repeat("7/(", 18)+"x"+strings.Repeat(")", 18)+" AS z FROM (SELECT 3 AS x) t"), "limit.text")
	require.Contains(t, refused("SELECT 1 FROM orders GROUP BY CUBE(id"+strings.Repeat(", id", 239)+")"), "more than 64 grouping sets")
	require.Contains(t, refused("SELECT ROW() = ROW()"), "unsupported.postgres")
	require.Contains(t, refused("SELECT 1 = ANY (ARRAY[])"), "unsupported.postgres")
	require.Contains(t, refused("SELECT 'a' ~ '"+strings.Repeat("a?", 20000)+"'"), "a pattern of more than 2000 characters")

	var account map[string]any
	require.NoError(t, json.Unmarshal([]byte(program(t, "explain", "-C", root, "--json", "--dialect", "postgres", "SELECT status, count(*) FROM orders GROUP BY 1")), &account))
	require.NotEmpty(t, account)
	require.Contains(t, program(t, "sql", "-C", root, "--dialect", "postgres", "SELECT month FROM account_balances WHERE month >= '2026-01-01' AND month < '2026-02-01' LIMIT 1"), "2026-01-01")
}
