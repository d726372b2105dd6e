package sqlast

import (
	"context"
	"errors"
	"strings"

	"plumbline/semantic/diag"
)

const exprPrefix = "SELECT "

// ParseExpr reads one expression of a model. It gives the expression, the
// statement that was parsed to get it, and the length of what stands before the
// expression in that statement: a node's place in expr is its At minus that.
// Places of errors are places in expr.
func ParseExpr(ctx context.Context, p Parser, expr string) (Expr, *Statement, int, error) {
	st, err := Parse(ctx, p, exprPrefix+expr)
	if err != nil {
		return nil, nil, 0, inExpr(err)
	}
	q, ok := st.Root.(*SelectNode)
	if !ok || !onlyItem(q) || clauseAtTop(st.Text) {
		return nil, nil, 0, diag.New(diag.ParseSyntax, "one expression is expected here, and nothing after it").At(diag.PosAt("", expr, 0))
	}
	return q.Select[0], st, len(exprPrefix), nil
}

// onlyItem reports whether a SELECT is one item without alias and nothing else.
func onlyItem(q *SelectNode) bool {
	_, empty := q.From.(*EmptyRef)
	return empty && len(q.Select) == 1 && Meta(q.Select[0]).Alias == "" &&
		len(q.CTEs) == 0 && len(q.Modifiers) == 0 && q.Where == nil && len(q.Groups) == 0 && len(q.GroupSets) == 0 &&
		q.Having == nil && q.Qualify == nil && q.Sample == nil && q.Aggregates == "STANDARD_HANDLING"
}

// clauseAtTop finds what the tree does not show: a named window, a semicolon.
func clauseAtTop(text string) bool {
	depth := 0
	for _, t := range Tokens(text) {
		depth += nesting(text[t.Start:t.End])
		if depth == 0 && (text[t.Start:t.End] == ";" || t.Kind == Word && strings.EqualFold(text[t.Start:t.End], "window")) {
			return true
		}
	}
	return false
}

// inExpr moves the places of an error from the statement to the expression.
func inExpr(err error) error {
	var e *diag.Error
	if !errors.As(err, &e) || e.Pos.Line != 1 {
		return err
	}
	pos := e.Pos
	pos.Col = max(pos.Col-len(exprPrefix), 1)
	return e.At(pos)
}
