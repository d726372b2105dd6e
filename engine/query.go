package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/emit"
	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/postgres"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// The tools that ask for rows or for an account of a question.
const (
	ToolSQL     = "query_sql"
	ToolMetrics = "query_metrics"
	ToolExplain = "explain"
)

// DialectPostgres is the dialect of SQL that is read besides DuckDB's.
const DialectPostgres = "postgres"

// errTime is the cause of a context that the time limit ended.
var errTime = errors.New("time limit")

// query is one question on its way through the stages; each stage fills its
// own fields and reads those of the stages before. It lives in one goroutine.
type query struct {
	e   *Engine
	w   *world
	req Request
	id  string
	now time.Time // the engine's clock, which the question and its rules read
	// started is the wall clock, which limits are measured by.
	started time.Time

	view   *view
	limits limits
	times  map[string]float64 // milliseconds by stage
	cached bool

	plan       *metric.Plan   // nil for SQL
	translated *postgres.Text // SQL of another dialect; nil for all else
	written    *measure.Text  // SQL whose measures or views were written out; nil for all else
	text       string         // over entities
	model      []resolve.Span
	columns    []emit.Column // nil for SQL

	stmt      *sqlast.Statement
	bound     *resolve.Bound
	facts     *policy.Facts
	decided   bool // decision is the policy's word
	decision  policy.Decision
	refusedBy []policy.Reason // of the rules on the final text
	rewritten *rewrite.Rewritten
	proved    prove.Proved
	evidence  *prove.Evidence
	logged    []policy.Logged // by the rules on the final text
	beside    []string        // proved texts that ran beside for the same answer
}

func (e *Engine) begin(ctx context.Context, w *world, req Request) *query {
	now := e.moment(req)
	return &query{
		e: e, w: w, req: req, id: newID(), now: now, started: time.Now(),
		view:   newView(ctx, w, req.Subject, now),
		limits: w.limits(),
		times:  map[string]float64{},
	}
}

// moment is when a question is asked: its own moment, or the engine's clock.
func (e *Engine) moment(req Request) time.Time {
	if !req.at.IsZero() {
		return req.at
	}
	return e.now()
}

// newID names a question in answers and records.
func newID() string {
	var b [9]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return fmt.Sprintf("q%x", b)
}

// time starts a stage's clock; the function it gives stops it.
func (q *query) time(stage string) func() {
	start := time.Now()
	return func() { q.times[stage] += float64(time.Since(start).Microseconds()) / 1000 }
}

// limits are the bounds in force for one question.
type limits struct {
	Time  time.Duration
	Rows  int
	Bytes int64
	Calls int // of the subject in a minute
}

// limits are the bounds that the workspace sets for every question.
func (w *world) limits() limits {
	return limits{Time: w.ws.Limits.Time, Rows: w.ws.Limits.Rows, Bytes: w.ws.Limits.Bytes, Calls: w.ws.Limits.Calls}
}

func (l limits) facts() policy.Limits {
	return policy.Limits{TimeMS: l.Time.Milliseconds(), Rows: int64(l.Rows), Bytes: l.Bytes, Calls: int64(l.Calls)}
}

// lower takes the decision's limits where they are lower.
func (l limits) lower(d policy.Limits) limits {
	return limits{
		Time:  min(l.Time, time.Duration(d.TimeMS)*time.Millisecond),
		Rows:  int(min(int64(l.Rows), d.Rows)),
		Bytes: min(l.Bytes, d.Bytes),
		Calls: int(min(int64(l.Calls), d.Calls)),
	}
}

// metricNames are the metrics that are asked for; in SQL those that are the measures
// called, so that a policy's word on a metric holds at both doors.
func (q *query) metricNames() []string {
	if q.written != nil && len(q.written.Metrics) > 0 {
		return q.written.Metrics
	}
	if q.req.Question == nil {
		return []string{}
	}
	return q.req.Question.Metrics
}

