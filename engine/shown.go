package engine

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
)

// closedSQL stands in the place of a text that a subject may not read.
const closedSQL = "-- not shown: the SQL reads fields that are closed to you"

// closed reports that a field may not be named to the subject: it may use it in no
// clause. Operators read every text.
func (q *query) closed(entity, column semantic.Name) bool {
	if slices.Contains(q.req.Subject.Roles, RoleOperator) {
		return false
	}
	vis, err := q.view.Entity(entity)
	if err != nil || vis == nil {
		return true
	}
	class, ok := vis.Class(column)
	return !ok || class < semantic.FilterOnly
}

// shownSQL is the text over entities, as definitions tell it: not at all where the
// model reads in it what is closed to the subject.
func (q *query) shownSQL() string {
	for _, u := range q.bound.Uses {
		if u.Origin == resolve.Model && q.closed(q.bound.Refs[u.Ref].Entity.Name, u.Column) {
			return closedSQL
		}
	}
	return q.text
}

// shownFacts are the facts without the fields that are closed to the subject.
func (q *query) shownFacts() policy.Facts {
	out := *q.facts
	out.Entities = slices.Clone(out.Entities)
	for i := range out.Entities {
		e := &out.Entities[i]
		e.Columns = slices.DeleteFunc(slices.Clone(e.Columns), func(c policy.ColumnFact) bool {
			return q.closed(semantic.Name(e.Name), semantic.Name(c.Name))
		})
	}
	return out
}
