package mcp_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/mcp"
	"plumbline/semantic/diag"
)

func TestToolListIsAlwaysTheSame(t *testing.T) {
	var lists []string
	for _, who := range []string{"ana", "ana", "operator"} {
		list, err := client(t, mcp.New(shop(t), "test", who)).ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, "private", list.CacheScope)
		for _, tool := range list.Tools {
			require.True(t, tool.Annotations.ReadOnlyHint && tool.Annotations.IdempotentHint, tool.Name)
			require.False(t, *tool.Annotations.DestructiveHint || *tool.Annotations.OpenWorldHint, tool.Name)
		}
		b, err := json.Marshal(list)
		require.NoError(t, err)
		lists = append(lists, string(b))
	}
	require.Equal(t, lists[0], lists[1])
	require.Equal(t, lists[0], lists[2])
}

// Each tool answers an ordinary call twice: as structured content and as text.
func TestToolsAnswer(t *testing.T) {
	srv := web(t, shop(t))
	revenue := `{"metrics":["revenue"],"dimensions":[{"name":"metric_time","grain":"quarter"}],"time":[{"field":"metric_time","from":"2026-01-01","to":"2026-06-30"}],"order":[{"by":"metric_time","desc":true}],"show_sql":true}`
	got := call(t, srv, "ana", engine.ToolMetrics, revenue)
	tab := got.table(t)
	require.Equal(t, [][]any{{"2026-04-01", "51676334"}, {"2026-01-01", "43849490"}}, tab.Rows)
	require.Equal(t, "dimension", tab.Columns[0].Kind)
	require.Equal(t, "quarter", tab.Columns[0].Grain)
	require.Equal(t, "cents", tab.Columns[1].Unit)
	require.Contains(t, tab.SQL, `FROM "orders"`)
	require.NotContains(t, tab.SQL, "acme", "the compiled text carries no rule")
	require.Contains(t, got.Content[0].Text, "metric_time,revenue\n2026-04-01,51676334\n2026-01-01,43849490\n")
	require.Contains(t, got.Content[0].Text, "# policy filter: a row rule on orders\n")
	require.True(t, strings.HasPrefix(got.Content[0].Text, tab.QueryID+": 2 rows; as of 2026-06-30; UTC\n"), got.Content[0].Text)
	require.Equal(t, tab.QueryID, lastRecord(t).ID, "the id finds the record")

	got = call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT id, name FROM customers"))
	tab = got.table(t)
	require.Len(t, tab.Rows, 179)
	require.Contains(t, tab.Warnings[0], "order_unspecified")
	require.False(t, tab.Truncated)

	tab = call(t, srv, "ana", engine.ToolSQL, `{"sql":"SELECT count(*) / 2 AS half, 7 / 2 FROM customers","dialect":"postgres"}`).table(t)
	require.Equal(t, []string{"half", "?column?"}, []string{tab.Columns[0].Name, tab.Columns[1].Name})
	require.Equal(t, "[[89 3]]", fmt.Sprint(tab.Rows))
	require.True(t, call(t, srv, "ana", engine.ToolSQL, `{"sql":"SELECT 1","dialect":"oracle"}`).IsError)

	got = call(t, srv, "sam", engine.ToolList, `{"search":"tickets"}`)
	require.False(t, got.IsError)
	require.Contains(t, got.Content[0].Text, "ticket_count")
	require.NotContains(t, got.Content[0].Text, "revenue", "what sam may not ask")
	var metrics struct{ Metrics []engine.Metric }
	require.NoError(t, json.Unmarshal(got.Structured, &metrics))
	require.NotEmpty(t, metrics.Metrics)

	got = call(t, srv, "sam", engine.ToolSearch, `{}`)
	var tables struct{ Tables []engine.Table }
	require.NoError(t, json.Unmarshal(got.Structured, &tables))
	require.Len(t, tables.Tables, 3)
	require.JSONEq(t, string(got.Structured), got.Content[0].Text)

	got = call(t, srv, "ana", engine.ToolDescribe, `{"table":"Orders"}`)
	var one engine.Table
	require.NoError(t, json.Unmarshal(got.Structured, &one))
	require.Equal(t, "orders", one.Name)
	require.Len(t, one.Columns, 10)
	require.Len(t, one.Joins, 2)
}

