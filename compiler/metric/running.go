package metric

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// cumulative adds up a metric over the buckets of the time key.
func (p *planner) cumulative(m *semantic.Metric, c context) Value {
	if c.run != nil || c.cut {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q runs over time, and so does what it is asked in", m.Name))
		return nil
	}
	if p.q.Totals != "" {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q runs over time, and totals are over groups of time", m.Name).WithHint("leave totals out, or ask for them apart"))
		return nil
	}
	c.run = m.Cumulative
	out := p.part(m, m.Of, c)
	if picks(m.Cumulative) && p.catalog.Metric(m.Of).Kind != semantic.SimpleMetric {
		Walk(out, func(v Value) {
			if cell, ok := v.(*Cell); ok && cell.Source.Run != nil && cell.Source.Run.Coarse != nil {
				p.refuse(diag.New(diag.UnsupportedAsk, "metric %q takes the %s of %s values that are made of several measures", m.Name, m.Cumulative.Coarser, cell.Source.Run.Grain).
					WithHint("ask by %s", cell.Source.Run.Grain))
			}
		})
	}
	return out
}

// picks reports that a coarser bucket is made of all of its finer ones, so that
// what is put together from parts must be put together before.
func picks(c *semantic.Cumulative) bool {
	return c.Coarser != "" && c.Coarser != "last" && c.Coarser != "first"
}

// accumulates reports that a measure may run over time: what does not add up
// along time may not.
func (p *planner) accumulates(m *semantic.Metric, c context) bool {
	if m.Kind == semantic.ConversionMetric || p.measure(m).Semi != nil {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q does not add up along time, so it cannot run over it", m.Name))
		return false
	}
	return true
}

func (p *planner) measure(m *semantic.Metric) *semantic.Measure {
	return p.entity(m.Entity).Entity.Measure(m.Measure)
}

// holistic reports that only the rows of a window give a measure's value in it.
func (p *planner) holistic(m *semantic.Metric, r *Running) bool {
	measure := p.measure(m)
	if measure.Agg == semantic.Avg && r.Coarse != nil && picks(&r.Cumulative) {
		return true
	}
	return measure.Class() == semantic.Holistic || measure.Agg == semantic.Stddev || measure.Agg == semantic.Variance
}

// nests lists, per grain, what its buckets fill without a rest.
var nests = map[string][]string{
	"day":  {"day", "week", "month", "quarter", "year", semantic.FiscalQuarter, semantic.FiscalYear},
	"week": {"week"}, "month": {"month", "quarter", "year", semantic.FiscalQuarter, semantic.FiscalYear},
	"quarter": {"quarter", "year"}, "year": {"year"},
	semantic.FiscalQuarter: {semantic.FiscalQuarter, semantic.FiscalYear}, semantic.FiscalYear: {semantic.FiscalYear},
}

// running plans a window over the buckets of the time key; nil when it was refused.
func (p *planner) running(c context, key int, of *semantic.Metric) *Running {
	grain := fold(p.q.Dimensions[key].Grain)
	if withinDay(grain) {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q runs over days and longer, and the question is by %s", p.asking, grain).WithHint("ask by day, week, month, quarter or year"))
		return nil
	}
	r := &Running{Cumulative: *c.run, Grain: grain}
	fills := func(g string) bool {
		return slices.Contains(nests[g], grain) && (r.Window == nil || slices.Contains(nests[g], r.Window.Unit)) && (r.ToDate == "" || slices.Contains(nests[g], r.ToDate))
	}
	runs := r.Coarser == "" || r.Coarser == "last"
	if r.Window != nil || !runs || !fills(grain) {
		try := []string{r.Cumulative.Grain, "day"}
		if r.Window != nil {
			try = []string{r.Cumulative.Grain, r.Window.Unit, "day"}
		}
		// a question by finer buckets than the metric's own slides by them
		if r.Window != nil && fills(grain) && slices.Contains(nests[grain], or(r.Cumulative.Grain, r.Window.Unit)) {
			try = slices.Insert(try, 0, grain)
		}
		i := slices.IndexFunc(try, func(g string) bool { return g != "" && fills(g) })
		if i < 0 {
			p.refuse(diag.New(diag.MetricGrain, "metric %q cannot be asked by %s", p.asking, grain).WithHint("ask by day or month"))
			return nil
		}
		r.Grain = try[i]
	}
	date := p.dates(grain)
	if r.Grain != grain {
		r.Coarse = &date
	}
	if r.ToDate != "" {
		reset := p.dates(r.ToDate)
		r.Reset = &reset
	}
	p.spine(key)
	return r
}

