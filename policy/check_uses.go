package policy

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// CheckUses is the hard floor under every policy: it refuses each use of a
// column that its class forbids in that clause. Rego may only tighten this.
//
//	output   anywhere
//	filter   in conditions, in ORDER BY, in a join's equality of two columns
//	join     in one equality of two bare columns of one join domain, in the ON of
//	         an inner, left, right or full join, and nowhere else in the statement
//	private  nowhere
//
// A masked column that is not filterable stands in select lists only, and no
// masked column is joined to another column, but for tokens of one space: other
// masks of two columns are equal where the values are not, and differ where they
// are equal. Uses that
// the model wrote are not judged by class, but what is hidden is closed to them
// too. All offences are reported at once: resolve.use where the model's own class
// forbids the use, policy.column where the subject's policy does.
func CheckUses(b *resolve.Bound, access map[string]EntityAccess) error {
	var list diag.List
	joins, known := joinPredicates(b), columnsOf(b, access)
	for _, u := range b.Uses {
		if err := checkUse(b, u, known, joins); err != nil {
			list = append(list, err.At(diag.PosAt("", b.Statement.Text, int(u.At))))
		}
	}
	return list.Err()
}

// matched reports that the use compares whole values with those of another relation.
func matched(u resolve.Use) bool { return u.Clause == resolve.InJoin || u.Clause == resolve.InUsing }

// selfMatch reports that a column is joined to itself in another row.
func selfMatch(b *resolve.Bound, u resolve.Use) bool {
	return u.Other != nil && u.Other.Entity.Key() == b.Refs[u.Ref].Entity.Name.Key() && u.Other.Column.Key() == u.Column.Key()
}

// tokens reports that ON compares two columns in which equal values have equal tokens.
func tokens(b *resolve.Bound, u resolve.Use, known map[*semantic.Entity]columns) bool {
	if u.Clause != resolve.InJoin || !u.Bare || u.Other == nil || u.OtherRef < 0 || u.OtherRef >= len(b.Refs) {
		return false
	}
	space := func(e *semantic.Entity, n semantic.Name) string {
		m := known[e].access.Columns[n.Key()].Mask
		if e.Field(n) == nil || m == nil {
			return ""
		}
		return m.Space
	}
	one := space(b.Refs[u.Ref].Entity, u.Column)
	return one != "" && one == space(b.Refs[u.OtherRef].Entity, u.Other.Column)
}

func checkUse(b *resolve.Bound, u resolve.Use, known map[*semantic.Entity]columns, joins map[joinColumn]int) *diag.Error {
	c := known[b.Refs[u.Ref].Entity].column(u.Column)
	if !c.known {
		return diag.New(diag.BugInternal, "a column that the subject may not see reached the check of its uses")
	}
	if u.Origin == resolve.Model {
		return nil
	}
	selectOnly := slices.ContainsFunc(c.masks, func(m *Mask) bool { return !m.Filterable })
	if selectOnly && c.class != semantic.Output {
		return diag.New(diag.PolicyColumn, "%q is masked for you and may not be filtered, and its class does not allow output; it stands in %s", c.name, place(u)).
			WithHint("leave %q out", c.name)
	}
	if selectOnly && u.Clause != resolve.InOutput {
		return diag.New(diag.PolicyColumn, "a masked column may only be selected; %q is masked and stands in %s", c.name, place(u)).
			WithHint("select %q without filtering, joining, grouping or ordering by it", c.name)
	}
	if len(c.masks) > 0 && matched(u) && !selfMatch(b, u) && !tokens(b, u, known) {
		return diag.New(diag.PolicyColumn, "masked values match nothing but themselves, and tokens those of their purpose, scope and join domain; %q is masked and stands in %s", c.name, place(u)).
			WithHint("join by a column that is shown to you as it is")
	}
	why := forbidden(b, u, c.class, joins)
	if why == "" {
		return nil
	}
	code := diag.PolicyColumn
	if forbidden(b, u, c.model, joins) != "" {
		code = diag.ResolveUse
	}
	return diag.New(code, "%s; %q stands in %s", why, c.name, place(u)).WithHint("%s", wayOut[c.class])
}

