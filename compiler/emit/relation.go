package emit

import (
	"slices"
	"strconv"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// leg prints one fact of several: its keys, its own aggregates, and NULL in the
// places of the other facts' aggregates: k1 ... and g as keys has them, m1 ... for
// all leaves of the frame, n1 ... for how many rows stand behind one with a fill.
func (w *writer) leg(f *metric.Frame, l *metric.Leg) {
	switch {
	case l.Semi:
		w.byLevel(f, l, func(level []int) { w.semi(f, l, level) })
		return
	case l.Special():
		w.byLevel(f, l, func(level []int) { w.atOneLevel(f, l, level) })
		return
	}
	w.put("SELECT ")
	w.keys(f, l)
	w.leaves(f, l)
	w.from(l)
	w.grouped(f, l)
}

// leaves prints the columns of all leaves of a frame for one leg.
func (w *writer) leaves(f *metric.Frame, l *metric.Leg) {
	w.separated(len(f.Leaves), ", ", func(i int) {
		leaf, n := f.Leaves[i], i+1
		w.inLeg(l, leaf, func() { w.aggregate(leaf) })
		w.put(" AS ", alias("m", n))
		if leaf.Fill != nil {
			w.put(", ")
			w.inLeg(l, leaf, func() { w.rows(leaf) })
			w.put(" AS ", alias("n", n))
		}
	})
	if len(f.Leaves) == 0 {
		w.put("TRUE AS \"h\"")
	}
}

func (w *writer) inLeg(l *metric.Leg, leaf *metric.Leaf, print func()) {
	if leaf.Leg != l {
		w.put("NULL")
		return
	}
	w.byModel(print)
}

// byLevel prints a leg that groups one set of keys at a time: once for each level
// of its frame. The conditions of the plan count as printed once.
func (w *writer) byLevel(f *metric.Frame, l *metric.Leg, print func(level []int)) {
	levels := f.Levels
	if levels == nil {
		levels = [][]int{every(len(f.Keys))}
	}
	before, first := slices.Clone(w.conditions), []int(nil)
	w.separated(len(levels), "\nUNION ALL\n", func(i int) {
		level := w.withRest(f, slices.Clone(levels[i]))
		w.conditions = slices.Clone(before)
		w.enter(l, level)
		print(level)
		w.leave()
		if first == nil {
			first = w.conditions
		}
		for id, n := range w.conditions {
			w.uneven = w.uneven || id > 0 && n != first[id] && !w.passed[id] // those of leaves have no number
			w.conditions[id] = max(n, first[id])
		}
	})
}

func every(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// atOneLevel prints a leg grouped by one set of keys.
func (w *writer) atOneLevel(f *metric.Frame, l *metric.Leg, level []int) {
	w.put("SELECT ")
	w.levelKeys(f, level, func(k int) { w.key(f, l, k) })
	w.leaves(f, l)
	w.from(l)
	w.byKeys(f, level)
}

// levelKeys prints the keys of a frame at one level, as keys does for all: NULL for
// those that the level leaves out. key prints one that it has.
func (w *writer) levelKeys(f *metric.Frame, level []int, key func(int)) {
	for _, k := range w.printed(f) {
		if contains(level, k) {
			key(k)
		} else {
			w.put("NULL")
		}
		w.put(" AS ", alias("k", k+1), ", ")
	}
	if len(f.Levels) > 1 {
		w.put(strconv.Itoa(w.levelOf(f, level)), " AS \"g\", ")
	}
}

// byKeys groups by the keys of a level, by their positions among those printed.
func (w *writer) byKeys(f *metric.Frame, level []int) {
	word := "\nGROUP BY "
	for i, k := range w.printed(f) {
		if contains(level, k) {
			w.put(word, strconv.Itoa(i+1))
			word = ", "
		}
	}
}

// semi prints a leg whose leaves count only rows at the last, or first, time of
// their group. A window marks those rows, of all that pass the question's filters
// and the leaf's own: a group none of whose rows is marked stays in the answer.
// The inner relation takes the fact's alias and keeps its names, so that what reads
// its columns is printed as ever.
func (w *writer) semi(f *metric.Frame, l *metric.Leg, level []int) {
	fact := l.Tables[0]
	w.put("SELECT ")
	w.levelKeys(f, level, func(k int) { w.put(table(fact), ".", free(fact, "k", k+1)) })
	weight := ""
	for _, leaf := range w.leavesOf(l) {
		if weight = w.weights(leaf); weight != "" {
			w.weight = table(fact) + "." + free(fact, "x", 1)
		}
	}
	w.leaves(f, l)
	w.weight = ""
	w.put("\nFROM (\nSELECT ")
	for _, k := range level {
		w.key(f, l, k)
		w.put(" AS ", free(fact, "k", k+1), ", ")
	}
	w.byModel(func() {
		var read []semantic.Name
		for _, leaf := range f.Leaves {
			if leaf.Leg != l {
				continue
			}
			w.mark(f, leaf, level)
			w.put(", ")
			read = append(read, leaf.Reads()...)
		}
		if weight != "" {
			w.put(weight, " AS ", free(fact, "x", 1), ", ")
		}
		w.exported(fact, read)
	})
	w.from(l)
	w.put("\n) AS ", table(fact))
	w.byKeys(f, level)
}

// mark prints whether a row counts for a leaf (w) and whether it does at its
// group's time (a).
func (w *writer) mark(f *metric.Frame, leaf *metric.Leaf, level []int) {
	w.markWithin(leaf, len(level), func(i int) { w.key(f, leaf.Leg, level[i]) })
}

// markWithin marks rows within the groups of so many keys, which key prints.
func (w *writer) markWithin(leaf *metric.Leaf, keys int, key func(int)) {
	fact, semi := leaf.Leg.Tables[0], leaf.Measure.Semi
	own := w.own(leaf)
	if leaf.Fill != nil {
		if own != nil {
			own()
		} else {
			w.put("TRUE")
		}
		w.put(" AS ", free(fact, "w", leaf.Index+1), ", ")
	}
	if own != nil {
		own()
		w.put(" AND ")
	}
	over := column(fact, semi.Over)
	w.put(over, " = ")
	if semi.Pick == semantic.First {
		w.put("min(")
	} else {
		w.put("max(")
	}
	w.put(over, ")")
	w.filterBy([]func(){own})
	w.put(" OVER (")
	n := 0
	part := func(print func()) {
		if n == 0 {
			w.put("PARTITION BY ")
		} else {
			w.put(", ")
		}
		n++
		print()
	}
	for i := range keys {
		part(func() { key(i) })
	}
	for _, p := range semi.Per {
		part(func() { w.put(column(fact, p)) })
	}
	w.put(") AS ", free(fact, "a", leaf.Index+1))
}

// exported prints columns of a table under their own names, each once; a relation
// that needs none of them has one all the same.
func (w *writer) exported(t *metric.Table, names []semantic.Name) {
	var seen []string
	for _, n := range names {
		if slices.Contains(seen, n.Key()) {
			continue
		}
		if len(seen) > 0 {
			w.put(", ")
		}
		seen = append(seen, n.Key())
		w.put(column(t, n), " AS ", semantic.Quote(string(n)))
	}
	if len(seen) == 0 {
		w.put("1 AS ", free(t, "one", 1))
	}
}

// free gives the quoted name of a column that no field or dimension of a table has.
func free(t *metric.Table, prefix string, n int) string {
	name := prefix + strconv.Itoa(n)
	for t.Entity.Field(semantic.Name(name)) != nil || t.Entity.Dimension(semantic.Name(name)) != nil {
		name += "_"
	}
	return semantic.Quote(name)
}
