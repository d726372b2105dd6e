package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
)

const byMonth = `{"metrics":["revenue","ticket_count"],"dimensions":[{"name":"metric_time","grain":"month"}],"time":[{"field":"metric_time","from":"2026-05-01","to":"2026-06-30"}]}`

// T55: the data of greta's tickets end on June 29, those of the others on the
// 30th, which by the clock is over.
func TestAsOf(t *testing.T) {
	h := shop(t)
	for who, want := range map[string]string{"ana": "2026-06-30T04:39:55Z", "greta": "2026-06-29T21:39:03Z", "operator": "2026-06-30T23:59:59Z"} {
		require.Equal(t, strings.TrimSuffix(want, "Z"), strings.TrimSpace(h.rows(who, "SELECT strftime(max(created_at), '%Y-%m-%dT%H:%M:%S') FROM support_tickets WHERE created_at >= TIMESTAMP '2000-01-01'")))
		ans, err := h.metric(who, byMonth)
		require.NoError(t, err)
		require.Equal(t, "UTC", ans.Zone)
		require.Empty(t, ans.WeekStart)
		require.Equal(t, []engine.AsOf{{Table: "orders", At: "2026-06-30"}, {Table: "support_tickets", At: want}}, ans.AsOf, who)
		if who == "greta" {
			require.Equal(t, &engine.Partial{Column: "metric_time", Bucket: "2026-06-01", Tables: []string{"support_tickets"}}, ans.Partial)
		} else {
			require.Nil(t, ans.Partial, who)
		}
	}
	ans, err := h.metric("ana", `{"metrics":["revenue"],"dimensions":[{"name":"metric_time","grain":"week"}],"order":[{"by":"metric_time","desc":true}],"limit":1,"zone":"Europe/Copenhagen","week_start":"sunday"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"Europe/Copenhagen", "sunday"}, []string{ans.Zone, ans.WeekStart})
	require.Equal(t, &engine.Partial{Column: "metric_time", Bucket: "2026-06-28", Tables: []string{"orders"}}, ans.Partial, "Sunday to Saturday, and the data end on Tuesday")
	ans, err = h.metric("ana", `{"metrics":["revenue"],"dimensions":[{"name":"metric_time","grain":"week"}],"limit":1}`)
	require.NoError(t, err)
	require.Nil(t, ans.Partial, "the first week is whole")
	ans, err = h.metric("ana", `{"metrics":["ticket_count"],"zone":"Asia/Kolkata","time":[{"field":"metric_time","last":"1 year"}]}`)
	require.NoError(t, err)
	require.Equal(t, []engine.AsOf{{Table: "support_tickets", At: "2026-06-30T10:09:55+05:30"}}, ans.AsOf)
	ans, err = h.metric("ana", `{"metrics":["revenue"],"dimensions":["customers.plan"]}`)
	require.NoError(t, err)
	require.Empty(t, ans.Zone, "no time in the question")
	require.Nil(t, ans.AsOf)
	ans, err = h.sql("ana", "SELECT max(order_date) FROM orders")
	require.NoError(t, err)
	require.Nil(t, ans.AsOf)
}

// The watermark is a question of its own: it leaves a record when it runs, is
// taken again for a minute, and is not asked for whom the dates are closed.
func TestAsOfIsAskedAsTheSubject(t *testing.T) {
	now := today
	h := house{t: t, root: workspace(t, [3]string{"rego/access.rego", "", `
masks.dates[field.name] := {"kind": "null", "filterable": true} if {
	input.subject.id == "greta"
	some field in input.entity.fields
	field.name == "order_date"
}
`}), log: t.TempDir() + "/audit.jsonl"}
	e, err := engine.Open(t.Context(), h.root, engine.Options{Now: func() time.Time { return now }, AuditTo: h.log, Temp: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h.Engine = e
	const ask = `{"metrics":["revenue"],"time":[{"field":"metric_time","from":"2026-05-01"}]}`
	for i, want := range []int{1, 0, 0} {
		ans, err := h.metric("ana", ask)
		require.NoError(t, err)
		require.Equal(t, []engine.AsOf{{Table: "orders", At: "2026-06-30"}}, ans.AsOf)
		r, _ := h.last()
		require.Equal(t, ask, string(r.Question))
		require.Len(t, r.BesideSQL, want, i)
	}
	first := h.records()[0]
	require.Contains(t, first.BesideSQL[0], "max(")
	require.Contains(t, first.BesideSQL[0], "acme", "her rule stands in the text that ran")
	require.Len(t, h.records(), 3, "one record a question")
	now = now.Add(61 * time.Second)
	_, err = h.metric("ana", ask)
	require.NoError(t, err)
	r, _ := h.last()
	require.Len(t, r.BesideSQL, 1, "a minute later it is asked again")

	_, err = h.metric("greta", `{"metrics":["revenue"]}`)
	require.NoError(t, err)
	ans, err := h.metric("greta", `{"metrics":["order_count"],"dimensions":[{"name":"placed_at","grain":"month"}]}`)
	require.NoError(t, err)
	require.NotEmpty(t, ans.Zone)
	require.Nil(t, ans.AsOf, "the dates of her orders are masked")
	r, _ = h.last()
	require.Empty(t, r.BesideSQL)
}

// A watermark that is refused is told, and the answer stands.
func TestAsOfRefused(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/question.rego", "", `
deny["metrics_only"] := "ask for metrics" if {
	input.tool == "query_metrics"
	count(input.metrics) == 0
}
`}))
	ans, err := h.metric("ana", byMonth)
	require.NoError(t, err)
	require.Len(t, ans.Table.Rows, 2)
	require.Nil(t, ans.AsOf)
	require.Nil(t, ans.Partial)
	require.Contains(t, ans.Warnings, "as_of of orders is not known: policy.denied")
	require.Contains(t, ans.Warnings, "as_of of support_tickets is not known: policy.denied")
}

func TestDefinitions(t *testing.T) {
	h := shop(t)
	q := `{"metrics":["refund_rate","item_revenue","avg_risk"]}`
	ans, err := h.defined("ana", q)
	require.NoError(t, err)
	var lines []string
	for _, d := range ans.Definitions {
		lines = append(lines, d.Text())
	}
	require.Equal(t, []string{
		"refund_rate (ratio): refunded_revenue / revenue, NULL where revenue is 0; groups do not add up",
		"refunded_revenue (simple): sum of orders.total_cents, where status = 'refunded'; 0 where there is no row [cents]",
		"revenue (simple): sum of orders.total_cents; 0 where there is no row [cents]",
		"item_revenue (simple): sum of (price_cents * qty) of order_items; 0 where there is no row [cents]",
		"avg_risk (simple): mean of a field of customers; groups do not add up",
	}, lines, "a private field is not named")
	ans, err = h.defined("operator", `{"metrics":["visit_conversion"]}`)
	require.NoError(t, err)
	require.Equal(t, "events of visits followed within 7 days by one of order_count of the same web_visits.customer_id; each of order_count is credited to the latest of visits before it, and each of visits counts once; divided by all events of visits", ans.Definitions[0].Is)
	ans, err = h.metric("ana", q)
	require.NoError(t, err)
	require.Nil(t, ans.Definitions, "not asked for")
}

// Parts of a day are instants in UTC, and say so in text and in JSON: two o'clock in
// Kolkata begins at half past eight in UTC.
func TestHoursAreInstants(t *testing.T) {
	h := shop(t)
	ans, err := h.metric("ana", `{"metrics":["ticket_count"],"dimensions":[{"name":"metric_time","grain":"hour"}],"zone":"Asia/Kolkata","limit":1}`)
	require.NoError(t, err)
	require.Equal(t, "TIMESTAMP WITH TIME ZONE", ans.Table.Columns[0].Type)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:30:00Z$`, ans.Table.Rows[0][0])
	require.Contains(t, ans.Table.CSV(), ":30:00Z,")
	ans, err = h.metric("ana", `{"metrics":["ticket_count"],"dimensions":[{"name":"metric_time","grain":"day"}],"limit":1}`)
	require.NoError(t, err)
	require.Equal(t, "DATE", ans.Table.Columns[0].Type)
	require.Regexp(t, `^\d{4}-\d\d-\d\d$`, ans.Table.Rows[0][0])
}

