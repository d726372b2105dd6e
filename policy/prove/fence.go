package prove

import (
	"slices"
	"strconv"

	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
)

// fence is one fence of the text whose tree is what the decision says. What DuckDB makes of it is
// compared later.
type fence struct {
	node      *sqlast.SelectNode
	at        sqlast.Offset // of the storage name
	entity    string        // key
	conjuncts int           // literal conditions beside the rule
	inCTE     bool          // DuckDB may leave an unused CTE out
	relation  policy.SummaryRelation
	// dictionary: a column leaves it as it came, perhaps with values of other rows.
	dictionary bool
	fields     []string // of each select item, the field's name; "" for a constant
}

// fence checks a sub-query over storage against the decision and keeps it.
// Nothing inside a fence is visited by the rest of the reader: its shape leaves
// no room for anything but columns, decided masks and decided conditions.
func (r *treeReader) fence(s *sqlast.SelectNode, b *sqlast.BaseTable) {
	r.nodes["BASE_TABLE"] = true
	e := r.entity(b)
	if e == nil {
		return
	}
	key := e.Name.Key()
	access, rule := r.in.Decision.Entities[key], r.rules[key]
	if !access.Visible || rule == nil {
		r.fail("%q is not visible by the decision", key)
		return
	}
	plain := &sqlast.SelectNode{QueryBase: sqlast.QueryBase{Modifiers: s.Modifiers}, Select: s.Select, From: b, Where: s.Where, Aggregates: plainAggregates}
	if !same(s, plain) {
		r.fail("the fence of %q holds more than columns, a condition and an end", key)
	}
	f := &fence{node: s, at: b.At, entity: key, inCTE: r.inCTE > 0,
		relation: policy.SummaryRelation{Entity: key, Columns: []string{}, Masked: []string{}, Predicate: predicateWord(access.Rows)}}
	r.entities[r.current] = e
	r.offered(f, e, access, rule)
	r.condition(f, e, access, rule)
	r.end(f, access)
	r.fences = append(r.fences, f)
}

// entity finds whose storage b names; nil after a refusal.
func (r *treeReader) entity(b *sqlast.BaseTable) *semantic.Entity {
	if b.Catalog != semantic.StorageCatalog || b.Schema != semantic.StorageSchema {
		r.fail("%q.%q.%q is not storage", b.Catalog, b.Schema, b.Table)
		return nil
	}
	e := r.in.Catalog.Entity(semantic.Name(b.Table))
	if e == nil || e.Name.Key() != b.Table {
		r.fail("%q is the storage of no entity", b.Table)
		return nil
	}
	if !same(b, storageOf(b.Table)) {
		r.fail("the storage of %q is named with more than its name", b.Table)
		return nil
	}
	return e
}

// plainAggregates is how a tree says that nothing is grouped unasked.
const plainAggregates = "STANDARD_HANDLING"

// storageOf names an entity's storage and nothing else.
func storageOf(key string) *sqlast.BaseTable {
	return &sqlast.BaseTable{Catalog: semantic.StorageCatalog, Schema: semantic.StorageSchema, Table: key}
}

