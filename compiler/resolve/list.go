package resolve

import (
	"strings"

	"plumbline/compiler/sqlast"
)

// makeLists are the functions whose result is a list whatever their arguments.
// Those that may also give a text, a map or an element are not among them.
var makeLists = strings.Fields(`list_value list_pack range generate_series split string_split str_split string_to_array
	string_split_regex str_split_regex regexp_split_to_array regexp_extract_all array_agg list flatten
	apply array_apply array_transform list_apply list_transform array_filter filter list_filter list_sort array_sort list_reverse_sort
	array_reverse_sort list_distinct array_distinct list_append array_append list_prepend array_prepend list_cat list_concat array_cat
	array_concat list_intersect array_intersect list_reverse array_reverse list_select list_where list_zip map_keys map_values
	map_entries approx_top_k json_keys`)

var listFunctions = func() map[string]bool {
	out := map[string]bool{}
	for _, name := range makeLists {
		out[name] = true
	}
	return out
}()

// unnest refuses an unnest in an expression whose argument may be a struct: it
// would make a column of each field, under names that nothing here knows, and
// what the query calls by the alias would be read further out.
func (r *resolver) unnest(f *sqlast.Function, c ctx) {
	if len(f.Args) == 1 && sqlast.Meta(f.Args[0]).Alias == "" && r.isList(f.Args[0], c.scope) {
		return
	}
	r.refuse(f.At, "write FROM t, unnest(x) AS u(v); take the fields of a struct by name",
		"unnest in an expression takes one argument that is certainly a list")
}

// isList reports whether an expression certainly gives a list.
func (r *resolver) isList(e sqlast.Expr, sc *scope) bool {
	switch e := e.(type) {
	case *sqlast.Operator:
		return e.Op == "ARRAY_CONSTRUCTOR" || e.Op == "ARRAY_SLICE" && r.isList(e.Args[0], sc)
	case *sqlast.Function:
		return listFunctions[strings.ToLower(e.Name)] || e.Name == "||" && len(e.Args) == 2 && r.isList(e.Args[0], sc)
	case *sqlast.Cast:
		t, ok := e.Type.Expr.(*sqlast.TypeExpr)
		return ok && t.Schema == "" && t.Catalog == "" && (t.Name == "list" || t.Name == "array")
	case *sqlast.ColumnRef:
		for at := sc; at != nil; at = at.parent {
			if h, found := r.peek(e, at.level); found {
				return h.col != nil && (h.col.list || h.col.direct)
			}
		}
	}
	return false
}
