package resolve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// TestCheckModel adds expressions to the shop's orders, one "name: expression"
// per line, and prints what they read or why they are refused.
func TestCheckModel(t *testing.T) {
	db := ducktest.Open(t, nil)
	datadriven.RunTest(t, "testdata/model", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "model", d.Cmd)
		c := semantictest.Shop()
		orders := c.Entity("orders")
		orders.Dimensions = nil
		var names []string
		for i, line := range strings.Split(d.Input, "\n") {
			name, expr, _ := strings.Cut(line, ": ")
			expr = strings.ReplaceAll(expr, "⏎", "\n")
			names = append(names, name)
			orders.Dimensions = append(orders.Dimensions, &semantic.Dimension{Name: semantic.Name(name), Expr: expr, ExprPos: diag.Pos{File: "orders.cue", Line: i + 1}})
		}
		exprs, err := resolve.CheckModel(context.Background(), db, c)
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for i, dim := range orders.Dimensions {
			places, err := exprs.Columns("Orders", dim.Expr)
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s reads %v at", names[i], dim.Reads)
			for _, p := range places {
				fmt.Fprintf(&out, " %q", dim.Expr[p.At:min(len(dim.Expr), p.At+8)])
			}
			out.WriteString("\n")
		}
		return out.String()
	})
}

// TestCheckForms adds expressions to the shop's orders, one "use: expression" per
// line, where use is custom, segment, filter or dimension, and prints what they
// read or why they are refused. The model has the parameters Rate and country.
func TestCheckForms(t *testing.T) {
	db := ducktest.Open(t, nil)
	datadriven.RunTest(t, "testdata/forms", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "forms", d.Cmd)
		c := semantictest.Shop()
		c.Parameters = parameters
		orders := c.Entity("orders")
		var exprs []string
		for i, line := range strings.Split(d.Input, "\n") {
			use, expr, _ := strings.Cut(line, ": ")
			expr = strings.ReplaceAll(expr, "⏎", "\n")
			exprs = append(exprs, expr)
			add(t, orders, use, semantic.Name(fmt.Sprintf("x%d", i+1)), expr, diag.Pos{File: "orders.cue", Line: i + 1})
		}
		found, err := resolve.CheckModel(context.Background(), db, c)
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, expr := range exprs {
			places, err := found.Columns("orders", expr)
			require.NoError(t, err)
			for _, p := range places {
				if p.Parameter != "" {
					fmt.Fprintf(&out, " $%s at %q", p.Parameter, expr[p.At:p.End])
					continue
				}
				fmt.Fprintf(&out, " %s at %q", p.Column, expr[p.At:min(len(expr), p.At+8)])
			}
			out.WriteString("\n")
		}
		return out.String()
	})
}

var parameters = []*semantic.Parameter{{Name: "Rate", Type: "decimal(9,4)", Default: "1"}, {Name: "country", Type: "varchar", Required: true}, {Name: "t", Type: "date", Required: true}}

func add(t *testing.T, e *semantic.Entity, use string, name semantic.Name, expr string, pos diag.Pos) {
	t.Helper()
	switch use {
	case "custom":
		e.Measures = append(e.Measures, &semantic.Measure{Name: name, Agg: semantic.Custom, Expr: expr, ExprPos: pos})
	case "segment":
		e.Segments = append(e.Segments, &semantic.Segment{Name: name, Expr: expr, ExprPos: pos})
	case "filter":
		e.Filters = append(e.Filters, &semantic.Filter{Name: name, Kind: semantic.FixedFilter, Expr: expr, ExprPos: pos})
	case "dimension":
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: name, Expr: expr, ExprPos: pos})
	default:
		require.Fail(t, "no use "+use)
	}
}

// TestCheckMetrics adds metrics to the shop, one "name: kind parts" per line, and
// says which mean nothing. The shop has a balance, which is semi-additive, and
// texts, numbers and dates to take.
func TestCheckMetrics(t *testing.T) {
	shop := func() *semantic.Catalog {
		c := semantictest.Shop()
		orders := c.Entity("orders")
		for _, m := range []*semantic.Measure{
			{Name: "balance", Agg: semantic.Sum, Field: "total_cents", Semi: &semantic.SemiAdditive{Over: "order_date", Pick: semantic.Last}},
			{Name: "first_day", Agg: semantic.Min, Field: "order_date"}, {Name: "last_status", Agg: semantic.Last, Field: "status", By: "order_date"},
			{Name: "statuses", Agg: semantic.StringAgg, Field: "status"}, {Name: "totals", Agg: semantic.ListAgg, Expr: "total_cents"},
			{Name: "spread", Agg: semantic.Custom, Expr: "max(total_cents) - min(total_cents)"}, {Name: "top_status", Agg: semantic.Custom, Expr: "max(status)"},
			{Name: "median", Agg: semantic.Median, Field: "total_cents"}, {Name: "p50", Agg: semantic.Percentile, Discrete: true, Expr: "status", Quantile: "0.5"},
		} {
			orders.Measures = append(orders.Measures, m)
			c.Metrics = append(c.Metrics, &semantic.Metric{Name: m.Name, Kind: semantic.SimpleMetric, Entity: "orders", Measure: m.Name})
		}
		return c
	}
	db := ducktest.Open(t, shop())
	datadriven.RunTest(t, "testdata/metrics", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "metrics", d.Cmd)
		c := shop()
		for i, line := range strings.Split(d.Input, "\n") {
			name, made, _ := strings.Cut(line, ": ")
			c.Metrics = append(c.Metrics, metricOf(t, semantic.Name(name), made, diag.Pos{File: "metrics.cue", Line: i + 1}))
		}
		c = semantic.NewCatalog(*c)
		if _, err := resolve.CheckModel(context.Background(), db, c); err != nil {
			return err.Error()
		}
		if err := resolve.CheckTypes(context.Background(), twins{db}, c); err != nil {
			return err.Error()
		}
		return "accepted"
	})
}

