package emit

import (
	"fmt"
	"slices"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// events prints the fact of a conversion: all base events, each with the moment
// until which it can be credited (start, until), joined to the first converted
// event at or after it. A later base event of the same one takes over, so that an
// event is credited to the last base event before it; the primary key settles which
// of several at one time is the last.
func (w *writer) events(l *metric.Leg) {
	c, fact := l.Conversion, l.Tables[0]
	base, converted := c.Base.Tables[0], c.Converted.Tables[0]
	w.put("\nFROM (SELECT ")
	w.byModel(func() {
		start := moment(c.Times[0])
		w.put(start, " AS ", free(fact, "start", 1), ", least(lead(", start, ") OVER (PARTITION BY ")
		w.separated(len(c.On), ", ", func(i int) { w.put(column(base, c.On[i].From)) })
		if len(c.Own) > 0 {
			w.put(", ")
			w.event(c)
		}
		w.put(" ORDER BY ", start, " NULLS LAST")
		for _, k := range c.Key {
			w.put(", ", column(base, k), " NULLS LAST")
		}
		w.put("), ", after(c.Times[0], c.Window), ") AS ", free(fact, "until", 1), ", ")
		if len(c.Own) > 0 {
			w.event(c)
			w.put(" AS ", free(fact, "event", 1), ", ")
		}
		var names []semantic.Name
		for _, p := range c.On {
			names = append(names, p.From)
		}
		w.exported(base, append(names, w.readsOf(l, fact)...))
	})
	w.from(c.Base)
	w.put(") AS ", table(fact), "\nASOF LEFT JOIN (SELECT ")
	w.byModel(func() {
		w.put(moment(c.Times[1]), " AS ", free(converted, "start", 1), ", ")
		var names []semantic.Name
		for _, p := range c.On {
			names = append(names, p.To)
		}
		w.exported(converted, names)
	})
	w.from(c.Converted)
	w.put(") AS ", table(converted), " ON ")
	w.byModel(func() {
		for _, p := range c.On {
			w.put(column(fact, p.From), " = ", column(converted, p.To), " AND ")
		}
		w.put(table(fact), ".", free(fact, "start", 1), " <= ", table(converted), ".", free(converted, "start", 1))
	})
}

// event prints whether a row is a base event.
func (w *writer) event(c *metric.Conversion) {
	w.put("CASE WHEN ")
	w.separated(len(c.Own), " AND ", func(i int) { w.condition(c.Own[i], nil) })
	w.put(" THEN 1 ELSE 0 END")
}

// countsEvents gives what makes a row count for a leaf of a conversion; nil for nothing.
func (w *writer) countsEvents(l *metric.Leaf) func() {
	c, fact := l.Leg.Conversion, l.Leg.Tables[0]
	converted := c.Converted.Tables[0]
	event := table(fact) + "." + free(fact, "event", 1) + " = 1"
	hit := table(converted) + "." + free(converted, "start", 1) + " < " + table(fact) + "." + free(fact, "until", 1)
	switch {
	case l.Converted && len(c.Own) > 0:
		return func() { w.put(event, " AND ", hit) }
	case l.Converted:
		return func() { w.put(hit) }
	case len(c.Own) > 0:
		return func() { w.put(event) }
	}
	return nil
}

// moment is a time as a date, or as a UTC timestamp.
func moment(o metric.Operand) string {
	b, col := *o.Bucket, column(o.Table, o.Column)
	switch {
	case b.Type == "timestamptz":
		return atZone(col, "UTC")
	case b.Type == "timestamp" && b.Stored != "UTC":
		return atZone(atZone(col, b.Stored), "UTC")
	}
	return col
}

// after is the moment a window later. Days and longer are counted in local time.
func after(o metric.Operand, window semantic.Period) string {
	b, col := *o.Bucket, column(o.Table, o.Column)
	n, unit := window.N, window.Unit
	switch unit {
	case "week":
		n, unit = 7*n, "day"
	case "quarter":
		n, unit = 3*n, "month"
	}
	interval := fmt.Sprintf("INTERVAL '%d %s'", n, unit)
	if b.Type == "date" || b.Shown == "UTC" {
		return "(" + moment(o) + " + " + interval + ")"
	}
	return atZone(atZone("("+localTime(b, col)+" + "+interval+")", b.Shown), "UTC")
}

// readsOf lists the columns of a leg's fact that its keys, filters and joins read.
func (w *writer) readsOf(l *metric.Leg, t *metric.Table) []semantic.Name {
	var out []semantic.Name
	operand := func(o metric.Operand) {
		if o.Table == t {
			out = append(out, o.Column)
		}
	}
	var condition func(c metric.Condition)
	condition = func(c metric.Condition) {
		for _, p := range c.Parts {
			condition(p)
		}
		if c.Model == nil {
			operand(c.Operand)
		} else if c.Model.Table == t {
			for _, p := range c.Model.Columns {
				if p.Parameter == "" {
					out = append(out, p.Column)
				}
			}
		}
	}
	for _, k := range l.Keys {
		operand(k)
	}
	for _, c := range l.Where {
		condition(c)
	}
	for _, x := range l.Tables {
		if x.Parent == t {
			out = append(out, joinReads(x)...)
		}
	}
	return slices.Compact(out)
}

// joinReads lists the columns of its parent that a table's join reads.
func joinReads(t *metric.Table) []semantic.Name {
	var out []semantic.Name
	for _, p := range t.Join.On {
		if t.Rollup != nil {
			out = append(out, p.To)
		} else {
			out = append(out, p.From)
		}
	}
	if t.Bridge != nil {
		for _, p := range t.Bridge.Near.On {
			out = append(out, p.To)
		}
	}
	if t.Join.Valid != nil {
		out = append(out, t.Join.Valid.At)
	}
	if t.Join.AsOf != nil {
		out = append(out, t.Join.AsOf.At)
	}
	if t.Day != nil {
		out = append(out, t.Day.Column)
	}
	return out
}
