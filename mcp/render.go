package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/shape"
	"plumbline/semantic/diag"
)

// result is the structured form of an answer: columns once, rows as arrays.
type result struct {
	QueryID   string           `json:"query_id"`
	Columns   []shape.Column   `json:"columns"`
	Rows      [][]any          `json:"rows"`
	RowCount  int              `json:"row_count"`
	Truncated bool             `json:"truncated"`
	Limit     int              `json:"limit"`
	LimitBy   string           `json:"limit_source"`     // question, policy or server
	CutBy     string           `json:"cut_by,omitempty"` // rows or bytes
	Applied   []engine.Applied `json:"applied_filters"`
	Warnings  []string         `json:"warnings"`

	Zone        string              `json:"zone,omitempty"`       // whose days are meant
	WeekStart   string              `json:"week_start,omitempty"` // of answers by week
	AsOf        []engine.AsOf       `json:"as_of,omitempty"`
	Partial     *engine.Partial     `json:"partial_period,omitempty"`
	Definitions []metric.Definition `json:"definitions,omitempty"`
	SQL         string              `json:"sql,omitempty"`
}

// answered writes an answer twice for two kinds of clients: as structured
// content, and as CSV under a short head for those that read text only.
func answered(ans *engine.Answer) (*sdk.CallToolResult, error) {
	t := ans.Table
	structured := result{
		QueryID: ans.QueryID, Columns: t.Columns, Rows: t.Rows, RowCount: len(t.Rows), Truncated: t.Truncated,
		Limit: t.Limit, LimitBy: ans.LimitSource, CutBy: t.CutBy, Applied: ans.Applied, Warnings: ans.Warnings,
		Zone: ans.Zone, WeekStart: ans.WeekStart, AsOf: ans.AsOf, Partial: ans.Partial, Definitions: ans.Definitions, SQL: ans.SQL,
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", ans.QueryID, plural(len(t.Rows), "row"))
	if t.Truncated {
		b.WriteString(", truncated")
	}
	if when := ans.When(); when != "" {
		b.WriteString("; " + when)
	}
	b.WriteByte('\n')
	for _, a := range ans.Applied {
		if a.Origin != "caller" {
			state := ""
			if a.Overridden {
				state = " (overridden by your filter)"
			}
			fmt.Fprintf(&b, "# %s filter: %s%s\n", a.Origin, a.Text, state)
		}
	}
	for _, w := range ans.Warnings {
		fmt.Fprintf(&b, "# %s\n", w)
	}
	for _, d := range ans.Definitions {
		fmt.Fprintf(&b, "# %s\n", d.Text())
	}
	if ans.SQL != "" {
		fmt.Fprintf(&b, "# sql: %s\n", strings.Join(strings.Fields(ans.SQL), " "))
	}
	b.WriteString(t.CSV())
	return content(b.String(), structured), nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// described writes a describing answer; without a text of its own, its JSON is the text.
func described(v any, text string) (*sdk.CallToolResult, error) {
	if text == "" {
		j, err := json.Marshal(v)
		if err != nil {
			return nil, diag.Wrap(err, diag.BugInternal, "the description could not be written")
		}
		text = string(j)
	}
	return content(text, v), nil
}

func content(text string, structured any) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: structured}
}

// failure is one refusal as an agent reads it.
type failure struct {
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Where      string   `json:"where,omitempty"` // line:column in the caller's text
	Hint       string   `json:"hint,omitempty"`
	DidYouMean []string `json:"did_you_mean,omitempty"`
}

// refusal writes an error so that it cannot be taken for an answer.
func refusal(err error) *sdk.CallToolResult {
	all := diag.All(err)
	list := make([]failure, len(all))
	lines := make([]string, len(all))
	for i, e := range all {
		list[i] = failure{Code: string(e.Code), Message: e.Msg, Where: e.Pos.String(), Hint: e.Hint, DidYouMean: e.DidYouMean}
		lines[i] = e.Error()
	}
	res := content("refused: "+strings.Join(lines, "\nrefused: "), map[string]any{"errors": list})
	res.IsError = true
	return res
}

// dimensions lists what a metric goes with on one line; time dimensions name
// their finest and coarsest grain.
func dimensions(m engine.Metric) string {
	var parts []string
	if len(m.Time) > 0 {
		parts = append(parts, "metric_time"+grains(m.Time))
	}
	for _, d := range m.Dimensions {
		word := d.Name + grains(d.Grains)
		if d.FilterOnly {
			word += " (filter only)"
		}
		parts = append(parts, word)
	}
	if len(m.Required) > 0 {
		parts = append(parts, "and must filter "+strings.Join(m.Required, ", "))
	}
	return strings.Join(parts, ", ")
}

// extras lists what else a question for a metric may have, or must.
func extras(m engine.Metric) string {
	var b strings.Builder
	if m.Needs != "" {
		fmt.Fprintf(&b, "  needs %s\n", m.Needs)
	}
	if len(m.Segments) > 0 {
		fmt.Fprintf(&b, "  segments %s\n", strings.Join(m.Segments, ", "))
	}
	for _, h := range m.Hierarchies {
		fmt.Fprintf(&b, "  hierarchy %s: %s\n", h.Name, strings.Join(h.Levels, " > "))
	}
	for _, p := range m.Parameters {
		fmt.Fprintf(&b, "  parameter %s\n", p.Text())
	}
	return b.String()
}

func grains(g []string) string {
	if len(g) == 0 {
		return ""
	}
	return ":" + g[0] + ".." + g[len(g)-1]
}
