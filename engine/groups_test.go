package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// grouping gives analysts minimum groups of orders and customers.
var grouping = [3]string{"rego/access.rego", "", `
min_group.people := {"size": 20} if {
	lib.role("analyst")
	input.entity.name in {"orders", "customers"}
}
`}

// Every door shows ana groups of twenty rows, with the values that the operator
// finds for the same groups; smaller ones are left out, and the answer says so.
func TestMinimumGroupsAtEveryDoor(t *testing.T) {
	h := open(t, workspace(t, grouping))
	const all = "SELECT customer_id, sum(total_cents) AS s, count(*) AS n FROM orders WHERE tenant = 'acme' GROUP BY customer_id"
	ans, err := h.sql("ana", strings.ReplaceAll(all, "WHERE tenant = 'acme' ", "")+" ORDER BY 1")
	require.NoError(t, err)
	require.Equal(t, h.rows("operator", all+" HAVING count(*) >= 20 ORDER BY 1"), body(ans))
	require.NotEqual(t, h.rows("operator", all+" ORDER BY 1"), body(ans), "the sample has smaller groups")
	require.Contains(t, ans.Warnings, "groups that rest on fewer than 20 rows of orders, or on fewer than 20 values of what is aggregated, are left out")
	require.Contains(t, ans.Applied, engine.Applied{Origin: "policy", Entity: "orders", Text: "groups of at least 20 rows of orders"})

	ans, err = h.metric("ana", `{"metrics": ["revenue"], "dimensions": [{"name": "metric_time", "grain": "week"}, "status"]}`)
	require.NoError(t, err)
	require.Contains(t, ans.Warnings[len(ans.Warnings)-1], "are left out")
	require.Empty(t, ans.AsOf, "the last day is that of single rows")
	require.Equal(t, h.rows("operator", `SELECT date_trunc('week', order_date)::DATE, status, sum(total_cents) FROM orders
		WHERE tenant = 'acme' AND status IS DISTINCT FROM 'cancelled' GROUP BY ALL HAVING count(*) >= 20 ORDER BY 1, 2`), body(ans))

	// A metric by another entity's dimension needs a join, whose rows an asker can choose.
	_, err = h.metric("ana", `{"metrics": ["revenue"], "dimensions": ["customers.plan"]}`)
	h.code(diag.PolicyGroup, err)
	for _, join := range []string{
		"SELECT sum(o.total_cents) AS s FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE c.id = 7 OR o.id IS NULL",
		"SELECT count(*) AS n, sum(o.total_cents) AS s FROM customers c JOIN orders o ON o.customer_id = c.id WHERE c.id <= 20 AND c.plan <> 'free'",
		"SELECT avg(p.id) AS a FROM customers c, products p WHERE p.id = c.id",
	} {
		_, err = h.sql("ana", join)
		h.code(diag.PolicyGroup, err)
	}

	got, err := h.Contents(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("ana"), Dimension: "customers.plan"})
	require.NoError(t, err)
	require.Equal(t, 20, got.MinGroup)
	require.NotEmpty(t, got.Values)
	got, err = h.Contents(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("ana"), Dimension: "orders.order_date"})
	require.NoError(t, err)
	require.Nil(t, got.Min)

	ans, err = h.explain("ana", "SELECT count(*) FROM orders")
	require.NoError(t, err)
	require.NotContains(t, ans.Explain.Text(), "HAVING")
}

func body(ans *engine.Answer) string {
	_, out, _ := strings.Cut(ans.Table.CSV(), "\n")
	return out
}

// What would show less than a group is refused, with a way out, and for no one else.
func TestMinimumGroupsRefuse(t *testing.T) {
	h := open(t, workspace(t, grouping))
	for _, text := range []string{
		"SELECT * FROM orders", "SELECT max(total_cents) FROM orders", "SELECT MEASURE(revenue) FROM orders",
		"SELECT sum(total_cents) FROM orders UNION ALL SELECT sum(total_cents) FROM orders WHERE id <> 10",
	} {
		_, err := h.sql("ana", text)
		h.code(diag.PolicyGroup, err)
		_, err = h.explain("ana", text)
		h.code(diag.PolicyGroup, err)
		_, err = h.sql("operator", text)
		require.NoError(t, err)
	}
	for _, question := range []string{
		`{"metrics": ["revenue"], "dimensions": ["region"], "totals": "total"}`,
		`{"metrics": ["revenue", "units"], "dimensions": ["region"]}`,
		`{"metrics": ["revenue"], "dimensions": ["region"], "top": {"dimension": "region", "by": "revenue", "n": 2, "other": true}}`,
	} {
		_, err := h.metric("operator", question)
		require.NoError(t, err, question)
		_, err = h.metric("ana", question)
		h.code(diag.PolicyGroup, err)
		require.NotContains(t, err.Error(), "SELECT")
	}
	ans, err := h.sql("ana", "SELECT sum(total_cents) AS s FROM orders WHERE id = 10")
	require.NoError(t, err)
	require.Empty(t, ans.Table.Rows)
}
