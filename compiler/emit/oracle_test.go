package emit_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
)

// The oracle answers questions over the shop by definition, from fact rows, with
// no SQL and no plan. It knows the shop by heart and shares no code with the
// compiler; only the question's type is common.

// record is one row: nil, string, int64, float64 or time.Time by field.
type record map[string]any

// data is the shop's rows by entity.
type data map[string][]record

// links are the shop's to-one relationships: entity, foreign key, partner.
var links = map[string][]struct{ key, to string }{
	"orders":          {{"customer_id", "customers"}},
	"order_items":     {{"order_id", "orders"}, {"product_id", "products"}},
	"support_tickets": {{"customer_id", "customers"}},
}

// owned are the dimensions of each entity.
var owned = map[string][]string{
	"customers":       {"name", "region", "plan", "signed_up", "big_region"},
	"orders":          {"order_date", "created_at", "status", "order", "größe"},
	"products":        {"category", "label"},
	"support_tickets": {"created_at", "priority"},
}

// timeOf is each entity's time dimension.
var timeOf = map[string]string{"orders": "order_date", "support_tickets": "created_at"}

type leafSpec struct {
	entity, agg string
	value       func(record) any  // nil counts rows
	keep        func(record) bool // nil keeps all
	fill        bool              // 0 where no row stands behind it
}

func column(name string) func(record) any { return func(r record) any { return r[name] } }

var leaves = map[string]leafSpec{
	"revenue":        {"orders", "sum", column("total_cents"), nil, true},
	"order_count":    {"orders", "count", nil, nil, false},
	"paid_revenue":   {"orders", "sum", column("total_cents"), func(r record) bool { return r["status"] == "paid" }, false},
	"avg_order":      {"orders", "avg", column("total_cents"), nil, false},
	"buyers":         {"orders", "distinct", column("customer_id"), nil, false},
	"customer_count": {"customers", "count", nil, nil, false},
	"avg_risk":       {"customers", "avg", column("risk_score"), nil, false},
	"units":          {"order_items", "sum", column("qty"), nil, false},
	"item_revenue": {"order_items", "sum", func(r record) any {
		if r["price_cents"] == nil || r["qty"] == nil {
			return nil
		}
		return r["price_cents"].(int64) * r["qty"].(int64)
	}, nil, false},
	"ticket_count": {"support_tickets", "count", nil, nil, false},
}

var ratios = map[string][2]string{"revenue_per_ticket": {"revenue", "ticket_count"}, "paid_share": {"paid_revenue", "revenue"}}

// factsOf gives the entities whose rows a metric aggregates.
func factsOf(m string) []string {
	if r, ok := ratios[m]; ok {
		return append(factsOf(r[0]), factsOf(r[1])...)
	}
	return []string{leaves[m].entity}
}

// owner finds the one entity that a fact reaches and that has the dimension.
func owner(fact, dim string) (string, bool) {
	if slices.Contains(owned[fact], dim) {
		return fact, true
	}
	for _, l := range links[fact] {
		if o, ok := owner(l.to, dim); ok {
			return o, true
		}
	}
	return "", false
}

// read gives a dimension's value for a fact row, NULL without a partner.
func (d data) read(fact string, r record, dim string) any {
	if dim == metric.MetricTime {
		dim = timeOf[fact]
	}
	if slices.Contains(owned[fact], dim) {
		if dim != "big_region" {
			return r[dim]
		}
		if r["region"] == "eu" || r["region"] == "us" {
			return "big"
		}
		return "small"
	}
	for _, l := range links[fact] {
		if _, ok := owner(l.to, dim); !ok {
			continue
		}
		for _, partner := range d[l.to] {
			if r[l.key] != nil && partner["id"] == r[l.key] {
				return d.read(l.to, partner, dim)
			}
		}
	}
	return nil
}

func cut(v any, grain string) any {
	t, ok := v.(time.Time)
	if !ok {
		return v
	}
	y, m, day := t.Date()
	date := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch grain {
	case "hour":
		return t.Truncate(time.Hour)
	case "day":
		return date(y, m, day)
	case "week":
		return date(y, m, day-(int(t.Weekday())+6)%7)
	case "month":
		return date(y, m, 1)
	case "quarter":
		return date(y, m-(m-1)%3, 1)
	case "year":
		return date(y, 1, 1)
	}
	return t
}

