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
