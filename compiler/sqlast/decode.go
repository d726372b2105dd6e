package sqlast

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic/diag"
)

// decoder reads DuckDB's tree and refuses what it does not know. It panics with
// *refusal, which decode alone recovers.
type decoder struct {
	text  string
	at    Offset // the last place seen, for refusals of nodes without one
	nodes int
	depth int
}

type refusal struct{ err *diag.Error }

func decode(text string, doc any) (st *Statement, err error) {
	d := &decoder{text: text, at: NoOffset}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *refusal:
			st, err = nil, r.err
		default:
			panic(r)
		}
	}()
	root := d.object(doc, "root")
	if root.boolean("error") {
		return nil, refused(text, root)
	}
	list := root.list("statements")
	root.done()
	if len(list) == 0 {
		return nil, diag.New(diag.ParseEmpty, "the query is empty").WithHint("send a SELECT statement")
	}
	if len(list) > 1 {
		return nil, diag.New(diag.ParseStatements, "one call holds one statement, this text holds %d", len(list))
	}
	return &Statement{Text: text, Root: d.wrapped(list[0], "statement")}, nil
}

// wrapped reads {node, named_param_map}.
func (d *decoder) wrapped(v any, kind string) Query {
	o := d.object(v, kind)
	q := d.query(o.get("node"))
	params := o.list("named_param_map")
	o.done()
	if len(params) > 0 {
		panic(&refusal{parameter(d.text)})
	}
	return q
}

func (d *decoder) refuse(code diag.Code, format string, args ...any) {
	panic(&refusal{diag.New(code, format, args...).At(diag.PosAt("", d.text, int(d.at)))})
}

// unknown refuses a form of the tree that this package does not know.
func (d *decoder) unknown(what, name string) {
	d.refuse(diag.UnsupportedNode, "%s %q is not supported", what, clip(name))
}

// enter counts a node and its depth; the caller defers what it returns.
func (d *decoder) enter() func() {
	d.nodes++
	d.depth++
	if d.nodes > MaxNodes {
		d.refuse(diag.LimitTree, "the query has more than %d nodes", MaxNodes)
	}
	if d.depth > MaxDepth {
		d.refuse(diag.LimitTree, "the query is nested deeper than %d levels", MaxDepth)
	}
	return func() { d.depth-- }
}

// object is one JSON object while its fields are taken. Every field must be
// taken exactly once: a field that is absent or left over is a refusal.
type object struct {
	d    *decoder
	f    fields
	kind string
	used int
	last int // where the field taken last stands: the next one is mostly after it
}

func (d *decoder) object(v any, kind string) *object {
	f, ok := v.(*fields)
	if !ok {
		d.unknown("tree object", kind)
	}
	return &object{d: d, f: *f, kind: kind, last: -1}
}

// absent is what find gives for a field that is not there; null is nil.
var absent any = struct{}{}

func (o *object) find(field string) any {
	for k := range o.f {
		if i := (o.last + 1 + k) % len(o.f); o.f[i].name == field {
			o.last = i
			return o.f[i].value
		}
	}
	return absent
}

func (o *object) get(field string) any {
	v := o.find(field)
	if v == absent {
		o.d.unknown("tree without field", o.kind+"."+field)
	}
	o.used++
	return v
}

func (o *object) done() {
	if o.used != len(o.f) {
		o.d.unknown("tree with another field in", o.kind)
	}
}

func (o *object) bad(field string) { o.d.unknown("tree field", o.kind+"."+field) }

func (o *object) str(field string) string { return strings.Clone(o.word(field)) }

// word is str without a copy, for words that are not kept.
func (o *object) word(field string) string {
	s, ok := o.get(field).(string)
	if !ok {
		o.bad(field)
	}
	return s
}

// enum takes a word that must be one of the list.
func (o *object) enum(field string, words ...string) string {
	s := o.word(field)
	i := slices.Index(words, s)
	if i < 0 {
		o.d.unknown(o.kind+" "+field, s)
	}
	return words[i]
}

