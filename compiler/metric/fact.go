package metric

import (
	"slices"
	"strings"
	"time"

	"plumbline/semantic"
)

// Fact is a fact of a plan with the column that dates its rows: what an answer
// needs to say up to when its data come.
type Fact struct {
	Entity *semantic.Entity
	Column semantic.Name // of the entity's relation: a field or a computed dimension
	Bucket Bucket        // how the column's values are read; with a grain where Key is set
	Finest string        // grain that the column is dated by; "" when it offers none
	Since  time.Time     // where the question's rows begin; zero when nothing says so
	Key    int           // the key of the plan that cuts the column into buckets, -1 for none
}

// Facts gives the facts of a plan that have a time dimension, each entity once.
func Facts(p *Plan) []Fact {
	var out []Fact
	for _, l := range p.Main().Legs {
		e := l.Tables[0].Entity
		d := e.Dimension(e.TimeDimension)
		if d == nil || slices.ContainsFunc(out, func(f Fact) bool { return f.Entity == e && f.Key >= 0 }) {
			continue
		}
		column, bucket := TimeColumn(e, d, p.Zone)
		f := Fact{Entity: e, Column: column, Key: -1, Bucket: bucket}
		if len(d.Grains) > 0 {
			f.Finest = d.Grains[0]
		}
		for _, c := range l.Where {
			if c.Operand.Table == l.Tables[0] && c.Operand.Column == column && c.Model == nil {
				f.since(c.Test)
			}
		}
		for i, op := range l.Keys {
			if op.Table == l.Tables[0] && op.Column == f.Column && op.Bucket != nil && f.Key < 0 {
				f.Key, f.Bucket = i, *op.Bucket
			}
		}
		out = slices.DeleteFunc(out, func(o Fact) bool { return o.Entity == e })
		out = append(out, f)
	}
	return out
}

// since notes where a test begins to let rows pass.
func (f *Fact) since(t Test) {
	switch t := t.(type) {
	case All:
		for _, x := range t {
			f.since(x)
		}
	case Compare:
		if at, ok := f.Bucket.moment(t.Literal); ok && (t.Op == ">=" || t.Op == ">") && at.After(f.Since) {
			f.Since = at
		}
	}
}

// moment reads what literal has written.
func (b Bucket) moment(sql string) (time.Time, bool) {
	word, text, _ := strings.Cut(strings.TrimSuffix(sql, "'"), " '")
	switch word {
	case "DATE":
		t, err := time.Parse(dayLayout, text)
		return t, err == nil
	case "TIMESTAMP":
		t, err := time.ParseInLocation(timeLayout, text, location(b.Stored))
		return t, err == nil
	case "TIMESTAMPTZ":
		t, err := time.Parse(timeLayout+"Z07", text)
		return t, err == nil
	}
	return time.Time{}, false
}

// Complete reports whether the data of the fact, which come up to an instant, fill a
// bucket when it is now. Data that are dated by the first day of longer periods come
// up to the last day of the one that they are dated by.
func (f Fact) Complete(bucket string, upTo, now time.Time) bool {
	if monthsIn[f.Finest] > 0 || f.Finest == "week" {
		local := upTo
		switch f.Bucket.Type {
		case "timestamp":
			local = upTo.In(location(f.Bucket.Stored))
		case "timestamptz":
			local = upTo.In(location(f.Bucket.Shown))
		}
		dated := f.Bucket
		dated.Grain = f.Finest
		y, m, d := local.Date()
		day := date(y, m, d)
		if h, min, s := local.Clock(); h+min+s == 0 && dated.First(day).Equal(day) {
			days := dated.Next(day).Sub(day).Hours() / 24
			upTo = local.AddDate(0, 0, int(days)-1)
		}
	}
	return f.Bucket.Complete(bucket, upTo, now)
}

// TimeColumn gives the column of an entity's relation that a time dimension stands
// for, and how its values are read and shown in a zone; "" is UTC.
func TimeColumn(e *semantic.Entity, d *semantic.Dimension, zone string) (semantic.Name, Bucket) {
	b := Bucket{Type: d.Type, Stored: utc, Shown: zoneOr(zone)}
	field := e.Field(d.Field)
	if d.Field == "" || field == nil {
		return d.Name, b
	}
	if d.Type == "timestamp" {
		b.Stored = zoneOr(field.Zone)
	}
	return field.Name, b
}

// Timed reports that a plan groups by time, or that its question filters by it:
// that its answer depends on how far the data come.
func Timed(p *Plan, q *Question) bool {
	return len(q.Time) > 0 || slices.ContainsFunc(p.Keys, func(k Key) bool { return k.Grain != "" })
}

// Instant reads a value of the column as answers write it: the instant of a
// timestamp, the midnight in UTC of a date.
func (b Bucket) Instant(text string) (time.Time, bool) {
	switch b.Type {
	case "date":
		t, err := time.Parse(dayLayout, text)
		return t, err == nil
	case "timestamptz":
		t, err := time.Parse(time.RFC3339Nano, text)
		return t, err == nil
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", text, location(b.Stored))
	return t, err == nil
}

// Local writes a value that Instant has read, as a day or a time of the zone shown.
func (b Bucket) Local(t time.Time) string {
	if b.Type == "date" {
		return t.Format(dayLayout)
	}
	return t.In(location(b.Shown)).Format("2006-01-02T15:04:05Z07:00")
}

// Complete reports whether a bucket, named as answers name it, holds all its rows
// when the data come up to an instant and it is now: the data go past its end; or
// they reach its last day, or a part of a day, and it is over. false for a text
// that is no bucket.
func (b Bucket) Complete(bucket string, upTo, now time.Time) bool {
	if length := clockIn[b.Grain]; length > 0 {
		first, err := time.Parse("2006-01-02T15:04:05Z", bucket)
		end := first.Add(length)
		return err == nil && (!upTo.Before(end) || !upTo.Before(first) && !now.Before(end))
	}
	first, err := time.Parse(dayLayout, bucket)
	if err != nil {
		return false
	}
	day := func(t time.Time) time.Time { y, m, d := t.In(location(b.Shown)).Date(); return date(y, m, d) }
	end, last := b.Next(first), upTo
	if b.Type != "date" {
		last = day(upTo)
	}
	return !last.Before(end) || last.Equal(end.AddDate(0, 0, -1)) && !day(now).Before(end)
}
