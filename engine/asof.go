package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// AsOf says up to when the data of a table come, as far as the subject sees them.
type AsOf struct {
	Table string `json:"table"`
	At    string `json:"at"` // a day, or a time of the answer's zone
}

// Partial is the last bucket of an answer when its data are not all there: those
// of Tables end before it does.
type Partial struct {
	Column string   `json:"column"`
	Bucket string   `json:"bucket"`
	Tables []string `json:"tables"`
}

// When says in a few words what an answer depends on in time: the dates of ranges
// that were counted from now, up to when the data come, the zone, and the bucket
// that goes beyond. "" for an answer that does not.
func (a *Answer) When() string {
	var parts []string
	for _, f := range a.Applied {
		if f.Counted {
			parts = append(parts, f.Text)
		}
	}
	same := len(a.AsOf) > 0 && !slices.ContainsFunc(a.AsOf, func(o AsOf) bool { return o.At != a.AsOf[0].At })
	for i, o := range a.AsOf {
		switch {
		case !same:
			parts = append(parts, o.Table+" as of "+o.At)
		case i == 0:
			parts = append(parts, "as of "+o.At)
		}
	}
	if a.Zone != "" {
		parts = append(parts, a.Zone)
	}
	if a.WeekStart == "sunday" {
		parts = append(parts, "weeks from sunday")
	}
	if p := a.Partial; p != nil {
		parts = append(parts, "partial_period "+p.Bucket)
	}
	return strings.Join(parts, "; ")
}

// How long a watermark is taken for true, how long an answer waits for it, and how
// many a world remembers.
const (
	marksLast = time.Minute
	marksWait = 2 * time.Second
	maxMarks  = 1024
)

// date says of a metric answer how far its data come and in which zone its days
// are meant. A watermark that cannot be had is told as a warning; the rows stand.
func (q *query) date(ctx context.Context, ans *Answer) {
	if q.plan == nil || !metric.Timed(q.plan, q.req.Question) {
		return
	}
	ans.Zone = q.plan.Zone
	if q.req.Question.WeekStart != "" || slices.ContainsFunc(q.plan.Keys, func(k metric.Key) bool { return k.Grain == "week" }) {
		ans.WeekStart = q.plan.WeekStart
	}
	ctx, cancel := context.WithTimeout(ctx, marksWait)
	defer cancel()
	for _, f := range metric.Facts(q.plan) {
		at, err := q.watermark(ctx, f)
		if err != nil {
			ans.Warnings = append(ans.Warnings, fmt.Sprintf("as_of of %s is not known: %s", f.Entity.Name, diag.CodeOf(err)))
			continue
		}
		if at.IsZero() {
			continue // no rows that the subject sees, or no right to see their dates
		}
		ans.AsOf = append(ans.AsOf, AsOf{string(f.Entity.Name), f.Bucket.Local(at)})
		if f.Since.After(at) {
			ans.Warnings = append(ans.Warnings, fmt.Sprintf("the range begins on %s, after the last data of %s (as of %s)", f.Bucket.Local(f.Since), f.Entity.Name, f.Bucket.Local(at)))
		}
		if last := lastBucket(ans, f.Key); last != "" && !f.Complete(last, at, q.now) {
			ans.Partial = ans.Partial.with(q.plan.Keys[f.Key].Label, last, string(f.Entity.Name))
		}
	}
}

// with adds a table to what is said of a bucket; of several time columns the first is told.
func (p *Partial) with(column, bucket, table string) *Partial {
	if p == nil {
		p = &Partial{Column: column, Bucket: bucket}
	}
	if p.Column == column {
		p.Tables = append(p.Tables, table)
	}
	return p
}

// lastBucket is the latest bucket of a column in the rows shown, "" when there is none.
func lastBucket(ans *Answer, column int) string {
	last := ""
	for _, row := range ans.Table.Rows {
		if column < 0 || column >= len(row) {
			return ""
		}
		if s, ok := row[column].(string); ok && s > last {
			last = s
		}
	}
	return last
}