// dates cuts dates of the question's own days into buckets.
func (p *planner) dates(grain string) Bucket {
	b := Bucket{Grain: grain, Type: "date", Stored: utc, Shown: utc}
	b.Sunday, b.Fiscal = p.settings.WeekStart == "sunday", p.settings.FiscalStart
	return b
}

// shownDays are the first and the last local day that the question's ranges leave
// of a fact's time, in the form of a date; "" where nothing bounds them.
func (p *planner) shownDays(fact *resolve.Visible) (first, last string) {
	local := func(m moment) moment {
		if m.instant {
			m.t = m.t.In(location(p.plan.Zone))
		}
		return m
	}
	for _, r := range p.q.Time {
		if !p.bounds(r, fact) {
			continue
		}
		if m, ok := parseMoment(r.From); ok {
			first = max(first, local(m).t.Format(dayLayout))
		}
		if m, ok := parseMoment(r.To); ok {
			m = local(m)
			if !m.day {
				m.t = m.t.Add(-time.Microsecond) // the end itself is left out
			}
			if day := m.t.Format(dayLayout); last == "" || day < last {
				last = day
			}
		}
	}
	return first, last
}

// bounds reports that a range is on the time that a fact's rows are shown by: its
// own, or the key that gaps are filled along.
func (p *planner) bounds(r TimeRange, fact *resolve.Visible) bool {
	if p.timeOfFact(r.Field, fact) {
		return true
	}
	if p.plan.Spine == nil {
		return false
	}
	a, b := p.places(fact, r.Field), p.places(fact, p.q.Dimensions[p.plan.Spine.Time].Name)
	return len(a) == 1 && len(b) == 1 && a[0].dim == b[0].dim && a[0].path.key() == b[0].path.key()
}

// spine makes the answer have every bucket of the time key between the first and
// the last of the data.
func (p *planner) spine(key int) {
	if p.plan.Spine == nil {
		p.plan.Spine = &Spine{Time: key, Bucket: p.dates(fold(p.q.Dimensions[key].Grain))}
	}
}

func dateLiteral(day string) string {
	if day == "" {
		return ""
	}
	return "DATE '" + day + "'"
}

// extents plans the days of the answer: those of the data, as far as the question's
// ranges leave them. Where it filters, its rows do not tell the days of the data;
// nor do they for a running metric beside other facts, whose days are not its own.
func (p *planner) extents() {
	s := p.plan.Spine
	if s == nil || withinDay(s.Bucket.Grain) {
		return
	}
	of := p.asked[0]
	filtered := len(p.q.Filters) > 0 || len(p.q.Segments) > 0 || len(p.q.Time) > 0
	for _, l := range p.sources {
		if l.Run == nil {
			continue
		}
		_, last := p.shownDays(l.fact)
		l.Run.To = dateLiteral(last)
		if filtered || len(l.part.legs) > 1 {
			l.Run.Extent = p.extentOf(l.fact, s.Time, of).frame
		}
	}
	var first, last string
	for i, l := range slices.Clone(p.rows.legs) {
		from, to := p.shownDays(l.fact)
		if i == 0 || from < first {
			first = from // "" bounds nothing, and comes before every day
		}
		if i == 0 || to == "" || last != "" && to > last {
			last = to
		}
		if filtered {
			s.Extents = append(s.Extents, p.extentOf(l.fact, s.Time, of).frame)
		}
	}
	if day, ok := parseMoment(first); ok {
		s.From = dateLiteral(s.Bucket.First(day.t).Format(dayLayout))
	}
	s.To = dateLiteral(last)
	slices.SortFunc(s.Extents, func(a, b *Frame) int { return a.Number - b.Number })
	s.Extents = slices.Compact(s.Extents)
}

// extentOf gives the frame of the days that there are rows of a fact for.
func (p *planner) extentOf(fact *resolve.Visible, key int, of *semantic.Metric) *builder {
	id := fact.Entity.Name.Key()
	if b, ok := p.spanned[id]; ok {
		return b
	}
	b := p.extent(key, of)
	asked := p.asking
	for _, l := range p.rows.legs {
		if l.fact == fact {
			asked = l.asked
		}
	}
	b.leg(fact, asked)
	p.spanned[id] = b
	return b
}

// extent begins a frame of the days that there are data for, whatever the question
// filters but what its entities require.
func (p *planner) extent(key int, of *semantic.Metric) *builder {
	required := func(field string) bool { return p.onRequired(field, of) }
	q := Question{Filters: keeping(p.q.Filters, required), Zone: p.q.Zone, WeekStart: p.q.WeekStart,
		Dimensions: []DimensionRef{{Name: p.q.Dimensions[key].Name, Grain: "day"}}}
	for _, r := range p.q.Time {
		if p.onRequired(r.Field, of) {
			q.Time = append(q.Time, r)
		}
	}
	b := p.frame(q)
	b.frame.Whole, b.lifted = true, true
	return b
}

