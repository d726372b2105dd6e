package emit

import (
	"strings"

	"plumbline/compiler/metric"
)

// Aggregate prints a measure for a SELECT over its entity, as the questions of
// metrics do. grouped: each group has a row at least.
func Aggregate(l *metric.Leaf, grouped bool) string {
	w := forSQL()
	if grouped {
		w.plan.Keys = make([]metric.Key, 1)
	}
	w.filled(l)
	return w.text.String()
}

// Bare prints a measure without its fill.
func Bare(l *metric.Leaf) string {
	w := forSQL()
	w.aggregate(l)
	return w.text.String()
}

// Rows prints how many rows stand behind a measure.
func Rows(l *metric.Leaf) string {
	w := forSQL()
	w.rows(l)
	return w.text.String()
}

// Conditions prints conditions of the model, all of which must hold.
func Conditions(list []metric.Expr) string {
	w := forSQL()
	w.separated(len(list), " AND ", func(i int) {
		w.put("(")
		w.expr(list[i])
		w.put(")")
	})
	return w.text.String()
}

func forSQL() *writer {
	return &writer{plan: &metric.Plan{}, text: strings.Builder{}, filtered: map[*metric.Leaf]bool{}}
}

// Marked prints what a semi-additive measure needs of its rows: which of them count,
// within groups of the keys, and the columns that it reads then. Before are the
// columns that this reads itself.
func Marked(l *metric.Leaf, keys []string) (text, before string) {
	fact := l.Leg.Tables[0]
	w := forSQL()
	w.markWithin(l, len(keys), func(i int) { w.put(keys[i]) })
	w.put(", ")
	w.exported(fact, l.Reads())
	text = w.text.String()
	read := append(append(l.Reads(), l.Measure.Semi.Over), l.Measure.Semi.Per...)
	for _, x := range l.Filters {
		for _, c := range x.Columns {
			read = append(read, c.Column)
		}
	}
	w = forSQL()
	w.exported(fact, read)
	return text, w.text.String()
}