var wayOut = map[semantic.Visibility]string{
	semantic.FilterOnly: "use it in WHERE, ORDER BY or ON, and select another column",
	semantic.JoinOnly:   "use it once, as a bare column, in ON a.column = b.column with a column of the same join domain",
	semantic.Private:    "use a measure or a dimension of the model that reads it",
}

// forbidden says which rule of the class the use breaks; "" when it breaks none.
func forbidden(b *resolve.Bound, u resolve.Use, class semantic.Visibility, joins map[joinColumn]int) string {
	switch class {
	case semantic.Output:
		return ""
	case semantic.FilterOnly:
		if slices.Contains([]resolve.Clause{resolve.InFilter, resolve.InOrder, resolve.InJoin}, u.Clause) {
			return ""
		}
		return "a column of class filter is never selected, grouped or aggregated"
	case semantic.JoinOnly:
		return forbiddenJoin(b, u, joins)
	}
	return "a column of class private is read by the model's own expressions only"
}

// plainJoins are the joins in which an equality of keys tells no more than that
// two rows share a key. An anti or semi join answers a question about one value.
var plainJoins = []string{"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "FULL OUTER"}

func forbiddenJoin(b *resolve.Bound, u resolve.Use, joins map[joinColumn]int) string {
	e := b.Refs[u.Ref].Entity
	switch {
	case u.Clause != resolve.InJoin || !u.Bare || u.Other == nil || u.Literal:
		return "a column of class join stands only in an equality of two bare columns in ON"
	case !slices.Contains(plainJoins, u.JoinType):
		return "a column of class join stands only in an inner, left, right or full join"
	case u.OtherRef < 0 || u.OtherRef >= len(b.Refs):
		return "a column of class join is compared with a column of an entity only"
	case u.OtherRef == u.Ref: // ON c.ssn = c.ssn is a test for null
		return "a column of class join is compared with another relation's column only"
	case domain(e, u.Column) != domain(b.Refs[u.OtherRef].Entity, u.Other.Column):
		return "a column of class join is compared only within its join domain"
	case joins[joinColumnOf(e, u.Column)] > 1:
		return "a column of class join stands in one condition of a statement"
	}
	return ""
}

// domain is a field's join domain. A field without one has a domain of its own,
// and so has every dimension.
func domain(e *semantic.Entity, n semantic.Name) string {
	if f := e.Field(n); f != nil && f.JoinDomain != "" {
		return "domain " + f.JoinDomain
	}
	return "column " + e.Name.Key() + "." + n.Key()
}

type joinColumn struct{ entity, column string }

func joinColumnOf(e *semantic.Entity, n semantic.Name) joinColumn {
	return joinColumn{e.Name.Key(), n.Key()}
}

// joinPredicates counts, per column, the equalities it stands in. An equality
// gives one use for each of its sides, so the sides are put in one order first.
func joinPredicates(b *resolve.Bound) map[joinColumn]int {
	type side struct {
		ref    int
		column string
	}
	type equality struct{ low, high side }
	seen := map[joinColumn]map[equality]bool{}
	for _, u := range b.Uses {
		if u.Clause != resolve.InJoin || u.Other == nil {
			continue
		}
		q := equality{side{u.Ref, u.Column.Key()}, side{u.OtherRef, u.Other.Column.Key()}}
		if q.low.ref > q.high.ref || (q.low.ref == q.high.ref && q.low.column > q.high.column) {
			q.low, q.high = q.high, q.low
		}
		key := joinColumnOf(b.Refs[u.Ref].Entity, u.Column)
		if seen[key] == nil {
			seen[key] = map[equality]bool{}
		}
		seen[key][q] = true
	}
	counts := make(map[joinColumn]int, len(seen))
	for key, equalities := range seen {
		counts[key] = len(equalities)
	}
	return counts
}

// place names the position of a use for people.
func place(u resolve.Use) string {
	words := map[resolve.Clause]string{
		resolve.InOutput: "a select list", resolve.InFilter: "a condition", resolve.InJoin: "ON",
		resolve.InGroup: "GROUP BY", resolve.InOrder: "ORDER BY", resolve.InWindow: "a window",
		resolve.InAggregate: "an aggregate", resolve.InUsing: "USING or NATURAL", resolve.InPivot: "PIVOT or UNPIVOT",
		resolve.InSetOp: "a set operation",
	}
	if w, ok := words[u.Clause]; ok {
		return w
	}
	return string(u.Clause)
}
