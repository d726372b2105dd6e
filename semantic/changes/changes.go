// Package changes tells what differs in meaning between two catalogs, before and
// after a change of the models: which nouns were defined otherwise, and which
// metrics that reaches.
//
// A metric means what it says itself and what everything says that it is made
// from: other metrics, its measure, the fields that the measure reads, the
// filters of its entity, the relationships and dimensions that its conditions
// name. It is also grouped by dimensions; what changes one of those, or the way
// there, changes the metric's groups and not its total, and is told apart.
//
// A description, a synonym or a format is wording; visibility and tags say who
// may see what. Neither changes a number, and both are told apart. Expressions
// are compared as texts: two that mean the same and are written otherwise count
// as changed. What an expression reads is found by the names in it, so that a
// change may be told of a metric that it does not touch, and none is missed.
package changes

import (
	"slices"

	"plumbline/semantic"
)

// Edit is one part of a noun before and after.
type Edit struct {
	Part string `json:"part"` // as models spell it, with dots: source.path
	Old  string `json:"old"`
	New  string `json:"new"`
}

// Change is what became of one noun.
type Change struct {
	Ref     Ref
	What    What
	Meaning []Edit
	Access  []Edit
	Wording []Edit
}

// What became of a noun.
type What string

// What can become of a noun, or of a metric.
const (
	Added   What = "added"
	Removed What = "removed"
	Changed What = "changed"  // its meaning, by an edit of its own or of what it is made from
	Grouped What = "regroups" // a metric: its total means what it did, and some of its groups do not
	Renamed What = "renamed"  // a metric: another of the same meaning is gone
	Same    What = "same"     // wording or access alone
)

// Metric is what became of one metric.
type Metric struct {
	Name    semantic.Name
	What    What
	From    semantic.Name // the name before, where it was another
	Because []Ref         // changed: the nouns, itself among them, whose meaning changed
	By      []Ref         // changed and regroups: the nouns that change its groups
	// Dimensions are those whose values, or the way to them, changed; in the order of
	// the catalogs, each name once.
	Dimensions []semantic.Name
}

// Report is all that differs, in the order of the newer catalog, then of the older.
type Report struct {
	Nouns   []Change
	Metrics []Metric // only those whose meaning, or that of whose groups, changed
}

// Meaning reports that some metric, or another noun, means something else now.
func (r Report) Meaning() bool {
	return len(r.Metrics) > 0 || slices.ContainsFunc(r.Nouns, func(c Change) bool { return c.What != Same })
}

// Between compares two catalogs whose models are checked.
func Between(older, newer *semantic.Catalog) Report {
	before, after := newGraph(older), newGraph(newer)
	var out Report
	changed := map[Ref]bool{}
	for _, ref := range union(before, after) {
		if c, differs := compare(before, after, ref); differs {
			out.Nouns = append(out.Nouns, c)
			changed[ref] = c.What != Same
		}
	}
	out.Metrics = metrics(before, after, changed)
	return out
}

// union gives every noun of either, the newer catalog's first.
func union(before, after *graph) []Ref {
	out := slices.Clone(after.order)
	for _, r := range before.order {
		if _, both := after.nouns[r]; !both {
			out = append(out, r)
		}
	}
	return out
}

func compare(before, after *graph, ref Ref) (Change, bool) {
	c := Change{Ref: ref, What: Same}
	old, hadOld := before.nouns[ref]
	now, hasNew := after.nouns[ref]
	switch {
	case !hadOld:
		c.What = Added
		return c, true
	case !hasNew:
		c.What = Removed
		return c, true
	}
	c.Meaning, c.Access, c.Wording = edits(meaning, old, now), edits(access, old, now), edits(wording, old, now)
	if len(c.Meaning) > 0 {
		c.What = Changed
	}
	return c, len(c.Meaning)+len(c.Access)+len(c.Wording) > 0
}

// edits are the parts of a class that differ.
func edits(k class, old, now noun) []Edit {
	a, b := map[string]string{}, map[string]string{}
	order := flatten(k, "", old.value, a, nil)
	order = flatten(k, "", now.value, b, order)
	var out []Edit
	for i, p := range order {
		if a[p] != b[p] && !slices.Contains(order[:i], p) {
			out = append(out, Edit{p, a[p], b[p]})
		}
	}
	return out
}

