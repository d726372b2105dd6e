package rewrite

import (
	"strconv"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// rowLimit is how the outermost query is capped.
type rowLimit struct {
	n       int     // the literal in force
	splice  *splice // nil when the caller's own LIMIT is low enough
	literal sqlast.Expr
}

// capRows looks at the outermost LIMIT, which must be a plain number, and says
// what to write so that it is at most most.
func capRows(st *sqlast.Statement, most int) (rowLimit, error) {
	if most <= 0 {
		return rowLimit{}, diag.New(diag.LimitRows, "no rows are left to answer with")
	}
	capped := rowLimit{n: most, literal: number(most)}
	l := outermost(st.Root)
	switch {
	case l == nil || l.Limit == nil:
		capped.splice = &splice{resolve.Span{Start: endOfQuery(st.Text), End: endOfQuery(st.Text)}, "\nLIMIT " + strconv.Itoa(most)}
		return capped, nil
	case l.Percent:
		return rowLimit{}, badLimit(st, l, "LIMIT with a percentage is not supported")
	}
	c, ok := l.Limit.(*sqlast.Constant)
	if !ok {
		return rowLimit{}, badLimit(st, l, "LIMIT takes a plain number here")
	}
	n, fits := literalRows(c.Value)
	switch {
	case fits && n < 0:
		return rowLimit{}, badLimit(st, l, "LIMIT takes a number that is not negative")
	case fits && n <= int64(most):
		return rowLimit{n: int(n)}, nil
	case !fits && !c.Value.IsNull && c.Value.Type.ID != "HUGEINT" && c.Value.Type.ID != "UHUGEINT":
		return rowLimit{}, badLimit(st, l, "LIMIT takes a whole number")
	}
	span, ok := literalSpan(st.Text, c.At)
	if !ok {
		return rowLimit{}, badLimit(st, l, "LIMIT takes a plain number here")
	}
	capped.splice = &splice{span, strconv.Itoa(most)}
	return capped, nil
}

func badLimit(st *sqlast.Statement, l *sqlast.Limit, msg string) error {
	return diag.New(diag.UnsupportedNode, "%s", msg).At(diag.PosAt("", st.Text, int(sqlast.Meta(l.Limit).At))).
		WithHint("write the outermost LIMIT as a number, such as LIMIT 100")
}

func outermost(q sqlast.Query) *sqlast.Limit {
	for _, m := range sqlast.Base(q).Modifiers {
		if l, ok := m.(*sqlast.Limit); ok {
			return l
		}
	}
	return nil
}

// literalRows reads a whole number; NULL (LIMIT ALL) and larger ones do not fit.
func literalRows(v sqlast.Value) (int64, bool) {
	switch v.Type.ID {
	case "INTEGER", "BIGINT":
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		return n, err == nil
	}
	return 0, false
}

func number(n int) sqlast.Expr {
	id := "INTEGER"
	if n > 1<<31-1 {
		id = "BIGINT"
	}
	return &sqlast.Constant{Value: sqlast.Value{Type: sqlast.TypeName{ID: id}, Raw: strconv.Itoa(n)}}
}

// literalSpan gives the span of the number, or of the word ALL or NULL, at a place.
func literalSpan(text string, at sqlast.Offset) (resolve.Span, bool) {
	for _, t := range sqlast.Tokens(text) {
		if t.Start == int(at) {
			word := t.Kind == sqlast.Word && (strings.EqualFold(text[t.Start:t.End], "all") || strings.EqualFold(text[t.Start:t.End], "null"))
			return resolve.Span{Start: t.Start, End: t.End}, word || t.Kind == sqlast.Number
		}
	}
	return resolve.Span{}, false
}

// endOfQuery is where a LIMIT may be added: after the last token, before a
// semicolon and comments, and inside brackets that go round the whole query.
func endOfQuery(text string) int {
	toks := sqlast.Tokens(text)
	show := func(i int) string { return text[toks[i].Start:toks[i].End] }
	first, last := 0, len(toks)-1
	if last >= 0 && show(last) == ";" {
		last--
	}
	for first < last && show(first) == "(" && closing(toks[:last+1], show, first) == last {
		first, last = first+1, last-1
	}
	if last < 0 {
		return len(text)
	}
	return toks[last].End
}

// closing gives the index of the bracket that closes the one at i; -1 for none.
func closing(toks []sqlast.Token, show func(int) string, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		switch show(i) {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
