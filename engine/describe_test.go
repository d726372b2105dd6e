package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// everythingTold is all that the describing questions say to somebody, as JSON.
func (h house) everythingTold(who string) string {
	h.t.Helper()
	s := h.subject(who)
	ask := engine.Describing{Subject: s}
	metrics, err := h.Metrics(h.t.Context(), ask)
	require.NoError(h.t, err)
	tables, err := h.Tables(h.t.Context(), ask)
	require.NoError(h.t, err)
	all := []any{metrics, tables}
	for _, t := range tables {
		ask.Table = t.Name
		table, err := h.Table(h.t.Context(), ask)
		require.NoError(h.t, err)
		all = append(all, table)
	}
	b, err := json.Marshal(all)
	require.NoError(h.t, err)
	return string(b)
}

// Hidden fields, private fields and what stands on them are not told: not as a
// column, time dimension, filter, join, measure or metric.
func TestNothingHiddenIsTold(t *testing.T) {
	h := open(t, workspace(t,
		[3]string{"models/orders.cue", `customer_id: {type: "bigint", description: "number of the customer that ordered"}`, `customer_id: {type: "bigint", visibility: "private", description: "secretdescription"}`},
		[3]string{"models/support_tickets.cue", `created_at: {type: "timestamp", zone: "UTC", description: "moment the ticket was opened, in UTC"}`, `created_at: {type: "timestamp", zone: "UTC", visibility: "private", description: "secretdescription"}`},
		[3]string{"rego/access.rego", `lib.untagged(field, "pii")`, "lib.untagged(field, \"pii\")\n\tnot field.name in {\"month\", \"product_id\", \"total_cents\"}"},
	))
	told := h.everythingTold("ana")
	for _, word := range []string{"secretdescription", "orders.customer_id", "support_tickets.created_at", `"created_at"`, "email", "phone",
		`"month"`, "account_balances.month", "product_id", "total_cents", "risk_score", "globex", `"base"`, h.root} {
		require.NotContains(t, withoutGrains(told), word)
	}
	// What reads a hidden field is closed with it; what reads a private one is not.
	for _, metric := range []string{`"revenue"`, `"avg_order_value"`, `"balance"`} {
		require.NotContains(t, told, `{"name":`+metric+`,"desc`)
	}
	require.Contains(t, told, `"name":"avg_risk"`)
	require.Contains(t, told, `"name":"buyers"`)

	_, err := h.sql("ana", "SELECT count(*) FROM account_balances")
	h.code(diag.PolicyRequired, err)
	require.NotContains(t, err.Error(), "month", "a filter on what is hidden is not named")
	_, err = h.metric("ana", `{"metrics":["balance"]}`)
	h.code(diag.MetricUnknown, err)
	require.NotContains(t, err.Error(), "month", "a metric whose required filter is hidden cannot be asked")
	_, err = h.metric("ana", `{"metrics":["revenue"]}`)
	h.code(diag.MetricUnknown, err)
	require.NotContains(t, err.Error(), "total_cents")

	told = h.everythingTold("sam")
	for _, word := range []string{"orders", "revenue", "order_items", "products", "ssn"} {
		require.NotContains(t, told, `"`+word+`"`)
	}
}

// withoutGrains drops the grains, whose names may be those of hidden fields.
func withoutGrains(told string) string {
	var v any
	if json.Unmarshal([]byte(told), &v) != nil {
		return told
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "grains")
			delete(v, "metric_time")
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	b, _ := json.Marshal(v)
	return string(b)
}

// A listing that was interrupted is an error, never a shorter listing.
func TestInterruptedListing(t *testing.T) {
	h := open(t, workspace(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ask := engine.Describing{Tool: engine.ToolSearch, Subject: h.subject("ana")}
	tables, err := h.Tables(ctx, ask)
	require.Empty(t, tables)
	h.code(diag.RequestCancelled, err)
	metrics, err := h.Metrics(ctx, ask)
	require.Empty(t, metrics)
	h.code(diag.RequestCancelled, err)
	ask.Table = "orders"
	table, err := h.Table(ctx, ask)
	require.Nil(t, table)
	h.code(diag.RequestCancelled, err)
	for _, text := range []string{"SELECT count(*) FROM orders", "SELECT email FROM customers"} {
		_, err = h.sqlIn(ctx, "ana", text)
		h.code(diag.RequestCancelled, err)
	}
}

func TestSearch(t *testing.T) {
	h := shop(t)
	names := func(who, words string, limit int) []string {
		list, err := h.Tables(t.Context(), engine.Describing{Subject: h.subject(who), Search: words, Limit: limit})
		require.NoError(t, err)
		out := []string{}
		for _, x := range list {
			out = append(out, x.Name)
		}
		return out
	}
	require.Len(t, names("ana", "", 0), 16)
	require.Equal(t, []string{"account_balances", "calendar_days"}, names("ana", "", 2))
	require.Equal(t, []string{"orders", "order_items", "sales"}, names("ana", "ORDERS", 0), "in the name before in the description")
	require.Equal(t, []string{"customers"}, names("ana", "clients", 0), "a synonym")
	require.Empty(t, names("ana", "risk_score", 0))
	require.Empty(t, names("ana", "social security mail", 0), "every word counts")
	require.Empty(t, names("sam", "products", 0))
	require.Len(t, names("ana", "", -1), 16)
}
