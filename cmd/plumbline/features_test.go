package main

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/duck/ducktest"
	"plumbline/engine/shape"
	"plumbline/semantic/load"
)

// feature is a question about the sample and the SQL that means the same, written
// by hand over the files' rows: one tenant's for an analyst. sold are the orders
// that were not cancelled, bought the same with their customers.
type feature struct{ what, question, sql string }

var features = []feature{
	{"derived", `{"metrics": ["net_revenue"], "dimensions": ["region"]}`,
		`SELECT region, sum(total_cents) - coalesce(sum(total_cents) FILTER (status = 'refunded'), 0) FROM bought GROUP BY 1 ORDER BY 1`},
	{"ratio", `{"metrics": ["refund_rate"], "dimensions": ["plan"]}`,
		`SELECT plan, coalesce(sum(total_cents) FILTER (status = 'refunded'), 0) / nullif(sum(total_cents), 0) FROM bought GROUP BY 1 ORDER BY 1`},
	{"arithmetic over two facts", `{"metrics": ["revenue_per_unit", "revenue_per_ticket"], "dimensions": ["region"]}`,
		`SELECT region, sum(s) / nullif(sum(u), 0), sum(s) / nullif(sum(t), 0) FROM (
		   SELECT region, sum(total_cents) AS s, 0 AS u, 0 AS t FROM bought GROUP BY 1
		   UNION ALL SELECT c.region, 0, sum(qty), 0 FROM order_items i LEFT JOIN orders o ON o.id = i.order_id AND o.status IS DISTINCT FROM 'cancelled' LEFT JOIN customers c ON c.id = o.customer_id WHERE qty > 0 GROUP BY 1
		   UNION ALL SELECT region, 0, 0, count(*) FROM support_tickets t LEFT JOIN customers c ON c.id = t.customer_id GROUP BY 1) GROUP BY 1 ORDER BY 1`},
	{"metric with a condition on a dimension", `{"metrics": ["revenue_of_europe"], "dimensions": ["plan"]}`,
		`SELECT plan, coalesce(sum(total_cents) FILTER (region = 'eu'), 0) FROM bought GROUP BY 1 ORDER BY 1`},
	{"metric of a time bucket", `{"metrics": ["revenue_of_2025", "revenue"]}`,
		`SELECT coalesce(sum(total_cents) FILTER (year(order_date) = 2025), 0), sum(total_cents) FROM sold`},

	{"running total", `{"metrics": ["running_revenue"], "dimensions": [{"name": "metric_time", "grain": "month"}]}`,
		`SELECT m, sum(s) OVER (ORDER BY m) FROM (SELECT date_trunc('month', order_date)::DATE AS m, sum(total_cents) AS s FROM sold GROUP BY 1) ORDER BY 1`},
	{"trailing window", `{"metrics": ["revenue_28_days"], "dimensions": [{"name": "metric_time", "grain": "day"}], "time": [{"field": "metric_time", "from": "2026-03-01", "to": "2026-03-05"}]}`,
		`SELECT d, (SELECT sum(total_cents) FROM sold WHERE order_date > d - 28 AND order_date <= d) FROM (SELECT unnest(generate_series(DATE '2026-03-01', DATE '2026-03-05', INTERVAL 1 DAY))::DATE AS d) ORDER BY 1`},
	{"trailing window without the current period", `{"metrics": ["revenue_quarter_before"], "dimensions": [{"name": "metric_time", "grain": "month"}], "time": [{"field": "metric_time", "from": "2025-06-01", "to": "2025-09-30"}]}`,
		`SELECT d, (SELECT sum(total_cents) FROM sold WHERE order_date >= d - INTERVAL 3 MONTH AND order_date < d) FROM (SELECT unnest(generate_series(DATE '2025-06-01', DATE '2025-09-01', INTERVAL 1 MONTH))::DATE AS d) ORDER BY 1`},
	{"year to date", `{"metrics": ["revenue_year_to_date"], "dimensions": [{"name": "metric_time", "grain": "quarter"}]}`,
		`SELECT q, sum(s) OVER (PARTITION BY year(q) ORDER BY q) FROM (SELECT date_trunc('quarter', order_date)::DATE AS q, sum(total_cents) AS s FROM sold GROUP BY 1) ORDER BY 1`},
	{"greatest value of a coarser period", `{"metrics": ["orders_month_to_date"], "dimensions": [{"name": "metric_time", "grain": "quarter"}]}`,
		`SELECT date_trunc('quarter', m)::DATE, max(n) FROM (SELECT date_trunc('month', order_date)::DATE AS m, count(*) AS n FROM sold GROUP BY 1) GROUP BY 1 ORDER BY 1`},

	{"a year ago", `{"metrics": ["revenue", "revenue_year_ago"], "dimensions": [{"name": "metric_time", "grain": "quarter"}]}`,
		`WITH q AS (SELECT date_trunc('quarter', order_date)::DATE AS q, sum(total_cents) AS s FROM sold GROUP BY 1)
		 SELECT a.q, a.s, coalesce(b.s, 0) FROM q a LEFT JOIN q b ON b.q = a.q - INTERVAL 1 YEAR ORDER BY 1`},
	{"change", `{"metrics": ["revenue_change"], "dimensions": [{"name": "metric_time", "grain": "month"}], "time": [{"field": "metric_time", "from": "2026-02-01", "to": "2026-04-30"}]}`,
		`WITH m AS (SELECT date_trunc('month', order_date)::DATE AS m, sum(total_cents) AS s FROM sold GROUP BY 1)
		 SELECT a.m, a.s - b.s FROM m a LEFT JOIN m b ON b.m = a.m - INTERVAL 1 MONTH WHERE a.m BETWEEN '2026-02-01' AND '2026-04-30' ORDER BY 1`},
	{"growth to date", `{"metrics": ["revenue_growth"], "dimensions": [{"name": "metric_time", "grain": "year"}], "time": [{"field": "metric_time", "from": "2026-01-01"}]}`,
		`SELECT DATE '2026-01-01', (sum(total_cents) FILTER (order_date >= '2026-01-01') - sum(total_cents) FILTER (order_date < '2025-07-01')) / sum(total_cents) FILTER (order_date < '2025-07-01') FROM sold`},

	{"share of what is visible", `{"metrics": ["revenue_share"], "dimensions": ["region"], "filters": [{"field": "plan", "op": "=", "values": ["pro"]}]}`,
		`SELECT region, sum(total_cents) / (SELECT sum(total_cents) FROM bought WHERE plan = 'pro') FROM bought WHERE plan = 'pro' GROUP BY 1 ORDER BY 1`},
	{"share of all, within each period", `{"metrics": ["revenue_share_of_all"], "dimensions": [{"name": "metric_time", "grain": "year"}, "region"], "filters": [{"field": "plan", "op": "=", "values": ["pro"]}]}`,
		`SELECT date_trunc('year', order_date)::DATE AS y, region, sum(total_cents) FILTER (plan = 'pro') / (SELECT sum(total_cents) FROM sold s WHERE year(s.order_date) = year(y)) FROM bought GROUP BY 1, 2 ORDER BY 1, 2`},
	{"share of the parent", `{"metrics": ["revenue_share_of_parent"], "dimensions": ["plan", "region"]}`,
		`SELECT plan, region, sum(total_cents) / sum(sum(total_cents)) OVER (PARTITION BY plan) FROM bought GROUP BY 1, 2 ORDER BY 1, 2`},
	{"rank", `{"metrics": ["revenue", "revenue_rank"], "dimensions": ["region"], "order": [{"by": "revenue_rank"}]}`,
		`SELECT region, sum(total_cents) AS s, rank() OVER (ORDER BY s DESC) AS r FROM bought GROUP BY 1 ORDER BY r, 1`},
	{"rank within", `{"metrics": ["refund_rank"], "dimensions": ["region", "plan"]}`,
		`SELECT region, plan, dense_rank() OVER (PARTITION BY region ORDER BY coalesce(sum(total_cents) FILTER (status = 'refunded'), 0) / sum(total_cents)) FROM bought GROUP BY 1, 2 ORDER BY 1, 2`},

	{"median, approximate count and percentile of rows", `{"metrics": ["median_seconds", "p95_seconds"], "dimensions": ["channel"]}`,
		`SELECT channel, median(seconds), quantile_disc(seconds, 0.95) FROM web_visits WHERE seconds IS NULL OR seconds >= 8 GROUP BY 1 ORDER BY 1`},
	{"percentile, spread, first and least", `{"metrics": ["p90_order_value", "order_value_stddev", "discount_variance", "first_order_value", "last_status", "smallest_order"], "dimensions": ["region"]}`,
		`SELECT region, quantile_cont(total_cents, 0.9), stddev_samp(total_cents), var_samp(discount), (array_agg(total_cents ORDER BY placed_at, id))[1], (array_agg(status ORDER BY placed_at DESC, id DESC) FILTER (status IS NOT NULL))[1], min(total_cents) FROM bought GROUP BY 1 ORDER BY 1`},
	{"approximate distinct", `{"metrics": ["visitors"], "dimensions": ["channel"]}`,
		`SELECT channel, approx_count_distinct(customer_id) FROM web_visits WHERE seconds IS NULL OR seconds >= 8 GROUP BY 1 ORDER BY 1`},
	{"orders, plainly", `{"metrics": ["revenue", "refunded_revenue", "order_count", "avg_order_value", "buyers", "revenue_2026_q1", "revenue_2026_q2", "revenue_trend"], "dimensions": ["size"]}`,
		`SELECT size, sum(total_cents), coalesce(sum(total_cents) FILTER (status = 'refunded'), 0), count(*), avg(total_cents), count(DISTINCT customer_id),
		   sum(total_cents) FILTER (order_date BETWEEN '2026-01-01' AND '2026-03-31') AS q1, sum(total_cents) FILTER (order_date BETWEEN '2026-04-01' AND '2026-06-30') AS q2, q2 / q1
		 FROM (SELECT *, CASE WHEN total_cents >= 50000 THEN 'large' WHEN total_cents >= 10000 THEN 'medium' ELSE 'small' END AS size FROM sold) GROUP BY 1 ORDER BY 1`},
	{"tickets, plainly", `{"metrics": ["ticket_count", "tickets_2026_q2", "urgent_tickets"], "dimensions": ["region"]}`,
		`SELECT region, count(*), count(*) FILTER (created_at >= '2026-04-01' AND created_at < '2026-07-01'), count(*) FILTER (priority = 'urgent') FROM support_tickets t LEFT JOIN customers c ON c.id = customer_id GROUP BY 1 ORDER BY 1`},
	{"balances, plainly", `{"metrics": ["balance", "min_balance", "max_balance"], "filters": [{"field": "month", "op": "=", "values": ["2026-01-01"]}]}`,
		`SELECT avg(balance_cents), min(balance_cents), max(balance_cents) FROM account_balances WHERE month = '2026-01-01'`},
	{"products and lines, plainly", `{"metrics": ["product_count", "item_revenue"], "dimensions": ["category"]}`,
		`SELECT category, count(DISTINCT p.id), coalesce(sum(i.price_cents * qty) FILTER (qty > 0), 0) FROM products p LEFT JOIN order_items i ON i.product_id = p.id GROUP BY 1 ORDER BY 1`},
	{"customers, plainly", `{"metrics": ["avg_risk"], "dimensions": ["paying"]}`, `SELECT plan <> 'free', avg(risk_score) FROM customers GROUP BY 1 ORDER BY 1`},
	{"plans, plainly", `{"metrics": ["subscriptions"], "dimensions": ["plan_then"]}`, `SELECT plan, count(*) FROM plan_history GROUP BY 1 ORDER BY 1`},
	{"dollars", `{"metrics": ["dollars_spent"], "dimensions": ["category"]}`,
		`SELECT category, sum(amount) FILTER (currency = 'usd') FROM purchases p LEFT JOIN products ON products.id = product_id GROUP BY 1 ORDER BY 1`},
	{"texts and lists in order", `{"metrics": ["rep_names"], "dimensions": ["team"]}`,
		`SELECT team, string_agg(name, '; ' ORDER BY department, name DESC) FROM sales_reps GROUP BY 1 ORDER BY 1`},
	{"list", `{"metrics": ["label_list"], "dimensions": ["family"]}`,
		`SELECT family, to_json(list(name ORDER BY name)) FROM labels GROUP BY 1 ORDER BY 1`},
	{"custom aggregate", `{"metrics": ["mean_price"], "dimensions": ["category"]}`,
		`SELECT category, sum(i.price_cents * qty) / sum(qty) FROM order_items i LEFT JOIN products p ON p.id = product_id WHERE qty > 0 GROUP BY 1 ORDER BY 1`},

	{"bins at edges", `{"metrics": ["order_count"], "dimensions": ["basket"]}`,
		`SELECT CASE WHEN total_cents >= 100000 THEN 100000 WHEN total_cents >= 20000 THEN 20000 WHEN total_cents >= 5000 THEN 5000 WHEN total_cents >= 1000 THEN 1000 WHEN total_cents >= 0 THEN 0 END, count(*) FROM sold GROUP BY 1 ORDER BY 1`},
	{"the last rate at the time, in bins of one width", `{"metrics": ["purchase_count"], "dimensions": ["currency", "rate"]}`,
		`SELECT p.currency, floor(r.rate / 0.05) * 0.05, count(*) FROM purchases p ASOF LEFT JOIN exchange_rates r ON r.currency = p.currency AND p.bought_at >= r.quoted_at GROUP BY 1, 2 ORDER BY 1, 2`},
	{"the version at the time", `{"metrics": ["revenue"], "dimensions": ["plan_then"]}`,
		`SELECT h.plan, sum(total_cents) FROM sold s LEFT JOIN plan_history h ON h.customer_id = s.customer_id AND order_date >= valid_from AND (valid_to IS NULL OR order_date < valid_to) GROUP BY 1 ORDER BY 1`},
	{"a measure as a dimension", `{"metrics": ["customer_count"], "dimensions": ["lifetime_orders"]}`,
		`SELECT CASE WHEN n >= 100 THEN 100 WHEN n >= 20 THEN 20 WHEN n >= 5 THEN 5 WHEN n >= 1 THEN 1 ELSE 0 END, count(*) FROM (SELECT (SELECT count(*) FROM sold s WHERE s.customer_id = c.id) AS n FROM customers c) GROUP BY 1 ORDER BY 1`},
	{"a bridge with weights", `{"metrics": ["revenue"], "dimensions": ["department", "team"]}`,
		`SELECT department, team, sum(total_cents * coalesce(part, 1)) FROM sold s LEFT JOIN (SELECT id FROM customers) c ON c.id = s.customer_id LEFT JOIN account_owners o ON o.customer_id = c.id LEFT JOIN sales_reps r ON r.id = o.rep_id GROUP BY 1, 2 ORDER BY 1, 2`},
	{"a bridge without allocation", `{"metrics": ["units"], "dimensions": ["label"]}`,
		`SELECT l.label, sum(qty) FROM order_items i LEFT JOIN product_labels l ON l.product_id = i.product_id WHERE qty > 0 GROUP BY 1 ORDER BY 1`},
	{"a bridge that counts each once", `{"metrics": ["rep_count"], "dimensions": ["region"]}`,
		`SELECT c.region, count(DISTINCT r.id) FROM sales_reps r LEFT JOIN account_owners o ON o.rep_id = r.id LEFT JOIN customers c ON c.id = o.customer_id GROUP BY 1 ORDER BY 1`},
	{"balances of each customer's last month", `{"metrics": ["closing_balance"], "dimensions": [{"name": "month", "grain": "quarter"}], "filters": [{"field": "month", "op": ">=", "values": ["2025-10-01"]}]}`,
		`SELECT q, sum(balance_cents) FROM (SELECT date_trunc('quarter', month)::DATE AS q, balance_cents FROM account_balances WHERE month >= '2025-10-01' QUALIFY month = max(month) OVER (PARTITION BY customer_id, date_trunc('quarter', month))) GROUP BY 1 ORDER BY 1`},
	{"balances of the first month", `{"metrics": ["opening_balance"], "dimensions": ["plan"], "filters": [{"field": "month", "op": ">=", "values": ["2025-10-01"]}]}`,
		`SELECT plan, sum(balance_cents) FROM (SELECT plan, balance_cents FROM account_balances b LEFT JOIN customers c ON c.id = customer_id WHERE month >= '2025-10-01' QUALIFY month = min(month) OVER (PARTITION BY plan)) GROUP BY 1 ORDER BY 1`},
	{"conversion", `{"metrics": ["visits", "visits_with_order", "visit_conversion"], "dimensions": ["channel"]}`,
		`WITH v AS (SELECT * FROM web_visits WHERE seconds IS NULL OR seconds >= 8),
		 credited AS (SELECT DISTINCT (SELECT max((v.visited_on, v.id)) FROM v WHERE v.customer_id = s.customer_id AND v.visited_on <= s.order_date) AS visit, s.order_date FROM sold s WHERE s.customer_id IS NOT NULL),
		 won AS (SELECT DISTINCT visit[2] AS id FROM credited WHERE visit IS NOT NULL AND order_date < visit[1] + 7)
		 SELECT channel, count(*), count(w.id), count(w.id) / count(*) FROM v LEFT JOIN won w USING (id) GROUP BY 1 ORDER BY 1`},

	{"parameters", `{"metrics": ["order_count", "watched_orders"], "segments": ["large_orders"], "parameters": {"large_from": 20000, "watched_status": "refunded"}}`,
		`SELECT count(*), count(*) FILTER (status = 'refunded') FROM sold WHERE total_cents >= 20000`},
	{"segments", `{"metrics": ["order_count", "revenue"], "segments": ["discounted", "large_orders", "core_market"]}`,
		`SELECT count(*), sum(total_cents) FROM sold WHERE discount > 0 AND total_cents >= 50000 AND customer_id IN (SELECT id FROM customers WHERE region IN ('eu', 'us'))`},
	{"retail calendar", `{"metrics": ["revenue"], "dimensions": [{"name": "metric_time", "grain": "retail_month"}]}`,
		`SELECT retail_month, sum(total_cents) FROM sold JOIN calendar ON day = order_date GROUP BY 1 ORDER BY 1`},
	{"fiscal year", `{"metrics": ["revenue"], "dimensions": [{"name": "metric_time", "grain": "fiscal_year"}]}`,
		`SELECT make_date(year(order_date - INTERVAL 3 MONTH)::INT, 4, 1), sum(total_cents) FROM sold GROUP BY 1 ORDER BY 1`},
	{"days of another zone", `{"metrics": ["visits"], "dimensions": [{"name": "visited_at", "grain": "day"}], "zone": "America/New_York", "order": [{"by": "visits", "desc": true}], "limit": 5}`,
		`SELECT (visited_at AT TIME ZONE 'America/New_York')::DATE, count(*) AS n FROM web_visits WHERE seconds IS NULL OR seconds >= 8 GROUP BY 1 ORDER BY n DESC, 1 LIMIT 5`},
	{"weeks from Sunday", `{"metrics": ["ticket_count"], "dimensions": [{"name": "metric_time", "grain": "week"}], "week_start": "sunday"}`,
		`SELECT (date_trunc('week', created_at + INTERVAL 1 DAY) - INTERVAL 1 DAY)::DATE, count(*) FROM support_tickets GROUP BY 1 ORDER BY 1`},
	{"last two months", `{"metrics": ["revenue"], "time": [{"field": "metric_time", "last": "2 months"}]}`,
		`SELECT sum(total_cents) FROM sold WHERE order_date >= '2026-04-01' AND order_date < '2026-06-01'`},

	{"filters of which one must hold", `{"metrics": ["revenue"], "dimensions": ["region"], "filters": [{"any": [{"field": "region", "op": "=", "values": ["latam"]}, {"field": "revenue", "op": ">", "values": [100000000]}]}]}`,
		`SELECT region, sum(total_cents) AS s FROM bought GROUP BY 1 HAVING region = 'latam' OR s > 100000000 ORDER BY 1`},
	{"totals", `{"metrics": ["buyers"], "dimensions": ["plan", "region"], "totals": "subtotals"}`,
		`SELECT plan, region, count(DISTINCT customer_id), CASE grouping(plan, region) WHEN 0 THEN '' WHEN 1 THEN 'region' ELSE 'plan, region' END AS over FROM bought GROUP BY ROLLUP (plan, region) ORDER BY 1, 2, grouping(plan, region)`},
	{"top with the rest", `{"metrics": ["revenue"], "dimensions": ["region"], "top": {"dimension": "region", "by": "revenue", "n": 2, "other": true}}`,
		`SELECT region, is_other, s FROM (SELECT CASE WHEN r <= 2 THEN region END AS region, r > 2 AS is_other, sum(s) AS s FROM (SELECT region, sum(total_cents) AS s, row_number() OVER (ORDER BY sum(total_cents) DESC, region) AS r FROM bought GROUP BY 1) GROUP BY 1, 2) ORDER BY 2, 1`},
	{"gaps", `{"metrics": ["largest_purchase", "purchase_count"], "dimensions": [{"name": "metric_time", "grain": "day"}], "filters": [{"field": "currency", "op": "=", "values": ["chf"]}], "fill_gaps": true}`,
		`WITH p AS (SELECT ((bought_at AT TIME ZONE 'Europe/Copenhagen') AT TIME ZONE 'UTC')::DATE AS d, currency, amount FROM purchases)
		 SELECT s::DATE, max(amount), count(amount) FROM (SELECT unnest(generate_series((SELECT min(d) FROM p), (SELECT max(d) FROM p), INTERVAL 1 DAY)) AS s) LEFT JOIN p ON d = s AND currency = 'chf' GROUP BY 1 ORDER BY 1`},
	{"rows", `{"rows": "orders", "dimensions": ["id", "status"], "order": [{"by": "id"}], "offset": 3, "limit": 4}`,
		`SELECT id, status FROM sold ORDER BY id LIMIT 4 OFFSET 3`},
	{"order of a language", `{"metrics": ["rep_count"], "dimensions": ["rep"]}`,
		`SELECT name, count(*) FROM sales_reps GROUP BY name ORDER BY name COLLATE NOCASE.NOACCENT`},
}

