package measure

import (
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// level is one SELECT with the calls that stand in it and in no query inside it.
type level struct {
	node    *sqlast.SelectNode
	calls   []*call
	clauses sqlast.Clauses
	sources []*source
	grouped bool // it has GROUP BY
}

// call is one MEASURE(m) or AGGREGATE(m).
type call struct {
	at, end   int    // range in the text, without AT
	qualifier string // "" when there is none
	name      string
	with      []modifier // nil without AT
	lifted    bool       // AT stood behind it
	lone      bool       // it is a whole select item, without AT and alias
	of        *source    // whose measure it is
}

// finder looks for calls in a tree.
type finder struct {
	text   string
	lifted *lifted
	levels []*level // all SELECTs, in the order of the tree
	ctes   []string // the names of all CTEs
	errs   diag.List
}

var aggregates = func() map[string]bool {
	out := map[string]bool{}
	for _, f := range resolve.Functions() {
		if f.Kind == resolve.Aggregate {
			out[f.Name] = true
		}
	}
	return out
}()

func measures(name string) bool {
	return strings.EqualFold(name, "measure") || strings.EqualFold(name, "aggregate")
}

// isCall reports a call by its name; aggregate(list, name) is a function of DuckDB's.
func isCall(n any) (*sqlast.Function, bool) {
	f, ok := n.(*sqlast.Function)
	if !ok || !measures(f.Name) || f.Schema != "" || f.At == sqlast.NoOffset {
		return nil, false
	}
	return f, len(f.Args) < 2 || strings.EqualFold(f.Name, "measure")
}

func (f *finder) refuse(at int, hint, format string, args ...any) {
	f.errs = append(f.errs, diag.New(diag.ResolveShape, format, args...).At(diag.PosAt("", f.text, at)).WithHint("%s", hint))
}

const perRow = "group the query: GROUP BY ALL, or no column outside MEASURE; for one row's value read the columns"

// query collects the levels of a query, outer ones first.
func (f *finder) query(q sqlast.Query) {
	base := sqlast.Base(q)
	for _, c := range base.CTEs {
		f.ctes = append(f.ctes, c.Name)
		f.query(c.Query)
	}
	s, ok := q.(*sqlast.SelectNode)
	if !ok {
		switch q := q.(type) {
		case *sqlast.SetOperation:
			for _, c := range q.Children {
				f.query(c)
			}
		case *sqlast.RecursiveCTE:
			f.query(q.Left)
			f.query(q.Right)
		}
		for _, m := range base.Modifiers {
			f.without(m, "order by a result column", "MEASURE has no place after a set operation")
		}
		return
	}
	lv := &level{node: s, grouped: len(s.Groups) > 0 || len(s.GroupSets) > 0 || s.Aggregates == "FORCE_AGGREGATES"}
	f.levels = append(f.levels, lv)
	for _, e := range s.Select {
		known := len(lv.calls)
		f.in(lv, e)
		if _, ok := isCall(e); ok && len(lv.calls) > known {
			c := lv.calls[known]
			c.lone = !c.lifted && sqlast.Meta(e).Alias == ""
		}
	}
	f.without(s.From, perRow, "MEASURE is over groups of rows, and a FROM clause has none")
	f.without(s.Where, "filter groups in HAVING; "+perRow, "MEASURE is over groups of rows, and WHERE sees single rows")
	for _, e := range s.Groups {
		f.without(e, perRow, "MEASURE is over groups of rows, and GROUP BY makes them")
	}
	f.in(lv, s.Having)
	f.in(lv, s.Qualify)
	for _, m := range base.Modifiers {
		if o, ok := m.(*sqlast.OrderBy); ok {
			for _, t := range o.Orders {
				f.in(lv, t.Expr)
			}
			continue
		}
		f.without(m, "use it in the select list", "MEASURE has no place in this clause")
	}
}

// without walks a part that may hold queries but no calls of its own.
func (f *finder) without(node any, hint, why string) {
	if empty(node) {
		return
	}
	sqlast.Walk(node, func(n any) bool {
		if q, ok := n.(sqlast.Query); ok {
			f.query(q)
			return false
		}
		if c, ok := isCall(n); ok {
			f.refuse(int(c.At), hint, "%s", why)
			return false
		}
		return true
	})
}

func empty(node any) bool {
	switch n := node.(type) {
	case nil:
		return true
	case sqlast.Expr:
		return n == nil
	case sqlast.TableRef:
		return n == nil
	}
	return false
}

// in walks an expression of a level that may hold calls.
func (f *finder) in(lv *level, e sqlast.Expr) {
	if e == nil {
		return
	}
	sqlast.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case sqlast.Query:
			f.query(n)
			return false
		case *sqlast.Window:
			if measures(n.Name) && n.Schema == "" {
				f.refuse(int(n.At), "write sum(MEASURE(m)) OVER (...)", "MEASURE takes no OVER")
				return false
			}
		case *sqlast.Lambda:
			f.without(n, "take the measure outside the lambda", "MEASURE is over groups of rows, and a lambda sees elements of a list")
			return false
		case *sqlast.Function:
			if c, ok := isCall(n); ok {
				f.call(lv, c)
				return false
			}
			if aggregates[strings.ToLower(n.Name)] && !n.IsOperator {
				f.without(n, "take it alone; to aggregate it once more, group in a subquery first", "MEASURE is an aggregate, and stands in no other")
				return false
			}
		}
		return true
	})
}

