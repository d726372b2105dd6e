package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// scope is the catalog as one subject sees it, for one question. It remembers
// what it looked up, and the first failure of the view, which fails the question.
type scope struct {
	view     resolve.View
	catalog  *semantic.Catalog
	exprs    *resolve.Expressions
	settings semantic.TimeSettings // the model's, or the question's own
	entities map[string]*resolve.Visible
	closed   map[string]string // entities that a mask closes, and the masked field
	paths    map[string][]path
	failure  error
}

func newScope(view resolve.View, catalog *semantic.Catalog, exprs *resolve.Expressions) *scope {
	return &scope{view: view, catalog: catalog, exprs: exprs, settings: catalog.Time, entities: map[string]*resolve.Visible{}, closed: map[string]string{}, paths: map[string][]path{}}
}

func (s *scope) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
}

// entity gives a visible entity that can be asked, nil otherwise: its own fixed
// and default filters read only what the subject has unmasked, and the subject
// may filter by what it requires.
func (s *scope) entity(n semantic.Name) *resolve.Visible {
	if vis, ok := s.entities[n.Key()]; ok {
		return vis
	}
	vis, err := s.view.Entity(n)
	if err != nil {
		s.fail(err)
		vis = nil
	}
	if vis != nil && slices.ContainsFunc(vis.Entity.Filters, func(f *semantic.Filter) bool {
		if f.Kind == semantic.RequiredFilter {
			return vis.Fields[f.Field.Key()] < semantic.FilterOnly
		}
		return !s.readable(vis, f.Expr)
	}) {
		vis = nil
	}
	if vis != nil {
		if masked := s.filterMask(vis); masked != "" {
			s.closed[n.Key()] = naming(vis, masked)
			vis = nil
		}
	}
	s.entities[n.Key()] = vis
	return vis
}

// filterMask names a masked field that keeps an entity's own filters from their
// meaning, "" when there is none.
func (s *scope) filterMask(vis *resolve.Visible) semantic.Name {
	for _, f := range vis.Entity.Filters {
		if f.Kind == semantic.RequiredFilter && vis.SelectOnly[f.Field.Key()] {
			return f.Field
		}
		if masked := s.maskedIn(vis, f.Expr); masked != "" {
			return masked
		}
	}
	return ""
}

// closedBy names the masked field that closes an entity of a metric; "" when none does.
func (s *scope) closedBy(m *semantic.Metric, above ...*semantic.Metric) string {
	if m == nil || slices.Contains(above, m) {
		return ""
	}
	if m.Kind != semantic.SimpleMetric {
		above = append(above, m)
		for _, part := range m.Parts() {
			if closed := s.closedBy(s.catalog.Metric(part), above...); closed != "" {
				return closed
			}
		}
		return ""
	}
	s.entity(m.Entity)
	return s.closed[m.Entity.Key()]
}

// columns gives the column references of a model expression.
func (s *scope) columns(e *semantic.Entity, expr string) []resolve.Place {
	places := s.references(e, expr)
	isParameter := func(p resolve.Place) bool { return p.Parameter != "" }
	if !slices.ContainsFunc(places, isParameter) {
		return places
	}
	return slices.DeleteFunc(slices.Clone(places), isParameter)
}

// references gives the column references and parameters of a model expression.
func (s *scope) references(e *semantic.Entity, expr string) []resolve.Place {
	places, err := s.exprs.Columns(e.Name, expr)
	if err != nil {
		s.fail(err)
	}
	return places
}

// readable reports whether every field that an expression reads is there.
func (s *scope) readable(vis *resolve.Visible, expr string) bool {
	if expr == "" {
		return true
	}
	for _, p := range s.columns(vis.Entity, expr) {
		if !present(vis, p.Column) {
			return false
		}
	}
	return true
}

func present(vis *resolve.Visible, field semantic.Name) bool {
	_, ok := vis.Fields[field.Key()]
	return ok
}

// maskedIn names a masked field that an expression reads, "" when it reads none.
// A number made from masks looks like any other number and is wrong.
func (s *scope) maskedIn(vis *resolve.Visible, expr string) semantic.Name {
	if expr == "" {
		return ""
	}
	for _, p := range s.columns(vis.Entity, expr) {
		if vis.Masked[p.Column.Key()] {
			return p.Column
		}
	}
	return ""
}

