package resolve

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// selectList binds the select items in order, so that each sees the aliases
// before it, and makes the result columns.
func (r *resolver) selectList(q *sqlast.SelectNode, sel *selection) {
	for _, e := range q.Select {
		if s, ok := e.(*sqlast.Star); ok {
			r.star(s, q, sel)
			continue
		}
		r.item(e, sel)
	}
}

// item binds one select item. Where its result name would be made of text that
// the splices change, the original name is spliced in.
func (r *resolver) item(e sqlast.Expr, sel *selection) {
	meta := sqlast.Meta(e)
	it := &item{uses: [2]int{len(r.uses), 0}}
	refs, stars := len(r.refs), len(r.bound.Stars)
	c := sel.in(InOutput)
	c.bare = true
	it.col.from = r.collect(func() { r.expr(e, c) })
	it.uses[1] = len(r.uses)
	it.col.list = r.isList(e, sel.scope)
	it.col.name = meta.Alias
	if meta.Alias == "" {
		it.col.name = r.resultName(e, sel.scope)
		_, column := e.(*sqlast.ColumnRef)
		if len(r.refs) > refs || len(r.bound.Stars) > stars || !column && r.limitedIn(r.uses[it.uses[0]:it.uses[1]]) {
			r.nameSplice(e, it.col.name)
		}
	}
	if ref, ok := e.(*sqlast.ColumnRef); ok {
		it.col.bare = r.isBare(ref, sel.scope)
	} else if meta.Alias == "" {
		r.labels[fold(it.col.name)] = ownPlace(e)
	}
	sel.cols = append(sel.cols, it.col)
	sel.items = append(sel.items, it)
	key := fold(it.col.name)
	if meta.Alias != "" && sel.scope.aliases[key] == nil {
		sel.scope.aliases[key] = it
	}
}

// limitedIn reports a use of a column that may not stand in every clause: the
// rewrite gives it another name.
func (r *resolver) limitedIn(uses []Use) bool {
	return slices.ContainsFunc(uses, func(u Use) bool {
		class, _ := r.refs[u.Ref].visible.Class(u.Column)
		return class < semantic.Output
	})
}

// resultName is the name of an item without alias: a column keeps the spelling
// it was declared with, everything else is printed.
func (r *resolver) resultName(e sqlast.Expr, sc *scope) string {
	ref, ok := e.(*sqlast.ColumnRef)
	if !ok {
		return resultName(e)
	}
	for at := sc; at != nil; at = at.parent {
		if len(ref.Names) == 1 {
			if hits, _ := at.find(fold(ref.Names[0]), r.origin(ref.At)); len(hits) > 0 {
				return hits[0].col.name
			}
		}
		if h, found := r.peek(ref, at.level); found && h.col != nil {
			return h.col.name
		}
	}
	return resultName(e)
}

// isBare reports whether a name stands for exactly one entity column, unchanged.
func (r *resolver) isBare(ref *sqlast.ColumnRef, sc *scope) bool {
	for at := sc; at != nil; at = at.parent {
		if h, found := r.peek(ref, at.level); found {
			return h.col != nil && h.col.bare
		}
	}
	return false
}

// peek finds the column of one level that a name stands for, without recording
// a use. found without a column: the name means something else there.
func (r *resolver) peek(ref *sqlast.ColumnRef, lv *level) (h hit, found bool) {
	switch len(ref.Names) {
	case 1:
		hits, ambiguous := lv.find(fold(ref.Names[0]), r.origin(ref.At))
		if len(hits) == 0 {
			return hit{}, false
		}
		if len(hits) > 1 || ambiguous {
			return hit{}, true
		}
		return hits[0], true
	case 2:
		rel := lv.relation(fold(ref.Names[0]))
		if rel == nil {
			return hit{}, false
		}
		if col := rel.column(fold(ref.Names[1]), r.origin(ref.At)); col != nil {
			return hit{rel, col}, true
		}
		return hit{}, true
	}
	return hit{}, false
}

