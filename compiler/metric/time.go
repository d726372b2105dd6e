package metric

import (
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

const utc = "UTC"

// grainOrder lists the grains from finest to coarsest.
var grainOrder = []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// withinDay reports whether buckets of a grain are shorter than a day.
func withinDay(grain string) bool {
	return slices.Index(grainOrder, grain) < slices.Index(grainOrder, "day")
}

// BucketType is the type of a bucket of that grain.
func BucketType(grain string) semantic.Type {
	if withinDay(grain) {
		return "timestamp"
	}
	return "date"
}

func zoneOr(zone string) string {
	switch strings.ToUpper(zone) {
	case "", utc, "ETC/UTC":
		return utc
	}
	return zone
}

// timeColumn is what a time column's values mean: its type, the zone its local
// times are stored in, and the zone in which callers speak of days.
func (s *scope) timeColumn(e *semantic.Entity, d *semantic.Dimension) (Bucket, *diag.Error) {
	b := Bucket{Type: d.Type, Stored: utc, Shown: zoneOr(s.catalog.Time.Zone), Sunday: s.catalog.Time.WeekStart == "sunday"}
	if f := e.Field(d.Field); d.Field != "" && f != nil && d.Type == "timestamp" {
		b.Stored = zoneOr(f.Zone)
	}
	for _, z := range []string{b.Stored, b.Shown} {
		if _, err := time.LoadLocation(z); err != nil || z == "Local" {
			return b, diag.New(diag.UnsupportedAsk, "%q is read in time zone %q, which is not known", d.Name, z)
		}
	}
	return b, nil
}

// bucket checks a grain against what a dimension offers.
func (s *scope) bucket(e *semantic.Entity, d *semantic.Dimension, grain string) (*Bucket, *diag.Error) {
	if d.Type.Kind() != semantic.KindTime {
		return nil, diag.New(diag.MetricGrain, "a grain belongs to a time dimension, and %q is %s", d.Name, d.Type.Kind()).
			WithHint("leave the grain out")
	}
	if !slices.Contains(d.Grains, grain) || !slices.Contains(grainOrder, grain) || (d.Type == "date" && withinDay(grain)) {
		return nil, diag.New(diag.MetricGrain, "%q has no grain %q", d.Name, grain).
			WithHint("its grains are %s", strings.Join(d.Grains, ", "))
	}
	if s.catalog.Time.FiscalStart > 1 && (grain == "quarter" || grain == "year") {
		return nil, diag.New(diag.UnsupportedAsk, "the fiscal year starts in month %d, and %s buckets do not say which year is meant", s.catalog.Time.FiscalStart, grain).
			WithHint("ask by month, or filter by a time range")
	}
	b, err := s.timeColumn(e, d)
	if err != nil {
		return nil, err
	}
	b.Grain = grain
	return &b, nil
}

// moment is a time a caller wrote. Day means that no time of day was given.
type moment struct {
	t       time.Time // for a day its midnight, for local times their wall clock, both in UTC
	day     bool
	instant bool // an offset was given, so t is that instant
}

const (
	dayLayout  = "2006-01-02"
	timeLayout = "2006-01-02 15:04:05.999999"
)

var momentText = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-](0\d|1[0-4]):[0-5]\d)?)?$`)

// parseMoment reads 2024-01-31, 2024-01-31 15:04[:05[.999999]], with T or a
// space between, and optionally Z or an offset. Nothing shorter is guessed at.
func parseMoment(text string) (moment, bool) {
	if !momentText.MatchString(text) {
		return moment{}, false // time.Parse also takes a comma for the point, and any offset
	}
	if t, err := time.Parse(dayLayout, text); err == nil {
		return moment{t: t, day: true}, true
	}
	text = strings.Replace(text, "T", " ", 1)
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return moment{t: t}, wholeMicros(t)
		}
		if t, err := time.Parse(layout+"Z07:00", text); err == nil {
			return moment{t: t.UTC(), instant: true}, wholeMicros(t)
		}
	}
	return moment{}, false
}

// wholeMicros is the precision of the engine; what is finer would be rounded.
func wholeMicros(t time.Time) bool { return t.Nanosecond()%1000 == 0 }

// literal writes a moment as a literal of the column's own type, so that the
// column stays bare. For a day it is the day's first instant.
func (b Bucket) literal(m moment) (string, bool) {
	if b.Type == "date" {
		return "DATE '" + m.t.Format(dayLayout) + "'", m.day
	}
	if b.Type == "timestamp" && b.Stored == b.Shown && !m.instant {
		return timestamp(m.t), true
	}
	at, ok := b.instantOf(m)
	if !ok {
		return "", false
	}
	if b.Type == "timestamp" {
		return timestamp(at.In(location(b.Stored))), true
	}
	return "TIMESTAMPTZ '" + at.UTC().Format(timeLayout) + "+00'", true
}

func timestamp(t time.Time) string { return "TIMESTAMP '" + t.Format(timeLayout) + "'" }

// location is for zones that timeColumn has checked.
func location(zone string) *time.Location {
	l, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	return l
}

// instantOf is false for a local time that the zone skips or has twice.
func (b Bucket) instantOf(m moment) (time.Time, bool) {
	if m.instant {
		return m.t, true
	}
	loc := location(b.Shown)
	y, mo, d := m.t.Date()
	if m.day {
		return startOfDay(y, mo, d, loc), true
	}
	at := time.Date(y, mo, d, m.t.Hour(), m.t.Minute(), m.t.Second(), m.t.Nanosecond(), loc)
	wall := m.t.Format(timeLayout)
	if at.Format(timeLayout) != wall {
		return at, false
	}
	for _, shift := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
		if at.Add(shift).Format(timeLayout) == wall {
			return at, false
		}
	}
	return at, true
}

// startOfDay is the first instant of a local day. In zones that change their
// clocks at midnight that is not 00:00, or 00:00 comes twice.
func startOfDay(y int, mo time.Month, d int, loc *time.Location) time.Time {
	const step = 15 * time.Minute
	at := time.Date(y, mo, d, 0, 0, 0, 0, loc)
	want := time.Date(y, mo, d, 0, 0, 0, 0, time.UTC).Format(dayLayout)
	for at.Format(dayLayout) < want {
		at = at.Add(step)
	}
	for at.Add(-step).Format(dayLayout) == want {
		at = at.Add(-step)
	}
	return at
}

func (m moment) nextDay() moment { return moment{t: m.t.AddDate(0, 0, 1), day: true} }

// start reports whether a moment is the first of its bucket.
func (b Bucket) start(m moment) bool {
	t := m.t
	switch b.Grain {
	case "week":
		first := time.Monday
		if b.Sunday {
			first = time.Sunday
		}
		return t.Weekday() == first
	case "month":
		return t.Day() == 1
	case "quarter":
		return t.Day() == 1 && (t.Month()-1)%3 == 0
	case "year":
		return t.YearDay() == 1
	}
	return true
}
