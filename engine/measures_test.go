package engine_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

// TestMeasuresPage runs each example of docs/measures.md over the sample.
func TestMeasuresPage(t *testing.T) {
	h := shop(t)
	page, err := os.ReadFile("../docs/measures.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, examples)
	for _, e := range examples {
		ans, err := h.sql("operator", string(e[1]))
		require.NoError(t, err, "%s", e[1])
		require.NotEmpty(t, ans.Table.Rows, "%s", e[1])
	}
}

// TestMetricRulesHoldInSQL: a policy's word on a metric holds for the measure that
// the metric is, whichever door it is asked at.
func TestMetricRulesHoldInSQL(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/question.rego", "", `
deny["no_risk"] := "risk is not asked for" if {
	"avg_risk" in input.metrics
}
`}))
	_, err := h.metric("ana", `{"metrics":["avg_risk"]}`)
	h.code(diag.PolicyDenied, err)
	for _, text := range []string{
		"SELECT MEASURE(avg_risk) FROM customers",
		"SELECT plan, AGGREGATE(c.AVG_RISK) AT (ALL plan) AS r FROM customers c GROUP BY plan",
		"WITH t AS (SELECT MEASURE(avg_risk) AS r FROM customers) SELECT r FROM t",
	} {
		_, err = h.sql("ana", text)
		h.code(diag.PolicyDenied, err)
	}
	_, err = h.sql("ana", "SELECT MEASURE(customer_count) FROM customers")
	require.NoError(t, err)
}

// Of the tables that a query joins, only the filters of those that are measured are named.
func TestFiltersOfMeasuresInSQL(t *testing.T) {
	h := shop(t)
	texts := func(sql string) (out []string) {
		ans, err := h.sql("operator", sql)
		require.NoError(t, err)
		for _, a := range ans.Applied {
			out = append(out, a.Text)
		}
		return out
	}
	const from = " FROM customers c LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN order_items i ON i.order_id = o.id GROUP BY c.plan"
	require.Equal(t, []string{"measures of order_items: qty > 0"}, texts("SELECT c.plan, MEASURE(i.units) AS units"+from))
	require.Equal(t, []string{"measures of orders: status IS DISTINCT FROM 'cancelled'", "measures of order_items: qty > 0"},
		texts("SELECT c.plan, MEASURE(o.revenue) AS revenue, MEASURE(i.units) AS units"+from))
	require.Equal(t, []string{"qty > 0"}, texts("SELECT MEASURE(units) AS units FROM order_items"))
}

// A measure that is read like a column is told to be one, to whom it is offered.
func TestMeasuresAreNoColumns(t *testing.T) {
	h := shop(t)
	for text, call := range map[string]string{
		"SELECT status, revenue FROM orders":                                  "write MEASURE(revenue)",
		"SELECT status, sum(o.revenue) FROM orders o GROUP BY 1":              "write MEASURE(o.revenue)",
		"SELECT plan, Revenue FROM sales":                                     "write MEASURE(Revenue)",
		"SELECT (SELECT sum(revenue) FROM sales) AS r FROM customers":         "write MEASURE(revenue)",
		"SELECT status, MEASURE(order_count), revenue FROM orders GROUP BY 1": "write MEASURE(revenue)",
	} {
		_, err := h.sql("ana", text)
		h.code(diag.ResolveUnknown, err)
		require.Contains(t, err.Error(), call, text)
	}
	for _, text := range []string{"SELECT units FROM orders", "SELECT revenue FROM (SELECT status FROM orders) o", "SELECT revnue FROM orders"} {
		_, err := h.sql("ana", text)
		h.code(diag.ResolveUnknown, err)
		require.NotContains(t, err.Error(), "MEASURE", text)
	}
	closed := open(t, workspace(t, [3]string{"rego/access.rego", `lib.untagged(field, "pii")`, "lib.untagged(field, \"pii\")\n\tnot field.name in {\"total_cents\"}"}))
	for _, text := range []string{"SELECT revenue FROM orders", "SELECT revenue FROM sales"} {
		_, err := closed.sql("ana", text)
		closed.code(diag.ResolveUnknown, err)
		require.NotContains(t, err.Error(), "MEASURE", text)
	}
}
