package main

import (
	"fmt"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// enabledMeasures are the aggregates beside the plain ones.
func enabledMeasures(e *semantic.Entity) []semantic.Measure {
	txt, frac, num := e.Fields[1].Name, e.Fields[2].Name, e.Fields[3].Name
	out := []semantic.Measure{
		{Agg: semantic.Median, Field: frac}, {Agg: semantic.Percentile, Field: frac, Quantile: "0.9"}, {Agg: semantic.Percentile, Field: num, Quantile: "0.5", Discrete: true},
		{Agg: semantic.Stddev, Field: num}, {Agg: semantic.Variance, Field: frac}, {Agg: semantic.First, Field: num, By: frac}, {Agg: semantic.Last, Field: num, By: frac},
		{Agg: semantic.StringAgg, Field: txt, Order: []semantic.OrderBy{{By: num, Desc: true}}}, {Agg: semantic.ListAgg, Field: num, Order: []semantic.OrderBy{{By: frac}}},
	}
	if e.TimeDimension != "" {
		out = append(out, semantic.Measure{Agg: semantic.Sum, Field: num, Semi: &semantic.SemiAdditive{Over: e.TimeDimension, Pick: semantic.Last}},
			semantic.Measure{Agg: semantic.Sum, Field: num, Semi: &semantic.SemiAdditive{Over: e.TimeDimension, Pick: semantic.First, Per: []semantic.Name{txt}}})
	}
	return out
}

// combination makes a metric of metrics.
type combination func(w *world, of []semantic.Name) *semantic.Metric

// combinations are the kinds of metrics beside simple ones and ratios.
var combinations = []combination{derived, running, trailing, toDate, compared, shared, ranked, stacked}

func derived(w *world, of []semantic.Name) *semantic.Metric {
	a, b := pick(w.rt, of), pick(w.rt, of)
	op := pick(w.rt, []string{"+", "-", "*", "/"})
	expr := fmt.Sprintf("%s %s %s", semantic.Quote(string(a)), op, semantic.Quote(string(b)))
	twice := chance(w.rt, 30)
	if twice {
		expr = "2 * (" + expr + ")"
	}
	w.arithmetic[expr] = func(value func(string) any) any {
		out := calculate(value(string(a)), value(string(b)), op)
		if twice {
			return calculate(2.0, out, "*")
		}
		return out
	}
	return &semantic.Metric{Kind: semantic.DerivedMetric, Expr: expr}
}

// stacked makes a metric of those that are made of others already.
func stacked(w *world, of []semantic.Name) *semantic.Metric {
	all := slices.Clone(of)
	for _, m := range w.catalog.Metrics {
		if m.Kind != semantic.SimpleMetric && m.Kind != semantic.RankMetric {
			all = append(all, m.Name, m.Name)
		}
	}
	return pick(w.rt, []combination{derived, derived, compared, shared, ranked})(w, all)
}

func calculate(a, b any, op string) any {
	if op == "/" {
		return quotient(a, b)
	}
	if a == nil || b == nil {
		return nil
	}
	x, y := a.(float64), b.(float64)
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	}
	return x * y
}

func running(w *world, of []semantic.Name) *semantic.Metric {
	return &semantic.Metric{Kind: semantic.CumulativeMetric, Of: w.addable(of), Cumulative: &semantic.Cumulative{Coarser: pick(w.rt, coarser)}}
}

// addable picks a metric that adds up along time, or a count where there is none.
func (w *world) addable(of []semantic.Name) semantic.Name {
	var out []semantic.Name
	for _, n := range of {
		for _, m := range w.catalog.Metrics {
			if m.Name == n && measureCalled(entityCalled(w.catalog.Entities, m.Entity), m.Measure).Semi == nil {
				out = append(out, n)
			}
		}
	}
	return pick(w.rt, out)
}

func measureCalled(e *semantic.Entity, n semantic.Name) *semantic.Measure {
	return e.Measures[slices.IndexFunc(e.Measures, func(m *semantic.Measure) bool { return m.Name == n })]
}

var coarser = []string{"", "last", "first", "avg", "min", "max"}

func trailing(w *world, of []semantic.Name) *semantic.Metric {
	p := pick(w.rt, []semantic.Period{{N: 2, Unit: "day"}, {N: 7, Unit: "day"}, {N: 30, Unit: "day"}, {N: 2, Unit: "month"}, {N: 3, Unit: "month"}, {N: 1, Unit: "week"}, {N: 1, Unit: "quarter"}})
	return &semantic.Metric{Kind: semantic.CumulativeMetric, Of: w.addable(of), Cumulative: &semantic.Cumulative{Window: &p, IncludeCurrent: chance(w.rt, 50), Coarser: pick(w.rt, coarser)}}
}

