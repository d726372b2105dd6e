package prove

import (
	"slices"
	"strconv"
	"strings"
)

// A rule that asks for related rows is an IN over a sub-query. DuckDB binds each
// to a join that marks the rows found, between the FILTER and the GET of the
// entity's scan:
//
//	FILTER > COMPARISON_JOIN(MARK) > GET of the entity
//	                               > PROJECTION > FILTER > GET of the related entity
//
// The mark is then one more column. Its canonical text is the whole join with all
// that stands on its right, so that comparing conditions compares sub-queries.

// outputs are what an expression over a scan may read: the columns of the scan,
// and the marks of the joins over it.
type outputs struct {
	texts  []string           // canonical, by position; "" for what is no declared column
	tables map[int64][]string // the same by table index, as DuckDB names them below an unnest of FROM
	marks  []string
}

// rowOf are the outputs of a GET.
func rowOf(get operator, columns []string) *outputs {
	texts := make([]string, len(columns))
	for i, c := range columns {
		if c != "" {
			texts[i] = strconv.Quote(c)
		}
	}
	return &outputs{texts: texts, tables: map[int64][]string{place(get["table_index"]): texts}}
}

// read gives the canonical text of what an expression reads; column is false for
// an expression that is no column, and the text "" for one that is none of these.
func (o *outputs) read(e map[string]any) (text string, column bool) {
	at, texts := noPlace, o.texts
	switch e["expression_class"] {
	case "BOUND_REF":
		at = place(e["index"])
	case "BOUND_COLUMN_REF":
		binding, _ := e["binding"].(map[string]any)
		texts = o.tables[place(binding["table_index"])]
		if e["depth"] == number("0") {
			at = place(binding["column_index"])
		}
	default:
		return "", false
	}
	if at < 0 || at >= int64(len(texts)) {
		return "", true
	}
	return texts[at], true
}

// bare reports whether an expression reads columns of the scan only, and none of
// them below a cast or a call.
func (o *outputs) bare(v any, below bool) bool {
	switch v := v.(type) {
	case map[string]any:
		if text, column := o.read(v); column {
			return !below && !slices.Contains(o.marks, text)
		}
		switch v["expression_class"] {
		case "BOUND_CONSTANT", "BOUND_COMPARISON", "BOUND_OPERATOR", "BOUND_CONJUNCTION", nil:
		default:
			below = true
		}
		for _, item := range v {
			if !o.bare(item, below) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !o.bare(item, below) {
				return false
			}
		}
	}
	return true
}

// used refuses a join whose mark no condition reads.
func (o *outputs) used(r *planReader, s *scan) {
	for _, mark := range o.marks {
		if !slices.ContainsFunc(s.filter, func(f string) bool { return strings.Contains(f, mark) }) {
			r.fail("the plan of %q joins what its rule does not ask for", s.table)
		}
	}
}

// ofRule recognises a join of a rule: it marks rows of storage as they are read.
// A sub-query of the caller stands above a fence, and so above a PROJECTION.
func ofRule(op operator) bool {
	if op["type"] != "LOGICAL_COMPARISON_JOIN" || op["join_type"] != "MARK" {
		return false
	}
	children, _ := op["children"].([]any)
	if len(children) != 2 {
		return false
	}
	left, _ := children[0].(operator)
	return left["type"] == "LOGICAL_GET" && left["name"] == "seq_scan" || ofRule(left)
}

// join reads one join of a rule and adds its mark to the row.
func (r *planReader) join(s *scan, op operator, row *outputs) {
	conditions, _ := op["conditions"].([]any)
	plain := sameKeys(op, joinKeys) && empty(op["left_projection_map"]) && empty(op["right_projection_map"]) &&
		empty(op["mark_types"]) && empty(op["duplicate_eliminated_columns"]) && op["delim_flipped"] == false && op["predicate"] == nil
	if !plain || len(conditions) == 0 {
		r.fail("the rule of %q joins in another way than by keys", s.table)
		return
	}
	sub, text := r.subQuery(s, op["children"].([]any)[1])
	var b strings.Builder
	b.WriteString("{in")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if !sameKeys(condition, conditionKeys) {
			r.fail("the rule of %q joins in another way than by keys", s.table)
		}
		b.WriteString(" " + r.canonical(condition["left"], row) + " " + r.canonical(condition["comparison"], row) + " " + r.canonical(condition["right"], sub))
	}
	b.WriteString(" " + text + "}")
	mark := b.String()
	row.texts = append(row.texts, mark)
	row.tables[place(op["mark_index"])] = []string{mark}
	row.marks = append(row.marks, mark)
}

// subQuery reads the right side of a rule's join, PROJECTION over FILTER over GET,
// of which FILTER may be missing and may have joins below it as that of a scan.
// The text is all of it.
func (r *planReader) subQuery(s *scan, v any) (items *outputs, text string) {
	p, _ := v.(operator)
	f := only(p)
	below := f
	if f["type"] == "LOGICAL_FILTER" {
		below = only(f)
	}
	var joins []operator
	for ofRule(below) {
		joins = append(joins, below)
		below = below["children"].([]any)[0].(operator)
	}
	if p["type"] != "LOGICAL_PROJECTION" || below["type"] != "LOGICAL_GET" || below["name"] != "seq_scan" {
		r.fail("the rule of %q asks for related rows in another way than by keys and conditions", s.table)
		return &outputs{}, ""
	}
	table, columns, ok := r.storage(below)
	if !ok {
		return &outputs{}, ""
	}
	row, inner := rowOf(below, columns), scan{table: table}
	for _, j := range slices.Backward(joins) {
		r.join(&inner, j, row)
	}
	if f["type"] == "LOGICAL_FILTER" {
		r.filter(&inner, f, row)
	}
	row.used(r, &inner)
	r.projection(&inner, p, row)
	s.through = append(append(s.through, table), inner.through...)
	slices.Sort(s.through)
	s.through = slices.Compact(s.through)
	items = &outputs{texts: inner.items, tables: map[int64][]string{place(p["table_index"]): inner.items}}
	return items, "from " + strconv.Quote(table) + " select " + strings.Join(inner.items, ", ") + " where " + strings.Join(inner.filter, " and ")
}

// only gives the one child of an operator; nil when it has none or several.
func only(op operator) operator {
	children, _ := op["children"].([]any)
	if len(children) != 1 {
		return nil
	}
	child, _ := children[0].(operator)
	return child
}
