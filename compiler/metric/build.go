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
	if err := sized(q); err != nil {
		return nil, err
	}
	p := &planner{scope: newScope(view, catalog, opts.Expressions), opts: opts, plan: &Plan{},
		frames: map[string]*builder{}, lookups: map[string]*lookup{}, spanned: map[string]*builder{}}
	p.q = p.settle(q)
	p.q.Filters = flat(p.q.Filters)
	p.parameters()
	p.rows = p.frame(p.q)
	if q.Rows != "" {
		p.list()
	} else {
		p.ask()
	}
	p.limit()
	if len(p.errs) == 0 {
		p.unread()
	}
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

// ask plans a question for metrics: first what they are made of, which brings in
// the frames and their facts, then the keys and filters of each frame.
func (p *planner) ask() {
	p.form()
	p.drill()
	p.metrics()
	if len(p.rows.legs) == 0 || p.failure != nil {
		return
	}
	p.gaps()
	p.top()
	p.extents()
	for _, level := range p.levels() {
		p.rows.level(level)
	}
	for _, b := range p.builders {
		b.place()
	}
	if p.failure != nil {
		return
	}
	p.plan.Keys = slices.Clone(p.rows.frame.Keys)
	p.rows.label()
	if len(p.errs) == 0 {
		p.finish()
	}
	p.rows.order()
	if p.plan.Levels != nil && len(p.plan.Having) > 0 {
		p.plan.Warnings = append(p.plan.Warnings, "totals are over all groups, also those that a filter on a metric leaves out")
	}
}

// finish fills in what depends on all frames being there.
func (p *planner) finish() {
	if levels := p.levels(); len(levels) > 1 {
		p.plan.Levels, p.plan.RolledUp = levels, p.free("rolled_up")
	}
	for _, f := range p.plan.Frames {
		if len(f.Levels) == 1 && len(f.Levels[0]) == len(f.Keys) {
			f.Levels = nil
		}
	}
	p.repeated()
	if t := p.plan.Kept; t != nil && t.Other >= 0 {
		p.plan.Keys = append(p.plan.Keys, Key{Label: p.free("is_other"), Type: "boolean", Other: true})
	}
	if s := p.plan.Spine; s != nil {
		for _, source := range p.plan.Sources {
			if source.Run != nil {
				s.Sources = append(s.Sources, source)
			}
		}
	}
}

// free is a label that no column of the answer has.
func (p *planner) free(label string) string {
	for slices.ContainsFunc(p.labels(), func(l string) bool { return fold(l) == fold(label) }) {
		label += "_"
	}
	return label
}

// form checks the parts of a question that are one of a few words.
func (p *planner) form() {
	if t := p.q.Totals; t != "" && t != "total" && t != "subtotals" {
		p.refuse(diag.New(diag.RequestMalformed, "totals is total or subtotals, and %q is neither", t))
		p.q.Totals = ""
	}
	if p.q.Totals != "" && p.q.FillGaps {
		p.refuse(diag.New(diag.UnsupportedAsk, "totals and fill_gaps do not go together").WithHint("ask for the totals apart"))
	}
	if p.q.Totals != "" && len(p.q.Dimensions) == 0 {
		p.refuse(diag.New(diag.RequestMalformed, "totals are over the groups of dimensions, and the question has none").WithHint("leave totals out: the answer is the total"))
	}
	if p.q.Offset < 0 || p.q.Offset > maxLimit {
		p.refuse(diag.New(diag.RequestMalformed, "offset is a number of rows from 0 to %d", maxLimit))
	}
	p.plan.Offset = p.q.Offset
}

// planner plans one question; each of its frames has a builder.
type planner struct {
	*scope
	q    Question
	opts Options
	plan *Plan
	errs diag.List

	rows     *builder            // of the frame that gives the rows of the answer
	builders []*builder          // beside plan.Frames
	frames   map[string]*builder // by what sets them apart from rows
	lookups  map[string]*lookup  // by context
	sources  []*lookup           // beside plan.Sources
	spanned  map[string]*builder // of the days of each fact, by its name
	asked    []*semantic.Metric  // beside plan.Metrics
	asking   string              // the asked metric whose parts are planned, for messages
	values   map[string]string   // literals of the parameters that are given, by key

	readParameters map[string]bool // parameters that something reads, by key
	tables         int
	placed         int // caller's conditions that stand in the plan
	expected       int // and how many should
}