func toDate(w *world, of []semantic.Name) *semantic.Metric {
	return &semantic.Metric{Kind: semantic.CumulativeMetric, Of: w.addable(of), Cumulative: &semantic.Cumulative{ToDate: pick(w.rt, []string{"month", "year", "quarter", "week"}), Coarser: pick(w.rt, coarser)}}
}

func compared(w *world, of []semantic.Name) *semantic.Metric {
	p := pick(w.rt, []semantic.Period{{N: 1, Unit: "month"}, {N: 1, Unit: "day"}, {N: 1, Unit: "week"}, {N: 52, Unit: "week"}, {N: 1, Unit: "quarter"}, {N: 1, Unit: "year"}, {N: 3, Unit: "month"}})
	return &semantic.Metric{Kind: semantic.CompareMetric, Of: pick(w.rt, of), Compare: &semantic.Compare{Offset: p, Give: pick(w.rt, []string{"value", "difference", "growth"}), ToDate: chance(w.rt, 20)}}
}

func shared(w *world, of []semantic.Name) *semantic.Metric {
	return &semantic.Metric{Kind: semantic.ShareMetric, Of: pick(w.rt, of), Share: &semantic.Share{Scope: pick(w.rt, []string{"visible", "all", "parent"})}}
}

func ranked(w *world, of []semantic.Name) *semantic.Metric {
	return &semantic.Metric{Kind: semantic.RankMetric, Of: pick(w.rt, of), Rank: &semantic.Rank{Asc: chance(w.rt, 50), Ties: pick(w.rt, []string{"", "dense"})}}
}

// drawExtras adds what questions have beside metrics, dimensions, filters and order.
func (w *world) drawExtras(rt *rapid.T, q *metric.Question) {
	timed := slices.IndexFunc(q.Dimensions, func(d metric.DimensionRef) bool { return slices.Contains(grainsOfTime[3:], d.Grain) })
	switch rapid.IntRange(0, 9).Draw(rt, "extra") {
	case 0:
		if len(q.Dimensions) > 0 {
			q.Totals, q.Limit = pick(rt, []string{"total", "subtotals"}), nil
		}
	case 1:
		q.FillGaps = timed >= 0
	case 2:
		if i := slices.IndexFunc(q.Dimensions, func(d metric.DimensionRef) bool { return d.Grain == "" }); i >= 0 && w.numeric(q.Metrics[0]) {
			q.Top, q.Limit = &metric.Top{Dimension: q.Dimensions[i].Name, By: q.Metrics[0], N: rapid.IntRange(1, 3).Draw(rt, "n"), Other: chance(rt, 60)}, nil
		}
	case 3:
		q.Offset = rapid.IntRange(1, 2).Draw(rt, "offset")
	case 4:
		q.Zone = pick(rt, []string{"UTC", "Europe/Copenhagen", "Asia/Kolkata", "America/New_York"})
	case 5:
		q.WeekStart = pick(rt, []string{"monday", "sunday"})
	case 6:
		if n := len(q.Filters); n > 1 && !slices.ContainsFunc(q.Filters, func(f metric.Filter) bool { return f.Field[:min(7, len(f.Field))] == "metric." }) {
			q.Filters = []metric.Filter{{Any: q.Filters}}
		}
	case 7:
		if len(q.Time) > 0 {
			q.Time = []metric.TimeRange{{Field: metric.MetricTime, Last: strconv.Itoa(rapid.IntRange(1, 3).Draw(rt, "n")) + " " + pick(rt, []string{"days", "weeks", "months", "quarters", "years"}), IncludingCurrent: chance(rt, 50)}}
		}
	case 8:
		if len(q.Time) > 0 {
			q.Time = []metric.TimeRange{{Field: metric.MetricTime, This: pick(rt, []string{"month", "week", "year"})}}
		}
	}
}

// aligned gives a range of whole buckets, since a window or an earlier period
// has no meaning for part of one.
func aligned(rt *rapid.T, grain string) []metric.TimeRange {
	from := map[string][]string{
		"day": {"2024-01-01", "2024-02-01", "2024-03-10"}, "month": {"2024-01-01", "2024-03-01"},
		"quarter": {"2024-01-01"}, "year": {"2024-01-01"},
	}[grain]
	to := map[string][]string{"day": {"2024-02-29", "2024-03-31"}, "month": {"2024-02-29", "2024-03-31"}, "quarter": {"2024-03-31"}, "year": {"2024-12-31"}}[grain]
	if from == nil {
		return nil
	}
	return []metric.TimeRange{{Field: metric.MetricTime, From: pick(rt, from), To: pick(rt, to)}}
}
