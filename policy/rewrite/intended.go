package rewrite

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// intended builds the tree that the spliced text must have: the original one with
// nodes replaced. Each fence and each spelled-out star is parsed for itself.
func intended(ctx context.Context, p sqlast.Parser, b *resolve.Bound, fences []Fence, spelled map[sqlast.Offset]*respelling, grouped groups, limit rowLimit) (sqlast.Query, error) {
	var texts []string
	for _, f := range fences {
		texts = append(texts, f.Text)
	}
	for _, s := range b.Stars {
		texts = append(texts, starQuery(s))
	}
	parsed, err := parseAll(ctx, p, texts)
	if err != nil {
		return nil, err
	}
	in := &intent{refs: map[*sqlast.BaseTable]sqlast.TableRef{}, stars: map[sqlast.Offset][]sqlast.Expr{}, names: map[sqlast.Expr]string{},
		spelled: spelled, found: map[sqlast.Offset]bool{}}
	for i, ref := range b.Refs {
		if ref.AddAlias != (ref.Node.Alias == "") {
			return nil, diag.New(diag.BugSplice, "a reference's alias differs from the tree's")
		}
		in.refs[ref.Node] = fenced(ref, parsed[texts[i]])
	}
	for _, s := range b.Stars {
		q, ok := parsed[starQuery(s)].(*sqlast.SelectNode)
		if !ok {
			return nil, diag.New(diag.BugSplice, "a star stands for no list")
		}
		in.stars[sqlast.Offset(s.Span.Start)] = q.Select
	}
	if err := in.findNames(b); err != nil {
		return nil, err
	}
	missing := len(in.refs) + len(in.stars) + len(in.names)
	root := in.copy(reflect.ValueOf(&b.Statement.Root).Elem()).Interface().(sqlast.Query)
	if in.done != missing || missing != len(b.Refs)+len(b.Stars)+len(b.Names) || len(in.found) != len(spelled) {
		return nil, diag.New(diag.BugSplice, "a replacement has no place in the tree")
	}
	grouped.set(root)
	limit.set(sqlast.Base(root))
	return root, nil
}

// starQuery is the query whose select list a star stands for. A star that is not
// written is spliced together with its SELECT.
func starQuery(s resolve.StarSplice) string {
	if s.Span.Start == s.Span.End {
		return "(" + s.SQL + ")"
	}
	return "(SELECT " + s.SQL + ")"
}

func fenced(ref resolve.Ref, q sqlast.Query) sqlast.TableRef {
	base := ref.Node.RefBase
	if ref.AddAlias {
		base.Alias = ref.Alias
	}
	return &sqlast.SubqueryRef{RefBase: base, Query: q, ColumnAliases: ref.Node.ColumnAliases}
}

// set puts the limit where DuckDB has it: last, or beside the OFFSET.
func (l rowLimit) set(base *sqlast.QueryBase) {
	if l.splice == nil {
		return
	}
	for _, m := range base.Modifiers {
		if m, ok := m.(*sqlast.Limit); ok {
			m.Limit = l.literal
			return
		}
	}
	base.Modifiers = append(base.Modifiers, &sqlast.Limit{Limit: l.literal})
}

// parseAll parses bracketed queries, each distinct one once and several in one
// text. A text that is not one bracket and its content is a bug, so that none
// can reach into its neighbour.
func parseAll(ctx context.Context, p sqlast.Parser, texts []string) (map[string]sqlast.Query, error) {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	texts = slices.Compact(texts)
	out := map[string]sqlast.Query{}
	for len(texts) > 0 {
		n, size := 0, 0
		for n < len(texts) && n <= sqlast.MaxJoins && (n == 0 || size+len(texts[n]) < sqlast.MaxText/2) {
			if !oneBracket(texts[n]) {
				return nil, diag.New(diag.BugSplice, "a fence or a star's list is not one bracket")
			}
			size += len(texts[n])
			n++
		}
		if err := parseSome(ctx, p, texts[:n], out); err != nil {
			return nil, err
		}
		texts = texts[n:]
	}
	return out, nil
}

func oneBracket(text string) bool {
	toks := sqlast.Tokens(text)
	show := func(i int) string { return text[toks[i].Start:toks[i].End] }
	return len(toks) > 0 && toks[0].Start == 0 && toks[len(toks)-1].End == len(text) &&
		show(0) == "(" && closing(toks, show, 0) == len(toks)-1
}