// TestFeatures asks one question for each feature of the models, as an analyst and
// as one who sees everything, and compares with bare DuckDB on the files.
func TestFeatures(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, writeDemo(t.Context(), folder, 0.05))
	at := time.Date(2026, 6, 10, 12, 0, 0, 0, time.UTC)
	eng, err := engine.Open(t.Context(), folder, engine.Options{Now: func() time.Time { return at }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })

	asked := map[string]bool{}
	for subject, rows := range map[string]string{"ana": " WHERE tenant = 'acme'", "operator": ""} {
		bare := bareShop(t, filepath.Join(folder, "data"), rows)
		s, ok := eng.Subject(subject)
		require.True(t, ok)
		for _, f := range features {
			t.Run(subject+"/"+f.what, func(t *testing.T) {
				q, err := metric.Decode([]byte(f.question))
				require.NoError(t, err)
				for _, m := range q.Metrics {
					asked[m] = true
				}
				ans, err := eng.Answer(t.Context(), engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: &q, ShowSQL: true})
				require.NoError(t, err)
				want := bare.Rows(t, "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ("+f.sql+")")
				require.NotEmpty(t, want)
				got := cellsOf(t, ans.Table)
				same := len(want) == len(got)
				for i := 0; same && i < len(want); i++ {
					same = alike(strings.Split(want[i], "\t"), got[i])
				}
				if !same {
					var lines []string
					for _, row := range got {
						lines = append(lines, strings.Join(row, "\t"))
					}
					require.Equal(t, want, lines, ans.SQL)
				}
			})
		}
	}
	everyMetric(t, folder, asked)
}

