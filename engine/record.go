package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// write stores the record of a question. One that cannot be built, which does not
// happen, withholds the answer and leaves what little is sure.
func (q *query) write(ctx context.Context, ans *Answer, err error) (failed error) {
	ctx = context.WithoutCancel(ctx)
	defer func() {
		if p := recover(); p != nil {
			failed = diag.Wrap(panicError{p, debug.Stack()}, diag.BugRecord, "the record could not be built, so the answer is withheld").WithHint("report query id %s", q.id)
			r := emptyRecord(q.e, q.id, q.req.Tool, q.req.Subject, q.req.Asked)
			outcome(&r, errors.Join(failed, err))
			if auditErr := q.e.audit.Write(ctx, r); auditErr != nil {
				failed = auditErr
			}
		}
	}()
	r := q.record(ans, err)
	if q.req.replay != nil {
		q.req.replay.Record = r
	}
	return q.e.audit.Write(ctx, r)
}

// record gathers what is known of the question so far; stages that did not run
// leave their fields empty, never absent.
func (q *query) record(ans *Answer, err error) audit.Record {
	r := emptyRecord(q.e, q.id, q.req.Tool, q.req.Subject, q.req.Asked)
	r.Policy, r.Model = q.w.policy.Revision(), q.w.catalog.Revision
	r.Normalised, r.Cached, r.StageMS = audit.Cut(q.text, sqlast.MaxText), q.cached, q.times
	if q.req.at.IsZero() { // a test's moment is not when it was asked
		r.Time = q.now
	}
	if q.req.replay != nil {
		r.Replays = q.req.replay.of.ID
	}
	if q.text != "" {
		sum := sha256.Sum256([]byte(q.text))
		r.Hash = hex.EncodeToString(sum[:])
	}
	if q.facts != nil {
		r.Entities, r.Functions = uses(q.facts, q.view.access), q.facts.Functions
		r.Rules = rules(q.decision)
	}
	if q.decided {
		r.Entities = append(r.Entities, readByRules(q.decision)...)
		r.Verdict = q.decision.Verdict.String()
		r.Reasons = append(r.Reasons, q.decision.Reasons...)
	}
	if len(q.refusedBy) > 0 {
		r.Verdict = policy.Deny.String()
		for _, reason := range q.refusedBy {
			r.Reasons = append(r.Reasons, reason)
			if reason.Rule != (policy.RuleRef{}) {
				r.Rules = append(r.Rules, reason.Rule)
			}
		}
	}
	r.Logged = append(r.Logged, q.tried()...)
	if q.bound != nil {
		for _, ref := range q.bound.Refs {
			if s := string(ref.Entity.Source.Source); !slices.Contains(r.Sources, s) {
				r.Sources = append(r.Sources, s)
			}
		}
	}
	r.FinalSQL, r.BesideSQL = q.proved.Text(), append(r.BesideSQL, q.beside...)
	if ans != nil && ans.Table != nil {
		r.Rows, r.Bytes, r.Truncated = len(ans.Table.Rows), ans.Table.Bytes, ans.Table.Truncated
	}
	outcome(&r, err)
	return r
}

func emptyRecord(e *Engine, id, tool string, s policy.Subject, asked json.RawMessage) audit.Record {
	if len(asked) == 0 || !json.Valid(asked) {
		text, _ := json.Marshal(string(asked)) // a string always marshals
		asked = text
	}
	if s.Roles == nil {
		s.Roles = []string{}
	}
	if s.Claims == nil {
		s.Claims = map[string]any{}
	}
	return audit.Record{
		ID: id, Time: e.now(), Subject: s, Tool: tool, Question: asked,
		Entities: []audit.EntityUse{}, Functions: []string{}, Reasons: []policy.Reason{}, Rules: []policy.RuleRef{}, Logged: []policy.Logged{},
		BesideSQL: []string{}, Sources: []string{}, StageMS: map[string]float64{}, Outcome: "answered", Errors: []string{},
	}
}

// outcome writes the errors as the caller saw them, and apart from them the raw causes.
func outcome(r *audit.Record, err error) {
	if err == nil {
		return
	}
	all := diag.All(err)
	r.Outcome = string(all[0].Code)
	var raw []string
	for _, e := range all {
		r.Errors = append(r.Errors, e.Error())
		if e.Err != nil {
			raw = append(raw, e.Err.Error())
			var inner *diag.Error
			for cause := e.Err; errors.As(cause, &inner) && inner.Err != nil; cause = inner.Err {
				raw = append(raw, inner.Err.Error())
			}
		}
	}
	r.RawError = strings.Join(raw, "\n")
}

// tried lists what rules in log-only mode would have done: those about the entities
// of the question, or of all it looked for when it was refused before they were known.
func (q *query) tried() []policy.Logged {
	out := slices.Concat(q.decision.Logged, q.logged)
	if q.bound == nil && q.req.SQL == "" && q.req.Question == nil {
		return nil // a description asks nothing
	}
	access := q.view.looked()
	if q.bound != nil {
		access = q.view.touched(q.bound)
	}
	for _, key := range slices.Sorted(maps.Keys(access)) {
		out = append(out, access[key].Logged...)
	}
	return out
}

// uses lists what the facts say of each column, with the mask through which it was used.
func uses(f *policy.Facts, access map[string]policy.EntityAccess) []audit.EntityUse {
	out := []audit.EntityUse{}
	for _, e := range f.Entities {
		if len(e.Columns) == 0 {
			out = append(out, audit.EntityUse{Entity: e.Name})
		}
		for _, c := range e.Columns {
			u := audit.EntityUse{Entity: e.Name, Column: c.Name, Class: c.Class, Clause: c.Clause}
			if m := access[semantic.Name(e.Name).Key()].Columns[semantic.Name(c.Name).Key()].Mask; m != nil {
				u.Mask = m.Kind
			}
			if !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// readByRules are the entities that row rules read besides those they are about.
func readByRules(d policy.Decision) []audit.EntityUse {
	var out []audit.EntityUse
	for _, key := range slices.Sorted(maps.Keys(d.Entities)) {
		for _, n := range d.Entities[key].Rows.Through {
			if u := (audit.EntityUse{Entity: string(n), Clause: audit.RowRule}); !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// rules names every rule that shaped the question: decision, rows, columns, masks.
func rules(d policy.Decision) []policy.RuleRef {
	out := slices.Clone(d.Rules)
	for _, a := range d.Entities {
		out = append(out, a.Rules...)
		out = append(out, a.Rows.Rules...)
		for _, c := range a.Columns {
			if c.Mask != nil {
				out = append(out, c.Mask.Rule)
			}
		}
	}
	slices.SortFunc(out, func(a, b policy.RuleRef) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	out = slices.Compact(out)
	if out == nil {
		out = []policy.RuleRef{}
	}
	return out
}

// Refused leaves the record of a call that was refused before it became a
// question: malformed arguments, no subject. The error is the record's own.
func (e *Engine) Refused(ctx context.Context, tool string, s policy.Subject, asked json.RawMessage, err error) error {
	return e.refused(ctx, Request{Tool: tool, Subject: s, Asked: asked}, err)
}

func (e *Engine) refused(ctx context.Context, req Request, err error) error {
	w, release := e.world()
	defer release()
	r := emptyRecord(e, newID(), req.Tool, req.Subject, req.Asked)
	r.Policy, r.Model = w.policy.Revision(), w.catalog.Revision
	outcome(&r, err)
	if req.replay != nil {
		r.Replays = req.replay.of.ID
		req.replay.Record = r
	}
	return e.audit.Write(context.WithoutCancel(ctx), r)
}
