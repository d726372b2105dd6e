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
// question. It reports every mistake once, as config.policy with the rule's file and
// line. Without a subject nothing can be checked, which is a mistake too.
func (p *Policy) CheckSamples(ctx context.Context, subjects []policy.Subject, c *semantic.Catalog) error {
	subjects = slices.Concat(p.samples, subjects)
	if len(subjects) == 0 {
		return diag.New(diag.ConfigRego, "a policy bundle declares sample subjects, so that row rules are checked at load").
			WithHint("list one subject per role in subjects.json beside the policies")
	}
	var list diag.List
	for _, s := range subjects {
		for _, e := range c.Entities {
			_, err := p.decideEntity(ctx, s, sampleTime, e)
			for _, d := range diag.All(err) {
				found := *d
				found.Code, found.Err = diag.ConfigRego, d
				found.Msg = fmt.Sprintf("for sample subject %q and entity %q: %s", s.ID, e.Name, d.Msg)
				if !slices.ContainsFunc(list, func(x *diag.Error) bool { return sameOffence(x.Err, d) }) {
					list = append(list, &found)
				}
			}
		}
	}
	return list.Err()
}

// sameOffence reports whether two errors say the same of the same place.
func sameOffence(a error, b *diag.Error) bool { return a.Error() == b.Error() }
