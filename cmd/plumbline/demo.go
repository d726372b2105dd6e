package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline"
	"plumbline/cmd/plumbline/sample"
	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/mcp"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

type demoCmd struct {
	Folder string  `arg:"" optional:"" default:"demo" type:"path" help:"Where the sample workspace is written."`
	Serve  bool    `help:"Leave the server running after the demo."`
	Write  bool    `help:"Only write the workspace and its data."`
	Listen string  `default:"127.0.0.1:0" help:"host:port of the demo's server."`
	Scale  float64 `default:"1" help:"Size of the generated data; 1 is 20k customers and 500k orders."`
}

// seedSQL is the question the project began with, as one statement.
const seedSQL = `WITH current_revenue AS (
  SELECT customer_id, SUM(total_cents) AS cents FROM orders
  WHERE order_date >= DATE '2026-04-01' AND order_date < DATE '2026-07-01'
    AND status IS DISTINCT FROM 'cancelled' GROUP BY customer_id
), previous_revenue AS (
  SELECT customer_id, SUM(total_cents) AS cents FROM orders
  WHERE order_date >= DATE '2026-01-01' AND order_date < DATE '2026-04-01'
    AND status IS DISTINCT FROM 'cancelled' GROUP BY customer_id
), ticket_counts AS (
  SELECT customer_id, COUNT(*) AS tickets FROM support_tickets
  WHERE created_at >= TIMESTAMP '2026-04-01 00:00:00' AND created_at < TIMESTAMP '2026-07-01 00:00:00' GROUP BY customer_id
)
SELECT c.id, c.name, cur.cents AS current_cents, prev.cents AS previous_cents, t.tickets
FROM customers c
JOIN current_revenue cur ON cur.customer_id = c.id
JOIN previous_revenue prev ON prev.customer_id = c.id
JOIN ticket_counts t ON t.customer_id = c.id
WHERE c.plan = 'enterprise' AND cur.cents < prev.cents AND t.tickets > 3
ORDER BY prev.cents - cur.cents DESC, c.id
LIMIT 5`

// step is one call of the demo.
type step struct {
	title, subject, tool string
	args                 map[string]any
}

var secondQuarter = []map[string]any{{"field": "metric_time", "from": "2026-04-01", "to": "2026-06-30"}}

var script = []step{
	{"ana lists the metrics about revenue", "ana", engine.ToolList, map[string]any{"search": "revenue"}},
	{"ana asks for revenue and tickets by plan, second quarter of 2026", "ana", engine.ToolMetrics,
		map[string]any{"metrics": []string{"revenue", "ticket_count", "revenue_per_ticket"}, "dimensions": []map[string]any{{"name": "plan"}}, "time": secondQuarter}},
	{"greta asks the same, and sees her tenant's numbers", "greta", engine.ToolMetrics,
		map[string]any{"metrics": []string{"revenue", "ticket_count", "revenue_per_ticket"}, "dimensions": []map[string]any{{"name": "plan"}}, "time": secondQuarter}},
	{"ana asks for revenue by plan in SQL: the same rows for the same meaning", "ana", engine.ToolSQL,
		map[string]any{"sql": "SELECT c.plan, sum(o.total_cents) AS revenue FROM orders o LEFT JOIN customers c ON c.id = o.customer_id WHERE o.order_date >= DATE '2026-04-01' AND o.order_date < DATE '2026-07-01' AND o.status IS DISTINCT FROM 'cancelled' GROUP BY c.plan ORDER BY c.plan"}},
	{"ana asks the question of many tools in one statement: enterprise customers with declining revenue and more than three tickets", "ana", engine.ToolSQL, map[string]any{"sql": seedSQL}},
	{"greta asks it too", "greta", engine.ToolSQL, map[string]any{"sql": seedSQL}},
	{"ana asks it as a metric question", "ana", engine.ToolMetrics, map[string]any{
		"metrics":    []string{"revenue_2026_q2", "revenue_2026_q1", "tickets_2026_q2", "revenue_trend"},
		"dimensions": []map[string]any{{"name": "id"}, {"name": "name"}},
		"filters": []map[string]any{
			{"field": "plan", "op": "=", "values": []any{"enterprise"}},
			{"field": "revenue_trend", "op": "<", "values": []any{1}},
			{"field": "tickets_2026_q2", "op": ">", "values": []any{3}},
		},
		"order": []map[string]any{{"by": "revenue_trend"}}, "limit": 5,
	}},
	{"ana asks for a column she may not see: refused as if it did not exist", "ana", engine.ToolSQL, map[string]any{"sql": "SELECT id, email FROM customers LIMIT 5"}},
	{"ana asks for order revenue by product category: refused, since each order would count once per line", "ana", engine.ToolMetrics,
		map[string]any{"metrics": []string{"revenue"}, "dimensions": []map[string]any{{"name": "category"}}}},
	{"ana tries to write", "ana", engine.ToolSQL, map[string]any{"sql": "COPY customers TO 'customers.csv'"}},
}