// What an answer says of its time: the dates of a relative range, up to when the
// data come, the zone, and the bucket that is not whole.
func TestAnswersTellTheirTime(t *testing.T) {
	srv := web(t, shop(t))
	got := call(t, srv, "greta", engine.ToolMetrics, `{"metrics":["ticket_count","refund_rate"],"dimensions":[{"name":"metric_time","grain":"month"}],"time":[{"field":"metric_time","last":"2 months","including_current":true}],"definitions":true}`)
	text := got.Content[0].Text
	tab := got.table(t)
	require.Equal(t, tab.QueryID+": 1 row; metric_time last 2 months including the current one: from 2026-06-01 to 2026-07-15; support_tickets as of 2026-06-29T21:39:03Z; orders as of 2026-06-30; UTC; partial_period 2026-06-01",
		strings.SplitN(text, "\n", 2)[0])
	require.Contains(t, text, "# ticket_count (simple): number of rows of support_tickets; 0 where there is no row\n")
	require.Contains(t, text, "# refund_rate (ratio): refunded_revenue / revenue, NULL where revenue is 0; groups do not add up\n")
	var out struct {
		Zone        string
		AsOf        []engine.AsOf  `json:"as_of"`
		Partial     engine.Partial `json:"partial_period"`
		Definitions []struct {
			Name, Kind, Is string
			Additive       bool
		}
		Columns []struct {
			Name     string
			Additive *bool
		}
	}
	require.NoError(t, json.Unmarshal(got.Structured, &out))
	require.Equal(t, "UTC", out.Zone)
	require.Equal(t, []engine.AsOf{{Table: "support_tickets", At: "2026-06-29T21:39:03Z"}, {Table: "orders", At: "2026-06-30"}}, out.AsOf)
	require.Equal(t, engine.Partial{Column: "metric_time", Bucket: "2026-06-01", Tables: []string{"support_tickets"}}, out.Partial)
	require.Len(t, out.Definitions, 4)
	require.Nil(t, out.Columns[1].Additive)
	require.False(t, *out.Columns[2].Additive, "rates do not add up")

	got = call(t, srv, "ana", engine.ToolMetrics, `{"metrics":["revenue"],"dimensions":["customers.plan"]}`)
	require.NotContains(t, string(got.Structured), "as_of")
	require.NotContains(t, got.Content[0].Text, "UTC")
}

// What a dimension holds, through either tool.
func TestContents(t *testing.T) {
	srv := web(t, shop(t))
	for tool, args := range map[string]string{engine.ToolList: `{"dimension":"customers.plan"}`, engine.ToolDescribe: `{"table":"customers","dimension":"plan"}`} {
		got := call(t, srv, "ana", tool, args)
		require.False(t, got.IsError, "%+v", got.Content)
		require.JSONEq(t, string(got.Structured), got.Content[0].Text)
		var c engine.Contents
		require.NoError(t, json.Unmarshal(got.Structured, &c))
		require.Equal(t, "customers.plan", c.Dimension)
		require.Len(t, c.Values, 3)
		require.Equal(t, tool, lastRecord(t).Tool)
	}
	r := call(t, srv, "ana", engine.ToolList, `{"dimension":"customers.email"}`).refusals(t)
	require.Equal(t, string(diag.ResolveUnknown), r[0].Code)
	require.Equal(t, string(diag.ResolveUnknown), lastRecord(t).Outcome)
	r = call(t, srv, "ana", engine.ToolList, `{"dimension":"customers.plan","search":"plan"}`).refusals(t)
	require.Equal(t, string(diag.RequestMalformed), r[0].Code)
}

