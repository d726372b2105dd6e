package emit

import (
	"slices"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// plain are the aggregates of one argument, under their names in DuckDB.
var plain = map[semantic.Agg]string{
	semantic.Sum: "sum", semantic.Count: "count", semantic.Avg: "avg", semantic.Min: "min", semantic.Max: "max",
	semantic.ApproxDistinct: "approx_count_distinct", semantic.Stddev: "stddev_samp", semantic.Variance: "var_samp",
}

// rows prints how many rows stand behind a leaf.
func (w *writer) rows(l *metric.Leaf) {
	w.put("count(*)")
	if l.Leg.Semi {
		w.put(" FILTER (WHERE ", marked(l, "w"), ")")
		return
	}
	w.filter(l)
}

// marked is the column that tells which rows of a semi-additive leaf count.
func marked(l *metric.Leaf, mark string) string {
	fact := l.Leg.Tables[0]
	return table(fact) + "." + free(fact, mark, l.Index+1)
}

// aggregate prints a leaf over the rows of its group. NULLs of what it aggregates
// are passed by.
func (w *writer) aggregate(l *metric.Leaf) {
	w.filtered[l] = true
	m := l.Measure
	if weight := w.weights(l); weight != "" {
		w.weighted(l, weight)
		return
	}
	switch m.Agg {
	case semantic.Custom:
		w.custom(l)
		return
	case semantic.CountDistinct:
		w.put("count(DISTINCT ")
		w.expr(*l.Arg)
		w.put(")")
	case semantic.Median, semantic.Percentile:
		w.quantile(l)
	case semantic.First, semantic.Last, semantic.StringAgg, semantic.ListAgg:
		w.inOrder(l)
		return
	default:
		w.put(plain[m.Agg], "(")
		if l.Arg == nil {
			w.put("*")
		} else {
			w.expr(*l.Arg)
		}
		w.put(")")
	}
	w.filter(l)
}

// quantile prints a value of the rows, or one between two of them: a DOUBLE, since
// a value between two decimals has more decimals than they.
func (w *writer) quantile(l *metric.Leaf) {
	at := l.Measure.Quantile
	if l.Measure.Agg == semantic.Median {
		at = "0.5"
	}
	if l.Measure.Discrete {
		w.put("quantile_disc(")
		w.expr(*l.Arg)
		w.put(", ", at, ")")
		return
	}
	w.put("quantile_cont(CAST(")
	w.expr(*l.Arg)
	w.put(" AS DOUBLE), ", at, ")")
}

// inOrder prints an aggregate that reads its rows in an order. Rows without a value,
// and for first and last those without a place in the order, do not count.
func (w *writer) inOrder(l *metric.Leaf) {
	m := l.Measure
	fact := l.Leg.Tables[0]
	picks := m.Agg == semantic.First || m.Agg == semantic.Last
	switch {
	case picks:
		w.put("first(")
		w.expr(*l.Arg)
	case m.Agg == semantic.StringAgg:
		w.put("string_agg(")
		w.expr(*l.Arg)
		w.put(", ", semantic.QuoteText(separator(m)))
	default:
		w.put("list(")
		w.expr(*l.Arg)
	}
	w.put(" ORDER BY ")
	w.separated(len(l.Order), ", ", func(i int) {
		if o := l.Order[i]; o.Column == "" {
			w.expr(*l.Arg)
		} else {
			w.put(column(fact, o.Column))
		}
		if l.Order[i].Desc {
			w.put(" DESC")
		}
		w.put(" NULLS LAST")
	})
	w.put(")")
	also := []func(){func() {
		w.put("(")
		w.expr(*l.Arg)
		w.put(") IS NOT NULL")
	}}
	if picks {
		also = append(also, func() { w.put(column(fact, m.By), " IS NOT NULL") })
	}
	w.filter(l, also...)
}

func separator(m *semantic.Measure) string {
	if m.Separator == "" {
		return ", "
	}
	return m.Separator
}

// custom prints an aggregate expression of the model. Its filters go to each
// aggregate in it, so that it says itself what it is over no rows.
func (w *writer) custom(l *metric.Leaf) {
	type insert struct {
		at, end int // what stands between is left out
		put     func()
	}
	var inserts []insert
	e := *l.Arg
	if counts := w.marking(l); counts != nil {
		for _, c := range resolve.AggregateCalls(e.Text) {
			if c.From == c.To {
				inserts = append(inserts, insert{c.End, c.End, func() { w.filter(l) }})
				continue
			}
			inserts = append(inserts, insert{c.From, c.From, func() { w.put(" (") }}, insert{c.To, c.To, func() {
				w.put(") AND ")
				counts()
			}})
		}
	}
	for i, c := range e.Columns {
		if c.Parameter != "" {
			inserts = append(inserts, insert{c.At, c.End, func() { w.put(e.Values[i]) }})
			continue
		}
		inserts = append(inserts, insert{c.At, c.At, func() { w.put(table(e.Table), ".") }})
	}
	slices.SortStableFunc(inserts, func(a, b insert) int { return a.at - b.at })
	at := 0
	w.put("(")
	for _, in := range inserts {
		w.put(e.Text[at:in.at])
		in.put()
		at = in.end
	}
	w.put(e.Text[at:])
	w.afterComment(e.Text)
	w.put(")")
}

// marking is what says which rows of a group count for a leaf; nil for all.
func (w *writer) marking(l *metric.Leaf) func() {
	if l.Leg.Semi {
		return func() { w.put(marked(l, "a")) }
	}
	return w.own(l)
}

// filter prints which rows count for a leaf, with more conditions in front.
func (w *writer) filter(l *metric.Leaf, also ...func()) {
	w.filterBy(append(also, w.marking(l)))
}

// filterBy prints a FILTER of conditions; nil ones are none.
func (w *writer) filterBy(conditions []func()) {
	conditions = slices.DeleteFunc(conditions, func(c func()) bool { return c == nil })
	if len(conditions) == 0 {
		return
	}
	w.put(" FILTER (WHERE ")
	w.separated(len(conditions), " AND ", func(i int) { conditions[i]() })
	w.put(")")
}

// own is the conditions of a leaf and of its metrics; nil for none.
func (w *writer) own(l *metric.Leaf) func() {
	if l.Leg.Conversion != nil {
		return w.countsEvents(l)
	}
	if len(l.Filters)+len(l.Where) == 0 {
		return nil
	}
	return func() { w.conjunction(l) }
}

// conjunction prints the conditions of a leaf, of which there is one at least.
func (w *writer) conjunction(l *metric.Leaf) {
	var list []func()
	for _, f := range l.Filters {
		list = append(list, func() {
			w.put("(")
			w.expr(f)
			w.put(")")
		})
	}
	for _, c := range l.Where {
		if b := w.bridges[over(c)]; b == nil || !b.asksByMark() {
			list = append(list, func() { w.condition(c, nil) })
		}
	}
	list = append(list, w.bridgeMarks(l.Leg, l)...)
	w.separated(len(list), " AND ", func(i int) { list[i]() })
}

// afterComment ends a line comment, which must not take what follows.
func (w *writer) afterComment(text string) {
	if strings.Contains(text, "--") {
		w.put("\n")
	}
}
