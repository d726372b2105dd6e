package duck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"plumbline/policy/prove"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

const (
	maxReading = 256 << 20 // bytes of trees and plans in one reply
	maxForeign = 16 << 20  // bytes of PostgreSQL's tree
	slack      = 1 << 20   // of an answer: schema and frame
)

// RunLimits bound one answer: at most Rows rows and Bytes bytes of Arrow. Both
// must be positive.
type RunLimits struct {
	Rows  int
	Bytes int64
}

// Result is the rows of one question. Release it when it has been read.
type Result struct {
	Columns   []prove.Column      // names and types as DuckDB gives them
	Records   []arrow.RecordBatch // in the order of the answer
	Rows      int
	Truncated bool // there was more: rows or bytes were at their limit
}

// Release lets the rows go. The Result must not be used afterwards.
func (r *Result) Release() {
	for _, b := range r.Records {
		b.Release()
	}
	r.Records = nil
}

// Serialize gives DuckDB's tree of a text as JSON; a text that does not parse
// gives the JSON of the parser's report. It satisfies sqlast.Parser.
func (p *Pool) Serialize(ctx context.Context, text string) ([]byte, error) {
	rep, payload, err := p.call(ctx, false, maxReading, request{Verb: verbParse}, []string{text})
	if err != nil {
		return nil, err
	}
	if rep.Fail != nil {
		return nil, p.failed(*rep.Fail, "")
	}
	return payload, nil
}

// ParsePostgres gives what PostgreSQL's parser makes of a text, as JSON. It
// satisfies postgres.Parser.
func (p *Pool) ParsePostgres(ctx context.Context, text string) ([]byte, error) {
	rep, payload, err := p.call(ctx, false, maxForeign, request{Verb: verbForeign}, []string{text})
	if err != nil {
		return nil, err
	}
	if rep.Fail != nil {
		return nil, p.failed(*rep.Fail, "")
	}
	return payload, nil
}

// Check reads texts on the empty twins, all in one round trip. A text that does
// not parse or bind has OK false. It satisfies prove.Planner.
func (p *Pool) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	rep, payload, err := p.call(ctx, false, maxReading, request{Verb: verbCheck}, texts)
	if err != nil {
		return nil, err
	}
	if rep.Fail != nil {
		return nil, p.failed(*rep.Fail, "")
	}
	parts, err := splitTexts(payload, rep.Lens)
	if err != nil || len(rep.Items) != len(texts) || len(parts) != 2*len(texts) {
		return nil, diag.Wrap(err, diag.BugInternal, "a worker's reading is incomplete")
	}
	out := make([]prove.Checked, len(texts))
	for i, item := range rep.Items {
		out[i] = prove.Checked{OK: item.OK, Error: item.Error}
		if item.OK {
			out[i].Tree, out[i].Plan, out[i].Columns = parts[2*i], parts[2*i+1], item.Columns
		}
	}
	return out, nil
}

// Run runs a proved text. Codes: bug.prove (the zero Proved, or a text that the
// worker does not take for one SELECT), request.busy, request.cancelled,
// limit.time, limit.memory, limit.bytes, source.missing, source.corrupt,
// execute.failed, execute.worker_lost.
func (p *Pool) Run(ctx context.Context, proved prove.Proved, lim RunLimits) (*Result, error) {
	text := proved.Text()
	if text == "" {
		return nil, diag.New(diag.BugProve, "only a proved text runs, and this one carries no proof")
	}
	if lim.Rows <= 0 || lim.Bytes <= 0 {
		return nil, diag.New(diag.BugInternal, "an answer's limits must be positive")
	}
	rep, payload, err := p.call(ctx, true, lim.Bytes+slack, request{Verb: verbRun, Rows: lim.Rows, Bytes: lim.Bytes}, []string{text})
	if err != nil {
		return nil, err
	}
	if rep.Fail != nil {
		return nil, p.failed(*rep.Fail, text)
	}
	return decode(rep, payload)
}

// decode reads the Arrow stream and holds it against what the worker says it
// sent, so that a broken read cannot look like a short answer.
func decode(rep reply, payload []byte) (*Result, error) {
	res := &Result{Columns: rep.Columns, Rows: rep.Rows, Truncated: rep.Truncated}
	r, err := ipc.NewReader(bytes.NewReader(payload))
	if err != nil {
		return nil, diag.Wrap(err, diag.BugInternal, "a worker's rows cannot be read")
	}
	defer r.Release()
	rows := 0
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		res.Records = append(res.Records, b)
		rows += int(b.NumRows())
	}
	if err := r.Err(); err != nil || rows != rep.Rows || r.Schema().NumFields() != len(rep.Columns) {
		res.Release()
		return nil, diag.Wrap(err, diag.BugInternal, "a worker's rows are incomplete")
	}
	return res, nil
}