// gaps plans the spine that the question asks for itself.
func (p *planner) gaps() {
	if !p.q.FillGaps || len(p.asked) == 0 {
		return
	}
	key := -1
	for i, d := range p.q.Dimensions {
		if d.Grain == "" {
			continue
		}
		if key >= 0 {
			p.refuse(diag.New(diag.MetricGrain, "gaps are filled along one time dimension, and the question has two").WithHint("ask for one grain"))
			return
		}
		key = i
	}
	if key < 0 {
		p.refuse(diag.New(diag.MetricGrain, "gaps are filled along a time dimension with a grain, and the question has none").
			WithHint(`add {"name": "metric_time", "grain": "day"} to dimensions`))
		return
	}
	grain := fold(p.q.Dimensions[key].Grain)
	if !slices.Contains(semantic.Grains, grain) && !fiscal(grain) {
		p.refuse(diag.New(diag.UnsupportedAsk, "gaps cannot be filled by %q, whose periods are not counted in days or months", grain).WithHint("its grains are %s", strings.Join(semantic.Grains, ", ")))
		return
	}
	p.spine(key)
}

// ranges are the question's time ranges as a context reads them, and false when it
// was refused.
func (p *planner) ranges(c context, s *Source, of *semantic.Metric) ([]TimeRange, bool) {
	grain := ""
	if s.Time >= 0 {
		grain = fold(p.q.Dimensions[s.Time].Grain)
	}
	for _, by := range c.shift {
		if grain == "" {
			continue
		}
		if err := PeriodFits(grain, by); err != nil {
			err.Msg = "metric " + strconv.Quote(p.asking) + " looks back: " + err.Msg
			p.refuse(err)
			return nil, false
		}
	}
	for _, f := range p.q.Filters {
		if field := p.filtersTime(f, of); field != "" && !p.rows.asksMetric(f) {
			p.refuse(diag.New(diag.UnsupportedAsk, "metric %q looks at other times than the question's, and a filter on %q would hide them", p.asking, field).
				WithHint(`give the period in time: {"field": "metric_time", "from": ..., "to": ...}`))
			return nil, false
		}
	}
	out := slices.Clone(p.q.Time)
	for _, i := range p.timed(of) {
		for _, by := range c.shift {
			out[i] = shiftRange(out[i], by, p.plan.Zone)
		}
		if c.run != nil {
			out[i].From = p.widened(out[i].From, s.Run)
		}
	}
	out = slices.DeleteFunc(out, func(r TimeRange) bool { return r.From == "" && r.To == "" && r.Last == "" && r.This == "" })
	return out, true
}

// widened is where the rows of a window begin that ends on or after from; "" for
// everything before.
func (p *planner) widened(from string, r *Running) string {
	m, ok := parseMoment(from)
	if !ok || r.Window == nil && r.Reset == nil {
		return ""
	}
	if m.instant {
		m.t = m.t.In(location(p.plan.Zone))
	}
	grain := p.dates(r.Grain)
	if r.Coarse != nil {
		grain = *r.Coarse
	}
	first := grain.First(m.t)
	if r.Reset != nil {
		return r.Reset.First(first).Format(dayLayout)
	}
	return AddPeriod(first, *r.Window, -1).Format(dayLayout)
}

// filtersTime gives the field of a filter, or of a part of it, that is a metric's
// own time; "" when none is.
func (p *planner) filtersTime(f Filter, of *semantic.Metric) string {
	if f.Field != "" && p.ownTime(f.Field, of) {
		return f.Field
	}
	for _, x := range slices.Concat(f.Any, f.All) {
		if field := p.filtersTime(x, of); field != "" {
			return field
		}
	}
	return ""
}

// watermark plans the last day of the data of a measure's fact.
func (p *planner) watermark(of *semantic.Metric, key int) *Watermark {
	b := p.extentOf(p.facts(of)[0], key, of)
	for _, m := range p.plan.Watermarks {
		if m.Frame == b.frame {
			return m
		}
	}
	m := &Watermark{Number: len(p.plan.Watermarks) + 1, Frame: b.frame, Time: key, Bucket: p.dates(fold(p.q.Dimensions[key].Grain))}
	p.plan.Watermarks = append(p.plan.Watermarks, m)
	return m
}
