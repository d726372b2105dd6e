package emit

import (
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// edges prints the groups and buckets that have data, those of running windows
// included.
func (w *writer) edges() {
	p := w.plan
	w.edge(p.Main(), nil)
	seen := map[*metric.Frame]bool{p.Main(): true}
	for _, s := range p.Spine.Sources {
		if !seen[s.Frame] && len(s.Shift) == 0 && w.hasAll(s.Frame) {
			seen[s.Frame] = true
			w.put("\nUNION\n")
			w.edge(s.Frame, s.Run.Coarse)
		}
	}
}

func (w *writer) edge(f *metric.Frame, coarse *metric.Bucket) {
	all := w.all()
	w.put("SELECT ")
	w.separated(len(all), ", ", func(i int) {
		col := `"f".` + alias("k", all[i]+1)
		if all[i] == w.plan.Spine.Time && coarse != nil {
			col = bucket(*coarse, col) + " AS " + alias("k", all[i]+1)
		}
		w.put(col)
	})
	w.put(" FROM ", semantic.Quote(frameName(f)), ` AS "f"`)
	word := " WHERE "
	if f != w.plan.Main() { // a wider range has rows whose time is not known, which the question's has not
		w.put(word, `"f".`, alias("k", w.plan.Spine.Time+1), " IS NOT NULL")
		word = " AND "
	}
	w.atLevel(word, f, w.named(), "f")
}

// hasAll reports that a frame has rows by all keys of the question.
func (w *writer) hasAll(f *metric.Frame) bool {
	return f.Levels == nil || slices.ContainsFunc(f.Levels, func(level []int) bool { return len(level) == len(w.named()) })
}

// named are the keys of the question; all those and the one that tells the rest.
func (w *writer) named() []int {
	out := make([]int, len(w.plan.Main().Keys))
	for i := range out {
		out[i] = i
	}
	return out
}

func (w *writer) all() []int { return w.withRest(w.plan.Main(), w.named()) }

// allRows prints a row for each group and bucket between the first and the last.
func (w *writer) allRows() {
	f := w.plan.Main()
	all := w.all()
	w.put("SELECT ")
	for _, k := range all {
		w.put(`"p".`, alias("k", k+1), ", ")
	}
	for i := range f.Leaves {
		w.byModel(func() { w.put(`"f".`, alias("m", i+1)) })
		w.put(", ")
	}
	w.put("\"f\".\"h\"\nFROM (\n")
	w.grid(all)
	w.put("\n) AS \"p\"\nLEFT JOIN ", semantic.Quote(frameName(f)), ` AS "f" ON `)
	w.separated(len(all), " AND ", func(i int) {
		k := alias("k", all[i]+1)
		w.put(`"f".`, k, ` IS NOT DISTINCT FROM "p".`, k)
	})
	w.atLevel(" AND ", f, w.named(), "f")
}

// grid prints all groups with all buckets, and the groups whose time is not known.
func (w *writer) grid(all []int) {
	s := w.plan.Spine
	time := alias("k", s.Time+1)
	var rest []string
	for _, k := range all {
		if k != s.Time {
			rest = append(rest, alias("k", k+1))
		}
	}
	w.put("SELECT ")
	w.separated(len(all), ", ", func(i int) {
		if all[i] == s.Time {
			w.put(`"s"."k" AS `, time)
		} else {
			w.put(`"o".`, alias("k", all[i]+1))
		}
	})
	w.put(" FROM ")
	if len(rest) > 0 {
		w.put("(SELECT DISTINCT ", strings.Join(rest, ", "), ` FROM "edges") AS "o" CROSS JOIN `)
	}
	w.put("(SELECT ")
	w.buckets(s.Bucket.Grain)
	w.put(" FROM (SELECT ")
	w.span(time)
	w.put(`) AS "c") AS "s"`)
	w.put("\nUNION ALL\nSELECT ")
	w.separated(len(all), ", ", func(i int) { w.put(`"e".`, alias("k", all[i]+1)) })
	w.put(` FROM "edges" AS "e" WHERE "e".`, time, " IS NULL")
}

// span prints the first and the last bucket of the answer, lo and hi: those of the
// data, as far as the question's ranges leave them.
func (w *writer) span(time string) {
	s := w.plan.Spine
	low, high, from := `min("e".`+time+`)`, `max("e".`+time+`)`, `"edges" AS "e"`
	if s.Extents != nil {
		var each []string
		for _, f := range s.Extents {
			each = append(each, `SELECT "f"."k1" FROM `+semantic.Quote(frameName(f))+` AS "f"`)
		}
		from = "(" + strings.Join(each, " UNION ALL ") + `) AS "e"`
		low, high = bucket(s.Bucket, `min("e"."k1")`), bucket(s.Bucket, lastDayShown(s.To))
	}
	if s.From != "" {
		low = "greatest(" + low + ", " + s.From + ")"
	}
	w.put(low, ` AS "lo", `, high, ` AS "hi" FROM `, from)
}

// lastDayShown is the last day of the extent that the ranges leave.
func lastDayShown(to string) string {
	if to != "" {
		return `least(max("e"."k1"), ` + to + `)`
	}
	return `max("e"."k1")`
}

// result prints the rows of the answer with their metrics.
func (w *writer) result() {
	p, f := w.plan, w.plan.Main()
	w.put("SELECT ")
	w.separated(len(p.Keys)+len(p.Metrics), ", ", func(i int) {
		if i < len(p.Keys) {
			w.put(`"a".`, alias("k", i+1))
		} else {
			w.byModel(func() { w.value(p.Metrics[i-len(p.Keys)].Value, w.stored) })
		}
		w.put(" AS ", alias("c", i+1))
	})
	if p.Levels != nil {
		w.put(", ")
		w.rolledUp()
		w.put(` AS "g"`)
	}
	if w.chosen() {
		w.put(`, "t"."h" AS "h"`)
	}
	w.put("\nFROM ")
	if p.Spine != nil {
		w.put(`"all rows" AS "a"`)
	} else {
		w.put(semantic.Quote(frameName(f)), ` AS "a"`)
	}
	for _, s := range p.Sources {
		w.look(s)
	}
	if w.chosen() {
		k := alias("k", p.Kept.Key+1)
		w.put("\n", `LEFT JOIN "top groups" AS "t" ON "t"."k" IS NOT DISTINCT FROM "a".`, k)
	}
	for _, m := range p.Watermarks {
		w.put("\nCROSS JOIN ", semantic.Quote(dayName(m)), " AS ", alias("w", m.Number))
	}
	if len(f.Levels) > 1 && p.Spine == nil {
		levels := p.Levels
		if levels == nil {
			levels = [][]int{w.named()}
		}
		w.put("\nWHERE \"a\".\"g\" IN (")
		w.separated(len(levels), ", ", func(i int) { w.put(strconv.Itoa(w.level(f, levels[i]))) })
		w.put(")")
	}
}

// chosen reports that the rows of the answer are those of the top groups alone.
func (w *writer) chosen() bool { return w.plan.Kept != nil && w.plan.Kept.Other < 0 }

// stored prints a leaf of the main frame. A row that has no data has its fill.
func (w *writer) stored(l *metric.Leaf) {
	col := `"a".` + alias("m", l.Index+1)
	if w.plan.Spine == nil || l.Fill == nil {
		w.put(col)
		return
	}
	w.put(`CASE WHEN "a"."h" THEN `, col, " ELSE ", strconv.Itoa(*l.Fill), " END")
}

// rolledUp prints which keys a row is a total over, "" for a group.
func (w *writer) rolledUp() {
	p := w.plan
	w.put(`CASE "a"."g"`)
	for _, level := range p.Levels {
		w.put(" WHEN ", strconv.Itoa(w.level(p.Main(), level)), " THEN ", w.levelText(level))
	}
	w.put(" END")
}

// levelOrder prints the place of a row among those that equal it in all that the
// question orders by: groups first, then totals over ever more.
func (w *writer) levelOrder() {
	w.put(`CASE "r"."g"`)
	for i, level := range w.plan.Levels {
		w.put(" WHEN ", w.levelText(level), " THEN ", strconv.Itoa(i))
	}
	w.put(" END ASC")
}

// levelText names the keys that a level is over, as a literal.
func (w *writer) levelText(level []int) string {
	var names []string
	for i, k := range w.plan.Keys {
		if !k.Other && !contains(level, i) {
			names = append(names, k.Label)
		}
	}
	return semantic.QuoteText(strings.Join(names, ", "))
}

// look joins a source to the rows.
func (w *writer) look(s *metric.Source) {
	join := func(name, as string, f *metric.Frame) {
		w.put("\nLEFT JOIN ", semantic.Quote(name), " AS ", as, " ON ")
		w.matched(s, f, as)
	}
	as, whole := alias("j", s.Number), alias("y", s.Number)
	switch {
	case s.Run == nil:
		join(frameName(s.Frame), as, s.Frame)
		return
	case len(w.partial(s)) > 0:
		join(runningName(s), as, nil)
	}
	switch {
	case s.Whole == nil:
	case s.Run.Coarse != nil:
		join(wholeName(s), whole, nil)
	default:
		join(frameName(s.Whole), whole, s.Whole)
	}
}

// matched prints when a row of a source belongs to a row of the answer: their
// levels are the same, and so are the keys that count, NULL included. f is the
// frame that has several levels, nil when the source has one.
func (w *writer) matched(s *metric.Source, f *metric.Frame, as string) {
	var parts []string
	if f != nil && len(f.Levels) > 1 {
		parts = append(parts, as+`."g" = `+w.sameLevel(s, f))
	}
	for k := range w.plan.Keys {
		if !w.counts(s, k) {
			continue
		}
		col, mine := as+"."+alias("k", k+1), `"a".`+alias("k", k+1)
		if k != s.Time || len(s.Shift) == 0 {
			parts = append(parts, col+" IS NOT DISTINCT FROM "+mine)
			continue
		}
		then := mine
		for _, by := range s.Shift {
			then = metric.Plus(then, by, -1)
		}
		same := col + " = " + then
		if w.plan.Levels != nil && s.Moved {
			same = "(" + same + " OR (" + mine + " IS NULL AND " + col + " IS NULL AND " + w.withoutTime(s) + "))"
		}
		parts = append(parts, same)
	}
	if len(parts) == 0 {
		parts = []string{"TRUE"}
	}
	w.put(strings.Join(parts, " AND "))
}

// counts reports that a key is among those that a source is looked up by.
func (w *writer) counts(s *metric.Source, key int) bool {
	if t := w.plan.Kept; t != nil && key == t.Other {
		return in(s.Levels, t.Key)
	}
	return in(s.Levels, key)
}

// sameLevel gives the level of a source for the level of a row.
func (w *writer) sameLevel(s *metric.Source, f *metric.Frame) string {
	if w.plan.Levels == nil {
		return strconv.Itoa(w.level(f, s.Levels[0]))
	}
	text := `CASE "a"."g"`
	for i, level := range w.plan.Levels {
		text += " WHEN " + strconv.Itoa(w.level(w.plan.Main(), level)) + " THEN " + strconv.Itoa(w.level(f, s.Levels[i]))
	}
	return text + " END"
}

// withoutTime prints that a row is a total over time.
func (w *writer) withoutTime(s *metric.Source) string {
	var ids []string
	for _, level := range w.plan.Levels {
		if !contains(level, s.Time) {
			ids = append(ids, strconv.Itoa(w.level(w.plan.Main(), level)))
		}
	}
	if len(ids) == 0 {
		return "FALSE"
	}
	return `"a"."g" IN (` + strings.Join(ids, ", ") + ")"
}

// final prints the answer: the result filtered, ordered and cut. Filters on metrics
// are about groups; a total stays, whatever it is.
func (w *writer) final() {
	p := w.plan
	labels := make([]string, 0, len(p.Keys)+len(p.Metrics))
	for _, k := range p.Keys {
		labels = append(labels, k.Label)
	}
	for _, m := range p.Metrics {
		labels = append(labels, m.Label)
	}
	w.put("SELECT ")
	w.separated(len(labels), ", ", func(i int) {
		w.resultColumn(i)
		w.put(" AS ", semantic.Quote(labels[i]))
	})
	if p.Levels != nil {
		w.put(`, "r"."g" AS `, semantic.Quote(p.RolledUp))
	}
	w.put("\nFROM \"result rows\" AS \"r\"")
	word := "\nWHERE "
	if w.chosen() {
		w.put(word, `("r"."h"`)
		word = " AND "
		for _, level := range p.Levels {
			if !contains(level, p.Kept.Key) {
				w.put(` OR "r"."g" = `, w.levelText(level))
			}
		}
		w.put(")")
	}
	if len(p.Having) > 0 {
		w.put(word)
		if p.Levels != nil {
			w.put(`("r"."g" <> '' OR (`)
		}
		w.separated(len(p.Having), " AND ", func(i int) { w.condition(p.Having[i], nil) })
		if p.Levels != nil {
			w.put("))")
		}
	}
	w.orderAndLimit(w.resultColumn)
}

// resultColumn prints a column of the result; metrics are the model's.
func (w *writer) resultColumn(i int) {
	col := `"r".` + alias("c", i+1)
	if i < len(w.plan.Keys) {
		w.put(col)
		return
	}
	w.byModel(func() { w.put(col) })
}
