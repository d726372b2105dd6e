// Package emit writes a metric plan as DuckDB SQL that names entities only; the
// fences go in later, as they do for SQL that callers write.
//
// It promises: the same plan gives the same bytes; every column is qualified and
// every identifier quoted; every condition of the plan is printed exactly once,
// and a plan for which that fails is not printed at all. One fact prints as one
// SELECT; several as a UNION ALL of one SELECT each, put together by GROUP BY,
// which treats NULL as one group and needs no fact to come first.
//
// Generated aliases: f1, f2 ... for entities, u for the union, k1 ... for keys,
// m1 ... for aggregates, n1 ... for how many rows stand behind an aggregate that
// has a fill. They are never looked up as entities.
package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Text is a plan in SQL.
type Text struct {
	SQL string
	// Model are the ranges written by the model: entities, join keys, measures and
	// their filters, the model's own filters. What lies outside is the caller's.
	Model   []resolve.Span
	Columns []Column // of the result, in order
}

// Column says what a result column means.
type Column struct {
	Name   string
	Kind   string // dimension, metric or flag
	Grain  string // dimension: time bucket; "" otherwise
	Unit   string
	Format string
	Type   semantic.Type // "" when only the engine knows
	// Additive metrics add up: the groups' values to the total.
	Additive bool
}

// The kinds of columns. A flag tells rows apart: the rest beside the top groups,
// totals beside groups.
const (
	Dimension = "dimension"
	Metric    = "metric"
	Flag      = "flag"
)

// SQL prints a plan. Its only failure is bug.internal.
func SQL(p *metric.Plan) (Text, error) {
	w := &writer{plan: p, conditions: make([]int, p.Conditions+1), filtered: map[*metric.Leaf]bool{}, passed: map[int]bool{}}
	switch f := p.Main(); {
	case p.Ungrouped:
		w.list(f.Legs[0])
	case layered(p):
		w.layers()
	case len(f.Legs) == 1 && !f.Legs[0].Special():
		w.single(f.Legs[0])
	default:
		w.union(f)
	}
	if err := w.complete(); err != nil {
		return Text{}, err
	}
	return Text{SQL: w.text.String(), Model: w.model, Columns: columns(p)}, nil
}

func columns(p *metric.Plan) []Column {
	out := make([]Column, 0, len(p.Keys)+len(p.Metrics))
	for _, k := range p.Keys {
		kind := Dimension
		if k.Other {
			kind = Flag
		}
		out = append(out, Column{Name: k.Label, Kind: kind, Grain: k.Grain, Type: k.Type})
	}
	for _, m := range p.Metrics {
		out = append(out, Column{Name: m.Label, Kind: Metric, Unit: m.Unit, Format: m.Format, Type: m.Type, Additive: m.Additive})
	}
	if p.RolledUp != "" {
		out = append(out, Column{Name: p.RolledUp, Kind: Flag, Type: "varchar"})
	}
	return out
}

// writer prints one plan and counts what it prints.
type writer struct {
	plan       *metric.Plan
	text       strings.Builder
	model      []resolve.Span
	conditions []int                 // how often each was printed, by ID
	filtered   map[*metric.Leaf]bool // leaves that were printed with their filters
	ordered    int                   // order terms printed

	frame *metric.Frame                     // the one that is printed as a layer
	cells map[*metric.Source][]*metric.Leaf // what is looked up

	inModel int                       // how deep in what the model writes
	bridges map[*metric.Table]*bridge // of the leg that is printed
	weight  string                    // column that holds the weights of rows; "" where they are computed
	passed  map[int]bool              // conditions of the model on what a level does not read
	uneven  bool                      // levels of one leg differ in their conditions
}

func (w *writer) put(parts ...string) {
	for _, p := range parts {
		w.text.WriteString(p)
	}
}

// byModel marks what print writes as the model's. Ranges that touch become one,
// and so do ranges that print itself marks.
func (w *writer) byModel(print func()) {
	span := resolve.Span{Start: w.text.Len()}
	w.inModel++
	print()
	w.inModel--
	span.End = w.text.Len()
	for n := len(w.model); n > 0 && w.model[n-1].End >= span.Start; n-- {
		span.Start = min(span.Start, w.model[n-1].Start)
		w.model = w.model[:n-1]
	}
	w.model = append(w.model, span)
}

