package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// compiled is how many questions are compiled for each size of a model.
const compiled = 4000

// language measures the metric language by itself: compiling a question over
// models of two sizes, and what compiled text costs beside text by hand.
func language(ctx context.Context) error {
	fmt.Println("question to text, microseconds, over entities of 20 fields in chains, joined over 3 steps")
	fmt.Printf("%-14s %10s %10s\n", "entities", "p50", "p99")
	for _, n := range []int{10, 1000} {
		took, err := compileTimes(ctx, n)
		if err != nil {
			return err
		}
		fmt.Printf("%-14d %10.0f %10.0f\n", n, percentile(took, 50), percentile(took, 99))
	}
	fmt.Println("\ntwo child facts under one parent, milliseconds: each aggregated alone, compiled and by hand")
	fmt.Printf("%-14s %10s %10s %8s\n", "rows of each", "compiled", "by hand", "ratio")
	for _, rows := range []int{100_000, 500_000, 2_000_000} {
		if err := chasm(ctx, rows); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// chain is a catalog of n entities of 20 fields, each leading to the next.
func chain(n int) *semantic.Catalog {
	var entities []*semantic.Entity
	var metrics []*semantic.Metric
	for i := range n {
		e := &semantic.Entity{Name: semantic.Name(fmt.Sprintf("e%04d", i)), PrimaryKey: []semantic.Name{"id"}, TimeDimension: "at"}
		add := func(name semantic.Name, t semantic.Type) {
			e.Fields = append(e.Fields, &semantic.Field{Name: name, Column: string(name), Type: t, Visibility: semantic.Output})
		}
		add("id", "bigint")
		add("next", "bigint")
		add("at", "date")
		add("amount", "bigint")
		for f := range 16 {
			name := semantic.Name(fmt.Sprintf("e%04d_d%02d", i, f))
			add(name, "varchar")
			e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: name, Kind: semantic.KindText, Type: "varchar", Field: name, Visibility: semantic.Output})
		}
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: "at", Kind: semantic.KindTime, Type: "date", Field: "at", Visibility: semantic.Output,
			Grains: []string{"day", "week", "month", "quarter", "year"}})
		e.Measures = []*semantic.Measure{{Name: "total", Agg: semantic.Sum, Field: "amount"}, {Name: "mean", Agg: semantic.Avg, Field: "amount"}}
		if i%5 < 4 && i+1 < n { // chains of five: three steps and more
			to := semantic.Name(fmt.Sprintf("e%04d", i+1))
			e.Relationships = []*semantic.Relationship{{Name: to, To: to, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: "next", To: "id"}}}}
		}
		entities = append(entities, e)
		for _, m := range e.Measures {
			metrics = append(metrics, &semantic.Metric{Name: semantic.Name(fmt.Sprintf("e%04d_%s", i, m.Name)), Kind: semantic.SimpleMetric, Entity: e.Name, Measure: m.Name})
		}
	}
	return semantic.NewCatalog(semantic.Catalog{Revision: "chain", Entities: entities, Metrics: metrics})
}

// whole shows a whole catalog.
type whole struct{ *semantic.Catalog }

func (w whole) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := w.Catalog.Entity(n)
	if e == nil {
		return nil, nil
	}
	vis := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}}
	for _, f := range e.Fields {
		vis.Fields[f.Name.Key()] = f.Visibility
	}
	return vis, nil
}

func (w whole) Names() []string { return nil }

