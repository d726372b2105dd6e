package semantictest

import "plumbline/semantic"

// Kinds is the shop with a metric of every kind.
func Kinds() *semantic.Catalog {
	shop := Shop()
	add := func(name semantic.Name, m semantic.Metric) {
		m.Name, m.Description, m.Pos = name, "metric "+string(name), shop.Metrics[0].Pos
		shop.Metrics = append(shop.Metrics, &m)
	}
	orders := shop.Entity("orders")
	orders.Relationships = append(orders.Relationships, &semantic.Relationship{Name: "products", To: "products", Kind: semantic.ManyToMany, Pos: orders.Pos,
		Through: &semantic.Bridge{Entity: "order_items", Near: "orders", Far: "products", Allocate: semantic.AllocateDistinct}})
	orders.Measures = append(orders.Measures,
		&semantic.Measure{Name: "open_total", Description: "the last order of each status", Agg: semantic.Sum, Field: "total_cents", Pos: orders.Pos,
			Semi: &semantic.SemiAdditive{Over: "order_date", Pick: semantic.Last, Per: []semantic.Name{"status"}}},
		&semantic.Measure{Name: "middle", Description: "the middle order", Agg: semantic.Median, Field: "total_cents", Pos: orders.Pos},
		&semantic.Measure{Name: "last_status", Description: "the newest status", Agg: semantic.Last, Field: "status", By: "order_date", Pos: orders.Pos},
		&semantic.Measure{Name: "statuses", Description: "all statuses", Agg: semantic.StringAgg, Field: "status", Pos: orders.Pos})
	for _, name := range []semantic.Name{"open_total", "middle", "last_status", "statuses"} {
		add(name, semantic.Metric{Kind: semantic.SimpleMetric, Entity: "orders", Measure: name})
	}
	customers := shop.Entity("customers")
	customers.Dimensions = append(customers.Dimensions, &semantic.Dimension{Name: "orders_placed", Description: "how many orders", Type: "bigint", Kind: semantic.KindNumber,
		Visibility: semantic.Output, Of: &semantic.MeasureOf{Entity: "orders", Measure: "order_count", Role: "customers"}, Pos: customers.Pos})
	add("answered", semantic.Metric{Kind: semantic.ConversionMetric, Conversion: &semantic.Conversion{Base: "order_count", Converted: "paid_orders",
		On: []semantic.JoinPair{{From: "customer_id", To: "customer_id"}}, Window: semantic.Period{N: 30, Unit: "day"}, Give: "rate"}})
	add("paid_orders", semantic.Metric{Kind: semantic.SimpleMetric, Entity: "orders", Measure: "order_count", Filter: "status = 'paid'"})
	add("tool_revenue", semantic.Metric{Kind: semantic.SimpleMetric, Entity: "orders", Measure: "revenue", Where: []semantic.Where{{Field: "category", Op: "=", Values: []any{"tool"}}}})
	month := semantic.Period{N: 1, Unit: "month"}
	add("net", semantic.Metric{Kind: semantic.DerivedMetric, Expr: "revenue - paid_revenue / 2"})
	add("per_buyer", semantic.Metric{Kind: semantic.DerivedMetric, Expr: "CASE WHEN buyers > 0 THEN revenue / buyers ELSE 0 END"})
	add("running", semantic.Metric{Kind: semantic.CumulativeMetric, Of: "revenue", Cumulative: &semantic.Cumulative{}})
	add("trailing", semantic.Metric{Kind: semantic.CumulativeMetric, Of: "paid_share", Cumulative: &semantic.Cumulative{Window: &semantic.Period{N: 7, Unit: "day"}, IncludeCurrent: true}})
	add("active", semantic.Metric{Kind: semantic.CumulativeMetric, Of: "buyers", Cumulative: &semantic.Cumulative{Window: &semantic.Period{N: 28, Unit: "day"}, IncludeCurrent: true}})
	add("year_to_date", semantic.Metric{Kind: semantic.CumulativeMetric, Of: "revenue", Cumulative: &semantic.Cumulative{ToDate: "year"}})
	add("month_before", semantic.Metric{Kind: semantic.CompareMetric, Of: "revenue", Compare: &semantic.Compare{Offset: month, Give: "value"}})
	add("growth", semantic.Metric{Kind: semantic.CompareMetric, Of: "revenue", Compare: &semantic.Compare{Offset: month, Give: "growth"}})
	add("growth_to_date", semantic.Metric{Kind: semantic.CompareMetric, Of: "revenue", Compare: &semantic.Compare{Offset: month, Give: "growth", ToDate: true}})
	add("share", semantic.Metric{Kind: semantic.ShareMetric, Of: "revenue", Share: &semantic.Share{Scope: "visible"}})
	add("share_of_all", semantic.Metric{Kind: semantic.ShareMetric, Of: "revenue", Share: &semantic.Share{Scope: "all"}})
	add("share_of_parent", semantic.Metric{Kind: semantic.ShareMetric, Of: "buyers", Share: &semantic.Share{Scope: "parent"}})
	add("place", semantic.Metric{Kind: semantic.RankMetric, Of: "revenue", Rank: &semantic.Rank{}})
	return semantic.NewCatalog(*shop)
}
