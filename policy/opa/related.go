package opa

import (
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"plumbline/semantic"
)

// maxHops bounds how many relationships one condition goes through.
const maxHops = 3

// hop is one step from a row to a related row, as a reference spells it:
// input.row.customer, or input.row.memberships[m] where there may be several.
type hop struct {
	ref ast.Ref
	rel *semantic.Relationship
	to  *semantic.Entity
}

// many reports that the row may have several related rows.
func (h *hop) many() bool {
	_, named := h.ref[len(h.ref)-1].Value.(ast.Var)
	return named
}

// part is what a body asks of one row: one condition on the row itself, with no
// hop, or all conditions on the same related row.
type part struct {
	hop     *hop
	exprs   ast.Body
	missing bool // not input.row.customer: that there is no related row
}

// there reports that the part asks for the related row itself.
func (p part) there() bool {
	return slices.ContainsFunc(p.exprs, func(e *ast.Expr) bool {
		ref, ok := bareRef(e)
		return ok && ref.Equal(p.hop.ref)
	})
}

// parts sorts the conditions of a body by the row that they are about, in the
// order in which the rows first occur.
func (pr printer) parts(body ast.Body) ([]part, error) {
	body, err := pr.inline(body)
	if err != nil {
		return nil, err
	}
	var out []part
	for _, expr := range body {
		h, err := pr.hopOf(expr)
		if err != nil {
			return nil, err
		}
		next := part{hop: h, exprs: ast.NewBody(expr)}
		next.missing = expr.Negated && h != nil && !h.many() && next.there()
		same := func(p part) bool { return h != nil && p.hop != nil && !p.missing && p.hop.ref.Equal(h.ref) }
		if i := slices.IndexFunc(out, same); i >= 0 && !next.missing {
			out[i].exprs = append(out[i].exprs, expr)
			continue
		}
		out = append(out, next)
	}
	return out, pr.ownNames(out)
}

// ownNames refuses a name that stands for rows of two lists, such as m in
// input.row.a[m] and input.row.b[m]: the two would be joined by their places.
func (pr printer) ownNames(parts []part) error {
	var taken []*ast.Term
	for _, t := range pr.row {
		if _, ok := t.Value.(ast.Var); ok {
			taken = append(taken, t)
		}
	}
	for _, p := range parts {
		if p.hop == nil || !p.hop.many() {
			continue
		}
		name := p.hop.ref[len(p.hop.ref)-1]
		if slices.ContainsFunc(taken, name.Equal) {
			return pr.refuse(p.exprs[0], "related rows have no places; one name stands for the rows of one relationship")
		}
		if !slices.ContainsFunc(p.exprs, func(e *ast.Expr) bool { return !e.Negated }) {
			return pr.refuse(p.exprs[0], "a name of a related row is bound by a condition that is not negated")
		}
		taken = append(taken, name)
	}
	return nil
}

// inline puts references in place of the names that partial evaluation gave to
// related rows and to fields: m = input.row.memberships[i] and not m.revoked = true.
// What is left of such an equality is that the row is there; a row has its fields.
func (pr printer) inline(body ast.Body) (ast.Body, error) {
	out := body.Copy()
	for i, expr := range out {
		name, ref, ok := binding(expr)
		if !ok || !ref.HasPrefix(pr.row) {
			continue
		}
		on, err := pr.reach(expr, ref)
		if err != nil {
			return nil, err
		}
		there := ast.NewExpr(ast.BooleanTerm(true))
		if on.hops > pr.hops {
			there = ast.NewExpr(ast.NewTerm(on.row))
		}
		if !ref.Equal(on.row) {
			if _, err := on.field(expr, ast.NewTerm(ref)); err != nil {
				return nil, err
			}
		}
		there.Location = expr.Location
		out[i] = there
		for _, other := range out {
			replaceName(other, name, ref)
		}
		if ast.NewBody(out...).Vars(ast.VarVisitorParams{}).Contains(name) {
			return nil, pr.refuse(expr, "a name in a row rule stands for a related row or a field on one side of a condition")
		}
	}
	return out, nil
}

// binding reads name = reference.
func binding(expr *ast.Expr) (ast.Var, ast.Ref, bool) {
	terms, ok := expr.Terms.([]*ast.Term)
	if !ok || !expr.IsEquality() || expr.Negated || len(expr.With) > 0 || len(terms) != 3 {
		return "", nil, false
	}
	left, right := terms[1].Value, terms[2].Value
	if _, named := left.(ast.Var); !named {
		left, right = right, left
	}
	name, named := left.(ast.Var)
	ref, ok := right.(ast.Ref)
	return name, ref, named && ok
}