// offered checks the select list: bare columns that the subject has, masks as
// decided, or one constant when the text uses no column at all.
func (r *treeReader) offered(f *fence, e *semantic.Entity, access policy.EntityAccess, rule *rule) {
	if len(f.node.Select) == 1 && isConstant(f.node.Select[0]) && e.Field(semantic.Name(sqlast.Meta(f.node.Select[0]).Alias)) == nil {
		f.fields = []string{""}
		return
	}
	seen := map[string]bool{}
	for _, item := range f.node.Select {
		name := itemName(item)
		shown, flat := flattened(item)
		field := r.fieldOf(e, name, shown, rule, seen)
		if field == nil {
			f.fields = append(f.fields, "")
			r.fail("the fence of %q offers %q, which is no field", f.entity, name)
			continue
		}
		key := field.Name.Key()
		f.fields = append(f.fields, string(field.Name))
		column, has := access.Columns[key]
		switch {
		case seen[key]:
			r.fail("the fence of %q offers %q twice", f.entity, name)
		case !has || column.Class == semantic.Private && !r.private(f.entity, key):
			r.fail("the fence of %q offers %q, which the subject does not have", f.entity, name)
		case column.Mask != nil:
			if mask := rule.masks[key]; mask == nil || !sameExpr(shown, mask) {
				r.fail("the fence of %q does not mask %q as decided", f.entity, name)
			}
			f.relation.Masked = append(f.relation.Masked, string(field.Name))
		case !isColumn(shown, string(field.Name)):
			r.fail("the fence of %q computes %q", f.entity, name)
		}
		f.dictionary = f.dictionary || !flat
		seen[key] = true
		f.relation.Columns = append(f.relation.Columns, string(field.Name))
		switch limits := classOf(field, access) < semantic.Output && !r.wrapping; {
		case limits && name != string(field.Name):
			r.limit(name, limited{entity: f.entity, field: key, class: classOf(field, access), domain: domainOf(e, field), fence: r.current})
		case limits:
			r.fail("%q of %q is limited and leaves its fence under its name", name, f.entity)
		case name != string(field.Name):
			r.fail("the fence of %q offers %q, which is no field", f.entity, name)
		}
	}
}

// fieldOf finds the field that a select item of a fence stands for: by its name,
// or for a limited column, which has another, by what it reads. Of several masks
// that read alike it is the one over the strictest field.
func (r *treeReader) fieldOf(e *semantic.Entity, name string, item sqlast.Expr, rule *rule, seen map[string]bool) *semantic.Field {
	if f := e.Field(semantic.Name(name)); f != nil {
		if string(f.Name) == name {
			return f
		}
		return nil
	}
	if c, ok := item.(*sqlast.ColumnRef); ok {
		if f := e.Field(semantic.Name(c.Names[len(c.Names)-1])); f != nil && isColumn(item, string(f.Name)) {
			return f
		}
		return nil
	}
	var found *semantic.Field
	for key, mask := range rule.masks {
		f := e.Field(semantic.Name(key))
		if f != nil && !seen[key] && sameExpr(item, mask) && (found == nil || f.Visibility < found.Visibility || f.Visibility == found.Visibility && f.Name < found.Name) {
			found = f
		}
	}
	return found
}

// private reports whether the model's text needs a private field.
func (r *treeReader) private(entity, field string) bool {
	for _, n := range r.in.Private[entity] {
		if n.Key() == field {
			return true
		}
	}
	return false
}

// condition checks WHERE: the rule, then conditions of a column against literals.
func (r *treeReader) condition(f *fence, e *semantic.Entity, access policy.EntityAccess, rule *rule) {
	got := conjuncts(f.node.Where)
	if len(got) < len(rule.where) {
		r.fail("the fence of %q lacks its rule", f.entity)
		return
	}
	for i, want := range rule.where {
		if !sameExpr(got[i], want) {
			r.fail("the fence of %q has another condition than its rule", f.entity)
			return
		}
	}
	for _, c := range got[len(rule.where):] {
		f.conjuncts++
		name, ok := literalCondition(c)
		field := e.Field(semantic.Name(name))
		if !ok || field == nil {
			r.fail("the fence of %q holds a condition that is not a column against literals", f.entity)
			continue
		}
		column, has := access.Columns[field.Name.Key()]
		readable := column.Class >= semantic.FilterOnly || r.private(f.entity, field.Name.Key())
		if !has || !readable || column.Mask != nil {
			r.fail("the fence of %q filters %q below what the subject has of it", f.entity, name)
		}
	}
}

