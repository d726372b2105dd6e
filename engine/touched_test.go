package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
)

// permitted says of each file of the sample which rows the rules of
// testdata/rows/access.rego leave to ana, written by hand in SQL over the files.
var permitted = map[string]string{
	"customers.csv":            `tenant = 'acme' AND region IN ('eu', 'us')`,
	"orders":                   `tenant = 'acme' AND customer_id IN (SELECT id::BIGINT FROM customers WHERE plan <> 'free')`,
	"order_items.parquet":      `order_id IN (SELECT o.id FROM orders o JOIN customers c ON c.id::BIGINT = o.customer_id WHERE c.plan <> 'free') AND product_id IN (SELECT id::BIGINT FROM products WHERE category IN ('home', 'tools'))`,
	"products.csv":             `category IN ('home', 'tools')`,
	"labels.csv":               `family <> 'price'`,
	"product_labels.csv":       `label IN (SELECT name FROM labels WHERE family <> 'price')`,
	"web_visits.parquet":       `tenant = 'acme' AND channel IS DISTINCT FROM 'mail' AND visited_on >= DATE '2025-07-15'`,
	"plan_history.parquet":     `tenant = 'acme' AND plan <> 'enterprise'`,
	"sales_reps.csv":           `tenant = 'acme' AND EXISTS (SELECT 1 FROM owners o JOIN customers c ON c.id = o.customer_id WHERE o.rep_id = f.id AND c.region = 'latam' AND c.plan = 'enterprise')`,
	"account_owners.csv":       `tenant = 'acme' AND rep_id IN (SELECT id FROM reps WHERE department <> 'inside')`,
	"purchases.csv":            `tenant = 'acme'`,
	"exchange_rates.csv":       `rate::DOUBLE < 1.2`,
	"account_balances.parquet": `customer_id IN (SELECT id::BIGINT FROM customers WHERE region = 'eu' AND tenant = 'acme')`,
	"support_tickets.ndjson":   `tenant = 'acme' AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.id::BIGINT = f.customer_id AND c.region = 'latam') AND EXISTS (SELECT 1 FROM customers c WHERE c.id::BIGINT = f.customer_id)`,
}

// filtered takes the rows that are not permitted out of the files of a workspace.
func filtered(t *testing.T, root string) {
	t.Helper()
	db := ducktest.Open(t, nil)
	dir, from := filepath.Join(root, "data"), filepath.Join(template, "data")
	read := func(path string) string {
		switch filepath.Ext(path) {
		case ".csv":
			return "read_csv(" + semantic.QuoteText(path) + ", all_varchar = true, header = true)"
		case ".parquet":
			return "read_parquet(" + semantic.QuoteText(path) + ", hive_partitioning = false)"
		}
		return "read_json_auto(" + semantic.QuoteText(path) + ")"
	}
	for name, path := range map[string]string{"customers": "customers.csv", "products": "products.csv", "labels": "labels.csv", "owners": "account_owners.csv",
		"reps": "sales_reps.csv", "orders": "orders/month=*/part-0.parquet"} {
		db.Exec(t, "CREATE VIEW "+name+" AS FROM "+read(filepath.Join(from, path)))
	}
	gone := 0
	keep := func(path, condition string) {
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		all := read(filepath.Join(from, rel))
		format := map[string]string{".csv": "FORMAT csv, HEADER", ".parquet": "FORMAT parquet", ".ndjson": "FORMAT json"}[filepath.Ext(path)]
		db.Exec(t, "COPY (FROM "+all+" AS f WHERE "+condition+") TO "+semantic.QuoteText(path)+" ("+format+")")
		lost := db.Rows(t, "SELECT count(*) FROM "+all+" AS f WHERE ("+condition+") IS NOT TRUE")
		if lost[0] != "0" {
			gone++
		}
	}
	for name, condition := range permitted {
		if name != "orders" {
			before := gone
			keep(filepath.Join(dir, name), condition)
			require.Greater(t, gone, before, "the rule keeps rows of %s out", name)
			continue
		}
		parts, err := filepath.Glob(filepath.Join(dir, "orders", "month=*", "part-0.parquet"))
		require.NoError(t, err)
		require.NotEmpty(t, parts)
		for _, p := range parts {
			keep(p, condition)
		}
	}
}