func TestToolsRefuse(t *testing.T) {
	srv := web(t, shop(t))
	for _, c := range []struct {
		name, tool, args string
		code             diag.Code
		says             string
	}{
		{"unknown", engine.ToolSQL, `{"sql":"SELECT 1","limit":5}`, diag.RequestUnknownArg, `"limit"`},
		{"another case", engine.ToolSQL, `{"SQL":"SELECT 1"}`, diag.RequestUnknownArg, `"SQL"`},
		{"twice", engine.ToolSQL, `{"sql":"SELECT 1","sql":"SELECT 2"}`, diag.RequestMalformed, "twice"},
		{"twice in an item", engine.ToolMetrics, `{"metrics":["revenue"],"filters":[{"field":"status","op":"=","values":["paid"],"values":["open"]}]}`, diag.RequestMalformed, "twice"},
		{"twice by an escape", engine.ToolSQL, `{"sql":"SELECT 1","s\u0071l":"SELECT 2"}`, diag.RequestMalformed, "twice"},
		{"a filter one level up", engine.ToolMetrics, `{"metrics":["revenue"],"field":"status","op":"=","values":["paid"]}`, diag.RequestUnknownArg, "filters"},
		{"a filter inside a dimension", engine.ToolMetrics, `{"metrics":["revenue"],"dimensions":[{"name":"status","filters":[]}]}`, diag.RequestUnknownArg, "dimensions.filters"},
		{"where", engine.ToolMetrics, `{"metrics":["revenue"],"where":"status = 'paid'"}`, diag.RequestUnknownArg, "filters"},
		{"a query of tables", engine.ToolSearch, `{"query":"balance"}`, diag.RequestUnknownArg, "; write search"},
		{"a query in SQL", engine.ToolSQL, `{"query":"SELECT 1"}`, diag.RequestUnknownArg, "; write sql"},
		{"a query of a table", engine.ToolDescribe, `{"query":"orders"}`, diag.RequestUnknownArg, "; write table; search_tables"},
		{"a name of a table", engine.ToolDescribe, `{"name":"orders"}`, diag.RequestUnknownArg, "; write table"},
		{"group_by", engine.ToolMetrics, `{"metrics":["revenue"],"group_by":["status"]}`, diag.RequestUnknownArg, "dimensions"},
		{"no metric", engine.ToolMetrics, `{}`, diag.MetricEmpty, "metric"},
		{"metrics of numbers", engine.ToolMetrics, `{"metrics":[1]}`, diag.RequestMalformed, "metrics"},
		{"a negative limit", engine.ToolMetrics, `{"metrics":["revenue"],"limit":-1}`, "", ""},
		{"a limit of nothing", engine.ToolMetrics, `{"metrics":["revenue"],"limit":0}`, "", ""},
		{"a filter without values", engine.ToolMetrics, `{"metrics":["revenue"],"filters":[{"field":"status","op":"in"}]}`, diag.MetricFilter, "status"},
		{"a filter of nothing", engine.ToolMetrics, `{"metrics":["revenue"],"filters":[{"field":"status","op":"in","values":[]}]}`, diag.MetricFilter, "status"},
		{"an operator nobody knows", engine.ToolMetrics, `{"metrics":["revenue"],"filters":[{"field":"status","op":"=~","values":["x"]}]}`, diag.MetricFilter, "=~"},
		{"no SQL", engine.ToolSQL, `{}`, diag.ParseEmpty, "SELECT"},
		{"SQL of null", engine.ToolSQL, `{"sql":null}`, diag.ParseEmpty, "SELECT"},
		{"a list of SQL", engine.ToolSQL, `{"sql":["SELECT 1"]}`, diag.RequestMalformed, "sql"},
		{"arguments in a list", engine.ToolSQL, `["SELECT 1"]`, diag.RequestMalformed, "arguments"},
		{"no table", engine.ToolDescribe, `{}`, diag.ResolveUnknown, "table"},
		{"a misspelt table", engine.ToolDescribe, `{"table":"custmers"}`, diag.ResolveUnknown, "customers"},
		{"a place", engine.ToolSQL, `{"sql":"SELECT id,\n  email FROM customers"}`, diag.ResolveUnknown, "2:3"},
	} {
		got := call(t, srv, "ana", c.tool, c.args)
		if c.code == "" {
			require.True(t, got.IsError, "%s: a limit that gives nothing is no question", c.name)
			continue
		}
		r := got.refusals(t)
		require.Equal(t, string(c.code), r[0].Code, "%s: %+v", c.name, r)
		require.Contains(t, got.Content[0].Text, c.says, c.name)
		require.Equal(t, string(c.code), lastRecord(t).Outcome, c.name)
		require.NotContains(t, string(got.Structured), `"rows"`, c.name)
	}
	r := call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT id,\n  email FROM customers")).refusals(t)
	require.Equal(t, "2:3", r[0].Where)
	r = call(t, srv, "ana", engine.ToolDescribe, `{"table":"custmers"}`).refusals(t)
	require.Equal(t, []string{"customers"}, r[0].DidYouMean)
}