// separated prints n items with a separator between them.
func (w *writer) separated(n int, sep string, item func(int)) {
	for i := range n {
		if i > 0 {
			w.put(sep)
		}
		item(i)
	}
}

// complete checks that nothing of the plan was lost or doubled.
func (w *writer) complete() error {
	for id, n := range w.conditions[1:] {
		if n != 1 && !(n == 0 && w.passed[id+1]) {
			return diag.New(diag.BugInternal, "condition %d of the plan was printed %d times", id+1, n)
		}
	}
	if w.uneven {
		return diag.New(diag.BugInternal, "a condition of the plan was printed at some levels only")
	}
	for _, f := range w.plan.Frames {
		for i, leaf := range f.Leaves {
			if !w.filtered[leaf] {
				return diag.New(diag.BugInternal, "aggregate %d of the plan was not printed", i+1)
			}
		}
	}
	if w.ordered != len(w.plan.Order) {
		return diag.New(diag.BugInternal, "%d of %d order terms were printed", w.ordered, len(w.plan.Order))
	}
	return nil
}

// single prints a plan of one fact as one SELECT.
func (w *writer) single(l *metric.Leg) {
	p := w.plan
	w.put("SELECT ")
	w.separated(len(p.Keys)+len(p.Metrics), ", ", func(i int) {
		if i < len(p.Keys) {
			w.operand(l.Keys[i])
			w.put(" AS ", semantic.Quote(p.Keys[i].Label))
			return
		}
		m := p.Metrics[i-len(p.Keys)]
		w.byModel(func() { w.value(m.Value, w.filled) })
		w.put(" AS ", semantic.Quote(m.Label))
	})
	w.from(l)
	w.groupBy(len(p.Keys))
	w.having(w.filled)
	w.orderAndLimit(func(i int) {
		if i < len(p.Keys) {
			w.operand(l.Keys[i])
			return
		}
		w.byModel(func() { w.value(p.Metrics[i-len(p.Keys)].Value, w.filled) })
	})
}

// union prints a plan of several facts.
func (w *writer) union(f *metric.Frame) {
	p := w.plan
	w.put("SELECT ")
	for i, k := range p.Keys {
		w.put(`"u".`, alias("k", i+1), " AS ", semantic.Quote(k.Label), ", ")
	}
	w.separated(len(p.Metrics), ", ", func(i int) {
		w.byModel(func() { w.value(p.Metrics[i].Value, w.combined) })
		w.put(" AS ", semantic.Quote(p.Metrics[i].Label))
	})
	w.put("\nFROM (\n")
	w.separated(len(f.Legs), "\nUNION ALL\n", func(i int) { w.leg(f, f.Legs[i]) })
	w.put("\n) AS \"u\"")
	w.groupBy(len(p.Keys))
	w.having(w.combined)
	w.orderAndLimit(func(i int) {
		if i < len(p.Keys) {
			w.put(`"u".`, alias("k", i+1))
			return
		}
		w.byModel(func() { w.value(p.Metrics[i-len(p.Keys)].Value, w.combined) })
	})
}

// combined prints a leaf of several facts. Each group holds at most one row with
// the aggregate, and max passes by the NULLs of the other facts.
func (w *writer) combined(l *metric.Leaf) {
	n := l.Index + 1
	if l.Fill == nil {
		w.put(`max("u".`, alias("m", n), ")")
		return
	}
	w.put(`CASE WHEN max("u".`, alias("n", n), `) > 0 THEN max("u".`, alias("m", n), ") ELSE ", strconv.Itoa(*l.Fill), " END")
}

