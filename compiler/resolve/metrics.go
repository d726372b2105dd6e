package resolve

import (
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// checkMetrics holds what metrics are made of to its meaning: no metric is made
// from itself, and no part of one, however deep, is of a kind for which the whole
// says nothing.
func checkMetrics(c *semantic.Catalog) diag.List {
	if errs := semantic.MetricCycles(c.Metrics); len(errs) > 0 {
		return errs
	}
	var errs diag.List
	for _, m := range c.Metrics {
		if complaint := nonsense(c, m); complaint != nil {
			errs = append(errs, complaint.At(m.Pos))
		}
	}
	return errs
}

// nonsense says why a metric means nothing; nil when it means something.
func nonsense(c *semantic.Catalog, m *semantic.Metric) *diag.Error {
	kinds := map[semantic.MetricKind]string{}
	switch m.Kind {
	case semantic.CumulativeMetric:
		kinds[semantic.CumulativeMetric] = "runs over time already"
		kinds[semantic.RankMetric] = "is a place among groups, and places do not add up"
		kinds[semantic.ShareMetric] = "is a part of a total, and parts of several totals do not add up"
		kinds[semantic.ConversionMetric] = "looks ahead from its events, and does not run over time"
	case semantic.CompareMetric:
		kinds[semantic.RankMetric] = "is a place among the groups of one answer"
	case semantic.ShareMetric:
		kinds[semantic.ShareMetric] = "is a part of a total already"
		kinds[semantic.RankMetric] = "is a place among groups, which has no total"
	case semantic.RankMetric:
		kinds[semantic.RankMetric] = "is a rank already"
	default:
		return nil
	}
	var out *diag.Error
	below(c, m, func(part *semantic.Metric) bool {
		why := kinds[part.Kind]
		toDate := m.Kind == semantic.CompareMetric && m.Compare.ToDate
		switch {
		case why != "":
		case m.Kind == semantic.CumulativeMetric && semiAdditive(c, part):
			why = "is semi-additive: it does not add up along time"
		case toDate && part.Kind == semantic.CumulativeMetric:
			why = "runs over time, so its periods are cut alike by themselves"
		case toDate && part.Kind == semantic.CompareMetric && part.Compare.ToDate:
			why = "is compared to date already"
		default:
			return true
		}
		out = diag.New(diag.ModelInvalid, "metric %q is a %s metric over %q, which %s", m.Name, m.Kind, part.Name, why)
		return false
	})
	return out
}

func semiAdditive(c *semantic.Catalog, m *semantic.Metric) bool {
	e := c.Entity(m.Entity)
	if m.Kind != semantic.SimpleMetric || e == nil || e.Measure(m.Measure) == nil {
		return false
	}
	return e.Measure(m.Measure).Semi != nil
}

// below visits every metric that m is made from, each once, until visit gives false.
func below(c *semantic.Catalog, m *semantic.Metric, visit func(*semantic.Metric) bool) {
	seen, list := map[*semantic.Metric]bool{}, []*semantic.Metric{m}
	for len(list) > 0 {
		next := list[0]
		list = list[1:]
		for _, name := range next.Parts() {
			part := c.Metric(name)
			if part == nil || seen[part] {
				continue
			}
			seen[part] = true
			if !visit(part) {
				return
			}
			list = append(list, part)
		}
	}
}
