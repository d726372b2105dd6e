package engine

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/engine/rowdiff"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Compared is a metric whose values are compared between two revisions of the models.
type Compared struct {
	Old, New semantic.Name   // its name in each
	First    []semantic.Name // names of dimensions by which it is compared before others
}

// Values is what one question about a metric gave in both revisions.
type Values struct {
	By     string // the dimension, with its grain; "" for the total
	Groups int    // of both together
	Differ int    // groups that are in both, with another value
	Gone   int    // groups that only the older revision has
	New    int    // groups that only the newer revision has
	// Largest is the greatest relative difference of a group's numbers, of the total
	// with its sign; nil where no two numbers differ, or the older is 0.
	Largest *big.Rat
	Refused []string // why there is nothing to compare: a code for each revision, the older first
}

// Equal reports that both revisions gave the same, or refused alike.
func (v Values) Equal() bool {
	return v.Differ+v.Gone+v.New == 0 && (len(v.Refused) == 0 || v.Refused[0] == v.Refused[1])
}

// Bounds of what CompareValues asks by.
const (
	fewGroups      = 100 // of a dimension that is asked by without a reason
	triedBy        = 12  // dimensions that are tried for that
	comparedBy     = 3   // dimensions in all
	comparedFirst  = 5   // dimensions in all, where a change reaches so many
	askedToCompare = "diff"
)

