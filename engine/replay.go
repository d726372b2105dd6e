package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"plumbline/engine/audit"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// Replay asks one recorded question again, at its own moment, through the pipeline
// that every question passes. It stands where the tools expect an engine. Its record
// names the one that it replays, so that it does not count as a caller's question.
type Replay struct {
	Record audit.Record // of the asking
	Told   *shape.Table // what was told; for a describing question a row for each thing told. nil when refused or not asked for
	Err    error        // why it was refused

	e    *Engine
	of   audit.Record
	rows bool // run the query too
}

// Replay prepares to ask a recorded question. Without rows a query is decided and
// proved, and not run.
func (e *Engine) Replay(of audit.Record, rows bool) *Replay { return &Replay{e: e, of: of, rows: rows} }

// Recorded gives the record that is asked again.
func (r *Replay) Recorded() audit.Record { return r.of }

// Subject gives the subject of the record, whatever its name.
func (r *Replay) Subject(string) (policy.Subject, bool) { return r.of.Subject, true }

// Answer asks a query.
func (r *Replay) Answer(ctx context.Context, req Request) (*Answer, error) {
	req.Subject, req.Asked, req.at, req.still, req.replay = r.of.Subject, r.of.Question, r.of.Time, true, r
	ans, err := r.e.Answer(ctx, req)
	if r.Err = err; err == nil && r.rows {
		r.Told = ans.Table
	}
	if err == nil && ans.Table == nil {
		ans.Table = &shape.Table{} // the tools show one
	}
	return ans, err
}

// Metrics asks what metrics there are.
func (r *Replay) Metrics(ctx context.Context, d Describing) ([]Metric, error) {
	return describeAgain(ctx, r, d, r.e.Metrics)
}

// Tables asks what tables there are.
func (r *Replay) Tables(ctx context.Context, d Describing) ([]Table, error) {
	return describeAgain(ctx, r, d, r.e.Tables)
}

// Table asks what a table is.
func (r *Replay) Table(ctx context.Context, d Describing) (*Table, error) {
	return describeAgain(ctx, r, d, r.e.Table)
}

// Contents asks what a dimension holds.
func (r *Replay) Contents(ctx context.Context, d Describing) (*Contents, error) {
	return describeAgain(ctx, r, d, r.e.Contents)
}

// Refused records a call that is no question.
func (r *Replay) Refused(ctx context.Context, tool string, _ policy.Subject, asked json.RawMessage, err error) error {
	r.Err = err
	return r.e.refused(ctx, Request{Tool: tool, Subject: r.of.Subject, Asked: asked, replay: r}, err)
}

func describeAgain[T any](ctx context.Context, r *Replay, d Describing, ask func(context.Context, Describing) (T, error)) (T, error) {
	r.rows = true
	d.Subject, d.Asked, d.replay = r.of.Subject, r.of.Question, r
	told, err := ask(ctx, d)
	if r.Err = err; err == nil {
		r.Told, err = toldTable(told)
	}
	return told, err
}

// toldTable gives an account as rows: one for each thing of a list, one for each
// part of an object.
func toldTable(told any) (*shape.Table, error) {
	text, err := json.Marshal(told)
	if err != nil {
		return nil, diag.Wrap(err, diag.BugInternal, "an account is no JSON")
	}
	t := &shape.Table{Columns: []shape.Column{{Name: "told", Type: "VARCHAR"}}}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) == nil {
		for _, item := range list {
			t.Rows = append(t.Rows, []any{string(item)})
		}
		return t, nil
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return nil, diag.Wrap(err, diag.BugInternal, "an account is no object")
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		var items []json.RawMessage
		if json.Unmarshal(parts[name], &items) != nil {
			items = []json.RawMessage{parts[name]}
		}
		for _, item := range items {
			t.Rows = append(t.Rows, []any{fmt.Sprintf("%s: %s", name, item)})
		}
	}
	return t, nil
}
