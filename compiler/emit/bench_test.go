package emit_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// BenchmarkCompile measures a question to text, beside 0 and 1,000 other
// entities: compiling must not touch the rest of the model.
func BenchmarkCompile(b *testing.B) {
	for _, others := range []int{0, 1000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			shop := semantictest.Shop()
			entities := shop.Entities
			for i := range others {
				entities = append(entities, &semantic.Entity{Name: semantic.Name(fmt.Sprint("other", i)), Fields: []*semantic.Field{{Name: "id", Type: "bigint"}},
					Relationships: []*semantic.Relationship{{Name: "customers", To: "customers", Kind: semantic.ManyToOne}}})
			}
			w := newWorld(b, semantic.NewCatalog(semantic.Catalog{Revision: "many", Entities: entities, Metrics: shop.Metrics}))
			q, err := metric.Decode([]byte(`{"metrics": ["revenue", "ticket_count", "revenue_per_ticket"], "dimensions": ["plan", "region", {"name": "metric_time", "grain": "month"}],
				"filters": [{"field": "customers.name", "op": "!=", "values": ["x"]}], "time": [{"field": "metric_time", "from": "2024-01-01"}], "limit": 10}`))
			require.NoError(b, err)
			b.ResetTimer()
			for b.Loop() {
				plan, err := metric.Build(view{catalog: w.catalog}, w.catalog, q, metric.Options{Expressions: w.exprs})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := emit.SQL(plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
