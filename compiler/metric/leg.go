package metric

import (
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// leg is a Leg in the making.
type leg struct {
	*Leg
	fact  *resolve.Visible
	asked string // the metric that brought it in, for messages
}

func (b *builder) leg(fact *resolve.Visible, asked string) leg {
	for _, l := range b.legs {
		if l.fact == fact {
			return l
		}
	}
	l := leg{Leg: &Leg{}, fact: fact, asked: asked}
	b.addTable(l.Leg, &Table{Entity: fact.Entity})
	b.legs = append(b.legs, l)
	b.frame.Legs = append(b.frame.Legs, l.Leg)
	return l
}

func (b *builder) addTable(l *Leg, t *Table) *Table {
	b.tables++
	t.Number = b.tables
	l.Tables = append(l.Tables, t)
	return t
}

// table gives the table at the end of a path, with all tables on the way.
func (b *builder) table(l *Leg, p path) *Table {
	at := l.Tables[0]
	for i, r := range p.roles {
		key := path{roles: p.roles[:i+1]}.key()
		j := slices.IndexFunc(l.Tables, func(t *Table) bool { return t.path == key })
		if j >= 0 {
			at = l.Tables[j]
			continue
		}
		at = b.addTable(l, &Table{Entity: b.entity(r.To).Entity, Parent: at, Join: r, path: key})
	}
	return at
}

func (b *builder) leaf(m *semantic.Metric, measure *semantic.Measure, _ []semantic.Where) *Leaf {
	l := b.leg(b.entity(m.Entity), b.asking)
	fact := l.Tables[0]
	out := &Leaf{Index: len(b.frame.Leaves), Leg: l.Leg, Agg: measure.Agg, Fill: measure.Fill}
	var of semantic.Type
	switch {
	case measure.Field != "":
		f := fact.Entity.Field(measure.Field)
		of = f.Type
		text := semantic.Quote(string(f.Name))
		out.Arg = &Expr{Table: fact, Text: text, Columns: []resolve.Place{{Column: f.Name}}}
	case measure.Expr != "":
		arg := b.expr(fact, measure.Expr)
		out.Arg = &arg
	}
	for _, text := range []string{measure.Filter, m.Filter} {
		if text != "" {
			out.Filters = append(out.Filters, b.expr(fact, text))
		}
	}
	out.Type = leafType(measure.Agg, of)
	b.frame.Leaves = append(b.frame.Leaves, out)
	return out
}

// leafType is DuckDB's type of an aggregate; "" when it depends on an expression.
func leafType(agg semantic.Agg, of semantic.Type) semantic.Type {
	switch agg {
	case semantic.Count, semantic.CountDistinct:
		return "bigint"
	case semantic.Avg:
		return "double"
	case semantic.Sum:
		switch {
		case whole(of):
			return "hugeint"
		case floating(of):
			return "double"
		case len(of) > 8 && of[:8] == "decimal(":
			var p, s int
			if _, err := fmt.Sscanf(string(of), "decimal(%d,%d)", &p, &s); err == nil {
				return semantic.Type(fmt.Sprintf("decimal(38,%d)", s))
			}
		}
		return ""
	}
	return of
}

func (b *builder) expr(t *Table, text string) Expr {
	return Expr{Table: t, Text: text, Columns: b.columns(t.Entity, text)}
}

// joins decides which joins may be INNER without losing a row of the answer.
func (b *builder) joins() {
	for _, l := range b.legs {
		for _, c := range l.Where {
			if c.Test == nil || !c.Test.dropsNull() {
				continue
			}
			for t := c.Operand.Table; t != nil && t.Parent != nil; t = t.Parent {
				t.Inner = true
			}
		}
		for _, t := range l.Tables[1:] {
			kept := t.Parent.Parent == nil || t.Parent.Inner // behind a LEFT join even a complete one loses rows
			if kept && t.Join.Complete && len(t.Filters) == 0 && b.allRows(t.Parent) && b.allRows(t) {
				t.Inner = true
			}
		}
	}
}

// keptRows warns of joined tables whose rows a filter of the model takes out while
// the fact's rows stay.
func (b *builder) keptRows() {
	for _, l := range b.legs {
		for _, t := range l.Tables[1:] {
			if len(t.Filters) == 0 || t.Inner {
				continue
			}
			var names []string
			for _, c := range t.Filters {
				names = append(names, string(c.By))
			}
			e := t.Entity.Name
			warning := fmt.Sprintf("rows of %s that belong to rows of %s left out by its filters (%s) are counted under NULL", l.fact.Entity.Name, e, listed(names))
			if t.Day == nil { // a calendar's table has no dimension here
				warning += fmt.Sprintf("; to leave them out too, filter by a dimension of %s, such as with is_not_null", e)
			}
			if !slices.Contains(b.plan.Warnings, warning) {
				b.plan.Warnings = append(b.plan.Warnings, warning)
			}
		}
	}
}

func (b *builder) allRows(t *Table) bool {
	return b.opts.AllRows != nil && b.opts.AllRows(t.Entity.Name)
}

// diverges goes by what is aggregated: a floating field, or a number computed
// from one or by a division.
func (l *Leaf) diverges() bool {
	if l.Arg == nil || l.Agg == semantic.Count || l.Agg == semantic.CountDistinct {
		return false
	}
	reads := slices.ContainsFunc(l.Arg.Columns, func(p resolve.Place) bool {
		return floating(l.Arg.Table.Entity.Field(p.Column).Type)
	})
	if l.Agg == semantic.Sum || l.Agg == semantic.Avg {
		return reads || strings.Contains(l.Arg.Text, "/")
	}
	return floating(l.Type) // of an expression, min and max may be text
}
