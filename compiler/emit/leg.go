package emit

import (
	"slices"

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
		switch b := w.bridges[t]; {
		case t.Parent == nil && l.Conversion != nil:
			w.events(l)
		case t.Parent == nil:
			w.put("\nFROM ")
			w.byModel(func() { w.put(semantic.Quote(string(t.Entity.Name)), " AS ", table(t)) })
		case b != nil && b.used():
			w.bridgeJoin(l, b)
		case t.Over() == nil:
			w.join(t)
		}
	}
	if !w.isSide(l) {
		w.joined(l)
	}
	word := "\nWHERE "
	also := func(print func()) {
		w.put(word)
		print()
		word = " AND "
	}
	for _, c := range l.Where {
		if !w.handled(c) {
			also(func() { w.condition(c, nil) })
		}
	}
	for _, print := range w.bridgeMarks(l, nil) {
		also(print)
	}
	if w.frame != nil && w.frame.Cut != nil && !w.isSide(l) {
		also(func() { w.cut(l) })
	}
}

// isSide reports a leg that is one side of a conversion: it has no keys of the frame.
func (w *writer) isSide(l *metric.Leg) bool {
	return w.frame != nil && !slices.Contains(w.frame.Legs, l)
}

// join prints the join of a table to its parent.
func (w *writer) join(t *metric.Table) {
	if t.Rollup != nil {
		w.rollup(t)
		return
	}
	w.put("\n", joinWord(t), " ")
	w.byModel(func() {
		w.put(semantic.Quote(string(t.Entity.Name)), " AS ", table(t), " ON ")
		w.on(t)
	})
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
		w.put(" = ", column(t, t.Date))
	}
	w.separated(len(t.Join.On), " AND ", func(i int) {
		pair := t.Join.On[i]
		w.put(column(t.Parent, pair.From), " = ", column(t, pair.To))
	})
	if v := t.Join.Valid; v != nil {
		at, until := column(t.Parent, v.At), t.Entity.Field(v.To)
		w.put(" AND ", at, " >= ", column(t, v.From), " AND ", at, " < coalesce(", column(t, v.To), ", CAST('infinity' AS ", until.Type.SQL(), "))")
	}
	if a := t.Join.AsOf; a != nil {
		w.put(" AND ", column(t.Parent, a.At), " >= ", column(t, a.Time))
	}
	for _, c := range t.Filters {
		w.put(" AND ")
		w.condition(c, nil)
	}
}
