package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// toolCheck is the tool of CheckData's questions in the audit record.
const toolCheck = "check_data"

// promise is something that a model says of its data, and a question that counts
// what breaks it.
type promise struct {
	ask  string                    // one row of counts
	hold func(n []int64) diag.List // what the counts break, model.data at the model's place
	warn bool                      // a broken one makes no number wrong by itself
}

// CheckData asks whether the data keep what the models promise; checkrules.go
// lists the promises. The questions pass the whole pipeline as the given subject,
// which must see every row and column as it is. What makes
// numbers wrong comes as the error, all at once; what only deserves a look comes
// as warnings, sorted. Both are model.data at the model's place and tell counts
// and names, no value of the data.
func (e *Engine) CheckData(ctx context.Context, s policy.Subject) (warnings diag.List, err error) {
	w, release := e.world()
	defer release()
	if err := seesAll(newView(ctx, w, s, e.now())); err != nil {
		return nil, err
	}
	var broken diag.List
	for _, p := range promises(w.catalog) {
		n, err := e.counts(ctx, s, p.ask)
		if err != nil {
			if broken, err = unreadable(broken, err); err != nil {
				return nil, err
			}
			continue
		}
		if found := p.hold(n); p.warn {
			warnings = append(warnings, found...)
		} else {
			broken = append(broken, found...)
		}
	}
	_ = warnings.Err() // sorts
	return warnings, broken.Err()
}

// seesAll refuses a subject by whom only a part would be counted: policy.denied.
func seesAll(v *view) error {
	for _, e := range v.w.catalog.Entities {
		if !v.allRows(e.Name) || len(v.access[e.Name.Key()].Columns) < len(e.Fields) {
			return diag.New(diag.PolicyDenied, "data are checked by a subject that sees all of them, and %q does not see all of %q", v.subject.ID, e.Name).
				WithHint("ask as a subject that sees every row and column, without masks")
		}
	}
	return nil
}

// unreadable keeps the fault of a source once, however many questions meet it;
// any other error ends the check.
func unreadable(broken diag.List, err error) (diag.List, error) {
	for _, d := range diag.All(err) {
		if d.Code != diag.SourceCorrupt && d.Code != diag.SourceMissing {
			return nil, err
		}
		if !slices.ContainsFunc(broken, func(b *diag.Error) bool { return b.Error() == d.Error() }) {
			broken = append(broken, d)
		}
	}
	return broken, nil
}

// counts asks one question of ours and gives its one row of numbers.
func (e *Engine) counts(ctx context.Context, s policy.Subject, text string) ([]int64, error) {
	asked, err := json.Marshal(map[string]string{"sql": text})
	if err != nil {
		return nil, err
	}
	ans, err := e.Answer(ctx, Request{Tool: toolCheck, Subject: s, SQL: text, Asked: asked, ours: true})
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(ans.Table.Columns))
	for i, v := range ans.Table.Rows[0] {
		if v == nil {
			continue // an aggregate over no rows
		}
		if out[i], err = strconv.ParseInt(fmt.Sprint(v), 10, 64); err != nil {
			return nil, diag.Wrap(err, diag.BugInternal, "a count is no number")
		}
	}
	return out, nil
}

// promises are all that a catalog says of its data, entity by entity.
func promises(c *semantic.Catalog) []promise {
	var out []promise
	for _, e := range c.Entities {
		out = append(out, keys(e)...)
		for _, r := range e.Relationships {
			out = append(out, partners(c, e, r)...)
		}
		for _, h := range e.Hierarchies {
			out = append(out, levels(e, h)...)
		}
		out = append(out, drift(e))
	}
	for _, cal := range c.Calendars {
		out = append(out, days(c, cal)...)
	}
	return once(out)
}

// once leaves out questions that were asked before: two relationships may
// promise the same of one entity.
func once(all []promise) []promise {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(p promise) bool {
		defer func() { seen[p.ask] = true }()
		return seen[p.ask]
	})
}
