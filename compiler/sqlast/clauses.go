package sqlast

import "plumbline/semantic/diag"

// Range is a half-open byte range of a text.
type Range struct{ Start, End int }

// Clauses are the places of the parts of one SELECT: each from its first token to
// the end of its last, without the words that begin it. A part that is absent has
// the zero Range.
type Clauses struct {
	Items  []Range // of the select list, with their aliases
	From   Range
	Where  Range
	Group  []Range // terms of GROUP BY
	Having Range
	// BeforeHaving is where HAVING stands, or may be written: the end of the last of
	// the clauses above.
	BeforeHaving int
}

// ClausesAt gives the clauses of the SELECT to which the token at the offset
// belongs; the token must not stand in a query inside it.
func ClausesAt(text string, at Offset) (Clauses, error) {
	b, ok := blockAt(text, at, 0)
	if !ok {
		return Clauses{}, diag.New(diag.BugSplice, "no query stands where the tree says").At(diag.PosAt("", text, int(at)))
	}
	var out Clauses
	word, start, depth := "", 0, 0
	j := b.first
	keep := func() {
		switch word {
		case "select", "from", "where", "group":
			out.BeforeHaving = b.toks[j-1].End
		}
		switch word {
		case "select":
			out.Items = items(text, b.toks, selectStart(text, b.toks, start), j)
		case "from":
			out.From = rangeOf(b.toks, start, j)
		case "where":
			out.Where = rangeOf(b.toks, start, j)
		case "group":
			out.Group = items(text, b.toks, start+1, j) // after BY
		case "having":
			out.Having = rangeOf(b.toks, start, j)
		}
	}
	for ; j < len(b.toks); j++ {
		n := nesting(text[b.toks[j].Start:b.toks[j].End])
		if depth+n < 0 || depth == 0 && (is(text, b.toks, j, ";") || endsQuery(text, b.toks, j)) {
			break
		}
		if depth == 0 && startsClause(text, b.toks, j) {
			keep()
			word, start = lower(text, b.toks[j]), j+1
		}
		depth += n
	}
	keep()
	return out, nil
}

func rangeOf(toks []Token, from, to int) Range {
	if from >= to {
		return Range{}
	}
	return Range{toks[from].Start, toks[to-1].End}
}

// selectStart passes by DISTINCT, DISTINCT ON (...) and ALL.
func selectStart(text string, toks []Token, i int) int {
	switch {
	case is(text, toks, i, "all"):
		return i + 1
	case !is(text, toks, i, "distinct"):
		return i
	case !is(text, toks, i+1, "on"):
		return i + 1
	}
	if end := closing(text, toks, i+2); end >= 0 {
		return end + 1
	}
	return i + 1
}

// items splits the tokens from one index to another at the commas between them.
func items(text string, toks []Token, from, to int) []Range {
	var out []Range
	first, depth := from, 0
	for j := from; j <= to && from < to; j++ {
		if j < to {
			depth += nesting(text[toks[j].Start:toks[j].End])
		}
		if j == to || depth == 0 && is(text, toks, j, ",") {
			out = append(out, rangeOf(toks, first, j))
			first = j + 1
		}
	}
	if n := len(out); n > 1 && out[n-1] == (Range{}) {
		out = out[:n-1] // a comma at the end
	}
	return out
}

func endsQuery(text string, toks []Token, j int) bool {
	return !label(text, toks, j) && (is(text, toks, j, "union") || is(text, toks, j, "except") || is(text, toks, j, "intersect"))
}

// label reports that a word is a name because of what stands before it.
func label(text string, toks []Token, j int) bool {
	return is(text, toks, j-1, "as") || is(text, toks, j-1, ".")
}

func startsClause(text string, toks []Token, j int) bool {
	switch {
	case toks[j].Kind != Word || label(text, toks, j):
		return false
	case is(text, toks, j, "select"):
		return true
	case is(text, toks, j, "using"):
		return is(text, toks, j+1, "sample")
	}
	return endsItem(text, toks, j)
}

func lower(text string, t Token) string {
	out := []byte(text[t.Start:t.End])
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}
	return string(out)
}

// Path gives the range of the name that starts at a column's place: so many
// identifiers joined by points.
func Path(text string, at Offset, parts int) (Range, bool) {
	toks, i, ok := tokensFrom(text, at)
	if !ok {
		return Range{}, false
	}
	start := i
	for n := range parts {
		if n > 0 {
			if !is(text, toks, i, ".") {
				return Range{}, false
			}
			i++
		}
		if _, ok := namePart(text, toks, i, false); !ok {
			return Range{}, false
		}
		i++
	}
	return Range{toks[start].Start, toks[i-1].End}, true
}

// CallEnd gives the place after the bracket that closes the call at the offset.
func CallEnd(text string, at Offset) (int, bool) {
	toks, i, ok := tokensFrom(text, at)
	if !ok || !is(text, toks, i+1, "(") {
		return 0, false
	}
	end := closing(text, toks, i+1)
	if end < 0 {
		return 0, false
	}
	return toks[end].End, true
}
