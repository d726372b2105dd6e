// Package engine is the program on one page: Answer runs the nine stages in
// order, and every question passes all of them, whichever door it came through.
//
//	1 request    the tool call and the subject from the transport; a metric question becomes text, and so do measures in SQL
//	2 parse      one SELECT, strictly decoded
//	3 resolve    names against what this subject may see; facts beside the tree
//	4 decide     class rules, then one Rego decision on the facts
//	5 rewrite    a fence round each entity, by splicing
//	6 prove      the final text read again; then Rego's verify
//	7 execute    only what is proved, in a worker process
//	8 shape      rows into the answer
//	9 audit      deferred at the top: no record, no answer
//
// There is no fallback: what a stage cannot do safely it refuses with a code.
// explain and the describing questions run the same stages up to where they end.
package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"plumbline/compiler/emit"
	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/postgres"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Request is one question. Exactly one of SQL and Question is set.
type Request struct {
	Tool     string           // query_sql, query_metrics, explain
	Subject  policy.Subject   // from the transport
	SQL      string           // raw SQL over entities
	Dialect  string           // of SQL: DialectPostgres, or "" for DuckDB's
	Question *metric.Question // a metric question
	Asked    json.RawMessage  // the arguments as they came, for the record
	ShowSQL  bool             // give the SQL over entities with the answer
	Define   bool             // give the definition of each asked metric with the answer

	ours  bool      // SQL is written by this package: its columns are the model's, and it scans whole entities
	at    time.Time // the moment of the question; the zero value is the engine's clock
	still bool      // the answer may not depend on another moment than at

	replay *Replay // the recorded question that is asked again; nil for all others
}

// Answer is what a caller gets. Table is nil for explain.
type Answer struct {
	QueryID string
	Table   *shape.Table
	Applied []Applied // filters in force, by origin
	// LimitSource says whose row limit was in force: question, policy or server.
	LimitSource string
	Warnings    []string
	// Zone is whose days are meant, WeekStart the first day of the weeks, of an answer
	// that depends on time; "" for others. AsOf says up to when the data come, and
	// Partial that the last bucket shown goes beyond; nil when it does not.
	Zone        string
	WeekStart   string
	AsOf        []AsOf
	Partial     *Partial
	Definitions []metric.Definition // when asked for
	SQL         string              // over entities, when asked for
	Explain     *Explanation
	StageMS     map[string]float64 // milliseconds by stage, for measuring
}

// Applied is one filter that was in force. Row rules of the policy are named as
// present, never spelled out.
type Applied struct {
	Origin     string `json:"origin"`           // caller, fixed, default, required, policy
	Entity     string `json:"entity,omitempty"` // whose rows it filters; "" for filters on metrics and metric_time
	Text       string `json:"text"`
	Overridden bool   `json:"overridden,omitempty"`
	// Counted marks a time range of the caller's whose dates were counted from now.
	Counted bool `json:"-"`
}

// stage names, in order; timings, audit and docs use these words.
const (
	stageRequest = "request"
	stageParse   = "parse"
	stageResolve = "resolve"
	stageDecide  = "decide"
	stageRewrite = "rewrite"
	stageProve   = "prove"
	stageExecute = "execute"
	stageShape   = "shape"
	stageAudit   = "audit"
)

// Stages are the nine stages in order.
var Stages = []string{stageRequest, stageParse, stageResolve, stageDecide, stageRewrite, stageProve, stageExecute, stageShape, stageAudit}

// Answer asks one question. It is safe for any number of goroutines. The error
// is always a *diag.Error or diag.List; the answer is nil when there is one.
func (e *Engine) Answer(ctx context.Context, req Request) (*Answer, error) {
	w, release := e.world()
	defer release()
	return e.ask(ctx, w, req)
}

