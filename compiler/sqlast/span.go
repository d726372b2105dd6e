package sqlast

import (
	"strings"

	"plumbline/semantic/diag"
)

// NamePath gives the span and the parts of the name that starts at a reference's
// place: identifiers joined by points, with spaces and comments between. A plain
// 'text' is a name of one part, as DuckDB reads it after FROM. Forms of FROM
// whose rest would not fit round a replaced name (ONLY t, TABLE t, t *) are
// refused with unsupported.node, other forms with bug.splice.
func NamePath(text string, at Offset) (start, end int, parts []string, err error) {
	toks, i, ok := tokensFrom(text, at)
	if !ok {
		return 0, 0, nil, noName(text, at)
	}
	if word := formBefore(text, toks, i); word != "" {
		return 0, 0, nil, diag.New(diag.UnsupportedNode, "%s before a relation's name is not supported", word).
			At(diag.PosAt("", text, int(at))).WithHint("write SELECT * FROM name")
	}
	start, first := toks[i].Start, i
	for {
		part, ok := namePart(text, toks, i, i == first)
		if !ok && (toks[i].Kind == Text || toks[i].Kind == DollarText) {
			return 0, 0, nil, diag.New(diag.UnsupportedNode, "a relation's name in this form of text is not supported").
				At(diag.PosAt("", text, int(at))).WithHint("write the name as an identifier")
		}
		if !ok {
			return 0, 0, nil, noName(text, at)
		}
		parts, end = append(parts, part), toks[i].End
		i++
		if !is(text, toks, i, ".") {
			break
		}
		i++
	}
	if is(text, toks, i, "*") {
		return 0, 0, nil, diag.New(diag.UnsupportedNode, "a star after a relation's name is not supported").At(diag.PosAt("", text, toks[i].Start))
	}
	return start, end, parts, nil
}

// Part is one identifier of a name: its span, and the name as it is meant.
type Part struct {
	Start, End int
	Name       string
}

// ColumnParts gives the identifiers of the column's name that starts at a
// reference's place, with points between them. bug.splice when none starts there.
func ColumnParts(text string, at Offset) ([]Part, error) {
	toks, i, ok := tokensFrom(text, at)
	var out []Part
	for ok {
		var name string
		if name, ok = namePart(text, toks, i, false); ok {
			out = append(out, Part{toks[i].Start, toks[i].End, name})
			i += 2
			ok = is(text, toks, i-1, ".")
		}
	}
	if len(out) == 0 {
		return nil, noName(text, at)
	}
	return out, nil
}

func noName(text string, at Offset) error {
	return diag.New(diag.BugSplice, "no name stands where the tree says").At(diag.PosAt("", text, int(at)))
}

// tokensFrom gives all tokens and the index of the one that starts at the offset.
func tokensFrom(text string, at Offset) ([]Token, int, bool) {
	toks := Tokens(text)
	for i, t := range toks {
		if t.Start == int(at) {
			return toks, i, true
		}
	}
	return toks, 0, false
}

// is reports whether the token at i exists and reads s, for words in any case.
func is(text string, toks []Token, i int, s string) bool {
	return i >= 0 && i < len(toks) && (toks[i].Kind == Word || toks[i].Kind == Symbol) && strings.EqualFold(text[toks[i].Start:toks[i].End], s)
}

func formBefore(text string, toks []Token, i int) string {
	switch {
	case is(text, toks, i-1, "only"), is(text, toks, i-1, "(") && is(text, toks, i-2, "only"):
		return "ONLY"
	case is(text, toks, i-1, "table"):
		return "TABLE"
	}
	return ""
}

// namePart decodes one identifier.
func namePart(text string, toks []Token, i int, first bool) (string, bool) {
	if i >= len(toks) {
		return "", false
	}
	s := text[toks[i].Start:toks[i].End]
	switch {
	case toks[i].Kind == Word:
		return s, true
	case toks[i].Kind == QuotedName:
		return strings.ReplaceAll(s[1:len(s)-1], `""`, `"`), true
	case toks[i].Kind == Text && s[0] == '\'' && first && !is(text, toks, i+1, "."):
		return strings.ReplaceAll(s[1:len(s)-1], `''`, `'`), true
	}
	return "", false
}

// StarSpan gives the span of the star expression at a Star's place: its
// qualifier, the star, and EXCLUDE, REPLACE and RENAME; or COLUMNS(...). For a
// star that is not written the span is empty and stands before its FROM.
func StarSpan(text string, at Offset) (start, end int, err error) {
	fail := func() (int, int, error) {
		return 0, 0, diag.New(diag.BugSplice, "no star stands where the tree says").At(diag.PosAt("", text, int(at)))
	}
	toks, i, ok := tokensFrom(text, at)
	if !ok {
		return fail()
	}
	start = toks[i].Start
	if is(text, toks, i, "from") && !is(text, toks, i+1, ".") {
		return start, start, nil
	}
	if is(text, toks, i, "columns") && is(text, toks, i+1, "(") {
		if i = closing(text, toks, i+1); i < 0 {
			return fail()
		}
		return start, toks[i].End, nil
	}
	for !is(text, toks, i, "*") {
		if _, ok := namePart(text, toks, i, false); !ok || !is(text, toks, i+1, ".") {
			return fail()
		}
		i += 2
	}
	for _, clause := range []string{"exclude", "replace", "rename"} {
		if !is(text, toks, i+1, clause) {
			continue
		}
		if i = starClause(text, toks, i+2, clause); i < 0 {
			return fail()
		}
	}
	return start, toks[i].End, nil
}