// watermark is the last time of a fact's rows that the subject sees. It passes the
// pipeline as a question of the subject's own; the zero time is given when it may
// not read the column as it is, or when there is no row. What a proved text gave
// is taken again for a short time.
func (q *query) watermark(ctx context.Context, f metric.Fact) (time.Time, error) {
	vis, err := q.view.Entity(f.Entity.Name)
	if err != nil || vis == nil {
		return time.Time{}, err
	}
	if class, ok := vis.Class(f.Column); !ok || class != semantic.Output || masks(vis, f.Column) || q.view.grouped(f.Entity.Name) {
		return time.Time{}, nil
	}
	own := q.e.begin(ctx, q.w, Request{Tool: q.req.Tool, Subject: q.req.Subject, SQL: maxOf(f.Entity, f.Column), ours: true})
	own.view, own.now = q.view, q.now // one moment, one account of what the subject sees
	at, err := own.lastTime(ctx, f.Bucket)
	q.beside = append(q.beside, own.beside...)
	return at, own.explainContext(ctx, err)
}

// lastTime runs the stages of a watermark's question up to its one value. The
// record of the answer it stands in tells of it.
func (q *query) lastTime(ctx context.Context, column metric.Bucket) (at time.Time, err error) {
	if err := q.request(ctx); err != nil {
		return at, err
	}
	if err := q.prepare(ctx); err != nil {
		return at, err
	}
	text := q.proved.Text()
	if at, ok := q.w.marks.get(text, q.now); ok {
		return at, nil
	}
	q.beside = append(q.beside, text)
	rows, release, err := q.execute(ctx)
	if err != nil {
		return at, err
	}
	defer release()
	ans, err := q.shape(rows)
	if err != nil {
		return at, err
	}
	if s, ok := ans.Table.Rows[0][0].(string); ok {
		if at, ok = column.Instant(s); !ok {
			return at, diag.New(diag.ExecuteFailed, "the last time is no date")
		}
	}
	q.w.marks.put(text, at, q.now)
	return at, nil
}

// maxOf asks for the last time of an entity's rows. Its fixed filters apply, as in
// every metric; one that reads a parameter depends on the question and does not.
func maxOf(e *semantic.Entity, column semantic.Name) string {
	return "SELECT max(" + semantic.Quote(string(column)) + `) AS "at" FROM ` + semantic.Quote(string(e.Name)) + fixedWhere(e)
}

// fixedWhere is the WHERE of an entity's fixed filters.
func fixedWhere(e *semantic.Entity) string {
	var parts []string
	for _, f := range e.Filters {
		if f.Kind == semantic.FixedFilter && !strings.Contains(f.Expr, "$") {
			parts = append(parts, "("+f.Expr+"\n)") // a line comment must not take the parenthesis
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// masks reports that the subject sees a mask in a column, or in one that it is computed from.
func masks(vis *resolve.Visible, column semantic.Name) bool {
	if vis.Masked[column.Key()] {
		return true
	}
	d := vis.Entity.Dimension(column)
	return d != nil && slices.ContainsFunc(d.Reads, func(n semantic.Name) bool { return vis.Masked[n.Key()] })
}

// marks remembers watermarks by the proved text that asked for them, so that they
// are shared only by subjects with the same rules. The zero value is ready.
type marks struct {
	mu      sync.Mutex
	entries map[string]mark
}

type mark struct{ at, asked time.Time }

func (m *marks) get(text string, now time.Time) (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[text]
	if age := now.Sub(e.asked); !ok || age < 0 || age >= marksLast {
		return time.Time{}, false
	}
	return e.at, true
}

func (m *marks) put(text string, at, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil || len(m.entries) >= maxMarks {
		m.entries = map[string]mark{}
	}
	m.entries[text] = mark{at, now}
}