// ask runs the stages in one world.
func (e *Engine) ask(ctx context.Context, w *world, req Request) (ans *Answer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.ws.Limits.Time, errTime)
	defer cancel()
	q := e.begin(ctx, w, req)
	defer func() { ans, err = q.finish(ctx, ans, err, recover()) }()

	if err := q.called(q.limits.Calls); err != nil {
		return nil, err
	}
	if err := q.request(ctx); err != nil { // 1
		return nil, err
	}
	if err := q.prepare(ctx); err != nil { // 2 to 6, or an equal question's proof
		return nil, q.asAsked(err)
	}
	if err := q.still(); err != nil {
		return nil, err
	}
	if req.Tool == ToolExplain {
		return q.explain(ctx)
	}
	if req.replay != nil && !req.replay.rows {
		return &Answer{QueryID: q.id}, nil
	}
	if err := q.filterSets(); err != nil {
		return nil, err
	}
	rows, release, err := q.execute(ctx) // 7
	if err != nil {
		return nil, err
	}
	defer release()
	if ans, err = q.shape(rows); err != nil { // 8
		return nil, err
	}
	q.date(ctx, ans)
	return ans, q.define(ans)
}

// prepare runs the stages from parse to prove.
func (q *query) prepare(ctx context.Context) error {
	if kept := q.reuse(); kept != nil {
		if err := q.decide(ctx); err != nil { // a decision is never reused
			return err
		}
		if q.limits == kept.limits {
			return nil
		}
		q.forget() // the kept text carries another row limit
	}
	for _, stage := range []func(context.Context) error{q.parse, q.resolve, q.decide, q.rewrite, q.prove} {
		if err := stage(ctx); err != nil {
			return err
		}
	}
	q.keep()
	return nil
}

// request turns the question into text over entities.
func (q *query) request(ctx context.Context) error {
	defer q.time(stageRequest)()
	if (q.req.Question == nil) == (q.req.SQL == "") {
		return diag.New(diag.ParseEmpty, "a question is either SQL or a metric question").WithHint("send a SELECT statement, or metrics to query_metrics")
	}
	opts := metric.Options{Now: q.now, DefaultLimit: q.limits.Rows, Expressions: q.w.expressions, AllRows: q.view.allRows}
	switch {
	case q.req.ours:
		q.text, q.model = q.req.SQL, []resolve.Span{{End: len(q.req.SQL)}}
		return nil
	case q.req.Dialect == DialectPostgres && q.req.Question == nil:
		return q.translate(ctx)
	case q.req.Dialect != "":
		return diag.New(diag.RequestMalformed, "there is no dialect of this name for this question").WithHint("send SQL with dialect %q, or leave it out for DuckDB's", DialectPostgres)
	case q.req.Question == nil:
		return q.measures(ctx, opts)
	}
	plan, err := metric.Build(q.view, q.w.catalog, *q.req.Question, opts)
	if err != nil {
		return err
	}
	text, err := emit.SQL(plan)
	if err != nil {
		return err
	}
	q.plan, q.text, q.model, q.columns = plan, text.SQL, text.Model, text.Columns
	return nil
}

// translate makes PostgreSQL text that of the engine. All of it stays the caller's.
func (q *query) translate(ctx context.Context) (err error) {
	q.text = q.req.SQL
	q.translated, err = postgres.Translate(ctx, q.req.SQL, postgres.Input{Postgres: q.w.pool, DuckDB: q.w.pool, View: q.view})
	if q.translated != nil {
		q.text = q.translated.SQL
	}
	return err
}

// measures writes out the measures and views that SQL names.
func (q *query) measures(ctx context.Context, opts metric.Options) (err error) {
	q.text = q.req.SQL
	q.written, err = measure.Write(ctx, q.text, measure.Input{Parser: q.w.pool, View: q.view, Catalog: q.w.catalog, Options: opts})
	if q.written != nil {
		q.text, q.model = q.written.SQL, q.written.Model
	}
	return err
}

// asAsked points an error at the text as the caller wrote it.
func (q *query) asAsked(err error) error {
	switch {
	case q.translated != nil:
		return q.translated.Explain(err)
	case q.written != nil:
		return q.written.Explain(err)
	}
	return err
}

func (q *query) parse(ctx context.Context) (err error) {
	defer q.time(stageParse)()
	q.stmt, err = sqlast.Parse(ctx, q.w.pool, q.text)
	return err
}

func (q *query) resolve(ctx context.Context) (err error) {
	defer q.time(stageResolve)()
	opts := resolve.Options{ModelSpans: q.model}
	if q.plan == nil {
		offered := metric.NewMeasures(q.view, q.w.catalog, metric.Options{Expressions: q.w.expressions})
		opts.Measure = func(e *semantic.Entity, name string) bool { return offered.Offers(e.Name, semantic.Name(name)) }
	}
	q.bound, err = resolve.Resolve(ctx, q.stmt, q.view, opts)
	return err
}

