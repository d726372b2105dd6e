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
		default:
			w.put("\n", joinWord(t), " ")
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

func joinWord(t *metric.Table) string {
	word := "LEFT JOIN"
	if t.Inner {
		word = "INNER JOIN"
	}
	if t.Join.AsOf != nil {
		word = "ASOF " + word
	}
	return word
}

// on prints what joins a table. A version is the one with from <= at < to; written
// with coalesce, the comparison is one that DuckDB can hash by. Conditions on the
// other side alone come before an ASOF join looks for the last row.
func (w *writer) on(t *metric.Table) {
	if t.Day != nil {
		w.operand(*t.Day)
		w.put(" = ", w.column(t, t.Date))
	}
	w.separated(len(t.Join.On), " AND ", func(i int) {
		pair := t.Join.On[i]
		w.put(w.column(t.Parent, pair.From), " = ", w.column(t, pair.To))
	})
	if v := t.Join.Valid; v != nil {
		at, until := w.column(t.Parent, v.At), t.Entity.Field(v.To)
		w.put(" AND ", at, " >= ", w.column(t, v.From), " AND ", at, " < coalesce(", w.column(t, v.To), ", CAST('infinity' AS ", until.Type.SQL(), "))")
	}
	if a := t.Join.AsOf; a != nil {
		w.put(" AND ", w.column(t.Parent, a.At), " >= ", w.column(t, a.Time))
	}
	for _, c := range t.Filters {
		w.put(" AND ")
		w.condition(c, nil)
	}
}
