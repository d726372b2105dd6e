package emit

import (
	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// expr prints SQL of the model with its columns qualified.
func (w *writer) expr(e metric.Expr) {
	at := 0
	for i, c := range e.Columns {
		if c.Parameter != "" {
			w.put(e.Text[at:c.At], e.Values[i])
			at = c.End
			continue
		}
		w.put(e.Text[at:c.At], table(e.Table), ".")
		at = c.At
	}
	w.put(e.Text[at:])
	w.afterComment(e.Text)
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
		w.put(" = ", w.column(t, t.Date))
	}
	w.separated(len(t.Join.On), " AND ", func(i int) {
		pair := t.Join.On[i]
		w.put(w.column(t.Parent, pair.From), " = ", w.column(t, pair.To))
	})
	for _, c := range t.Filters {
		w.put(" AND ")
		w.condition(c, nil)
	}
}