// metricOf reads a metric as "kind part [part]".
func metricOf(t *testing.T, name semantic.Name, made string, pos diag.Pos) *semantic.Metric {
	t.Helper()
	kind, rest, _ := strings.Cut(made, " ")
	first, second, _ := strings.Cut(rest, " ")
	m := &semantic.Metric{Name: name, Kind: semantic.MetricKind(kind), Pos: pos, ExprPos: pos}
	switch m.Kind {
	case semantic.RatioMetric:
		m.Numerator, m.Denominator = semantic.Name(first), semantic.Name(second)
		return m
	case semantic.DerivedMetric:
		m.Expr = rest
		return m
	case semantic.ConversionMetric:
		m.Conversion = &semantic.Conversion{Base: semantic.Name(first), Converted: semantic.Name(second)}
		return m
	case semantic.CumulativeMetric:
		m.Cumulative = &semantic.Cumulative{}
	case semantic.CompareMetric:
		give, cut, _ := strings.Cut(second, " ")
		m.Compare = &semantic.Compare{Offset: semantic.Period{N: 1, Unit: "year"}, Give: give, ToDate: cut == "to_date"}
	case semantic.ShareMetric:
		m.Share = &semantic.Share{Scope: "visible"}
	case semantic.RankMetric:
		m.Rank = &semantic.Rank{}
	default:
		require.Fail(t, "no kind "+kind)
	}
	m.Of = semantic.Name(first)
	return m
}

// TestCheckModelIsFast: the expressions of an entity are parsed together.
func TestCheckModelIsFast(t *testing.T) {
	db := ducktest.Open(t, nil)
	counted := &counting{DB: db}
	var entities []*semantic.Entity
	for i := range 50 {
		e := &semantic.Entity{Name: semantic.Name(fmt.Sprintf("e%d", i)), Fields: []*semantic.Field{{Name: "a", Type: "integer"}, {Name: "b", Type: "varchar"}}}
		for k := range 20 {
			e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: semantic.Name(fmt.Sprintf("d%d", k)), Expr: fmt.Sprintf("CASE WHEN a > %d THEN upper(b) ELSE b END", k)})
		}
		entities = append(entities, e)
	}
	start := time.Now()
	_, err := resolve.CheckModel(context.Background(), counted, semantic.NewCatalog(semantic.Catalog{Revision: "x", Entities: entities}))
	require.NoError(t, err)
	require.Equal(t, 50, counted.calls)
	t.Log(time.Since(start))
}

type counting struct {
	*ducktest.DB
	calls int
}

func (c *counting) Serialize(ctx context.Context, text string) ([]byte, error) {
	c.calls++
	return c.DB.Serialize(ctx, text)
}

