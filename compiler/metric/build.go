package metric

import (
	"slices"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// maxLimit keeps limit+1 far from overflow.
const maxLimit = 1 << 30

// Options are what a plan depends on besides the question.
type Options struct {
	// Now is the moment of the question. No part of this version's questions
	// depends on it; it is an input so that none ever reads a clock.
	Now time.Time
	// DefaultLimit bounds questions without a limit; 0 means no bound.
	DefaultLimit int
	// Expressions knows the model's expressions; resolve.CheckModel makes it.
	Expressions *resolve.Expressions
	// AllRows reports that the subject sees every row of an entity, no column
	// masked. Only where that holds on both sides may a relationship declared
	// complete be joined INNER: a row rule, or a masked key, makes it incomplete.
	// nil means never.
	AllRows func(semantic.Name) bool
}

// Build plans a question as one subject may ask it. It never changes its
// arguments. Codes: metric.*, request.malformed, resolve.use,
// policy.required_filter, unsupported.question; all mistakes at once.
func Build(view resolve.View, catalog *semantic.Catalog, q Question, opts Options) (*Plan, error) {
	b := &builder{scope: newScope(view, catalog, opts.Expressions), q: q, opts: opts, plan: &Plan{},
		values: map[*semantic.Metric]Value{}, filtered: map[*Table][]filteredBy{}, ranges: map[string]*interval{}}
	b.metrics()
	if len(b.legs) > 0 && b.failure == nil {
		b.dimensions()
		b.filters()
		b.timeRanges()
		b.modelFilters()
		b.joins()
		b.keptRows()
		b.order()
	}
	b.limit()
	if b.failure != nil {
		return nil, b.failure
	}
	if err := b.errs.Err(); err != nil {
		return nil, err
	}
	if err := b.allPlaced(); err != nil {
		return nil, err
	}
	return b.plan, nil
}

// builder builds one plan.
type builder struct {
	*scope
	q    Question
	opts Options
	plan *Plan
	errs diag.List

	legs     []leg
	values   map[*semantic.Metric]Value
	asked    []*semantic.Metric // beside plan.Metrics
	spelled  []DimensionRef     // beside plan.Keys
	tables   int
	filtered map[*Table][]filteredBy
	refused  []refusedFilter
	ranges   map[string]*interval // what the caller's filters leave of each operand
	placed   int                  // caller's conditions that stand in the plan
	expected int                  // and how many should
}

// refuse collects a mistake once, however many legs it shows in.
func (b *builder) refuse(e *diag.Error) {
	text := e.Error()
	if !slices.ContainsFunc(b.errs, func(o *diag.Error) bool { return o.Error() == text }) {
		b.errs = append(b.errs, e)
	}
}

func (b *builder) metrics() {
	if len(b.q.Metrics) == 0 {
		b.refuse(diag.New(diag.MetricEmpty, "a question asks for at least one metric").WithHint("list_metrics lists them"))
	}
	for _, name := range b.q.Metrics {
		if name == "" {
			b.refuse(unnamed("metrics", "the names of metrics"))
			continue
		}
		m := b.metric(semantic.Name(name))
		if m == nil {
			b.refuse(b.unknownMetric(name))
			continue
		}
		if slices.Contains(b.asked, m) {
			b.refuse(diag.New(diag.RequestMalformed, "metric %q is asked for twice", name))
			continue
		}
		b.asked = append(b.asked, m)
		out := Metric{Label: string(m.Name), Value: b.value(m, string(m.Name)), Unit: m.Unit, Format: m.Format, Type: "double"}
		if leaf, ok := out.Value.(*Leaf); ok {
			out.Type = leaf.Type
			measure := b.entity(m.Entity).Entity.Measure(m.Measure)
			out.Unit, out.Format = or(m.Unit, measure.Unit), or(m.Format, measure.Format)
		}
		b.plan.Metrics = append(b.plan.Metrics, out)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// value resolves a metric to leaf aggregates. metric has checked that all of it is there.
func (b *builder) value(m *semantic.Metric, asked string) Value {
	if v, ok := b.values[m]; ok {
		return v
	}
	var v Value
	if m.Kind == semantic.RatioMetric {
		v = &Ratio{Num: b.value(b.catalog.Metric(m.Numerator), asked), Den: b.value(b.catalog.Metric(m.Denominator), asked)}
	} else {
		v = b.leaf(m, asked)
	}
	b.values[m] = v
	return v
}

func (b *builder) order() {
	var terms []OrderTerm
	for _, o := range b.q.Order {
		if o.By == "" {
			b.refuse(unnamed("order", `{"by": ..., "desc": true}`))
			continue
		}
		i, ok := b.column(o.By)
		if !ok {
			b.refuse(diag.New(diag.MetricOrder, "an answer is ordered by what it contains, and %q is not in it", o.By).
				Suggest(semantic.Nearest(o.By, b.labels())...).WithHint("order by one of %s", listed(b.labels())))
			continue
		}
		if slices.ContainsFunc(terms, func(t OrderTerm) bool { return t.Column == i }) {
			b.refuse(diag.New(diag.MetricOrder, "%q is ordered by twice", o.By))
			continue
		}
		terms = append(terms, OrderTerm{Column: i, Desc: o.Desc})
	}
	for i := range b.plan.Keys {
		if !slices.ContainsFunc(terms, func(t OrderTerm) bool { return t.Column == i }) {
			terms = append(terms, OrderTerm{Column: i})
		}
	}
	for i := range terms {
		terms[i].Finite = b.diverges(terms[i].Column)
	}
	b.plan.Order = terms
}

func (b *builder) valueDiverges(v Value) bool {
	switch v := v.(type) {
	case *Ratio:
		return b.valueDiverges(v.Num) || b.valueDiverges(v.Den)
	case *Leaf:
		return v.diverges()
	}
	return false
}

// diverges reports that a column of the answer may hold NaN or infinities.
func (b *builder) diverges(column int) bool {
	if column < len(b.plan.Keys) {
		return floating(b.plan.Keys[column].Type)
	}
	return b.valueDiverges(b.plan.Metrics[column-len(b.plan.Keys)].Value)
}

func floating(t semantic.Type) bool { return t == "float" || t == "double" }

func (b *builder) labels() []string {
	var out []string
	for _, k := range b.plan.Keys {
		out = append(out, k.Label)
	}
	for _, m := range b.plan.Metrics {
		out = append(out, m.Label)
	}
	return out
}

// column finds a column of the answer by its label, or a key by the name it was asked under.
func (b *builder) column(by string) (int, bool) {
	same := func(a, c string) bool { return semantic.Name(a).Key() == semantic.Name(c).Key() }
	for i, label := range b.labels() {
		if same(label, by) {
			return i, true
		}
	}
	found := -1
	for i, ref := range b.spelled {
		if same(ref.Name, by) {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	return found, found >= 0
}

func (b *builder) limit() {
	switch n := b.q.Limit; {
	case n == nil && b.opts.DefaultLimit > 0:
		b.plan.Limit, b.plan.LimitSource = min(b.opts.DefaultLimit, maxLimit), "default"
	case n == nil:
	case *n < 1 || *n > maxLimit:
		b.refuse(diag.New(diag.RequestMalformed, "limit is a number of rows from 1 to %d", maxLimit).WithHint("leave it out for the server's own limit"))
	default:
		b.plan.Limit, b.plan.LimitSource = *n, "question"
	}
}

// condition numbers a condition of the plan.
func (b *builder) condition(c Condition) Condition {
	b.plan.Conditions++
	c.ID = b.plan.Conditions
	return c
}

// allPlaced checks that no filter of the question got lost on the way.
func (b *builder) allPlaced() error {
	if b.placed != b.expected {
		return diag.New(diag.BugInternal, "the plan holds %d conditions of the question in place of %d", b.placed, b.expected)
	}
	return nil
}