// decide applies the floor that no policy can loosen, then asks the policy once.
func (q *query) decide(ctx context.Context) error {
	defer q.time(stageDecide)()
	access := q.view.touched(q.bound)
	facts := policy.FactsOf(q.bound, access, q.req.Subject, q.req.Tool, q.metricNames(), q.now, q.limits.facts())
	q.facts, q.decision = &facts, policy.Decision{Entities: access}
	if err := policy.CheckUses(q.bound, access); err != nil {
		return err
	}
	if err := q.requiredFilters(); err != nil && !q.req.ours {
		return err
	}
	d, err := q.w.policy.Decide(ctx, facts, access)
	q.decided = err == nil || diag.CodeOf(err) == diag.PolicyDenied
	if err != nil {
		return err
	}
	q.decision = d
	if d.Verdict != policy.Allow {
		return denied(d)
	}
	q.limits = q.limits.lower(d.Limits)
	return q.callsLeft(q.limits.Calls)
}

func (q *query) rewrite(ctx context.Context) (err error) {
	defer q.time(stageRewrite)()
	q.rewritten, err = rewrite.Apply(ctx, q.w.pool, q.bound, q.decision, rewrite.Options{RowCap: q.limits.Rows + 1, Model: q.model})
	return q.asMetric(err)
}

// prove reads the final text as DuckDB reads it, then lets the policy's verify
// package look at the summary.
func (q *query) prove(ctx context.Context) (err error) {
	defer q.time(stageProve)()
	q.proved, q.evidence, err = prove.Check(ctx, q.w.pool, q.proveInput())
	if err != nil {
		return err
	}
	reasons, logged, err := q.w.policy.Verify(ctx, q.evidence.Summary)
	if err != nil {
		return err
	}
	q.logged = logged
	if len(reasons) > 0 {
		q.refusedBy = reasons
		return refused(diag.PolicyVerify, "the policy's verify rules refuse this query", reasons)
	}
	return nil
}

// execute runs the proved text; an equal text that is running already is not
// run twice. The function it gives lets the rows go.
func (q *query) execute(ctx context.Context) (*duck.Result, func(), error) {
	defer q.time(stageExecute)()
	ctx, cancel := context.WithTimeoutCause(ctx, q.limits.Time-time.Since(q.started), errTime)
	defer cancel()
	bounds := duck.RunLimits{Rows: q.limits.Rows + 1, Bytes: q.limits.Bytes}
	return q.w.sharing.do(ctx, fmt.Sprintf("%+v %s", bounds, q.proved.Text()), func(ctx context.Context) (*duck.Result, error) {
		return q.w.pool.Run(ctx, q.proved, bounds)
	})
}

func (q *query) shape(rows *duck.Result) (*Answer, error) {
	defer q.time(stageShape)()
	columns := q.answerColumns(rows.Columns)
	table, err := shape.Rows(columns, rows.Records, shape.Limits{Rows: q.answerRows(), Bytes: int(q.limits.Bytes)})
	if err != nil {
		return nil, err
	}
	if rows.Truncated && !table.Truncated {
		table.Truncated, table.CutBy = true, "bytes"
	}
	ans := &Answer{QueryID: q.id, Table: table, LimitSource: q.limitSource(), Applied: q.applied(), Warnings: q.warnings(table)}
	if q.req.ShowSQL {
		ans.SQL = q.shownSQL()
	}
	return ans, nil
}

// finish is the ninth stage: it turns a panic into bug.internal, names what the
// context knows about a failure, and writes the record before anything leaves.
func (q *query) finish(ctx context.Context, ans *Answer, err error, panicked any) (*Answer, error) {
	if panicked != nil {
		err = q.panicked(panicked)
	} else {
		err = q.explainContext(ctx, err)
	}
	if err != nil {
		ans = nil
	} else {
		ans.StageMS = q.times
	}
	if auditErr := q.write(ctx, ans, err); auditErr != nil {
		return nil, auditErr
	}
	return ans, err
}
