package measure

import (
	"errors"
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// aim says which rows of its entity a call is over.
type aim struct {
	keys    []*key     // rows whose keys are the group's
	sets    []*setting // and these columns are those values
	where   []*written // and these conditions hold
	visible bool       // and the query's FROM and WHERE leave them
}

// setting is SET: a key, or a column of the entity that is no key, has a value.
type setting struct {
	key    *key
	column placed // when key is nil
	value  *written
}

// written is an expression between the brackets of AT, with what to put in the
// places of its names.
type written struct {
	text    sqlast.Range
	keys    map[sqlast.Range]*key // SET: names that stand for the group's keys
	columns []placed              // WHERE: columns of the entity or of what it is joined to
	blank   []sqlast.Range        // the words CURRENT
}

// aim goes through the modifiers from left to right.
func (l *layout) aim(c *call) (*aim, bool) {
	keys, ok := l.groupKeys()
	if !ok {
		return nil, false
	}
	a := &aim{keys: slices.Clone(keys), visible: !c.lifted}
	for _, m := range c.with {
		if !l.modify(a, c, m) {
			return nil, false
		}
	}
	return a, true
}

func (l *layout) modify(a *aim, c *call, m modifier) bool {
	switch m.word {
	case "VISIBLE":
		a.visible = true
	case "WHERE":
		cond, ok := l.condition(c, m.expr)
		a.where = append(a.where, cond)
		return ok
	case "SET":
		to, ok := l.dimension(c, m.dims[0])
		if !ok {
			return false
		}
		value, ok := l.value(c, m.expr)
		if !ok {
			return false
		}
		a.drop(to)
		to.value = value
		a.sets = append(a.sets, to)
	case "ALL":
		if len(m.dims) == 0 {
			*a = aim{}
		}
		for _, dim := range m.dims {
			d, ok := l.dimension(c, dim)
			if !ok {
				return false
			}
			a.drop(d)
		}
	}
	return true
}

// drop takes out what the aim says of a dimension.
func (a *aim) drop(d *setting) {
	a.keys = slices.DeleteFunc(a.keys, func(k *key) bool { return k == d.key })
	a.sets = slices.DeleteFunc(a.sets, func(s *setting) bool {
		return s.key == d.key && s.column.ref == d.column.ref && s.column.column.Key() == d.column.column.Key()
	})
}

// dimension reads the name of a group key, or of a column of the call's entity.
func (l *layout) dimension(c *call, at sqlast.Range) (*setting, bool) {
	keys, _ := l.groupKeys()
	var found []*key
	for _, k := range keys {
		if l.names(k, at) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return &setting{key: found[0]}, true
	case 0:
	default:
		l.refuse(diag.New(diag.ResolveAmbiguous, "%q names more than one group key", l.show(at)).WithHint("qualify it, or write the key as GROUP BY does"), at.Start)
		return nil, false
	}
	parts, ok := path(l.rewrite.asked, at)
	if !ok {
		l.refuse(diag.New(diag.UnsupportedAsk, "AT names a group key as GROUP BY writes it, its alias, or a column of %q; %q is none of them", c.of.alias, l.show(at)).
			WithHint("%s", l.keyHint()), at.Start)
		return nil, false
	}
	p, ok := l.own(c, parts, at)
	if !ok {
		return nil, false
	}
	for _, k := range keys {
		if slices.ContainsFunc(k.columns, func(o placed) bool { return o.ref == p.ref && o.column.Key() == p.column.Key() }) {
			l.refuse(diag.New(diag.UnsupportedAsk, "%q is no group key itself, but the key %q is computed from it", l.show(at), l.show(k.text)).
				WithHint("name that key: %s", l.keyHint()), at.Start)
			return nil, false
		}
	}
	return &setting{column: p}, true
}

// show gives a part of the text for messages, the start of a long one.
func (l *layout) show(at sqlast.Range) string {
	if at.End-at.Start > maxShown {
		return strings.ToValidUTF8(l.rewrite.asked[at.Start:at.Start+maxShown], "") + " ..."
	}
	return squeezed(l.rewrite.asked[at.Start:at.End])
}

// maxShown are the bytes, and maxListed the keys, that a message repeats of the text.
const (
	maxShown  = 200
	maxListed = 10
)

func (l *layout) keyHint() string {
	keys, _ := l.groupKeys()
	var out []string
	for _, k := range keys[:min(len(keys), maxListed)] {
		out = append(out, l.show(k.text))
	}
	if len(keys) > maxListed {
		out = append(out, "...")
	}
	if len(out) == 0 {
		return "the query has no group key"
	}
	return "the keys are " + strings.Join(out, ", ")
}

// names reports that a range of AT names a key.
func (l *layout) names(k *key, at sqlast.Range) bool {
	if slices.Equal(words(l.rewrite.asked, at), k.words) {
		return true
	}
	parts, ok := path(l.rewrite.asked, at)
	switch {
	case !ok:
		return false
	case len(parts) == 1:
		return slices.ContainsFunc(k.names, func(n string) bool { return equal(n, parts[0]) })
	}
	if !k.bare || k.unclear {
		return false
	}
	return equal(string(k.columns[0].column), parts[1]) && equal(l.bound.Refs[k.columns[0].ref].Alias, parts[0])
}

// path reads a range as identifiers joined by points, two at most.
func path(text string, at sqlast.Range) ([]string, bool) {
	part := text[at.Start:at.End]
	var out []string
	for i, t := range sqlast.Tokens(part) {
		word := part[t.Start:t.End]
		switch {
		case i%2 == 1 && word != ".", i%2 == 0 && t.Kind != sqlast.Word && t.Kind != sqlast.QuotedName, i > 2:
			return nil, false
		case t.Kind == sqlast.QuotedName:
			word = strings.ReplaceAll(word[1:len(word)-1], `""`, `"`)
		}
		if i%2 == 0 {
			out = append(out, word)
		}
	}
	return out, len(out) > 0
}

// own finds a column of the call's source, or of one that it is joined to by a
// declared to-one relationship.
func (l *layout) own(c *call, parts []string, at sqlast.Range) (placed, bool) {
	name := semantic.Name(parts[len(parts)-1])
	sources := append([]*source{c.of}, targets(l.stand(c.of).links)...)
	if len(parts) == 1 && l.shows(c.of, name) {
		sources = sources[:1] // its own come first
	}
	var found []placed
	var known []string
	for _, s := range sources {
		if len(parts) == 2 && !equal(parts[0], s.alias) {
			continue
		}
		if l.shows(s, name) {
			found = append(found, placed{at, s.ref, name})
		}
		known = append(known, l.shown(s)...)
	}
	switch {
	case len(found) == 1:
		return found[0], true
	case len(found) > 1:
		l.refuse(diag.New(diag.ResolveAmbiguous, "%q belongs to more than one relation here", parts[0]).WithHint("qualify it"), at.Start)
	default:
		l.refuse(diag.New(diag.ResolveUnknown, "no column %q is known to the measures of %q", strings.Join(parts, "."), c.of.alias).
			Suggest(semantic.Nearest(string(name), known)...).
			WithHint("AT names group keys, columns of %q, and columns of what it is joined to by a declared to-one relationship", c.of.alias), at.Start)
	}
	return placed{}, false
}

// shows reports that a caller may name a column of a source.
func (l *layout) shows(s *source, n semantic.Name) bool {
	return slices.ContainsFunc(l.shown(s), func(o string) bool { return equal(o, string(n)) })
}

func (l *layout) shown(s *source) []string {
	e := l.bound.Refs[s.ref].Entity
	vis, err := l.views.Entity(e.Name)
	if err != nil || vis == nil {
		return nil
	}
	var out []string
	add := func(n semantic.Name) {
		if class, ok := vis.Class(n); ok && class != semantic.Private {
			out = append(out, string(n))
		}
	}
	for _, f := range e.Fields {
		add(f.Name)
	}
	for _, d := range e.Dimensions {
		if e.Field(d.Name) == nil && d.Field == "" {
			add(d.Name)
		}
	}
	return out
}

// expr parses an expression of AT. The word CURRENT is blanked before.
func (l *layout) expr(at sqlast.Range, current bool) (*written, []*sqlast.ColumnRef, int, bool) {
	out := &written{text: at, keys: map[sqlast.Range]*key{}}
	text := []byte(l.rewrite.asked[at.Start:at.End])
	toks := sqlast.Tokens(string(text))
	for i := range toks {
		next := i + 1
		if current && is(string(text), toks, i, "current") && next < len(toks) &&
			(toks[next].Kind == sqlast.Word || toks[next].Kind == sqlast.QuotedName || is(string(text), toks, next, "(")) {
			for k := toks[i].Start; k < toks[i].End; k++ {
				text[k] = ' '
			}
			out.blank = append(out.blank, sqlast.Range{Start: at.Start + toks[i].Start, End: at.Start + toks[i].End})
		}
	}
	tree, _, before, err := sqlast.ParseExpr(l.ctx, l.in.Parser, string(text))
	if err != nil {
		var d *diag.Error
		if !errors.As(err, &d) {
			l.fail(err)
			return nil, nil, 0, false
		}
		l.refuse(d, at.Start+offset(string(text), d.Pos))
		return nil, nil, 0, false
	}
	var refs []*sqlast.ColumnRef
	ok := true
	sqlast.Walk(tree, func(n any) bool {
		what := ""
		switch n := n.(type) {
		case *sqlast.Subquery:
			what = "a query"
		case *sqlast.Window:
			what = "a window function"
		case *sqlast.Lambda:
			what = "a lambda"
		case *sqlast.Star:
			what = "a star"
		case *sqlast.Function:
			if _, call := isCall(n); call || aggregates[strings.ToLower(n.Name)] && !n.IsOperator {
				what = "an aggregate"
			}
		case *sqlast.ColumnRef:
			refs = append(refs, n)
		}
		if what != "" && ok {
			l.refuse(diag.New(diag.UnsupportedAsk, "%s has no place in AT", what).WithHint("filter in WHERE and write AT (VISIBLE), or compute it in a CTE first"), at.Start)
			ok = false
		}
		return ok
	})
	return out, refs, before, ok
}

// condition reads WHERE p.
func (l *layout) condition(c *call, at sqlast.Range) (*written, bool) {
	out, refs, before, ok := l.expr(at, false)
	for _, r := range refs {
		if l.ended() {
			return nil, false
		}
		where, found := l.nameAt(r, at, before)
		if !found {
			return nil, false
		}
		if len(r.Names) == 1 && valueFunction(r.Names[0]) && !l.shows(c.of, semantic.Name(r.Names[0])) {
			continue
		}
		p, found := l.own(c, r.Names[max(0, len(r.Names)-2):], where)
		if !found {
			return nil, false
		}
		out.columns = append(out.columns, p)
	}
	return out, ok
}

// valueFunction reports a word that DuckDB reads as a function without brackets.
func valueFunction(word string) bool {
	return slices.Contains([]string{"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}, strings.ToLower(word))
}

// nameAt gives the place in the asked text of a name of AT.
func (l *layout) nameAt(r *sqlast.ColumnRef, at sqlast.Range, before int) (sqlast.Range, bool) {
	start := sqlast.Offset(int(r.At) - before + at.Start)
	where, ok := sqlast.Path(l.rewrite.asked, start, len(r.Names))
	if !ok || len(r.Names) > 2 {
		l.refuse(diag.New(diag.ResolveUnknown, "no column %q is known here", strings.Join(r.Names, ".")), int(start))
		return where, false
	}
	return where, true
}

// value reads the right side of SET, which may read group keys.
func (l *layout) value(c *call, at sqlast.Range) (*written, bool) {
	out, refs, before, ok := l.expr(at, true)
	keys, _ := l.groupKeys()
	for _, r := range refs {
		if l.ended() {
			return nil, false
		}
		where, found := l.nameAt(r, at, before)
		if !found {
			return nil, false
		}
		if len(r.Names) == 1 && valueFunction(r.Names[0]) {
			continue
		}
		i := slices.IndexFunc(keys, func(k *key) bool { return l.names(k, where) })
		if i < 0 {
			l.refuse(diag.New(diag.UnsupportedAsk, "the value of SET is made of literals and group keys, and %q is none", l.show(where)).
				WithHint("%s", l.keyHint()), where.Start)
			return nil, false
		}
		if slices.ContainsFunc(keys[i+1:], func(k *key) bool { return l.names(k, where) }) {
			l.refuse(diag.New(diag.ResolveAmbiguous, "%q names more than one group key", l.show(where)), where.Start)
			return nil, false
		}
		out.keys[where] = keys[i]
	}
	return out, ok
}