func (r *resolver) nameSplice(e sqlast.Expr, name string) {
	if name == "" {
		r.refuse(ownPlace(e), "give it a name with AS", "the name of this result column is not certain")
		return
	}
	end, err := sqlast.ItemEnd(r.text, ownPlace(e))
	if err != nil {
		r.add(err, place(e))
		return
	}
	r.bound.Names = append(r.bound.Names, NameSplice{At: end, Label: name})
}

// ownPlace is a place inside an item but outside the queries in it.
func ownPlace(e sqlast.Expr) sqlast.Offset {
	at := sqlast.NoOffset
	sqlast.Walk(e, func(n any) bool {
		if x, ok := n.(sqlast.Expr); ok && at == sqlast.NoOffset {
			at = place(x)
		}
		_, query := n.(*sqlast.Subquery)
		return at == sqlast.NoOffset && !query
	})
	return at
}

// starColumn is one column that a star stands for.
type starColumn struct {
	hits   []hit // several for the merged column of a FULL join
	name   string
	sql    string
	as     bool // the name differs from the column's
	custom *column
}

// star expands a star to the output columns it stands for and splices the list.
func (r *resolver) star(s *sqlast.Star, q *sqlast.SelectNode, sel *selection) {
	r.kinds["STAR"] = true
	if s.Expr != nil || s.Alias != "" {
		r.refuse(s.At, "list the columns by name", "COLUMNS(...) is not supported")
		return
	}
	if _, empty := q.From.(*sqlast.EmptyRef); empty || len(sel.scope.rels) == 0 {
		if !sel.scope.broken {
			r.refuse(s.At, "add FROM", "* needs a FROM clause")
		}
		return
	}
	rels := sel.scope.rels
	if s.Relation != "" {
		rel := sel.scope.relation(fold(s.Relation))
		if rel == nil {
			if !sel.scope.anyBroken() {
				r.unknown(s.At, "relation", s.Relation, (&scope{level: sel.scope.level}).relationNames())
			}
			return
		}
		rels = []*relation{rel}
	}
	if s.At == sqlast.NoOffset {
		r.silentStar(rels, sel)
		return
	}
	list := r.starColumns(rels, s.Relation == "", sel.scope.level)
	list = r.exclude(s, list, rels, sel)
	list = r.replace(s, list, rels, sel)
	list = r.renameStar(s, list, rels, sel)
	if len(list) == 0 {
		if !sel.scope.broken {
			r.refuse(s.At, "name a column", "* stands for no column here")
		}
		return
	}
	r.spliceStar(s, list, sel)
	r.addStar(s.At, list, sel)
}

// silentStar is a star that stands in the tree and not in the text: VALUES, the
// PIVOT statement, a join in brackets with an alias. It cannot be spliced, so the
// fences below it offer output columns only.
func (r *resolver) silentStar(rels []*relation, sel *selection) {
	at := sqlast.NoOffset
	for _, rel := range rels {
		if rel.ref >= 0 {
			at = r.refs[rel.ref].Node.At
			r.refs[rel.ref].silent = true
		}
	}
	r.addStar(at, r.starColumns(rels, true, sel.scope.level), sel)
}

// starColumns lists what a star stands for: output columns in declared order,
// a merged column of USING once.
func (r *resolver) starColumns(rels []*relation, all bool, lv *level) []starColumn {
	var out []starColumn
	done := map[*merged]bool{}
	for _, rel := range rels {
		if rel.ref >= 0 && !r.refs[rel.ref].silent {
			r.refs[rel.ref].full = true
		}
		for i := range rel.cols {
			h := hit{rel, &rel.cols[i]}
			m := lv.mergedBy(h)
			switch {
			case h.col.direct && h.col.class != semantic.Output:
			case !all || m == nil:
				out = append(out, starColumn{hits: []hit{h}, name: h.col.name})
			case !done[m] && m.primary >= 0:
				done[m] = true
				out = append(out, starColumn{hits: []hit{m.members[m.primary]}, name: h.col.name})
			case !done[m]:
				done[m] = true
				out = append(out, starColumn{hits: m.members, name: h.col.name, as: true})
			}
		}
	}
	return out
}

