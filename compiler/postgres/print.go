package postgres

import (
	"encoding/json"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// printer writes a tree as one line of DuckDB's dialect: every name quoted, every
// operator in brackets, so that no rule of precedence is needed. What it gets
// wrong is caught by reading the text again.
type printer struct {
	strings.Builder
	t      *translator
	places []origin
}

// write gives the text of a query and where its parts come from.
func (t *translator) write(q sqlast.Query) (string, []origin) {
	p := &printer{t: t}
	p.query(q)
	return p.String(), p.places
}

// printExpr gives the text of an expression, to tell whether two are the same.
func (t *translator) printExpr(e sqlast.Expr) string {
	p := &printer{t: t}
	p.expr(e)
	return p.String()
}

// put stops at the cap of a text, and at that of all that a translation writes: parts
// of the tree are shared, so that what they would be when written out may be far
// larger than the tree.
func (p *printer) put(parts ...string) {
	for _, s := range parts {
		if p.t.printed += len(s); p.Len()+len(s) > sqlast.MaxText || p.t.printed > maxPrinted {
			panic(&refusal{diag.New(diag.LimitText, "the text has more than %d bytes when it is written out for the engine", sqlast.MaxText)})
		}
		p.WriteString(s)
	}
}

// mark notes that what follows comes from a byte of the asked text.
func (p *printer) mark(at sqlast.Offset) {
	if at == sqlast.NoOffset {
		return
	}
	if n := len(p.places); n > 0 && p.places[n-1].start == p.Len() {
		p.places[n-1].from = int(at)
		return
	}
	p.places = append(p.places, origin{p.Len(), int(at)})
}

func (p *printer) name(s string) { p.put(semantic.Quote(s)) }

func (p *printer) names(list []string) {
	if len(list) == 0 {
		return
	}
	p.put("(")
	for i, n := range list {
		p.comma(i)
		p.name(n)
	}
	p.put(")")
}

func (p *printer) comma(i int) {
	if i > 0 {
		p.put(", ")
	}
}

func (p *printer) query(q sqlast.Query) {
	base := sqlast.Base(q)
	p.ctes(base.CTEs)
	switch q := q.(type) {
	case *sqlast.SelectNode:
		p.selectNode(q)
	case *sqlast.SetOperation:
		for i, child := range q.Children {
			if i > 0 {
				p.put(" ", q.Op, map[bool]string{true: " ALL "}[q.All], " ")
			}
			p.put("(")
			p.query(child)
			p.put(")")
		}
	case *sqlast.RecursiveCTE:
		p.put("(")
		p.query(q.Left)
		p.put(") UNION ", map[bool]string{true: "ALL "}[q.UnionAll], "(")
		p.query(q.Right)
		p.put(")")
	}
	for _, m := range base.Modifiers {
		switch m := m.(type) {
		case *sqlast.OrderBy:
			p.put(" ")
			p.orders(m.Orders)
		case *sqlast.Limit:
			if m.Limit != nil {
				p.put(" LIMIT ")
				p.expr(m.Limit)
			}
			if m.Offset != nil {
				p.put(" OFFSET ")
				p.expr(m.Offset)
			}
		}
	}
}

func (p *printer) ctes(list []sqlast.CTE) {
	for i, c := range list {
		if i == 0 {
			p.put("WITH RECURSIVE ")
		}
		p.comma(i)
		p.name(c.Name)
		p.names(c.Aliases)
		p.put(" AS ")
		switch c.Materialized {
		case "CTE_MATERIALIZE_ALWAYS":
			p.put("MATERIALIZED ")
		case "CTE_MATERIALIZE_NEVER":
			p.put("NOT MATERIALIZED ")
		}
		p.put("(")
		p.query(c.Query)
		p.put(")")
	}
	if len(list) > 0 {
		p.put(" ")
	}
}

func (p *printer) selectNode(q *sqlast.SelectNode) {
	p.put("SELECT ")
	for _, m := range q.Modifiers {
		if d, ok := m.(*sqlast.Distinct); ok {
			p.put("DISTINCT ")
			if len(d.On) > 0 {
				p.put("ON (")
				p.list(d.On)
				p.put(") ")
			}
		}
	}
	for i, e := range q.Select {
		p.comma(i)
		p.expr(e)
		if alias := sqlast.Meta(e).Alias; alias != "" {
			p.put(" AS ")
			p.name(alias)
		}
	}
	if _, empty := q.From.(*sqlast.EmptyRef); !empty {
		p.put(" FROM ")
		p.ref(q.From)
	}
	if q.Where != nil {
		p.put(" WHERE ")
		p.expr(q.Where)
	}
	p.groups(q)
	if q.Having != nil {
		p.put(" HAVING ")
		p.expr(q.Having)
	}
}

func (p *printer) groups(q *sqlast.SelectNode) {
	if len(q.GroupSets) == 0 {
		return
	}
	p.put(" GROUP BY ")
	sets := len(q.GroupSets) > 1 || len(q.GroupSets[0]) != len(q.Groups) || len(q.Groups) == 0
	if sets {
		p.put("GROUPING SETS (")
	}
	for i, set := range q.GroupSets {
		p.comma(i)
		if sets {
			p.put("(")
		}
		for j, g := range set {
			p.comma(j)
			p.expr(q.Groups[g])
		}
		if sets {
			p.put(")")
		}
	}
	if sets {
		p.put(")")
	}
}

func (p *printer) ref(t sqlast.TableRef) {
	base := sqlast.Ref(t)
	switch t := t.(type) {
	case *sqlast.BaseTable:
		p.mark(base.At)
		p.name(t.Table)
		p.alias(base.Alias, t.ColumnAliases)
	case *sqlast.SubqueryRef:
		p.put("(")
		if values, ok := valuesOf(t.Query); ok {
			p.values(values)
		} else {
			p.query(t.Query)
		}
		p.put(")")
		p.alias(base.Alias, t.ColumnAliases)
	case *sqlast.TableFunction:
		p.expr(t.Function)
		p.alias(base.Alias, t.ColumnAliases)
	case *sqlast.JoinRef:
		p.join(t)
	}
}

// valuesOf gives the rows of a query that is nothing but VALUES.
func valuesOf(q sqlast.Query) (*sqlast.ValuesRef, bool) {
	s, ok := q.(*sqlast.SelectNode)
	if !ok {
		return nil, false
	}
	v, ok := s.From.(*sqlast.ValuesRef)
	return v, ok
}

func (p *printer) values(v *sqlast.ValuesRef) {
	p.put("VALUES ")
	for i, row := range v.Rows {
		p.comma(i)
		p.put("(")
		p.list(row)
		p.put(")")
	}
}

func (p *printer) alias(alias string, columns []string) {
	p.put(" AS ")
	p.name(alias)
	p.names(columns)
}

func (p *printer) join(t *sqlast.JoinRef) {
	p.ref(t.Left)
	switch {
	case t.Implicit:
		p.put(", ")
	case t.Kind == "CROSS":
		p.put(" CROSS JOIN ")
	default:
		p.put(" ")
		p.mark(t.At)
		p.put(t.Type, " JOIN ")
	}
	p.ref(t.Right)
	if t.Condition != nil {
		p.put(" ON ")
		p.expr(t.Condition)
	}
}

func (p *printer) orders(list []sqlast.Order) {
	for i, o := range list {
		if i == 0 {
			p.put("ORDER BY ")
		}
		p.comma(i)
		p.expr(o.Expr)
		p.put(map[string]string{"ASCENDING": " ASC ", "DESCENDING": " DESC "}[o.Dir], o.Nulls)
	}
}

func (p *printer) list(list []sqlast.Expr) {
	for i, e := range list {
		p.comma(i)
		p.expr(e)
	}
}

// signs are the comparisons as they are written.
var signs = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

func (p *printer) expr(e sqlast.Expr) {
	p.mark(sqlast.Meta(e).At)
	switch e := e.(type) {
	case *sqlast.ColumnRef:
		for i, n := range e.Names {
			if i > 0 {
				p.put(".")
			}
			p.name(n)
		}
	case *sqlast.Constant:
		p.constant(e.Value)
	case *sqlast.Function:
		p.function(e)
	case *sqlast.Window:
		p.window(e)
	case *sqlast.Comparison:
		p.between("(", e.Left, " "+signs[e.Op]+" ", e.Right, ")")
	case *sqlast.Conjunction:
		p.put("(")
		for i, a := range e.Args {
			if i > 0 {
				p.put(map[string]string{"CONJUNCTION_AND": " AND ", "CONJUNCTION_OR": " OR "}[e.Op])
			}
			p.expr(a)
		}
		p.put(")")
	case *sqlast.Operator:
		p.operator(e)
	case *sqlast.Between:
		p.put("(")
		p.between("", e.Input, " BETWEEN ", e.Lower, "")
		p.put(" AND ")
		p.expr(e.Upper)
		p.put(")")
	case *sqlast.Case:
		p.put("CASE")
		for _, c := range e.Checks {
			p.between(" WHEN ", c.When, " THEN ", c.Then, "")
		}
		p.put(" ELSE ")
		p.expr(e.Else)
		p.put(" END")
	case *sqlast.Cast:
		p.put("CAST(")
		p.expr(e.Child)
		p.put(" AS ")
		p.typeName(e.Type.Expr.(*sqlast.TypeExpr))
		p.put(")")
	case *sqlast.Subquery:
		p.subquery(e)
	}
}

func (p *printer) between(open string, a sqlast.Expr, middle string, b sqlast.Expr, end string) {
	p.put(open)
	p.expr(a)
	p.put(middle)
	p.expr(b)
	p.put(end)
}

func (p *printer) constant(v sqlast.Value) {
	switch {
	case v.IsNull:
		p.put("NULL")
	case v.Type.ID == "VARCHAR":
		var s string
		_ = json.Unmarshal([]byte(v.Raw), &s) // text() made it
		p.put(semantic.QuoteText(s))
	case strings.HasPrefix(v.Raw, "-"):
		p.put("(", v.Raw, ")")
	default:
		p.put(v.Raw)
	}
}

func (p *printer) typeName(t *sqlast.TypeExpr) {
	if t.Name == "list" {
		p.typeName(t.Args[0].(*sqlast.TypeExpr))
		p.put("[]")
		return
	}
	p.put(t.Name)
	if len(t.Args) > 0 {
		p.put("(")
		p.list(t.Args)
		p.put(")")
	}
}

func (p *printer) function(f *sqlast.Function) {
	switch {
	case f.IsOperator && len(f.Args) == 2:
		p.between("(", f.Args[0], " "+f.Name+" ", f.Args[1], ")")
		return
	case f.IsOperator:
		p.put("(", f.Name, " ")
		p.expr(f.Args[0])
		p.put(")")
		return
	case f.Name == "count_star":
		p.put(`"count"(*`)
	default:
		p.name(f.Name)
		p.put("(", map[bool]string{true: "DISTINCT "}[f.Distinct])
		p.list(f.Args)
	}
	if len(f.OrderBy) > 0 {
		p.put(" ")
		p.orders(f.OrderBy)
	}
	p.put(")")
	p.filter(f.Filter)
}

func (p *printer) filter(e sqlast.Expr) {
	if e != nil {
		p.put(" FILTER (WHERE ")
		p.expr(e)
		p.put(")")
	}
}

func (p *printer) window(w *sqlast.Window) {
	p.name(w.Name)
	p.put("(")
	if w.Kind == "WINDOW_AGGREGATE" && w.Name == "count" && len(w.Args) == 0 {
		p.put("*")
	}
	args := w.Args
	for _, more := range []sqlast.Expr{w.OffsetExpr, w.DefaultExpr} {
		if more != nil {
			args = append(args[:len(args):len(args)], more)
		}
	}
	p.list(args)
	p.put(")")
	p.filter(w.Filter)
	p.put(" OVER (")
	if len(w.Partitions) > 0 {
		p.put("PARTITION BY ")
		p.list(w.Partitions)
		p.put(" ")
	}
	p.orders(w.Orders)
	p.frame(w)
	p.put(")")
}

// frame writes the frame of a window where it is not the default one.
func (p *printer) frame(w *sqlast.Window) {
	if w.Start == "UNBOUNDED_PRECEDING" && w.End == "CURRENT_ROW_RANGE" {
		return
	}
	unit := "ROWS"
	for _, u := range []string{"RANGE", "GROUPS"} {
		if strings.HasSuffix(w.Start, u) || strings.HasSuffix(w.End, u) {
			unit = u
		}
	}
	bound := func(word string, e sqlast.Expr) {
		if e != nil {
			p.expr(e)
			p.put(" ")
		}
		word = strings.TrimSuffix(strings.TrimPrefix(word, "EXPR_"), "_"+unit)
		p.put(strings.ReplaceAll(word, "_", " "))
	}
	p.put(" ", unit, " BETWEEN ")
	bound(w.Start, w.StartExpr)
	p.put(" AND ")
	bound(w.End, w.EndExpr)
}

func (p *printer) operator(o *sqlast.Operator) {
	switch o.Op {
	case "OPERATOR_NOT":
		p.put("(NOT ")
		p.expr(o.Args[0])
		p.put(")")
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		p.put("(")
		p.expr(o.Args[0])
		p.put(map[string]string{"OPERATOR_IS_NULL": " IS NULL)", "OPERATOR_IS_NOT_NULL": " IS NOT NULL)"}[o.Op])
	case "COMPARE_IN", "COMPARE_NOT_IN":
		p.put("(")
		p.expr(o.Args[0])
		p.put(map[string]string{"COMPARE_IN": " IN (", "COMPARE_NOT_IN": " NOT IN ("}[o.Op])
		p.list(o.Args[1:])
		p.put("))")
	case "OPERATOR_COALESCE", "GROUPING_FUNCTION":
		p.put(map[string]string{"OPERATOR_COALESCE": "coalesce(", "GROUPING_FUNCTION": "GROUPING("}[o.Op])
		p.list(o.Args)
		p.put(")")
	}
}

func (p *printer) subquery(s *sqlast.Subquery) {
	switch s.Kind {
	case "ANY":
		p.put("(")
		p.expr(s.Child)
		p.put(" IN (")
		p.query(s.Query)
		p.put("))")
		return
	case "EXISTS":
		p.put("EXISTS ")
	}
	p.put("(")
	p.query(s.Query)
	p.put(")")
}

func itoa(n int) string { return strconv.Itoa(n) }