// passes applies one filter by its documented meaning.
func passes(v any, f metric.Filter) bool {
	switch f.Op {
	case "is_null":
		return v == nil
	case "is_not_null":
		return v != nil
	case "in", "=":
		return slices.ContainsFunc(f.Values, func(x any) bool { return equal(v, x) })
	case "not_in", "!=":
		return !slices.ContainsFunc(f.Values, func(x any) bool { return equal(v, x) })
	}
	if v == nil {
		return false
	}
	switch f.Op {
	case "contains":
		return strings.Contains(v.(string), f.Values[0].(string))
	case "<":
		return compare(v, f.Values[0]) < 0
	case "<=":
		return compare(v, f.Values[0]) <= 0
	case ">":
		return compare(v, f.Values[0]) > 0
	case ">=":
		return compare(v, f.Values[0]) >= 0
	case "between":
		return compare(v, f.Values[0]) >= 0 && compare(v, f.Values[1]) <= 0
	}
	panic(f.Op)
}

func equal(v, x any) bool { return (v == nil) == (x == nil) && (v == nil || compare(v, x) == 0) }

// compare orders a value against one a caller wrote. A day is equal to every
// moment of it.
func compare(v, x any) int {
	switch v := v.(type) {
	case string:
		return strings.Compare(v, x.(string))
	case time.Time:
		text := x.(string)
		if len(text) == len(time.DateOnly) {
			return strings.Compare(v.Format(time.DateOnly), text)
		}
		return strings.Compare(v.Format(time.DateTime), text)
	}
	return cmp.Compare(number(v), number(x))
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	}
	return v.(float64)
}

// group is one group of the answer: its key and the rows of each fact in it.
type group struct {
	key  []any
	rows map[string][]record
}

// answer evaluates a question that can be placed.
func (d data) answer(q metric.Question) [][]any {
	var groups []*group
	if len(q.Dimensions) == 0 {
		groups = []*group{{rows: map[string][]record{}}}
	}
	var facts []string
	for _, m := range q.Metrics {
		facts = append(facts, factsOf(m)...)
	}
	slices.Sort(facts)
	for _, fact := range slices.Compact(facts) {
		for _, r := range d[fact] {
			if d.kept(fact, r, q) {
				groups = d.add(groups, fact, r, q)
			}
		}
	}
	var out [][]any
	for _, g := range groups {
		row := slices.Clone(g.key)
		for _, m := range q.Metrics {
			row = append(row, g.metric(m, len(q.Dimensions) == 0))
		}
		if !slices.ContainsFunc(q.Filters, func(f metric.Filter) bool {
			i := slices.Index(q.Metrics, f.Field)
			return i >= 0 && !passes(row[len(q.Dimensions)+i], f)
		}) {
			out = append(out, row)
		}
	}
	return ordered(out, q)
}

func (d data) kept(fact string, r record, q metric.Question) bool {
	for _, f := range q.Filters {
		if slices.Contains(q.Metrics, f.Field) {
			continue
		}
		v := d.read(fact, r, f.Field)
		if f.Grain != "" {
			v = cut(v, f.Grain)
		}
		if !passes(v, f) {
			return false
		}
	}
	for _, t := range q.Time {
		v := d.read(fact, r, t.Field)
		if v == nil || (t.From != "" && compare(v, t.From) < 0) || (t.To != "" && compare(v, t.To) > 0) {
			return false
		}
	}
	return true
}

func (d data) add(groups []*group, fact string, r record, q metric.Question) []*group {
	var key []any
	for _, dim := range q.Dimensions {
		key = append(key, cut(d.read(fact, r, dim.Name), dim.Grain))
	}
	i := slices.IndexFunc(groups, func(g *group) bool { return slices.Equal(g.key, key) })
	if i < 0 {
		i = len(groups)
		groups = append(groups, &group{key: key, rows: map[string][]record{}})
	}
	groups[i].rows[fact] = append(groups[i].rows[fact], r)
	return groups
}

