package prove

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
)

// A bound plan is decoded into maps, and every value of it is visited: a part
// that prove does not know cannot hide an operator or a call. The four operators
// of a scan are held to their known keys as well.
type (
	operator = map[string]any
	number   = json.Number
)

// scan is one read of a storage relation in a bound plan: LIMIT over PROJECTION
// over FILTER over GET, of which LIMIT and FILTER may be missing. Between FILTER
// and GET stand the joins of a rule that asks for related rows (related.go).
type scan struct {
	table  string   // entity key
	end    bool     // LIMIT without limit and with offset 0
	filter []string // canonical conditions; nil when there is no FILTER
	// through are the keys of the entities that the conditions read besides table, sorted.
	through []string
	bare    []bool   // filter[i] uses its columns as they are, without cast or call
	items   []string // canonical select list
	// loose marks a scan without a select list and a filter of its own: a fence
	// without an end that DuckDB dissolved while it took a correlated query apart.
	// reads are then the columns it yields; items is empty.
	loose bool
	reads []string
}

// key is equal for scans that read the same.
func (s scan) key() string {
	return s.table + "\x00" + strconv.FormatBool(s.end) + "\x00" +
		strings.Join(s.filter, "\x01") + "\x00" + strings.Join(s.items, "\x01")
}

// planReading is what one bound plan holds.
type planReading struct {
	scans      []scan
	functions  map[string]bool // bound names
	aggregates map[string]bool // those of them that aggregate
	structs    []int64         // places of calls that make a struct; noPlace when DuckDB does not say
	alone      bool            // a scan stands directly below the outermost select list
	unread     string          // an entity whose fence is not scanned; "" for none
	outline    strings.Builder // the operators, one a line
}

// noPlace is DuckDB's 18446744073709551615.
const noPlace int64 = -1

// planReader visits one plan.
type planReader struct {
	out      planReading
	allowed  func(name string) bool
	problems []error
	related  int // joins of rules around the operator, on whose right side it stands
}

func (r *planReader) fail(format string, args ...any) {
	r.problems = append(r.problems, because(format, args...))
}

// readPlan reads a bound plan whose calls are all allowed, or are what DuckDB
// itself puts into plans.
func readPlan(raw []byte, allowed func(name string) bool) (*planReading, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc operator
	if err := dec.Decode(&doc); err != nil {
		return nil, because("the plan is no JSON: %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, because("text after the plan")
	}
	plans, ok := doc["plans"].([]any)
	if doc["error"] != false || len(doc) != 2 || !ok || len(plans) != 1 {
		return nil, because("the plan is not that of one statement")
	}
	root, ok := plans[0].(operator)
	if !ok {
		return nil, because("the plan has no root")
	}
	r := &planReader{allowed: allowed, out: planReading{functions: map[string]bool{}, aggregates: map[string]bool{}}}
	r.operator(root, nil)
	if err := together(r.problems); err != nil {
		return nil, err
	}
	return &r.out, nil
}

// operator visits op; above holds the operators over it, the nearest last.
func (r *planReader) operator(op operator, above []operator) {
	kind, _ := op["type"].(string)
	if !knownOperators[kind] {
		r.fail("the plan holds operator %q", kind)
		return
	}
	r.out.outline.WriteString(strings.Repeat("  ", len(above)) + strings.TrimPrefix(kind, "LOGICAL_") + "\n")
	if kind == "LOGICAL_GET" {
		r.get(op, above)
	}
	for key, v := range op {
		if key != "children" && !plainKeys[key] {
			r.value(v)
		}
	}
	children, ok := op["children"].([]any)
	if !ok {
		r.fail("%s has no list of children", kind)
		return
	}
	for i, c := range children {
		child, ok := c.(operator)
		if !ok {
			r.fail("%s has a child that is no operator", kind)
			return
		}
		asked := i > 0 && ofRule(op)
		if asked {
			r.related++
		}
		r.operator(child, append(above, op))
		if asked {
			r.related--
		}
	}
}

// plainKeys hold names, types and numbers of operators, never expressions.
var plainKeys = map[string]bool{
	"type": true, "names": true, "returned_types": true, "column_indexes": true,
	"chunk_types": true, "mark_types": true, "bound_columns": true,
}

// value visits anything below an operator that is no child operator.
func (r *planReader) value(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			r.value(item)
		}
	case map[string]any:
		if kind, ok := v["type"].(string); ok && strings.HasPrefix(kind, "LOGICAL_") {
			r.fail("operator %q stands where an expression should", kind)
		}
		if class, ok := v["expression_class"].(string); ok {
			r.expression(class, v)
		}
		for _, item := range v {
			r.value(item)
		}
	}
}

