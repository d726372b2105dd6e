package engine

import (
	"fmt"
	"slices"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// grouped reports that the subject sees an entity in groups of a minimum size only.
func (v *view) grouped(n semantic.Name) bool {
	vis, err := v.Entity(n)
	return err == nil && vis != nil && v.access[n.Key()].MinGroup.Size > 1
}

// minGroup is a minimum group that holds for a question.
type minGroup struct {
	entity semantic.Name
	size   int
}

func (g minGroup) warning() string {
	return fmt.Sprintf("groups that rest on fewer than %d rows of %s, or on fewer than %d values of what is aggregated, are left out", g.size, g.entity, g.size)
}

// minGroups are those of the entities that the question reads.
func (q *query) minGroups() []minGroup {
	var out []minGroup
	for _, r := range q.bound.Refs {
		g := minGroup{r.Entity.Name, q.decision.Entities[r.Entity.Name.Key()].MinGroup.Size}
		if g.size > 1 && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

func (q *query) groupRules() []Applied {
	var out []Applied
	for _, g := range q.minGroups() {
		out = append(out, Applied{Origin: "policy", Entity: string(g.entity), Text: fmt.Sprintf("groups of at least %d rows of %s", g.size, g.entity)})
	}
	return out
}

// asMetric says of a metric question why a minimum group stops it: the text is ours,
// so its places and forms mean nothing to the asker.
func (q *query) asMetric(err error) error {
	if diag.CodeOf(err) != diag.PolicyGroup || q.req.Question == nil {
		return err
	}
	g := q.minGroups()[0]
	return diag.Wrap(err, diag.PolicyGroup, "%q is shown to you in groups of %d rows or more, and this question needs its rows one by one, in parts, or in finer groups than it shows", g.entity, g.size).
		WithHint("ask for counts, sums and averages of one table by dimensions, with conditions in filters and without totals, shares, comparisons or top groups")
}