// Run writes the workspace, serves it, asks as two people, prints the audit
// lines, and exits 0 when every step went as it must.
func (c demoCmd) Run(e *env) (err error) {
	if err := writeDemo(e.ctx, c.Folder, c.Scale); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "workspace: %s\n", filepath.Base(c.Folder))
	if c.Write {
		return nil
	}
	tokens, err := demoTokens(c.Serve)
	if err != nil {
		return err
	}
	auditFile := filepath.Join(c.Folder, "audit", "demo.jsonl")
	if err := os.Remove(auditFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	eng, err := engine.Open(e.ctx, c.Folder, engine.Options{SelfTest: true, AuditTo: auditFile})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	before, err := audit.Tail(auditFile, 1000)
	if err != nil {
		return err
	}
	web, err := listenHTTP(mcp.New(eng, version, ""), c.Listen, tokens, nil)
	if err != nil {
		return err
	}
	for i, s := range script {
		fmt.Fprintf(e.stdout, "\n%d. %s\n", i+1, s.title)
		text, err := callTool(e.ctx, web.addr, tokens, s)
		if err != nil {
			return errors.Join(err, web.close(e.ctx))
		}
		fmt.Fprint(e.stdout, indent(text))
	}
	if err := printAudit(e, auditFile, len(before)); err != nil {
		return errors.Join(err, web.close(e.ctx))
	}
	if !c.Serve {
		return web.close(e.ctx)
	}
	fmt.Fprintf(e.stdout, "\nserving http://%s/mcp; tokens:\n", web.addr)
	for _, t := range tokens {
		fmt.Fprintf(e.stdout, "  %s: %s\n", t.Subject, t.Secret)
	}
	return web.until(e.ctx)
}

// writeDemo writes the workspace once; data of this version that is there already is kept.
func writeDemo(ctx context.Context, folder string, scale float64) error {
	if _, err := os.Stat(filepath.Join(folder, "plumbline.cue")); errors.Is(err, os.ErrNotExist) {
		if err := load.Init(folder, plumbline.Files); err != nil {
			return err
		}
	}
	return sample.Options{Scale: scale}.Write(ctx, filepath.Join(folder, "data"))
}

// demoTokens draws a token for each person of the demo; a served demo takes them
// from the environment where they are set, so that clients keep working.
func demoTokens(served bool) ([]mcp.Token, error) {
	var out []mcp.Token
	for _, id := range []string{"ana", "greta"} {
		secret := ""
		if served {
			secret = os.Getenv("PLUMBLINE_TOKEN_" + strings.ToUpper(id))
		}
		if secret == "" {
			var b [16]byte
			if _, err := rand.Read(b[:]); err != nil {
				return nil, err
			}
			secret = hex.EncodeToString(b[:])
		}
		out = append(out, mcp.Token{Subject: id, Secret: secret})
	}
	return out, nil
}

// bearer adds one subject's token to every request.
type bearer struct{ secret string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.secret)
	return http.DefaultTransport.RoundTrip(r)
}

// callTool is a whole MCP client: connect, call, leave. It gives the text that
// a model would read.
func callTool(ctx context.Context, addr string, tokens []mcp.Token, s step) (string, error) {
	var secret string
	for _, t := range tokens {
		if t.Subject == s.subject {
			secret = t.Secret
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "plumbline-demo", Version: version}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{
		Endpoint: "http://" + addr + "/mcp", HTTPClient: &http.Client{Transport: bearer{secret}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return "", diag.Wrap(err, diag.BugInternal, "the demo's client cannot connect")
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: s.tool, Arguments: s.args})
	if err != nil {
		return "", diag.Wrap(err, diag.BugInternal, "the demo's call of %s failed", s.tool)
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String(), nil
}

func printAudit(e *env, path string, skip int) error {
	records, err := audit.Tail(path, 1000)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\naudit: %d records, one per call\n", len(records)-skip)
	for _, r := range records[skip:] {
		var asked struct {
			SQL     string   `json:"sql"`
			Metrics []string `json:"metrics"`
			Search  string   `json:"search"`
		}
		_ = json.Unmarshal(r.Question, &asked) // what does not fit is printed as nothing
		what := strings.Join(strings.Fields(asked.SQL+" "+strings.Join(asked.Metrics, ", ")+" "+asked.Search), " ")
		if len(what) > 48 {
			what = what[:48] + "..."
		}
		fmt.Fprintf(e.stdout, "  %-6s %-14s %-16s %3d rows  %s\n", r.Subject.ID, r.Tool, r.Outcome, r.Rows, what)
	}
	return nil
}

func indent(text string) string {
	return "   " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n   ") + "\n"
}