func (o *object) boolean(field string) bool {
	b, ok := o.get(field).(bool)
	if !ok {
		o.bad(field)
	}
	return b
}

func (o *object) list(field string) []any {
	l, ok := o.get(field).([]any)
	if !ok {
		o.bad(field)
	}
	return l
}

func (o *object) number(field string) json.Number {
	n, ok := o.get(field).(json.Number)
	if !ok {
		o.bad(field)
	}
	return n
}

func (o *object) integer(field string) int {
	n, err := strconv.Atoi(string(o.number(field)))
	if err != nil {
		o.bad(field)
	}
	return n
}

func (o *object) strs(field string) []string {
	var out []string
	for _, v := range o.list(field) {
		s, ok := v.(string)
		if !ok {
			o.bad(field)
		}
		out = append(out, strings.Clone(s))
	}
	return out
}

// set reads a list that DuckDB keeps unordered, in a fixed order.
func (o *object) set(field string) []string {
	out := o.strs(field)
	slices.Sort(out)
	return out
}

// empty takes a field that only the binder fills.
func (o *object) empty(field string) {
	if l, ok := o.get(field).([]any); !ok || len(l) > 0 {
		o.bad(field)
	}
}

// place takes query_location: an unsigned number, its largest value for none.
func (o *object) place() Offset {
	n, err := strconv.ParseUint(string(o.number("query_location")), 10, 64)
	if err != nil {
		o.bad("query_location")
	}
	if n >= uint64(len(o.d.text)) {
		return NoOffset
	}
	o.d.at = Offset(n)
	return Offset(n)
}

// objects reads a list of objects of one kind.
func objects[T any](o *object, field, kind string, read func(*object) T) []T {
	var out []T
	for _, v := range o.list(field) {
		item := o.d.object(v, kind)
		out = append(out, read(item))
		item.done()
	}
	return out
}

func (d *decoder) query(v any) Query {
	o := d.object(v, "query")
	defer d.enter()()
	base := QueryBase{Modifiers: objects(o, "modifiers", "modifier", d.modifier), CTEs: d.ctes(o.get("cte_map"))}
	var q Query
	switch kind := o.word("type"); kind {
	case "SELECT_NODE":
		q = d.selectNode(o, base)
	case "SET_OPERATION_NODE":
		q = d.setOperation(o, base)
	case "RECURSIVE_CTE_NODE":
		q = &RecursiveCTE{QueryBase: base, Name: o.str("cte_name"), UnionAll: o.boolean("union_all"),
			Left: d.query(o.get("left")), Right: d.query(o.get("right")),
			Aliases: o.strs("aliases"), KeyTargets: d.exprs(o.list("key_targets"))}
	default:
		d.unknown("query form", kind)
	}
	o.done()
	return q
}

func (d *decoder) selectNode(o *object, base QueryBase) Query {
	q := &SelectNode{QueryBase: base,
		Select:     d.exprs(o.list("select_list")),
		From:       d.ref(o.get("from_table")),
		Where:      d.optional(o.get("where_clause")),
		Groups:     d.exprs(o.list("group_expressions")),
		Having:     d.optional(o.get("having")),
		Sample:     d.sample(o.get("sample")),
		Qualify:    d.optional(o.get("qualify")),
		Aggregates: o.enum("aggregate_handling", "STANDARD_HANDLING", "FORCE_AGGREGATES"),
	}
	for _, v := range o.list("group_sets") {
		items, ok := v.([]any)
		if !ok {
			o.bad("group_sets")
		}
		set := []int{}
		for _, item := range items {
			n, _ := item.(json.Number)
			i, err := strconv.Atoi(string(n))
			if err != nil || i < 0 || i >= len(q.Groups) {
				o.bad("group_sets")
			}
			set = append(set, i)
		}
		q.GroupSets = append(q.GroupSets, set)
	}
	d.placeStar(q)
	return q
}

