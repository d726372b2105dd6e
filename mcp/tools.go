package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/policy"
)

// tool is one MCP tool: what clients read, and what it does.
type tool struct {
	name, title, description string
	schema                   string // JSON Schema of the arguments: plain types only, since some clients drop tools with unions
	run                      func(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error)
}

func (t tool) describe() *sdk.Tool {
	no := false
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: json.RawMessage(t.schema),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}
}

// tools is the whole list, in the order clients see it.
var tools = []tool{
	{
		name: engine.ToolList, title: "List metrics",
		description: "Governed metrics you may ask: meaning, unit, and the dimensions each can be grouped or filtered by. Start here.",
		schema: `{"type":"object","additionalProperties":false,"properties":{
"search":{"type":"string","description":"words to look for; leave out for all"},
"limit":{"type":"integer","description":"how many, default 50"}}}`,
		run: listMetrics,
	},
	{
		name: engine.ToolMetrics, title: "Query metrics",
		description: "Answer a business question with metrics. Joins, aggregation and row rules are done for you.",
		schema: `{"type":"object","additionalProperties":false,"required":["metrics"],"properties":{
"metrics":{"type":"array","items":{"type":"string"},"description":"metric names"},
"dimensions":{"type":"array","description":"what to group by; metric_time is each metric's own date","items":{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"},"grain":{"type":"string","description":"time only: hour, day, week, month, quarter, year"}}}},
"filters":{"type":"array","description":"all must hold; field is a dimension, or a metric of this question (applied after aggregation)","items":{"type":"object","additionalProperties":false,"required":["field","op"],"properties":{"field":{"type":"string"},"op":{"type":"string","description":"= != < <= > >= in not_in between is_null is_not_null contains starts_with ends_with"},"values":{"type":"array","items":{"type":"string"},"description":"numbers, booleans and dates as text: \"5\", \"true\", \"2026-04-01\""},"grain":{"type":"string","description":"time only: compare buckets"}}}},
"time":{"type":"array","description":"ranges on time dimensions","items":{"type":"object","additionalProperties":false,"required":["field"],"properties":{"field":{"type":"string"},"from":{"type":"string","description":"e.g. 2026-04-01"},"to":{"type":"string","description":"a date means through the end of that day, a time means before it"}}}},
"order":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["by"],"properties":{"by":{"type":"string"},"desc":{"type":"boolean"}}}},
"limit":{"type":"integer"},
"show_sql":{"type":"boolean","description":"give the compiled SQL too"}}}`,
		run: queryMetrics,
	},
	{
		name: engine.ToolSQL, title: "Query with SQL",
		description: "Run one read-only DuckDB SELECT over the tables of search_tables. Row rules and masks apply; the models' own filters bind measures only. Call a table's measure in a grouped query: MEASURE(revenue), of all rows MEASURE(revenue) AT (ALL). Aggregate in SQL; results are capped.",
		schema: `{"type":"object","additionalProperties":false,"required":["sql"],"properties":{
"sql":{"type":"string","description":"one SELECT; bare table names; literals instead of parameters"}}}`,
		run: querySQL,
	},
	{
		name: engine.ToolSearch, title: "Search tables",
		description: "Find tables you may query with SQL.",
		schema: `{"type":"object","additionalProperties":false,"properties":{
"search":{"type":"string","description":"words to look for; leave out for all"},
"limit":{"type":"integer","description":"how many, default 50"}}}`,
		run: searchTables,
	},
	{
		name: engine.ToolDescribe, title: "Describe table",
		description: "Columns of one table, how each may be used (output, filter, join), joins, required filters and measures.",
		schema: `{"type":"object","additionalProperties":false,"required":["table"],"properties":{
"table":{"type":"string"}}}`,
		run: describeTable,
	},
}

type searchArgs struct {
	Search string `json:"search"`
	Limit  int    `json:"limit"`
}

func listMetrics(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args searchArgs
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolList, s, raw, err)
	}
	list, err := a.Metrics(ctx, engine.Describing{Tool: engine.ToolList, Subject: s, Asked: raw, Search: args.Search, Limit: args.Limit})
	if err != nil {
		return nil, err
	}
	return described(map[string]any{"metrics": list}, metricsText(list))
}

// metricArgs is what query_metrics takes.
type metricArgs struct {
	Metrics    []string              `json:"metrics"`
	Dimensions []metric.DimensionRef `json:"dimensions"`
	Filters    []metric.Filter       `json:"filters"`
	Time       []metric.TimeRange    `json:"time"`
	Order      []metric.Order        `json:"order"`
	Limit      *int                  `json:"limit"`
	ShowSQL    bool                  `json:"show_sql"`
}

func queryMetrics(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args metricArgs
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolMetrics, s, raw, err)
	}
	q := &metric.Question{Metrics: args.Metrics, Dimensions: args.Dimensions, Filters: args.Filters, Time: args.Time, Order: args.Order, Limit: args.Limit}
	ans, err := a.Answer(ctx, engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: q, Asked: raw, ShowSQL: args.ShowSQL})
	if err != nil {
		return nil, err
	}
	return answered(ans)
}

func querySQL(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args struct {
		SQL string `json:"sql"`
	}
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolSQL, s, raw, err)
	}
	ans, err := a.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: args.SQL, Asked: raw})
	if err != nil {
		return nil, err
	}
	return answered(ans)
}

func searchTables(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args searchArgs
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolSearch, s, raw, err)
	}
	list, err := a.Tables(ctx, engine.Describing{Tool: engine.ToolSearch, Subject: s, Asked: raw, Search: args.Search, Limit: args.Limit})
	if err != nil {
		return nil, err
	}
	return described(map[string]any{"tables": list}, "")
}

func describeTable(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args struct {
		Table string `json:"table"`
	}
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolDescribe, s, raw, err)
	}
	t, err := a.Table(ctx, engine.Describing{Tool: engine.ToolDescribe, Subject: s, Asked: raw, Table: args.Table})
	if err != nil {
		return nil, err
	}
	return described(t, "")
}

// refuse leaves a record of a call that never reached the engine, and gives the
// error back; a record that cannot be written takes its place.
func refuse(ctx context.Context, a Asker, tool string, s policy.Subject, raw json.RawMessage, err error) error {
	if auditErr := a.Refused(ctx, tool, s, raw, err); auditErr != nil {
		return auditErr
	}
	return err
}
