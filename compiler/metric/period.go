package metric

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Periods are counted in calendar units on local days and wall clocks, never in
// hours: a month later is the same day of the next month, or its last day where
// that month is shorter. Buckets are moved as a whole, so March less a month is
// February with all of its days.

// maxPeriods keeps dates within four digits of a year.
const maxPeriods = 100000

// monthsIn and daysIn say how long the units of a period are.
var (
	monthsIn = map[string]int{"month": 1, "quarter": 3, "year": 12, semantic.FiscalQuarter: 3, semantic.FiscalYear: 12}
	daysIn   = map[string]int{"day": 1, "week": 7}
	clockIn  = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}
)

var periodText = regexp.MustCompile(`^([0-9]{1,6}) +([a-z_]+(?: +[a-z]+)?)$`)

// ParsePeriod reads "7 days", "1 year", "2 fiscal_quarters". false for anything
// else: no number, a number below 1, a fraction, a unit that is no grain.
func ParsePeriod(text string) (semantic.Period, bool) {
	parts := periodText.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if parts == nil {
		return semantic.Period{}, false
	}
	n, err := strconv.Atoi(parts[1])
	unit := strings.TrimSuffix(strings.ReplaceAll(parts[2], " ", "_"), "s")
	if err != nil || n < 1 || n > maxPeriods || !isUnit(unit) {
		return semantic.Period{}, false
	}
	return semantic.Period{N: n, Unit: unit}, true
}

func isUnit(unit string) bool {
	return monthsIn[unit] > 0 || daysIn[unit] > 0 || clockIn[unit] > 0
}

// PeriodText writes a period as ParsePeriod reads it.
func PeriodText(p semantic.Period) string {
	unit := strings.ReplaceAll(p.Unit, "_", " ")
	if p.N != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", p.N, unit)
}

// AddPeriod moves a wall-clock time by n times a period; n may be negative. Days
// that the month does not have become its last one.
func AddPeriod(t time.Time, p semantic.Period, n int) time.Time {
	if d := clockIn[p.Unit]; d > 0 {
		return t.Add(time.Duration(n*p.N) * d)
	}
	if d := daysIn[p.Unit]; d > 0 {
		return t.AddDate(0, 0, n*p.N*d)
	}
	first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location()).AddDate(0, n*p.N*monthsIn[p.Unit], 0)
	return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// PeriodFits reports whether buckets of a grain, moved by a period, are buckets
// again, so that a group has exactly one earlier group; the refusal has the hint
// that would work. Finer grains than the unit fit: their days clamp to the end of
// the month. Buckets of a calendar or of parts of a day do not move.
func PeriodFits(grain string, p semantic.Period) *diag.Error {
	months, days := p.N*monthsIn[p.Unit], p.N*daysIn[p.Unit]
	refusal := func(hint string, args ...any) *diag.Error {
		return diag.New(diag.MetricGrain, "%s buckets cannot be moved by %s", grain, PeriodText(p)).WithHint(hint, args...)
	}
	switch {
	case !slices.Contains(dayGrains, grain):
		return refusal("ask by one of %s", strings.Join(dayGrains, ", "))
	case months+days == 0:
		return refusal("move by days, weeks, months, quarters or years")
	case grain == "day", grain == "week" && days > 0 && days%7 == 0:
		return nil
	case grain == "week" && months > 0:
		return refusal("a year or month is no number of whole weeks; %s keeps the weekdays", PeriodText(semantic.Period{N: weeks(months), Unit: "week"}))
	case grain == "week":
		return refusal("move by a multiple of 7 days")
	case months > 0 && months%monthsIn[grain] == 0:
		return nil
	}
	return refusal("move by whole %ss, or ask by day", strings.ReplaceAll(grain, "_", " "))
}

// weeks is the usual number of weeks for months: 4 a month, 13 a quarter, 52 a year.
func weeks(months int) int { return months/12*52 + months%12/3*13 + months%3*4 }

// dayGrains are the grains whose buckets are named by their first day.
var dayGrains = []string{"day", "week", "month", "quarter", "year", semantic.FiscalQuarter, semantic.FiscalYear}

// Plus is SQL for a bucket of a day grain moved by n times a period that fits its
// grain; n may be negative. sql is the bucket's own expression.
func Plus(sql string, p semantic.Period, n int) string {
	op, by := " + ", n*p.N
	if by < 0 {
		op, by = " - ", -by
	}
	if d := daysIn[p.Unit]; d > 0 {
		return "(" + sql + op + strconv.Itoa(by*d) + ")"
	}
	return "CAST((" + sql + op + "INTERVAL " + strconv.Itoa(by*monthsIn[p.Unit]) + " MONTH) AS DATE)"
}

// First gives the first day of the bucket that holds a local day. Days are
// midnights in UTC.
func (b Bucket) First(day time.Time) time.Time {
	y, m, d := day.Date()
	switch b.Grain {
	case "week":
		since := (int(day.Weekday()) + 6) % 7
		if b.Sunday {
			since = int(day.Weekday())
		}
		return date(y, m, d-since)
	case "month":
		return date(y, m, 1)
	case "quarter":
		return date(y, m-(m-1)%3, 1)
	case "year":
		return date(y, 1, 1)
	case semantic.FiscalQuarter, semantic.FiscalYear:
		length := time.Month(monthsIn[b.Grain])
		return date(y, m-(m+12-b.fiscal())%length, 1)
	}
	return date(y, m, d)
}

// Next gives the first day of the bucket after the one that begins on a day.
func (b Bucket) Next(first time.Time) time.Time {
	return AddPeriod(first, semantic.Period{N: 1, Unit: b.Grain}, 1)
}

// fiscal is the month in which the fiscal year starts.
func (b Bucket) fiscal() time.Month { return max(time.January, time.Month(b.Fiscal)) }

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// shiftRange moves a range with from and to back by a period, so that it covers
// the earlier partner of every bucket in it, and no bucket beside them: whole
// months move to whole months, and a range that begins or ends on a day the
// earlier month does not have ends with that month. zone is the zone that
// instants are moved in. Relative ranges are resolved before.
func shiftRange(r TimeRange, p semantic.Period, zone string) TimeRange {
	out := TimeRange{Field: r.Field}
	if m, ok := parseMoment(r.From); ok {
		out.From = m.back(p, zone).text()
	}
	m, ok := parseMoment(r.To)
	switch {
	case !ok:
	case !m.day:
		out.To = m.back(p, zone).text()
	default: // a day as the end is kept whole: move it and the one after it
		last, end := m.back(p, zone), m.nextDay().back(p, zone)
		if before := end.t.AddDate(0, 0, -1); before.After(last.t) {
			last.t = before
		}
		out.To = last.text()
	}
	return out
}

// back moves a moment a period earlier on the wall clock.
func (m moment) back(p semantic.Period, zone string) moment {
	if !m.instant {
		m.t = AddPeriod(m.t, p, -1)
		return m
	}
	loc := location(zone)
	at := AddPeriod(m.t.In(loc), p, -1)
	m.t = at.UTC()
	return m
}

// text writes a moment as parseMoment reads it.
func (m moment) text() string {
	switch {
	case m.day:
		return m.t.Format(dayLayout)
	case m.instant:
		return m.t.UTC().Format("2006-01-02 15:04:05.999999Z")
	}
	return m.t.Format(timeLayout)
}
