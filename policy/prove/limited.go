package prove

import (
	"reflect"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
)

// limited is a column that may not stand in every clause. It leaves its fence
// under a name that stands nowhere else in the text but in references to it, so
// that the names alone tell what each reference reads, and each of them is held
// against its class:
//
//	filter   in WHERE, HAVING, QUALIFY, FILTER, ON and ORDER BY, outside aggregates and windows
//	join     in one equality of two bare columns of one join domain, in the ON of
//	         an inner, left, right or full join
//	private  in what the model wrote
//
// What the model wrote may read all of them.
type limited struct {
	entity, field string // keys; field is "" for a computed dimension
	class         semantic.Visibility
	domain        string
	fence         sqlast.TableRef // that offers it
}

// limit keeps a column that a fence offers under another name.
func (r *treeReader) limit(name string, l limited) {
	key := semantic.Name(name).Key()
	switch {
	case name == "" || r.limited[key] != nil:
		r.fail("a limited column of %q has a name that others have", l.entity)
	case len(r.fenceAliases) > 0:
		r.fail("a limited column of %q is named again by a list", l.entity)
	default:
		r.limited[key] = &l
	}
}

// classOf is the class of a field by model and decision.
func classOf(f *semantic.Field, access policy.EntityAccess) semantic.Visibility {
	return min(f.Visibility, access.Columns[f.Name.Key()].Class)
}

// domainOf is a field's join domain; one without has its own.
func domainOf(e *semantic.Entity, f *semantic.Field) string {
	if f.JoinDomain != "" {
		return "domain " + f.JoinDomain
	}
	return e.Name.Key() + "." + f.Name.Key()
}

// wrapped recognises the query that a rewrite puts around a fence without a name,
// to compute the model's dimensions over it.
func wrapped(s *sqlast.SelectNode) (fence *sqlast.SelectNode, storage *sqlast.BaseTable) {
	ref, ok := s.From.(*sqlast.SubqueryRef)
	if !ok || ref.Alias != "" || len(ref.ColumnAliases) > 0 {
		return nil, nil
	}
	inner, ok := ref.Query.(*sqlast.SelectNode)
	if !ok {
		return nil, nil
	}
	b, ok := inner.From.(*sqlast.BaseTable)
	if !ok || b.Catalog == "" && b.Schema == "" {
		return nil, nil
	}
	return inner, b
}

// wrapper checks such a query: a select list over the fence and nothing else,
// whose limited columns have names of their own.
func (r *treeReader) wrapper(s *sqlast.SelectNode, inner *sqlast.SelectNode, b *sqlast.BaseTable, scope names) {
	r.wrapping = true
	r.fence(inner, b)
	r.wrapping = false
	e := r.in.Catalog.Entity(semantic.Name(b.Table))
	if e == nil {
		return // and refused
	}
	if !same(s, &sqlast.SelectNode{Select: s.Select, From: s.From, Aggregates: plainAggregates}) {
		r.fail("more than dimensions stands around the fence of %q", e.Name.Key())
	}
	access := r.in.Decision.Entities[e.Name.Key()]
	for _, item := range s.Select {
		r.expr(item, scope)
		l := limited{entity: e.Name.Key(), class: semantic.Output, fence: r.current}
		for _, c := range columnsIn(item) {
			r.inModel[c] = true
			f := e.Field(semantic.Name(c.Names[len(c.Names)-1]))
			if f == nil || len(c.Names) != 1 {
				r.fail("a dimension of %q reads what is no field", l.entity)
				continue
			}
			l.class = min(l.class, classOf(f, access))
			if item == sqlast.Expr(c) {
				l.field, l.domain = f.Name.Key(), domainOf(e, f)
			}
		}
		name := semantic.Name(itemName(item))
		dim := e.Dimension(name)
		switch known := e.Field(name) != nil || dim != nil; {
		case known && dim != nil && min(l.class, dim.Visibility) < semantic.Output, known && l.class < semantic.Output:
			r.fail("%q of %q is limited and leaves its fence under its name", name, l.entity)
		case !known:
			if l.field == "" {
				l.class = min(l.class, semantic.FilterOnly) // a dimension, limited by what it reads or by the model
			}
			r.limit(string(name), l)
		}
	}
}