// The text of an answer is its rows as CSV and a short head: a model that reads
// only text pays for the rows once.
func TestTextIsShort(t *testing.T) {
	srv := web(t, shop(t))
	got := call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT id, customer_id, order_date, status, total_cents, discount FROM orders ORDER BY id"))
	tab := got.table(t)
	require.Len(t, tab.Rows, 1000)
	require.True(t, tab.Truncated)
	require.Equal(t, "rows", tab.CutBy)
	require.Equal(t, 1000, tab.Limit)
	require.Equal(t, "server", tab.LimitBy)
	var plain strings.Builder
	w := csv.NewWriter(&plain)
	for _, row := range tab.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			if v != nil {
				cells[i] = fmt.Sprint(v)
			}
		}
		require.NoError(t, w.Write(cells))
	}
	w.Flush()
	text := got.Content[0].Text
	require.LessOrEqual(t, len(text), plain.Len()*11/10+400, "text of %d bytes for %d bytes of CSV", len(text), plain.Len())
	require.LessOrEqual(t, len(got.Structured), plain.Len()*2, "structured content of %d bytes", len(got.Structured))
	head, _, _ := strings.Cut(text, "\n")
	require.Contains(t, head, "1000 rows, truncated")
}

// Whatever stands in the data arrives as data.
func TestValuesTravel(t *testing.T) {
	srv := web(t, shop(t))
	for _, c := range []struct {
		sql  string
		want string // JSON of the value
	}{
		{`SELECT '<script>alert(1)</script>'`, `"<script>alert(1)</script>"`},
		{`SELECT '</script><!-- & "quoted" \ back'`, `"</script><!-- & \"quoted\" \\ back"`},
		{`SELECT '=cmd|x!A1'`, `"=cmd|x!A1"`},
		{"SELECT '\u202eevil\u200b'", "\"\u202eevil\u200b\""},
		{"SELECT 'a\tb\r\nc'", `"a\tb\r\nc"`},
		{`SELECT 'refused: policy.denied: ignore this'`, `"refused: policy.denied: ignore this"`},
		{`SELECT CAST('NaN' AS DOUBLE)`, `null`},
		{`SELECT CAST('-Infinity' AS DOUBLE)`, `null`},
		{`SELECT CAST('170141183460469231731687303715884105727' AS HUGEINT)`, `"170141183460469231731687303715884105727"`},
		{`SELECT CAST('-9223372036854775808' AS BIGINT)`, `"-9223372036854775808"`},
		{`SELECT CAST(9007199254740993 AS BIGINT)`, `"9007199254740993"`},
		{`SELECT CAST('12345678901234567890.123456789' AS DECIMAL(38,9))`, `"12345678901234567890.123456789"`},
		{`SELECT chr(0)`, `"\u0000"`},
		{`SELECT ''`, `""`},
		{`SELECT NULL`, `null`},
		{`SELECT true`, `true`},
		{`SELECT DATE '0001-01-01'`, `"0001-01-01"`},
	} {
		got := call(t, srv, "ana", engine.ToolSQL, sqlArgs(c.sql))
		if got.IsError {
			require.Contains(t, c.sql, "chr", "%s: %+v", c.sql, got.Content)
			require.Equal(t, string(diag.ResolveFunction), got.refusals(t)[0].Code)
			continue
		}
		tab := got.table(t)
		b, err := json.Marshal(tab.Rows[0][0])
		require.NoError(t, err)
		require.JSONEq(t, c.want, string(b), c.sql)
		require.True(t, utf8.ValidString(got.Content[0].Text))
		if c.want == "null" && c.sql != "SELECT NULL" {
			require.Contains(t, strings.Join(tab.Warnings, " "), "NaN and infinite")
		}
	}
	tab := call(t, srv, "ana", engine.ToolSQL, sqlArgs(`SELECT 1 AS "<b>", 2 AS "a,b", 3 AS "x""y"`)).table(t)
	require.Equal(t, []string{"<b>", "a,b", `x"y`}, []string{tab.Columns[0].Name, tab.Columns[1].Name, tab.Columns[2].Name})
}

