package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
