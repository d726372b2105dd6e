package metric

import (
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Definition says in words what a metric is. What a subject may use in no clause
// is not spelled out.
type Definition struct {
	Name        string   `json:"name"`
	Kind        string   `json:"kind"`
	Description string   `json:"description,omitempty"`
	Is          string   `json:"is"` // how it is computed, in the model's words
	Filters     []string `json:"filters,omitempty"`
	Fill        *int     `json:"fill,omitempty"` // value of a group without rows
	Unit        string   `json:"unit,omitempty"`
	Format      string   `json:"format,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Additive    bool     `json:"additive"` // its groups add up to their total
}

// Define gives the definitions of metrics, each followed by those of the metrics
// that it is made from, none of them twice. Metrics that the subject may not ask
// for are left out.
func Define(view resolve.View, catalog *semantic.Catalog, exprs *resolve.Expressions, names []string) ([]Definition, error) {
	s := newScope(view, catalog, exprs)
	var out []Definition
	seen := map[*semantic.Metric]bool{}
	var add func(semantic.Name)
	add = func(n semantic.Name) {
		m := s.metric(n)
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		out = append(out, s.define(m))
		for _, part := range m.Parts() {
			add(part)
		}
	}
	for _, n := range names {
		add(semantic.Name(n))
	}
	return out, s.failure
}

func (s *scope) define(m *semantic.Metric) Definition {
	out := Definition{Name: string(m.Name), Kind: string(m.Kind), Description: m.Description, Is: s.formula(m),
		Unit: m.Unit, Format: m.Format, Owner: m.Owner, Additive: s.additive(m)}
	if m.Kind == semantic.SimpleMetric {
		vis := s.entity(m.Entity)
		measure := vis.Entity.Measure(m.Measure)
		out.Unit, out.Format, out.Fill = or(m.Unit, measure.Unit), or(m.Format, measure.Format), measure.Fill
		for _, text := range []string{measure.Filter, m.Filter} {
			switch {
			case text == "":
			case s.tells(vis, text):
				out.Filters = append(out.Filters, strings.TrimSpace(text))
			default:
				out.Filters = append(out.Filters, "a condition of the model")
			}
		}
	}
	for _, w := range m.Where {
		out.Filters = append(out.Filters, filterText(Filter{Field: w.Field, Op: w.Op, Values: w.Values, Grain: w.Grain}))
	}
	return out
}

// tells reports that the subject may filter by all that an expression reads, so
// that its text may be shown.
func (s *scope) tells(vis *resolve.Visible, expr string) bool {
	return !slices.ContainsFunc(s.columns(vis.Entity, expr), func(p resolve.Place) bool {
		return p.Parameter == "" && vis.Fields[p.Column.Key()] < semantic.FilterOnly
	})
}

// field is a field of an entity by its name, when the subject may filter by it.
func (s *scope) field(vis *resolve.Visible, n semantic.Name) string {
	if vis.Fields[n.Key()] < semantic.FilterOnly {
		return "a field of " + string(vis.Entity.Name)
	}
	return string(vis.Entity.Name) + "." + string(n)
}

// formula says how a metric is computed.
func (s *scope) formula(m *semantic.Metric) string {
	switch m.Kind {
	case semantic.SimpleMetric:
		vis := s.entity(m.Entity)
		return s.measureWords(vis, vis.Entity.Measure(m.Measure))
	case semantic.RatioMetric:
		return fmt.Sprintf("%s / %s, NULL where %s is 0", m.Numerator, m.Denominator, m.Denominator)
	case semantic.DerivedMetric:
		return strings.TrimSpace(m.Expr)
	case semantic.CumulativeMetric:
		return cumulativeWords(m)
	case semantic.CompareMetric:
		return compareWords(m)
	case semantic.ShareMetric:
		return shareWords(m)
	case semantic.RankMetric:
		return rankWords(m)
	case semantic.ConversionMetric:
		return s.conversionWords(m.Conversion)
	}
	return ""
}

// aggregateWords are the aggregates of one value in words.
var aggregateWords = map[semantic.Agg]string{
	semantic.Sum: "sum of %s", semantic.Count: "number of rows with %s", semantic.CountDistinct: "number of distinct %s",
	semantic.ApproxDistinct: "approximate number of distinct %s", semantic.Avg: "mean of %s", semantic.Min: "least %s", semantic.Max: "greatest %s",
	semantic.Median: "median of %s", semantic.Stddev: "standard deviation of %s in a sample", semantic.Variance: "variance of %s in a sample",
	semantic.Custom: "%s", semantic.ListAgg: "list of %s", semantic.StringAgg: "texts of %s put together",
}

func (s *scope) measureWords(vis *resolve.Visible, m *semantic.Measure) string {
	of := ""
	switch {
	case m.Field != "":
		of = s.field(vis, m.Field)
	case m.Expr != "":
		of = "an expression of "
		if s.tells(vis, m.Expr) {
			of = "(" + strings.TrimSpace(m.Expr) + ") of "
		}
		of += string(vis.Entity.Name)
	}
	out := ""
	switch m.Agg {
	case semantic.Count:
		out = "number of rows of " + string(vis.Entity.Name)
		if of != "" {
			out = fmt.Sprintf(aggregateWords[m.Agg], of)
		}
	case semantic.Percentile:
		out = fmt.Sprintf("percentile %s of %s", m.Quantile, of)
		if m.Discrete {
			out += ", a value of the rows"
		}
	case semantic.First, semantic.Last:
		when := map[semantic.Agg]string{semantic.First: "earliest", semantic.Last: "latest"}[m.Agg]
		out = fmt.Sprintf("%s at the %s %s", of, when, s.field(vis, m.By))
	default:
		out = fmt.Sprintf(aggregateWords[m.Agg], of)
	}
	if m.Semi != nil {
		when := map[semantic.Agg]string{semantic.First: "first", semantic.Last: "last"}[m.Semi.Pick]
		out += fmt.Sprintf(", at the %s %s of each group", when, s.field(vis, m.Semi.Over))
		for i, per := range m.Semi.Per {
			out += map[bool]string{true: " and each ", false: ", "}[i == 0] + s.field(vis, per)
		}
	}
	return out
}

func cumulativeWords(m *semantic.Metric) string {
	c := m.Cumulative
	grain := or(c.Grain, "day")
	out := ""
	switch {
	case c.Window != nil && c.IncludeCurrent:
		out = fmt.Sprintf("%s over the trailing %s, the current one among them", m.Of, PeriodText(*c.Window))
		grain = or(c.Grain, c.Window.Unit)
	case c.Window != nil:
		out = fmt.Sprintf("%s over the %s before the current one", m.Of, PeriodText(*c.Window))
		grain = or(c.Grain, c.Window.Unit)
	case c.ToDate != "":
		out = fmt.Sprintf("%s since the start of each %s", m.Of, c.ToDate)
	default:
		out = fmt.Sprintf("%s since the first row", m.Of)
	}
	return out + fmt.Sprintf(", by %s; coarser buckets take the %s value", grain, or(c.Coarser, "last"))
}

func compareWords(m *semantic.Metric) string {
	then := fmt.Sprintf("%s %s earlier", m.Of, PeriodText(m.Compare.Offset))
	out := then
	switch m.Compare.Give {
	case "difference":
		out = fmt.Sprintf("%s minus %s", m.Of, then)
	case "growth":
		out = fmt.Sprintf("%s minus %s, divided by the latter", m.Of, then)
	}
	if m.Compare.ToDate {
		out += ", cut at the same point in the period that is not over"
	}
	return out
}

func shareWords(m *semantic.Metric) string {
	total := map[string]string{"visible": "its total over what the question keeps", "all": "its total without the question's own filters on dimensions",
		"parent": "its total over the group without the finest dimension"}[m.Share.Scope]
	out := fmt.Sprintf("%s divided by %s", m.Of, total)
	if len(m.Share.Within) > 0 {
		out += " within each " + strings.Join(m.Share.Within, ", ")
	}
	return out
}

func rankWords(m *semantic.Metric) string {
	first := "greatest"
	if m.Rank.Asc {
		first = "least"
	}
	out := fmt.Sprintf("place by %s, the %s first", m.Of, first)
	if len(m.Rank.Within) > 0 {
		out += ", within each " + strings.Join(m.Rank.Within, ", ")
	}
	return out
}

func (s *scope) conversionWords(c *semantic.Conversion) string {
	out := fmt.Sprintf("events of %s followed within %s by one of %s", c.Base, PeriodText(c.Window), c.Converted)
	if base := s.catalog.Metric(c.Base); base != nil && s.entity(base.Entity) != nil {
		var same []string
		for _, pair := range c.On {
			same = append(same, s.field(s.entity(base.Entity), pair.From))
		}
		out += " of the same " + strings.Join(same, ", ")
	}
	out += fmt.Sprintf("; each of %s is credited to the latest of %s before it, and each of %s counts once", c.Converted, c.Base, c.Base)
	if c.Give != "count" {
		out += fmt.Sprintf("; divided by all events of %s", c.Base)
	}
	return out
}

// Text writes a definition on one line.
func (d Definition) Text() string {
	out := d.Name + " (" + d.Kind + "): " + d.Is
	if len(d.Filters) > 0 {
		out += ", where " + strings.Join(d.Filters, " and ")
	}
	if d.Fill != nil {
		out += fmt.Sprintf("; %d where there is no row", *d.Fill)
	}
	if d.Unit != "" {
		out += " [" + d.Unit + "]"
	}
	if !d.Additive {
		out += "; groups do not add up"
	}
	if d.Owner != "" {
		out += "; owner " + d.Owner
	}
	return out
}
