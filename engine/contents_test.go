package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

func (h house) contents(id, table, dimension string) (*engine.Contents, error) {
	return h.Contents(h.t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject(id), Table: table, Dimension: dimension, Limit: 3, Asked: json.RawMessage(`{"dimension":"x"}`)})
}

// What a dimension holds is what SQL gives the same subject.
func TestContents(t *testing.T) {
	h := shop(t)
	for _, who := range []string{"ana", "greta", "operator"} {
		got, err := h.contents(who, "", "customers.plan")
		require.NoError(t, err)
		require.Equal(t, "customers.plan", got.Dimension)
		text := ""
		for _, v := range got.Values {
			text += fmt.Sprintf("%v,%v\n", v.Value, v.Rows)
		}
		require.Equal(t, h.rows(who, "SELECT plan, count(*) FROM customers GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"), text)
		require.False(t, got.More, "three plans")
		again, err := h.contents(who, "customers", "plan")
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	got, err := h.contents("ana", "", "orders.customers.region")
	require.NoError(t, err)
	require.Equal(t, "customers.region", got.Dimension)
	require.True(t, got.More, "four regions, three asked for")

	// The day a row rule keeps apart is nobody's bound; a required filter is not in the way.
	for who, want := range map[string]string{"greta": "2026-06-29T21:39:03Z", "ana": "2026-06-30T04:39:55Z"} {
		got, err = h.contents(who, "", "support_tickets.created_at")
		require.NoError(t, err)
		require.Equal(t, want, got.Max)
		require.Equal(t, "UTC", got.Zone)
		require.Nil(t, got.Values)
	}
	got, err = h.contents("ana", "orders", "order_date")
	require.NoError(t, err)
	require.Equal(t, []any{"2025-01-01", "2026-06-30", ""}, []any{got.Min, got.Max, got.Zone})
	got, err = h.contents("ana", "orders", "size")
	require.NoError(t, err)
	require.Len(t, got.Values, 3, "a computed dimension")

	before := len(h.records())
	got, err = h.contents("ana", "order_items", "line")
	require.NoError(t, err)
	require.Len(t, h.records(), before+1)
	require.Equal(t, h.rows("ana", "SELECT min(line), max(line), count(*) FROM order_items WHERE qty > 0 AND line = 1"), fmt.Sprintf("%v,1,%v\n", got.Min, got.Values[0].Rows), "a number has both")
	require.Equal(t, h.rows("ana", "SELECT max(line) FROM order_items WHERE qty > 0"), fmt.Sprintf("%v\n", got.Max))

	// Lines that correct others have no quantity, and a fixed filter keeps them out.
	got, err = h.contents("operator", "order_items", "tenant")
	require.NoError(t, err)
	text := ""
	for _, v := range got.Values {
		text += fmt.Sprintf("%v,%v\n", v.Value, v.Rows)
	}
	require.Equal(t, h.rows("operator", "SELECT tenant, count(*) FROM order_items WHERE qty > 0 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"), text)
	require.NotEqual(t, h.rows("operator", "SELECT tenant, count(*) FROM order_items GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3"), text)
}

func TestContentsRefused(t *testing.T) {
	h := shop(t)
	for _, c := range []struct {
		who, dimension string
		code           diag.Code
		says           string
	}{
		{"ana", "customers.phone", diag.ResolveUnknown, `"customers.phone"`}, // may be filtered by, not selected
		{"ana", "customers.ssn", diag.ResolveUnknown, `"customers.ssn"`},     // may be joined on
		{"ana", "customers.risk_score", diag.ResolveUnknown, "risk_score"},   // private
		{"ana", "customers.email", diag.ResolveUnknown, `"customers.email"`}, // hidden from her
		{"sam", "orders.status", diag.ResolveUnknown, `"orders.status"`},     // a table he does not see
		{"sam", "customers.name", diag.PolicyColumn, "masked"},               // a mask that may only be selected
		{"sam", "account_balances.tenant", diag.PolicyDenied, "not allow"},   // the policy's word
		{"ana", "customers.plam", diag.ResolveUnknown, `"customers.plan"`},   // nearest
		{"ana", "tenant", diag.ResolveAmbiguous, "customers.tenant"},         // of several tables
		{"ana", "metric_time", diag.ResolveUnknown, "name it as table.dimension"},
		{"ana", "orders.plan", diag.ResolveUnknown, `"orders.plan"`},
	} {
		_, err := h.contents(c.who, "", c.dimension)
		h.code(c.code, err)
		require.ErrorContains(t, err, c.says, c.dimension)
	}
}

// A mask by which one may filter is told as a mask.
func TestContentsAreMasked(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", "", `
masks.plan[field.name] := {"kind": "hash", "filterable": true} if {
	input.subject.id == "ana"
	input.entity.name == "customers"
	some field in input.entity.fields
	field.name == "plan"
}
`}))
	got, err := h.contents("ana", "", "customers.plan")
	require.NoError(t, err)
	require.Equal(t, "hash", got.Masked)
	for _, v := range got.Values {
		require.NotContains(t, []any{"free", "pro", "enterprise"}, v.Value)
	}
	_, err = h.contents("ana", "", "customers.paying")
	h.code(diag.PolicyColumn, err)
}
