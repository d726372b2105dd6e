package changes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic"
	"plumbline/semantic/changes"
	"plumbline/semantic/semantictest"
)

// shop is the shared catalog with a metric of every kind on top.
func shop() *semantic.Catalog {
	c := semantictest.Shop()
	add := func(m semantic.Metric) {
		m.Description = "metric " + string(m.Name)
		c.Metrics = append(c.Metrics, &m)
	}
	add(semantic.Metric{Name: "net", Kind: semantic.DerivedMetric, Expr: `"revenue" - coalesce(paid_revenue, $floor)`})
	add(semantic.Metric{Name: "running", Kind: semantic.CumulativeMetric, Of: "units", Cumulative: &semantic.Cumulative{}})
	add(semantic.Metric{Name: "growth", Kind: semantic.CompareMetric, Of: "ticket_count", Compare: &semantic.Compare{Offset: semantic.Period{N: 1, Unit: "year"}, Give: "growth"}})
	add(semantic.Metric{Name: "part", Kind: semantic.ShareMetric, Of: "units", Share: &semantic.Share{Scope: "all", Within: []string{"orders.customers.plan"}}})
	add(semantic.Metric{Name: "place", Kind: semantic.RankMetric, Of: "units", Rank: &semantic.Rank{Within: []string{"products.category"}}})
	add(semantic.Metric{Name: "conversion", Kind: semantic.ConversionMetric, Conversion: &semantic.Conversion{Base: "ticket_count", Converted: "order_count",
		On: []semantic.JoinPair{{From: "customer_id", To: "customer_id"}}, Window: semantic.Period{N: 7, Unit: "day"}}})
	add(semantic.Metric{Name: "eu_units", Kind: semantic.SimpleMetric, Entity: "order_items", Measure: "units", Where: []semantic.Where{{Field: "big_region", Op: "=", Values: []any{"big"}}}})
	c.Parameters = []*semantic.Parameter{{Name: "floor", Description: "lowest", Type: "bigint", Default: "0"}}
	return semantic.NewCatalog(*c)
}

// show prints a report as compactly as can be.
func show(r changes.Report) string {
	var b strings.Builder
	for _, c := range r.Nouns {
		fmt.Fprintf(&b, "%s %s", c.What, c.Ref)
		for _, e := range c.Meaning {
			fmt.Fprintf(&b, "; %s: %s -> %s", e.Part, e.Old, e.New)
		}
		for _, e := range c.Access {
			fmt.Fprintf(&b, "; access %s", e.Part)
		}
		for _, e := range c.Wording {
			fmt.Fprintf(&b, "; wording %s", e.Part)
		}
		b.WriteString("\n")
	}
	by := map[string][]string{}
	var order []string
	for _, m := range r.Metrics {
		key := string(m.What)
		if m.From != "" {
			key += " from " + string(m.From)
		}
		if len(m.Because) > 0 {
			key += fmt.Sprintf(" because %s", m.Because)
		}
		if len(m.By) > 0 {
			key += fmt.Sprintf(" by %s", m.By)
		}
		if len(m.Dimensions) > 0 && len(m.By) > 0 {
			key += fmt.Sprintf(" at %s", m.Dimensions)
		}
		if by[key] == nil {
			order = append(order, key)
		}
		by[key] = append(by[key], string(m.Name))
	}
	for _, key := range order {
		fmt.Fprintf(&b, "%s: %s\n", strings.Join(by[key], " "), key)
	}
	return b.String()
}

