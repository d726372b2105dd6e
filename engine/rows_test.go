package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/semantic/diag"
)

// ruled gives a copy of the sample whose analysts see what the text says, beside
// the operator who sees all.
func ruled(t *testing.T, access string) string {
	t.Helper()
	root := workspace(t)
	text := `package plumbline.access

import data.plumbline.lib

visible.operator if lib.role("operator")
columns.operator[field.name] := field.class if {
	lib.role("operator")
	some field in input.entity.fields
}
all_rows.operator if lib.role("operator")
` + access
	require.NoError(t, os.WriteFile(filepath.Join(root, "rego", "access.rego"), []byte(text), 0o600))
	return root
}

// ordersOnly lets analysts see orders and nothing else.
const ordersOnly = `
visible.orders if {
	lib.role("analyst")
	input.entity.name == "orders"
}
columns.orders[field.name] := field.class if {
	lib.role("analyst")
	some field in input.entity.fields
}
`

// TestRuleReadsAnEntityThatIsHidden asks under a rule through a relationship to
// an entity that the subject does not see.
func TestRuleReadsAnEntityThatIsHidden(t *testing.T) {
	h := open(t, ruled(t, ordersOnly+`
rows.european if {
	lib.role("analyst")
	input.row.customers.region == "eu"
	input.row.tenant == lib.text_claim("tenant")
}
`))
	want := h.rows("operator", "SELECT count(*), sum(o.total_cents) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.region = 'eu' AND o.tenant = 'acme'")
	require.NotEqual(t, h.rows("operator", "SELECT count(*), sum(total_cents) FROM orders WHERE tenant = 'acme'"), want)
	require.NotEqual(t, "0,\n", want)
	require.Equal(t, want, h.rows("ana", "SELECT count(*), sum(total_cents) FROM orders"))

	r, _ := h.last()
	require.Contains(t, r.Entities, audit.EntityUse{Entity: "customers", Clause: "row_rule"})
	require.Contains(t, r.FinalSQL, `"customers"`)

	require.Equal(t, want, h.rows("ana", "SELECT count(*), sum(total_cents) FROM orders"), "again, from the cache")
	again, _ := h.last()
	require.True(t, again.Cached)
	require.Equal(t, r.Entities, again.Entities)

	_, err := h.sql("ana", "SELECT region FROM customers")
	h.code(diag.ResolveUnknown, err)
	_, err = h.metric("ana", `{"metrics": ["order_count"], "dimensions": ["region"]}`)
	h.code(diag.MetricUnknown, err)

	ans, err := h.explain("ana", "SELECT count(*) FROM orders")
	require.NoError(t, err)
	require.NotContains(t, ans.Explain.Text(), "customers")
	require.NotContains(t, fmt.Sprint(ans.Explain), "customers")
	ans, err = h.explain("operator", "SELECT count(*) FROM orders")
	require.NoError(t, err)
	require.Contains(t, ans.Explain.Proof, "scan of orders stands in its fence")
	table, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("ana"), Table: "orders"})
	require.NoError(t, err)
	require.True(t, table.RowRule)
}
