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
