package measure_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/sqlast"
)

// fact is an entity of the shop with its joins as SQL writes them: to what each of
// its rows meets once, and to what may repeat it.
type fact struct {
	from, repeating string
	metrics         []string
	dimensions      [][2]string // as a question names it, as SQL does
	conditions      [][3]string // a filter's field, operator and values; the same in SQL
}

var ofCustomers = [][2]string{{"region", "c.region"}, {"plan", "c.plan"}, {"big_region", "c.big_region"}}

var facts = []fact{
	{
		from: "customers c", repeating: " LEFT JOIN orders o ON o.customer_id = c.id LEFT JOIN order_items i ON i.order_id = o.id",
		metrics: []string{"customer_count", "avg_risk"}, dimensions: ofCustomers,
		conditions: [][3]string{{`{"field": "plan", "op": "=", "values": ["pro"]}`, "c.plan = 'pro'"}},
	},
	{
		from: "orders o LEFT JOIN customers c ON c.id = o.customer_id", repeating: " LEFT JOIN order_items i ON i.order_id = o.id LEFT JOIN support_tickets t ON t.customer_id = c.id",
		metrics:    []string{"revenue", "order_count", "paid_revenue", "avg_order", "buyers", "paid_share"},
		dimensions: append(slices.Clone(ofCustomers), [][2]string{{"status", "o.status"}, {"order", `o."order"`}, {"order_date month", "CAST(date_trunc('month', o.order_date) AS DATE)"}}...),
		conditions: [][3]string{{`{"field": "region", "op": "in", "values": ["eu", "us"]}`, "c.region IN ('eu', 'us')"}, {`{"field": "status", "op": "!=", "values": ["paid"]}`, "o.status IS DISTINCT FROM 'paid'"}},
	},
	{
		from:    "order_items i LEFT JOIN products p ON p.id = i.product_id LEFT JOIN orders o ON o.id = i.order_id LEFT JOIN customers c ON o.customer_id = c.id",
		metrics: []string{"units", "item_revenue"}, repeating: " LEFT JOIN support_tickets t ON t.customer_id = c.id",
		dimensions: append(slices.Clone(ofCustomers), [][2]string{{"status", "o.status"}, {"category", "p.category"}}...),
		conditions: [][3]string{{`{"field": "category", "op": "is_not_null"}`, "p.category IS NOT NULL"}, {`{"field": "plan", "op": "=", "values": ["pro"]}`, "c.plan = 'pro'"}},
	},
}

// TestBothDoors asks random questions as a question of metrics and as SQL, plain
// and with joins that repeat rows. All three must have the same rows.
func TestBothDoors(t *testing.T) {
	w := newWorld(t, shop())
	rng := rand.New(rand.NewPCG(1, 2))
	fillShop(t, w, rng)
	v := view{w.catalog, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for range 150 {
		f := facts[rng.IntN(len(facts))]
		question, sql := f.ask(rng)
		q, err := metric.Decode([]byte(question))
		require.NoError(t, err)
		plan, err := metric.Build(v, w.catalog, q, metric.Options{Expressions: w.exprs})
		require.NoError(t, err, question)
		text, err := emit.SQL(plan)
		require.NoError(t, err)
		want := w.db.Rows(t, text.SQL)
		slices.Sort(want)
		for _, repeating := range []string{"", f.repeating} {
			asked := strings.ReplaceAll(sql, "$", repeating)
			written, err := w.write(v, asked)
			require.NoError(t, err, asked)
			_, err = w.bind(v, written)
			require.NoError(t, err, "%s\n%s", asked, written.SQL)
			got := w.db.Rows(t, written.SQL)
			slices.Sort(got)
			require.Equal(t, want, got, "%s\n%s\n%s", question, asked, written.SQL)
		}
	}
}

// ask makes one question in both forms; $ is where more joins may stand.
func (f fact) ask(rng *rand.Rand) (question, sql string) {
	metrics := some(rng, f.metrics, 1)
	dims := some(rng, f.dimensions, 0)
	conditions := some(rng, f.conditions, 0)
	var names, filters, items, where []string
	for _, d := range dims {
		name, grain, _ := strings.Cut(d[0], " ")
		names = append(names, fmt.Sprintf(`{"name": %q, "grain": %q}`, name, grain))
		items = append(items, d[1])
	}
	for i, m := range metrics {
		call := "MEASURE(" + m + ")"
		if m == "paid_share" {
			call = "CAST(MEASURE(paid_revenue) AS DOUBLE) / nullif(AGGREGATE(revenue), 0)"
		}
		items = append(items, fmt.Sprintf("%s AS v%d", call, i))
		metrics[i] = fmt.Sprintf("%q", m)
	}
	for _, c := range conditions {
		filters = append(filters, c[0])
		where = append(where, c[1])
	}
	question = fmt.Sprintf(`{"metrics": [%s], "dimensions": [%s], "filters": [%s]}`, strings.Join(metrics, ", "), strings.Join(names, ", "), strings.Join(filters, ", "))
	sql = "SELECT " + strings.Join(items, ", ") + " FROM " + f.from + "$"
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	if len(dims) > 0 {
		sql += " GROUP BY ALL"
	}
	return question, sql
}

func some[T any](rng *rand.Rand, list []T, least int) []T {
	list = slices.Clone(list)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:least+rng.IntN(min(len(list), 3)-least+1)]
}