// touching are questions in which an entity is touched in every way there is.
var touching = map[string]string{
	"queried":                  `SELECT count(*), sum(total_cents) FROM orders`,
	"joined in SQL":            `SELECT c.region, p.category, count(*) FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id LEFT JOIN products p ON p.id = i.product_id GROUP BY ALL ORDER BY ALL`,
	"in a sub-query":           `SELECT count(*) FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE plan = 'pro')`,
	"in an anti join":          `SELECT count(*) FROM orders o WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.id = o.customer_id)`,
	"correlated":               `SELECT c.region, sum((SELECT count(*) FROM web_visits v WHERE v.customer_id = c.id)) FROM customers c GROUP BY 1 ORDER BY 1`,
	"a measure in SQL":         `SELECT status, MEASURE(revenue), MEASURE(revenue) AT (ALL) FROM orders GROUP BY 1 ORDER BY 1`,
	"a view":                   `SELECT region, MEASURE(revenue), MEASURE(buyers) FROM sales GROUP BY 1 ORDER BY 1`,
	"asked with a filter":      `SELECT priority, count(*) FROM support_tickets WHERE created_at >= TIMESTAMP '2026-01-01' GROUP BY 1 ORDER BY 1`,
	"behind a metric":          `{"metrics": ["revenue", "order_count", "customer_count", "visits"]}`,
	"two hops away":            `{"metrics": ["units"], "dimensions": ["region", "plan"]}`,
	"filtered two hops away":   `{"metrics": ["units"], "filters": [{"field": "region", "op": "=", "values": ["apac"]}]}`,
	"several facts":            `{"metrics": ["revenue", "visits"], "dimensions": ["customers.plan"]}`,
	"a version by time":        `{"metrics": ["revenue"], "dimensions": ["plan_then"]}`,
	"the last one so far":      `{"metrics": ["purchase_count"], "dimensions": ["rate"]}`,
	"a weighted bridge":        `{"metrics": ["revenue"], "dimensions": ["customers.owners.rep"]}`,
	"a distinct bridge":        `{"metrics": ["rep_count"], "dimensions": ["region"]}`,
	"a plain bridge":           `{"metrics": ["units"], "dimensions": ["label"]}`,
	"filtered behind a bridge": `{"metrics": ["units"], "filters": [{"field": "label", "op": "!=", "values": ["organic"]}]}`,
	"a conversion":             `{"metrics": ["visit_conversion", "visits_with_order"]}`,
	"derived":                  `{"metrics": ["net_revenue", "revenue_per_unit"]}`,
	"cumulative":               `{"metrics": ["running_revenue", "revenue_year_to_date"], "dimensions": [{"name": "metric_time", "grain": "month"}]}`,
	"a measure as a dimension": `{"metrics": ["customer_count"], "dimensions": ["lifetime_orders"]}`,
	"totals and the rest":      `{"metrics": ["revenue"], "dimensions": ["region"], "top": {"dimension": "region", "by": "revenue", "n": 1, "other": true}, "totals": "total"}`,
	"semi-additive":            `{"metrics": ["balance", "max_balance"], "filters": [{"field": "month", "op": ">=", "values": ["2026-01-01"]}]}`,
	"names in a list":          `{"metrics": ["rep_names", "label_list"]}`,
	"drilled into":             `{"rows": "orders", "dimensions": ["order_date", "region", "status"], "order": [{"by": "order_date"}], "limit": 50}`,
}

// TestEveryEntityTouched asks under rules on every entity, through relationships,
// with a window of time and a lookup, and asks the same where the forbidden rows
// do not exist and no rule is left. The answers are the same, whichever way a
// question touches an entity.
func TestEveryEntityTouched(t *testing.T) {
	rules, err := os.ReadFile("testdata/rows/access.rego")
	require.NoError(t, err)
	whole := ruled(t, analysts+string(rules))
	require.NoError(t, os.MkdirAll(filepath.Join(whole, "rego", "shop"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(whole, "rego", "shop", "data.yaml"), []byte("categories:\n  acme: [home, tools]\n"), 0o600))
	less := ruled(t, analysts+"\nall_rows.analyst if lib.role(\"analyst\")\n")
	filtered(t, less)
	a, b := open(t, whole), open(t, less)

	answered := 0
	for name, text := range touching {
		t.Run(name, func(t *testing.T) {
			ask := func(h house, id string) (*engine.Answer, error) {
				if strings.HasPrefix(text, "{") {
					return h.metric(id, text)
				}
				return h.sql(id, text)
			}
			ans, err := ask(a, "ana")
			got := seen(ans, err)
			require.Equal(t, seen(ask(b, "ana")), got)
			require.NoError(t, err, "a question that this test is about")
			require.NotEqual(t, seen(ask(a, "operator")), got, "the rules do not matter here")
			answered++
		})
	}
	require.Equal(t, len(touching), answered)

	t.Run("described", func(t *testing.T) {
		asked := func(h house) engine.Describing {
			return engine.Describing{Tool: engine.ToolList, Subject: h.subject("ana"), Asked: json.RawMessage(`{}`)}
		}
		tell := func(h house) string {
			metrics, err := h.Metrics(t.Context(), asked(h))
			require.NoError(t, err)
			tables, err := h.Tables(t.Context(), asked(h))
			require.NoError(t, err)
			for i := range tables {
				tables[i].RowRule = false
				for j := range tables[i].Columns {
					tables[i].Columns[j].Samples = nil // the model's words, which a row rule may hold back
				}
			}
			out, err := json.MarshalIndent([]any{metrics, tables}, "", " ")
			require.NoError(t, err)
			return string(out)
		}
		require.Equal(t, tell(b), tell(a))
		for _, d := range []string{"customers.region", "orders.status", "orders.order_date", "products.category", "labels.label", "sales_reps.rep", "web_visits.visited_on", "plan_history.plan_then", "exchange_rates.rate"} {
			x, err := a.contents("ana", "", d)
			require.NoError(t, err, d)
			y, err := b.contents("ana", "", d)
			require.NoError(t, err, d)
			require.Equal(t, fmt.Sprintf("%+v", *y), fmt.Sprintf("%+v", *x), d)
		}
	})
}

// seen is all that a caller sees of an answer but that there are row rules.
func seen(ans *engine.Answer, err error) string {
	if err != nil {
		return write(ans, err)
	}
	var applied []engine.Applied
	for _, x := range ans.Applied {
		if x.Origin != "policy" {
			applied = append(applied, x)
		}
	}
	out := *ans
	out.Applied = applied
	return write(&out, nil) + fmt.Sprintf("%v %+v", ans.AsOf, ans.Partial)
}

// analysts see every entity and column.
const analysts = `
visible.analyst if lib.role("analyst")
columns.analyst[field.name] := field.class if {
	lib.role("analyst")
	some field in input.entity.fields
}
`
