package opa

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// The widths a predicate may have: what it becomes is parsed again under the caps
// of sqlast.
const (
	maxAlternatives = 200
	maxListed       = 1000
)

var rowRef = ast.MustParseTerm("input.row")

// predicate evaluates every rows rule with the row unknown and prints what
// remains. No remaining alternative means Never. An alternative without a
// condition is refused: every row must be spelled out by an all_rows rule.
func (p *Policy) predicate(ctx context.Context, input ast.Value, e *semantic.Entity) (policy.Predicate, error) {
	return p.predicateOf(ctx, input, e, p.rules.of(accessPackage, "rows"))
}

// predicateOf is predicate for some of the rows rules.
func (p *Policy) predicateOf(ctx context.Context, input ast.Value, e *semantic.Entity, rules []policy.RuleRef) (policy.Predicate, error) {
	bounded, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	out := policy.Predicate{Truth: policy.Never}
	var alternatives []string
	reads, through := map[string]bool{}, map[semantic.Name]bool{}
	for _, rule := range rules {
		partial, err := p.rows[rule.ID].Partial(bounded, rego.EvalParsedInput(input),
			rego.EvalParsedUnknowns([]*ast.Term{rowRef}), rego.EvalRuleIndexing(false))
		if err != nil {
			return policy.Predicate{}, stopped(ctx, err)
		}
		pr := printer{catalog: p.options.Catalog, entity: e, row: rowRef.Value.(ast.Ref), rule: rule, reads: reads, through: through, support: partial.Support}
		for _, body := range partial.Queries {
			condition, holds, err := pr.body(body)
			if err != nil {
				return policy.Predicate{}, err
			}
			if !holds {
				continue
			}
			if !slices.Contains(alternatives, condition) {
				alternatives = append(alternatives, condition)
			}
			if !slices.Contains(out.Rules, rule) {
				out.Rules = append(out.Rules, rule)
			}
		}
	}
	if len(alternatives) > maxAlternatives {
		return policy.Predicate{}, diag.New(diag.PolicyUnsay, "row rules come to at most %d alternatives; these come to %d", maxAlternatives, len(alternatives)).At(rulePos(out.Rules[0]))
	}
	if len(alternatives) > 0 {
		out.Truth, out.SQL = policy.When, either(alternatives)
		for _, name := range sortedKeys(reads) {
			out.Reads = append(out.Reads, semantic.Name(name))
		}
		out.Through = slices.Sorted(maps.Keys(through))
	}
	return out, nil
}

func either(alternatives []string) string {
	if len(alternatives) == 1 {
		return alternatives[0]
	}
	return "(" + strings.Join(alternatives, ") OR (") + ")"
}

// printer says one rule's conditions in SQL over the bare quoted fields of an
// entity. What it does not know it refuses.
type printer struct {
	catalog *semantic.Catalog
	entity  *semantic.Entity
	row     ast.Ref // what stands for a row of the entity: input.row, or a related row
	hops    int     // relationships between input.row and row
	// wide says that the condition stands in a negated sub-query: where SQL cannot
	// say what Rego does, it holds for more rows, and elsewhere for fewer.
	wide    bool
	rule    policy.RuleRef
	reads   map[string]bool
	through map[semantic.Name]bool
	// support holds the rules that partial evaluation made.
	support []*ast.Module
}

// body prints one alternative, an AND of conditions; false when it never holds.
func (pr printer) body(body ast.Body) (string, bool, error) {
	c, err := pr.all(body, 0)
	switch {
	case err != nil || c == never:
		return "", false, err
	case c == always:
		return "", false, pr.refuse(nil, "a rows rule has a condition on the row; rows.%s holds for every row", pr.rule.ID).
			WithHint("if that is meant, spell it out as all_rows.%s", pr.rule.ID)
	}
	return c, true, nil
}

// The conditions that partial evaluation, or an empty list, decides.
const (
	always = "true"
	never  = "false"
)

