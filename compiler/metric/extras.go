package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// ListedHierarchy is a hierarchy that goes with a metric: its name, and its levels
// from coarse to fine.
type ListedHierarchy struct {
	Name   string
	Levels []string
}

// extras are what else goes with the facts of a metric: named conditions and
// hierarchies of the entities that every fact reaches, each by one way.
func (s *scope) extras(facts []*resolve.Visible) (segments []string, hierarchies []ListedHierarchy) {
	for _, p := range s.reach(facts[0]) {
		if slices.ContainsFunc(facts, func(f *resolve.Visible) bool { return s.ways(f, p.to) != 1 }) {
			continue
		}
		for _, seg := range p.to.Entity.Segments {
			if s.choosable(p.to, seg) {
				segments = append(segments, string(p.to.Entity.Name)+"."+string(seg.Name))
			}
		}
		for _, h := range p.to.Entity.Hierarchies {
			if s.whole(p.to, h) {
				hierarchies = append(hierarchies, ListedHierarchy{string(p.to.Entity.Name) + "." + string(h.Name), texts(h.Levels)})
			}
		}
	}
	return segments, hierarchies
}

// whole reports that the subject may group by every level of a hierarchy.
func (s *scope) whole(vis *resolve.Visible, h *semantic.Hierarchy) bool {
	return !slices.ContainsFunc(h.Levels, func(n semantic.Name) bool {
		d := s.dimension(vis, n)
		if d == nil {
			return true
		}
		c, _ := s.class(vis, d)
		return c < semantic.Output
	})
}

func texts(names []semantic.Name) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return out
}

// knownParameters are those that something reads that the subject may ask for. It
// looks at the whole catalog: for questions that give parameters alone.
func (s *scope) knownParameters() []*semantic.Parameter {
	known := map[*semantic.Parameter]bool{}
	for _, m := range s.catalog.Metrics {
		if s.metric(m.Name) != nil {
			for _, x := range s.parametersOf(m) {
				known[x] = true
			}
		}
	}
	for _, n := range s.view.Names() {
		vis := s.entity(semantic.Name(n))
		if vis == nil {
			continue
		}
		for _, seg := range vis.Entity.Segments {
			if s.choosable(vis, seg) {
				for _, at := range s.references(vis.Entity, seg.Expr) {
					if at.Parameter != "" {
						known[s.catalog.Parameter(at.Parameter)] = true
					}
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(s.catalog.Parameters), func(x *semantic.Parameter) bool { return !known[x] })
}

// ways counts the paths from a fact to an entity.
func (s *scope) ways(fact, to *resolve.Visible) int {
	n := 0
	for _, p := range s.reach(fact) {
		if p.to == to {
			n++
		}
	}
	return n
}

// parametersOf are the parameters that a metric reads: in its own parts, and in the
// filters that always apply to its facts.
func (s *scope) parametersOf(m *semantic.Metric) []*semantic.Parameter {
	var out []*semantic.Parameter
	add := func(n semantic.Name) {
		if p := s.catalog.Parameter(n); p != nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	in := func(e *semantic.Entity, exprs ...string) {
		for _, expr := range exprs {
			if expr == "" {
				continue
			}
			for _, p := range s.references(e, expr) {
				add(p.Parameter)
			}
		}
	}
	s.everyPart(m, func(part *semantic.Metric) {
		if d, ok := s.exprs.Derived(part.Name); ok {
			parametersIn(d, add)
		}
		e := s.catalog.Entity(part.Entity)
		if part.Kind != semantic.SimpleMetric || e == nil {
			return
		}
		measure := e.Measure(part.Measure)
		in(e, measure.Expr, measure.Filter, part.Filter)
		for _, f := range e.Filters {
			in(e, f.Expr)
		}
	})
	return out
}

func parametersIn(d *resolve.Derived, add func(semantic.Name)) {
	if d.Kind == resolve.DerivedParameter {
		add(d.Name)
	}
	for _, arg := range d.Args {
		parametersIn(arg, add)
	}
}

// everyPart visits a metric and all it is made from.
func (s *scope) everyPart(m *semantic.Metric, visit func(*semantic.Metric)) {
	seen := map[*semantic.Metric]bool{}
	var walk func(*semantic.Metric)
	walk = func(m *semantic.Metric) {
		if m == nil || seen[m] {
			return
		}
		seen[m] = true
		visit(m)
		for _, n := range m.Parts() {
			walk(s.catalog.Metric(n))
		}
	}
	walk(m)
}

// needsTime reports that a metric goes along time, so that a question for it needs
// a time dimension at a grain.
func (s *scope) needsTime(m *semantic.Metric) bool {
	needs := false
	s.everyPart(m, func(part *semantic.Metric) {
		needs = needs || part.Kind == semantic.CumulativeMetric || part.Kind == semantic.CompareMetric
	})
	return needs
}