func (g *group) metric(name string, total bool) any {
	if r, ok := ratios[name]; ok {
		num, den := g.metric(r[0], total), g.metric(r[1], total)
		if num == nil || den == nil || number(den) == 0 {
			return nil
		}
		return number(num) / number(den)
	}
	l := leaves[name]
	all := g.rows[l.entity]
	rows := slices.DeleteFunc(slices.Clone(all), func(r record) bool { return l.keep != nil && !l.keep(r) })
	if len(rows) == 0 && l.fill {
		return int64(0)
	}
	if len(all) == 0 && !total {
		return nil // the fact has no such group
	}
	return l.aggregate(rows)
}

func (l leafSpec) aggregate(rows []record) any {
	if l.value == nil {
		return int64(len(rows))
	}
	var values []any
	for _, r := range rows {
		if v := l.value(r); v != nil {
			values = append(values, v)
		}
	}
	if l.agg == "distinct" {
		seen := map[any]bool{}
		for _, v := range values {
			seen[v] = true
		}
		return int64(len(seen))
	}
	if len(values) == 0 {
		return nil
	}
	sum := 0.0
	for _, v := range values {
		sum += number(v)
	}
	if l.agg == "avg" {
		return sum / float64(len(values))
	}
	return int64(sum)
}

// ordered sorts as the question says, then by the keys, NULL last, and cuts
// after one row more than the limit.
func ordered(rows [][]any, q metric.Question) [][]any {
	var columns []string
	for _, d := range q.Dimensions {
		columns = append(columns, d.Name)
	}
	columns = append(columns, q.Metrics...)
	terms := slices.Clone(q.Order)
	for _, d := range q.Dimensions {
		terms = append(terms, metric.Order{By: d.Name})
	}
	slices.SortStableFunc(rows, func(a, b []any) int {
		for _, t := range terms {
			i := slices.Index(columns, t.By)
			if c := sortOrder(a[i], b[i], t.Desc); c != 0 {
				return c
			}
		}
		return 0
	})
	if q.Limit != nil && len(rows) > *q.Limit+1 && len(q.Dimensions) > 0 {
		rows = rows[:*q.Limit+1]
	}
	return rows
}

func sortOrder(a, b any, desc bool) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	c := 0
	switch a := a.(type) {
	case string:
		c = strings.Compare(a, b.(string))
	case time.Time:
		c = a.Compare(b.(time.Time))
	default:
		c = cmp.Compare(number(a), number(b))
	}
	if desc {
		return -c
	}
	return c
}

// placed says whether a question can be placed at all, by the shop's map.
func placed(q metric.Question) bool {
	var facts []string
	for _, m := range q.Metrics {
		facts = append(facts, factsOf(m)...)
	}
	same := func(dim string) bool {
		var owners []string
		for _, f := range facts {
			o, ok := owner(f, dim)
			if dim == metric.MetricTime {
				o, ok = "", timeOf[f] != ""
			}
			if !ok {
				return false
			}
			owners = append(owners, o)
		}
		slices.Sort(owners)
		return len(slices.Compact(owners)) == 1
	}
	for _, d := range q.Dimensions {
		// metric_time is a date for orders: no hours
		if !same(d.Name) || (d.Grain == "hour" && (d.Name == "order_date" || (d.Name == metric.MetricTime && slices.Contains(facts, "orders")))) {
			return false
		}
	}
	for _, f := range q.Filters {
		if !slices.Contains(q.Metrics, f.Field) && !same(f.Field) {
			return false
		}
	}
	return !slices.ContainsFunc(q.Time, func(t metric.TimeRange) bool { return !same(t.Field) }) &&
		(!slices.Contains(facts, "support_tickets") || len(q.Time) > 0)
}

// show writes a value so that DuckDB's and the oracle's can be compared.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case float64:
		return fmt.Sprintf("%.9g", v+0) // one zero, whatever its sign
	case time.Time:
		return v.UTC().Format(time.DateTime)
	}
	return fmt.Sprint(v)
}
