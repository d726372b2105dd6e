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
			case "sum", "avg", "min", "max", "count", "count_distinct":
				orders.Measures = append(orders.Measures, &semantic.Measure{Name: name, Agg: semantic.Agg(use), Expr: expr, ExprPos: pos})
				simple := &semantic.Metric{Name: name, Kind: semantic.SimpleMetric, Entity: "orders", Measure: name, Pos: pos}
				c.Metrics = append(c.Metrics, simple)
			case "ratio":
				c.Metrics = append(c.Metrics, &semantic.Metric{Name: name, Kind: semantic.RatioMetric, Numerator: semantic.Name(expr), Denominator: "order_count", Pos: pos})
			default:
				orders.Dimensions = append(orders.Dimensions, &semantic.Dimension{Name: name, Type: semantic.Type(use), Expr: expr, ExprPos: pos})
			}
		}
		c = semantic.NewCatalog(semantic.Catalog{Revision: "x", Entities: c.Entities, Metrics: c.Metrics, Time: c.Time})
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
		c.Parameters = []*semantic.Parameter{{Name: "Rate", Type: "decimal(9,4)", Default: "1"}, {Name: "country", Type: "varchar", Required: true}}
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