// naming names a field for a refusal. What callers may use in no clause is not named.
func naming(vis *resolve.Visible, field semantic.Name) string {
	if vis.Fields[field.Key()] == semantic.Private {
		return "a field of " + string(vis.Entity.Name)
	}
	return string(vis.Entity.Name) + "." + string(field)
}

// maskOf names the masked field that keeps a metric from its true number; ""
// when there is none. A count of rows reads no field.
func (s *scope) maskOf(m *semantic.Metric) string {
	if m.Kind != semantic.SimpleMetric {
		for _, part := range m.Parts() {
			if masked := s.maskOf(s.catalog.Metric(part)); masked != "" {
				return masked
			}
		}
		return or(s.conversionMask(m), s.whereMask(m))
	}
	vis := s.entity(m.Entity)
	measure := vis.Entity.Measure(m.Measure)
	masked := semantic.Name("")
	for _, f := range measureFields(vis.Entity, measure) {
		if masked == "" && vis.Masked[f.Key()] {
			masked = f
		}
	}
	for _, expr := range []string{measure.Expr, measure.Filter, m.Filter} {
		if masked == "" {
			masked = s.maskedIn(vis, expr)
		}
	}
	if masked == "" {
		return s.whereMask(m)
	}
	return naming(vis, masked)
}

// metric gives a metric whose measures read only fields the subject has, none of
// them masked; nil otherwise.
func (s *scope) metric(n semantic.Name) *semantic.Metric {
	m := s.catalog.Metric(n)
	if m == nil || !s.answerable(m, nil) || s.maskOf(m) != "" {
		return nil
	}
	return m
}

// unknownMetric says why there is no such metric for the subject.
func (s *scope) unknownMetric(name string) *diag.Error {
	m := s.catalog.Metric(semantic.Name(name))
	if masked := s.closedBy(m); masked != "" {
		return diag.New(diag.PolicyColumn, "metric %q is filtered by %s, which is masked for you, so its number would be wrong", name, masked).
			WithHint("list_metrics lists what you may ask")
	}
	if m != nil && s.answerable(m, nil) {
		return diag.New(diag.PolicyColumn, "metric %q reads %s, which is masked for you, so its number would be wrong", name, s.maskOf(m)).
			WithHint("list_metrics lists what you may ask")
	}
	near := s.metricsKnownAs(name)
	if len(near) == 0 {
		near = semantic.Nearest(name, s.metricNames())
	}
	return diag.New(diag.MetricUnknown, "no metric %q", name).Suggest(near...).
		WithHint("list_metrics lists the metrics")
}

func (s *scope) answerable(m *semantic.Metric, above []*semantic.Metric) bool {
	if slices.Contains(above, m) {
		s.fail(diag.New(diag.ModelCycle, "metric %q is computed from itself", m.Name).At(m.Pos))
		return false
	}
	if !supported(m) {
		s.fail(diag.New(diag.UnsupportedAsk, "metric %q has a form that is not supported", m.Name).At(m.Pos))
		return false
	}
	if m.Kind != semantic.SimpleMetric {
		above = append(above, m)
		for _, part := range m.Parts() {
			p := s.catalog.Metric(part)
			if p == nil || !s.answerable(p, above) {
				return false
			}
		}
		return s.converts(m) && s.whereStands(m)
	}
	vis := s.entity(m.Entity)
	if vis == nil {
		return false
	}
	measure := vis.Entity.Measure(m.Measure)
	if measure == nil || !understood(vis.Entity, measure) {
		if measure != nil {
			s.fail(diag.New(diag.UnsupportedAsk, "measure %q of %q has a form that is not supported", measure.Name, vis.Entity.Name).At(measure.Pos))
		}
		return false
	}
	return !slices.ContainsFunc(measureFields(vis.Entity, measure), func(f semantic.Name) bool { return !present(vis, f) }) &&
		s.readable(vis, measure.Expr) && s.readable(vis, measure.Filter) && s.readable(vis, m.Filter) && s.whereStands(m)
}