// call takes a worker, makes one call, and gives the worker back when it lives.
// Every call only reads, so that it may be made again on another worker: when
// the first never had it, or failed in a way that may be its own.
func (p *Pool) call(ctx context.Context, run bool, payloadLimit int64, req request, texts []string) (reply, []byte, error) {
	for _, t := range texts {
		if strings.IndexByte(t, 0) >= 0 || !utf8.ValidString(t) {
			return reply{}, nil, diag.New(diag.ParseSyntax, "SQL text is UTF-8 without NUL bytes")
		}
	}
	leave, err := p.enter()
	if err != nil {
		return reply{}, nil, err
	}
	defer leave()
	payload, lens := joinTexts(texts)
	req.Lens = lens
	for reread := false; ; {
		w, giveBack, err := p.take(ctx, run)
		if err != nil {
			return reply{}, nil, err
		}
		worn := w.grown > p.cfg.Memory/8
		held, release := ctx, context.CancelFunc(func() {})
		if !run {
			held, release = context.WithTimeout(ctx, p.cfg.reading)
		}
		rep, data, err := w.call(held, p.limits(payloadLimit), req, payload)
		slow := held.Err() != nil && ctx.Err() == nil && p.ctx.Err() == nil
		release()
		short := err == nil && rep.Fail != nil && rep.Fail.Kind == failMemory
		again := worn && (short || errors.Is(err, errLost) || errors.Is(err, errGrown)) && ctx.Err() == nil && p.ctx.Err() == nil
		if again || short && residentBytes(w.pid)-w.baseline > recycleAbove || p.wornOut(w) {
			w.kill()
		}
		giveBack()
		switch {
		case errors.Is(err, errUnsent) && p.ctx.Err() == nil:
			continue // it died or stood still before it began
		case again:
			continue // what it held of earlier questions may be why; a fresh one says
		case slow && !reread:
			reread = true
			continue
		case slow:
			return reply{}, nil, stopped(held)
		case err != nil:
			return reply{}, nil, p.lost(ctx, w, err)
		case ctx.Err() != nil:
			return reply{}, nil, stopped(ctx)
		}
		return rep, data, nil
	}
}

// wornOut measures a worker after a call. What its allocators keep mapped of
// earlier questions is lacking under RLIMIT_DATA for the next: past half of the
// memory a fresh worker is better.
func (p *Pool) wornOut(w *process) bool {
	w.grown = mappedBytes(w.pid) - w.mapped
	return w.grown > p.cfg.Memory/2
}

// readingTime is how long a worker may parse or check, which takes milliseconds.
// After it another worker tries, once.
const readingTime = 5 * time.Second

// recycleAbove is how much more than at its start a worker may hold after it
// ran out of memory; above, a fresh one is better.
const recycleAbove = 128 << 20

func (p *Pool) limits(payload int64) callLimits {
	return callLimits{payload: payload, memory: p.cfg.Memory, grace: p.cfg.Grace, taking: takingTime}
}

// enter counts a call, so that Close can wait for it.
func (p *Pool) enter() (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil, errClosing()
	}
	p.calls.Add(1)
	return p.calls.Done, nil
}

func errClosing() error {
	return diag.New(diag.RequestCancelled, "the server is stopping or has new models").WithHint("ask again")
}

// take waits for a worker, first for a turn when the call is a run: at most
// Workers runs are under way, so that one process is left to parse and check.
func (p *Pool) take(ctx context.Context, run bool) (*process, func(), error) {
	if run {
		if err := p.await(ctx, nil, p.runs); err != nil {
			return nil, nil, err
		}
	}
	turn := func() {
		if run {
			<-p.runs
		}
	}
	for {
		if err := p.await(ctx, p.free, nil); err != nil {
			turn()
			return nil, nil, err
		}
		if w := p.pop(); w != nil && !w.ended() {
			return w, func() { p.put(w); turn() }, nil
		}
	}
}

// await receives from one channel or sends to the other; the one not meant is nil.
func (p *Pool) await(ctx context.Context, from <-chan struct{}, to chan<- struct{}) error {
	select {
	case <-from:
		return nil
	case to <- struct{}{}:
		return nil
	case <-p.ctx.Done():
		return errClosing()
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return diag.New(diag.RequestBusy, "no worker became free before the deadline").WithHint("ask again later, or ask for less")
		}
		return stopped(ctx)
	}
}

// pop gives nil when the idle worker that the token was for has died since.
func (p *Pool) pop() *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	w := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return w
}

// put never waits: where free is full there are at least as many tokens as
// workers, and whoever waits for one has it.
func (p *Pool) put(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.ended() {
		return
	}
	p.idle = append(p.idle, w)
	select {
	case p.free <- struct{}{}:
	default:
	}
}