// end checks that the fence ends with OFFSET 0 wherever it has a rule or a mask.
func (r *treeReader) end(f *fence, access policy.EntityAccess) {
	switch m := f.node.Modifiers; {
	case len(m) == 0:
	case len(m) == 1 && isOffsetZero(m[0]):
		f.relation.Fenced = true
	default:
		r.fail("the fence of %q ends with something else than OFFSET 0", f.entity)
		return
	}
	if access.Rows.Truth == policy.Always && len(f.relation.Masked) == 0 {
		return
	}
	if !f.relation.Fenced {
		r.fail("the fence of %q has no end", f.entity)
	}
	if f.dictionary {
		r.fail("the fence of %q gives more than the rows that passed its rule", f.entity)
	}
}

func predicateWord(p policy.Predicate) string {
	switch p.Truth {
	case policy.Always:
		return "always"
	case policy.When:
		return p.SQL
	}
	return "never"
}

// flattened gives what COALESCE(x, NULL) shows. In that form a column leaves a fence
// with the values of its rows alone; in others it may carry a dictionary with those
// of other rows, on which DuckDB calls what it believes cannot fail.
func flattened(e sqlast.Expr) (sqlast.Expr, bool) {
	o, ok := e.(*sqlast.Operator)
	if !ok || o.Op != "OPERATOR_COALESCE" || len(o.Args) != 2 {
		return e, false
	}
	c, ok := o.Args[1].(*sqlast.Constant)
	null := &sqlast.Constant{Value: sqlast.Value{Type: sqlast.TypeName{ID: "NULL"}, IsNull: true}}
	if !ok || !same(c, null) || sqlast.Meta(o.Args[0]).Alias != "" {
		return e, false
	}
	return o.Args[0], true
}

// itemName is the name a select item has in the result of a fence.
func itemName(e sqlast.Expr) string {
	if alias := sqlast.Meta(e).Alias; alias != "" {
		return alias
	}
	if c, ok := e.(*sqlast.ColumnRef); ok && len(c.Names) == 1 {
		return c.Names[0]
	}
	return ""
}

func isColumn(e sqlast.Expr, name string) bool {
	c, ok := e.(*sqlast.ColumnRef)
	return ok && len(c.Names) == 1 && c.Names[0] == name
}

func isConstant(e sqlast.Expr) bool {
	_, ok := e.(*sqlast.Constant)
	return ok
}

func isOffsetZero(m sqlast.Modifier) bool {
	l, ok := m.(*sqlast.Limit)
	if !ok || l.Limit != nil || l.Percent {
		return false
	}
	n, ok := integer(l.Offset)
	return ok && n == 0
}

func integer(e sqlast.Expr) (int64, bool) {
	c, ok := e.(*sqlast.Constant)
	if !ok || c.Value.IsNull {
		return 0, false
	}
	n, err := strconv.ParseInt(c.Value.Raw, 10, 64)
	return n, err == nil
}

// conjuncts takes the ANDs of a condition apart; nil gives none.
func conjuncts(e sqlast.Expr) []sqlast.Expr {
	if e == nil {
		return nil
	}
	c, ok := e.(*sqlast.Conjunction)
	if !ok || c.Op != "CONJUNCTION_AND" {
		return []sqlast.Expr{e}
	}
	var out []sqlast.Expr
	for _, a := range c.Args {
		out = append(out, conjuncts(a)...)
	}
	return out
}

// literalCondition recognises a condition of one bare column against literals,
// and gives the column.
func literalCondition(e sqlast.Expr) (string, bool) {
	var column sqlast.Expr
	var literals []sqlast.Expr
	switch e := e.(type) {
	case *sqlast.Comparison:
		column, literals = e.Left, []sqlast.Expr{e.Right}
		if isLiteral(column) {
			column, literals = e.Right, []sqlast.Expr{e.Left}
		}
	case *sqlast.Between:
		column, literals = e.Input, []sqlast.Expr{e.Lower, e.Upper}
	case *sqlast.Operator:
		switch e.Op {
		case "COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
			column, literals = e.Args[0], e.Args[1:]
		case "OPERATOR_NOT":
			return literalCondition(e.Args[0])
		default:
			return "", false
		}
	default:
		return "", false
	}
	for _, l := range literals {
		if !isLiteral(l) {
			return "", false
		}
	}
	c, ok := column.(*sqlast.ColumnRef)
	if !ok || len(c.Names) != 1 {
		return "", false
	}
	return c.Names[0], true
}