// fillShop makes rows with a fifth of NULLs and with keys that lead nowhere.
func fillShop(t testing.TB, w *world, rng *rand.Rand) {
	pick := func(values ...string) string {
		if rng.IntN(5) == 0 {
			return "NULL"
		}
		return values[rng.IntN(len(values))]
	}
	number := func(n int) string { return pick(fmt.Sprint(rng.IntN(n))) }
	insert := func(entity string, n int, row func(i int) []string) {
		var rows []string
		for i := range n {
			rows = append(rows, "("+strings.Join(row(i), ", ")+")")
		}
		w.db.Exec(t, `INSERT INTO "plumbline"."base".`+entity+" VALUES "+strings.Join(rows, ", "))
	}
	insert("customers", 12, func(i int) []string {
		return []string{fmt.Sprint(i), "'n'", "'e'", "'p'", "'s'", pick("'eu'", "'us'", "'asia'"), pick("'pro'", "'free'"), "'t'", number(9), "DATE '2024-01-01'"}
	})
	insert("products", 5, func(i int) []string { return []string{fmt.Sprint(i), pick("'a'", "'b'"), "'l'"} })
	insert("orders", 40, func(i int) []string {
		return []string{fmt.Sprint(i), number(15), pick("DATE '2024-01-31'", "DATE '2024-02-01'", "DATE '2025-02-02'"), "NULL", pick("'paid'", "'open'"), number(100), "1", "'t'", pick("'a'", "'b'"), "NULL"}
	})
	insert("order_items", 90, func(i int) []string {
		return []string{number(45), fmt.Sprint(i), number(7), number(9), number(50), "'t'"}
	})
	insert("support_tickets", 30, func(i int) []string {
		return []string{fmt.Sprint(i), number(15), "TIMESTAMP '2024-01-01 00:00:00'", "'high'", "'t'"}
	})
}

// FuzzText: whatever the text, an answer's places lie in it, what is written out
// parses, and nothing panics.
func FuzzText(f *testing.F) {
	w := newWorld(f, shop())
	v := view{w.catalog, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range []string{
		"SELECT status, MEASURE(revenue) AT (ALL status) FROM orders GROUP BY 1",
		"SELECT MEASURE(o.revenue) AT (SET status = CURRENT status WHERE total_cents > 1 VISIBLE) FROM orders o",
		`SELECT c.region "r", MEASURE(c.customer_count) FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.status = 'x' GROUP BY "r"`,
		"SELECT region, AGGREGATE(revenue)/MEASURE(revenue) AT (ALL) FROM sales GROUP BY ALL ORDER BY 2",
		"FROM orders SELECT m: date_trunc('month', order_date), MEASURE(revenue) AT (SET m = CURRENT m - INTERVAL 1 MONTH) GROUP BY ALL -- x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		text, err := w.write(v, sql)
		if err != nil || text.Model == nil {
			return
		}
		if _, err := sqlast.Parse(context.Background(), w.db, text.SQL); err != nil {
			t.Fatalf("%q becomes %q: %v", sql, text.SQL, err)
		}
		if _, err := w.bind(v, text); err != nil {
			_ = text.Explain(err).Error()
		}
		for _, s := range text.Model {
			if s.Start < 0 || s.End > len(text.SQL) || s.Start > s.End {
				t.Fatalf("%q: a range of the model lies outside %q", sql, text.SQL)
			}
		}
	})
}