func (f *finder) call(lv *level, c *sqlast.Function) {
	at := int(c.At)
	end, ok := sqlast.CallEnd(f.text, c.At)
	if !ok {
		f.errs = append(f.errs, diag.New(diag.BugSplice, "no call stands where the tree says").At(diag.PosAt("", f.text, at)))
		return
	}
	out := &call{at: at, end: end, with: f.lifted.modifiers[at]}
	_, out.lifted = f.lifted.at[at]
	ref := argument(c)
	switch {
	case ref == nil:
		f.refuse(at, "write MEASURE(revenue) or MEASURE(o.revenue)", "MEASURE takes the name of one measure")
	case c.Distinct || c.Filter != nil || len(c.OrderBy) > 0 || c.ExportState:
		f.refuse(at, "for a filter write MEASURE(m) AT (VISIBLE WHERE condition)", "MEASURE takes the name of one measure and nothing else")
	default:
		out.name = ref.Names[len(ref.Names)-1]
		if len(ref.Names) == 2 {
			out.qualifier = ref.Names[0]
		}
		lv.calls = append(lv.calls, out)
	}
	delete(f.lifted.at, at)
}

func argument(c *sqlast.Function) *sqlast.ColumnRef {
	if len(c.Args) != 1 {
		return nil
	}
	ref, ok := c.Args[0].(*sqlast.ColumnRef)
	if !ok || len(ref.Names) > 2 || ref.Alias != "" {
		return nil
	}
	return ref
}

// rows refuses a level that gives single rows: it is not grouped, and a column
// stands outside every aggregate.
func (f *finder) rows(lv *level, isMeasure func(at int) bool) {
	if lv.grouped {
		return
	}
	aliases := map[string]bool{}
	for _, e := range lv.node.Select {
		aliases[strings.ToLower(sqlast.Meta(e).Alias)] = true
	}
	check := func(e sqlast.Expr, order bool) {
		if e == nil {
			return
		}
		sqlast.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case sqlast.Query, *sqlast.Lambda:
				return false
			case *sqlast.Function:
				return !aggregates[strings.ToLower(n.Name)] && !isMeasure(int(n.At))
			case *sqlast.Star:
				f.refuse(int(n.At), perRow, "MEASURE is over groups of rows, and * gives single ones")
			case *sqlast.ColumnRef:
				if order && len(n.Names) == 1 && aliases[strings.ToLower(n.Names[0])] {
					return true
				}
				f.refuse(lv.calls[0].at, perRow, "MEASURE is over groups of rows, and this query has none: a column stands beside it that is in no aggregate")
			}
			return len(f.errs) == 0
		})
	}
	for _, e := range lv.node.Select {
		check(e, false)
	}
	check(lv.node.Having, true)
	check(lv.node.Qualify, true)
	for _, m := range lv.node.Modifiers {
		if o, ok := m.(*sqlast.OrderBy); ok {
			for _, t := range o.Orders {
				check(t.Expr, true)
			}
		}
	}
}
