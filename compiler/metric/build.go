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
	// Now is the moment of the question, which relative time ranges count from. It
	// is an input so that no plan ever reads a clock.
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
	p := &planner{scope: newScope(view, catalog, opts.Expressions), opts: opts, plan: &Plan{}}
	p.q = p.settle(q)
	b := p.frame(p.q)
	b.metrics()
	if len(b.legs) > 0 && p.failure == nil {
		b.place()
		p.plan.Keys = b.frame.Keys
		b.label()
		b.order()
	}
	p.limit()
	if p.failure != nil {
		return nil, p.failure
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	if err := p.allPlaced(); err != nil {
		return nil, err
	}
	return p.plan, nil
}

// planner plans one question; each of its frames has a builder.
type planner struct {
	*scope
	q    Question
	opts Options
	plan *Plan
	errs diag.List

	asked    []*semantic.Metric // beside plan.Metrics
	tables   int
	placed   int // caller's conditions that stand in the plan
	expected int // and how many should
}

// builder builds one frame.
type builder struct {
	*planner
	q     Question // as this frame asks it
	frame *Frame

	legs     []leg
	values   map[*semantic.Metric]Value
	spelled  []DimensionRef // beside frame.Keys
	filtered map[*Table][]filteredBy
	refused  []refusedFilter
	ranges   map[string]*interval // what the caller's filters leave of each operand
}

// frame begins a frame that asks q.
func (p *planner) frame(q Question) *builder {
	b := &builder{planner: p, q: q, frame: &Frame{}, values: map[*semantic.Metric]Value{},
		filtered: map[*Table][]filteredBy{}, ranges: map[string]*interval{}}
	p.plan.Frames = append(p.plan.Frames, b.frame)
	return b
}

// main reports that the frame gives the rows of the answer.
func (b *builder) main() bool { return b.frame == b.plan.Frames[0] }

// place puts the frame's keys and filters into each of its legs.
func (b *builder) place() {
	b.dimensions()
	b.filters()
	b.timeRanges()
	b.modelFilters()
	b.joins()
	b.keptRows()
}

// refuse collects a mistake once, however many legs it shows in.
func (p *planner) refuse(e *diag.Error) {
	text := e.Error()
	if !slices.ContainsFunc(p.errs, func(o *diag.Error) bool { return o.Error() == text }) {
		p.errs = append(p.errs, e)
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

func (p *planner) limit() {
	switch n := p.q.Limit; {
	case n == nil && p.opts.DefaultLimit > 0:
		p.plan.Limit, p.plan.LimitSource = min(p.opts.DefaultLimit, maxLimit), "default"
	case n == nil:
	case *n < 1 || *n > maxLimit:
		p.refuse(diag.New(diag.RequestMalformed, "limit is a number of rows from 1 to %d", maxLimit).WithHint("leave it out for the server's own limit"))
	default:
		p.plan.Limit, p.plan.LimitSource = *n, "question"
	}
}

// condition numbers a condition of the plan.
func (p *planner) condition(c Condition) Condition {
	p.plan.Conditions++
	c.ID = p.plan.Conditions
	return c
}

// allPlaced checks that no filter of the question got lost on the way.
func (p *planner) allPlaced() error {
	if p.placed != p.expected {
		return diag.New(diag.BugInternal, "the plan holds %d conditions of the question in place of %d", p.placed, p.expected)
	}
	return nil
}