// Balances are dated by the first of their month, and June's are all there.
func TestMonthsAreWhole(t *testing.T) {
	ans, err := shop(t).metric("ana", `{"metrics":["revenue","balance"],"dimensions":[{"name":"metric_time","grain":"month"}],"time":[{"field":"metric_time","from":"2026-06-01"}]}`)
	require.NoError(t, err)
	require.Equal(t, []engine.AsOf{{Table: "orders", At: "2026-06-30"}, {Table: "account_balances", At: "2026-06-01"}}, ans.AsOf)
	require.Nil(t, ans.Partial)
}

// A range that begins after the data is answered, and said to be empty for that.
func TestRangesAfterTheData(t *testing.T) {
	h := shop(t)
	const warning = "the range begins on 2026-07-01, after the last data of orders (as of 2026-06-30)"
	for from, warns := range map[string]bool{"2026-07-01": true, "2026-06-30": false} {
		ans, err := h.metric("ana", `{"metrics":["revenue"],"time":[{"field":"metric_time","from":"`+from+`"}]}`)
		require.NoError(t, err)
		require.Equal(t, warns, slices.Contains(ans.Warnings, warning), "%s: %v", from, ans.Warnings)
	}
	ans, err := h.metric("ana", `{"metrics":["ticket_count"],"zone":"Asia/Kolkata","time":[{"field":"metric_time","from":"2026-07-01"}]}`)
	require.NoError(t, err)
	require.Contains(t, ans.Warnings, "the range begins on 2026-07-01T00:00:00+05:30, after the last data of support_tickets (as of 2026-06-30T10:09:55+05:30)")
	ans, err = h.metric("ana", `{"metrics":["revenue"],"time":[{"field":"customers.signed_up","from":"2026-07-01"}]}`)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(ans.Warnings, ""), "the range begins", "the range is on another table's time")
}