// columnsIn lists the column references in a part of a tree, queries included.
func columnsIn(v any) []*sqlast.ColumnRef { return find[*sqlast.ColumnRef](v, nil) }

// find lists the nodes of one type in a part of a tree, outermost first. It does
// not look into what skip holds, nor below what it found.
func find[T any](v any, skip func(node any) bool) []T {
	var out []T
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface, reflect.Pointer:
			if v.IsNil() {
				return
			}
			if v.Kind() == reflect.Pointer {
				if n, ok := v.Interface().(T); ok {
					out = append(out, n)
					if _, leaf := any(n).(*sqlast.ColumnRef); leaf {
						return
					}
				} else if skip != nil && skip(v.Interface()) {
					return
				}
			}
			visit(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				visit(v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		}
	}
	visit(reflect.ValueOf(v))
	return out
}

// uses holds every reference to a limited column against its class.
func (r *treeReader) uses(root sqlast.Query) {
	if len(r.limited) == 0 {
		return
	}
	u := &useReader{treeReader: r, may: map[*sqlast.ColumnRef]bool{}, equalities: map[string]int{}}
	for _, s := range find[*sqlast.SelectNode](root, nil) {
		u.conditions(s.Where, s.Having, s.Qualify, s.Modifiers)
	}
	for _, j := range find[*sqlast.JoinRef](root, nil) {
		u.conditions(j.Condition)
		u.join(j)
	}
	for _, f := range find[*sqlast.Function](root, nil) {
		u.conditions(f.Filter)
		if ordered[strings.ToLower(f.Name)] {
			u.conditions(f.OrderBy)
		}
	}
	for _, w := range find[*sqlast.Window](root, nil) {
		u.conditions(w.Filter)
	}
	spelled := map[string]int{}
	for _, c := range columnsIn(root) {
		for i, name := range c.Names {
			key := semantic.Name(name).Key()
			l := r.limited[key]
			if l == nil {
				continue
			}
			spelled[key]++
			if i != len(c.Names)-1 || !u.may[c] && !r.inModel[c] && !r.byModel(c.At) {
				r.fail("a column of %q stands where its class %s does not allow it", l.entity, l.class)
			}
		}
	}
	for name, n := range u.equalities {
		if n > 1 {
			r.fail("the join column %q stands in %d conditions", name, n)
		}
	}
	u.once(root, spelled)
}

// byModel reports that the place lies in what the model wrote.
func (r *treeReader) byModel(at sqlast.Offset) bool {
	return slices.ContainsFunc(r.in.Model, func(s resolve.Span) bool { return s.Contains(int(at)) })
}

// ordered are the aggregates whose ORDER BY says in which order they read rows;
// for others it is what they aggregate.
var ordered = set("any_value", "arbitrary", "array_agg", "first", "group_concat", "json_group_array", "json_group_object", "last", "list", "listagg",
	"string_agg", "arg_max", "arg_max_null", "arg_min", "arg_min_null", "argmax", "argmin", "max_by", "min_by")

// useReader collects the references that stand where their class allows.
type useReader struct {
	*treeReader
	may        map[*sqlast.ColumnRef]bool
	equalities map[string]int // of join columns, by entity and field
}

// conditions allows columns of class filter in conditions and orders, outside
// aggregates, windows and queries of their own.
func (u *useReader) conditions(parts ...any) {
	for _, c := range find[*sqlast.ColumnRef](parts, func(n any) bool {
		switch n := n.(type) {
		case *sqlast.Window, *sqlast.SelectNode, *sqlast.SetOperation, *sqlast.RecursiveCTE:
			return true
		case *sqlast.Function:
			return !n.IsOperator && u.in.Aggregates[strings.ToLower(n.Name)]
		}
		return false
	}) {
		if l := u.column(c); l != nil && l.class == semantic.FilterOnly {
			u.may[c] = true
		}
	}
}

