package rewrite

import (
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// splice replaces one span of the text; an empty span is an insertion.
type splice struct {
	resolve.Span
	text string
}

// splices lists all replacements of a statement.
func splices(b *resolve.Bound, fences []Fence, spelled map[sqlast.Offset]*respelling, grouped groups, limit rowLimit) []splice {
	var out []splice
	for _, r := range spelled {
		out = append(out, splice{r.span, semantic.Quote(r.name)})
		if r.item > 0 {
			out = append(out, splice{resolve.Span{Start: r.item, End: r.item}, " AS " + semantic.Quote(r.label)})
		}
	}
	for i, ref := range b.Refs {
		text := fences[i].Text
		if ref.AddAlias {
			text += " AS " + semantic.Quote(ref.Alias)
		}
		out = append(out, splice{ref.Name, text})
	}
	for _, s := range b.Stars {
		out = append(out, splice{s.Span, s.SQL})
	}
	for _, n := range b.Names {
		out = append(out, splice{resolve.Span{Start: n.At, End: n.At}, " AS " + semantic.Quote(n.Label)})
	}
	out = append(out, grouped.splices()...)
	if limit.splice != nil {
		out = append(out, *limit.splice)
	}
	// Without its semicolon the result may stand in brackets.
	toks := sqlast.Tokens(b.Statement.Text)
	if last := toks[len(toks)-1]; b.Statement.Text[last.Start:last.End] == ";" {
		out = append(out, splice{Span: resolve.Span{Start: last.Start, End: last.End}})
	}
	return out
}

// apply makes the replacements. Two of them may touch but not overlap; of two
// insertions at one place, the first listed comes first.
func apply(text string, list []splice) (string, error) {
	slices.SortStableFunc(list, func(a, b splice) int { return a.Start - b.Start })
	var out strings.Builder
	at := 0
	for _, s := range list {
		if s.Start < at || s.End < s.Start || s.End > len(text) {
			return "", diag.New(diag.BugSplice, "two replacements of the text overlap").At(diag.PosAt("", text, s.Start))
		}
		out.WriteString(text[at:s.Start])
		out.WriteString(s.text)
		at = s.End
	}
	out.WriteString(text[at:])
	return out.String(), nil
}