func (r *planReader) expression(class string, e map[string]any) {
	if !knownClasses[class] {
		r.fail("the plan holds expression %q", class)
		return
	}
	if !namedClasses[class] {
		return
	}
	name, _ := e["name"].(string)
	name = strings.ToLower(name) // DuckDB has a few names in mixed case
	if name == "" {
		if class != "BOUND_WINDOW" {
			r.fail("a call without a name in the plan")
		}
		return
	}
	r.out.functions[name] = true
	if class == "BOUND_AGGREGATE" {
		r.out.aggregates[name] = true
	}
	catalog, _ := e["catalog_name"].(string)
	schema, _ := e["schema_name"].(string)
	if catalog != "" && catalog != "system" || schema != "" && schema != "main" {
		r.fail("the plan calls %q of %q.%q", name, catalog, schema)
	}
	if !boundNames[name] && !strings.HasPrefix(name, collating) && !r.allowed(name) {
		r.fail("the plan calls %q", name)
	}
	if name == "struct_pack" || name == "row" {
		r.out.structs = append(r.out.structs, place(e["query_location"]))
	}
}

func place(v any) int64 {
	n, ok := v.(number)
	if !ok {
		return noPlace
	}
	at, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil {
		return noPlace
	}
	return at
}

// get reads a GET: an allowed table function, or a scan of storage in its shape.
func (r *planReader) get(op operator, above []operator) {
	name, _ := op["name"].(string)
	if name != "seq_scan" {
		if !tableFunctions[name] {
			r.fail("the plan reads %q", name)
		}
		return
	}
	if r.related > 0 {
		return // read with the scan whose rule asks for it
	}
	table, columns, ok := r.storage(op)
	if !ok {
		return
	}
	s := scan{table: table}
	row := rowOf(op, columns)
	i := len(above) - 1
	for i >= 0 && ofRule(above[i]) {
		r.join(&s, above[i], row)
		i--
	}
	next := func(kind string) operator {
		if i < 0 || above[i]["type"] != kind {
			return nil
		}
		i--
		return above[i+1]
	}
	if f := next("LOGICAL_FILTER"); f != nil {
		r.filter(&s, f, row)
	}
	row.used(r, &s)
	p := next("LOGICAL_PROJECTION")
	if p == nil && s.filter == nil && i >= 0 && above[i]["type"] == "LOGICAL_CROSS_PRODUCT" {
		s.loose, s.reads = true, columns
		r.out.scans = append(r.out.scans, s)
		return
	}
	if p == nil {
		r.fail("a scan of %q stands in no projection", table)
		return
	}
	r.projection(&s, p, row)
	if i >= 0 && isEnd(above[i]) {
		s.end = true
		i--
	}
	r.out.alone = i == 0 && above[0]["type"] == "LOGICAL_PROJECTION"
	r.out.scans = append(r.out.scans, s)
}

// storage checks that a seq_scan reads an entity's storage and nothing else, and
// gives its key and the names of the columns it yields.
func (r *planReader) storage(op operator) (table string, columns []string, ok bool) {
	data, _ := op["function_data"].(map[string]any)
	table, _ = data["table"].(string)
	want := map[string]any{"catalog": semantic.StorageCatalog, "schema": semantic.StorageSchema, "table": table,
		"is_index_scan": false, "is_create_index": false, "result_ids": []any{}}
	extra, _ := op["extra_info"].(map[string]any)
	filters, _ := op["table_filters"].(map[string]any)
	indexes, _ := op["column_indexes"].([]any)
	names, _ := op["names"].([]any)
	plain := sameKeys(op, getKeys) && sameValue(data, want) &&
		empty(op["children"]) && empty(op["projection_ids"]) && empty(op["arguments"]) && empty(op["projected_input"]) &&
		len(filters) == 1 && empty(filters["filters"]) &&
		sameKeys(extra, extraKeys) && extra["file_filters"] == "" && extra["sample_options"] == nil &&
		op["row_group_order_options"] == nil && place(op["ordinality_idx"]) == noPlace
	if !plain {
		r.fail("a scan of %q is not a plain scan of storage", table)
		return "", nil, false
	}
	for _, raw := range indexes {
		index, _ := raw.(map[string]any)
		if !empty(index["child_indexes"]) || index["index_type"] != "FULL_READ" {
			r.fail("a scan of %q reads parts of columns", table)
			return "", nil, false
		}
		columns = append(columns, columnName(names, index["index"]))
	}
	return table, columns, true
}

