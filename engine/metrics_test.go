package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/engine"
)

// TestJoinedFiltersAreToldAsTheirs asks for units by a dimension of orders, whose
// default filter takes out cancelled orders and not their units.
func TestJoinedFiltersAreToldAsTheirs(t *testing.T) {
	h := shop(t)
	ans, err := h.metric("operator", `{"metrics": ["units"], "dimensions": [{"name": "order_date", "grain": "year"}]}`)
	require.NoError(t, err)
	told := write(ans, nil)
	require.Contains(t, told, "# default: orders: status IS DISTINCT FROM 'cancelled'\n")
	require.Contains(t, told, "# fixed: qty > 0\n", "the only fact's own needs no name")
	require.Contains(t, strings.Join(ans.Warnings, "\n"), "counted under NULL")

	ans, err = h.metric("operator", `{"metrics": ["units"], "filters": [{"field": "order_date", "op": "is_not_null"}]}`)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(ans.Warnings, "\n"), "counted under NULL")
}

// TestOrderByAFloatingMetric orders by a mean of doubles: its text repeats the aggregate.
func TestOrderByAFloatingMetric(t *testing.T) {
	ans, err := shop(t).metric("operator", `{"metrics": ["avg_risk"], "dimensions": ["plan"], "order": [{"by": "avg_risk", "desc": true}]}`)
	require.NoError(t, err)
	require.NotEmpty(t, ans.Table.Rows)
}

// TestClosedFieldsAreNotTold: who may use a field in no clause reads its name neither
// in the SQL of a metric nor in its account; operators read all.
func TestClosedFieldsAreNotTold(t *testing.T) {
	h := shop(t)
	ask := func(who, name string) string {
		q := metric.Question{Metrics: []string{name}}
		ans, err := h.Answer(t.Context(), engine.Request{Tool: engine.ToolMetrics, Subject: h.subject(who), Question: &q, ShowSQL: true})
		require.NoError(t, err)
		x, err := h.Answer(t.Context(), engine.Request{Tool: engine.ToolExplain, Subject: h.subject(who), Question: &q})
		require.NoError(t, err)
		told, err := json.Marshal(x.Explain)
		require.NoError(t, err)
		return ans.SQL + "\n" + x.Explain.Text() + "\n" + string(told)
	}
	told := ask("ana", "avg_risk")
	require.NotContains(t, told, "risk_score")
	require.Contains(t, told, "fields that are closed to you")
	require.Contains(t, ask("operator", "avg_risk"), `avg("f1"."risk_score")`)
	require.Contains(t, ask("ana", "customer_count"), "SELECT count(*)")

	x, err := h.explain("ana", "SELECT region, MEASURE(avg_risk) AS r FROM customers GROUP BY region")
	require.NoError(t, err)
	require.NotContains(t, x.Explain.Text(), "risk_score")
}

// TestClosedFiltersAreNotNamed: a warning names a model's filter only where its
// condition may be shown.
func TestClosedFiltersAreNotNamed(t *testing.T) {
	h := open(t, workspace(t, [3]string{"models/customers.cue", "\t\tmeasures: {", "\t\tfilters: hushed: {kind: \"fixed\", expr: \"risk_score < 0.5\", description: \"customers as agreed\"}\n\t\tmeasures: {"}))
	ans, err := h.metric("ana", `{"metrics": ["order_count"], "dimensions": ["region"]}`)
	require.NoError(t, err)
	told := write(ans, nil)
	require.NotContains(t, told, "hushed")
	require.Contains(t, told, "left out by its filters (customers as agreed) are counted under NULL")
}