// isLiteral recognises a literal and a typed literal, such as DATE '2026-01-01'.
func isLiteral(e sqlast.Expr) bool {
	if c, ok := e.(*sqlast.Cast); ok {
		return isConstant(c.Child)
	}
	return isConstant(e)
}

// sameScans compares the fences with what DuckDB reads: each fence alone binds
// to one scan with the rule as it was learned, and the whole text scans those
// and nothing else. A fence that it does not scan is kept in plan.unread.
func sameScans(fences []*fence, alone []scan, rules map[string]*rule, plan *planReading) error {
	var problems []error
	missing := map[string]string{}
	known := map[string]bool{}
	for i, f := range fences {
		if err := asLearned(f, alone[i], rules[f.entity]); err != nil {
			problems = append(problems, err)
		}
		known[alone[i].key()] = true
		if !f.inCTE {
			missing[alone[i].key()] = f.entity
		}
	}
	for _, s := range plan.scans {
		if s.loose {
			if !dissolved(s, fences, alone, missing) {
				problems = append(problems, because("the plan scans %q outside a fence", s.table))
			}
			continue
		}
		if !known[s.key()] {
			problems = append(problems, because("the plan scans %q other than its fence does", s.table))
		}
		delete(missing, s.key())
	}
	for _, entity := range missing {
		plan.unread = entity
	}
	return together(problems)
}

// dissolved reports that a loose scan may be what is left of a fence: one of the
// same entity that has no rule, no mask and no end, and offers every column that
// the scan reads. Such fences are no longer missing.
func dissolved(s scan, fences []*fence, alone []scan, missing map[string]string) bool {
	found := false
	for i, f := range fences {
		if f.entity != s.table || f.relation.Fenced || alone[i].end || alone[i].filter != nil || len(f.relation.Masked) > 0 {
			continue
		}
		if !slices.ContainsFunc(s.reads, func(c string) bool { return c != "" && !slices.Contains(f.relation.Columns, c) }) {
			found = true
			delete(missing, alone[i].key())
		}
	}
	return found
}

// asLearned compares one fence's scan with the rule DuckDB read alone.
func asLearned(f *fence, s scan, rule *rule) error {
	if s.table != f.entity || s.end != f.relation.Fenced || len(s.items) != len(f.node.Select) {
		return because("the fence of %q binds to another scan", f.entity)
	}
	if len(s.filter) < len(rule.filter) {
		return because("the plan of %q lacks its rule", f.entity)
	}
	for i, want := range rule.filter {
		if s.filter[i] != want {
			return because("the plan of %q filters by another condition than its rule", f.entity)
		}
	}
	for i := len(rule.filter); i < len(s.filter); i++ {
		if f.conjuncts == 0 || !s.bare[i] {
			return because("the plan of %q filters by a condition that is not a column against literals", f.entity)
		}
	}
	return sameItems(f, s, rule)
}

func sameItems(f *fence, s scan, rule *rule) error {
	for i, item := range f.node.Select {
		name := f.fields[i]
		want := strconv.Quote(name)
		if mask, ok := rule.items[semantic.Name(name).Key()]; ok {
			want = mask
		} else if isConstant(item) {
			continue
		} else if _, flat := flattened(item); flat {
			want = flatItem + want
		}
		if s.items[i] != want {
			return because("the plan of %q gives another value as %q", f.entity, name)
		}
	}
	return nil
}

// wholeRows refuses a row used as a value: DuckDB binds the name of a relation
// to a struct, at a place where the text calls nothing that makes one.
func wholeRows(structs map[int64]bool, plan *planReading) error {
	for _, at := range plan.structs {
		if !structs[at] {
			return because("a relation's name is used as a value")
		}
	}
	return nil
}
