package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// location knows every zone that a checked model names.
func location(zone string) *time.Location {
	l, err := time.LoadLocation(cmp.Or(zone, "UTC"))
	if err != nil {
		panic(err)
	}
	return l
}

// relabel reads a wall clock as one of a zone.
func relabel(t time.Time, l *time.Location) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), l).UTC()
}

// wall writes a moment as the wall clock of a zone shows it.
func wall(t time.Time, l *time.Location) time.Time {
	y, m, d := t.In(l).Date()
	t = t.In(l)
	return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// moment gives a time dimension's value as a moment, or false for a date.
func (s scope) moment(e *semantic.Entity, w weighted, name string) (time.Time, bool) {
	owner, _, d := s.place(e, w, name)
	t := s.read(e, w, name).(time.Time)
	if f := owner.Field(d.Field); d.Field != "" && f.Zone != "" {
		t = relabel(t, location(f.Zone))
	}
	return t, d.Type != "date"
}

// clock reads a wall clock that is written without a zone.
func clock(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

// when gives the moment of an entity's row, false without one.
func (s scope) when(e *semantic.Entity, w weighted) (time.Time, bool) {
	if s.read(e, w, metric.MetricTime) == nil {
		return time.Time{}, false
	}
	t, _ := s.moment(e, w, metric.MetricTime)
	return t, true
}

// later is a moment a period on: days and longer are counted in local time.
func (s scope) later(e *semantic.Entity, t time.Time, p semantic.Period) time.Time {
	if e.Dimension(e.TimeDimension).Type == "date" {
		return add(t, p, 1)
	}
	return relabel(add(wall(t, s.zone), p, 1), s.zone)
}

// local gives a time dimension's value as the question's zone shows it. A date has no zone.
func (s scope) local(e *semantic.Entity, w weighted, name string) time.Time {
	t, zoned := s.moment(e, w, name)
	if zoned {
		return wall(t, s.zone)
	}
	return t
}

// bucketed gives a dimension's value, cut to its grain when it is a time: days
// and longer by the zone's calendar, hours and shorter on the instant.
func (s scope) bucketed(e *semantic.Entity, w weighted, dim metric.DimensionRef) any {
	v := s.read(e, w, dim.Name)
	if _, ok := v.(time.Time); !ok || dim.Grain == "" {
		return v
	}
	if unit := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}[dim.Grain]; unit > 0 {
		t, _ := s.moment(e, w, dim.Name)
		_, offset := t.In(s.zone).Zone()
		part := time.Duration(offset) * time.Second % unit // zones of half hours
		return t.Add(part).Truncate(unit).Add(-part)
	}
	day := s.cut(s.local(e, w, dim.Name), "day")
	for _, c := range s.catalog.Calendars {
		for _, g := range c.Grains {
			if string(g.Name) != dim.Grain {
				continue
			}
			for _, r := range s.rows[c.Entity.Key()] {
				if order(r[c.Date.Key()], day) == 0 {
					return r[g.Start.Key()]
				}
			}
			return nil
		}
	}
	return s.cut(day, dim.Grain)
}

// cut gives the first day of the bucket that holds a wall clock.
func (a *asked) cut(t time.Time, grain string) time.Time {
	y, m, d := t.Date()
	on := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	fiscal := (m - time.Month(max(a.catalog.Time.FiscalStart, 1)) + 12) % 12 // months since the fiscal year began
	switch grain {
	case "day":
		return on(y, m, d)
	case "week":
		first := 1
		if cmp.Or(a.q.WeekStart, a.catalog.Time.WeekStart) == "sunday" {
			first = 0
		}
		return on(y, m, d-(int(t.Weekday())-first+7)%7)
	case "month":
		return on(y, m, 1)
	case "quarter":
		return on(y, m-(m-1)%3, 1)
	case "year":
		return on(y, 1, 1)
	case semantic.FiscalQuarter:
		return on(y, m-fiscal%3, 1)
	case semantic.FiscalYear:
		return on(y, m-fiscal, 1)
	}
	panic("grain " + grain)
}

// add moves a wall clock by n times a period. Days that a month does not have
// become its last.
func add(t time.Time, p semantic.Period, n int) time.Time {
	n *= p.N
	switch p.Unit {
	case "day":
		return t.AddDate(0, 0, n)
	case "week":
		return t.AddDate(0, 0, 7*n)
	}
	months := map[string]int{"month": 1, "quarter": 3, "year": 12}[p.Unit] * n
	first := t.AddDate(0, months, 1-t.Day())
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

func next(t time.Time, grain string) time.Time { return add(t, semantic.Period{N: 1, Unit: grain}, 1) }

// within applies a time range to a wall clock of the question's zone.
func (s scope) within(t metric.TimeRange, v time.Time) bool {
	today := s.cut(wall(s.now, s.zone), "day")
	switch {
	case t.This != "":
		return !v.Before(s.cut(today, t.This)) && v.Before(next(s.cut(today, t.This), t.This))
	case t.Last != "":
		count, unit, _ := strings.Cut(t.Last, " ")
		n, _ := strconv.Atoi(count)
		p := semantic.Period{N: n, Unit: strings.TrimSuffix(unit, "s")}
		until := s.cut(today, p.Unit)
		if t.IncludingCurrent {
			until = next(until, p.Unit)
		}
		return !v.Before(add(until, p, -1)) && v.Before(until)
	}
	return (t.From == "" || versus(v, t.From) >= 0) &&
		(t.To == "" || versus(v, t.To) < 0 || len(t.To) == len(time.DateOnly) && versus(v, t.To) == 0)
}

// bucket finds the scope's condition on a bucket of time, which windows and
// earlier periods are counted from.
func (s scope) bucket() (at, time.Time) {
	i := slices.IndexFunc(s.at, func(a at) bool { return a.dim.Grain != "" })
	if i < 0 {
		return at{}, time.Time{}
	}
	t, _ := s.at[i].value.(time.Time)
	return s.at[i], t
}

// beside gives the scope without its bucket and without time ranges: a window
// reaches beyond both.
func (s scope) beside(a at) scope {
	s.forever = true
	return s.without(func(d string) bool { return d == a.dim.Name })
}

// cumulative adds up the buckets of a window. At a coarser grain it picks among
// the values of its own grain, up to the last day of the data.
func (s scope) cumulative(m *semantic.Metric, extra []semantic.Where) any {
	a, b := s.bucket()
	// Before the data there is nothing but fills.
	nothing := func() any { return s.where(a.dim, func(any) bool { return false }).value(string(m.Of), extra) }
	if a.value == nil {
		return nothing()
	}
	c := m.Cumulative
	grain := c.Grain
	if grain == "" && c.Window != nil {
		grain = c.Window.Unit
	}
	switch {
	case coarserThan(grain, a.dim.Grain):
		grain = a.dim.Grain // a question by finer buckets slides by them
	case grain == "" || !coarserThan(a.dim.Grain, grain) && a.dim.Grain != grain:
		grain = "day"
	}
	first, last, ok := s.extent(m, a.dim.Name)
	if !ok {
		return nothing()
	}
	var values []any
	for at := s.cut(b, grain); at.Before(next(b, a.dim.Grain)); at = next(at, grain) {
		if !at.Before(s.cut(first, grain)) && !at.After(last) {
			values = append(values, s.windowed(m, a, at, grain, extra))
		}
	}
	switch {
	case len(values) == 0 && b.After(last):
		return nil // what comes after the data is not known
	case len(values) == 0:
		return nothing()
	}
	return picked(values, c.Coarser)
}

// coarserThan reports that buckets of one grain are made of whole ones of the other.
func coarserThan(a, b string) bool {
	rank := map[string]int{"day": 0, "week": 1, "month": 1, "quarter": 2, "year": 3}
	return rank[a] > rank[b] && (b == "day" || a != "week" && b != "week")
}

func picked(values []any, how string) any {
	switch how {
	case "", "last":
		return values[len(values)-1]
	case "first":
		return values[0]
	}
	values = slices.DeleteFunc(values, func(v any) bool { return v == nil })
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, order)
	return statistic(&semantic.Measure{Agg: semantic.Agg(how)}, values)
}

// windowed is the value of the window that ends with the bucket at a moment.
func (s scope) windowed(m *semantic.Metric, a at, b time.Time, grain string, extra []semantic.Where) any {
	c := m.Cumulative
	from, until := time.Time{}, next(b, grain)
	switch {
	case c.ToDate != "":
		from = s.cut(b, c.ToDate)
	case c.Window != nil && c.IncludeCurrent && grain == "day":
		from = add(b, *c.Window, -1).AddDate(0, 0, 1)
	case c.Window != nil && c.IncludeCurrent:
		from = add(until, *c.Window, -1)
	case c.Window != nil:
		from, until = add(b, *c.Window, -1), b
	}
	dim := metric.DimensionRef{Name: a.dim.Name, Grain: grain}
	return s.beside(a).where(dim, func(v any) bool {
		t, ok := v.(time.Time)
		return ok && !t.Before(from) && t.Before(until)
	}).value(string(m.Of), extra)
}

// extent gives the first and last day of the data behind a metric, whatever the
// question leaves of them.
func (s scope) extent(m *semantic.Metric, dim string) (first, last time.Time, ok bool) {
	all := scope{asked: s.asked, every: true, forever: true}
	for _, e := range s.facts(string(m.Name)) {
		for _, w := range all.rowsOf(e, nil) {
			day, isDay := all.bucketed(e, w, metric.DimensionRef{Name: dim, Grain: "day"}).(time.Time)
			if isDay && (!ok || day.Before(first)) {
				first = day
			}
			if isDay && (!ok || day.After(last)) {
				last = day
			}
			ok = ok || isDay
		}
	}
	return first, last, ok
}

// compare sets a bucket beside the one an offset earlier.
func (s scope) compare(m *semantic.Metric, extra []semantic.Where) any {
	a, b := s.bucket()
	if a.accept == nil && len(s.q.Time) > 0 {
		return s.change(m, extra, s.before(m.Compare.Offset))
	}
	if a.accept == nil {
		return nil // over all time, and there is nothing earlier
	}
	if a.value == nil { // no time has an earlier one, but for fills
		return s.change(m, extra, s.beside(a).where(a.dim, func(any) bool { return false }))
	}
	earlier := s.beside(a).is(a.dim, add(b, m.Compare.Offset, -1))
	// The bucket of the last day of the data is not over, unless that day ends it.
	_, last, _ := s.extent(m, a.dim.Name)
	if m.Compare.ToDate && s.cut(last, a.dim.Grain).Equal(b) && s.cut(last.AddDate(0, 0, 1), a.dim.Grain).Equal(b) {
		days := last.Sub(b)
		earlier = earlier.where(metric.DimensionRef{Name: a.dim.Name, Grain: "day"}, func(v any) bool {
			t, ok := v.(time.Time)
			return ok && t.Sub(add(b, m.Compare.Offset, -1)) <= days
		})
	}
	return s.change(m, extra, earlier)
}

// before gives a copy in which the time ranges lie earlier.
func (s scope) before(by semantic.Period) scope {
	s.ago = append(slices.Clone(s.ago), by)
	return s
}

// earlier moves a range. A day as the end is kept whole, with all that the day after
// it would bring.
func (s scope) earlier(t metric.TimeRange) metric.TimeRange {
	for _, by := range s.ago {
		if t.From != "" {
			t.From = add(clock(t.From+" 00:00:00"), by, -1).Format(time.DateOnly)
		}
		if t.To != "" {
			last := clock(t.To + " 00:00:00")
			end := add(last.AddDate(0, 0, 1), by, -1).AddDate(0, 0, -1)
			if last = add(last, by, -1); end.After(last) {
				last = end
			}
			t.To = last.Format(time.DateOnly)
		}
	}
	return t
}

// change is what a comparison gives of a scope and the one it is compared with.
func (s scope) change(m *semantic.Metric, extra []semantic.Where, earlier scope) any {
	before := earlier.value(string(m.Of), extra)
	if m.Compare.Give == "value" {
		return before
	}
	current := s.value(string(m.Of), extra)
	if before == nil || current == nil {
		return nil
	}
	difference := current.(float64) - before.(float64)
	if m.Compare.Give == "difference" {
		return difference
	}
	return quotient(difference, before)
}