// metrics tells of each metric what the changed nouns do to it.
func metrics(before, after *graph, changed map[Ref]bool) []Metric {
	var out []Metric
	for _, m := range after.catalog.Metrics {
		if before.catalog.Metric(m.Name) == nil {
			out = append(out, Metric{Name: m.Name, What: Added})
			continue
		}
		if x := reachedBy(before, after, m.Name, m.Name, changed); x.What != Same {
			out = append(out, x)
		}
	}
	for _, m := range before.catalog.Metrics {
		if after.catalog.Metric(m.Name) != nil {
			continue
		}
		if at := renamed(before, after, m, out); at >= 0 {
			x := reachedBy(before, after, m.Name, out[at].Name, changed)
			if x.From = m.Name; x.What == Same {
				x.What = Renamed
			}
			out[at] = x
		} else {
			out = append(out, Metric{Name: m.Name, What: Removed})
		}
	}
	return out
}

// renamed finds an added metric that means what a removed one meant; the first
// in order, and each once.
func renamed(before, after *graph, gone *semantic.Metric, list []Metric) int {
	ref := Ref{Kind: "metric", Name: gone.Name.Key()}
	return slices.IndexFunc(list, func(m Metric) bool {
		return m.What == Added && m.From == "" && len(edits(meaning, before.nouns[ref], after.nouns[Ref{Kind: "metric", Name: m.Name.Key()}])) == 0
	})
}

// reachedBy holds a metric's dependencies, in both catalogs, against the changed nouns.
// A metric under another name is not changed by its name.
func reachedBy(before, after *graph, old, name semantic.Name, changed map[Ref]bool) Metric {
	out := Metric{Name: name, What: Same}
	own, groups := map[Ref]bool{}, map[Ref]bool{}
	for _, x := range []struct {
		*graph
		name semantic.Name
	}{{before, old}, {after, name}} {
		self := Ref{Kind: "metric", Name: x.name.Key()}
		for r := range x.closure(self) {
			own[r] = r != self || old == name
		}
		for r := range x.closure(x.grouping(x.name)...) {
			groups[r] = true
		}
	}
	for _, r := range union(before, after) {
		switch {
		case !changed[r]:
		case own[r]:
			out.Because, out.What = append(out.Because, r), Changed
		case groups[r]:
			out.By = append(out.By, r)
		}
	}
	if out.What == Same && len(out.By) > 0 {
		out.What = Grouped
	}
	after.regrouped(name, &out, changed)
	before.regrouped(old, &out, changed)
	return out
}

// regrouped finds the dimensions of a metric that changed nouns reach.
func (g *graph) regrouped(name semantic.Name, m *Metric, changed map[Ref]bool) {
	for _, fact := range g.facts(g.catalog.Metric(name)) {
		edges := g.edges(fact)
		for _, e := range reached(fact, edges) {
			way := g.touched(changed, append(roads(e, edges), Ref{Kind: "entity", Name: e.Name.Key()})...)
			for _, d := range e.Dimensions {
				if way && e != fact || g.touched(changed, Ref{"dimension", e.Name.Key(), d.Name.Key()}) {
					if !slices.ContainsFunc(m.Dimensions, func(n semantic.Name) bool { return n.Key() == d.Name.Key() }) {
						m.Dimensions = append(m.Dimensions, d.Name)
					}
				}
			}
		}
	}
}

// touched reports that some noun, or what it depends on, changed.
func (g *graph) touched(changed map[Ref]bool, from ...Ref) bool {
	for r := range g.closure(from...) {
		if changed[r] {
			return true
		}
	}
	return false
}

// grouping are the nouns that say by what a metric may be grouped.
func (g *graph) grouping(name semantic.Name) []Ref {
	out := []Ref{{Kind: "time"}}
	for _, c := range g.catalog.Calendars {
		out = append(out, Ref{Kind: "calendar", Name: c.Name.Key()})
	}
	for _, fact := range g.facts(g.catalog.Metric(name)) {
		edges := g.edges(fact)
		for _, x := range edges {
			out = append(out, x.ref)
		}
		for _, e := range reached(fact, edges) {
			for _, d := range e.Dimensions {
				out = append(out, Ref{"dimension", e.Name.Key(), d.Name.Key()})
			}
		}
	}
	return out
}
