package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// TestMaskedFieldsMakeNoNumbers masks a join key, and a field that measures read.
func TestMaskedFieldsMakeNoNumbers(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", "", `
masks.keys[field.name] := {"kind": "null", "filterable": true} if {
	lib.role("analyst")
	input.entity.name == "customers"
	some field in input.entity.fields
	field.name == "id"
}

masks.totals[field.name] := {"kind": "null", "filterable": true} if {
	lib.role("analyst")
	input.entity.name == "orders"
	some field in input.entity.fields
	field.name == "total_cents"
}
`}))
	_, err := h.metric("ana", `{"metrics": ["order_count"], "dimensions": ["plan"]}`)
	h.code(diag.MetricDimension, err)
	_, err = h.metric("ana", `{"metrics": ["revenue"]}`)
	h.code(diag.PolicyColumn, err)
	_, err = h.metric("ana", `{"metrics": ["order_count"]}`)
	require.NoError(t, err)

	list, err := h.Metrics(t.Context(), engine.Describing{Tool: engine.ToolList, Subject: h.subject("ana")})
	require.NoError(t, err)
	for _, m := range list {
		require.NotEqual(t, "revenue", m.Name)
		if m.Name == "order_count" {
			for _, d := range m.Dimensions {
				require.NotEqual(t, "plan", d.Name)
			}
		}
	}
}
