package measure

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// key is one group key of a level.
type key struct {
	text    sqlast.Range
	words   []string // the text's tokens
	names   []string // select aliases, and the column's own name when it is one
	columns []placed
	bare    bool // one column, unchanged
	unclear bool // it reads what is no column of an entity or view
}

// placed is one column in the text.
type placed struct {
	at     sqlast.Range
	ref    int
	column semantic.Name
}

// keys reads the level's group keys; false when that was refused.
func (l *layout) keys() ([]*key, bool) {
	n, c := l.level.node, l.level.clauses
	var out []*key
	add := func(e sqlast.Expr, at sqlast.Range, alias string) bool {
		k, ok := l.key(e, at, alias)
		if ok && !slices.ContainsFunc(out, func(o *key) bool { return o.text == k.text }) {
			out = append(out, k)
		}
		return ok
	}
	item := func(i int) bool {
		e := n.Select[i]
		alias := sqlast.Meta(e).Alias
		return add(e, stripped(l.plain, c.Items[i], alias), alias)
	}
	if n.Aggregates == "FORCE_AGGREGATES" {
		for i, e := range n.Select {
			if _, star := e.(*sqlast.Star); star {
				return nil, l.unsupported("list the columns beside MEASURE by name", "GROUP BY ALL over * has keys that the text does not name")
			}
			if !aggregated(e) && !item(i) {
				return nil, false
			}
		}
		return out, true
	}
	if len(c.Group) != len(n.Groups) || len(n.GroupSets) > 1 {
		return nil, l.unsupported("ask each grouping in a query of its own and put them together with UNION ALL",
			"MEASURE with AT, or over a join that repeats rows, wants a plain list of columns and expressions in GROUP BY")
	}
	for i, e := range n.Groups {
		var ok bool
		if at, isItem := l.item(e); isItem {
			if at < 0 || at >= len(n.Select) {
				return nil, l.unsupported("count from 1 over the selected columns", "GROUP BY names a column that is not selected")
			}
			ok = item(at)
		} else {
			ok = add(e, c.Group[i], "")
			l.aliasOf(out[len(out)-1])
		}
		if !ok {
			return nil, false
		}
	}
	return out, true
}

// item gives the select item that a term of GROUP BY stands for: by its position,
// or by an alias that is no column here.
func (l *layout) item(e sqlast.Expr) (int, bool) {
	switch e := e.(type) {
	case *sqlast.Constant:
		if e.Value.Type.ID == "INTEGER" && !e.Value.IsNull {
			n := 0
			for _, d := range e.Value.Raw {
				n = n*10 + int(d-'0')
			}
			return n - 1, true
		}
	case *sqlast.ColumnRef:
		if len(e.Names) == 1 && !l.offers(e.Names[0]) {
			i := slices.IndexFunc(l.level.node.Select, func(s sqlast.Expr) bool { return equal(sqlast.Meta(s).Alias, e.Names[0]) })
			return i, i >= 0
		}
	}
	return 0, false
}

// offers reports that a source of the level has a column of that name.
func (l *layout) offers(name string) bool {
	return slices.ContainsFunc(l.level.sources, func(s *source) bool {
		return has(l.bound.Refs[s.ref].Entity, semantic.Name(name))
	})
}

// aliasOf adds the aliases under which the select list shows a key.
func (l *layout) aliasOf(k *key) {
	for i, e := range l.level.node.Select {
		alias := sqlast.Meta(e).Alias
		if alias != "" && sameTokens(l.plain, stripped(l.plain, l.level.clauses.Items[i], alias), l.plain, k.text) {
			k.names = append(k.names, alias)
		}
	}
}

// aggregated reports that an item is computed from the group.
func aggregated(e sqlast.Expr) bool {
	found := false
	sqlast.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case sqlast.Query:
			return false
		case *sqlast.Window:
			found = true
		case *sqlast.Function:
			found = found || aggregates[strings.ToLower(n.Name)]
		}
		return !found
	})
	return found
}

