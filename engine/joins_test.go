package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
)

// A relationship's condition is told whole, or not at all.
func TestJoinsAreToldWhole(t *testing.T) {
	on := func(h house, table string) map[string]string {
		got, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("operator"), Table: table})
		require.NoError(t, err)
		out := map[string]string{}
		for _, j := range got.Joins {
			out[j.Role] = j.On
		}
		return out
	}
	h := shop(t)
	require.Equal(t, map[string]string{
		"customers":    "orders.customer_id = customers.id",
		"plan_history": "orders.customer_id = plan_history.customer_id AND orders.order_date >= plan_history.valid_from AND (orders.order_date < plan_history.valid_to OR plan_history.valid_to IS NULL)",
	}, on(h, "orders"))
	require.Equal(t, "through account_owners: its customers (account_owners.customer_id = customers.id) and its sales_reps (account_owners.rep_id = sales_reps.id); each partner has a row's value times account_owners.part",
		on(h, "customers")["owners"])
	require.Contains(t, on(h, "products")["labels"], "whole value, so groups do not add up")

	h = open(t, workspace(t, [3]string{"models/orders.cue", `valid: {at: "order_date", from: "valid_from", to: "valid_to"}`, `as_of: {at: "order_date", time: "valid_from"}`}))
	require.Equal(t, "orders.customer_id = plan_history.customer_id; of these the last row at or before: the greatest plan_history.valid_from <= orders.order_date, as ASOF JOIN finds it",
		on(h, "orders")["plan_history"])
}

// What a condition reads and the subject may not name closes the whole of it.
func TestHiddenJoinsAreNotTold(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", `lib.untagged(field, "pii")`, "lib.untagged(field, \"pii\")\n\tnot field.name in {\"part\", \"valid_to\"}"}))
	told := h.everythingTold("ana")
	for _, word := range []string{`"role":"plan_history"`, `"role":"owners"`, "valid_to", "account_owners.part"} {
		require.NotContains(t, told, word)
	}
	require.Contains(t, told, `"role":"customers"`)
}
