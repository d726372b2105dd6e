package semantictest

import "plumbline/semantic"

// Kinds is the shop with a metric of every kind.
func Kinds() *semantic.Catalog {
	shop := Shop()
	add := func(name semantic.Name, m semantic.Metric) {
		m.Name, m.Description, m.Pos = name, "metric "+string(name), shop.Metrics[0].Pos
		shop.Metrics = append(shop.Metrics, &m)
	}
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
