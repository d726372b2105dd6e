package emit

import (
	"slices"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// A bridge and all behind it are printed as one relation that takes the bridge's
// alias: n1 ... the fields that lead back to the near side, p1 ... those of the
// pair, o1 ... what the leg reads of it, w the pair's weight, and c1 ... whether any
// partner of a row passes some conditions. How many rows it has for one of the near
// side is what the leg may see of it at a level: one for each partner that is a group
// of its own (or for each group, where those count once), one where it only filters,
// and none, not printed at all, where the level does not ask.

// bridge is one bridge of a leg at one level.
type bridge struct {
	*metric.Table
	pairs    bool               // a row for each partner, or group
	weighted bool               // the weights of pairs count
	where    []metric.Condition // of the caller
	marks    []mark             // conditions that one partner must pass, each a column
	exports  []export           // what the leg reads
	printing bool
}

// export is an operand as printed inside. model says that the model alone reads it.
type export struct {
	text  string
	model bool
}

// mark is some conditions that hold when one partner passes them all.
type mark struct {
	leaf  *metric.Leaf // nil: of the caller
	where []metric.Condition
}

// asksByMark reports that conditions are columns of the relation, and no operands
// that the leg reads: where a partner has no row of its own, another one would be
// another row.
func (b *bridge) asksByMark() bool { return !b.pairs || b.Bridge.Allocate == semantic.AllocateDistinct }

func (b *bridge) used() bool { return b.pairs || len(b.where)+len(b.marks) > 0 }

// enter prepares the bridges of a leg for one level of its frame; leave ends it.
func (w *writer) enter(l *metric.Leg, level []int) {
	w.bridges = map[*metric.Table]*bridge{}
	for _, t := range l.Tables {
		if t.Bridge == nil {
			continue
		}
		b := &bridge{Table: t, where: behind(l.Where, t)}
		leaves := w.leavesOf(l)
		b.weighted = slices.ContainsFunc(leaves, func(x *metric.Leaf) bool { return slices.Contains(x.Weights, t) })
		b.pairs = b.weighted && len(b.where) > 0 || slices.ContainsFunc(level, func(k int) bool {
			return k < len(l.Keys) && l.Keys[k].Table.Over() == t
		})
		b.weighted = b.weighted && b.pairs
		if b.asksByMark() {
			if !t.Inner && len(b.where) > 0 {
				b.marks = append(b.marks, mark{where: b.where})
			}
			for _, leaf := range leaves {
				if own := behind(leaf.Where, t); len(own) > 0 {
					b.marks = append(b.marks, mark{leaf, own})
				}
			}
		}
		if !b.used() {
			w.passOver(l, t)
		}
		w.bridges[t] = b
	}
}

func (w *writer) leave() { w.bridges = nil }

func (w *writer) leavesOf(l *metric.Leg) []*metric.Leaf {
	var out []*metric.Leaf
	for _, f := range w.plan.Frames {
		for _, leaf := range f.Leaves {
			if leaf.Leg == l {
				out = append(out, leaf)
			}
		}
	}
	return out
}

// passOver notes the model's filters of a bridge that a level does not join.
func (w *writer) passOver(l *metric.Leg, t *metric.Table) {
	for _, x := range l.Tables {
		if x.Over() == t {
			for _, c := range x.Filters {
				w.passed[c.ID] = true
			}
		}
	}
}

// behind picks the conditions on what lies behind a bridge.
func behind(list []metric.Condition, t *metric.Table) []metric.Condition {
	var out []metric.Condition
	for _, c := range list {
		if over(c) == t {
			out = append(out, c)
		}
	}
	return out
}

// over is the bridge that a condition lies behind; nil for none. Its parts lie
// behind one.
func over(c metric.Condition) *metric.Table {
	switch {
	case c.Model != nil:
		return c.Model.Table.Over()
	case len(c.Parts) > 0:
		return over(c.Parts[0])
	}
	return c.Operand.Table.Over()
}

// bridgeOf gives the bridge whose relation holds a table, nil inside of it and for
// tables of no bridge.
func (w *writer) bridgeOf(t *metric.Table) *bridge {
	b := w.bridges[t.Over()]
	if b == nil || b.printing {
		return nil
	}
	return b
}

// export gives the column of a bridge's relation that holds an operand.
func (w *writer) export(b *bridge, text string) string {
	model := w.inModel > 0
	i := slices.IndexFunc(b.exports, func(e export) bool { return e.text == text })
	if i < 0 {
		i = len(b.exports)
		b.exports = append(b.exports, export{text, model})
	}
	b.exports[i].model = b.exports[i].model && model
	return table(b.Table) + "." + alias("o", i+1)
}

// by prints something of the model, or of the caller.
func (w *writer) by(model bool, print func()) {
	if model {
		w.byModel(print)
		return
	}
	print()
}

// handled reports that a condition is printed inside a bridge's relation, or as its mark.
func (w *writer) handled(c metric.Condition) bool {
	b := w.bridges[over(c)]
	return b != nil && (b.Inner || b.asksByMark())
}

// passes prints that some partner of a row passes conditions. A row without partners
// passes what a missing value passes.
func (w *writer) passes(b *bridge, i int) {
	none := "0"
	all := slices.Concat(b.where, b.marks[i].where)
	if !slices.ContainsFunc(all, func(c metric.Condition) bool { return !c.PassesNull() }) {
		none = "1"
	}
	w.put("coalesce(", table(b.Table), ".", alias("c", i+1), ", ", none, ") = 1")
}

// bridgeMarks lists what is printed for the caller's conditions, or a leaf's, that
// bridges have marks for.
func (w *writer) bridgeMarks(l *metric.Leg, leaf *metric.Leaf) []func() {
	var out []func()
	for _, t := range l.Tables {
		b := w.bridges[t]
		if b == nil {
			continue
		}
		for i, m := range b.marks {
			if m.leaf == leaf {
				out = append(out, func() { w.passes(b, i) })
			}
		}
	}
	return out
}

// bridgeJoin prints the join of a bridge's relation.
func (w *writer) bridgeJoin(l *metric.Leg, b *bridge) {
	t := b.Table
	for _, c := range b.where {
		if !w.handled(c) {
			w.registers(b, c)
		}
	}
	w.put("\n", joinWord(t), " (SELECT ")
	b.printing = true
	near, columns := t.Bridge.Near.On, 0
	if !b.weighted && len(b.marks) == 0 {
		w.put("DISTINCT ")
	}
	item := func(prefix string, n int, print func()) {
		if columns > 0 {
			w.put(", ")
		}
		columns++
		print()
		w.put(" AS ", alias(prefix, n))
	}
	w.byModel(func() {
		for i, pair := range near {
			item("n", i+1, func() { w.put(column(t, pair.From)) })
		}
		if b.pairs && t.Bridge.Allocate != semantic.AllocateDistinct {
			for i, pair := range t.Bridge.Far.On {
				item("p", i+1, func() { w.put(column(t, pair.From)) })
			}
		}
	})
	for i, e := range b.exports {
		item("o", i+1, func() { w.by(e.model, func() { w.put(e.text) }) })
	}
	grouped := columns
	if b.weighted {
		w.put(", ")
		w.byModel(func() { w.put("max(", column(t, t.Bridge.Weight), `) AS "w"`) })
	}
	for i, m := range b.marks {
		w.put(", ")
		w.by(m.leaf != nil, func() {
			w.put("max(CASE WHEN ")
			if m.leaf != nil && !b.Inner { // one partner passes those of the caller too, which have a mark already
				counted := slices.Clone(w.conditions)
				for _, c := range b.where {
					w.condition(c, nil)
					w.put(" AND ")
				}
				w.conditions = counted
			}
			w.separated(len(m.where), " AND ", func(k int) { w.condition(m.where[k], nil) })
			w.put(" THEN 1 ELSE 0 END)")
		})
		w.put(" AS ", alias("c", i+1))
	}
	w.bridgeFrom(l, b)
	if b.weighted || len(b.marks) > 0 {
		w.groupBy(grouped)
	}
	b.printing = false
	w.put(") AS ", table(t), " ON ")
	w.byModel(func() {
		w.separated(len(near), " AND ", func(i int) {
			w.put(column(t.Parent, near[i].To), " = ", table(t), ".", alias("n", i+1))
		})
	})
}

// bridgeFrom prints the bridge, all behind it, and which of its rows count.
func (w *writer) bridgeFrom(l *metric.Leg, b *bridge) {
	w.put(" FROM ")
	w.byModel(func() { w.put(semantic.Quote(string(b.Entity.Name)), " AS ", table(b.Table)) })
	for _, x := range l.Tables {
		if x != b.Table && x.Over() == b.Table {
			w.join(x)
		}
	}
	word := " WHERE "
	for _, c := range b.Filters {
		w.put(word)
		w.condition(c, nil)
		word = " AND "
	}
	if !b.Inner {
		return
	}
	for _, c := range b.where {
		w.put(word)
		w.condition(c, nil)
		word = " AND "
	}
}

// registers makes a bridge's relation have what a condition outside of it reads.
func (w *writer) registers(b *bridge, c metric.Condition) {
	for _, p := range c.Parts {
		w.registers(b, p)
	}
	if len(c.Parts) == 0 {
		w.export(b, inside(c.Operand))
	}
}

// weights gives what a leaf's rows are multiplied by; "" for nothing. A row without
// partners counts whole.
func (w *writer) weights(l *metric.Leaf) string {
	if w.weight != "" {
		return w.weight
	}
	out := ""
	for _, t := range l.Weights {
		if b := w.bridges[t]; b == nil || !b.weighted {
			continue
		}
		if out != "" {
			out += " * "
		}
		out += "CASE WHEN " + table(t) + `."n1" IS NULL THEN 1 ELSE ` + table(t) + `."w" END`
	}
	return out
}

// weighted prints a sum or a count of parts of rows.
func (w *writer) weighted(l *metric.Leaf, weight string) {
	if l.Measure.Agg == semantic.Sum {
		w.put("sum((")
		w.expr(*l.Arg)
		w.put(") * (", weight, "))")
		w.filter(l)
		return
	}
	w.put("coalesce(sum(", weight, ")")
	if l.Arg == nil {
		w.filter(l)
	} else {
		w.filter(l, func() {
			w.put("(")
			w.expr(*l.Arg)
			w.put(") IS NOT NULL")
		})
	}
	w.put(", 0)")
}