// drop takes a dead worker out of the idle ones, with its token unless someone
// has that in hand and will find it void.
func (p *Pool) drop(w *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.idle, w)
	if i < 0 {
		return
	}
	p.idle = slices.Delete(p.idle, i, i+1)
	select {
	case <-p.free:
	default:
	}
}

// stopped says why ctx is done.
func stopped(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return diag.New(diag.LimitTime, "the query did not end within its time limit and was stopped").
			WithHint("ask for less: a shorter period, fewer groups, a metric instead of rows")
	}
	return diag.Wrap(ctx.Err(), diag.RequestCancelled, "the call was cancelled")
}

// lost says why a call has no reply. The worker is dead or dying.
func (p *Pool) lost(ctx context.Context, w *process, cause error) error {
	switch {
	case p.ctx.Err() != nil:
		return errClosing()
	case ctx.Err() != nil:
		return stopped(ctx)
	case errors.Is(cause, errGrown):
		return overMemory(cause)
	}
	select {
	case <-w.gone:
	case <-time.After(p.cfg.Grace):
	}
	if w.stderr.outOfMemory() {
		return overMemory(fmt.Errorf("%w: %s", cause, w.stderr.String()))
	}
	return diag.Wrap(fmt.Errorf("%w: %s", cause, w.stderr.String()), diag.ExecuteCrashed, "the worker that ran the query ended and was replaced").
		WithHint("ask for less; if it repeats, report the query id")
}

func overMemory(cause error) error {
	return diag.Wrap(cause, diag.LimitMemory, "the query needs more memory than it may use and was stopped").
		WithHint("ask for less, or aggregate earlier")
}

func onData(cause error) error {
	return diag.Wrap(cause, diag.ExecuteFailed, "the engine failed on the data, for example on a cast or a division").
		WithHint("guard the expression, for example with TRY_CAST or NULLIF")
}

// failed turns a worker's failure into a code. The engine's text may quote
// values: it is kept for the audit record and never shown.
func (p *Pool) failed(f failure, text string) error {
	cause := errors.New(f.Raw)
	switch f.Kind {
	case failMemory:
		return overMemory(cause)
	case failStatement:
		return diag.Wrap(cause, diag.BugProve, "a worker runs exactly one SELECT")
	case failBytes:
		return diag.New(diag.LimitBytes, "the first row of the answer is larger than an answer may be").WithHint("select fewer or shorter columns")
	case failStopped:
		// nobody asked it to stop, or the call would have told: one of its threads
		// failed on the data, and another was quicker to say that it was stopped
		return onData(cause)
	case failQuery:
		if err := p.source(f.Raw, text); err != nil {
			return err
		}
		return onData(cause)
	}
	return diag.Wrap(cause, diag.BugInternal, "a worker failed in a way that no rule foresees")
}

// source blames the files of a relation that the text reads when the engine's
// error names one of them; nil when it names none.
func (p *Pool) source(raw, text string) error {
	for _, r := range p.rels {
		if !strings.Contains(text, semantic.StorageName(r.Entity.Name)) {
			continue
		}
		for _, f := range r.Files {
			if strings.Contains(raw, f) {
				return unreadable(raw, r)
			}
		}
	}
	return nil
}

// unreadable tells a missing file from a broken one by looking.
func unreadable(raw string, r semantic.Storage) *diag.Error {
	cause := errors.New(raw)
	for _, f := range r.Files {
		if _, err := os.Stat(f); errors.Is(err, os.ErrNotExist) {
			return diag.Wrap(cause, diag.SourceMissing, "a file behind %q is missing", r.Entity.Name)
		}
	}
	return diag.Wrap(cause, diag.SourceCorrupt, "a file behind %q cannot be read as declared", r.Entity.Name)
}

// broken turns one finding of the builder into an error at the entity or field.
func (p *Pool) broken(f failure) *diag.Error {
	i := slices.IndexFunc(p.rels, func(r semantic.Storage) bool { return string(r.Entity.Name) == f.Entity })
	if i < 0 {
		return diag.New(diag.BugInternal, "a worker reports an entity that does not exist")
	}
	e := p.rels[i].Entity
	field := e.Field(semantic.Name(f.Column))
	switch {
	case f.Kind == failColumn && field != nil:
		return diag.New(diag.SourceCorrupt, "the files behind %q have no column %q, which field %q declares", e.Name, field.Column, field.Name).At(field.Pos)
	case f.Kind == failType && field != nil:
		return diag.New(diag.SourceCorrupt, "field %q of %q is declared %s, but the files hold %s, and not every such value can become one", field.Name, e.Name, field.Type, strings.ToLower(f.Have)).
			At(field.Pos).WithHint("declare the type that the files have")
	}
	return unreadable(f.Raw, p.rels[i]).At(e.Pos)
}
