package measure

import (
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// tables are one entity and those it is joined to in text that is made here.
type tables struct {
	w    *rewrite
	list []table // the entity first, each joined one behind the one it is joined to
}

type table struct {
	alias  string
	entity *semantic.Entity
	parent string // alias of the table it is joined to
	role   *semantic.Relationship
	back   bool
	inner  bool
	key    any // *link, or the role names of a path
}

func (w *rewrite) tables(e *semantic.Entity) *tables {
	return &tables{w, []table{{alias: w.fresh("f"), entity: e}}}
}

func (t *tables) root() string { return t.list[0].alias }

func (t *tables) find(key any) string {
	i := slices.IndexFunc(t.list, func(x table) bool { return x.key == key })
	if i < 0 {
		return ""
	}
	return t.list[i].alias
}

// path gives the table at the end of a path, with those on the way.
func (t *tables) path(roles []*semantic.Relationship) string {
	at, key := t.root(), ""
	for _, r := range roles {
		key += "." + r.Name.Key()
		next := t.find(key)
		if next == "" {
			next = t.w.fresh("f")
			t.list = append(t.list, table{alias: next, entity: t.w.in.Catalog.Entity(r.To), parent: at, role: r, key: key})
		}
		at = next
	}
	return at
}

// link gives the table that the caller's text joins by a link. of is the source
// that the tables begin with.
func (t *tables) link(links []*link, of, to *source) string {
	if to == of {
		return t.root()
	}
	i := slices.IndexFunc(links, func(l *link) bool { return l.to == to })
	l := links[i]
	if found := t.find(l); found != "" {
		return found
	}
	parent := t.link(links, of, l.from)
	alias := t.w.fresh("f")
	t.list = append(t.list, table{alias: alias, entity: to.entity, parent: parent, role: l.role, back: l.back, inner: l.inner, key: l})
	return alias
}

// from writes the tables as a FROM clause has them.
func (t *tables) from() string {
	var b strings.Builder
	for i, x := range t.list {
		if i > 0 {
			b.WriteString(map[bool]string{true: " INNER JOIN ", false: " LEFT JOIN "}[x.inner])
		}
		b.WriteString(semantic.Quote(string(x.entity.Name)) + " AS " + semantic.Quote(x.alias))
		if i == 0 {
			continue
		}
		var on []string
		for _, p := range x.role.On {
			near, far := p.From, p.To
			if x.back {
				near, far = far, near
			}
			on = append(on, column(x.parent, near)+" = "+column(x.alias, far))
		}
		b.WriteString(" ON " + strings.Join(on, " AND "))
	}
	return b.String()
}

func column(alias string, n semantic.Name) string {
	return semantic.Quote(alias) + "." + semantic.Quote(string(n))
}

// capture refuses tables whose names a CTE of the text has taken.
func (w *rewrite) capture(t *tables, at int) {
	for _, x := range t.list {
		if slices.ContainsFunc(w.ctes, func(n string) bool { return equal(n, string(x.entity.Name)) }) {
			w.refuse(diag.New(diag.ResolveAmbiguous, "%q is a CTE here, and the measure or view needs the entity of that name", x.entity.Name).
				WithHint("give the CTE another name"), at)
			return
		}
	}
}