func (c *starColumn) matches(key, table string) bool {
	for _, h := range c.hits {
		if fold(h.col.name) == key && (table == "" || h.rel.named(fold(table))) {
			return true
		}
	}
	return false
}

// exclude drops the named columns. A name that is not visible is refused like
// one that does not exist; a visible one that * does not show may be named.
func (r *resolver) exclude(s *sqlast.Star, list []starColumn, rels []*relation, sel *selection) []starColumn {
	drop := func(table, name string) {
		known := false
		list = slices.DeleteFunc(list, func(c starColumn) bool {
			hit := c.matches(fold(name), table)
			known = known || hit
			return hit
		})
		for _, rel := range rels {
			known = known || (table == "" || rel.named(fold(table))) && rel.column(fold(name), Caller) != nil
		}
		if !known && !sel.scope.broken {
			r.unknown(s.At, "column to EXCLUDE", name, sel.scope.names(Caller))
		}
	}
	for _, n := range s.Exclude {
		drop("", n)
	}
	for _, n := range s.QualifiedExclude {
		if n.Catalog != "" || n.Schema != "" {
			r.unknown(s.At, "column to EXCLUDE", n.Column, nil)
			continue
		}
		drop(n.Table, n.Column)
	}
	return list
}

// replace puts the REPLACE expressions in, with the text they have.
func (r *resolver) replace(s *sqlast.Star, list []starColumn, rels []*relation, sel *selection) []starColumn {
	for _, rep := range s.Replace {
		refs := len(r.refs)
		c := sel.in(InOutput)
		from := r.collect(func() { r.expr(rep.Expr, c) })
		text, ok := replaceText(r.text, s.At, rep.Name)
		if !ok || len(r.refs) > refs {
			r.refuse(s.At, "list the columns by name", "this REPLACE is not supported")
			continue
		}
		found := false
		list = slices.DeleteFunc(list, func(c starColumn) bool {
			again := found && c.custom == nil && c.matches(fold(rep.Name), "")
			found = found || c.matches(fold(rep.Name), "")
			return again // as DuckDB does with every later column of that name
		})
		for i := range list {
			if list[i].matches(fold(rep.Name), "") {
				list[i].sql, list[i].as = "("+text+")", true
				list[i].custom = &column{name: list[i].name, from: from}
			}
		}
		if !found {
			r.notShown(s.At, "REPLACE", rep.Name, list, rels, sel)
		}
	}
	return list
}

// notShown reports a name of REPLACE or RENAME that the star does not stand for.
func (r *resolver) notShown(at sqlast.Offset, word, name string, list []starColumn, rels []*relation, sel *selection) {
	if sel.scope.broken {
		return
	}
	for _, rel := range rels {
		if rel.column(fold(name), Caller) != nil {
			r.refuse(at, "name a column that * shows", "* does not show %q, so %s finds nothing", name, word)
			return
		}
	}
	var shown []string
	for _, c := range list {
		shown = append(shown, c.name)
	}
	r.unknown(at, "column to "+word, name, shown)
}

func (r *resolver) renameStar(s *sqlast.Star, list []starColumn, rels []*relation, sel *selection) []starColumn {
	for _, ren := range s.Rename {
		found := false
		for i := range list {
			if list[i].matches(fold(ren.From.Column), ren.From.Table) {
				found = true
				list[i].name, list[i].as = ren.To, true
			}
		}
		if !found {
			r.notShown(s.At, "RENAME", ren.From.Column, list, rels, sel)
		}
	}
	return list
}