// requiredFilters refuses a scan that lacks a filter its entity requires.
func (q *query) requiredFilters() error {
	var errs diag.List
	for _, r := range q.bound.Refs {
		for _, f := range r.Entity.Filters {
			if f.Kind != semantic.RequiredFilter || met(r.Met, f.Name) {
				continue
			}
			if vis, err := q.view.Entity(r.Entity.Name); err != nil || vis == nil || !shown(vis, f.Field) {
				errs = append(errs, diag.New(diag.PolicyRequired, "%q is asked with a filter that is not open to you", r.Entity.Name).
					At(diag.PosAt("", q.text, r.Name.Start)))
				continue
			}
			errs = append(errs, diag.New(diag.PolicyRequired, "%q is asked with a filter on %q", r.Entity.Name, f.Field).
				At(diag.PosAt("", q.text, r.Name.Start)).
				WithHint("add a condition such as %s >= <from> AND %s < <to> as a top-level AND beside that relation", f.Field, f.Field))
		}
	}
	if q.req.Question != nil {
		for _, e := range errs {
			e.Pos = diag.Pos{} // the text is ours, not the caller's
			e.Hint = "add a filter on that field to filters"
		}
	}
	return errs.Err()
}

func met(names []semantic.Name, n semantic.Name) bool {
	for _, m := range names {
		if m.Key() == n.Key() {
			return true
		}
	}
	return false
}

// denied makes the refusal of a decision. The reasons are the policy's own words.
func denied(d policy.Decision) error {
	return refused(diag.PolicyDenied, "the policy does not allow this question", d.Reasons)
}

func refused(code diag.Code, msg string, reasons []policy.Reason) error {
	texts := make([]string, 0, len(reasons))
	for _, r := range reasons {
		texts = append(texts, r.Text)
	}
	e := diag.New(code, "%s", msg)
	if len(texts) > 0 {
		e = e.WithHint("%s", strings.Join(texts, "; "))
	}
	return e
}

func (q *query) proveInput() prove.Input {
	names := make([]string, len(q.bound.Outputs))
	for i, o := range q.bound.Outputs {
		names[i] = o.Name
	}
	private := map[string][]semantic.Name{}
	for _, u := range q.bound.Uses {
		r := q.bound.Refs[u.Ref]
		if u.Origin == resolve.Model && q.decision.Entities[r.Entity.Name.Key()].Columns[u.Column.Key()].Class == semantic.Private {
			private[r.Entity.Name.Key()] = append(private[r.Entity.Name.Key()], u.Column)
		}
	}
	return prove.Input{
		Text: q.rewritten.Text, Catalog: q.w.catalog, Subject: q.req.Subject, Decision: q.decision, RowCap: q.limits.Rows + 1,
		Names: names, Private: private, Model: q.rewritten.Model, Functions: q.w.functions, Aggregates: q.w.aggregates, Memo: &q.w.memo,
	}
}

// answerRows is how many rows the answer may show.
func (q *query) answerRows() int {
	if q.plan != nil && q.plan.Limit > 0 {
		return min(q.limits.Rows, q.plan.Limit)
	}
	return q.limits.Rows
}

// answerColumns joins what the engine says of the result with what the question means.
func (q *query) answerColumns(got []prove.Column) []shape.Column {
	out := make([]shape.Column, len(got))
	for i, c := range got {
		out[i] = shape.Column{Name: c.Name, Type: c.Type, Kind: "column"}
		if i < len(q.columns) {
			m := q.columns[i]
			out[i].Kind, out[i].Grain, out[i].Unit, out[i].Format = m.Kind, m.Grain, m.Unit, m.Format
			if m.Kind == emit.Dimension && c.Type == "TIMESTAMP" && metric.BucketType(m.Grain) == "timestamp" {
				out[i].Instant, out[i].Type = true, "TIMESTAMP WITH TIME ZONE"
			}
			if m.Kind == emit.Metric && !m.Additive {
				out[i].Additive = new(bool)
			}
		}
	}
	return out
}

// define adds the definitions of the asked metrics where they are wanted.
func (q *query) define(ans *Answer) (err error) {
	if q.req.Define && q.plan != nil {
		ans.Definitions, err = metric.Define(q.view, q.w.catalog, q.w.expressions, q.metricNames())
	}
	return err
}

