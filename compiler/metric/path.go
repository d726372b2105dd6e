package metric

import (
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// maxPaths bounds the search in models whose relationships cross a lot.
const maxPaths = 5000

// path leads from a fact to an entity over relationships of which each row meets
// at most one partner, and over one declared bridge at most. The empty path is the
// fact itself.
type path struct {
	roles []*semantic.Relationship
	to    *resolve.Visible
}

// key tells paths of one fact apart.
func (p path) key() string {
	var b strings.Builder
	for _, r := range p.roles {
		b.WriteString("." + r.Name.Key())
	}
	return b.String()
}

func (p path) step(r *semantic.Relationship, to *resolve.Visible) path {
	return path{roles: append(slices.Clone(p.roles), r), to: to}
}

// behindMask names the masked key that parts a fact from the owners of a
// dimension, "" when no to-one path leads there at all. For errors only.
func (s *scope) behindMask(fact *resolve.Visible, owners []*resolve.Visible) string {
	type step struct {
		at     *resolve.Visible
		masked string
	}
	seen := map[string]bool{fact.Entity.Name.Key(): true}
	queue := []step{{at: fact}}
	for len(queue) > 0 {
		now := queue[0]
		queue = queue[1:]
		if now.masked != "" && slices.Contains(owners, now.at) {
			return now.masked
		}
		for _, r := range now.at.Entity.Relationships {
			if !walked(r) {
				continue
			}
			to := s.joined(now.at, r)
			if to == nil || seen[to.Entity.Name.Key()] {
				continue
			}
			seen[to.Entity.Name.Key()] = true
			queue = append(queue, step{to, or(now.masked, s.maskedKey(now.at, r))})
		}
	}
	return ""
}

// reach gives every path from a fact that meets no entity twice, the nearest
// first. Longer round trips must be spelled as role paths.
func (s *scope) reach(fact *resolve.Visible) []path {
	key := fact.Entity.Name.Key()
	if found, ok := s.paths[key]; ok {
		return found
	}
	found := []path{{to: fact}}
	for i := 0; i < len(found); i++ {
		from := found[i]
		for _, r := range from.to.Entity.Relationships {
			to := s.follow(from, r)
			if to == nil || to == fact || visits(from, to.Entity.Name) || r.Through != nil && (visits(from, r.Through.Entity) || r.Through.Entity.Key() == key) {
				continue
			}
			if len(found) == maxPaths {
				s.fail(diag.New(diag.UnsupportedAsk, "more than %d paths lead away from %q", maxPaths, fact.Entity.Name))
				return found
			}
			found = append(found, from.step(r, to))
		}
	}
	s.paths[key] = found
	return found
}

func visits(p path, n semantic.Name) bool {
	return slices.ContainsFunc(p.roles, func(r *semantic.Relationship) bool {
		return r.To.Key() == n.Key() || r.Through != nil && r.Through.Entity.Key() == n.Key()
	})
}

// place is one dimension as a fact reaches it.
type place struct {
	path path
	dim  *semantic.Dimension
}

// places gives everything that a spelling can mean from a fact: a dimension of
// any entity in reach, entity.dimension, a role path, or a role path behind the
// fact's own name.
func (s *scope) places(fact *resolve.Visible, spelling string) []place {
	return s.placesOver(fact, spelling, s.dimension)
}

// placesOver is places over the dimensions that has gives of an entity by name.
func (s *scope) placesOver(fact *resolve.Visible, spelling string, has func(*resolve.Visible, semantic.Name) *semantic.Dimension) []place {
	qualifier, name := splitLast(spelling)
	var out []place
	add := func(p path) {
		d := has(p.to, semantic.Name(name))
		if d != nil && !slices.ContainsFunc(out, func(o place) bool { return o.path.key() == p.key() }) {
			out = append(out, place{p, d})
		}
	}
	for _, p := range s.reach(fact) {
		if qualifier == "" || semantic.Name(qualifier).Key() == p.to.Entity.Name.Key() {
			add(p)
		}
	}
	if p, ok := s.rolePath(fact, qualifier); ok && qualifier != "" {
		add(p)
	}
	self := fact.Entity.Name.Key() + "."
	if rest, ok := strings.CutPrefix(semantic.Name(qualifier).Key(), self); ok {
		if p, ok := s.rolePath(fact, rest); ok {
			add(p)
		}
	}
	return out
}

func splitLast(spelling string) (qualifier, name string) {
	if i := strings.LastIndexByte(spelling, '.'); i >= 0 {
		return spelling[:i], spelling[i+1:]
	}
	return "", spelling
}

func (s *scope) rolePath(fact *resolve.Visible, roles string) (path, bool) {
	p := path{to: fact}
	for _, role := range strings.Split(roles, ".") {
		i := slices.IndexFunc(p.to.Entity.Relationships, func(r *semantic.Relationship) bool {
			return r.Name.Key() == semantic.Name(role).Key()
		})
		if i < 0 {
			return path{}, false
		}
		r := p.to.Entity.Relationships[i]
		to := s.follow(p, r)
		if to == nil {
			return path{}, false
		}
		p = p.step(r, to)
	}
	return p, true
}

// spell gives the shortest name under which a fact reaches a place and nothing else.
func (s *scope) spell(fact *resolve.Visible, p place) string {
	dim := string(p.dim.Name)
	roles := make([]string, 0, len(p.path.roles)+2)
	for _, r := range p.path.roles {
		roles = append(roles, string(r.Name))
	}
	full := strings.Join(append(roles, dim), ".")
	for _, try := range []string{dim, string(p.path.to.Entity.Name) + "." + dim, full} {
		if len(s.places(fact, try)) == 1 {
			return try
		}
	}
	return string(fact.Entity.Name) + "." + full
}

// reachable spells the dimensions of a fact that callers may group by (or only
// filter by, when least says so), the nearest first.
func (s *scope) reachable(fact *resolve.Visible, least semantic.Visibility) []string {
	var out []string
	for _, p := range s.reach(fact) {
		for _, d := range p.to.Entity.Dimensions {
			if c, ok := s.class(p.to, d); ok && c >= least {
				out = append(out, s.spell(fact, place{p, d}))
			}
		}
	}
	return out
}

// lookup finds the one place a spelling means from a fact. asked names the
// metric for the message.
func (s *scope) lookup(fact *resolve.Visible, spelling, asked string, least semantic.Visibility) (place, *diag.Error) {
	found := s.places(fact, spelling)
	switch len(found) {
	case 0:
		return place{}, s.unplaced(fact, spelling, asked, least)
	case 1:
		if c, _ := s.class(found[0].path.to, found[0].dim); c < least {
			return place{}, diag.New(diag.ResolveUse, "dimension %q may be filtered by, but not grouped by", spelling).
				WithHint("group %s by one of %s", asked, s.has(fact, least))
		}
		return found[0], nil
	}
	spelled := make([]string, len(found))
	for i, p := range found {
		spelled[i] = s.spell(fact, p)
	}
	return place{}, diag.New(diag.MetricAmbiguous, "from metric %q, %q means more than one thing", asked, spelling).
		WithHint("say which: %s", strings.Join(spelled, " or "))
}

// unplaced says why a fact has no place for a dimension: it does not exist, it
// lies behind a to-many relationship, or nothing leads there.
func (s *scope) unplaced(fact *resolve.Visible, spelling, asked string, least semantic.Visibility) *diag.Error {
	reach := s.reachable(fact, least)
	owners := s.owners(spelling)
	if masked := s.maskedPlace(fact, spelling); masked != "" {
		return diag.New(diag.PolicyColumn, "%q may not be grouped or filtered by: it reads %s, which is masked for you", spelling, masked).
			WithHint("%s has %s", asked, s.has(fact, least))
	}
	if key := s.maskedRole(fact, spelling); key != "" {
		return diag.New(diag.MetricDimension, "no relationship leads from metric %q to %q for you", asked, spelling).
			WithHint("its join key %s is masked for you; %s has %s", key, asked, s.has(fact, least))
	}
	if len(owners) == 0 {
		return s.unknownDimension(fact, spelling, asked, least, reach)
	}
	hint := asked + " has " + s.has(fact, least)
	if grained := s.grained(fact, spelling, least); grained != "" {
		hint = grained + "; " + hint
	}
	if metrics := s.metricsBy(spelling); len(metrics) > 0 {
		hint += "; " + spelling + " goes with " + listed(metrics)
	}
	if key := s.behindMask(fact, owners); key != "" {
		return diag.New(diag.MetricDimension, "no relationship leads from metric %q to %q for you", asked, spelling).
			WithHint("its join key %s is masked for you; %s", key, hint)
	}
	if s.connected(fact, owners) {
		return diag.New(diag.MetricFanOut, "metric %q cannot be split by %q: that lies behind a to-many relationship, so its rows would count several times", asked, spelling).
			WithHint("%s", hint)
	}
	return diag.New(diag.MetricDimension, "no relationship leads from metric %q to %q", asked, spelling).WithHint("%s", hint)
}

// unknownDimension answers a name that no dimension in sight has.
func (s *scope) unknownDimension(fact *resolve.Visible, spelling, asked string, least semantic.Visibility, reach []string) *diag.Error {
	err := diag.New(diag.MetricUnknown, "no dimension %q for metric %q", spelling, asked)
	if hint := s.grained(fact, spelling, least); hint != "" {
		return err.WithHint("%s", hint)
	}
	near := s.bySynonym(fact, spelling, least)
	if len(near) == 0 {
		near = semantic.Nearest(spelling, append([]string{MetricTime}, reach...))
	}
	if _, name := splitLast(spelling); len(near) == 0 {
		near = semantic.Nearest(name, reach) // the dimension may be right and the entity wrong
	}
	if s.timeGrains(fact) == nil {
		near = slices.DeleteFunc(near, func(n string) bool { return n == MetricTime })
	}
	return err.Suggest(near...).WithHint("%s has %s", asked, s.has(fact, least))
}

// has lists what a fact may be grouped or filtered by, its own time first.
func (s *scope) has(fact *resolve.Visible, least semantic.Visibility) string {
	names := s.reachable(fact, least)
	if grains := s.timeGrains(fact); grains != nil {
		names = append([]string{MetricTime + " (" + strings.Join(grains, ", ") + ")"}, names...)
	}
	return listed(names)
}

// grained reads names that others write for a time dimension at a grain: month,
// metric_time__month, order_date:month. It says how they are written here, "" for
// other names.
func (s *scope) grained(fact *resolve.Visible, spelling string, least semantic.Visibility) string {
	key := "name"
	if least < semantic.Output {
		key = "field" // of a filter
	}
	for _, grain := range semantic.Grains {
		base, found := strings.CutSuffix(fold(spelling), grain)
		if !found {
			continue
		}
		base = strings.TrimRight(base, "_:. ")
		if base == "" {
			base = MetricTime
		}
		grains := s.timeGrains(fact)
		if base != MetricTime {
			places := s.places(fact, base)
			if len(places) != 1 {
				continue
			}
			grains = s.offered(places[0].dim)
			base = s.spell(fact, places[0])
		}
		if slices.Contains(grains, grain) {
			return fmt.Sprintf("for time by %s write {%q: %q, \"grain\": %q}", grain, key, base, grain)
		}
	}
	return ""
}

// bySynonym spells the dimensions in reach that are also known by a name.
func (s *scope) bySynonym(fact *resolve.Visible, spelling string, least semantic.Visibility) []string {
	_, name := splitLast(spelling)
	var out []string
	for _, p := range s.reach(fact) {
		for _, d := range p.to.Entity.Dimensions {
			if c, ok := s.class(p.to, d); ok && c >= least && known(d.Synonyms, name) {
				out = append(out, s.spell(fact, place{p, d}))
			}
		}
	}
	return out
}

// known reports whether a name is among synonyms, whatever its case and blanks.
func known(synonyms []string, name string) bool {
	plain := func(s string) string { return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(fold(s)) }
	return slices.ContainsFunc(synonyms, func(s string) bool { return plain(s) == plain(name) })
}

// maskedPlace names the field whose mask closes a dimension that a fact would
// reach under the spelling. For errors only.
func (s *scope) maskedPlace(fact *resolve.Visible, spelling string) string {
	qualifier, name := splitLast(spelling)
	paths := s.reach(fact)
	if p, ok := s.rolePath(fact, qualifier); ok && qualifier != "" {
		paths = []path{p}
		qualifier = ""
	}
	for _, p := range paths {
		if qualifier != "" && semantic.Name(qualifier).Key() != p.to.Entity.Name.Key() {
			continue
		}
		d := p.to.Entity.Dimension(semantic.Name(name))
		if d == nil || d.Visibility < semantic.FilterOnly {
			continue
		}
		if f := s.maskCloses(p.to, d); f != "" && s.allPresent(p.to, d) {
			return naming(p.to, f)
		}
	}
	return ""
}

// maskedRole names the first masked key on a spelled role path. For errors only.
func (s *scope) maskedRole(fact *resolve.Visible, spelling string) string {
	roles := strings.Split(spelling, ".")
	roles = roles[:len(roles)-1]
	if len(roles) > 1 && semantic.Name(roles[0]).Key() == fact.Entity.Name.Key() {
		roles = roles[1:]
	}
	at := fact
	for _, role := range roles {
		i := slices.IndexFunc(at.Entity.Relationships, func(r *semantic.Relationship) bool {
			return r.Name.Key() == semantic.Name(role).Key()
		})
		if i < 0 {
			return ""
		}
		r := at.Entity.Relationships[i]
		to := s.joined(at, r)
		if to == nil {
			return ""
		}
		if key := s.maskedKey(at, r); key != "" {
			return key
		}
		at = to
	}
	return ""
}

// allPresent reports that a caller may know of every field that a dimension reads.
func (s *scope) allPresent(vis *resolve.Visible, d *semantic.Dimension) bool {
	return !slices.ContainsFunc(s.reads(vis.Entity, d), func(f semantic.Name) bool {
		return vis.Fields[f.Key()] < semantic.FilterOnly
	})
}

// owners are the visible entities that have the spelled dimension. It looks at
// the whole catalog: for errors only.
func (s *scope) owners(spelling string) []*resolve.Visible {
	qualifier, name := splitLast(spelling)
	var out []*resolve.Visible
	for _, n := range s.view.Names() {
		vis := s.entity(semantic.Name(n))
		if vis != nil && s.dimension(vis, semantic.Name(name)) != nil &&
			(qualifier == "" || vis.Entity.Name.Key() == semantic.Name(qualifier).Key()) {
			out = append(out, vis)
		}
	}
	return out
}

// metricsBy names metrics that can be split by a spelling.
func (s *scope) metricsBy(spelling string) []string {
	var out []string
	for _, m := range s.catalog.Metrics {
		if !s.answerable(m, nil) || s.maskOf(m) != "" {
			continue
		}
		if !slices.ContainsFunc(s.facts(m), func(f *resolve.Visible) bool { return len(s.places(f, spelling)) != 1 }) {
			out = append(out, string(m.Name))
		}
	}
	return out
}

// connected reports whether relationships, walked either way, lead from a fact
// to one of the entities.
func (s *scope) connected(fact *resolve.Visible, to []*resolve.Visible) bool {
	edges := map[string][]string{}
	for _, n := range s.view.Names() {
		vis := s.entity(semantic.Name(n))
		if vis == nil {
			continue
		}
		for _, r := range vis.Entity.Relationships {
			a, b := vis.Entity.Name.Key(), r.To.Key()
			if s.usable(vis, r) != nil {
				edges[a], edges[b] = append(edges[a], b), append(edges[b], a)
			}
		}
	}
	seen := map[string]bool{fact.Entity.Name.Key(): true}
	queue := []string{fact.Entity.Name.Key()}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if slices.ContainsFunc(to, func(v *resolve.Visible) bool { return v.Entity.Name.Key() == at }) {
			return true
		}
		for _, next := range edges[at] {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// maxListed bounds the names in a hint.
const maxListed = 12

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}
