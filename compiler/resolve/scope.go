package resolve

import (
	"slices"
	"strconv"

	"plumbline/semantic"
)

// source is one entity column of one reference: the end of every lineage.
type source struct {
	ref  int // index into the resolver's refs
	name semantic.Name
}

// lineage is an ordered set of sources.
type lineage []source

func (l *lineage) add(more ...source) {
	for _, s := range more {
		if !slices.Contains(*l, s) {
			*l = append(*l, s)
		}
	}
}

// column is one column of a relation in scope. Direct columns belong to an
// entity reference and every use of them is recorded; others carry the lineage
// of the select item that made them, whose uses are recorded there.
type column struct {
	name    string
	from    lineage
	bare    bool // exactly one entity column, unchanged
	list    bool // certainly a list; an entity's own columns are no structs, so unnest takes those too
	direct  bool
	private bool // direct, and for the model's own text only
	class   semantic.Visibility
}

// relation is one item of FROM in scope.
type relation struct {
	alias string // "" when it cannot be named
	ref   int    // index into refs; -1 for anything that is no entity
	cols  []column
	held  bool // an outer or ASOF join above: conditions on it may not move inside
}

func (r *relation) named(key string) bool { return r.alias != "" && fold(r.alias) == key }

// merged is a column of USING or NATURAL: one name for a column on each side.
type merged struct {
	key     string
	members []hit
	primary int // member that stands for the column; -1 in a FULL join
}

// hit is one column of one relation.
type hit struct {
	rel *relation
	col *column
}

// limited reports an entity's own column that may not stand in every clause.
func (h hit) limited() bool { return h.col.direct && h.col.class < semantic.Output }

// level is what one FROM offers, and the select aliases made over it.
type level struct {
	rels    []*relation
	using   []*merged
	aliases map[string]*item
	broken  bool // something in it was refused already: unknown names are not reported again
}

// item is one select item as later clauses may name it.
type item struct {
	col  column
	uses [2]int // range of the resolver's uses made by the item
}

// scope is a chain of levels from the innermost outwards. Lateral items to the
// left are levels too, as DuckDB nests them.
type scope struct {
	*level
	parent *scope
}

func fold(name string) string { return semantic.Name(name).Key() }

// relation finds the relation of that name at this level.
func (l *level) relation(key string) *relation {
	for _, r := range l.rels {
		if r.named(key) {
			return r
		}
	}
	return nil
}

func (r *relation) column(key string, origin Origin) *column {
	for i := range r.cols {
		c := &r.cols[i]
		if fold(c.name) == key && (!c.private || origin == Model) {
			return c
		}
	}
	return nil
}

// find gives the columns an unqualified name stands for at this level: none,
// one, or all members of a FULL join's merged column. ambiguous is true when
// several relations offer it.
func (l *level) find(key string, origin Origin) (hits []hit, ambiguous bool) {
	var sets []*merged
	for _, m := range l.using {
		if m.key == key {
			sets = append(sets, m)
		}
	}
	if len(sets) > 0 {
		m := sets[0]
		if m.primary >= 0 {
			return m.members[m.primary : m.primary+1], len(sets) > 1
		}
		return m.members, len(sets) > 1
	}
	for _, r := range l.rels {
		if c := r.column(key, origin); c != nil {
			hits = append(hits, hit{r, c})
		}
	}
	return hits, len(hits) > 1
}

// mergedBy gives the set that a column belongs to, nil when none.
func (l *level) mergedBy(h hit) *merged {
	for _, m := range l.using {
		for _, k := range m.members {
			if k.col == h.col {
				return m
			}
		}
	}
	return nil
}

// join puts two sides side by side; the sides are not used afterwards.
func join(left, right *level) *level {
	return &level{
		rels:   append(slices.Clone(left.rels), right.rels...),
		using:  append(slices.Clone(left.using), right.using...),
		broken: left.broken || right.broken,
	}
}

// names lists what a mistyped name at this place may have meant.
func (s *scope) names(origin Origin) []string {
	var out []string
	for at := s; at != nil; at = at.parent {
		for _, r := range at.rels {
			for _, c := range r.cols {
				if !c.private || origin == Model {
					out = append(out, c.name)
				}
			}
		}
	}
	return out
}

func (s *scope) anyBroken() bool {
	for at := s; at != nil; at = at.parent {
		if at.broken {
			return true
		}
	}
	return false
}

// env is the chain of CTEs visible at a place, nearest first. Each body sees
// only the CTEs before it, as DuckDB binds them.
type env struct {
	key    string
	cols   []column
	broken bool
	parent *env
}

func (e *env) find(key string) *env {
	for at := e; at != nil; at = at.parent {
		if at.key == key {
			return at
		}
	}
	return nil
}

// dedupe names the columns of a derived table as DuckDB does: a repeated name,
// whatever its case, gets _1, _2, ... up to the first that is free.
func dedupe(cols []column) []column {
	count := map[string]int{}
	out := slices.Clone(cols)
	for i := range out {
		key := fold(out[i].name)
		if count[key] == 0 {
			count[key] = 1
			continue
		}
		name := out[i].name
		for count[fold(name)] > 0 {
			name = out[i].name + "_" + strconv.Itoa(count[key])
			if count[fold(name)] > 0 {
				count[key]++
			}
		}
		out[i].name = name
		count[fold(name)]++
	}
	return out
}

// rename applies a column alias list: the first names are replaced, the rest stay.
func rename(cols []column, aliases []string) ([]column, bool) {
	if len(aliases) > len(cols) {
		return cols, false
	}
	out := slices.Clone(cols)
	for i, a := range aliases {
		out[i].name = a
	}
	return out, true
}

// derived turns columns into those of a relation that is no entity.
func derived(cols []column) []column {
	out := slices.Clone(cols)
	for i := range out {
		out[i].direct, out[i].private = false, false
	}
	return out
}