// filled prints a leaf of the only fact. Only a filter, or a question without
// keys, can leave a group without rows.
func (w *writer) filled(l *metric.Leaf) {
	if l.Fill == nil || (len(l.Filters) == 0 && len(l.Where) == 0 && w.keyed()) {
		w.aggregate(l)
		return
	}
	w.put("CASE WHEN ")
	w.rows(l)
	w.put(" > 0 THEN ")
	w.aggregate(l)
	w.put(" ELSE ", strconv.Itoa(*l.Fill), " END")
}

// keyed reports that every row of what is printed is a group that has rows.
func (w *writer) keyed() bool {
	if w.frame == nil || w.frame.Levels == nil {
		return len(w.plan.Keys) > 0
	}
	return !slices.ContainsFunc(w.frame.Levels, func(keys []int) bool { return len(keys) == 0 })
}

func (w *writer) groupBy(keys int) {
	if keys > 0 {
		w.put("\nGROUP BY ")
		w.separated(keys, ", ", func(i int) { w.put(strconv.Itoa(i + 1)) })
	}
}

func (w *writer) having(leaf func(*metric.Leaf)) {
	if len(w.plan.Having) == 0 {
		return
	}
	w.put("\nHAVING ")
	w.separated(len(w.plan.Having), " AND ", func(i int) { w.condition(w.plan.Having[i], leaf) })
}

// orderAndLimit prints both always by position, NULLs last in both directions.
// NaN and infinities, which DuckDB puts above all numbers, are last too: column
// prints a column once more, to order by it as the answer shows it. One row more
// than the limit is fetched, so that the answer can say whether it was cut.
func (w *writer) orderAndLimit(column func(int)) {
	if len(w.plan.Keys) == 0 {
		w.ordered = len(w.plan.Order) // one row needs no order
		if w.plan.Offset > 0 {
			w.limit()
		}
		return
	}
	w.put("\nORDER BY ")
	w.separated(len(w.plan.Order), ", ", func(i int) {
		o := w.plan.Order[i]
		dir := " ASC"
		if o.Desc {
			dir = " DESC"
		}
		if o.Hidden != nil {
			w.operand(*o.Hidden)
			w.put(dir, " NULLS LAST")
			w.ordered++
			return
		}
		if o.Collation != "" {
			column(o.Column)
			w.put(" COLLATE ", semantic.Quote(o.Collation), dir, " NULLS LAST, ")
		}
		if o.Finite {
			w.put("CASE WHEN isfinite(")
			column(o.Column)
			w.put(") THEN ")
			column(o.Column)
			w.put(" END", dir, " NULLS LAST")
		}
		if o.Finite && o.Column < len(w.plan.Keys) {
			w.put(", ") // keys are groups of their own, and tell them apart
		}
		if !o.Finite || o.Column < len(w.plan.Keys) {
			w.put(strconv.Itoa(o.Column+1), dir, " NULLS LAST")
		}
		w.ordered++
	})
	if w.plan.Levels != nil {
		w.put(", ")
		w.levelOrder()
	}
	w.limit()
}

// limit prints the bound and what is passed over. One row needs neither.
func (w *writer) limit() {
	if w.plan.Limit > 0 {
		w.put("\nLIMIT ", strconv.Itoa(w.plan.Limit+1))
	}
	if w.plan.Offset > 0 {
		w.put("\nOFFSET ", strconv.Itoa(w.plan.Offset))
	}
}

// list prints a plan of rows as they are.
func (w *writer) list(l *metric.Leg) {
	p := w.plan
	w.enter(l, every(len(p.Keys)))
	defer w.leave()
	w.put("SELECT ")
	w.separated(len(p.Keys), ", ", func(i int) {
		w.operand(l.Keys[i])
		w.put(" AS ", semantic.Quote(p.Keys[i].Label))
	})
	w.from(l)
	w.orderAndLimit(func(i int) { w.operand(l.Keys[i]) })
}

// table is the alias of a table, quoted.
func table(t *metric.Table) string {
	if t.As != "" {
		return semantic.Quote(t.As)
	}
	return alias("f", t.Number)
}

func alias(prefix string, n int) string { return semantic.Quote(fmt.Sprint(prefix, n)) }

func column(t *metric.Table, c semantic.Name) string {
	return table(t) + "." + semantic.Quote(string(c))
}