// builder builds one frame.
type builder struct {
	*planner
	q     Question // as this frame asks it
	frame *Frame

	legs     []leg
	sides    []leg          // of conversions: rows that are looked up before the question's filters
	spelled  []DimensionRef // beside frame.Keys
	filtered map[*Table][]filteredBy
	refused  []refusedFilter
	later    []func()             // filters on metrics, to be placed when their types are known
	lifted   bool                 // the caller's filters on dimensions are left out
	ranges   map[string]*interval // what the caller's filters leave of each operand
}

// frame begins a frame that asks q.
func (p *planner) frame(q Question) *builder {
	b := &builder{planner: p, q: q, frame: &Frame{Number: len(p.builders) + 1},
		filtered: map[*Table][]filteredBy{}, ranges: map[string]*interval{}}
	p.plan.Frames = append(p.plan.Frames, b.frame)
	p.builders = append(p.builders, b)
	return b
}

// main reports that the frame gives the rows of the answer.
func (b *builder) main() bool { return b.frame == b.plan.Frames[0] }

// place puts the frame's keys and filters into each of its legs.
func (b *builder) place() {
	b.dimensions()
	b.filters()
	b.segments()
	b.timeRanges()
	b.allocate()
	b.metricFilters()
	if b.lifted {
		b.overriding()
	}
	b.modelFilters()
	b.joins()
	b.keptRows()
}

// refuse collects a mistake once, however many legs it shows in.
func (p *planner) refuse(e *diag.Error) {
	if len(p.errs) >= maxMistakes {
		return
	}
	text := e.Error()
	if !slices.ContainsFunc(p.errs, func(o *diag.Error) bool { return o.Error() == text }) {
		p.errs = append(p.errs, e)
	}
}

// maxMistakes bounds what is told of one question; it is refused all the same.
const maxMistakes = 20

// maxParts bounds each list of a question, filters within filters included. No
// answer of use has more, and each part costs work before anything runs.
const maxParts = 200

// sized refuses a question that has more parts than an answer could show.
func sized(q Question) *diag.Error {
	filters := 0
	var count func(list []Filter, depth int) bool
	count = func(list []Filter, depth int) bool {
		filters += len(list)
		return depth > 20 || filters > maxParts || slices.ContainsFunc(list, func(f Filter) bool {
			return len(f.Values) > maxValues || count(f.Any, depth+1) || count(f.All, depth+1)
		})
	}
	for part, n := range map[string]int{"metrics": len(q.Metrics), "dimensions": len(q.Dimensions), "segments": len(q.Segments),
		"time": len(q.Time), "order": len(q.Order), "parameters": len(q.Parameters)} {
		if n > maxParts {
			return diag.New(diag.RequestMalformed, "%s holds more than %d entries", part, maxParts).WithHint("ask in several questions")
		}
	}
	if count(q.Filters, 0) {
		return diag.New(diag.RequestMalformed, "filters hold more than %d comparisons, %d values in one, or stand too deep in each other", maxParts, maxValues).
			WithHint("use in with a list of values, or ask in several questions")
	}
	return nil
}

// maxValues bounds the values of one filter, as the engine bounds a list.
const maxValues = 1000

func (p *planner) metrics() {
	if len(p.q.Metrics) == 0 {
		p.refuse(diag.New(diag.MetricEmpty, "a question asks for at least one metric").WithHint("list_metrics lists them"))
	}
	for _, name := range p.q.Metrics {
		if name == "" {
			p.refuse(unnamed("metrics", "the names of metrics"))
			continue
		}
		m := p.metric(semantic.Name(name))
		if m == nil {
			p.refuse(p.unknownMetric(name))
			continue
		}
		if slices.Contains(p.asked, m) {
			p.refuse(diag.New(diag.RequestMalformed, "metric %q is asked for twice", name))
			continue
		}
		p.asked, p.asking = append(p.asked, m), string(m.Name)
		p.plan.Metrics = append(p.plan.Metrics, p.column(m))
	}
}

// column is a metric as a column of the answer.
func (p *planner) column(m *semantic.Metric) Metric {
	out := Metric{Label: string(m.Name), Value: p.value(m, context{}), Unit: m.Unit, Format: m.Format, Of: m, Additive: p.additive(m)}
	out.Type = typeOf(out.Value)
	if m.Kind == semantic.SimpleMetric {
		measure := p.measure(m)
		out.Unit, out.Format = or(m.Unit, measure.Unit), or(m.Format, measure.Format)
	}
	return out
}