func TestBetween(t *testing.T) {
	require.Empty(t, show(changes.Between(shop(), shop())))
	require.False(t, changes.Between(shop(), shop()).Meaning())

	for _, c := range []struct {
		name string
		edit func(*semantic.Catalog)
		want string
	}{
		{"words", func(c *semantic.Catalog) {
			c.Metric("revenue").Description, c.Metric("revenue").Format = "other", "percent"
			c.Entity("orders").Measure("revenue").Synonyms = []string{"sales"}
			c.Entity("orders").Grain = "an order"
			c.Entity("orders").Field("status").Samples = []string{"paid"}
		}, "same entity orders; wording grain\nsame field orders.status; wording samples\nsame measure orders.revenue; wording synonyms\nsame metric revenue; wording description; wording format\n"},
		{"access", func(c *semantic.Catalog) {
			c.Entity("orders").Field("status").Visibility = semantic.Private
			c.Entity("orders").Field("status").Tags = []string{"pii"}
		}, "same field orders.status; access visibility; access tags\n"},
		{"a mask", func(c *semantic.Catalog) {
			c.Entity("orders").Field("status").Mask = &semantic.Mask{Kind: "first", N: 2}
		}, "same field orders.status; access mask; access mask.kind; access mask.n; access mask.filterable\n"},
		{"a measure", func(c *semantic.Catalog) { c.Entity("orders").Measure("paid_revenue").Filter = "status = 'open'" },
			"changed measure orders.paid_revenue; filter: status = 'paid' -> status = 'open'\n" +
				"paid_revenue paid_share net: changed because [measure orders.paid_revenue]\n"},
		{"a unit", func(c *semantic.Catalog) { c.Metric("revenue_per_ticket").Unit = "euros" },
			"changed metric revenue_per_ticket; unit: cents -> euros\nrevenue_per_ticket: changed because [metric revenue_per_ticket]\n"},
		{"fill of 0 and none", func(c *semantic.Catalog) { c.Entity("orders").Measure("revenue").Fill = nil },
			"changed measure orders.revenue; fill: 0 -> \nrevenue revenue_per_ticket paid_share net: changed because [measure orders.revenue]\n"},
		{"a field that a filter's text reads", func(c *semantic.Catalog) { c.Entity("orders").Field("status").Column = "state" },
			"changed field orders.status; column: status -> state\n" +
				"revenue order_count avg_order buyers units item_revenue revenue_per_ticket running part place conversion eu_units: regroups by [field orders.status] at [status]\n" +
				"paid_revenue paid_share net: changed because [field orders.status]\n"},
		{"a filter that is new", func(c *semantic.Catalog) {
			c.Entity("support_tickets").Filters = append(c.Entity("support_tickets").Filters, &semantic.Filter{Name: "real", Kind: semantic.FixedFilter, Expr: "priority IS NOT NULL"})
		}, "added filter support_tickets.real\nticket_count revenue_per_ticket growth conversion: changed because [filter support_tickets.real]\n"},
		{"a relationship", func(c *semantic.Catalog) { c.Entity("order_items").Relationship("products").Complete = true },
			"changed relationship order_items.products; complete: false -> true\n" +
				"units item_revenue running part eu_units: regroups by [relationship order_items.products] at [category label]\n" +
				"place: changed because [relationship order_items.products]\n"},
		{"a dimension two joins away", func(c *semantic.Catalog) {
			c.Entity("customers").Dimension("big_region").Expr = "CASE WHEN region IN ('eu') THEN 'big' ELSE 'small' END"
		}, "changed dimension customers.big_region; expr: CASE WHEN region IN ('eu', 'us') THEN 'big' ELSE 'small' END -> CASE WHEN region IN ('eu') THEN 'big' ELSE 'small' END\n" +
			"revenue order_count paid_revenue avg_order buyers customer_count avg_risk units item_revenue ticket_count revenue_per_ticket paid_share net running growth part place conversion: regroups by [dimension customers.big_region] at [big_region]\n" +
			"eu_units: changed because [dimension customers.big_region]\n"},
		{"a filter of the entity that a condition leads to", func(c *semantic.Catalog) {
			c.Entity("customers").Filters = []*semantic.Filter{{Name: "real", Kind: semantic.FixedFilter, Expr: "name IS NOT NULL"}}
		}, "added filter customers.real\n" +
			"revenue order_count paid_revenue avg_order buyers units item_revenue ticket_count revenue_per_ticket paid_share net running growth place conversion: regroups by [filter customers.real] at [name region plan signed_up big_region]\n" +
			"customer_count avg_risk part eu_units: changed because [filter customers.real]\n"},
		{"a parameter", func(c *semantic.Catalog) { c.Parameters[0].Default = "10" },
			"changed parameter floor; default: 0 -> 10\nnet: changed because [parameter floor]\n"},
		{"the zone", func(c *semantic.Catalog) { c.Time.Zone = "Europe/Rome" },
			"changed time; zone:  -> Europe/Rome\n" +
				"revenue order_count paid_revenue avg_order buyers customer_count avg_risk units item_revenue ticket_count revenue_per_ticket paid_share net conversion: regroups by [time]\n" +
				"running growth part place eu_units: changed because [time]\n"},
		{"a window", func(c *semantic.Catalog) {
			c.Metric("running").Cumulative = &semantic.Cumulative{Window: &semantic.Period{N: 7, Unit: "day"}, IncludeCurrent: true}
		}, "changed metric running; cumulative.window:  -> {}; cumulative.include_current: false -> true; cumulative.window.n:  -> 7; cumulative.window.unit:  -> day\n" +
			"running: changed because [metric running]\n"},
		{"a condition", func(c *semantic.Catalog) { c.Metric("eu_units").Where[0].Values = []any{"big", nil} },
			"changed metric eu_units; where: [{field: big_region, op: =, values: [\"big\"]}] -> [{field: big_region, op: =, values: [\"big\", null]}]\n" +
				"eu_units: changed because [metric eu_units]\n"},
		{"an event's key", func(c *semantic.Catalog) { c.Entity("support_tickets").Field("customer_id").Type = "varchar" },
			"changed field support_tickets.customer_id; type: bigint -> varchar\n" +
				"ticket_count revenue_per_ticket growth: regroups by [field support_tickets.customer_id] at [name region plan signed_up big_region]\n" +
				"conversion: changed because [field support_tickets.customer_id]\n"},
		{"a source", func(c *semantic.Catalog) { c.Entity("products").Source.Path = "p.csv" },
			"changed entity products; source.path:  -> p.csv\n" +
				"units item_revenue running part eu_units: regroups by [entity products] at [category label]\n" +
				"place: changed because [entity products]\n"},
		{"another name", func(c *semantic.Catalog) { c.Metric("paid_share").Name = "paid_part" },
			"added metric paid_part\nremoved metric paid_share\npaid_part: renamed from paid_share\n"},
		{"another name, of a changed measure", func(c *semantic.Catalog) {
			c.Metric("paid_share").Name = "paid_part"
			c.Entity("orders").Measure("paid_revenue").Filter = ""
		}, "changed measure orders.paid_revenue; filter: status = 'paid' -> \nadded metric paid_part\nremoved metric paid_share\n" +
			"paid_revenue net: changed because [measure orders.paid_revenue]\npaid_part: changed from paid_share because [measure orders.paid_revenue]\n"},
		{"another name and meaning", func(c *semantic.Catalog) {
			c.Metric("paid_share").Denominator = "order_count"
			c.Metric("paid_share").Name = "paid_part"
		}, "added metric paid_part\nremoved metric paid_share\npaid_part: added\npaid_share: removed\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			newer := shop()
			c.edit(newer)
			got := changes.Between(shop(), semantic.NewCatalog(*newer))
			require.Equal(t, c.want, show(got))
			require.Equal(t, !strings.HasPrefix(c.want, "same"), got.Meaning())
		})
	}
}
