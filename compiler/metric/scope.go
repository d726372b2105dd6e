package metric

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

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
	entities map[string]*resolve.Visible
	paths    map[string][]path
	failure  error
}

func newScope(view resolve.View, catalog *semantic.Catalog, exprs *resolve.Expressions) *scope {
	return &scope{view: view, catalog: catalog, exprs: exprs, entities: map[string]*resolve.Visible{}, paths: map[string][]path{}}
}

func (s *scope) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
}

// entity gives a visible entity that can be asked, nil otherwise: its own fixed
// and default filters read only what the subject has, and the subject may filter
// by what it requires.
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
	s.entities[n.Key()] = vis
	return vis
}

// columns gives the column references of a model expression.
func (s *scope) columns(e *semantic.Entity, expr string) []resolve.Place {
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

// metric gives a metric whose measures read only fields the subject has; nil otherwise.
func (s *scope) metric(n semantic.Name) *semantic.Metric {
	m := s.catalog.Metric(n)
	if m == nil || !s.answerable(m, nil) {
		return nil
	}
	return m
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
	if m.Kind == semantic.RatioMetric {
		above = append(above, m)
		for _, part := range []semantic.Name{m.Numerator, m.Denominator} {
			p := s.catalog.Metric(part)
			if p == nil || !s.answerable(p, above) {
				return false
			}
		}
		return true
	}
	vis := s.entity(m.Entity)
	if vis == nil {
		return false
	}
	measure := vis.Entity.Measure(m.Measure)
	return measure != nil && aggregates[measure.Agg] && (measure.Field == "" || present(vis, measure.Field)) &&
		s.readable(vis, measure.Expr) && s.readable(vis, measure.Filter) && s.readable(vis, m.Filter)
}

// supported reports whether all of a metric is understood: a part that is not
// would be left out in silence.
func supported(m *semantic.Metric) bool {
	switch m.Kind {
	case semantic.SimpleMetric:
		return m.Numerator == "" && m.Denominator == ""
	case semantic.RatioMetric:
		return m.Filter == "" && m.Measure == ""
	}
	return false
}

var aggregates = map[semantic.Agg]bool{semantic.Sum: true, semantic.Count: true, semantic.CountDistinct: true,
	semantic.Avg: true, semantic.Min: true, semantic.Max: true}

// facts gives the entities whose rows a metric aggregates, each once.
func (s *scope) facts(m *semantic.Metric) []*resolve.Visible {
	if m.Kind != semantic.RatioMetric {
		return []*resolve.Visible{s.entity(m.Entity)}
	}
	out := s.facts(s.catalog.Metric(m.Numerator))
	for _, vis := range s.facts(s.catalog.Metric(m.Denominator)) {
		if !slices.Contains(out, vis) {
			out = append(out, vis)
		}
	}
	return out
}

// class gives how a caller may use a dimension. Dimensions that can be neither
// grouped nor filtered do not exist for callers.
func (s *scope) class(vis *resolve.Visible, d *semantic.Dimension) (semantic.Visibility, bool) {
	out := d.Visibility
	for _, f := range s.reads(vis.Entity, d) {
		c, ok := vis.Fields[f.Key()]
		if !ok {
			return 0, false
		}
		out = min(out, c)
	}
	return out, out >= semantic.FilterOnly
}

// reads gives the fields that a dimension reads.
func (s *scope) reads(e *semantic.Entity, d *semantic.Dimension) []semantic.Name {
	if d.Field != "" {
		return []semantic.Name{d.Field}
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

// nearest gives up to three names that a misspelt one may have meant.
func nearest(name string, among []string) []string {
	name = strings.ToLower(name)
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, n := range among {
		d := levenshtein.ComputeDistance(name, strings.ToLower(n))
		if d <= max(2, len(name)/3) {
			found = append(found, near{n, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name)) })
	var out []string
	for _, f := range found[:min(3, len(found))] {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// metricNames lists what the subject may ask for. It looks at the whole catalog:
// for errors and listings only.
func (s *scope) metricNames() []string {
	var out []string
	for _, m := range s.catalog.Metrics {
		if s.answerable(m, nil) {
			out = append(out, string(m.Name))
		}
	}
	return out
}
