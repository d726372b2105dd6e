package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/policy"
	"plumbline/semantic/diag"
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
		description: "Governed metrics you may ask: meaning, unit, dimensions, segments, parameters. Start here.",
		schema: `{"type":"object","additionalProperties":false,"properties":{
"search":{"type":"string","description":"words to look for; leave out for all"},
"dimension":{"type":"string","description":"in place of metrics: what one holds, as table.dimension: frequent values, first and last"},
"limit":{"type":"integer","description":"how many, default 200; of values 50"}}}`,
		run: listMetrics,
	},
	{
		name: engine.ToolMetrics, title: "Query metrics",
		description: "Answer a business question with metrics. Joins, aggregation and row rules are done for you.",
		schema: `{"type":"object","additionalProperties":false,"properties":{
"metrics":{"type":"array","items":{"type":"string"},"description":"metric names"},
"dimensions":{"type":"array","description":"what to group by; metric_time is each metric's own date","items":{"type":"object","additionalProperties":false,"required":["name"],"properties":{"name":{"type":"string"},"grain":{"type":"string","description":"of time: second, minute, hour, day, week, month, quarter, year, fiscal_quarter, fiscal_year or a calendar's; of a hierarchy: its finest level"}}}},
"filters":{"type":"array","description":"all must hold; field is a dimension, or a metric of this question (applied after aggregation)","items":{"type":"object","additionalProperties":false,"properties":{"field":{"type":"string"},"op":{"type":"string","description":"= != < <= > >= in not_in between is_null is_not_null contains starts_with ends_with"},"values":{"type":"array","items":{"type":"string"},"description":"numbers, booleans and dates as text: \"5\", \"true\", \"2026-04-01\""},"grain":{"type":"string","description":"time only: compare buckets"},"any":{"type":"array","items":{"type":"object"},"description":"alone: filters of which one must hold"},"all":{"type":"array","items":{"type":"object"},"description":"alone, in any: filters that must all hold"}}}},
"segments":{"type":"array","items":{"type":"string"},"description":"named conditions"},
"time":{"type":"array","description":"ranges on time dimensions: from and to, or last, or this","items":{"type":"object","additionalProperties":false,"required":["field"],"properties":{"field":{"type":"string"},"from":{"type":"string","description":"e.g. 2026-04-01"},"to":{"type":"string","description":"a date means through the end of that day, a time means before it"},"last":{"type":"string","description":"complete periods before now: 3 months"},"including_current":{"type":"boolean","description":"last: the current period is one of them"},"this":{"type":"string","description":"the current period so far: month"}}}},
"order":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["by"],"properties":{"by":{"type":"string"},"desc":{"type":"boolean"}}}},
"limit":{"type":"integer"},
"offset":{"type":"integer","description":"rows to pass over"},
"totals":{"type":"string","description":"total or subtotals: rows over several groups, told by rolled_up"},
"top":{"type":"object","additionalProperties":false,"required":["dimension","by","n"],"description":"only the n greatest groups of a dimension by a metric; other: the rest as one row","properties":{"dimension":{"type":"string"},"by":{"type":"string"},"n":{"type":"integer"},"other":{"type":"boolean"}}},
"fill_gaps":{"type":"boolean","description":"rows for time buckets without data"},
"rows":{"type":"string","description":"a table: its rows as they are, dimensions as columns, no metrics"},
"parameters":{"type":"object","description":"values by parameter name"},
"zone":{"type":"string","description":"IANA time zone of days"},
"week_start":{"type":"string","description":"monday or sunday"},
"definitions":{"type":"boolean","description":"say what each metric is"},
"show_sql":{"type":"boolean","description":"give the compiled SQL too"}}}`,
		run: queryMetrics,
	},
	{
		name: engine.ToolSQL, title: "Query with SQL",
		description: "Run one read-only DuckDB SELECT over the tables of search_tables. Row rules and masks apply; the models' own filters bind measures only. Call a table's measure in a grouped query: MEASURE(revenue), of all rows MEASURE(revenue) AT (ALL). Aggregate in SQL; results are capped.",
		schema: `{"type":"object","additionalProperties":false,"required":["sql"],"properties":{
"sql":{"type":"string","description":"one SELECT; bare table names; literals instead of parameters"},
"dialect":{"enum":["postgres"],"description":"postgres: answers as PostgreSQL 15 does, or refuses; leave out for DuckDB"}}}`,
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
"table":{"type":"string"},
"dimension":{"type":"string","description":"what this one holds instead: frequent values, first and last"}}}`,
		run: describeTable,
	},
}

// Run calls a tool by its name with arguments as a client sends them, for questions
// that are asked again. The refusal comes as the error.
func Run(ctx context.Context, a Asker, name string, s policy.Subject, raw json.RawMessage) error {
	for _, t := range tools {
		if t.name == name {
			_, err := t.run(ctx, a, s, raw)
			return err
		}
	}
	return diag.New(diag.RequestMalformed, "there is no tool %q", name)
}

// Tools are the names of the tools, in the order clients see them.
func Tools() []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.name)
	}
	return out
}

type searchArgs struct {
	Search string `json:"search"`
	Limit  int    `json:"limit"`
}

type listArgs struct {
	Search    string `json:"search"`
	Dimension string `json:"dimension"`
	Limit     int    `json:"limit"`
}

func listMetrics(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args listArgs
	err := decode(raw, &args)
	if err == nil && args.Dimension != "" && args.Search != "" {
		err = diag.New(diag.RequestMalformed, "search looks for metrics, and dimension asks what one holds").WithHint("send one of them")
	}
	if err != nil {
		return nil, refuse(ctx, a, engine.ToolList, s, raw, err)
	}
	d := engine.Describing{Tool: engine.ToolList, Subject: s, Asked: raw, Search: args.Search, Dimension: args.Dimension, Limit: args.Limit}
	if args.Dimension != "" {
		return contents(ctx, a, d)
	}
	d.Limit = math.MaxInt // the whole list, to tell how much of it is shown
	list, err := a.Metrics(ctx, d)
	if err != nil {
		return nil, err
	}
	l := listing{Total: len(list), Metrics: list, search: args.Search}
	if limit := cmp.Or(args.Limit, listedMetrics); limit > 0 && len(list) > limit {
		l.Metrics = list[:limit]
	}
	l.Shown = len(l.Metrics)
	return described(l.structured(), l.text())
}

// contents tells what a dimension holds.
func contents(ctx context.Context, a Asker, d engine.Describing) (*sdk.CallToolResult, error) {
	c, err := a.Contents(ctx, d)
	if err != nil {
		return nil, err
	}
	return described(c, "")
}

// metricArgs is what query_metrics takes: a question, and what to say beside the rows.
type metricArgs struct {
	metric.Question
	Definitions bool `json:"definitions"`
	ShowSQL     bool `json:"show_sql"`
}

func queryMetrics(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args metricArgs
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolMetrics, s, raw, err)
	}
	ans, err := a.Answer(ctx, engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: &args.Question, Asked: raw, ShowSQL: args.ShowSQL, Define: args.Definitions})
	if err != nil {
		return nil, err
	}
	return answered(ans)
}

func querySQL(ctx context.Context, a Asker, s policy.Subject, raw json.RawMessage) (*sdk.CallToolResult, error) {
	var args struct {
		SQL     string `json:"sql"`
		Dialect string `json:"dialect"`
	}
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolSQL, s, raw, err)
	}
	ans, err := a.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: args.SQL, Dialect: args.Dialect, Asked: raw})
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
		Table     string `json:"table"`
		Dimension string `json:"dimension"`
	}
	if err := decode(raw, &args); err != nil {
		return nil, refuse(ctx, a, engine.ToolDescribe, s, raw, err)
	}
	d := engine.Describing{Tool: engine.ToolDescribe, Subject: s, Asked: raw, Table: args.Table, Dimension: args.Dimension}
	if args.Dimension != "" {
		return contents(ctx, a, d)
	}
	t, err := a.Table(ctx, d)
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