// compileTimes gives the time of each question in microseconds.
func compileTimes(ctx context.Context, n int) ([]float64, error) {
	c := chain(n)
	exprs, err := resolve.CheckModel(ctx, nil, c) // there is no expression to parse
	if err != nil {
		return nil, err
	}
	var took []float64
	for i := range compiled {
		e := i % (n / 5) * 5
		q, err := metric.Decode([]byte(fmt.Sprintf(`{"metrics": ["e%04d_total", "e%04d_mean"], "dimensions": ["e%04d_d%02d", "e%04d_d01", {"name": "metric_time", "grain": "month"}],
			"filters": [{"field": "e%04d_d02", "op": "in", "values": ["a", "b"]}], "time": [{"field": "metric_time", "from": "2024-01-01", "to": "2024-12-31"}], "limit": 10}`,
			e, e, e+3, i%16, e+2, e+1)))
		if err != nil {
			return nil, err
		}
		start := time.Now()
		plan, err := metric.Build(whole{c}, c, q, metric.Options{Expressions: exprs})
		if err != nil {
			return nil, err
		}
		if _, err := emit.SQL(plan); err != nil {
			return nil, err
		}
		took = append(took, float64(time.Since(start).Nanoseconds())/1000)
	}
	return took, nil
}

// chasm compares compiled text with text by hand on bare DuckDB.
func chasm(ctx context.Context, rows int) error {
	db, err := sql.Open("duckdb", "?threads=2")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		fmt.Sprintf("CREATE TABLE p AS SELECT i AS id, 'region ' || i %% 20 AS region FROM range(%d) t(i)", rows/50),
		fmt.Sprintf("CREATE TABLE a AS SELECT hash(i) %% %d AS p_id, i %% 7 AS qty FROM range(%d) t(i)", rows/50, rows),
		fmt.Sprintf("CREATE TABLE b AS SELECT hash(i + 1) %% %d AS p_id FROM range(%d) t(i)", rows/50, rows),
	} {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	text, err := chasmText(ctx)
	if err != nil {
		return err
	}
	ours, err := median(func() error { return drain(ctx, db, text) })
	if err != nil {
		return err
	}
	hand, err := median(func() error { return drain(ctx, db, byHand) })
	if err != nil {
		return err
	}
	fmt.Printf("%-14d %10.1f %10.1f %7.2fx\n", rows, ours, hand, ours/hand)
	return nil
}

const byHand = `WITH x AS (SELECT p.region, sum(a.qty) AS qty FROM a LEFT JOIN p ON a.p_id = p.id GROUP BY p.region),
	y AS (SELECT p.region, count(*) AS n FROM b LEFT JOIN p ON b.p_id = p.id GROUP BY p.region)
	SELECT coalesce(x.region, y.region) AS region, x.qty, y.n FROM x FULL JOIN y ON x.region IS NOT DISTINCT FROM y.region ORDER BY 1 NULLS LAST`

func chasmText(ctx context.Context) (string, error) {
	field := func(names string) (out []*semantic.Field) {
		for _, n := range strings.Fields(names) {
			out = append(out, &semantic.Field{Name: semantic.Name(n), Column: n, Type: "bigint", Visibility: semantic.Output})
		}
		return out
	}
	join := []*semantic.Relationship{{Name: "p", To: "p", Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: "p_id", To: "id"}}}}
	c := semantic.NewCatalog(semantic.Catalog{Revision: "chasm",
		Entities: []*semantic.Entity{
			{Name: "p", Fields: field("id region"), PrimaryKey: []semantic.Name{"id"},
				Dimensions: []*semantic.Dimension{{Name: "region", Kind: semantic.KindText, Type: "varchar", Field: "region", Visibility: semantic.Output}}},
			{Name: "a", Fields: field("p_id qty"), Relationships: join, Measures: []*semantic.Measure{{Name: "qty", Agg: semantic.Sum, Field: "qty"}}},
			{Name: "b", Fields: field("p_id"), Relationships: join, Measures: []*semantic.Measure{{Name: "n", Agg: semantic.Count}}},
		},
		Metrics: []*semantic.Metric{
			{Name: "qty", Kind: semantic.SimpleMetric, Entity: "a", Measure: "qty"},
			{Name: "n", Kind: semantic.SimpleMetric, Entity: "b", Measure: "n"},
		}})
	exprs, err := resolve.CheckModel(ctx, nil, c)
	if err != nil {
		return "", err
	}
	plan, err := metric.Build(whole{c}, c, *ask("qty n", "region"), metric.Options{Expressions: exprs})
	if err != nil {
		return "", err
	}
	text, err := emit.SQL(plan)
	return text.SQL, err
}