func parseSome(ctx context.Context, p sqlast.Parser, texts []string, out map[string]sqlast.Query) error {
	var b strings.Builder
	b.WriteString("SELECT 1 FROM ")
	for i, t := range texts {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s AS q%d", t, i)
	}
	st, err := sqlast.Parse(ctx, p, b.String())
	if err != nil {
		return asBug(err)
	}
	q, ok := st.Root.(*sqlast.SelectNode)
	if !ok {
		return diag.New(diag.BugSplice, "a fence or a star's list is no query")
	}
	from := q.From
	for i := len(texts) - 1; i >= 0; i-- {
		item := from
		if j, ok := from.(*sqlast.JoinRef); ok && i > 0 && j.Implicit {
			from, item = j.Left, j.Right
		}
		s, ok := item.(*sqlast.SubqueryRef)
		if !ok || s.Alias != fmt.Sprintf("q%d", i) {
			return diag.New(diag.BugSplice, "a fence or a star's list is no query")
		}
		out[texts[i]] = s.Query
	}
	return nil
}

// intent says which nodes of the original tree are replaced by what.
type intent struct {
	refs  map[*sqlast.BaseTable]sqlast.TableRef
	stars map[sqlast.Offset][]sqlast.Expr
	names map[sqlast.Expr]string
	done  int // replacements made
	// spelled are the references to respell, found those that are met.
	spelled map[sqlast.Offset]*respelling
	found   map[sqlast.Offset]bool
}

// findNames finds the select items that get a name spliced in.
func (in *intent) findNames(b *resolve.Bound) error {
	if len(b.Names) == 0 {
		return nil
	}
	labels := map[int]string{}
	for _, n := range b.Names {
		labels[n.At] = n.Label
	}
	text := b.Statement.Text
	sqlast.Walk(b.Statement.Root, func(n any) bool {
		q, ok := n.(*sqlast.SelectNode)
		if !ok {
			return true
		}
		for _, e := range q.Select {
			if sqlast.Meta(e).Alias != "" || !in.spliceInside(e) {
				continue
			}
			if end, err := sqlast.ItemEnd(text, itemPlace(e)); err == nil && labels[end] != "" {
				in.names[e] = labels[end]
			}
		}
		return true
	})
	return nil
}

// spliceInside reports whether a splice may change the text of an item, and so
// its name: whether a query, a star or a limited column stands in it.
func (in *intent) spliceInside(e sqlast.Expr) bool {
	found := false
	sqlast.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case sqlast.Query, *sqlast.Star:
			found = true
		case *sqlast.ColumnRef:
			found = found || in.spelled[n.At] != nil
		}
		return !found
	})
	return found
}

// itemPlace is a place of a select item that lies outside the queries in it.
func itemPlace(e sqlast.Expr) sqlast.Offset {
	at := sqlast.NoOffset
	sqlast.Walk(e, func(n any) bool {
		if x, ok := n.(sqlast.Expr); ok && at == sqlast.NoOffset {
			at = sqlast.Meta(x).At
		}
		_, query := n.(sqlast.Query)
		return at == sqlast.NoOffset && !query
	})
	return at
}

var (
	exprType  = reflect.TypeFor[sqlast.Expr]()
	tableType = reflect.TypeFor[sqlast.TableRef]()
)

// copy copies a tree and makes the replacements on the way.
func (in *intent) copy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return out
		}
		if t, ok := v.Interface().(*sqlast.BaseTable); ok && v.Type() == tableType && in.refs[t] != nil {
			in.done++
			out.Set(reflect.ValueOf(in.refs[t]))
			return out
		}
		out.Set(in.copy(v.Elem()))
		if e, ok := v.Interface().(sqlast.Expr); ok && in.names[e] != "" {
			in.done++
			sqlast.Meta(out.Interface().(sqlast.Expr)).Alias = in.names[e]
		}
		in.respell(out)
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(in.copy(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(in.copy(v.Field(i)))
		}
	case reflect.Slice:
		for i := range v.Len() {
			if list, ok := in.star(v.Index(i)); ok {
				in.done++
				out = reflect.AppendSlice(out, reflect.ValueOf(list))
				continue
			}
			out = reflect.Append(out, in.copy(v.Index(i)))
		}
	default:
		out.Set(v)
	}
	return out
}

// respell gives a copied reference to a limited column its new name. DuckDB may
// have put one reference of the text into several places of the tree.
func (in *intent) respell(v reflect.Value) {
	c, ok := v.Interface().(*sqlast.ColumnRef)
	if !ok || in.spelled[c.At] == nil {
		return
	}
	r := in.spelled[c.At]
	in.found[c.At] = true
	if len(c.Names) <= r.part {
		return // and the trees differ
	}
	c.Names[r.part] = r.name
	if r.item > 0 && c.Alias == "" {
		c.Alias = r.label
	}
}

// star gives the list that an item of an expression list is replaced by.
func (in *intent) star(v reflect.Value) ([]sqlast.Expr, bool) {
	if v.Type() != exprType {
		return nil, false
	}
	s, ok := v.Interface().(*sqlast.Star)
	if !ok || s.At == sqlast.NoOffset {
		return nil, false
	}
	list, ok := in.stars[s.At]
	return list, ok
}
