package metric

import (
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

const utc = "UTC"

// withinDay reports whether buckets of a grain are shorter than a day.
func withinDay(grain string) bool {
	return clockIn[grain] > 0
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

// zoneText is an IANA name with its region, such as Europe/Copenhagen. Names
// without a region are not taken: what EST or CET means differs between readers.
var zoneText = regexp.MustCompile(`^[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+){1,2}$`)

// ZoneKnown reports whether a zone can be asked for: "UTC", or an IANA name with
// its region, as in Europe/Copenhagen. "" is no zone.
func ZoneKnown(zone string) bool {
	if strings.EqualFold(zone, utc) {
		return true
	}
	_, err := time.LoadLocation(zone)
	return err == nil && zoneText.MatchString(zone)
}

// settle puts the question's own zone and week in place of the model's, and gives
// the question with its relative ranges as dates.
func (p *planner) settle(q Question) Question {
	switch {
	case q.Zone == "":
	case !ZoneKnown(q.Zone):
		p.refuse(diag.New(diag.RequestMalformed, "zone is the name of a time zone, and %q is not known", q.Zone).
			WithHint("write UTC or a name with its region, such as Europe/Copenhagen"))
	default:
		p.settings.Zone = q.Zone
	}
	switch week := fold(q.WeekStart); week {
	case "":
	case "monday", "sunday":
		p.settings.WeekStart = week
	default:
		p.refuse(diag.New(diag.RequestMalformed, "week_start is monday or sunday, not %q", q.WeekStart))
	}
	p.plan.Zone, p.plan.WeekStart = zoneOr(p.settings.Zone), or(fold(p.settings.WeekStart), "monday")
	q.Time = p.absolute(q.Time)
	return q
}

// shown is how days and weeks are meant by the question.
func (s *scope) shown() Bucket {
	return Bucket{Stored: utc, Shown: zoneOr(s.settings.Zone), Sunday: fold(s.settings.WeekStart) == "sunday", Fiscal: s.settings.FiscalStart}
}

// timeColumn is what a time column's values mean: its type, the zone its local
// times are stored in, and the zone in which callers speak of days.
func (s *scope) timeColumn(e *semantic.Entity, d *semantic.Dimension) (Bucket, *diag.Error) {
	b := s.shown()
	b.Type = d.Type
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

// fiscalOf names the grains whose fiscal partner a dimension has as well.
var fiscalOf = map[string]string{semantic.FiscalQuarter: "quarter", semantic.FiscalYear: "year"}

// bucket checks a grain against what a dimension offers.
func (s *scope) bucket(vis *resolve.Visible, d *semantic.Dimension, grain string) (*Bucket, *diag.Error) {
	if d.Type.Kind() != semantic.KindTime {
		return nil, diag.New(diag.MetricGrain, "a grain belongs to a time dimension, and %q is %s", d.Name, d.Type.Kind()).
			WithHint("leave the grain out")
	}
	if !offers(d, grain) || (d.Type == "date" && withinDay(grain)) {
		return nil, diag.New(diag.MetricGrain, "%q has no grain %q", d.Name, grain).
			WithHint("its grains are %s", strings.Join(s.offered(d), ", "))
	}
	b, err := s.timeColumn(vis.Entity, d)
	if err != nil {
		return nil, err
	}
	b.Grain = grain
	return &b, nil
}

// offers reports whether a dimension has a grain that is no calendar's.
func offers(d *semantic.Dimension, grain string) bool {
	return isUnit(grain) && (slices.Contains(d.Grains, grain) || slices.Contains(d.Grains, fiscalOf[grain]))
}

// offered lists the grains of a dimension: its own, the fiscal ones where the
// fiscal year is not the calendar's, and those of the calendars that the subject sees.
func (s *scope) offered(d *semantic.Dimension) []string {
	out := slices.Clone(d.Grains)
	for _, grain := range []string{semantic.FiscalQuarter, semantic.FiscalYear} {
		if s.settings.FiscalStart > 1 && !slices.Contains(out, grain) && offers(d, grain) {
			out = append(out, grain)
		}
	}
	if d.Type.Kind() == semantic.KindTime {
		out = append(out, s.calendarGrains()...)
	}
	return out
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

// start reports whether a day is the first of its bucket.
func (b Bucket) start(m moment) bool { return b.First(m.t).Equal(m.t) }
