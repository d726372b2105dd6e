package emit

import (
	"strconv"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// value prints a metric over leaves; leaf prints one of the main frame. A ratio
// is a DOUBLE whatever its sides are, and NULL where its denominator is 0.
func (w *writer) value(v metric.Value, leaf func(*metric.Leaf)) {
	switch v := v.(type) {
	case *metric.Leaf:
		leaf(v)
	case *metric.Cell:
		w.cell(v)
	case *metric.Ratio:
		w.put("(")
		w.value(v.Num, leaf)
		w.put(" / nullif(")
		w.value(v.Den, leaf)
		w.put(", 0))")
	case *metric.Apply:
		w.apply(v, leaf)
	case *metric.Ranked:
		w.ranked(v, leaf)
	case *metric.ToDate:
		w.put(`CASE WHEN "a".`, alias("k", v.Mark.Time+1), " = ", alias("w", v.Mark.Number), `."k" THEN `)
		w.value(v.Cut, leaf)
		w.put(" ELSE ")
		w.value(v.Whole, leaf)
		w.put(" END")
	}
}

// apply prints one node of a derived metric, always in brackets.
func (w *writer) apply(v *metric.Apply, leaf func(*metric.Leaf)) {
	arg := func(i int) { w.value(v.Args[i], leaf) }
	switch v.Kind {
	case resolve.DerivedNumber:
		w.put(v.Text)
	case resolve.DerivedNull:
		w.put("NULL")
	case resolve.DerivedCall:
		w.put(v.Text, "(")
		w.separated(len(v.Args), ", ", arg)
		w.put(")")
	case resolve.DerivedCase:
		w.put("CASE")
		for i := 0; i+1 < len(v.Args); i += 2 {
			w.put(" WHEN ")
			arg(i)
			w.put(" THEN ")
			arg(i + 1)
		}
		w.put(" ELSE ")
		arg(len(v.Args) - 1)
		w.put(" END")
	case resolve.DerivedOperator:
		w.operator(v, arg)
	}
}

func (w *writer) operator(v *metric.Apply, arg func(int)) {
	w.put("(")
	defer w.put(")")
	switch {
	case v.Text == "/":
		arg(0)
		w.put(" / nullif(")
		arg(1)
		w.put(", 0)")
	case v.Text == "is null" || v.Text == "is not null":
		arg(0)
		w.put(" ", v.Text)
	case len(v.Args) == 1:
		w.put(v.Text, " ")
		arg(0)
	default:
		w.separated(len(v.Args), " "+v.Text+" ", arg)
	}
}

// ranked prints a place among the rows of one level. What is no number has none,
// and is passed over.
func (w *writer) ranked(v *metric.Ranked, leaf func(*metric.Leaf)) {
	finite := func() {
		if !w.floats(v.Of) {
			w.value(v.Of, leaf)
			return
		}
		w.put("CASE WHEN isfinite(")
		w.value(v.Of, leaf)
		w.put(") THEN ")
		w.value(v.Of, leaf)
		w.put(" END")
	}
	w.put("CASE WHEN (")
	finite()
	w.put(") IS NOT NULL")
	if len(w.plan.Levels) > 1 {
		w.put(` AND "a"."g" = 0`)
	}
	if t := w.plan.Kept; t != nil && t.Other >= 0 {
		w.put(` AND NOT "a".`, alias("k", t.Other+1))
	}
	name, dir := "rank", " DESC"
	if v.Ties == "dense" {
		name = "dense_rank"
	}
	if v.Asc {
		dir = " ASC"
	}
	w.put(" THEN ", name, "() OVER (")
	parts := []string{}
	if len(w.plan.Levels) > 1 {
		parts = append(parts, `"a"."g"`)
	}
	if t := w.plan.Kept; t != nil && t.Other >= 0 {
		parts = append(parts, `"a".`+alias("k", t.Other+1))
	}
	for _, k := range v.Within {
		parts = append(parts, `"a".`+alias("k", k+1))
	}
	if len(parts) > 0 {
		w.put("PARTITION BY ")
		w.separated(len(parts), ", ", func(i int) { w.put(parts[i]) })
		w.put(" ")
	}
	w.put("ORDER BY ")
	finite()
	w.put(dir, " NULLS LAST) END")
}

// floats reports that a value may be NaN or infinite.
func (w *writer) floats(v metric.Value) bool { return metric.Diverges(v) }

// cell prints a leaf that was looked up. Where nothing was found a fill stands; for
// a running one only as far as the days of its fact go, beyond which nothing is known.
func (w *writer) cell(c *metric.Cell) {
	s := c.Source
	from := alias("j", s.Number)
	if s.Whole != nil && ownedBy(s.Whole, c.Leaf) {
		from = alias("y", s.Number)
	}
	col := from + "." + alias("m", c.Leaf.Index+1)
	if c.Leaf.Fill == nil {
		w.put(col)
		return
	}
	w.put("CASE WHEN ", from, `."h" THEN `, col)
	if s.Run != nil {
		w.put(` WHEN "a".`, alias("k", s.Time+1), ` > (SELECT max("s"."k") FROM `, semantic.Quote(seriesName(s)), ` AS "s") THEN NULL`)
	}
	w.put(" ELSE ", strconv.Itoa(*c.Leaf.Fill), " END")
}

func ownedBy(f *metric.Frame, l *metric.Leaf) bool {
	return l.Index < len(f.Leaves) && f.Leaves[l.Index] == l
}
