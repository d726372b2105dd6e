// Package semantictest gives tests a small catalog made in Go, without CUE.
package semantictest

import (
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Shop is the catalog that unit tests share: customers, orders, order_items,
// products and support_tickets, with every visibility, a computed dimension,
// reserved and unicode names, and relationships of two hops.
func Shop() *semantic.Catalog {
	pos := diag.Pos{File: "shop.cue", Line: 1}
	field := func(name semantic.Name, t semantic.Type, v semantic.Visibility) *semantic.Field {
		return &semantic.Field{Name: name, Column: string(name), Type: t, Description: "the " + string(name), Visibility: v, Pos: pos}
	}
	dim := func(name semantic.Name, kind semantic.Kind, t semantic.Type, grains ...string) *semantic.Dimension {
		return &semantic.Dimension{Name: name, Description: "by " + string(name), Kind: kind, Type: t, Field: name,
			Reads: []semantic.Name{name}, Grains: grains, Visibility: semantic.Output, Pos: pos}
	}
	rel := func(to, from semantic.Name) *semantic.Relationship {
		return &semantic.Relationship{Name: to, To: to, Kind: semantic.ManyToOne, On: []semantic.JoinPair{{From: from, To: "id"}}, Pos: pos}
	}
	days := []string{"day", "week", "month", "quarter", "year"}
	zero := 0

	ssn := field("ssn", "varchar", semantic.JoinOnly)
	ssn.JoinDomain = "person"
	phone := field("phone", "varchar", semantic.FilterOnly)
	phone.Tags = []string{"pii"}
	email := field("email", "varchar", semantic.Output)
	email.Tags = []string{"pii"}
	customers := &semantic.Entity{
		Name: "customers", Description: "people and companies that buy", Grain: "one customer", PrimaryKey: []semantic.Name{"id"}, Pos: pos,
		Fields: []*semantic.Field{
			field("id", "bigint", semantic.Output), field("name", "varchar", semantic.Output), email, phone, ssn,
			field("region", "varchar", semantic.Output), field("plan", "varchar", semantic.Output),
			field("tenant", "varchar", semantic.Output), field("risk_score", "double", semantic.Private),
			field("signed_up", "date", semantic.Output),
		},
		Dimensions: []*semantic.Dimension{
			dim("name", semantic.KindText, "varchar"), dim("region", semantic.KindText, "varchar"), dim("plan", semantic.KindText, "varchar"),
			dim("signed_up", semantic.KindTime, "date", days...),
			{Name: "big_region", Description: "region in two groups", Kind: semantic.KindText, Type: "varchar", Expr: `CASE WHEN region IN ('eu', 'us') THEN 'big' ELSE 'small' END`,
				Reads: []semantic.Name{"region"}, Visibility: semantic.Output, Pos: pos},
		},
		Measures: []*semantic.Measure{
			{Name: "customer_count", Description: "how many customers", Agg: semantic.Count, Pos: pos},
			{Name: "avg_risk", Description: "mean risk score", Agg: semantic.Avg, Field: "risk_score", Pos: pos},
		},
	}
	orders := &semantic.Entity{
		Name: "orders", Description: "orders placed", Grain: "one order", PrimaryKey: []semantic.Name{"id"}, TimeDimension: "order_date", Pos: pos,
		Fields: []*semantic.Field{
			field("id", "bigint", semantic.Output), field("customer_id", "bigint", semantic.Output), field("order_date", "date", semantic.Output),
			field("created_at", "timestamp", semantic.Output), field("status", "varchar", semantic.Output),
			field("total_cents", "bigint", semantic.Output), field("discount", "decimal(12,2)", semantic.Output),
			field("tenant", "varchar", semantic.Output), field("order", "varchar", semantic.Output), field("größe", "varchar", semantic.Output),
		},
		Dimensions: []*semantic.Dimension{
			dim("order_date", semantic.KindTime, "date", days...), dim("created_at", semantic.KindTime, "timestamp", append([]string{"hour"}, days...)...),
			dim("status", semantic.KindText, "varchar"), dim("order", semantic.KindText, "varchar"), dim("größe", semantic.KindText, "varchar"),
		},
		Measures: []*semantic.Measure{
			{Name: "revenue", Description: "sum of order totals in cents", Agg: semantic.Sum, Field: "total_cents", Unit: "cents", Fill: &zero, Pos: pos},
			{Name: "order_count", Description: "how many orders", Agg: semantic.Count, Pos: pos},
			{Name: "paid_revenue", Description: "revenue of paid orders", Agg: semantic.Sum, Field: "total_cents", Filter: `status = 'paid'`, Unit: "cents", Pos: pos},
			{Name: "avg_order", Description: "mean order total", Agg: semantic.Avg, Expr: "total_cents", Unit: "cents", Pos: pos},
			{Name: "buyers", Description: "distinct customers that ordered", Agg: semantic.CountDistinct, Field: "customer_id", Pos: pos},
		},
		Relationships: []*semantic.Relationship{rel("customers", "customer_id")},
	}
	items := &semantic.Entity{
		Name: "order_items", Description: "lines of orders", Grain: "one order line", PrimaryKey: []semantic.Name{"order_id", "line"}, Pos: pos,
		Fields: []*semantic.Field{
			field("order_id", "bigint", semantic.Output), field("line", "integer", semantic.Output), field("product_id", "bigint", semantic.Output),
			field("qty", "integer", semantic.Output), field("price_cents", "bigint", semantic.Output), field("tenant", "varchar", semantic.Output),
		},
		Measures: []*semantic.Measure{
			{Name: "units", Description: "units sold", Agg: semantic.Sum, Field: "qty", Pos: pos},
			{Name: "item_revenue", Description: "price times quantity", Agg: semantic.Sum, Expr: "price_cents * qty", Unit: "cents", Pos: pos},
		},
		Relationships: []*semantic.Relationship{rel("orders", "order_id"), rel("products", "product_id")},
	}
	products := &semantic.Entity{
		Name: "products", Description: "things sold", Grain: "one product", PrimaryKey: []semantic.Name{"id"}, Pos: pos,
		Fields: []*semantic.Field{
			field("id", "bigint", semantic.Output), field("category", "varchar", semantic.Output), field("label", "varchar", semantic.Output),
		},
		Dimensions: []*semantic.Dimension{dim("category", semantic.KindText, "varchar"), dim("label", semantic.KindText, "varchar")},
		Measures:   []*semantic.Measure{{Name: "product_count", Description: "how many products", Agg: semantic.Count, Pos: pos}},
	}
	tickets := &semantic.Entity{
		Name: "support_tickets", Description: "requests for help", Grain: "one ticket", PrimaryKey: []semantic.Name{"id"}, TimeDimension: "created_at", Pos: pos,
		Fields: []*semantic.Field{
			field("id", "bigint", semantic.Output), field("customer_id", "bigint", semantic.Output), field("created_at", "timestamp", semantic.Output),
			field("priority", "varchar", semantic.Output), field("tenant", "varchar", semantic.Output),
		},
		Dimensions: []*semantic.Dimension{
			dim("created_at", semantic.KindTime, "timestamp", append([]string{"hour"}, days...)...), dim("priority", semantic.KindText, "varchar"),
		},
		Measures:      []*semantic.Measure{{Name: "ticket_count", Description: "how many tickets", Agg: semantic.Count, Pos: pos}},
		Relationships: []*semantic.Relationship{rel("customers", "customer_id")},
		Filters:       []*semantic.Filter{{Name: "window", Description: "tickets are asked for a period", Kind: semantic.RequiredFilter, Field: "created_at", Pos: pos}},
	}
	simple := func(name, entity, measure semantic.Name) *semantic.Metric {
		return &semantic.Metric{Name: name, Description: "metric " + string(name), Kind: semantic.SimpleMetric, Entity: entity, Measure: measure, Pos: pos}
	}
	metrics := []*semantic.Metric{
		simple("revenue", "orders", "revenue"), simple("order_count", "orders", "order_count"), simple("paid_revenue", "orders", "paid_revenue"),
		simple("avg_order", "orders", "avg_order"), simple("buyers", "orders", "buyers"),
		simple("customer_count", "customers", "customer_count"), simple("avg_risk", "customers", "avg_risk"), simple("units", "order_items", "units"),
		simple("item_revenue", "order_items", "item_revenue"), simple("ticket_count", "support_tickets", "ticket_count"),
		{Name: "revenue_per_ticket", Description: "revenue for each ticket", Kind: semantic.RatioMetric, Numerator: "revenue", Denominator: "ticket_count", Unit: "cents", Pos: pos},
		{Name: "paid_share", Description: "share of revenue that is paid", Kind: semantic.RatioMetric, Numerator: "paid_revenue", Denominator: "revenue", Pos: pos},
	}
	return semantic.NewCatalog(semantic.Catalog{Revision: "test", Entities: []*semantic.Entity{customers, orders, items, products, tickets}, Metrics: metrics})
}
