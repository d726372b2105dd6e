package resolve

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
)

// takeInOrder are the aggregates whose result depends on the order of the rows
// they read, or, for those that pick a row, on the order of equal ones.
var takeInOrder = strings.Fields(`any_value arbitrary array_agg first group_concat json_group_array json_group_object last list listagg
	string_agg arg_max arg_max_null arg_min arg_min_null argmax argmin max_by min_by mode`)

// unordered notes what depends on an order of rows that the text does not say.
func (r *resolver) unordered(word string) {
	if !slices.Contains(r.bound.Unordered, word) {
		r.bound.Unordered = append(r.bound.Unordered, word)
	}
}

// orderOfCall notes an aggregate without ORDER BY inside. Two are the parser's and
// have no place: ARRAY(SELECT ...), and list(x ORDER BY x), which sorts the list.
func (r *resolver) orderOfCall(f *sqlast.Function, spec Function) {
	if spec.Kind != Aggregate || len(f.OrderBy) > 0 || !slices.Contains(takeInOrder, spec.Name) {
		return
	}
	if f.At != sqlast.NoOffset {
		r.unordered(spec.Name)
	} else if len(f.Args) == 1 {
		if _, ok := f.Args[0].(*sqlast.Positional); ok {
			r.unordered("ARRAY(SELECT ...)")
		}
	}
}

// orderOfWindow notes a window without ORDER BY for what reads rows in order.
func (r *resolver) orderOfWindow(w *sqlast.Window, spec Function) {
	if len(w.Orders) == 0 && len(w.ArgOrders) == 0 && (spec.Kind == WindowOnly || slices.Contains(takeInOrder, spec.Name)) {
		r.unordered(spec.Name)
	}
}

// orderOfRows notes a LIMIT, an OFFSET or a DISTINCT ON without ORDER BY. single:
// the query gives at most one row, so none of them chooses.
func (r *resolver) orderOfRows(list []sqlast.Modifier, single bool) {
	ordered := slices.ContainsFunc(list, func(m sqlast.Modifier) bool {
		o, ok := m.(*sqlast.OrderBy)
		return ok && len(o.Orders) > 0
	})
	if ordered || single {
		return
	}
	for _, m := range list {
		switch m := m.(type) {
		case *sqlast.Limit:
			r.unordered("LIMIT")
		case *sqlast.Distinct:
			if len(m.On) > 0 {
				r.unordered("DISTINCT ON")
			}
		}
	}
}

// oneRow reports whether a query gives at most one row whatever it reads: it has
// no FROM, or aggregates everything.
func oneRow(q *sqlast.SelectNode) bool {
	if len(q.Groups)+len(q.GroupSets) > 0 || q.Aggregates == "FORCE_AGGREGATES" {
		return false
	}
	_, empty := q.From.(*sqlast.EmptyRef)
	found, many := empty || q.From == nil, false
	for _, e := range q.Select {
		sqlast.Walk(e, func(n any) bool {
			switch n := n.(type) {
			case *sqlast.Function:
				name := strings.ToLower(n.Name)
				found = found || functions[Aggregate][name].Name != ""
				many = many || name == "unnest"
			case *sqlast.Subquery, *sqlast.Window:
				return false
			}
			return true
		})
	}
	return found && !many
}
