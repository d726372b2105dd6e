package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestRuleLooksUpPolicyData changes the data beside the policies under a running
// engine. Data that cannot be read keep the old ones in force.
func TestRuleLooksUpPolicyData(t *testing.T) {
	root := ruled(t, ordersOnly+`
rows.markets if {
	lib.role("analyst")
	input.row.customers.region in data.sales.markets[input.subject.id]
	input.row.order_date >= lib.months_ago(12)
}
`)
	require.NoError(t, os.Mkdir(filepath.Join(root, "rego", "sales"), 0o755))
	file := filepath.Join(root, "rego", "sales", "data.yaml")
	set := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	count := func(h house, regions string) string {
		return h.rows("operator", "SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.order_date >= DATE '2025-07-15' AND c.region IN ("+regions+")")
	}
	set("markets:\n  ana: [eu, us]\n")
	h := open(t, root)
	require.Equal(t, count(h, "'eu', 'us'"), h.rows("ana", "SELECT count(*) FROM orders"))
	require.Equal(t, "0\n", h.rows("greta", "SELECT count(*) FROM orders"), "no market, no row")

	set("markets:\n  ana: [latam]\n")
	require.NoError(t, h.Reload(t.Context()))
	latam := count(h, "'latam'")
	require.NotEqual(t, "0\n", latam)
	require.Equal(t, latam, h.rows("ana", "SELECT count(*) FROM orders"))

	for _, broken := range []string{"markets:\n  ana: [\n", "markets:\n  ana: [1]\n"} {
		set(broken)
		err := h.Reload(t.Context())
		require.Equal(t, diag.ConfigRego, diag.CodeOf(err), "%v", err)
		require.Regexp(t, `^rego/(sales/data.yaml|access.rego):\d+`, err.Error())
		require.Equal(t, latam, h.rows("ana", "SELECT count(*) FROM orders"))
	}
}

// TestUnsayableRules: what cannot be said for a sample subject stops the load at
// the rule's line, and what shows only for another subject denies the question.
func TestUnsayableRules(t *testing.T) {
	rule := ordersOnly + `
rows.budget if {
	lib.role("analyst")
	input.row.total_cents >= input.subject.claims.level
}
`
	_, err := engine.Open(t.Context(), ruled(t, strings.Replace(rule, "input.subject.claims.level", "input.row.customers.id", 1)), engine.Options{Now: clock})
	require.Equal(t, diag.ConfigRego, diag.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, `rego/access.rego:23:2`)
	require.ErrorContains(t, err, `for sample subject "ana" and entity "orders": two fields are compared when they belong to one row`)

	root := ruled(t, rule)
	edit(t, root, "rego/subjects.json", `"claims": {"tenant": "acme"}`, `"claims": {"tenant": "acme", "level": 10000}`)
	h := open(t, root)
	asking := h.subject("ana")
	ask := func(level any) (*engine.Answer, error) {
		asking.Claims = map[string]any{"level": level}
		return h.Answer(t.Context(), engine.Request{Tool: engine.ToolSQL, Subject: asking, SQL: "SELECT count(*) FROM orders"})
	}
	ans, err := ask(10000)
	require.NoError(t, err)
	require.NotEqual(t, "0", fmt.Sprint(ans.Table.Rows[0][0]))
	for _, level := range []any{"10000", true, []string{"1"}, 1e300} {
		_, err = ask(level)
		h.code(diag.PolicyUnsay, err)
		require.NotContains(t, err.Error(), "total_cents")
		r, _ := h.last()
		require.Contains(t, r.RawError, "total_cents", "the author finds the detail in the record")
	}
}
