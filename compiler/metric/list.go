package metric

import (
	"fmt"
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Listing is one metric as list_metrics shows it.
type Listing struct {
	Name        semantic.Name
	Description string
	Kind        semantic.MetricKind
	Unit        string
	Format      string
	Entities    []semantic.Name // the facts it aggregates
	Grain       string          // what one row of its fact is; "" for several facts
	Time        []string        // grains of metric_time; nil when it has none
	Synonyms    []string
	Required    []string // dimensions that a question must filter by, as entity.dimension
	Dimensions  []ListedDimension
	Segments    []string // as entity.segment
	Hierarchies []ListedHierarchy
	Parameters  []*semantic.Parameter // that it reads
	NeedsTime   bool                  // it goes along time: a question needs a time dimension at a grain
}

// ListedDimension is a dimension that goes with a metric, under a spelling that
// means it and nothing else.
type ListedDimension struct {
	Spelling    string
	Description string
	Type        semantic.Type
	Grains      []string
	FilterOnly  bool // may be filtered by, not grouped by
}

// List gives the metrics a subject may ask for, in the catalog's order, with
// the dimensions that all facts of a metric share.
func List(view resolve.View, catalog *semantic.Catalog, exprs *resolve.Expressions) ([]Listing, error) {
	s := newScope(view, catalog, exprs)
	shared := map[string]Listing{} // dimensions, segments and hierarchies are those of the facts
	var out []Listing
	for _, m := range catalog.Metrics {
		if !s.answerable(m, nil) || s.maskOf(m) != "" {
			continue
		}
		facts := s.facts(m)
		if slices.ContainsFunc(facts, s.unaskable) {
			continue
		}
		one := s.listing(m, facts)
		key := fmt.Sprintf("%q", one.Entities)
		if _, ok := shared[key]; !ok {
			all := Listing{Dimensions: s.shared(facts)}
			all.Segments, all.Hierarchies = s.extras(facts)
			shared[key] = all
		}
		one.Dimensions, one.Segments, one.Hierarchies = shared[key].Dimensions, shared[key].Segments, shared[key].Hierarchies
		one.Parameters, one.NeedsTime = s.parametersOf(m), s.needsTime(m)
		out = append(out, one)
	}
	return out, s.failure
}

// unaskable reports a fact that requires a filter on a field that no dimension names.
func (s *scope) unaskable(fact *resolve.Visible) bool {
	return slices.ContainsFunc(fact.Entity.Filters, func(f *semantic.Filter) bool {
		return f.Kind == semantic.RequiredFilter && s.dimensionOf(fact, f.Field) == nil
	})
}

func (s *scope) listing(m *semantic.Metric, facts []*resolve.Visible) Listing {
	out := Listing{Name: m.Name, Description: m.Description, Kind: m.Kind, Unit: m.Unit, Format: m.Format, Synonyms: m.Synonyms}
	if len(facts) == 1 {
		out.Grain = facts[0].Entity.Grain
	}
	if m.Kind == semantic.SimpleMetric {
		measure := facts[0].Entity.Measure(m.Measure)
		out.Unit, out.Format = or(m.Unit, measure.Unit), or(m.Format, measure.Format)
	}
	for i, f := range facts {
		out.Entities = append(out.Entities, f.Entity.Name)
		grains := s.timeGrains(f)
		if i == 0 {
			out.Time = grains
		} else {
			out.Time = slices.DeleteFunc(slices.Clone(out.Time), func(g string) bool { return !slices.Contains(grains, g) })
		}
		for _, filter := range f.Entity.Filters {
			if filter.Kind == semantic.RequiredFilter {
				out.Required = append(out.Required, string(f.Entity.Name)+"."+string(s.dimensionOf(f, filter.Field).Name))
			}
		}
	}
	return out
}

func (s *scope) timeGrains(f *resolve.Visible) []string {
	if f.Entity.TimeDimension == "" {
		return nil
	}
	d := s.dimension(f, f.Entity.TimeDimension)
	if d == nil {
		return nil
	}
	return s.offered(d)
}

// shared lists the dimensions of the first fact whose spelling means the same to all others.
func (s *scope) shared(facts []*resolve.Visible) []ListedDimension {
	var out []ListedDimension
	for _, p := range s.reach(facts[0]) {
		for _, d := range p.to.Entity.Dimensions {
			c, ok := s.class(p.to, d)
			if !ok {
				continue
			}
			spelling, ok := s.spellForAll(facts, place{p, d})
			if ok {
				out = append(out, ListedDimension{Spelling: spelling, Description: d.Description, Type: d.Type, Grains: s.offered(d), FilterOnly: c < semantic.Output})
			}
		}
	}
	return out
}

// spellForAll finds a spelling that means one dimension from every fact.
func (s *scope) spellForAll(facts []*resolve.Visible, p place) (string, bool) {
	short := s.spell(facts[0], p)
	for _, try := range []string{short, string(p.path.to.Entity.Name) + "." + string(p.dim.Name)} {
		if !slices.ContainsFunc(facts, func(f *resolve.Visible) bool {
			found := s.places(f, try)
			return len(found) != 1 || found[0].dim != p.dim
		}) {
			return try, true
		}
	}
	return "", false
}
