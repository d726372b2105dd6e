package emit

import (
	"math/big"
	"slices"

	"strconv"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// condition prints one condition, in parentheses where it holds an OR or is the
// model's own text. leaf prints the aggregates of a filter on a metric.
func (w *writer) condition(c metric.Condition, leaf func(*metric.Leaf)) {
	w.conditions[c.ID]++
	if c.Model != nil {
		w.byModel(func() {
			w.put("(")
			w.expr(*c.Model)
			w.put(")")
		})
		return
	}
	if len(c.Parts) > 0 {
		word := " AND "
		if c.Or {
			word = " OR "
		}
		w.put("(")
		w.separated(len(c.Parts), word, func(i int) { w.condition(c.Parts[i], leaf) })
		w.put(")")
		return
	}
	w.test(c.Test, func() { w.compared(c.Operand, leaf) })
}

// compared prints what a condition tests: after aggregation a column of the answer.
func (w *writer) compared(o metric.Operand, leaf func(*metric.Leaf)) {
	p := w.plan
	switch {
	case o.Metric != nil && leaf == nil:
		for i := range p.Metrics {
			if o.Metric == &p.Metrics[i] {
				w.resultColumn(len(p.Keys) + i)
			}
		}
	case o.Metric != nil:
		w.byModel(func() { w.value(o.Metric.Value, leaf) })
	case o.Key > 0 && leaf == nil:
		w.resultColumn(o.Key - 1)
	case o.Key > 0 && len(p.Main().Legs) == 1:
		w.operand(p.Main().Legs[0].Keys[o.Key-1])
	case o.Key > 0:
		w.put(`"u".`, alias("k", o.Key))
	default:
		w.operand(o)
	}
}

func (w *writer) test(t metric.Test, operand func()) {
	switch t := t.(type) {
	case metric.Compare:
		operand()
		w.put(" ", t.Op, " ", t.Literal)
	case metric.In:
		operand()
		if t.Not {
			w.put(" NOT")
		}
		w.put(" IN (")
		w.separated(len(t.Literals), ", ", func(i int) { w.put(t.Literals[i]) })
		w.put(")")
	case metric.Null:
		operand()
		w.put(" IS ")
		if t.Not {
			w.put("NOT ")
		}
		w.put("NULL")
	case metric.Call:
		w.put(t.Function, "(")
		operand()
		w.put(", ", t.Literal, ")")
	case metric.All:
		w.separated(len(t), " AND ", func(i int) { w.test(t[i], operand) })
	case metric.Any:
		w.put("(")
		w.separated(len(t), " OR ", func(i int) {
			w.put("(")
			w.test(t[i], operand)
			w.put(")")
		})
		w.put(")")
	}
}

// operand prints a column or its bucket; of what lies behind a bridge, the column
// of the bridge's relation.
func (w *writer) operand(o metric.Operand) {
	print := func() {
		if b := w.bridgeOf(o.Table); b != nil {
			w.put(w.export(b, inside(o)))
			return
		}
		w.put(inside(o))
	}
	w.by(o.Table.Rollup != nil, print) // it may read what the caller may not
}

// inside is an operand where its table stands in FROM.
func inside(o metric.Operand) string {
	col := column(o.Table, o.Column)
	if o.Table.Rollup != nil {
		col = rolledUp(o.Table)
	}
	switch {
	case o.Bins != nil:
		return bins(*o.Bins, col)
	case o.Bucket == nil:
		return col
	}
	return bucket(*o.Bucket, col)
}

// floatBins cuts a number that floats. Its edges are the floating numbers nearest to
// whole multiples of the width: a division alone would put 0.3 below the edge 0.3.
func floatBins(b metric.Bins, col string) string {
	width, _ := new(big.Rat).SetString(b.Width)
	num, den := width.Num().String(), width.Denom().String()
	at := "floor(CAST(" + col + " AS DOUBLE) * " + den + " / " + num + ")"
	edge := func(plus string) string {
		text := "((" + at + plus + ") * " + num + " / " + den + ")"
		if b.Single {
			text = "CAST(" + text + " AS FLOAT)"
		}
		return text
	}
	text := "CASE WHEN isfinite(" + col + ") THEN CASE"
	for _, plus := range []string{" + 1", ""} {
		text += " WHEN " + edge(plus) + " <= " + col + " THEN " + edge(plus)
	}
	return text + " ELSE " + edge(" - 1") + " END END"
}

// bins cuts a number into groups. Numbers below zero go to the edge below them as
// well; what is exact stays exact.
func bins(b metric.Bins, col string) string {
	if b.Width != "" {
		if b.Floating {
			return floatBins(b, col)
		}
		return "(" + col + " - ((" + col + " % " + b.Width + " + " + b.Width + ") % " + b.Width + "))"
	}
	text := "CASE"
	if b.Floating {
		text += " WHEN NOT isfinite(" + col + ") THEN NULL"
	}
	for _, edge := range slices.Backward(b.Edges) {
		text += " WHEN " + col + " >= " + edge + " THEN " + edge
	}
	return text + " END"
}

// bucket cuts a time column. Zones stand in the expression, since the session's
// own zone is not ours to set; a DATE is never zoned.
func bucket(b metric.Bucket, col string) string {
	local := localTime(b, col)
	if metric.BucketType(b.Grain) == "timestamp" {
		return instantBucket(b, col, local)
	}
	switch {
	case b.Grain == "day" && b.Type == "date":
		return col
	case b.Grain == "day":
		return "CAST(" + local + " AS DATE)"
	case b.Grain == "week" && b.Sunday:
		// date_trunc's weeks start on Monday
		day := local
		if b.Type != "date" {
			day = "CAST(" + local + " AS DATE)"
		}
		return "(CAST(date_trunc('week', " + day + " + 1) AS DATE) - 1)"
	}
	unit, fiscal := strings.CutPrefix(b.Grain, "fiscal_")
	if fiscal && b.Fiscal > 1 {
		// moving by whole months keeps the days of a month together, so cutting afterwards is exact
		by := "INTERVAL " + strconv.Itoa(b.Fiscal-1) + " MONTH"
		return "CAST((date_trunc('" + unit + "', (" + local + " - " + by + ")) + " + by + ") AS DATE)"
	}
	return "CAST(date_trunc('" + unit + "', " + local + ") AS DATE)"
}

// localTime is the column as a local time of the zone whose days are meant.
func localTime(b metric.Bucket, col string) string {
	switch {
	case b.Type == "timestamptz":
		return atZone(col, b.Shown)
	case b.Type == "timestamp" && b.Stored != b.Shown:
		return atZone(atZone(col, b.Stored), b.Shown)
	}
	return col
}

// instantBucket cuts hours, minutes and seconds on the instant: it takes from the
// UTC time what has passed since the local hour began. Cutting the local time
// itself would merge the two hours of an autumn night.
func instantBucket(b metric.Bucket, col, local string) string {
	instant := col
	switch {
	case b.Type == "timestamptz":
		instant = atZone(col, "UTC")
	case b.Stored != "UTC":
		instant = atZone(atZone(col, b.Stored), "UTC")
	}
	if b.Shown == "UTC" || b.Grain == "second" {
		return "date_trunc('" + b.Grain + "', " + instant + ")"
	}
	return "(" + instant + " - (" + local + " - date_trunc('" + b.Grain + "', " + local + ")))"
}

func atZone(col, zone string) string {
	return "(" + col + " AT TIME ZONE " + semantic.QuoteText(zone) + ")"
}