// spliceStar writes the list. A relation without a name of its own is not
// qualified, which needs its column names to be unique.
func (r *resolver) spliceStar(s *sqlast.Star, list []starColumn, sel *selection) {
	parts := make([]string, len(list))
	for i, c := range list {
		if c.sql == "" {
			var names []string
			for _, h := range c.hits {
				name := semantic.Quote(h.col.name)
				if h.rel.alias != "" {
					name = semantic.Quote(h.rel.alias) + "." + name
				} else if _, ambiguous := sel.scope.find(fold(h.col.name), Caller); ambiguous {
					r.report(diag.ResolveAmbiguous, s.At, "* stands for two columns named %q", h.col.name).Hint = "give each derived table an alias"
				}
				names = append(names, name)
			}
			c.sql = names[0]
			if len(names) > 1 {
				c.sql = "coalesce(" + strings.Join(names, ", ") + ")"
			}
		}
		if c.as {
			c.sql += " AS " + semantic.Quote(c.name)
		}
		parts[i] = c.sql
	}
	sql := strings.Join(parts, ", ")
	if word(r.text, s.At, "from") {
		r.bound.Stars = append(r.bound.Stars, StarSplice{Span: Span{int(s.At), int(s.At)}, SQL: "SELECT " + sql + " "})
		return
	}
	if word(r.text, s.At, "table") {
		r.refuse(s.At, "write SELECT * FROM the table", "TABLE is not supported")
		return
	}
	start, end, err := sqlast.StarSpan(r.text, s.At)
	if err != nil {
		r.add(err, s.At)
		return
	}
	r.bound.Stars = append(r.bound.Stars, StarSplice{Span: Span{start, end}, SQL: sql})
}

func word(text string, at sqlast.Offset, w string) bool {
	i := int(at)
	return i+len(w) <= len(text) && strings.EqualFold(text[i:i+len(w)], w)
}

// addStar makes the result columns of a star and records their uses.
func (r *resolver) addStar(at sqlast.Offset, list []starColumn, sel *selection) {
	for _, c := range list {
		it := &item{uses: [2]int{len(r.uses), 0}}
		if c.custom != nil {
			it.col = *c.custom
		} else {
			it.col.bare = len(c.hits) == 1 && c.hits[0].col.bare
			it.col.list = len(c.hits) == 1 && (c.hits[0].col.list || c.hits[0].col.direct)
			for _, h := range c.hits {
				it.col.from.add(h.col.from...)
				r.touch(h.col.from)
				if h.col.direct {
					r.record(h, Use{Clause: InOutput, Bare: true, At: at})
				}
			}
		}
		it.uses[1] = len(r.uses)
		it.col.name = c.name
		sel.cols = append(sel.cols, it.col)
		sel.items = append(sel.items, it)
	}
}

// lostStars refuses t.* as an argument: DuckDB's parser drops it from the tree,
// and count(t.*) would run as count(*).
func (r *resolver) lostStars() {
	toks := sqlast.Tokens(r.text)
	for i := 1; i < len(toks); i++ {
		if r.text[toks[i].Start:toks[i].End] != "*" || r.text[toks[i-1].Start:toks[i-1].End] != "." {
			continue
		}
		at := toks[i].Start
		if !slices.ContainsFunc(r.bound.Stars, func(s StarSplice) bool { return s.Span.Contains(at) }) {
			r.refuse(sqlast.Offset(at), "list the columns by name", "* stands only alone in a select list")
		}
	}
}

// replaceText finds the text of the REPLACE item that makes name.
func replaceText(text string, at sqlast.Offset, name string) (string, bool) {
	start, end, err := sqlast.StarSpan(text, at)
	if err != nil {
		return "", false
	}
	toks := sqlast.Tokens(text[start:end])
	show := func(i int) string { return text[start+toks[i].Start : start+toks[i].End] }
	i := 0
	for i < len(toks) && (toks[i].Kind != sqlast.Word || !strings.EqualFold(show(i), "replace")) {
		i++
	}
	if i+1 >= len(toks) || show(i+1) != "(" {
		return "", false
	}
	depth, first := 0, i+2
	for j := i + 1; j < len(toks); j++ {
		switch show(j) {
		case "(", "[", "{":
			depth++
		case "]", "}":
			depth--
		case ",", ")":
			if depth == 1 && j-2 > first && strings.EqualFold(show(j-2), "as") && fold(unquote(show(j-1))) == fold(name) {
				return text[start+toks[first].Start : start+toks[j-3].End], true
			}
			if depth == 1 {
				first = j + 1
			}
			if show(j) == ")" {
				depth--
			}
			if depth == 0 {
				return "", false
			}
		}
	}
	return "", false
}

func unquote(name string) string {
	if strings.HasPrefix(name, `"`) && len(name) > 1 {
		return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
	}
	return name
}
