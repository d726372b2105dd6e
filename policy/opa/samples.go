package opa

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// sampleTime is the moment at which samples are evaluated; any would do.
var sampleTime = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)

// CheckSamples evaluates every entity for the bundle's sample subjects and the
// given ones, so that a rule that cannot be said in SQL stops the load and not a
// question, and so that each
// rows rule has spoken once. It reports every mistake once, as config.policy with the rule's file and
// line. Without a subject nothing can be checked, which is a mistake too.
func (p *Policy) CheckSamples(ctx context.Context, subjects []policy.Subject, c *semantic.Catalog) error {
	subjects = slices.Concat(p.samples, subjects)
	if len(subjects) == 0 {
		return diag.New(diag.ConfigRego, "a policy bundle declares sample subjects, so that row rules are checked at load").
			WithHint("list one subject per role in subjects.json beside the policies")
	}
	t := &sampling{policy: p, catalog: c, said: map[string]bool{}}
	t.modelMasks(ctx)
	if len(t.list) > 0 { // every subject would meet them again
		return t.list.Err()
	}
	for _, s := range subjects {
		t.subject(ctx, s)
	}
	if len(t.list) == 0 { // a mistake may be the reason why a rule says nothing
		t.silent()
	}
	return t.list.Err()
}

// sampling is the state of one CheckSamples.
type sampling struct {
	policy  *Policy
	catalog *semantic.Catalog
	said    map[string]bool // rows rules that were said in SQL, by id
	list    diag.List
}

// modelMasks reports the masks of the model that do not fit their fields.
func (t *sampling) modelMasks(ctx context.Context) {
	for _, e := range t.catalog.Entities {
		for _, f := range e.Fields {
			if f.Mask == nil {
				continue
			}
			if _, err := t.policy.modelMask(ctx, e, f); err != nil {
				found := *diag.All(err)[0]
				found.Code = diag.ModelInvalid
				t.list = append(t.list, &found)
			}
		}
	}
}

func (t *sampling) subject(ctx context.Context, s policy.Subject) {
	facts := policy.Facts{Subject: s, Tool: "query_sql", Now: sampleTime, Limits: policy.Limits{TimeMS: 30_000, Rows: 1000, Bytes: 1 << 20, Calls: 1000}}
	access := map[string]policy.EntityAccess{}
	for _, e := range t.catalog.Entities {
		a, err := t.policy.decideEntity(ctx, s, sampleTime, e)
		rows := a.Rows
		if rows.Truth == policy.Always { // what the row rules say is not in force here, so an error is none
			rows, _ = t.policy.rowsOf(ctx, s, sampleTime, e)
		}
		where := fmt.Sprintf("for sample subject %q and entity %q", s.ID, e.Name)
		t.report(err, where)
		for _, r := range rows.Rules {
			t.said[r.ID] = true
		}
		logged, err := t.policy.entityTrials(ctx, s, sampleTime, e, a)
		t.report(err, where)
		for _, l := range logged {
			t.said[l.Rule.ID] = t.said[l.Rule.ID] || l.Document == "rows"
		}
		if a.Visible {
			access[e.Name.Key()] = a
			facts.Entities = append(facts.Entities, policy.EntityFact{Name: string(e.Name), Tags: e.Tags})
		}
	}
	_, err := t.policy.Decide(ctx, facts, access)
	if input, bad := inputValue(facts); bad == nil && err == nil {
		_, err = t.policy.tried(ctx, questionPackage, input)
	}
	t.report(err, fmt.Sprintf("for sample subject %q", s.ID))
}

func (t *sampling) report(err error, where string) {
	for _, d := range diag.All(err) {
		found := *d
		found.Code, found.Err = diag.ConfigRego, d
		found.Msg = where + ": " + d.Msg
		if !slices.ContainsFunc(t.list, func(x *diag.Error) bool { return sameOffence(x.Err, d) }) {
			t.list = append(t.list, &found)
		}
	}
}

// silent reports the rows rules that no sample made speak: whether they can be
// said in SQL is not known, and a question would be the first to find out.
func (t *sampling) silent() {
	for _, r := range slices.Concat(t.policy.rules.of(accessPackage, "rows"), t.policy.rules.tried(accessPackage, "rows")) {
		if !t.said[r.ID] {
			t.list = append(t.list, diag.New(diag.ConfigRego, "rows.%s holds for no sample subject and no entity, so whether it can be said in SQL is not known", r.ID).
				At(rulePos(r)).WithHint("add a subject for it to subjects.json beside the policies"))
		}
	}
}

// rowsOf gives what the rows rules say, also where every row is allowed.
func (p *Policy) rowsOf(ctx context.Context, s policy.Subject, now time.Time, e *semantic.Entity) (policy.Predicate, error) {
	input, err := inputValue(accessInput{Subject: s, Now: moment(now), Entity: describe(e)})
	if err != nil {
		return policy.Predicate{}, err
	}
	return p.predicate(ctx, input, e)
}

// sameOffence reports whether two errors say the same of the same place.
func sameOffence(a error, b *diag.Error) bool { return a.Error() == b.Error() }
