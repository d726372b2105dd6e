package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/duck/ducktest"
	"plumbline/engine/shape"
	"plumbline/policy"
)

// TestSeedQuestionThreeWays answers "which enterprise customers had declining
// order revenue this quarter and more than three support tickets in the same
// period" by SQL through the engine, by a metric question, and by bare DuckDB on
// the files with the tenant written by hand. The rows are equal, for two tenants.
func TestSeedQuestionThreeWays(t *testing.T) {
	ctx := context.Background()
	folder := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, writeDemo(ctx, folder, 0.25))
	eng, err := engine.Open(ctx, folder, engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })

	bare := ducktest.Open(t, nil)
	data := filepath.Join(folder, "data")
	for name, from := range map[string]string{
		"all_customers": "read_csv('" + data + "/customers.csv', header = true, all_varchar = true)",
		"all_orders":    "read_parquet('" + data + "/orders/*/*.parquet')",
		"all_tickets":   "read_json('" + data + "/support_tickets.ndjson', format = 'newline_delimited')",
	} {
		bare.Exec(t, "CREATE TABLE "+name+" AS SELECT * FROM "+from)
	}

	for subject, tenant := range map[string]string{"ana": "acme", "greta": "globex"} {
		s, ok := eng.Subject(subject)
		require.True(t, ok)
		unlimited := strings.TrimSuffix(seedSQL, "LIMIT 5")

		ans, err := eng.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: unlimited})
		require.NoError(t, err)
		bySQL := lines(ans.Table)
		require.NotEmpty(t, bySQL, tenant)

		byMetric := askMetric(t, eng, s)
		require.ElementsMatch(t, bySQL, byMetric, tenant)

		byHand := bare.Rows(t, strings.NewReplacer(
			"FROM orders\n", "FROM all_orders\n",
			"FROM support_tickets\n", "FROM all_tickets\n",
			"WHERE order_date", "WHERE tenant = '"+tenant+"' AND order_date",
			"WHERE created_at", "WHERE tenant = '"+tenant+"' AND created_at::TIMESTAMP",
			"AND created_at <", "AND created_at::TIMESTAMP <",
			"FROM customers c", "FROM (SELECT id::BIGINT AS id, name, plan FROM all_customers WHERE tenant = '"+tenant+"') c",
		).Replace(unlimited))
		require.Equal(t, byHand, bySQL, "%s: order and rows", tenant)
	}
}

// askMetric asks the demo's metric question without its limit and gives the
// columns in the order of the SQL statement.
func askMetric(t *testing.T, eng *engine.Engine, s policy.Subject) []string {
	t.Helper()
	args := map[string]any{}
	for _, step := range script {
		if strings.Contains(step.title, "as a metric question") {
			for k, v := range step.args {
				args[k] = v
			}
		}
	}
	delete(args, "limit")
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	q, err := metric.Decode(raw)
	require.NoError(t, err)
	ans, err := eng.Answer(context.Background(), engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: &q})
	require.NoError(t, err)
	at := map[string]int{}
	for i, c := range ans.Table.Columns {
		at[c.Name] = i
	}
	picked := &shape.Table{}
	for _, row := range ans.Table.Rows {
		var out []any
		for _, name := range []string{"id", "name", "revenue_2026_q2", "revenue_2026_q1", "tickets_2026_q2"} {
			i, ok := at[name]
			require.True(t, ok, name)
			out = append(out, row[i])
		}
		picked.Rows = append(picked.Rows, out)
	}
	return lines(picked)
}

func lines(t *shape.Table) []string {
	var out []string
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = fmt.Sprint(v)
		}
		out = append(out, strings.Join(cells, "\t"))
	}
	return out
}