// columnName is "" for what is no declared column, such as rowid.
func columnName(names []any, index any) string {
	at := place(index)
	if at < 0 || at >= int64(len(names)) {
		return ""
	}
	name, _ := names[at].(string)
	return name
}

func (r *planReader) filter(s *scan, f operator, row *outputs) {
	list, _ := f["expressions"].([]any)
	if !sameKeys(f, filterKeys) || !empty(f["projection_map"]) || len(list) == 0 {
		r.fail("the filter over %q is not plain", s.table)
		return
	}
	for _, e := range list {
		s.filter = append(s.filter, r.canonical(e, row))
		s.bare = append(s.bare, row.bare(e, false))
	}
}

func (r *planReader) projection(s *scan, p operator, row *outputs) {
	list, _ := p["expressions"].([]any)
	if !sameKeys(p, projectionKeys) || len(list) == 0 {
		r.fail("the projection over %q is not plain", s.table)
		return
	}
	for _, e := range list {
		e, flat := flatValue(e)
		item := r.canonical(e, row)
		if flat {
			item = flatItem + item
		}
		s.items = append(s.items, item)
	}
}

// isEnd recognises OFFSET 0.
func isEnd(op operator) bool {
	limit, _ := op["limit_val"].(map[string]any)
	offset, _ := op["offset_val"].(map[string]any)
	return op["type"] == "LOGICAL_LIMIT" && sameKeys(op, limitKeys) &&
		limit["type"] == "UNSET" && limit["expression"] == nil &&
		offset["type"] == "CONSTANT_VALUE" && offset["constant_integer"] == number("0") && offset["expression"] == nil
}

// canonical writes a bound expression with columns by name and without places
// and aliases, so that it is equal wherever the same condition stands.
func (r *planReader) canonical(v any, row *outputs) string {
	var b strings.Builder
	r.write(&b, v, row)
	return b.String()
}

func (r *planReader) write(b *strings.Builder, v any, row *outputs) {
	switch v := v.(type) {
	case map[string]any:
		if text, column := row.read(v); column {
			if text == "" {
				r.fail("a fence reads what is no column of its entity")
			}
			b.WriteString(text)
			return
		}
		_, expression := v["expression_class"]
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if expression && (k == "query_location" || k == "alias") {
				continue
			}
			b.WriteString(k + ":")
			r.write(b, v[k], row)
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			r.write(b, item, row)
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case string:
		b.WriteString(strconv.Quote(v))
	case number:
		b.WriteString(string(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}

func empty(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) == 0
}

func sameKeys(m map[string]any, want []string) bool {
	if len(m) != len(want) {
		return false
	}
	for _, k := range want {
		if _, ok := m[k]; !ok {
			return false
		}
	}
	return true
}

func sameValue(got, want map[string]any) bool {
	if len(got) != len(want) {
		return false
	}
	for k, w := range want {
		if _, list := w.([]any); list { // no list is wanted with anything in it
			if !empty(got[k]) {
				return false
			}
			continue
		}
		if got[k] != w {
			return false
		}
	}
	return true
}

func keys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

// flatItem begins an item that is COALESCE(x, NULL).
const flatItem = "flat "

// flatValue gives x of a bound COALESCE(x, NULL), whose NULL has x's type.
func flatValue(v any) (any, bool) {
	e, _ := v.(map[string]any)
	args, _ := e["children"].([]any)
	if e["expression_class"] != "BOUND_OPERATOR" || e["type"] != "OPERATOR_COALESCE" || len(args) != 2 {
		return v, false
	}
	null, _ := args[1].(map[string]any)
	if cast, ok := null["child"].(map[string]any); ok && null["expression_class"] == "BOUND_CAST" {
		null = cast
	}
	value, _ := null["value"].(map[string]any)
	if null["expression_class"] != "BOUND_CONSTANT" || value["is_null"] != true {
		return v, false
	}
	return args[0], true
}
