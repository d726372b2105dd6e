// Command bench measures the program on this machine in one run and prints the
// tables of docs/benchmarks.md: stages, whole questions against bare DuckDB on
// the same files, and an MCP call against the SDK's floor. Run it on a quiet
// machine; compare ratios, not times.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // bare DuckDB, the measure of the second table

	"plumbline"
	"plumbline/cmd/plumbline/sample"
	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/duck"
	"plumbline/policy"
	"plumbline/semantic/load"
)

func main() {
	duck.WorkerMain() // does not return in a worker process
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// rounds is how often each question is asked; the first two do not count.
const rounds = 22

func run(ctx context.Context) (err error) {
	root, err := filepath.Abs("build/bench")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil { // models and data of this revision
		return err
	}
	if err := load.Init(root, plumbline.Files); err != nil {
		return err
	}
	if err := sample.Write(ctx, filepath.Join(root, "data")); err != nil {
		return err
	}
	start := time.Now()
	eng, err := engine.Open(ctx, root, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	people := map[string]policy.Subject{}
	for _, id := range []string{"operator", "ana"} {
		s, ok := eng.Subject(id)
		if !ok {
			return fmt.Errorf("no subject %s", id)
		}
		people[id] = s
	}
	if _, err := eng.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: people["operator"], SQL: "SELECT count(*) FROM products"}); err != nil {
		return err
	}
	fmt.Printf("start to first answer, %d entities: %s\n", eng.Summary().Entities, ms(time.Since(start)))

	if err := stages(ctx, eng, people["ana"]); err != nil {
		return err
	}
	if err := wholeQuestions(ctx, eng, people, root); err != nil {
		return err
	}
	if err := language(ctx); err != nil {
		return err
	}
	return mcpCalls(ctx, eng)
}

// stages asks every question as a first-seen one and as one seen before.
func stages(ctx context.Context, eng *engine.Engine, s policy.Subject) error {
	first, again := map[string][]float64{}, map[string][]float64{}
	for round := range rounds {
		for _, q := range questions {
			text := fmt.Sprintf("%s\n-- %d", q.sql, round) // another text, so that nothing is kept of it
			for _, into := range []map[string][]float64{first, again} {
				ans, err := eng.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: text})
				if err != nil {
					return fmt.Errorf("%s: %w", q.name, err)
				}
				total := 0.0
				for stage, took := range ans.StageMS {
					into[stage] = append(into[stage], took)
					if stage != "execute" && stage != "shape" {
						total += took
					}
				}
				into["to proved SQL"] = append(into["to proved SQL"], total)
			}
		}
	}
	fmt.Printf("\nstages, milliseconds, %d questions of one subject under row rules\n%-16s %10s %10s %14s\n", len(questions)*rounds, "stage", "p50", "p95", "p50 seen before")
	for _, stage := range append(slices.Clone(engine.Stages), "to proved SQL") {
		if len(first[stage]) == 0 {
			continue
		}
		seen := "-" // the stage did not run
		if len(again[stage]) > 0 {
			seen = fmt.Sprintf("%.3f", percentile(again[stage], 50))
		}
		fmt.Printf("%-16s %10.3f %10.3f %14s\n", stage, percentile(first[stage], 50), percentile(first[stage], 95), seen)
	}
	var compile []float64
	for range rounds {
		for _, q := range questions {
			if q.metric == nil {
				continue
			}
			ans, err := eng.Answer(ctx, engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: q.metric})
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			compile = append(compile, ans.StageMS["request"])
		}
	}
	fmt.Printf("%-16s %10.3f %10.3f   (p99 %.3f)\n", "question to SQL", percentile(compile, 50), percentile(compile, 95), percentile(compile, 99))
	return nil
}

// wholeQuestions holds each question, as a subject without row rules and as one
// with them, against bare DuckDB with as many threads.
func wholeQuestions(ctx context.Context, eng *engine.Engine, people map[string]policy.Subject, root string) error {
	db, err := bare(root, eng.Workspace().Limits.Threads)
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Printf("\nwhole questions, median milliseconds of %d, and times bare DuckDB\n%-34s %8s %16s %16s %16s\n", rounds-2, "question", "bare", "no rule", "row rules", "as a metric")
	var ratios [3][]float64
	for _, q := range questions {
		base, err := median(func() error { return drain(ctx, db, q.sql) })
		if err != nil {
			return fmt.Errorf("bare %s: %w", q.name, err)
		}
		line := fmt.Sprintf("%-34s %8.1f", q.name, base)
		for i, req := range []engine.Request{
			{Tool: engine.ToolSQL, Subject: people["operator"], SQL: q.sql},
			{Tool: engine.ToolSQL, Subject: people["ana"], SQL: q.sql},
			{Tool: engine.ToolMetrics, Subject: people["operator"], Question: q.metric},
		} {
			if req.SQL == "" && req.Question == nil {
				line += fmt.Sprintf(" %16s", "-")
				continue
			}
			took, err := median(func() error { _, err := eng.Answer(ctx, req); return err })
			if err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			ratios[i] = append(ratios[i], took/base)
			line += fmt.Sprintf(" %8.1f (%4.2fx)", took, took/base)
		}
		fmt.Println(line)
	}
	fmt.Printf("%-34s %8s", "geometric mean", "")
	for _, r := range ratios {
		fmt.Printf(" %14.2fx ", geomean(r))
	}
	fmt.Println()
	return nil
}