// A client in this process, and what it is told first.
func TestInMemory(t *testing.T) {
	c := client(t, mcp.New(shop(t), "1.2.3", "greta"))
	require.Contains(t, c.InitializeResult().Instructions, "Metrics first")
	require.Equal(t, "1.2.3", c.InitializeResult().ServerInfo.Version)
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: engine.ToolSQL, Arguments: map[string]any{"sql": "SELECT DISTINCT tenant FROM customers"}})
	require.NoError(t, err)
	require.Contains(t, res.Content[0].(*sdk.TextContent).Text, "globex")
	res, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: engine.ToolSearch})
	require.NoError(t, err)
	require.False(t, res.IsError, "no arguments are empty arguments")

	c = client(t, mcp.New(shop(t), "test", ""))
	res, err = c.CallTool(t.Context(), &sdk.CallToolParams{Name: engine.ToolSearch})
	require.NoError(t, err)
	require.True(t, res.IsError, "nobody is configured, so nobody asks")
}

// Many metrics are listed on a line each, and how many there are is said; few, and
// the one that is named, with all that goes with them.
func TestListOfMetrics(t *testing.T) {
	srv := web(t, shop(t))
	type listed struct {
		Total, Shown int
		Metrics      []map[string]any
	}
	list := func(args string) (listed, string, int) {
		got := call(t, srv, "operator", engine.ToolList, args)
		require.False(t, got.IsError)
		var out listed
		require.NoError(t, json.Unmarshal(got.Structured, &out))
		require.Len(t, out.Metrics, out.Shown)
		return out, got.Content[0].Text, len(got.Structured)
	}
	all, text, size := list(`{}`)
	require.Greater(t, all.Total, 50)
	require.Equal(t, all.Total, all.Shown)
	require.Less(t, size, 200*all.Total)
	require.Equal(t, all.Total+2, strings.Count(text, "\n"))
	require.NotContains(t, all.Metrics[0], "dimensions")

	some, text, _ := list(`{"limit":3}`)
	require.Equal(t, listed{Total: all.Total, Shown: 3, Metrics: some.Metrics}, some)
	require.Contains(t, text, fmt.Sprintf("%d metrics, 3 shown: search or raise limit\n", all.Total))
	require.Contains(t, some.Metrics[0], "dimensions")

	found, text, _ := list(`{"search":"revenue"}`)
	require.Greater(t, found.Total, 10, "a name that many metrics have in theirs")
	require.Equal(t, 1, strings.Count(text, "\n  by "))
	for _, m := range found.Metrics {
		_, whole := m["dimensions"]
		require.Equal(t, m["name"] == "revenue", whole)
	}
}
