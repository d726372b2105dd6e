package resolve

import (
	"strings"

	"plumbline/compiler/sqlast"
)

// window prints a window call; DuckDB prints the default frame as nothing, and
// says ROWS where the bounds do not tell.
func (l *labeller) window(w *sqlast.Window) string {
	var b strings.Builder
	if w.Schema != "" {
		b.WriteString(identifier(w.Schema) + ".")
	}
	b.WriteString(identifier(w.Name) + "(")
	if w.Distinct {
		b.WriteString("DISTINCT ")
	}
	args := append([]sqlast.Expr(nil), w.Args...)
	for _, e := range []sqlast.Expr{w.OffsetExpr, w.DefaultExpr} {
		if e != nil {
			args = append(args, e)
		}
	}
	b.WriteString(l.list(args))
	if len(w.ArgOrders) > 0 {
		b.WriteString(" ORDER BY " + l.orders(w.ArgOrders))
	}
	if w.IgnoreNulls {
		b.WriteString(" IGNORE NULLS")
	}
	if w.Filter != nil {
		b.WriteString(") FILTER (WHERE " + l.expr(w.Filter))
	}
	b.WriteString(") OVER (")
	var over []string
	if len(w.Partitions) > 0 {
		over = append(over, "PARTITION BY "+l.list(w.Partitions))
	}
	if len(w.Orders) > 0 {
		over = append(over, "ORDER BY "+l.orders(w.Orders))
	}
	if f := l.frame(w); f != "" {
		over = append(over, f)
	}
	if x := map[string]string{"CURRENT_ROW": "EXCLUDE CURRENT ROW", "GROUP": "EXCLUDE GROUP", "TIES": "EXCLUDE TIES"}[w.Exclude]; x != "" {
		over = append(over, x)
	}
	return b.String() + strings.Join(over, " ") + ")"
}

func (l *labeller) frame(w *sqlast.Window) string {
	units := "ROWS"
	bound := func(word string, e sqlast.Expr) string {
		for _, u := range []string{"ROWS", "RANGE", "GROUPS"} {
			if strings.HasSuffix(word, "_"+u) {
				units = u
			}
		}
		switch {
		case strings.HasPrefix(word, "UNBOUNDED"):
			return strings.ReplaceAll(word, "_", " ")
		case strings.HasPrefix(word, "CURRENT_ROW"):
			return "CURRENT ROW"
		case strings.HasPrefix(word, "EXPR_PRECEDING") && e != nil:
			return l.expr(e) + " PRECEDING"
		case strings.HasPrefix(word, "EXPR_FOLLOWING") && e != nil:
			return l.expr(e) + " FOLLOWING"
		}
		return l.giveUp()
	}
	if w.Start == "UNBOUNDED_PRECEDING" && w.End == "CURRENT_ROW_RANGE" {
		return ""
	}
	from := bound(w.Start, w.StartExpr)
	to := bound(w.End, w.EndExpr)
	return units + " BETWEEN " + from + " AND " + to
}

func (l *labeller) subquery(e *sqlast.Subquery) string {
	q := l.query(e.Query)
	switch e.Kind {
	case "SCALAR":
		return "(" + q + ")"
	case "EXISTS":
		return "EXISTS(" + q + ")"
	case "ANY":
		return "(" + l.expr(e.Child) + " " + l.sign(e.Comparison) + " ANY(" + q + "))"
	}
	return l.giveUp()
}

func (l *labeller) star(s *sqlast.Star) string {
	if s.Expr != nil {
		return l.giveUp()
	}
	out := "*"
	if s.Relation != "" {
		out = identifier(s.Relation) + ".*"
	}
	if len(s.Exclude)+len(s.QualifiedExclude) > 1 || len(s.Replace) > 1 || len(s.Rename) > 1 {
		return l.giveUp()
	}
	for _, n := range s.Exclude {
		out += " EXCLUDE (" + identifier(n) + ")"
	}
	for _, n := range s.QualifiedExclude {
		out += " EXCLUDE (" + identifier(n.Table) + "." + identifier(n.Column) + ")"
	}
	for _, n := range s.Replace {
		out += " REPLACE (" + l.expr(n.Expr) + " AS " + identifier(n.Name) + ")"
	}
	for _, n := range s.Rename {
		out += " RENAME (" + identifier(n.From.Column) + " AS " + identifier(n.To) + ")"
	}
	if s.Columns {
		return "COLUMNS(" + out + ")"
	}
	return out
}

func (l *labeller) query(q sqlast.Query) string {
	base := sqlast.Base(q)
	out := l.with(base.CTEs)
	switch q := q.(type) {
	case *sqlast.SelectNode:
		out += l.selectNode(q)
	case *sqlast.SetOperation:
		word := map[string]string{"UNION": "UNION", "EXCEPT": "EXCEPT", "INTERSECT": "INTERSECT", "UNION_BY_NAME": "UNION"}[q.Op]
		if q.All {
			word += " ALL"
		}
		if q.Op == "UNION_BY_NAME" {
			word += " BY NAME"
		}
		for i, c := range q.Children {
			if i == 1 {
				out += " "
			}
			if i > 0 {
				out += word + " "
			}
			out += "(" + l.query(c) + ")"
		}
	case *sqlast.RecursiveCTE:
		out += "(" + l.query(q.Left) + ") UNION "
		if q.UnionAll {
			out += " ALL "
		}
		out += "(" + l.query(q.Right) + ")"
	}
	return out + l.modifiers(base.Modifiers)
}