// everyMetric wants each metric of the sample to be asked.
func everyMetric(t *testing.T, folder string, asked map[string]bool) {
	_, catalog, err := load.Dir(folder)
	require.NoError(t, err)
	for _, m := range catalog.Metrics {
		require.True(t, asked[string(m.Name)], "no question asks for %s", m.Name)
	}
}

// bareShop is DuckDB over the sample's files; tables with a tenant have the rows
// that meet a condition.
func bareShop(t *testing.T, data, rows string) *ducktest.DB {
	bare := ducktest.Open(t, nil)
	for name, from := range map[string]string{
		"customers": "read_csv('%s/customers.csv', header = true)" + rows, "orders": "read_parquet('%s/orders/*/*.parquet')" + rows,
		"order_items": "read_parquet('%s/order_items.parquet')" + rows, "account_balances": "read_parquet('%s/account_balances.parquet')" + rows,
		"support_tickets": "read_json('%s/support_tickets.ndjson', format = 'newline_delimited')" + rows,
		"plan_history":    "read_parquet('%s/plan_history.parquet')" + rows, "web_visits": "read_parquet('%s/web_visits.parquet')" + rows,
		"purchases":  "read_csv('%s/purchases.csv', header = true, types = {'amount': 'DECIMAL(12,2)'})" + rows,
		"sales_reps": "read_csv('%s/sales_reps.csv', header = true)" + rows, "account_owners": "read_csv('%s/account_owners.csv', header = true, types = {'part': 'DECIMAL(5,4)'})" + rows,
		"products": "read_csv('%s/products.csv', header = true)", "labels": "read_csv('%s/labels.csv', header = true)", "calendar": "read_csv('%s/calendar.csv', header = true)",
		"product_labels": "read_csv('%s/product_labels.csv', header = true)", "exchange_rates": "read_csv('%s/exchange_rates.csv', header = true, types = {'rate': 'DECIMAL(12,6)'})",
	} {
		bare.Exec(t, "CREATE TABLE "+name+" AS SELECT * FROM "+strings.Replace(from, "%s", data, 1))
	}
	bare.Exec(t, "CREATE VIEW sold AS SELECT * FROM orders WHERE status IS DISTINCT FROM 'cancelled'")
	bare.Exec(t, "CREATE VIEW bought AS SELECT s.*, c.region, c.plan FROM sold s LEFT JOIN customers c ON c.id = s.customer_id")
	return bare
}

// cellsOf gives the values of an answer as text, as DuckDB casts them.
func cellsOf(t *testing.T, table *shape.Table) [][]string {
	var out [][]string
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = fmt.Sprint(v)
			if list, ok := v.([]any); ok {
				text, err := json.Marshal(list)
				require.NoError(t, err)
				cells[i] = string(text)
			}
		}
		out = append(out, cells)
	}
	return out
}

// alike compares cells: numbers to eleven digits, since sums of floats depend on
// the order in which rows come.
func alike(want, got []string) bool {
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		a, errA := strconv.ParseFloat(want[i], 64)
		b, errB := strconv.ParseFloat(got[i], 64)
		switch {
		case want[i] == got[i]:
		case errA != nil || errB != nil || math.Abs(a-b) > 1e-11*math.Max(math.Abs(a), math.Abs(b)):
			return false
		}
	}
	return true
}