// supported reports whether all of a metric is understood: a part that is not
// would be left out in silence.
func supported(m *semantic.Metric) bool {
	set := map[semantic.MetricKind]bool{
		semantic.SimpleMetric:     m.Measure != "",
		semantic.RatioMetric:      m.Numerator != "" || m.Denominator != "",
		semantic.DerivedMetric:    m.Expr != "",
		semantic.CumulativeMetric: m.Cumulative != nil,
		semantic.CompareMetric:    m.Compare != nil,
		semantic.ShareMetric:      m.Share != nil,
		semantic.RankMetric:       m.Rank != nil,
		semantic.ConversionMetric: m.Conversion != nil,
	}
	for kind, is := range set {
		if is != (kind == m.Kind) {
			return false
		}
	}
	return m.Filter == "" || m.Kind == semantic.SimpleMetric
}

// facts gives the entities whose rows a metric aggregates, each once.
func (s *scope) facts(m *semantic.Metric) []*resolve.Visible {
	if m.Kind == semantic.SimpleMetric {
		return []*resolve.Visible{s.entity(m.Entity)}
	}
	parts := m.Parts()
	if m.Kind == semantic.ConversionMetric {
		parts = parts[:1] // its rows are those of the base
	}
	var out []*resolve.Visible
	for _, part := range parts {
		for _, vis := range s.facts(s.catalog.Metric(part)) {
			if !slices.Contains(out, vis) {
				out = append(out, vis)
			}
		}
	}
	return out
}

// class gives how a caller may use a dimension. Dimensions that can be neither
// grouped nor filtered do not exist for callers, and neither do those that a mask closes.
func (s *scope) class(vis *resolve.Visible, d *semantic.Dimension) (semantic.Visibility, bool) {
	out := d.Visibility
	if d.Of != nil {
		return out, out >= semantic.FilterOnly && s.rolledUp(vis, d.Of)
	}
	if s.maskCloses(vis, d) != "" {
		return 0, false
	}
	for _, f := range s.reads(vis.Entity, d) {
		c, ok := vis.Fields[f.Key()]
		if !ok {
			return 0, false
		}
		out = min(out, c)
	}
	return out, out >= semantic.FilterOnly
}

// maskCloses names the field whose mask closes a dimension: a mask that may only
// be selected, or any mask below an expression, which would compute from it.
func (s *scope) maskCloses(vis *resolve.Visible, d *semantic.Dimension) semantic.Name {
	if d.Expr != "" {
		return s.maskedIn(vis, d.Expr)
	}
	if vis.SelectOnly[d.Field.Key()] {
		return d.Field
	}
	return ""
}

// reads gives the fields that a dimension reads.
func (s *scope) reads(e *semantic.Entity, d *semantic.Dimension) []semantic.Name {
	if d.Field != "" {
		return []semantic.Name{d.Field}
	}
	if d.Of != nil {
		return nil // nothing of the entity's own
	}
	var out []semantic.Name
	for _, p := range s.columns(e, d.Expr) {
		out = append(out, p.Column)
	}
	return out
}

// dimension gives a dimension that a caller may at least filter by; nil otherwise.
func (s *scope) dimension(vis *resolve.Visible, n semantic.Name) *semantic.Dimension {
	d := vis.Entity.Dimension(n)
	if d == nil {
		return nil
	}
	if _, ok := s.class(vis, d); !ok {
		return nil
	}
	return d
}

// metricsKnownAs lists what the subject may ask for that has a name as its synonym.
func (s *scope) metricsKnownAs(name string) []string {
	var out []string
	for _, m := range s.catalog.Metrics {
		if known(s.synonyms(m), name) && s.metric(m.Name) != nil {
			out = append(out, string(m.Name))
		}
	}
	return out
}

// synonyms are a metric's own and those of its measure.
func (s *scope) synonyms(m *semantic.Metric) []string {
	out := m.Synonyms
	if e := s.catalog.Entity(m.Entity); e != nil {
		if measure := e.Measure(m.Measure); measure != nil {
			out = slices.Concat(out, measure.Synonyms)
		}
	}
	return out
}

// metricNames lists what the subject may ask for. It looks at the whole catalog:
// for errors and listings only.
func (s *scope) metricNames() []string {
	var out []string
	for _, m := range s.catalog.Metrics {
		if s.answerable(m, nil) && s.maskOf(m) == "" {
			out = append(out, string(m.Name))
		}
	}
	return out
}