func (l *labeller) with(list []sqlast.CTE) string {
	if len(list) == 0 {
		return ""
	}
	out := "WITH "
	parts := make([]string, len(list))
	for i, c := range list {
		if _, ok := c.Query.(*sqlast.RecursiveCTE); ok {
			out = "WITH RECURSIVE "
		}
		parts[i] = identifier(c.Name)
		if len(c.Aliases) > 0 {
			parts[i] += " (" + identifiers(c.Aliases) + ")"
		}
		parts[i] += " AS " + map[string]string{"CTE_MATERIALIZE_ALWAYS": "MATERIALIZED ", "CTE_MATERIALIZE_NEVER": "NOT MATERIALIZED "}[c.Materialized]
		parts[i] += "(" + l.query(c.Query) + ")"
	}
	return out + strings.Join(parts, ", ")
}

func (l *labeller) selectNode(q *sqlast.SelectNode) string {
	out := "SELECT "
	for _, m := range q.Modifiers {
		if d, ok := m.(*sqlast.Distinct); ok {
			out += "DISTINCT "
			if len(d.On) > 0 {
				out += "ON (" + l.list(d.On) + ") "
			}
		}
	}
	for i, e := range q.Select {
		if i > 0 {
			out += ", "
		}
		out += l.expr(e)
		if alias := sqlast.Meta(e).Alias; alias != "" {
			out += " AS " + identifier(alias)
		}
	}
	if _, empty := q.From.(*sqlast.EmptyRef); !empty && q.From != nil {
		out += " FROM " + l.from(q.From)
	}
	if q.Where != nil {
		out += " WHERE " + l.expr(q.Where)
	}
	out += l.groups(q)
	if q.Having != nil {
		out += " HAVING " + l.expr(q.Having)
	}
	if q.Qualify != nil {
		out += " QUALIFY " + l.expr(q.Qualify)
	}
	return out
}

func (l *labeller) groups(q *sqlast.SelectNode) string {
	if len(q.GroupSets) == 0 {
		if q.Aggregates == "FORCE_AGGREGATES" {
			return " GROUP BY ALL"
		}
		return ""
	}
	sets := make([]string, len(q.GroupSets))
	for i, set := range q.GroupSets {
		parts := make([]string, len(set))
		for k, n := range set {
			if n >= len(q.Groups) {
				return l.giveUp()
			}
			parts[k] = l.expr(q.Groups[n])
		}
		sets[i] = strings.Join(parts, ", ")
		if len(q.GroupSets) > 1 || len(set) == 0 {
			sets[i] = "(" + sets[i] + ")"
		}
	}
	if len(sets) > 1 {
		return " GROUP BY GROUPING SETS (" + strings.Join(sets, ",") + ")"
	}
	return " GROUP BY " + sets[0]
}

func (l *labeller) modifiers(list []sqlast.Modifier) string {
	out := ""
	for _, m := range list {
		switch m := m.(type) {
		case *sqlast.OrderBy:
			if len(m.Orders) > 0 {
				out += " ORDER BY " + l.orders(m.Orders)
			}
		case *sqlast.Limit:
			if m.Limit != nil && m.Percent {
				out += " LIMIT (" + l.expr(m.Limit) + ") %"
			} else if m.Limit != nil {
				out += " LIMIT " + l.expr(m.Limit)
			}
			if m.Offset != nil {
				out += " OFFSET " + l.expr(m.Offset)
			}
		}
	}
	return out
}

func (l *labeller) from(t sqlast.TableRef) string {
	ref := sqlast.Ref(t)
	if ref.Sample != nil {
		return l.giveUp()
	}
	switch t := t.(type) {
	case *sqlast.BaseTable:
		out := identifier(t.Table)
		if t.Schema != "" || t.Catalog != "" {
			return l.giveUp()
		}
		return out + aliasLabel(ref.Alias, t.ColumnAliases)
	case *sqlast.SubqueryRef:
		return "(" + l.query(t.Query) + ")" + aliasLabel(ref.Alias, t.ColumnAliases)
	case *sqlast.TableFunction:
		return l.function(t.Function) + aliasLabel(ref.Alias, t.ColumnAliases)
	case *sqlast.ValuesRef:
		rows := make([]string, len(t.Rows))
		for i, row := range t.Rows {
			rows[i] = "(" + l.list(row) + ")"
		}
		return "(VALUES " + strings.Join(rows, ", ") + ")" + aliasLabel(ref.Alias, t.ExpectedNames)
	case *sqlast.JoinRef:
		return l.join(t)
	}
	return l.giveUp()
}

func aliasLabel(alias string, columns []string) string {
	if alias == "" {
		return ""
	}
	out := " AS " + identifier(alias)
	if len(columns) > 0 {
		out += "(" + identifiers(columns) + ")"
	}
	return out
}

func (l *labeller) join(t *sqlast.JoinRef) string {
	left, right := l.from(t.Left), l.from(t.Right)
	kind := map[string]string{"NATURAL": "NATURAL ", "ASOF": "ASOF "}[t.Kind]
	switch {
	case t.Kind == "CROSS" && t.Implicit:
		return left + " , " + right
	case t.Kind == "CROSS":
		return left + " CROSS JOIN " + right
	case t.Kind == "POSITIONAL":
		return l.giveUp()
	}
	out := left + " " + kind + t.Type + " JOIN " + right
	if t.Condition != nil {
		return out + " ON (" + l.expr(t.Condition) + ")"
	}
	if len(t.Using) > 0 {
		return out + " USING (" + identifiers(t.Using) + ")"
	}
	return out
}
