package metric

import (
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// drill puts the levels of a hierarchy in its place: {"name": "geography", "grain":
// "city"} groups by every level down to city, the coarsest first; without a grain
// by the first level alone. A dimension of the same name comes before a hierarchy.
func (p *planner) drill() {
	var out []DimensionRef
	for _, ref := range p.q.Dimensions {
		h, at := p.hierarchy(ref.Name)
		if h == nil {
			out = append(out, ref)
			continue
		}
		last := 0
		if ref.Grain != "" {
			last = slices.IndexFunc(h.Levels, func(n semantic.Name) bool { return n.Key() == fold(ref.Grain) })
		}
		if last < 0 {
			p.refuse(diag.New(diag.MetricGrain, "hierarchy %q has no level %q", ref.Name, ref.Grain).WithHint("its levels are %s", levelNames(h)))
			last = 0
		}
		for _, level := range h.Levels[:last+1] {
			out = append(out, DimensionRef{Name: p.spellLevel(at, level)})
		}
	}
	p.q.Dimensions, p.rows.q.Dimensions = out, out
}

func levelNames(h *semantic.Hierarchy) string {
	names := make([]string, len(h.Levels))
	for i, n := range h.Levels {
		names[i] = string(n)
	}
	return strings.Join(names, ", ")
}

// spellLevel names one level at the end of a path from the first metric's fact.
func (p *planner) spellLevel(at path, level semantic.Name) string {
	fact := p.facts(p.metric(semantic.Name(p.q.Metrics[0])))[0]
	if d := p.dimension(at.to, level); d != nil {
		return p.spell(fact, place{at, d})
	}
	return string(at.to.Entity.Name) + "." + string(level) // refused as any that is not there
}

// hierarchy finds the hierarchy that a spelling means for the first metric, and the
// way to its entity; nil when it means a dimension, or several things.
func (p *planner) hierarchy(spelling string) (*semantic.Hierarchy, path) {
	if len(p.q.Metrics) == 0 || spelling == "" || fold(spelling) == MetricTime {
		return nil, path{}
	}
	m := p.metric(semantic.Name(p.q.Metrics[0]))
	if m == nil || len(p.places(p.facts(m)[0], spelling)) > 0 {
		return nil, path{}
	}
	qualifier, name := splitLast(spelling)
	var found *semantic.Hierarchy
	var way path
	for _, to := range p.reach(p.facts(m)[0]) {
		if qualifier != "" && to.to.Entity.Name.Key() != fold(qualifier) {
			continue
		}
		for _, h := range to.to.Entity.Hierarchies {
			if h.Name.Key() != fold(name) || !p.whole(to.to, h) {
				continue // one with a level that is not there for the subject is not there either
			}
			if found != nil {
				return nil, path{} // the dimension that is not there is told
			}
			found, way = h, to
		}
	}
	return found, way
}