// starClause gives the index of the last token of what follows EXCLUDE, REPLACE
// or RENAME, which starts at i; -1 when it does not fit.
func starClause(text string, toks []Token, i int, clause string) int {
	if is(text, toks, i, "(") {
		return closing(text, toks, i)
	}
	if clause != "exclude" {
		for depth := 0; i < len(toks) && (depth > 0 || !is(text, toks, i, "as")); i++ {
			depth += nesting(text[toks[i].Start:toks[i].End])
		}
		i++ // the new name
	}
	for is(text, toks, i+1, ".") {
		i += 2
	}
	if i >= len(toks) {
		return -1
	}
	return i
}

func nesting(token string) int {
	switch token {
	case "(", "[", "{":
		return 1
	case ")", "]", "}":
		return -1
	}
	return 0
}

// closing gives the index of the bracket that closes the one at i; -1 for none.
func closing(text string, toks []Token, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		if depth += nesting(text[toks[i].Start:toks[i].End]); depth == 0 {
			return i
		}
	}
	return -1
}

// block is the place of a token among the queries of a text.
type block struct {
	toks  []Token
	index int // of the token
	open  int // of the bracket round the query; -1 for the statement itself
	first int // of the query block's first word: SELECT, or FROM when it comes first
}

// blockAt finds the innermost query that the token at the offset stands in, and
// goes out levels queries from there.
func blockAt(text string, at Offset, out int) (block, bool) {
	toks, i, ok := tokensFrom(text, at)
	if !ok {
		return block{}, false
	}
	var opens []int // brackets open at the token that start a query, outermost first
	for j := range i {
		switch n := nesting(text[toks[j].Start:toks[j].End]); {
		case n > 0:
			opens = append(opens, j)
		case n < 0 && len(opens) > 0:
			opens = opens[:len(opens)-1]
		}
	}
	queries := []int{-1}
	for _, j := range opens {
		if startsQuery(text, toks, j+1) {
			queries = append(queries, j)
		}
	}
	if out >= len(queries) {
		return block{}, false
	}
	b := block{toks: toks, index: i, open: queries[len(queries)-1-out], first: -1}
	if out > 0 {
		b.index = queries[len(queries)-out]
	}
	b.first = firstOfBlock(text, b)
	return b, b.first >= 0
}

func startsQuery(text string, toks []Token, i int) bool {
	for _, w := range []string{"select", "with", "from", "values", "table", "pivot", "unpivot", "describe", "show", "summarize"} {
		if is(text, toks, i, w) {
			return true
		}
	}
	return false
}

// firstOfBlock gives the index of the SELECT, or of the FROM that comes first,
// of the query block that the token b.index belongs to; -1 when there is none.
func firstOfBlock(text string, b block) int {
	depth, first, selected := 0, -1, false
	for j := b.open + 1; j <= b.index; j++ {
		depth += nesting(text[b.toks[j].Start:b.toks[j].End])
		switch {
		case depth != 0:
		case is(text, b.toks, j, "union"), is(text, b.toks, j, "except"), is(text, b.toks, j, "intersect"):
			first, selected = -1, false
		case is(text, b.toks, j, "select") && (first < 0 || selected):
			first, selected = j, true
		case is(text, b.toks, j, "select"):
			selected = true
		case is(text, b.toks, j, "from") && first < 0:
			first = j
		}
	}
	return first
}

// clauses are the words that end a select list.
var clauses = []string{"from", "where", "group", "having", "window", "qualify", "order", "limit", "offset", "fetch", "using", "union", "except", "intersect"}

// ItemEnd gives the place just after the select item that the token at the
// offset stands in, where an alias may be added. The offset must be of the item
// itself, not of a query inside it.
func ItemEnd(text string, at Offset) (int, error) {
	b, ok := blockAt(text, at, 0)
	if !ok {
		return 0, diag.New(diag.BugSplice, "no select item stands where the tree says").At(diag.PosAt("", text, int(at)))
	}
	depth := 0
	for j := b.open + 1; j < b.index; j++ {
		depth += nesting(text[b.toks[j].Start:b.toks[j].End])
	}
	j := b.index
	for ; j < len(b.toks); j++ {
		n := nesting(text[b.toks[j].Start:b.toks[j].End])
		if depth+n < 0 || depth == 0 && j > b.index && endsItem(text, b.toks, j) {
			break
		}
		depth += n
	}
	return b.toks[j-1].End, nil
}

func endsItem(text string, toks []Token, j int) bool {
	if is(text, toks, j, ",") || is(text, toks, j, ";") {
		return true
	}
	for _, w := range clauses {
		if is(text, toks, j, w) {
			distinctFrom := w == "from" && is(text, toks, j-1, "distinct")
			withinGroup := w == "group" && is(text, toks, j-1, "within")
			member := is(text, toks, j-1, ".")
			return !distinctFrom && !withinGroup && !member
		}
	}
	return false
}