// typeOf is the type of a value; "" is a number of a type that only the engine knows.
func typeOf(v Value) semantic.Type {
	switch v := v.(type) {
	case *Leaf:
		return v.Type
	case *Cell:
		return v.Leaf.Type
	case *Ratio:
		return "double"
	case *Ranked:
		return "bigint"
	case *ToDate:
		return typeOf(v.Whole)
	}
	return ""
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// measured is a measure's leaf in a frame, one for all that ask for the same.
func (b *builder) measured(m *semantic.Metric, c context) Value {
	if m.Kind == semantic.ConversionMetric {
		return b.conversion(m, c.where)
	}
	return b.leaf(m, b.measure(m), c.where)
}

// parts is a measure made of leaves that add up: an average of its sum and count.
func (b *builder) parts(m *semantic.Metric, c context) Value {
	measure := b.measure(m)
	if measure.Agg != semantic.Avg {
		return b.measured(m, c)
	}
	sum, count := *measure, *measure
	sum.Agg, count.Agg = semantic.Sum, semantic.Count
	return &Ratio{Num: b.leaf(m, &sum, c.where), Den: b.leaf(m, &count, c.where)}
}

func (b *builder) order() {
	var terms []OrderTerm
	for _, o := range b.q.Order {
		if o.By == "" {
			b.refuse(unnamed("order", `{"by": ..., "desc": true}`))
			continue
		}
		i, ok := b.columnOf(o.By)
		if !ok {
			b.refuse(diag.New(diag.MetricOrder, "an answer is ordered by what it contains, and %q is not in it", o.By).
				Suggest(semantic.Nearest(o.By, b.labels())...).WithHint("order by one of %s", listed(b.labels())))
			continue
		}
		if slices.ContainsFunc(terms, func(t OrderTerm) bool { return t.Column == i && t.Hidden == nil }) {
			b.refuse(diag.New(diag.MetricOrder, "%q is ordered by twice", o.By))
			continue
		}
		terms = append(terms, OrderTerm{Column: i, Desc: o.Desc})
	}
	if b.plan.Ungrouped {
		terms = append(terms, b.byKey()...)
	}
	for i := range b.plan.Keys {
		if b.plan.Ungrouped && b.masked(b.frame.Legs[0].Keys[i]) {
			continue // a mask may be shown, and nothing else
		}
		if !slices.ContainsFunc(terms, func(t OrderTerm) bool { return t.Column == i && t.Hidden == nil }) {
			terms = append(terms, OrderTerm{Column: i})
		}
	}
	for i := range terms {
		if terms[i].Hidden != nil {
			continue
		}
		terms[i].Finite = b.diverges(terms[i].Column)
		if k := terms[i].Column; k < len(b.plan.Keys) {
			terms[i].Collation = b.plan.Keys[k].Collation
		}
	}
	b.plan.Order = terms
}

// Diverges reports that a value may be NaN or infinite.
func Diverges(v Value) bool {
	switch v := v.(type) {
	case *Ratio:
		return Diverges(v.Num) || Diverges(v.Den)
	case *Leaf:
		return v.diverges()
	case *Cell:
		return v.Leaf.diverges()
	case *Apply:
		return slices.ContainsFunc(v.Args, Diverges)
	case *ToDate:
		return Diverges(v.Whole)
	}
	return false
}

// diverges reports that a column of the answer may hold NaN or infinities.
func (b *builder) diverges(column int) bool {
	if column < len(b.frame.Keys) && b.frame.Legs[0].Keys[column].Bins != nil {
		return false // what is not finite lies in no group
	}
	if column < len(b.plan.Keys) {
		return floating(b.plan.Keys[column].Type)
	}
	return Diverges(b.plan.Metrics[column-len(b.plan.Keys)].Value)
}

func floating(t semantic.Type) bool { return t == "float" || t == "double" }

func (p *planner) labels() []string {
	var out []string
	for _, k := range p.plan.Keys {
		out = append(out, k.Label)
	}
	for _, m := range p.plan.Metrics {
		out = append(out, m.Label)
	}
	return out
}

// column finds a column of the answer by its label, or a key by the name it was asked under.
func (b *builder) columnOf(by string) (int, bool) {
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
