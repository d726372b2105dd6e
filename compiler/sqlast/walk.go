package sqlast

// Walk calls pre for a node and for all nodes below it, parents first and in the
// order in which a SELECT is usually written. A node is a Query, TableRef, Expr
// or Modifier. When pre gives false, what is below that node is left out.
func Walk(node any, pre func(node any) bool) {
	if node == nil || !pre(node) {
		return
	}
	w := walker{pre}
	switch n := node.(type) {
	case Query:
		w.query(n)
	case TableRef:
		w.ref(n)
	case Modifier:
		w.modifier(n)
	case Expr:
		w.expr(n)
	}
}

// walker holds the visitor; its methods visit the children of a node.
type walker struct{ pre func(any) bool }

func (w walker) exprs(list []Expr) {
	for _, e := range list {
		w.one(e)
	}
}

// one visits an expression, which may be absent.
func (w walker) one(e Expr) {
	if e != nil {
		Walk(e, w.pre)
	}
}

func (w walker) query(q Query) {
	base := Base(q)
	for _, c := range base.CTEs {
		Walk(c.Query, w.pre)
		w.exprs(c.KeyTargets)
	}
	switch q := q.(type) {
	case *SelectNode:
		w.exprs(q.Select)
		Walk(q.From, w.pre)
		w.one(q.Where)
		w.exprs(q.Groups)
		w.one(q.Having)
		w.one(q.Qualify)
		w.sample(q.Sample)
	case *SetOperation:
		for _, c := range q.Children {
			Walk(c, w.pre)
		}
	case *RecursiveCTE:
		Walk(q.Left, w.pre)
		Walk(q.Right, w.pre)
		w.exprs(q.KeyTargets)
	}
	for _, m := range base.Modifiers {
		Walk(m, w.pre)
	}
}

func (w walker) ref(t TableRef) {
	switch t := t.(type) {
	case *JoinRef:
		Walk(t.Left, w.pre)
		Walk(t.Right, w.pre)
		w.one(t.Condition)
	case *SubqueryRef:
		Walk(t.Query, w.pre)
	case *TableFunction:
		Walk(t.Function, w.pre)
	case *ValuesRef:
		for _, row := range t.Rows {
			w.exprs(row)
		}
	case *PivotRef:
		Walk(t.Source, w.pre)
		w.exprs(t.Aggregates)
		for _, p := range t.Pivots {
			w.pivot(p)
		}
	}
	w.sample(Ref(t).Sample)
}

func (w walker) pivot(p PivotColumn) {
	w.exprs(p.Exprs)
	for _, e := range p.Entries {
		for _, v := range e.Values {
			w.one(v.Type.Expr)
		}
		w.one(e.Star)
	}
}

func (w walker) sample(s *Sample) {
	if s != nil {
		w.one(s.Size.Type.Expr)
	}
}

func (w walker) modifier(m Modifier) {
	switch m := m.(type) {
	case *OrderBy:
		w.orders(m.Orders)
	case *Limit:
		w.one(m.Limit)
		w.one(m.Offset)
	case *Distinct:
		w.exprs(m.On)
	}
}

func (w walker) orders(list []Order) {
	for _, o := range list {
		w.one(o.Expr)
	}
}

func (w walker) expr(e Expr) {
	switch e := e.(type) {
	case *Constant:
		w.one(e.Value.Type.Expr)
	case *Function:
		w.exprs(e.Args)
		w.orders(e.OrderBy)
		w.one(e.Filter)
	case *Window:
		w.window(e)
	case *Comparison:
		w.one(e.Left)
		w.one(e.Right)
	case *Conjunction:
		w.exprs(e.Args)
	case *Operator:
		w.exprs(e.Args)
	case *Between:
		w.one(e.Input)
		w.one(e.Lower)
		w.one(e.Upper)
	case *Case:
		for _, c := range e.Checks {
			w.one(c.When)
			w.one(c.Then)
		}
		w.one(e.Else)
	case *Cast:
		w.one(e.Child)
		w.one(e.Type.Expr)
	case *Collate:
		w.one(e.Child)
	case *Star:
		for _, r := range e.Replace {
			w.one(r.Expr)
		}
		w.one(e.Expr)
	case *Subquery:
		w.one(e.Child)
		Walk(e.Query, w.pre)
	case *Lambda:
		w.one(e.Params)
		w.one(e.Body)
	case *TypeExpr:
		w.exprs(e.Args)
	}
}

func (w walker) window(e *Window) {
	w.exprs(e.Args)
	w.one(e.OffsetExpr)
	w.one(e.DefaultExpr)
	w.orders(e.ArgOrders)
	w.one(e.Filter)
	w.exprs(e.Partitions)
	w.orders(e.Orders)
	w.one(e.StartExpr)
	w.one(e.EndExpr)
}