// CompareValues asks for metrics in two engines over the same data, e with the
// older models: the total, the values by month, and those by a few dimensions,
// first the ones whose groups may have changed, then some with few values. Both
// are asked at one moment, as a subject that should see everything. What either
// refuses is told as not compared. The error is one that ended the comparison.
func (e *Engine) CompareValues(ctx context.Context, newer *Engine, s policy.Subject, list []Compared) ([][]Values, error) {
	c := comparison{older: e, newer: newer, subject: s, at: e.now()}
	var err error
	if c.oldMetrics, err = e.listed(ctx, s); err != nil {
		return nil, err
	}
	if c.newMetrics, err = newer.listed(ctx, s); err != nil {
		return nil, err
	}
	out := make([][]Values, len(list))
	for i, m := range list {
		if out[i], err = c.metric(ctx, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listed gives the metrics that a subject may ask, by name.
func (e *Engine) listed(ctx context.Context, s policy.Subject) (map[string]Metric, error) {
	list, err := e.Metrics(ctx, Describing{Tool: ToolList, Subject: s, Asked: json.RawMessage(`{"for":"` + askedToCompare + `"}`), Limit: 1 << 30})
	out := make(map[string]Metric, len(list))
	for _, m := range list {
		out[semantic.Name(m.Name).Key()] = m
	}
	return out, err
}

// metric compares one metric by all that it is asked by.
func (c *comparison) metric(ctx context.Context, m Compared) ([]Values, error) {
	var out []Values
	compare := func(by ...metric.DimensionRef) error {
		v, err := c.ask(ctx, m, by)
		out = append(out, v)
		return err
	}
	if err := compare(); err != nil {
		return nil, err
	}
	old, now := c.oldMetrics[m.Old.Key()], c.newMetrics[m.New.Key()]
	if grain := monthly(old.Time, now.Time); grain != "" {
		if err := compare(metric.DimensionRef{Name: metric.MetricTime, Grain: grain}); err != nil {
			return nil, err
		}
	}
	by, err := c.dimensions(ctx, m, old, now)
	if err != nil {
		return nil, err
	}
	for _, d := range by {
		if err := compare(d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// monthly gives month where both have it, else the coarsest grain that both have.
func monthly(old, now []string) string {
	best := ""
	for _, g := range old {
		if slices.Contains(now, g) {
			best = g
			if g == "month" {
				break
			}
		}
	}
	return best
}

// dimensions chooses what to compare by: what the change reaches, then what has
// few values.
func (c *comparison) dimensions(ctx context.Context, m Compared, old, now Metric) ([]metric.DimensionRef, error) {
	var first, others []metric.DimensionRef
	for _, d := range now.Dimensions {
		if d.FilterOnly || !slices.ContainsFunc(old.Dimensions, func(o Dimension) bool { return o.Name == d.Name && !o.FilterOnly }) {
			continue
		}
		ref := metric.DimensionRef{Name: d.Name}
		if semantic.Type(d.Type).Kind() == semantic.KindTime {
			if ref.Grain = monthly(d.Grains, d.Grains); ref.Grain == "" {
				continue
			}
		}
		switch {
		case named(m.First, d.Name):
			first = append(first, ref)
		case d.Type == "varchar" || d.Type == "boolean":
			others = append(others, ref)
		}
	}
	first = first[:min(len(first), comparedFirst)]
	for _, d := range others[:min(len(others), triedBy)] {
		if len(first) >= comparedBy {
			break
		}
		limit := fewGroups
		t, _, err := c.answer(ctx, c.newer, metric.Question{Metrics: []string{string(m.New)}, Dimensions: []metric.DimensionRef{d}, Limit: &limit})
		if err != nil {
			return nil, err
		}
		if t != nil && !t.Truncated && len(t.Rows) > 1 {
			first = append(first, d)
		}
	}
	return first, nil
}

// named reports that a dimension's spelling ends in one of the names.
func named(names []semantic.Name, spelling string) bool {
	last := semantic.Name(spelling[strings.LastIndexByte(spelling, '.')+1:])
	return slices.ContainsFunc(names, func(n semantic.Name) bool { return n.Key() == last.Key() })
}

// comparison asks two engines the same.
type comparison struct {
	older, newer           *Engine
	oldMetrics, newMetrics map[string]Metric
	subject                policy.Subject
	at                     time.Time
}

// ask compares one question's answers.
func (c *comparison) ask(ctx context.Context, m Compared, by []metric.DimensionRef) (Values, error) {
	v := Values{}
	if len(by) > 0 {
		if v.By = by[0].Name; by[0].Grain != "" {
			v.By += ":" + by[0].Grain
		}
	}
	old, oldRefused, err := c.answer(ctx, c.older, metric.Question{Metrics: []string{string(m.Old)}, Dimensions: by})
	if err != nil {
		return v, err
	}
	now, newRefused, err := c.answer(ctx, c.newer, metric.Question{Metrics: []string{string(m.New)}, Dimensions: by})
	if err != nil {
		return v, err
	}
	if oldRefused != "" || newRefused != "" {
		v.Refused = []string{oldRefused, newRefused}
		return v, nil
	}
	v.count(old, now)
	return v, nil
}

// answer gives the rows of a question, or the code with which it is refused. An
// answer that does not hold every row cannot be compared.
func (c *comparison) answer(ctx context.Context, e *Engine, q metric.Question) (*shape.Table, string, error) {
	asked, err := json.Marshal(map[string]any{"for": askedToCompare, "question": q})
	if err != nil {
		return nil, "", err
	}
	ans, err := e.Answer(ctx, Request{Tool: ToolMetrics, Subject: c.subject, Question: &q, Asked: asked, at: c.at})
	if err != nil {
		switch code := diag.CodeOf(err); strings.SplitN(string(code), ".", 2)[0] {
		case "metric", "unsupported", "policy", "request":
			if code != diag.RequestCancelled && code != diag.RequestBusy {
				return nil, string(code), nil
			}
		}
		return nil, "", err
	}
	if ans.Table.Truncated && q.Limit == nil {
		return nil, string(diag.LimitRows), nil
	}
	return ans.Table, "", nil
}

// count compares two answers whose last column is the metric, group by group.
func (v *Values) count(old, now *shape.Table) {
	before := map[string]any{}
	for _, row := range old.Rows {
		before[groupOf(row)] = row[len(row)-1]
	}
	last := len(now.Columns) - 1
	v.Groups = len(before)
	for _, row := range now.Rows {
		was, both := before[groupOf(row)]
		if delete(before, groupOf(row)); !both {
			v.New++
			v.Groups++
			continue
		}
		v.value(now.Columns[last].Type, old.Columns[last].Type, was, row[last])
	}
	v.Gone = len(before)
}

// groupOf is the key of a row: all but the metric.
func groupOf(row []any) string {
	key, err := json.Marshal(row[:len(row)-1])
	if err != nil {
		return "" // cannot happen: an answer's values are JSON
	}
	return string(key)
}

// value compares a group's values, of which each has its revision's type.
func (v *Values) value(typ, oldType string, was, is any) {
	if rowdiff.Numeric(typ) && rowdiff.Numeric(oldType) && oldType == "DOUBLE" {
		typ = oldType // 0.1 as a decimal is not apart from 0.1 as a double
	}
	if rowdiff.Equal(typ, was, is) {
		return
	}
	v.Differ++
	a, b := rowdiff.Number(was), rowdiff.Number(is)
	if a == nil || b == nil || a.Sign() == 0 {
		return
	}
	apart := new(big.Rat).Sub(b, a)
	apart.Quo(apart, new(big.Rat).Abs(a))
	if v.By != "" {
		apart.Abs(apart)
	}
	if v.Largest == nil || apart.Cmp(v.Largest) > 0 {
		v.Largest = apart
	}
}
