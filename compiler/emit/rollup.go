package emit

import (
	"strconv"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// rollup prints the join of a measure of a to-many entity: one row for each of those
// it belongs to, n1 ... the fields that lead there and v the value.
func (w *writer) rollup(t *metric.Table) {
	leaf := t.Rollup.Leaf
	w.put("\nLEFT JOIN ")
	w.byModel(func() {
		w.put("(SELECT ")
		for i, p := range t.Join.On {
			w.put(column(t, p.From), " AS ", alias("n", i+1), ", ")
		}
		if leaf.Fill == nil {
			w.aggregate(leaf)
		} else {
			w.put("CASE WHEN ")
			w.rows(leaf)
			w.put(" > 0 THEN ")
			w.aggregate(leaf)
			w.put(" ELSE ", strconv.Itoa(*leaf.Fill), " END")
		}
		w.put(` AS "v" FROM `, semantic.Quote(string(t.Entity.Name)), " AS ", table(t))
		word := " WHERE "
		for _, c := range t.Filters {
			w.put(word)
			w.condition(c, nil)
			word = " AND "
		}
		w.groupBy(len(t.Join.On))
		w.put(") AS ", table(t), " ON ")
		w.separated(len(t.Join.On), " AND ", func(i int) {
			w.put(column(t.Parent, t.Join.On[i].To), " = ", table(t), ".", alias("n", i+1))
		})
	})
}

// rolledUp is the value of a measure of a to-many entity: for what has no rows there
// the value of an empty aggregate, and none for what is missing itself.
func rolledUp(t *metric.Table) string {
	leaf := t.Rollup.Leaf
	value, empty := table(t)+`."v"`, ""
	switch agg := leaf.Measure.Agg; {
	case leaf.Fill != nil:
		empty = strconv.Itoa(*leaf.Fill)
	case agg == semantic.Count || agg == semantic.CountDistinct || agg == semantic.ApproxDistinct:
		empty = "0"
	}
	if empty == "" {
		return value
	}
	text := "CASE"
	if t.Rollup.Orphan {
		text += " WHEN " + column(t.Parent, t.Join.On[0].To) + " IS NULL THEN NULL"
	}
	return text + " WHEN " + table(t) + `."n1" IS NULL THEN ` + empty + " ELSE " + value + " END"
}