// stripped is an item without its alias.
func stripped(text string, item sqlast.Range, alias string) sqlast.Range {
	if alias == "" {
		return item
	}
	toks := sqlast.Tokens(text[item.Start:item.End])
	n := len(toks)
	part := text[item.Start:item.End]
	if n > 2 && is(part, toks, 1, ":") && !is(part, toks, 2, ":") {
		return sqlast.Range{Start: item.Start + toks[2].Start, End: item.End}
	}
	n--
	if n > 1 && is(part, toks, n-1, "as") {
		n--
	}
	if n < 1 {
		return item
	}
	return sqlast.Range{Start: item.Start, End: item.Start + toks[n-1].End}
}

// key reads one key, and makes sure that its text is what the tree says.
func (l *layout) key(e sqlast.Expr, at sqlast.Range, alias string) (*key, bool) {
	if !l.is(e, at) {
		return nil, l.unsupported("write the key as a plain column or expression", "a key of GROUP BY cannot be told from its text")
	}
	k := &key{text: at, words: words(l.plain, at)}
	if alias != "" {
		k.names = append(k.names, alias)
	}
	k.columns, k.unclear = l.placed(e)
	if ref, ok := e.(*sqlast.ColumnRef); ok {
		k.bare = true
		k.names = append(k.names, ref.Names[len(ref.Names)-1])
	}
	return k, true
}

// is reports that a range of the text parses to an expression.
func (l *layout) is(e sqlast.Expr, at sqlast.Range) bool {
	if at.Start >= at.End {
		return false
	}
	st, err := sqlast.Parse(l.ctx, l.in.Parser, "SELECT "+l.plain[at.Start:at.End])
	if err != nil {
		return false
	}
	q, ok := st.Root.(*sqlast.SelectNode)
	if !ok || len(q.Select) != 1 {
		return false
	}
	sqlast.Meta(q.Select[0]).Alias = sqlast.Meta(e).Alias // the tree is ours alone
	same := *q
	same.Select = []sqlast.Expr{e}
	_, empty := q.From.(*sqlast.EmptyRef)
	return empty && q.Where == nil && len(q.Groups) == 0 && len(q.Modifiers) == 0 && sqlast.Equal(q, &same)
}

// placed lists the columns of an expression; true when some of what it reads is
// no column of a source of this level.
func (l *layout) placed(e sqlast.Expr) (out []placed, unclear bool) {
	sqlast.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case sqlast.Query:
			unclear = true
			return false
		case *sqlast.ColumnRef:
			p, ok := l.placedAt(n)
			unclear = unclear || !ok
			out = append(out, p)
		}
		return true
	})
	return out, unclear
}

func (l *layout) placedAt(n *sqlast.ColumnRef) (placed, bool) {
	u, ok := l.columns[n.At]
	if !ok {
		return placed{}, false
	}
	at, ok := sqlast.Path(l.plain, n.At, len(n.Names))
	return placed{at, u.Ref, u.Column}, ok
}

// column reads an expression as one column.
func (l *layout) column(e sqlast.Expr) (int, semantic.Name, bool) {
	ref, ok := e.(*sqlast.ColumnRef)
	if !ok {
		return 0, "", false
	}
	p, ok := l.placedAt(ref)
	return p.ref, p.column, ok
}

func sameTokens(a string, ra sqlast.Range, b string, rb sqlast.Range) bool {
	return slices.Equal(words(a, ra), words(b, rb))
}

// words are the tokens of a range, plain names as they compare.
func words(text string, r sqlast.Range) []string {
	part := text[r.Start:r.End]
	var out []string
	for _, t := range sqlast.Tokens(part) {
		word := part[t.Start:t.End]
		if t.Kind == sqlast.Word {
			word = semantic.Name(word).Key()
		}
		out = append(out, word)
	}
	return out
}

func (l *layout) unsupported(hint, format string, args ...any) bool {
	l.refuse(diag.New(diag.UnsupportedAsk, format, args...).WithHint("%s", hint), l.level.calls[0].at)
	return false
}