// all prints an AND; always when nothing remains to ask.
func (pr printer) all(body ast.Body, depth int) (string, error) {
	parts, err := pr.parts(body)
	if err != nil {
		return "", err
	}
	var conditions []string
	for _, part := range parts {
		c, err := pr.say(part, false, depth)
		switch {
		case err != nil:
			return "", err
		case c == never:
			return never, nil
		case c != always && !slices.Contains(conditions, c):
			conditions = append(conditions, c)
		}
	}
	if len(conditions) == 0 {
		return always, nil
	}
	return strings.Join(conditions, " AND "), nil
}

// none prints that an AND does not hold: one of its conditions does not.
func (pr printer) none(body ast.Body, depth int) (string, error) {
	parts, err := pr.parts(body)
	if err != nil {
		return "", err
	}
	var conditions []string
	for _, part := range parts {
		c, err := pr.say(part, true, depth)
		switch {
		case err != nil:
			return "", err
		case c == always:
			return always, nil
		case c != never && !slices.Contains(conditions, c):
			conditions = append(conditions, c)
		}
	}
	if len(conditions) == 0 {
		return never, nil
	}
	return "(" + either(conditions) + ")", nil
}

const maxDepth = 8 // of rules that partial evaluation put into support modules

// expr prints one expression: a constant, a comparison, or a support rule, which
// is how partial evaluation leaves the negation of several conditions.
func (pr printer) expr(expr *ast.Expr, depth int) (string, error) {
	if b, ok := constant(expr); ok {
		return strconv.FormatBool(b), nil
	}
	if ref, ok := bareRef(expr); ok && pr.hops > 0 && ref.Equal(pr.row) {
		return strconv.FormatBool(!expr.Negated), nil // the related row is there
	}
	rules, ok := pr.supported(expr)
	if !ok || depth > maxDepth {
		return pr.condition(expr)
	}
	var parts []string
	for _, r := range rules {
		part, err := "", error(nil)
		if expr.Negated {
			part, err = pr.none(r.Body, depth+1)
		} else {
			part, err = pr.all(r.Body, depth+1)
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return combine(parts, expr.Negated), nil
}

// combine joins the bodies of a rule: none of them, or any of them.
func combine(parts []string, negated bool) string {
	zero, decided := never, always
	if negated {
		zero, decided = always, never
	}
	if slices.Contains(parts, decided) {
		return decided
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == zero })
	switch {
	case len(parts) == 0:
		return zero
	case negated:
		return strings.Join(parts, " AND ")
	}
	return "(" + either(parts) + ")"
}

// supported finds the plain rules behind a bare reference to a support module:
// no arguments, no default, no else, the value true.
func (pr printer) supported(expr *ast.Expr) ([]*ast.Rule, bool) {
	t, ok := expr.Terms.(*ast.Term)
	if !ok || len(expr.With) > 0 {
		return nil, false
	}
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return nil, false
	}
	var found []*ast.Rule
	for _, m := range pr.support {
		for _, r := range m.Rules {
			if !r.Ref().Equal(ref) {
				continue
			}
			if r.Default || r.Else != nil || len(r.Head.Args) > 0 || r.Head.Value == nil || !r.Head.Value.Equal(ast.BooleanTerm(true)) {
				return nil, false
			}
			found = append(found, r)
		}
	}
	return found, len(found) > 0
}

// constant reads an expression that partial evaluation left as true or false.
func constant(expr *ast.Expr) (value, ok bool) {
	t, ok := expr.Terms.(*ast.Term)
	if !ok || len(expr.With) > 0 {
		return false, false
	}
	b, ok := t.Value.(ast.Boolean)
	return bool(b) != expr.Negated, ok
}

