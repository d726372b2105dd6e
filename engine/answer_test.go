package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// The directives are
//
//	sql as=(ana greta)      a statement, asked by each, with the full answer
//	metric as=(ana greta)   a metric question as JSON
//	same as=(ana greta)     a metric question and a statement after a line of dashes; both must give the rows that are printed
//	describe as=(ana sam) table=orders
//	search as=(ana sam) [for=word]
//	explain as=(ana operator)
func TestPeople(t *testing.T) {
	h := shop(t)
	datadriven.Walk(t, "testdata/people", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h := house{Engine: h.Engine, t: t, root: h.root, log: h.log}
			var people []string
			for _, a := range d.CmdArgs {
				if a.Key == "as" {
					people = a.Vals
				}
			}
			require.NotEmpty(t, people)
			var b strings.Builder
			for _, who := range people {
				fmt.Fprintf(&b, "-- %s\n%s", who, ask(h, d, who))
			}
			return b.String()
		})
	})
}

func ask(h house, d *datadriven.TestData, who string) string {
	h.t.Helper()
	switch d.Cmd {
	case "sql":
		return write(h.sql(who, d.Input))
	case "metric":
		return write(h.metric(who, d.Input))
	case "same":
		question, text, ok := strings.Cut(d.Input, "\n---\n")
		require.True(h.t, ok)
		m, err := h.metric(who, question)
		require.NoError(h.t, err)
		s, err := h.sql(who, text)
		require.NoError(h.t, err)
		require.Equal(h.t, m.Table.Rows, s.Table.Rows, "the two doors differ for %s", who)
		return m.Table.CSV()
	case "describe":
		var table string
		d.ScanArgs(h.t, "table", &table)
		got, err := h.Table(h.t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject(who), Table: table})
		return asJSON(h.t, got, err)
	case "search":
		var word string
		d.MaybeScanArgs(h.t, "for", &word)
		got, err := h.Tables(h.t.Context(), engine.Describing{Tool: engine.ToolSearch, Subject: h.subject(who), Search: word})
		return asJSON(h.t, got, err)
	case "explain":
		ans, err := h.explain(who, d.Input)
		if err != nil {
			return write(nil, err)
		}
		return ans.Explain.Text()
	}
	h.t.Fatalf("no directive %s", d.Cmd)
	return ""
}

func asJSON(t *testing.T, v any, err error) string {
	t.Helper()
	if err != nil {
		return write(nil, err)
	}
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b) + "\n"
}

// What is hidden is answered as what is missing, word for word.
func TestHiddenIsMissing(t *testing.T) {
	h := shop(t)
	neutral := strings.NewReplacer("email", "NAME", "emaik", "NAME", "orders", "NAME", "ordezz", "NAME")
	for _, pair := range []struct{ who, hidden, missing string }{
		{"ana", "SELECT email FROM customers", "SELECT emaik FROM customers"},
		{"ana", "SELECT id FROM customers ORDER BY email", "SELECT id FROM customers ORDER BY emaik"},
		{"ana", "SELECT * EXCLUDE (email) FROM customers", "SELECT * EXCLUDE (emaik) FROM customers"},
		{"ana", "SELECT customers.email FROM customers", "SELECT customers.emaik FROM customers"},
		{"ana", "SELECT a.id FROM customers a JOIN customers b USING (email)", "SELECT a.id FROM customers a JOIN customers b USING (emaik)"},
		{"sam", "SELECT id FROM orders", "SELECT id FROM ordezz"},
		{"sam", "SELECT orders.id FROM customers", "SELECT ordezz.id FROM customers"},
	} {
		_, a := h.sql(pair.who, pair.hidden)
		_, b := h.sql(pair.who, pair.missing)
		require.Error(t, a)
		require.Error(t, b)
		require.Equal(t, diag.CodeOf(b), diag.CodeOf(a), pair.hidden)
		require.Equal(t, neutral.Replace(b.Error()), neutral.Replace(a.Error()), pair.hidden)
	}
	for _, table := range []string{"orders", "ordezz"} {
		_, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("sam"), Table: table})
		require.Equal(t, `resolve.unknown: no table "NAME"; search_tables lists what you may see`, neutral.Replace(err.Error()))
	}
	for _, metric := range []string{"revenue", "revenuf"} {
		_, err := h.metric("sam", `{"metrics":["`+metric+`"]}`)
		require.Equal(t, diag.MetricUnknown, diag.CodeOf(err))
		require.NotContains(t, strings.ReplaceAll(err.Error(), metric, ""), "revenue")
	}
}

// An operator may see how rules are spelled; nobody else finds a rule's literal,
// a storage name or a hidden field anywhere in the account.
func TestExplainDoesNotSpellRules(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", "input.row.tenant == lib.text_claim(\"tenant\")", "input.row.tenant != \"secretword\"\n\tinput.row.tenant == lib.text_claim(\"tenant\")"}))
	for _, text := range []string{
		"SELECT count(*) FROM customers",
		"SELECT c.plan, sum(o.total_cents) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'paid' GROUP BY 1",
		"SELECT id, (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) FROM customers c ORDER BY 1",
		"WITH x AS (SELECT * FROM customers) SELECT * FROM x",
	} {
		spelled, err := h.explain("operator", text)
		require.NoError(t, err)
		require.Contains(t, spelled.Explain.FinalSQL, `"base"`, "an operator sees the final text")
		for _, who := range []string{"ana", "greta"} {
			ans, err := h.explain(who, text)
			require.NoError(t, err)
			whole, err := json.Marshal(ans)
			require.NoError(t, err)
			said := string(whole) + ans.Explain.Text()
			for _, secret := range []string{"secretword", `"base"`, `\"base\"`, `base.`, "email", "OFFSET 0", "read_csv", "read_parquet", h.root, "risk_score"} {
				require.NotContains(t, said, secret, "%s: %s", who, text)
			}
			require.Contains(t, said, "a row rule")
		}
	}
}