// replaceName puts ref in place of a name where it is an operand, or begins one.
func replaceName(expr *ast.Expr, name ast.Var, ref ast.Ref) {
	replace := func(t *ast.Term) *ast.Term {
		switch v := t.Value.(type) {
		case ast.Var:
			if v == name {
				return ast.NewTerm(ref)
			}
		case ast.Ref:
			if v[0].Value.Compare(name) == 0 {
				return ast.NewTerm(ref.Concat(v[1:]))
			}
		}
		return t
	}
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		expr.Terms = replace(terms)
	case []*ast.Term:
		for i := 1; i < len(terms); i++ {
			terms[i] = replace(terms[i])
		}
	}
}

// hopOf gives the first hop of the references of an expression; nil when it is
// about the row itself. One expression is about one row.
func (pr printer) hopOf(expr *ast.Expr) (*hop, error) {
	var found *hop
	own := false
	for _, t := range operands(expr) {
		ref, ok := t.Value.(ast.Ref)
		if !ok || !ref.HasPrefix(pr.row) {
			continue
		}
		h, err := pr.hop(expr, ref)
		if err != nil {
			return nil, err
		}
		if own && h != nil || found != nil && (h == nil || !h.ref.Equal(found.ref)) {
			return nil, pr.refuse(expr, "two fields are compared when they belong to one row; these belong to two").
				WithHint("compare each with a value, or give the entity a field of its own")
		}
		found, own = h, own || h == nil
	}
	return found, nil
}

func operands(expr *ast.Expr) []*ast.Term {
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		return []*ast.Term{terms}
	case []*ast.Term:
		return terms[1:]
	}
	return nil
}

// bareRef reads an expression that is only a reference.
func bareRef(expr *ast.Expr) (ast.Ref, bool) {
	t, ok := expr.Terms.(*ast.Term)
	if !ok || len(expr.With) > 0 {
		return nil, false
	}
	ref, ok := t.Value.(ast.Ref)
	return ref, ok
}

// hop gives the step that a reference to the row takes first; nil when it stays
// at the row.
func (pr printer) hop(expr *ast.Expr, ref ast.Ref) (*hop, error) {
	rest := ref[len(pr.row):]
	if len(rest) == 0 || !isString(rest[0]) {
		return nil, nil
	}
	name := semantic.Name(rest[0].Value.(ast.String))
	r := pr.entity.Relationship(name)
	if r == nil || r.Name != name {
		return nil, nil
	}
	if pr.entity.Field(name) != nil {
		if len(rest) == 1 {
			return nil, nil
		}
		return nil, pr.refuse(expr, "a row has one thing of a name; %q is a field and a relationship of %q", name, pr.entity.Name)
	}
	to, err := pr.follow(expr, r)
	if err != nil {
		return nil, err
	}
	steps := 1
	if r.Kind != semantic.ManyToOne && r.Kind != semantic.OneToOne {
		steps = 2
	}
	if len(rest) < steps || steps == 2 && !isVar(rest[1]) {
		return nil, pr.refuse(expr, "rows that may be several are looked at one by one; %q of %q leads to several", name, pr.entity.Name).
			WithHint("write some m in input.row.%s, and conditions on m", name)
	}
	return &hop{ref: ref[:len(pr.row)+steps], rel: r, to: to}, nil
}

func isVar(t *ast.Term) bool {
	_, ok := t.Value.(ast.Var)
	return ok
}

// reach is the printer of conditions on the row that a reference leads to, as far
// as it goes through relationships.
func (pr printer) reach(expr *ast.Expr, ref ast.Ref) (printer, error) {
	for {
		h, err := pr.hop(expr, ref)
		if err != nil || h == nil {
			return pr, err
		}
		pr = pr.at(h)
	}
}

// at is the printer of conditions on the related row. What it reads is not the
// entity's own.
func (pr printer) at(h *hop) printer {
	pr.entity, pr.row, pr.reads, pr.hops = h.to, h.ref, map[string]bool{}, pr.hops+1
	return pr
}

// follow gives the entity that a relationship leads to, and refuses one that a
// rule cannot go through.
func (pr printer) follow(expr *ast.Expr, r *semantic.Relationship) (*semantic.Entity, error) {
	to, err := pr.readable(expr, r, r.To)
	switch {
	case err != nil:
		return nil, err
	case r.Valid != nil || r.AsOf != nil:
		return nil, pr.refuse(expr, "row rules go through relationships that hold at any time; %q of %q picks its row by time", r.Name, pr.entity.Name).
			WithHint("keep what the rule asks for as a field of %q", pr.entity.Name)
	case pr.hops == maxHops:
		return nil, pr.refuse(expr, "a row rule goes through at most %d relationships", maxHops)
	case r.Through == nil:
		return to, pr.sameKeys(expr, pr.entity, to, r)
	}
	between, err := pr.readable(expr, r, r.Through.Entity)
	if err != nil {
		return nil, err
	}
	near, far := between.Relationship(r.Through.Near), between.Relationship(r.Through.Far)
	if err := pr.sameKeys(expr, between, pr.entity, near); err != nil {
		return nil, err
	}
	return to, pr.sameKeys(expr, between, to, far)
}