// placeStar gives the star that FROM t does not write the place of its FROM.
func (d *decoder) placeStar(q *SelectNode) {
	if len(q.Select) != 1 {
		return
	}
	s, ok := q.Select[0].(*Star)
	if !ok || s.At != 0 {
		return
	}
	s.At = NoOffset
	at, out := firstPlace(q.From)
	if b, ok := blockAt(d.text, at, out); ok && is(d.text, b.toks, b.first, "from") {
		s.At = Offset(b.toks[b.first].Start)
	}
}

// firstPlace gives the place of the first node of a FROM clause that has one,
// and how many queries of the text stand round it. A join in brackets is a query
// in the tree only; unlike a query of the text it has a place.
func firstPlace(from TableRef) (at Offset, out int) {
	at = NoOffset
	Walk(from, func(n any) bool {
		if at != NoOffset {
			return false
		}
		switch n := n.(type) {
		case TableRef:
			at = Ref(n).At
		case Expr:
			at = Meta(n).At
		}
		if s, ok := n.(*SubqueryRef); ok && at == NoOffset {
			at, out = firstOfQuery(s.Query)
			return false
		}
		return at == NoOffset
	})
	return at, out
}

// firstOfQuery is firstPlace for a sub-query: one query further in.
func firstOfQuery(q Query) (at Offset, out int) {
	if s, ok := q.(*SelectNode); ok {
		for _, e := range s.Select {
			if place := Meta(e).At; place != NoOffset {
				return place, 1
			}
		}
		at, out = firstPlace(s.From)
		return at, out + 1
	}
	if s, ok := q.(*SetOperation); ok && len(Base(q).CTEs) == 0 {
		return firstOfQuery(s.Children[0])
	}
	return NoOffset, 0
}

func (d *decoder) setOperation(o *object, base QueryBase) Query {
	q := &SetOperation{QueryBase: base,
		Op: o.enum("setop_type", "UNION", "EXCEPT", "INTERSECT", "UNION_BY_NAME"), All: o.boolean("setop_all")}
	for _, v := range o.list("children") {
		q.Children = append(q.Children, d.query(v))
	}
	// Older storage versions write two sides in place of children.
	if o.get("left") != nil || o.get("right") != nil || len(q.Children) < 2 {
		o.bad("children")
	}
	return q
}

func (d *decoder) ctes(v any) []CTE {
	o := d.object(v, "cte_map")
	defer o.done()
	return objects(o, "map", "cte", func(o *object) CTE {
		v := d.object(o.get("value"), "cte")
		c := CTE{Name: o.str("key"), Aliases: v.strs("aliases"),
			Query:        d.wrapped(v.get("query"), "cte query"),
			Materialized: v.enum("materialized", "CTE_MATERIALIZE_DEFAULT", "CTE_MATERIALIZE_ALWAYS", "CTE_MATERIALIZE_NEVER"),
			KeyTargets:   d.exprs(v.list("key_targets"))}
		v.done()
		return c
	})
}

func (d *decoder) modifier(o *object) Modifier {
	defer d.enter()()
	switch kind := o.word("type"); kind {
	case "ORDER_MODIFIER":
		return &OrderBy{Orders: objects(o, "orders", "order", d.order)}
	case "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER":
		return &Limit{Limit: d.optional(o.get("limit")), Offset: d.optional(o.get("offset")), Percent: kind == "LIMIT_PERCENT_MODIFIER"}
	case "DISTINCT_MODIFIER":
		return &Distinct{On: d.exprs(o.list("distinct_on_targets"))}
	default:
		d.unknown("modifier", kind)
		return nil
	}
}

func (d *decoder) order(o *object) Order {
	return Order{
		Dir:   o.enum("type", "ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
		Nulls: o.enum("null_order", "ORDER_DEFAULT", "NULLS FIRST", "NULLS LAST"),
		Expr:  d.expr(o.get("expression")),
	}
}

func (d *decoder) sample(v any) *Sample {
	if v == nil {
		return nil
	}
	o := d.object(v, "sample")
	s := &Sample{Size: d.value(o.get("sample_size")), IsPercentage: o.boolean("is_percentage"),
		Method: o.enum("method", "System", "Bernoulli", "Reservoir"), Seed: json.Number(strings.Clone(string(o.number("seed"))))}
	o.done()
	return s
}