// flipped gives the operator with its operands swapped.
var flipped = map[string]string{"eq": "eq", "equal": "eq", "neq": "neq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}

// negations gives the operator whose truth is the opposite for values that are not null.
var negations = map[string]string{"eq": "neq", "neq": "eq", "lt": "gte", "lte": "gt", "gt": "lte", "gte": "lt"}

func (pr printer) condition(expr *ast.Expr) (string, error) {
	terms, ok := expr.Terms.([]*ast.Term)
	if !ok {
		return "", pr.refuse(expr, "a condition on the row compares a field").WithHint("write input.row.field == true instead of input.row.field, and keep default, else, every and loops over the row out of row rules")
	}
	if len(expr.With) > 0 || len(terms) != 3 {
		return "", pr.refuse(expr, "a condition on the row compares a field with a value")
	}
	op := terms[0].Value.String()
	left, right := terms[1], terms[2]
	switch op {
	case "eq", "equal", "neq", "lt", "lte", "gt", "gte":
		if !pr.isRow(left) {
			left, right, op = right, left, flipped[op]
		}
		if op == "equal" {
			op = "eq"
		}
		return pr.comparison(expr, op, left, right)
	case "internal.member_2":
		return pr.member(expr, left, right)
	case "startswith", "endswith", "contains":
		return pr.match(expr, op, left, right)
	}
	return "", pr.refuse(expr, "row rules use ==, !=, <, <=, >, >=, in, startswith, endswith, contains, and, or, not; this uses %s", op)
}

func (pr printer) isRow(t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	return ok && ref.HasPrefix(pr.row)
}

// field reads input.row.<field>, or a field of the related row.
func (pr printer) field(expr *ast.Expr, t *ast.Term) (*semantic.Field, error) {
	ref, ok := t.Value.(ast.Ref)
	if !ok || !pr.isRow(t) || len(ref) != len(pr.row)+1 || !isString(ref[len(ref)-1]) {
		return nil, pr.refuse(expr, "a condition on the row has input.row.<field> on one side, or input.row.<relationship>.<field>")
	}
	name := string(ref[len(ref)-1].Value.(ast.String))
	f := pr.entity.Field(semantic.Name(name))
	if f == nil || string(f.Name) != name {
		return nil, pr.refuse(expr, "a row rule reads fields that the entity has, as the model spells them; %q is none of %q", name, pr.entity.Name).
			WithHint("ask for the field first: some field in input.entity.fields; field.name == %q", name)
	}
	pr.reads[string(f.Name)] = true
	return f, nil
}

// comparison prints the six comparisons. The order family never holds for NULL;
// = and <> treat NULL as the value null, as Rego does.
func (pr printer) comparison(expr *ast.Expr, op string, left, right *ast.Term) (string, error) {
	f, err := pr.field(expr, left)
	if err != nil {
		return "", err
	}
	if expr.Negated {
		op = negations[op]
	}
	if pr.isRow(right) {
		return pr.twoFields(expr, op, f, right)
	}
	column := columnSQL(f)
	if _, null := right.Value.(ast.Null); null {
		switch op {
		case "eq":
			return column + " IS NULL", nil
		case "neq":
			return column + " IS NOT NULL", nil
		}
		return "", pr.refuse(expr, "null has no order")
	}
	value, err := pr.literal(expr, f, right)
	if err != nil {
		return "", err
	}
	switch op {
	case "eq":
		return column + " = " + value, nil
	case "neq":
		return column + " IS DISTINCT FROM " + value, nil
	}
	return pr.order(expr, op, f, value, column)
}

func (pr printer) twoFields(expr *ast.Expr, op string, f *semantic.Field, right *ast.Term) (string, error) {
	g, err := pr.field(expr, right)
	if err != nil {
		return "", err
	}
	if f.Type != g.Type || f.Type.Kind() == semantic.KindOther {
		return "", pr.refuse(expr, "two fields are compared when they have the same comparable type; these are %s and %s", f.Type, g.Type)
	}
	switch op {
	case "eq":
		return columnSQL(f) + " IS NOT DISTINCT FROM " + columnSQL(g), nil
	case "neq":
		return columnSQL(f) + " IS DISTINCT FROM " + columnSQL(g), nil
	}
	return pr.order(expr, op, f, columnSQL(g), columnSQL(f), columnSQL(g))
}

// order prints a comparison for which some columns may not be null.
func (pr printer) order(expr *ast.Expr, op string, f *semantic.Field, value string, columns ...string) (string, error) {
	if f.Type.Kind() == semantic.KindBoolean {
		return "", pr.refuse(expr, "booleans have no order")
	}
	sign := map[string]string{"lt": "<", "lte": "<=", "gt": ">", "gte": ">="}[op]
	comparison := columnSQL(f) + " " + sign + " " + value
	if pr.wide {
		return "(" + strings.Join(columns, " IS NULL OR ") + " IS NULL OR " + comparison + ")", nil
	}
	return strings.Join(columns, " IS NOT NULL AND ") + " IS NOT NULL AND " + comparison, nil
}

// member prints field in [values]; object values count as Rego counts them.
func (pr printer) member(expr *ast.Expr, left, right *ast.Term) (string, error) {
	f, err := pr.field(expr, left)
	if err != nil {
		return "", err
	}
	items, ok := listed(right.Value)
	if !ok {
		return "", pr.refuse(expr, "the right side of in is a known list or set")
	}
	if len(items) > maxListed {
		return "", pr.refuse(expr, "a list in a row rule has at most %d values; this one has %d", maxListed, len(items))
	}
	var values []string
	null := false
	for _, item := range items {
		if _, ok := item.Value.(ast.Null); ok {
			null = true
			continue
		}
		v, err := pr.literal(expr, f, item)
		if err != nil {
			return "", err
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return membership(columnSQL(f), values, null, expr.Negated), nil
}

func membership(column string, values []string, null, negated bool) string {
	in := column + " IN (" + strings.Join(values, ", ") + ")"
	notIn := column + " NOT IN (" + strings.Join(values, ", ") + ")"
	switch {
	case len(values) == 0 && null != negated:
		if null {
			return column + " IS NULL"
		}
		return always
	case len(values) == 0 && null:
		return column + " IS NOT NULL"
	case len(values) == 0:
		return never
	case null && negated:
		return column + " IS NOT NULL AND " + notIn
	case null:
		return "(" + column + " IS NULL OR " + in + ")"
	case negated:
		return "(" + column + " IS NULL OR " + notIn + ")"
	}
	return in
}

func listed(v ast.Value) ([]*ast.Term, bool) {
	var items []*ast.Term
	switch v := v.(type) {
	case *ast.Array:
		v.Foreach(func(t *ast.Term) { items = append(items, t) })
	case ast.Set:
		v.Foreach(func(t *ast.Term) { items = append(items, t) })
	default:
		return nil, false
	}
	return items, true
}

// matches are DuckDB's functions; LIKE is not used, since its pattern needs escapes.
var matches = map[string]string{"startswith": "starts_with", "endswith": "suffix", "contains": "contains"}

func (pr printer) match(expr *ast.Expr, op string, left, right *ast.Term) (string, error) {
	f, err := pr.field(expr, left)
	if err != nil {
		return "", err
	}
	if f.Type.Kind() != semantic.KindText {
		return "", pr.refuse(expr, "%s matches text; %q is %s", op, f.Name, f.Type)
	}
	value, err := pr.literal(expr, f, right)
	if err != nil {
		return "", err
	}
	call := matches[op] + "(" + columnSQL(f) + ", " + value + ")"
	if expr.Negated {
		return "(" + columnSQL(f) + " IS NULL OR NOT " + call + ")", nil
	}
	return call, nil
}

// refuse places an error at the expression, or at the rule when OPA lost its place.
func (pr printer) refuse(expr *ast.Expr, format string, args ...any) *diag.Error {
	at := rulePos(pr.rule)
	if expr != nil && expr.Location != nil && expr.Location.File != "" {
		at = pos(expr.Location)
	}
	return diag.New(diag.PolicyUnsay, format, args...).At(at)
}
