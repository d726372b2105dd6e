package emit

import (
	"strings"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

func (w *writer) rows(l *metric.Leaf) {
	w.put("count(*)")
	w.filters(l)
}

func (w *writer) aggregate(l *metric.Leaf) {
	name := string(l.Agg)
	if l.Agg == semantic.CountDistinct {
		name = "count"
	}
	w.put(name, "(")
	if l.Agg == semantic.CountDistinct {
		w.put("DISTINCT ")
	}
	if l.Arg == nil {
		w.put("*")
	} else {
		w.expr(*l.Arg)
	}
	w.put(")")
	w.filters(l)
	w.filtered[l] = true
}

func (w *writer) filters(l *metric.Leaf) {
	if len(l.Filters) == 0 {
		return
	}
	w.put(" FILTER (WHERE ")
	w.separated(len(l.Filters), " AND ", func(i int) {
		w.put("(")
		w.expr(l.Filters[i])
		w.put(")")
	})
	w.put(")")
}

// expr prints SQL of the model with its columns qualified.
func (w *writer) expr(e metric.Expr) {
	at := 0
	for _, c := range e.Columns {
		w.put(e.Text[at:c.At], table(e.Table), ".")
		at = c.At
	}
	w.put(e.Text[at:])
	if strings.Contains(e.Text, "--") {
		w.put("\n") // a line comment must not take what follows
	}
}

func (w *writer) from(l *metric.Leg) {
	for _, t := range l.Tables {
		entity := semantic.Quote(string(t.Entity.Name)) + " AS " + table(t)
		switch {
		case t.Parent == nil:
			w.put("\nFROM ")
			w.byModel(func() { w.put(entity) })
			continue
		case t.Inner:
			w.put("\nINNER JOIN ")
		default:
			w.put("\nLEFT JOIN ")
		}
		w.byModel(func() {
			w.put(entity, " ON ")
			w.on(t)
		})
	}
	w.joined(l)
	word := "\nWHERE "
	for _, c := range l.Where {
		w.put(word)
		w.condition(c, nil)
		word = " AND "
	}
	if w.frame != nil && w.frame.Cut {
		w.put(word)
		w.cut(l)
	}
}

func (w *writer) on(t *metric.Table) {
	if t.Day != nil {
		w.operand(*t.Day)
		w.put(" = ", column(t, t.Date))
	}
	w.separated(len(t.Join.On), " AND ", func(i int) {
		pair := t.Join.On[i]
		w.put(column(t.Parent, pair.From), " = ", column(t, pair.To))
	})
	for _, c := range t.Filters {
		w.put(" AND ")
		w.condition(c, nil)
	}
}
