package emit

import (
	"slices"
	"strconv"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// A plan that looks at other rows than those of its groups is printed in layers,
// one common table expression each, from the facts up:
//
//	frame N    the cells of one frame: keys k1.., aggregates m1.., g where there are several levels, h where found
//	top groups the groups that have a name in the answer
//	last day N where the data of one fact end
//	series N   the buckets that a window ends in
//	running N  the cells of a running window; whole N those that only rows can give
//	all rows   the rows of the answer where buckets without data have one too
//	result     the rows with their metrics, c1..
//
// Their names have a blank in them, so that they hide no entity.
type layer struct {
	name  string
	print func()
}

// layered reports that a plan needs layers.
func layered(p *metric.Plan) bool {
	return len(p.Frames) > 1 || len(p.Sources) > 0 || p.Levels != nil || p.Spine != nil || ranks(p)
}

func ranks(p *metric.Plan) bool {
	found := false
	for _, m := range p.Metrics {
		metric.Walk(m.Value, func(v metric.Value) {
			_, is := v.(*metric.Ranked)
			found = found || is
		})
	}
	return found
}

func (w *writer) layers() {
	w.cells = map[*metric.Source][]*metric.Leaf{}
	for _, m := range w.plan.Metrics {
		metric.Walk(m.Value, func(v metric.Value) {
			if c, ok := v.(*metric.Cell); ok {
				w.uses(c)
			}
		})
	}
	list := w.stack()
	w.put("WITH ")
	w.separated(len(list), ",\n", func(i int) {
		w.put(semantic.Quote(list[i].name), " AS (\n")
		list[i].print()
		w.put("\n)")
	})
	w.put("\n")
	w.final()
}

func (w *writer) uses(c *metric.Cell) {
	for _, l := range w.cells[c.Source] {
		if l == c.Leaf {
			return
		}
	}
	w.cells[c.Source] = append(w.cells[c.Source], c.Leaf)
}

// stack gives the layers in an order in which each reads only earlier ones.
func (w *writer) stack() []layer {
	p := w.plan
	var first, plain, windows, last []layer
	for _, f := range p.Frames {
		one := layer{frameName(f), func() { w.relation(f) }}
		switch {
		case p.Kept != nil && f == p.Kept.Frame:
			first = append(first, one, layer{"top groups", w.topGroups})
		case w.markOf(f) != nil:
			first = append(first, one, layer{dayName(w.markOf(f)), func() { w.lastDay(w.markOf(f)) }})
		case f.Over == nil:
			plain = append(plain, one)
		default:
			last = append(last, one)
		}
	}
	for _, s := range p.Sources {
		if s.Run == nil {
			continue
		}
		windows = append(windows, layer{seriesName(s), func() { w.series(s) }})
		if len(w.partial(s)) > 0 {
			last = append(last, layer{runningName(s), func() { w.running(s) }})
		}
		if s.Whole != nil && s.Run.Coarse != nil {
			last = append(last, layer{wholeName(s), func() { w.whole(s) }})
		}
	}
	out := append(append(append(first, plain...), windows...), last...)
	if p.Spine != nil {
		out = append(out, layer{"edges", w.edges}, layer{"all rows", w.allRows})
	}
	return append(out, layer{"result rows", w.result})
}

// markOf gives the watermark that reads a frame; nil when none does.
func (w *writer) markOf(f *metric.Frame) *metric.Watermark {
	for _, m := range w.plan.Watermarks {
		if m.Frame == f {
			return m
		}
	}
	return nil
}

func dayName(m *metric.Watermark) string { return "last day " + strconv.Itoa(m.Number) }

func frameName(f *metric.Frame) string    { return "frame " + strconv.Itoa(f.Number) }
func seriesName(s *metric.Source) string  { return "series " + strconv.Itoa(s.Number) }
func runningName(s *metric.Source) string { return "running " + strconv.Itoa(s.Number) }
func wholeName(s *metric.Source) string   { return "whole " + strconv.Itoa(s.Number) }

// printed are the keys that a frame prints, in order.
func (w *writer) printed(f *metric.Frame) []int {
	var out []int
	for k := range f.Keys {
		if f.Levels == nil || in(f.Levels, k) {
			out = append(out, k)
		}
	}
	return w.withRest(f, out)
}

func in(levels [][]int, key int) bool {
	for _, l := range levels {
		if contains(l, key) {
			return true
		}
	}
	return false
}

func contains(keys []int, key int) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// withRest adds the key that tells the rest beside the top groups, wherever their key is.
func (w *writer) withRest(f *metric.Frame, keys []int) []int {
	if t := w.plan.Kept; t != nil && t.Other >= 0 && !f.Whole && contains(keys, t.Key) {
		return append(keys, t.Other)
	}
	return keys
}

// level is the value of g for a set of keys: grouping() of the printed keys.
func (w *writer) level(f *metric.Frame, keys []int) int {
	return w.levelOf(f, w.withRest(f, keys))
}

func (w *writer) levelOf(f *metric.Frame, keys []int) int {
	g := 0
	for _, k := range w.printed(f) {
		g <<= 1
		if !contains(keys, k) {
			g |= 1
		}
	}
	return g
}

// relation prints a frame as a relation.
func (w *writer) relation(f *metric.Frame) {
	w.frame = f
	defer func() { w.frame = nil }()
	if len(f.Legs) == 1 && !f.Legs[0].Special() {
		w.one(f, f.Legs[0])
		return
	}
	keys := w.printed(f)
	w.put("SELECT ")
	for _, k := range keys {
		w.put(`"u".`, alias("k", k+1), ", ")
	}
	if len(f.Levels) > 1 {
		w.put(`"u"."g", `)
	}
	for i, l := range f.Leaves {
		w.byModel(func() { w.combined(l) })
		w.put(" AS ", alias("m", i+1), ", ")
		if w.counted(f, l) {
			w.put(`max("u".`, alias("n", i+1), ") AS ", alias("n", i+1), ", ")
		}
	}
	w.put("TRUE AS \"h\"\nFROM (\n")
	w.separated(len(f.Legs), "\nUNION ALL\n", func(i int) { w.leg(f, f.Legs[i]) })
	w.put("\n) AS \"u\"")
	n := len(keys)
	if len(f.Levels) > 1 {
		n++
	}
	w.groupBy(n)
}

// counted reports that a running window needs to know how many rows stand behind
// an aggregate: its fill stands where there are none in all of the window.
func (w *writer) counted(f *metric.Frame, l *metric.Leaf) bool {
	return l.Fill != nil && slices.ContainsFunc(w.plan.Sources, func(s *metric.Source) bool { return s.Run != nil && s.Frame == f })
}

// one prints a frame of one fact.
func (w *writer) one(f *metric.Frame, l *metric.Leg) {
	w.put("SELECT ")
	w.keys(f, l)
	for i, leaf := range f.Leaves {
		w.byModel(func() { w.filled(leaf) })
		w.put(" AS ", alias("m", i+1), ", ")
		if w.counted(f, leaf) {
			w.byModel(func() { w.rows(leaf) })
			w.put(" AS ", alias("n", i+1), ", ")
		}
	}
	w.put("TRUE AS \"h\"")
	w.from(l)
	w.grouped(f, l)
}

// keys prints the keys of one fact, and its level.
func (w *writer) keys(f *metric.Frame, l *metric.Leg) {
	keys := w.printed(f)
	for _, k := range keys {
		w.key(f, l, k)
		w.put(" AS ", alias("k", k+1), ", ")
	}
	if len(f.Levels) > 1 {
		w.put("grouping(")
		w.separated(len(keys), ", ", func(i int) { w.key(f, l, keys[i]) })
		w.put(") AS \"g\", ")
	}
}

// key prints what one fact groups by.
func (w *writer) key(f *metric.Frame, l *metric.Leg, k int) {
	t := w.plan.Kept
	switch {
	case t != nil && t.Other >= 0 && !f.Whole && k == t.Other:
		w.put(`("t"."h" IS NULL)`)
	case t != nil && !f.Whole && k == t.Key && t.Other >= 0:
		w.put(`CASE WHEN "t"."h" THEN `)
		w.operand(l.Keys[k])
		w.put(" END")
	case f.Over != nil && k == f.Over.Time:
		w.put(`"s"."k"`)
	default:
		w.operand(l.Keys[k])
	}
}

// grouped prints how one fact is grouped: by the positions of its keys, or by
// each of its levels.
func (w *writer) grouped(f *metric.Frame, l *metric.Leg) {
	if len(f.Levels) < 2 {
		w.groupBy(len(w.printed(f)))
		return
	}
	w.put("\nGROUP BY GROUPING SETS (")
	w.separated(len(f.Levels), ", ", func(i int) {
		keys := w.withRest(f, append([]int{}, f.Levels[i]...))
		w.put("(")
		w.separated(len(keys), ", ", func(i int) { w.key(f, l, keys[i]) })
		w.put(")")
	})
	w.put(")")
}

// joined prints what a frame's facts are joined to beside their own tables.
func (w *writer) joined(l *metric.Leg) {
	f, t := w.frame, w.plan.Kept
	if f == nil {
		return
	}
	if s := f.Over; s != nil {
		w.put("\nINNER JOIN ", semantic.Quote(seriesName(s)), ` AS "s" ON `)
		w.inWindow(s, func() { w.operand(l.Keys[s.Time]) })
	}
	if t != nil && t.Other >= 0 && !f.Whole {
		w.put("\n", `LEFT JOIN "top groups" AS "t" ON "t"."k" IS NOT DISTINCT FROM `)
		w.operand(l.Keys[t.Key])
	}
}

// cut prints that a row lies no later in its period than the data in the last one.
func (w *writer) cut(l *metric.Leg) {
	mark := w.frame.Cut
	key := l.Keys[mark.Time]
	day := *key.Bucket
	day.Grain = "day"
	w.put("(")
	w.operand(metric.Operand{Table: key.Table, Column: key.Column, Bucket: &day})
	w.put(" - ")
	w.operand(key)
	w.put(`) <= (SELECT "w"."n" FROM `, semantic.Quote(dayName(mark)), ` AS "w")`)
}

// topGroups prints the greatest groups of a key.
func (w *writer) topGroups() {
	t := w.plan.Kept
	value := func() {
		w.byModel(func() {
			w.value(t.By, func(l *metric.Leaf) { w.put(`"c".`, alias("m", l.Index+1)) })
		})
	}
	w.put(`SELECT "c"."k1" AS "k", TRUE AS "h"`, "\nFROM ", semantic.Quote(frameName(t.Frame)), ` AS "c"`, "\nORDER BY ")
	if w.floats(t.By) {
		w.put("CASE WHEN isfinite(")
		value()
		w.put(") THEN ")
		value()
		w.put(" END")
	} else {
		value()
	}
	w.put(` DESC NULLS LAST, "c"."k1" ASC NULLS LAST`, "\nLIMIT ", strconv.Itoa(t.N))
}

// lastDay prints the last day of the data, the period it lies in, and how many
// days of that have passed before it: more than any period has when it is over.
func (w *writer) lastDay(m *metric.Watermark) {
	period := bucket(m.Bucket, `"c"."d"`)
	w.put("SELECT ", period, ` AS "k", CASE WHEN `, bucket(m.Bucket, `("c"."d" + 1)`), " = ", period, ` THEN "c"."d" - `, period,
		` ELSE 1000 END AS "n"`, "\n", `FROM (SELECT max("f"."k1") AS "d" FROM `, semantic.Quote(frameName(m.Frame)), ` AS "f") AS "c"`)
}
