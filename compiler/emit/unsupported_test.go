package emit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// TestAFormThatIsNotUnderstoodIsRefused: T28. A part of a metric that the
// compiler does not know must not be left out.
func TestAFormThatIsNotUnderstoodIsRefused(t *testing.T) {
	for name, m := range map[string]*semantic.Metric{
		"ratio with a filter": {Kind: semantic.RatioMetric, Numerator: "revenue", Denominator: "order_count", Filter: "status = 'paid'"},
		"unknown kind":        {Kind: "running_total", Entity: "orders", Measure: "revenue"},
		"no kind":             {Entity: "orders", Measure: "revenue"},
	} {
		t.Run(name, func(t *testing.T) {
			shop := semantictest.Shop()
			m.Name = "odd"
			w := newWorld(t, semantic.NewCatalog(semantic.Catalog{Revision: "odd", Entities: shop.Entities, Metrics: append(shop.Metrics, m)}))
			_, err := metric.Build(view{catalog: w.catalog}, w.catalog, metric.Question{Metrics: []string{"odd"}}, metric.Options{Expressions: w.exprs})
			require.Equal(t, diag.UnsupportedAsk, diag.CodeOf(err))
		})
	}
	shop := semantictest.Shop()
	loop := &semantic.Metric{Name: "loop", Kind: semantic.RatioMetric, Numerator: "revenue", Denominator: "loop"}
	w := newWorld(t, shop)
	w.catalog = semantic.NewCatalog(semantic.Catalog{Revision: "loop", Entities: shop.Entities, Metrics: append(shop.Metrics, loop)}) // never checked
	_, err := metric.Build(view{catalog: w.catalog}, w.catalog, metric.Question{Metrics: []string{"loop"}}, metric.Options{Expressions: w.exprs})
	require.Equal(t, diag.ModelCycle, diag.CodeOf(err))
}