// column is the limited column that a reference names; nil when it names none.
func (u *useReader) column(c *sqlast.ColumnRef) *limited {
	return u.limited[semantic.Name(c.Names[len(c.Names)-1]).Key()]
}

// join allows columns of class join in an equality of a join's condition.
func (u *useReader) join(j *sqlast.JoinRef) {
	if !slices.Contains([]string{"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "FULL OUTER"}, j.Type) {
		return
	}
	for _, c := range conjuncts(j.Condition) {
		e, ok := c.(*sqlast.Comparison)
		if !ok || e.Op != "COMPARE_EQUAL" {
			continue
		}
		left, ok1 := e.Left.(*sqlast.ColumnRef)
		right, ok2 := e.Right.(*sqlast.ColumnRef)
		if ok1 && ok2 {
			u.equality(j, left, right)
		}
	}
}

func (u *useReader) equality(j *sqlast.JoinRef, left, right *sqlast.ColumnRef) {
	sides := []*sqlast.ColumnRef{left, right}
	found := map[string]bool{}
	for i, c := range sides {
		l := u.column(c)
		if l == nil || l.field == "" || l.class > semantic.FilterOnly {
			continue
		}
		found[l.entity+"."+l.field] = true
		if domain, fence := u.offered(j, sides[1-i]); fence != nil && fence != l.fence && domain == l.domain {
			u.may[c] = u.may[c] || l.class == semantic.JoinOnly
		}
	}
	for name := range found {
		u.equalities[name]++
	}
}

// offered gives the join domain of an entity's own column, and the fence of the
// join that offers it; nil when not exactly one does.
func (u *useReader) offered(j *sqlast.JoinRef, c *sqlast.ColumnRef) (string, sqlast.TableRef) {
	if l := u.column(c); l != nil {
		return l.domain, l.fence
	}
	var domain string
	var found []sqlast.TableRef
	var visit func(t sqlast.TableRef)
	visit = func(t sqlast.TableRef) {
		if inner, ok := t.(*sqlast.JoinRef); ok {
			visit(inner.Left)
			visit(inner.Right)
			return
		}
		e := u.entities[t]
		alias := semantic.Name(sqlast.Ref(t).Alias).Key()
		if e == nil || len(c.Names) > 2 || len(c.Names) == 2 && semantic.Name(c.Names[0]).Key() != alias {
			return
		}
		if f := e.Field(semantic.Name(c.Names[len(c.Names)-1])); f != nil {
			domain, found = domainOf(e, f), append(found, t)
		}
	}
	visit(j.Left)
	visit(j.Right)
	if len(found) != 1 {
		return "", nil
	}
	return domain, found[0]
}

// once checks that the name of a limited column stands once in its fence, and
// else in references only; and that no star and no PIVOT shows the fence whole.
func (u *useReader) once(root sqlast.Query, spelled map[string]int) {
	stand := map[string]int{}
	texts(reflect.ValueOf(root), func(s string) { stand[semantic.Name(s).Key()]++ })
	for name, l := range u.limited {
		if stand[name] != spelled[name]+1 {
			u.fail("the name of a limited column of %q stands elsewhere too", l.entity)
		}
	}
	for _, t := range u.shown {
		u.whole(t)
	}
}

// whole refuses a relation whose columns are shown unnamed when one is limited.
func (u *useReader) whole(t sqlast.TableRef) {
	switch t := t.(type) {
	case *sqlast.JoinRef:
		u.whole(t.Left)
		u.whole(t.Right)
	case *sqlast.SubqueryRef:
		s, ok := t.Query.(*sqlast.SelectNode)
		if !ok {
			return // whose select lists are read for themselves
		}
		for _, item := range s.Select {
			if l := u.limited[semantic.Name(itemName(item)).Key()]; l != nil {
				u.fail("a limited column of %q is shown with its whole relation", l.entity)
			}
		}
	}
}

// texts visits every text in a tree.
func texts(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			texts(v.Elem(), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			texts(v.Field(i), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			texts(v.Index(i), visit)
		}
	case reflect.String:
		visit(v.String())
	}
}