// readable gives an entity that rules may read in whole.
func (pr printer) readable(expr *ast.Expr, r *semantic.Relationship, name semantic.Name) (*semantic.Entity, error) {
	var to *semantic.Entity
	if pr.catalog != nil {
		to = pr.catalog.Entity(name)
	}
	if to == nil {
		return nil, pr.refuse(expr, "row rules go through relationships to entities of the model; %q of %q leads to none", r.Name, pr.entity.Name)
	}
	for _, f := range to.Filters {
		if f.Kind == semantic.RequiredFilter {
			return nil, pr.refuse(expr, "a row rule reads the other entity in whole; %q is asked with a filter", to.Name)
		}
	}
	return to, nil
}

// sameKeys refuses joined fields whose comparison would convert a value: a
// conversion may fail, and the failure would tell of rows that nobody may see.
func (pr printer) sameKeys(expr *ast.Expr, from, to *semantic.Entity, r *semantic.Relationship) error {
	for _, p := range r.On {
		a, b := from.Field(p.From), to.Field(p.To)
		if a.Type != b.Type && !(whole(a.Type) && whole(b.Type)) {
			return pr.refuse(expr, "a row rule goes through relationships that join fields of one type; %q of %q joins %s with %s", r.Name, from.Name, a.Type, b.Type)
		}
	}
	return nil
}

func whole(t semantic.Type) bool {
	return slices.Contains([]semantic.Type{"tinyint", "smallint", "integer", "bigint", "hugeint"}, t)
}

// say prints a part; negated, that it does not hold. A condition on the one
// related row needs that row, negated or not: partial evaluation forgets that
// x := input.row.customer must be there before a "not". Inside of a negated
// sub-query it is the other way round, so that nothing is let through by mistake.
func (pr printer) say(p part, negated bool, depth int) (string, error) {
	if p.hop == nil {
		expr := *p.exprs[0]
		expr.Negated = expr.Negated != negated
		return pr.expr(&expr, depth)
	}
	inner, print, exprs, outer := pr.at(p.hop), printer.all, p.exprs, false
	asks := slices.ContainsFunc(exprs, func(e *ast.Expr) bool { return !e.Negated })
	switch {
	case p.missing:
		exprs, outer = nil, !negated
	case negated && (p.hop.many() || p.there() || pr.wide && asks):
		outer = true
	case negated:
		print = printer.none
	case pr.wide && !asks:
		print, outer = printer.none, true
	}
	inner.wide = pr.wide != outer
	condition, err := print(inner, exprs, depth)
	if err != nil {
		return "", err
	}
	if condition == never {
		return strconv.FormatBool(outer), nil
	}
	found := pr.among(p.hop, condition)
	if outer {
		found = "(" + found + ") IS NOT TRUE"
	}
	return found, nil
}

// among prints that a related row meets a condition, by its key.
func (pr printer) among(h *hop, condition string) string {
	var from, to []semantic.Name
	for _, p := range h.rel.On {
		from, to = append(from, p.From), append(to, p.To)
	}
	if b := h.rel.Through; b != nil {
		between := pr.catalog.Entity(b.Entity)
		near, far := between.Relationship(b.Near), between.Relationship(b.Far)
		condition = pr.at(&hop{to: between}).among(&hop{rel: far, to: h.to}, condition)
		h = &hop{rel: near, to: between}
		for _, p := range near.On {
			from, to = append(from, p.To), append(to, p.From)
		}
	}
	pr.through[h.to.Name] = true
	for _, name := range from {
		pr.reads[string(name)] = true
	}
	sql := tuple(from) + " IN (SELECT " + names(to) + " FROM " + semantic.StorageName(h.to.Name)
	if condition != always {
		sql += " WHERE " + condition
	}
	return sql + ")"
}

func names(list []semantic.Name) string {
	quoted := make([]string, len(list))
	for i, n := range list {
		quoted[i] = semantic.Quote(string(n))
	}
	return strings.Join(quoted, ", ")
}

func tuple(list []semantic.Name) string {
	if len(list) == 1 {
		return names(list)
	}
	return "(" + names(list) + ")"
}
