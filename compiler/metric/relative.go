package metric

import (
	"slices"
	"strings"
	"time"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// absolute gives ranges with their bounds written out. What a range was asked as
// stays in Last and This, for the words of the answer. A period that is not over
// is kept as far as it has come: through today, or through the current hour for
// periods within a day.
func (p *planner) absolute(ranges []TimeRange) []TimeRange {
	out := make([]TimeRange, 0, len(ranges))
	for _, r := range ranges {
		if r.Last == "" && r.This == "" && !r.IncludingCurrent {
			out = append(out, r)
			continue
		}
		first, end, err := p.relative(r)
		if err != nil {
			p.refuse(err)
			continue
		}
		r.From, r.To = first, end
		out = append(out, r)
	}
	return out
}

// relative gives the bounds of a range that counts from now.
func (p *planner) relative(r TimeRange) (from, to string, err *diag.Error) {
	refusal := func(why string) *diag.Error {
		return diag.New(diag.MetricFilter, "the time range on %q %s", r.Field, why)
	}
	switch {
	case p.opts.Now.IsZero():
		return "", "", diag.New(diag.BugInternal, "a relative time range was planned without a now")
	case r.Last != "" && r.This != "":
		return "", "", refusal("says last and this").WithHint("write one of them")
	case r.From != "" || r.To != "":
		return "", "", refusal("says from or to beside a relative period").WithHint("write from and to, or last, or this")
	case r.Last == "" && r.IncludingCurrent && r.This == "":
		return "", "", refusal("says including_current without last").WithHint(`write {"last": "3 months", "including_current": true}`)
	case r.This != "" && r.IncludingCurrent:
		return "", "", refusal("says including_current beside this, which is the current period").WithHint("leave including_current out")
	}
	period, ok := semantic.Period{N: 1, Unit: strings.ReplaceAll(strings.ToLower(strings.TrimSpace(r.This)), " ", "_")}, true
	if r.Last != "" {
		period, ok = ParsePeriod(r.Last)
	}
	if !ok || !isUnit(period.Unit) {
		err := refusal("names no period")
		if r.This != "" {
			return "", "", err.Suggest(semantic.Nearest(period.Unit, units)...).WithHint("this is one of %s", strings.Join(units, ", "))
		}
		return "", "", err.WithHint(`last is a number from 1 and a unit, such as "7 days" or "3 months"; units are %s; only the past can be asked for`, strings.Join(units, ", "))
	}
	current := r.This != "" || r.IncludingCurrent
	if withinDay(period.Unit) {
		from, to = p.lastHours(period, current)
		return from, to, nil
	}
	return p.lastDays(r, period, current)
}

// units are those of relative ranges.
var units = slices.Concat(semantic.Grains, []string{semantic.FiscalQuarter, semantic.FiscalYear})

// lastDays counts periods of days and more on the local calendar.
func (p *planner) lastDays(r TimeRange, period semantic.Period, current bool) (from, to string, err *diag.Error) {
	b := p.shown()
	b.Grain = period.Unit
	y, m, d := p.opts.Now.In(location(b.Shown)).Date()
	today := date(y, m, d)
	first := b.First(today)
	back, last := period.N, first.AddDate(0, 0, -1)
	if current {
		back, last = period.N-1, today
	}
	start := AddPeriod(first, semantic.Period{N: 1, Unit: period.Unit}, -back)
	if start.Year() < 1 {
		return "", "", diag.New(diag.MetricFilter, "the time range on %q begins before the year 1", r.Field).WithHint("ask for fewer periods, or leave the range out")
	}
	return start.Format(dayLayout), last.Format(dayLayout), nil
}

// lastHours counts periods within a day on the instant, from the start of the
// local hour, minute or second.
func (p *planner) lastHours(period semantic.Period, current bool) (from, to string) {
	length := clockIn[period.Unit]
	local := p.opts.Now.In(location(p.shown().Shown))
	since := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second + time.Duration(local.Nanosecond())
	end := p.opts.Now.Add(-(since % length))
	if current {
		end = end.Add(length)
	}
	text := func(t time.Time) string { return moment{t: t, instant: true}.text() }
	return text(end.Add(-time.Duration(period.N) * length)), text(end)
}

// unitOf is the unit a relative range counts in, "" for another one.
func unitOf(r TimeRange) string {
	if p, ok := ParsePeriod(r.Last); ok {
		return p.Unit
	}
	return strings.ToLower(strings.TrimSpace(r.This))
}

// relativeWords says what a relative range was asked as, nothing for another one.
func relativeWords(r TimeRange) []string {
	switch {
	case r.This != "":
		return []string{"this " + strings.ToLower(r.This) + ":"}
	case r.Last != "" && r.IncludingCurrent:
		return []string{"last " + strings.ToLower(r.Last) + " including the current one:"}
	case r.Last != "":
		return []string{"last " + strings.ToLower(r.Last) + ":"}
	}
	return nil
}