func bare(root string, threads int) (*sql.DB, error) {
	db, err := sql.Open("duckdb", fmt.Sprintf("?threads=%d", threads))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	data := filepath.Join(root, "data")
	for _, s := range []string{
		"SET preserve_insertion_order=false",
		"CREATE VIEW customers AS SELECT * FROM read_csv('" + data + "/customers.csv', header=true, auto_detect=false, columns={'id':'BIGINT','name':'VARCHAR','email':'VARCHAR','phone':'VARCHAR','ssn':'VARCHAR','region':'VARCHAR','plan':'VARCHAR','tenant':'VARCHAR','signed_up':'DATE','risk_score':'DOUBLE'})",
		"CREATE VIEW products AS SELECT * FROM read_csv('" + data + "/products.csv', header=true)",
		"CREATE VIEW orders AS SELECT * FROM read_parquet('" + data + "/orders/*/*.parquet', hive_partitioning=true)",
		"CREATE VIEW order_items AS SELECT * FROM read_parquet('" + data + "/order_items.parquet')",
		"CREATE VIEW support_tickets AS SELECT * FROM read_json('" + data + "/support_tickets.ndjson', format='newline_delimited', columns={'id':'BIGINT','customer_id':'BIGINT','created_at':'TIMESTAMP','priority':'VARCHAR','status':'VARCHAR','subject':'VARCHAR','tenant':'VARCHAR'})",
	} {
		if _, err := db.Exec(s); err != nil {
			return nil, err
		}
	}
	return db, nil
}

// drain runs a query and reads every value, as an answer does.
func drain(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, ptrs := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		ptrs[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return err
		}
	}
	return rows.Err()
}

func median(f func() error) (float64, error) {
	var took []float64
	for i := range rounds {
		start := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if i >= 2 {
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		}
	}
	return percentile(took, 50), nil
}

func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

func geomean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// question is asked as SQL and, where one metric question means the same (the
// model's default filter included), as that.
type question struct {
	name   string
	sql    string
	metric *metric.Question
}

func ask(metrics string, by ...string) *metric.Question {
	q := &metric.Question{Metrics: strings.Fields(metrics)}
	for _, d := range by {
		name, grain, _ := strings.Cut(d, ":")
		q.Dimensions = append(q.Dimensions, metric.DimensionRef{Name: name, Grain: grain})
	}
	return q
}

var questions = []question{
	{"count orders", "SELECT count(*) AS n FROM orders WHERE status IS DISTINCT FROM 'cancelled'", ask("order_count")},
	{"revenue by status", "SELECT status, sum(total_cents) AS revenue FROM orders WHERE status IS DISTINCT FROM 'cancelled' GROUP BY status ORDER BY status", ask("revenue", "status")},
	{"revenue by plan", "SELECT c.plan, sum(o.total_cents) AS revenue FROM orders o LEFT JOIN customers c ON c.id = o.customer_id WHERE o.status IS DISTINCT FROM 'cancelled' GROUP BY c.plan ORDER BY c.plan", ask("revenue", "plan")},
	{"revenue by month", "SELECT date_trunc('month', order_date) AS m, sum(total_cents) AS revenue FROM orders WHERE status IS DISTINCT FROM 'cancelled' GROUP BY m ORDER BY m", ask("revenue", "metric_time:month")},
	{"buyers by region", "SELECT c.region, count(DISTINCT o.customer_id) AS buyers FROM orders o LEFT JOIN customers c ON c.id = o.customer_id WHERE o.status IS DISTINCT FROM 'cancelled' GROUP BY c.region ORDER BY c.region", ask("buyers", "region")},
	{"units by category", "SELECT p.category, sum(i.qty) AS units FROM order_items i LEFT JOIN products p ON p.id = i.product_id GROUP BY p.category ORDER BY p.category", nil},
	{"top customers", "SELECT customer_id, sum(total_cents) AS revenue FROM orders GROUP BY customer_id ORDER BY revenue DESC, customer_id LIMIT 20", nil},
	{"tickets by priority", "SELECT priority, count(*) AS n FROM support_tickets GROUP BY priority ORDER BY priority", nil},
	{"declining with tickets", seed, nil},
	{"monthly change", "SELECT m, revenue, revenue - lag(revenue) OVER (ORDER BY m) AS change FROM (SELECT date_trunc('month', order_date) AS m, sum(total_cents) AS revenue FROM orders GROUP BY 1) ORDER BY m", nil},
}

const seed = `WITH cur AS (SELECT customer_id, sum(total_cents) AS cents FROM orders WHERE order_date >= DATE '2026-04-01' AND order_date < DATE '2026-07-01' GROUP BY customer_id),
prev AS (SELECT customer_id, sum(total_cents) AS cents FROM orders WHERE order_date >= DATE '2026-01-01' AND order_date < DATE '2026-04-01' GROUP BY customer_id),
t AS (SELECT customer_id, count(*) AS n FROM support_tickets WHERE created_at >= TIMESTAMP '2026-04-01 00:00:00' AND created_at < TIMESTAMP '2026-07-01 00:00:00' GROUP BY customer_id)
SELECT c.id, c.name, cur.cents, prev.cents AS before, t.n FROM customers c JOIN cur ON cur.customer_id = c.id JOIN prev ON prev.customer_id = c.id JOIN t ON t.customer_id = c.id
WHERE c.plan = 'enterprise' AND cur.cents < prev.cents AND t.n > 3 ORDER BY prev.cents - cur.cents DESC, c.id LIMIT 20`