func (q *query) applied() []Applied {
	out := []Applied{}
	if q.plan != nil {
		for _, a := range q.plan.Applied {
			text := a.Text
			if a.Origin != metric.OfCaller && (len(q.plan.Main().Legs) > 1 || a.Entity != q.plan.Main().Legs[0].Tables[0].Entity.Name) {
				text = string(a.Entity) + ": " + text // not the only fact's: say whose it is
			}
			out = append(out, Applied{Origin: string(a.Origin), Entity: string(a.Entity), Text: text, Overridden: a.Overridden, Counted: a.Counted})
		}
	}
	if q.written != nil {
		for _, a := range q.written.Applied {
			text := a.Text
			if slices.ContainsFunc(q.bound.Refs, func(r resolve.Ref) bool { return r.Entity.Name.Key() != a.Entity.Key() }) {
				text = "measures of " + string(a.Entity) + ": " + text // and no others, however they are joined
			}
			out = append(out, Applied{Origin: string(a.Origin), Entity: string(a.Entity), Text: text, Overridden: a.Overridden})
		}
	}
	out = append(out, q.groupRules()...)
	seen := map[string]bool{}
	for _, r := range q.bound.Refs {
		key := r.Entity.Name.Key()
		if d := q.decision.Entities[key]; d.Rows.Truth != policy.Always && !seen[key] {
			seen[key] = true
			out = append(out, Applied{Origin: "policy", Entity: string(r.Entity.Name), Text: fmt.Sprintf("a row rule on %s", r.Entity.Name)})
		}
	}
	return out
}

func (q *query) warnings(t *shape.Table) []string {
	out := []string{}
	switch {
	case t.CutBy == "bytes":
		out = append(out, fmt.Sprintf("only the first %d rows are given, more would pass the limit of %d bytes; select less or aggregate", len(t.Rows), q.limits.Bytes))
	case t.CutBy == "rows" && q.limitSource() != "question":
		out = append(out, fmt.Sprintf("only the first %d rows are given, the limit of the %s; narrow the question or aggregate", len(t.Rows), q.limitSource()))
	}
	if !q.bound.Ordered && len(t.Rows) > 1 {
		out = append(out, "order_unspecified: the query has no ORDER BY, so the order of rows may change")
	}
	if list := q.bound.Unordered; len(list) > 0 {
		out = append(out, fmt.Sprintf("order_unspecified: %s without ORDER BY takes rows in an order that may change, and so may the answer; say the order", strings.Join(list, ", ")))
	}
	if t.NonFinite > 0 {
		out = append(out, fmt.Sprintf("NaN and infinite values are given as null: %d", t.NonFinite))
	}
	if q.plan != nil {
		out = append(out, q.plan.Warnings...)
	}
	if q.written != nil {
		out = append(out, q.written.Warnings...)
	}
	for _, g := range q.minGroups() {
		out = append(out, g.warning())
	}
	for _, m := range q.masked() {
		out = append(out, fmt.Sprintf("%s is masked for you", m))
	}
	return out
}

// limitSource says whose row limit is in force: the question's, the policy's or the server's.
func (q *query) limitSource() string {
	switch {
	case q.plan != nil && q.plan.LimitSource == "question" && q.plan.Limit <= q.limits.Rows:
		return "question"
	case q.limits.Rows < q.w.ws.Limits.Rows:
		return "policy"
	}
	return "server"
}

// masked names the columns that the question uses and sees only as masks.
func (q *query) masked() []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range q.bound.Refs {
		for _, c := range r.Columns {
			name := string(r.Entity.Name) + "." + string(c)
			if q.decision.Entities[r.Entity.Name.Key()].Columns[c.Key()].Mask != nil && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// explainContext gives a failure that an ended context caused its own code. A
// policy that was interrupted has decided nothing, so that is no denial.
func (q *query) explainContext(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	switch diag.CodeOf(err) {
	case diag.BugInternal, diag.ExecuteFailed, diag.ExecuteCrashed, diag.RequestCancelled, diag.LimitTime:
	case diag.PolicyDenied:
		if diag.All(err)[0].Err == nil {
			return err // the policy's own word
		}
	default:
		return err
	}
	if errors.Is(context.Cause(ctx), errTime) {
		return diag.Wrap(err, diag.LimitTime, "the time limit of %s passed", q.limits.Time).WithHint("ask for less: a shorter period, fewer groups")
	}
	return diag.Wrap(err, diag.RequestCancelled, "the call was cancelled")
}

// panicked makes a recovered panic the error of a question.
func (q *query) panicked(value any) error {
	return diag.Wrap(panicError{value, debug.Stack()}, diag.BugInternal, "something failed that no rule foresees").WithHint("report query id %s", q.id)
}

// panicError carries a recovered panic into the audit record.
type panicError struct {
	value any
	stack []byte
}

func (p panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
