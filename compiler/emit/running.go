package emit

import (
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// partial are the leaves of a running source that add up.
func (w *writer) partial(s *metric.Source) []*metric.Leaf {
	var out []*metric.Leaf
	for _, l := range w.cells[s] {
		if s.Whole == nil || !ownedBy(s.Whole, l) {
			out = append(out, l)
		}
	}
	return out
}

// others are the keys of a running source beside time.
func (w *writer) others(s *metric.Source) []int {
	var out []int
	for _, k := range w.lookedUp(s) {
		if k != s.Time {
			out = append(out, k)
		}
	}
	return out
}

// lookedUp are the keys of a running source, the one that tells the rest included.
func (w *writer) lookedUp(s *metric.Source) []int {
	return w.withRest(s.Frame, slices.Clone(s.Levels[0]))
}

// step is the distance of buckets.
func step(grain string) string {
	switch grain {
	case "week":
		return "INTERVAL 7 DAY"
	case "quarter", semantic.FiscalQuarter:
		return "INTERVAL 3 MONTH"
	case semantic.FiscalYear:
		return "INTERVAL 1 YEAR"
	}
	return "INTERVAL 1 " + strings.ToUpper(grain)
}

// length is a period as part of an interval's text.
func length(p semantic.Period) string {
	n, unit := p.N, p.Unit
	switch unit {
	case "week":
		n, unit = 7*n, "day"
	case "quarter", semantic.FiscalQuarter:
		n, unit = 3*n, "month"
	case semantic.FiscalYear:
		unit = "year"
	}
	return strconv.Itoa(n) + " " + unit
}

// series prints the buckets from the first to the last of the fact's data, as far as
// the question's ranges leave them.
func (w *writer) series(s *metric.Source) {
	k := alias("k", s.Time+1)
	low, high, from := `min("e".`+k+")", `max("e".`+k+")", s.Frame
	if f := s.Run.Extent; f != nil {
		fine := w.plan.Spine.Bucket
		fine.Grain = s.Run.Grain
		low, high, from = bucket(fine, `min("e"."k1")`), bucket(fine, lastDayShown(s.Run.To)), f
	}
	w.put("SELECT ")
	w.buckets(s.Run.Grain)
	w.put("\n", `FROM (SELECT `, low, ` AS "lo", `, high, ` AS "hi" FROM `, semantic.Quote(frameName(from)), ` AS "e") AS "c"`)
}

// buckets prints all buckets from lo to hi, one row each.
func (w *writer) buckets(grain string) {
	w.byModel(func() {
		w.put(`CAST(unnest(generate_series("c"."lo", "c"."hi", `, step(grain), ")) AS ", metric.BucketType(grain).SQL(), ")")
	})
	w.put(` AS "k"`)
}

// inWindow prints that a bucket lies in the window that ends at "s"."k".
func (w *writer) inWindow(s *metric.Source, bucketOf func()) {
	r := s.Run
	bucketOf()
	if r.Window != nil && !r.IncludeCurrent {
		w.put(` < "s"."k" AND `)
		bucketOf()
		w.put(" >= ", metric.Plus(`"s"."k"`, *r.Window, -1))
		return
	}
	w.put(` <= "s"."k"`)
	if r.Window != nil {
		w.put(" AND ")
		bucketOf()
		w.put(" > ", metric.Plus(`"s"."k"`, *r.Window, -1))
	}
	if r.Reset != nil {
		w.put(" AND ")
		bucketOf()
		w.put(" >= ", bucket(*r.Reset, `"s"."k"`))
	}
}

// window prints the same as a window over buckets that are all there.
func (w *writer) window(s *metric.Source) {
	r, k := s.Run, `"v".`+alias("k", s.Time+1)
	var parts []string
	for _, o := range w.others(s) {
		parts = append(parts, `"v".`+alias("k", o+1))
	}
	if r.Reset != nil {
		parts = append(parts, bucket(*r.Reset, k))
	}
	w.put("(")
	if len(parts) > 0 {
		w.put("PARTITION BY ", strings.Join(parts, ", "), " ")
	}
	w.put("ORDER BY ", k, " ")
	one := semantic.Period{N: 1, Unit: r.Grain}
	switch {
	case r.Window == nil:
		w.put("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
	case r.IncludeCurrent:
		w.put("RANGE BETWEEN INTERVAL '", length(*r.Window), " -", length(one), "' PRECEDING AND CURRENT ROW")
	default:
		w.put("RANGE BETWEEN INTERVAL '", length(*r.Window), "' PRECEDING AND INTERVAL '", length(one), "' PRECEDING")
	}
	w.put(")")
}

// running prints the cells of a window that add up: the frame's own, with a row for
// each bucket of each group.
func (w *writer) running(s *metric.Source) {
	leaves := w.partial(s)
	if s.Run.Coarse != nil {
		w.picked(s, leaves, func() { w.summed(s, leaves) })
		return
	}
	w.summed(s, leaves)
}

func (w *writer) summed(s *metric.Source, leaves []*metric.Leaf) {
	k := alias("k", s.Time+1)
	w.put("SELECT ")
	for _, o := range w.lookedUp(s) {
		w.put(`"v".`, alias("k", o+1), ", ")
	}
	for _, l := range leaves {
		w.byModel(func() { w.accumulated(s, l) })
		w.put(" AS ", alias("m", l.Index+1), ", ")
	}
	w.put("TRUE AS \"h\"\nFROM (SELECT ")
	for _, o := range w.lookedUp(s) {
		w.put(`"d".`, alias("k", o+1), ", ")
	}
	w.separated(len(leaves), ", ", func(i int) {
		m := alias("m", leaves[i].Index+1)
		w.byModel(func() { w.put(`max("d".`, m, ")") })
		w.put(" AS ", m)
		if n := alias("n", leaves[i].Index+1); leaves[i].Fill != nil {
			w.put(`, max("d".`, n, ") AS ", n)
		}
	})
	w.put(" FROM (\n")
	w.found(s, leaves)
	w.put("\nUNION ALL\n")
	w.points(s, leaves)
	w.put("\n) AS \"d\"")
	w.groupBy(len(w.lookedUp(s)))
	w.put("\n) AS \"v\"\nWHERE \"v\".", k)
	if len(s.Frame.Legs) == 1 {
		w.put(" IS NOT NULL")
		return
	}
	// Other facts have days that are not this one's.
	w.put(` IN (SELECT "s"."k" FROM `, semantic.Quote(seriesName(s)), ` AS "s")`)
}

// accumulated prints one aggregate over the window of buckets.
func (w *writer) accumulated(s *metric.Source, l *metric.Leaf) {
	if l.Fill != nil {
		w.put(`CASE WHEN sum("v".`, alias("n", l.Index+1), ") OVER ")
		w.window(s)
		w.put(" > 0 THEN ")
		defer w.put(" ELSE ", strconv.Itoa(*l.Fill), " END")
	}
	name := string(l.Measure.Agg)
	count := l.Measure.Agg == semantic.Count
	if count {
		name = "sum"
		w.put("CAST(")
	}
	w.put(name, `("v".`, alias("m", l.Index+1), ") OVER ")
	w.window(s)
	if count {
		w.put(" AS BIGINT)")
	}
}

// found prints the buckets of the frame.
func (w *writer) found(s *metric.Source, leaves []*metric.Leaf) {
	w.put("SELECT ")
	for _, o := range w.lookedUp(s) {
		w.put(`"f".`, alias("k", o+1), " AS ", alias("k", o+1), ", ")
	}
	w.separated(len(leaves), ", ", func(i int) {
		m, n := alias("m", leaves[i].Index+1), alias("n", leaves[i].Index+1)
		w.byModel(func() { w.put(`"f".`, m) })
		w.put(" AS ", m)
		if leaves[i].Fill != nil {
			w.put(`, "f".`, n, " AS ", n)
		}
	})
	// a frame of several facts has buckets beyond the fact's own
	w.put(" FROM ", semantic.Quote(frameName(s.Frame)), ` AS "f"`, "\n", `WHERE "f".`, alias("k", s.Time+1),
		` <= (SELECT max("s"."k") FROM `, semantic.Quote(seriesName(s)), ` AS "s")`)
	w.atLevel(" AND ", s.Frame, s.Levels[0], "f")
}

// atLevel prints which level of a frame is meant, when it has several.
func (w *writer) atLevel(before string, f *metric.Frame, keys []int, from string) {
	if len(f.Levels) > 1 {
		w.put(before, semantic.Quote(from), `."g" = `, strconv.Itoa(w.level(f, keys)))
	}
}

// points prints every bucket of every group, without a value.
func (w *writer) points(s *metric.Source, leaves []*metric.Leaf) {
	w.put("SELECT ")
	for _, o := range w.lookedUp(s) {
		if o == s.Time {
			w.put(`"s"."k"`)
		} else {
			w.put(`"o".`, alias("k", o+1))
		}
		w.put(" AS ", alias("k", o+1), ", ")
	}
	w.separated(len(leaves), ", ", func(i int) {
		w.put("NULL AS ", alias("m", leaves[i].Index+1))
		if leaves[i].Fill != nil {
			w.put(", NULL AS ", alias("n", leaves[i].Index+1))
		}
	})
	w.put(" FROM ")
	w.groups(s)
	w.put(semantic.Quote(seriesName(s)), ` AS "s"`)
}

// groups prints the distinct groups beside time, to be crossed with what follows.
func (w *writer) groups(s *metric.Source) {
	if len(w.others(s)) == 0 {
		return
	}
	w.put("(SELECT DISTINCT ")
	keys := w.others(s)
	w.separated(len(keys), ", ", func(i int) { w.put(`"f".`, alias("k", keys[i]+1)) })
	w.put(" FROM ", semantic.Quote(frameName(s.Frame)), ` AS "f"`)
	w.atLevel(" WHERE ", s.Frame, s.Levels[0], "f")
	w.put(`) AS "o" CROSS JOIN `)
}

// picked prints the value of each coarser bucket among those of its finer ones.
func (w *writer) picked(s *metric.Source, leaves []*metric.Leaf, fine func()) {
	k := alias("k", s.Time+1)
	w.put("SELECT ")
	for _, o := range w.lookedUp(s) {
		if o == s.Time {
			w.put(bucket(*s.Run.Coarse, `"z".`+k), " AS ", k, ", ")
		} else {
			w.put(`"z".`, alias("k", o+1), ", ")
		}
	}
	for _, l := range leaves {
		m := alias("m", l.Index+1)
		w.byModel(func() { w.pick(s.Run.Coarser, `"z".`+m, `"z".`+k) })
		w.put(" AS ", m, ", ")
	}
	w.put("TRUE AS \"h\"\nFROM (\n")
	fine()
	w.put("\n) AS \"z\"")
	w.groupBy(len(w.lookedUp(s)))
}

func (w *writer) pick(how, value, bucket string) {
	switch how {
	case "", "last":
		w.put("last(", value, " ORDER BY ", bucket, ")")
	case "first":
		w.put("first(", value, " ORDER BY ", bucket, ")")
	default:
		w.put(how, "(", value, ")")
	}
}

// whole prints the cells that only rows give, for the buckets of the answer.
func (w *writer) whole(s *metric.Source) {
	f := s.Whole
	w.picked(s, w.ofWhole(s), func() {
		w.put("SELECT ")
		for _, o := range w.lookedUp(s) {
			if o == s.Time {
				w.put(`"s"."k" AS `, alias("k", o+1), ", ")
			} else {
				w.put(`"o".`, alias("k", o+1), ", ")
			}
		}
		leaves := w.ofWhole(s)
		w.separated(len(leaves), ", ", func(i int) {
			m := alias("m", leaves[i].Index+1)
			w.byModel(func() {
				if leaves[i].Fill == nil {
					w.put(`"e".`, m)
				} else {
					w.put(`CASE WHEN "e"."h" THEN "e".`, m, " ELSE ", strconv.Itoa(*leaves[i].Fill), " END")
				}
			})
			w.put(" AS ", m)
		})
		w.put("\nFROM ")
		w.groups(s)
		w.put(semantic.Quote(seriesName(s)), ` AS "s"`, "\nLEFT JOIN ", semantic.Quote(frameName(f)), ` AS "e" ON "e".`, alias("k", s.Time+1), ` = "s"."k"`)
		for _, o := range w.others(s) {
			w.put(` AND "e".`, alias("k", o+1), ` IS NOT DISTINCT FROM "o".`, alias("k", o+1))
		}
		w.atLevel(" AND ", f, s.Levels[0], "e")
	})
}

func (w *writer) ofWhole(s *metric.Source) []*metric.Leaf {
	var out []*metric.Leaf
	for _, l := range w.cells[s] {
		if s.Whole != nil && ownedBy(s.Whole, l) {
			out = append(out, l)
		}
	}
	return out
}
