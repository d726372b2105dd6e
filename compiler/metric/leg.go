package metric

import (
	"fmt"
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// leg is a Leg in the making.
type leg struct {
	*Leg
	fact  *resolve.Visible
	asked string // the metric that brought it in, for messages
	form  string // which leaves it takes: "", semiAdditive, or a conversion's own
}

// leg gives the leg of a fact.
func (b *builder) leg(fact *resolve.Visible, asked string) leg { return b.legOf(fact, asked, "") }

// semiAdditive is the form of a fact's leg beside its plain one.
const semiAdditive = "semi-additive"

// legOf gives the leg of a fact for leaves of one form.
func (b *builder) legOf(fact *resolve.Visible, asked, form string) leg {
	for _, l := range b.legs {
		if l.fact == fact && l.form == form {
			return l
		}
	}
	l := leg{Leg: &Leg{Semi: form == semiAdditive}, fact: fact, asked: asked, form: form}
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
		if t := r.Through; t != nil {
			between := b.entity(t.Entity).Entity
			bridge := &Bridge{Near: between.Relationship(t.Near), Far: between.Relationship(t.Far), Allocate: t.Allocate, Weight: t.Weight}
			at = b.addTable(l, &Table{Entity: between, Parent: at, Join: r, Bridge: bridge, path: key + ".\x00"})
			r = bridge.Far
		}
		at = b.addTable(l, &Table{Entity: b.entity(r.To).Entity, Parent: at, Join: r, path: key})
	}
	return at
}

// Special legs are printed as relations of their own, also when a plan has no other.
func (l *Leg) Special() bool {
	return l.Semi || l.Conversion != nil || slices.ContainsFunc(l.Tables, func(t *Table) bool { return t.Bridge != nil })
}

func (b *builder) expr(t *Table, text string) Expr {
	places := b.references(t.Entity, text)
	return Expr{Table: t, Text: text, Columns: places, Values: b.boundIn(places)}
}

// joins decides which joins may be INNER without losing a row of the answer.
func (b *builder) joins() {
	for _, l := range b.legs {
		for _, c := range l.Where {
			if c.Test == nil || !c.Test.dropsNull() {
				continue
			}
			for t := c.Operand.Table; t != nil && t.Parent != nil; t = t.Parent {
				t.Inner = t.Inner || t.Rollup == nil // who has no rows there has a value all the same
			}
		}
		for _, t := range l.Tables[1:] {
			kept := t.Parent.Parent == nil || t.Parent.Inner // behind a LEFT join even a complete one loses rows
			if kept && t.Rollup == nil && t.Join.Complete && len(t.Filters) == 0 && b.allRows(t.Parent) && b.allRows(t) {
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
			if len(t.Filters) == 0 || t.Inner || t.Rollup != nil {
				continue
			}
			var names []string
			for _, c := range t.Filters {
				names = append(names, b.filterNamed(t, c.By))
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

// filterNamed names a filter of the model where its condition may be shown, and
// says what it is for otherwise, as the applied filters do.
func (b *builder) filterNamed(t *Table, name semantic.Name) string {
	i := slices.IndexFunc(t.Entity.Filters, func(f *semantic.Filter) bool { return f.Name == name })
	if i < 0 || b.spelledOut(t, t.Entity.Filters[i]) {
		return string(name)
	}
	return or(t.Entity.Filters[i].Description, string(name))
}

func (b *builder) allRows(t *Table) bool {
	return b.opts.AllRows != nil && b.opts.AllRows(t.Entity.Name)
}