// TestCheckTypes adds expressions to the shop's orders, one "use: expression" per
// line, where use is a filter, an aggregate or the type of a dimension.
func TestCheckTypes(t *testing.T) {
	db := ducktest.Open(t, semantictest.Shop())
	datadriven.RunTest(t, "testdata/typed", func(t *testing.T, d *datadriven.TestData) string {
		c := semantictest.Shop()
		orders := c.Entity("orders")
		for i, line := range strings.Split(d.Input, "\n") {
			use, expr, _ := strings.Cut(line, ": ")
			name, pos := semantic.Name(fmt.Sprintf("x%d", i+1)), diag.Pos{File: "orders.cue", Line: i + 1}
			switch use {
			case "filter":
				orders.Filters = append(orders.Filters, &semantic.Filter{Name: name, Kind: semantic.FixedFilter, Expr: expr, ExprPos: pos})
			case "metric filter":
				c.Metrics = append(c.Metrics, &semantic.Metric{Name: name, Kind: semantic.SimpleMetric, Entity: "Orders", Measure: "revenue", Filter: expr, FilterPos: pos})
			case "measure filter":
				orders.Measures = append(orders.Measures, &semantic.Measure{Name: name, Agg: semantic.Count, Filter: expr, FilterPos: pos})
			case "collation":
				orders.Dimensions = append(orders.Dimensions, &semantic.Dimension{Name: name, Type: "varchar", Field: "status", Collation: expr, Pos: pos})
			case "segment":
				orders.Segments = append(orders.Segments, &semantic.Segment{Name: name, Expr: expr, ExprPos: pos})
			case "units of":
				c.Entity("order_items").Measures = append(c.Entity("order_items").Measures, &semantic.Measure{Name: name, Agg: semantic.Max, Expr: expr, ExprPos: pos})
				orders.Dimensions = append(orders.Dimensions, &semantic.Dimension{Name: name, Type: "date", Of: &semantic.MeasureOf{Entity: "order_items", Measure: name, Role: "orders"}, Pos: pos})
			case "discrete":
				orders.Measures = append(orders.Measures, &semantic.Measure{Name: name, Agg: semantic.Percentile, Discrete: true, Quantile: "0.5", Expr: expr, ExprPos: pos})
			case "filled custom":
				orders.Measures = append(orders.Measures, &semantic.Measure{Name: name, Agg: semantic.Custom, Fill: new(int), Expr: expr, ExprPos: pos})
			case "sum", "avg", "min", "max", "count", "count_distinct", "median", "stddev", "variance", "percentile", "first", "last", "list", "string_agg", "custom", "approx_distinct":
				orders.Measures = append(orders.Measures, &semantic.Measure{Name: name, Agg: semantic.Agg(use), Expr: expr, ExprPos: pos})
				simple := &semantic.Metric{Name: name, Kind: semantic.SimpleMetric, Entity: "orders", Measure: name, Pos: pos}
				c.Metrics = append(c.Metrics, simple)
			case "ratio":
				c.Metrics = append(c.Metrics, &semantic.Metric{Name: name, Kind: semantic.RatioMetric, Numerator: semantic.Name(expr), Denominator: "order_count", Pos: pos})
			default:
				orders.Dimensions = append(orders.Dimensions, &semantic.Dimension{Name: name, Type: semantic.Type(use), Expr: expr, ExprPos: pos})
			}
		}
		c = semantic.NewCatalog(semantic.Catalog{Revision: "x", Entities: c.Entities, Metrics: c.Metrics, Time: c.Time, Parameters: parameters})
		_, err := resolve.CheckModel(context.Background(), db, c)
		require.NoError(t, err)
		if err := resolve.CheckTypes(context.Background(), twins{db}, c); err != nil {
			return err.Error()
		}
		return "accepted"
	})
}

// twins is what the engine makes of its workers.
type twins struct{ *ducktest.DB }

func (w twins) Types(ctx context.Context, texts []string) ([]resolve.Typed, error) {
	checked, err := w.Check(ctx, texts)
	out := make([]resolve.Typed, len(checked))
	for i, c := range checked {
		out[i] = resolve.Typed{OK: c.OK, Plan: c.Plan}
		for _, column := range c.Columns {
			out[i].Columns = append(out[i].Columns, column.Type)
		}
	}
	return out, err
}

// TestDerived adds derived metrics to the shop, one "name: expression" per line,
// and prints their trees or why they are refused.
func TestDerived(t *testing.T) {
	db := ducktest.Open(t, nil)
	datadriven.RunTest(t, "testdata/derived", func(t *testing.T, d *datadriven.TestData) string {
		require.Equal(t, "metrics", d.Cmd)
		c := semantictest.Shop()
		c.Parameters = parameters
		var names []semantic.Name
		for i, line := range strings.Split(d.Input, "\n") {
			name, expr, _ := strings.Cut(line, ": ")
			names = append(names, semantic.Name(name))
			c.Metrics = append(c.Metrics, &semantic.Metric{Name: semantic.Name(name), Kind: semantic.DerivedMetric, Expr: strings.ReplaceAll(expr, "⏎", "\n"), ExprPos: diag.Pos{File: "metrics.cue", Line: i + 1}})
		}
		c = semantic.NewCatalog(*c)
		exprs, err := resolve.CheckModel(context.Background(), db, c)
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		for _, name := range names {
			tree, ok := exprs.Derived(name)
			require.True(t, ok)
			fmt.Fprintf(&out, "%s reads %v: %s\n", name, c.Metric(name).Reads, inWords(tree))
		}
		return out.String()
	})
}

func inWords(d *resolve.Derived) string {
	var args []string
	for _, a := range d.Args {
		args = append(args, inWords(a))
	}
	at := fmt.Sprintf("@%d", d.At)
	switch d.Kind {
	case resolve.DerivedNumber:
		return d.Text + at
	case resolve.DerivedNull:
		return "NULL"
	case resolve.DerivedMetric:
		return string(d.Name) + at
	case resolve.DerivedParameter:
		return "$" + string(d.Name) + at
	case resolve.DerivedOperator, resolve.DerivedCall:
		return d.Text + "(" + strings.Join(args, ", ") + ")"
	}
	return "case(" + strings.Join(args, ", ") + ")"
}
