package resolve

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// conjuncts gives the top-level AND operands of a condition.
func conjuncts(e sqlast.Expr) []sqlast.Expr {
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

// conjunct binds one top-level condition of WHERE and keeps what it says about
// a reference of the same FROM.
func (r *resolver) conjunct(e sqlast.Expr, c ctx) {
	r.literalCondition(e, c.scope.level, func(rel *relation) (met, copied bool) { return true, !rel.held })
	c.bare = true
	r.expr(e, c)
}

// on binds an ON condition. An equality of two bare columns of two entities is
// a join; everything else is a filter.
func (r *resolver) on(t *sqlast.JoinRef, left, right *level, sc *scope, ctes *env) {
	side := func(rel *relation) (met, copied bool) {
		inner := t.Type == "INNER" && t.Kind != "ASOF"
		fromLeft := inner || t.Type == "RIGHT"
		fromRight := inner || t.Type == "LEFT" && t.Kind != "ASOF"
		ok := slices.Contains(left.rels, rel) && fromLeft || slices.Contains(right.rels, rel) && fromRight
		return ok, ok && !rel.held
	}
	list := conjuncts(t.Condition)
	if len(list) > 1 {
		r.kinds["CONJUNCTION_AND"] = true
	}
	for _, e := range list {
		if r.joinPair(e, t, sc) {
			continue
		}
		r.literalCondition(e, sc.level, side)
		r.expr(e, ctx{scope: sc, ctes: ctes, clause: InFilter, bare: true})
	}
}

// joinPair records both sides of column = column.
func (r *resolver) joinPair(e sqlast.Expr, t *sqlast.JoinRef, sc *scope) bool {
	cmp, ok := e.(*sqlast.Comparison)
	if !ok || cmp.Op != "COMPARE_EQUAL" {
		return false
	}
	a, aok := r.directColumn(cmp.Left, sc.level)
	b, bok := r.directColumn(cmp.Right, sc.level)
	if !aok || !bok || a.rel == b.rel {
		return false
	}
	r.kinds[cmp.Op], r.kinds["COLUMN_REF"] = true, true
	for _, p := range []struct {
		mine, other hit
		at          sqlast.Offset
	}{{a, b, place(cmp.Left)}, {b, a, place(cmp.Right)}} {
		r.touch(p.mine.col.from)
		id := ColumnID{Entity: r.refs[p.other.rel.ref].Entity.Name, Column: p.other.col.from[0].name}
		r.record(p.mine, Use{Clause: InJoin, Bare: true, Other: &id, OtherRef: p.other.rel.ref, JoinType: joinWord(t), At: p.at})
	}
	return true
}

// joinWord is the kind of join as the facts say it: ASOF, or the type.
func joinWord(t *sqlast.JoinRef) string {
	if t.Kind == "ASOF" {
		return t.Kind
	}
	return t.Type
}

// directColumn finds the entity column of this level that e names, if that is
// all that e is.
func (r *resolver) directColumn(e sqlast.Expr, lv *level) (hit, bool) {
	ref, ok := e.(*sqlast.ColumnRef)
	if !ok {
		return hit{}, false
	}
	h, found := r.peek(ref, lv)
	return h, found && h.col != nil && h.col.direct
}

// hold marks the sides of a join from which later conditions may not move inside.
func hold(t *sqlast.JoinRef, left, right *level) {
	mark := func(l *level) {
		for _, rel := range l.rels {
			rel.held = true
		}
	}
	if t.Type == "RIGHT" || t.Type == "FULL" {
		mark(left)
	}
	if t.Type == "LEFT" || t.Type == "FULL" || t.Kind == "ASOF" {
		mark(right)
	}
}

// literalCondition keeps a comparison of an entity's field with literals: the
// required filter it meets, and the copy that may stand inside the fence.
func (r *resolver) literalCondition(e sqlast.Expr, lv *level, side func(*relation) (met, copied bool)) {
	subject, values, op := comparison(e)
	if subject == nil || slices.ContainsFunc(values, func(v sqlast.Expr) bool { return !isConstant(v) }) {
		return
	}
	h, ok := r.directColumn(subject, lv)
	if !ok {
		return
	}
	met, copied := side(h.rel)
	ref := r.refs[h.rel.ref]
	column := h.col.from[0].name
	if met && op != "<>" {
		ref.meet(column)
	}
	if sql, ok := literalSQL(ref.Entity.Field(column), op, values); ok && copied {
		ref.Conjuncts = append(ref.Conjuncts, Conjunct{Column: column, SQL: sql})
	}
}

// meet marks the required filters on a column as met by this reference.
func (ref *reference) meet(column semantic.Name) {
	for _, f := range ref.Entity.Filters {
		field := f.Field
		if d := ref.Entity.Dimension(field); d != nil && d.Field != "" && ref.Entity.Field(field) == nil {
			field = d.Field
		}
		if f.Kind == semantic.RequiredFilter && field.Key() == column.Key() && !slices.Contains(ref.Met, f.Name) {
			ref.Met = append(ref.Met, f.Name)
		}
	}
}

var comparisonSigns = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
}

var flipped = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

// comparison takes a condition apart: the expression compared, the values, and
// the sign, IN or BETWEEN. subject is nil for any other condition.
func comparison(e sqlast.Expr) (subject sqlast.Expr, values []sqlast.Expr, op string) {
	switch e := e.(type) {
	case *sqlast.Comparison:
		sign := comparisonSigns[e.Op]
		switch {
		case sign == "":
		case isConstant(e.Right):
			return e.Left, []sqlast.Expr{e.Right}, sign
		case isConstant(e.Left):
			return e.Right, []sqlast.Expr{e.Left}, flipped[sign]
		}
	case *sqlast.Between:
		return e.Input, []sqlast.Expr{e.Lower, e.Upper}, "BETWEEN"
	case *sqlast.Operator:
		if e.Op == "COMPARE_IN" && len(e.Args) > 1 {
			return e.Args[0], e.Args[1:], "IN"
		}
	}
	return nil, nil, ""
}

// isLiteral reports a constant, a cast of one, or a negative number.
func isLiteral(e sqlast.Expr) bool {
	switch e := e.(type) {
	case *sqlast.Constant:
		return true
	case *sqlast.Cast:
		return isLiteral(e.Child)
	case *sqlast.Function:
		return e.Name == "-" && len(e.Args) == 1 && isLiteral(e.Args[0])
	}
	return false
}

// constantFunctions make a bound of literals that is the same for every row.
var constantFunctions = []string{
	"+", "-", "to_seconds", "to_minutes", "to_hours", "to_days", "to_weeks", "to_months", "to_quarters", "to_years",
	"trunc", "date_trunc", "make_date", "now", "today", "get_current_timestamp", "current_date",
}

// isConstant reports a bound made of literals, date arithmetic and the clock.
func isConstant(e sqlast.Expr) bool {
	switch e := e.(type) {
	case *sqlast.Constant:
		return !e.Value.IsNull
	case *sqlast.Cast:
		return isConstant(e.Child)
	case *sqlast.ColumnRef:
		// A column of this name would be a column; resolve refuses that mixture.
		return false
	case *sqlast.Function:
		if !slices.Contains(constantFunctions, e.Name) || e.Filter != nil || e.Distinct {
			return false
		}
		return !slices.ContainsFunc(e.Args, func(a sqlast.Expr) bool { return !isConstant(a) })
	}
	return false
}

// literalSQL spells a condition for the inside of a fence. Only literals of the
// field's own type qualify, so that the bound plan shows no cast on the column
// and the condition cannot raise an error.
func literalSQL(f *semantic.Field, op string, values []sqlast.Expr) (string, bool) {
	if f == nil {
		return "", false
	}
	sql := make([]string, len(values))
	for i, v := range values {
		s, ok := typedLiteral(f.Type, v)
		if !ok {
			return "", false
		}
		sql[i] = s
	}
	name := semantic.Quote(string(f.Name))
	switch op {
	case "BETWEEN":
		return name + " BETWEEN " + sql[0] + " AND " + sql[1], true
	case "IN":
		return name + " IN (" + strings.Join(sql, ", ") + ")", true
	}
	return name + " " + op + " " + sql[0], true
}

var integerBits = map[semantic.Type]int{"smallint": 16, "integer": 32, "bigint": 64}

// typedLiteral spells a literal of the type, false for any other expression.
func typedLiteral(t semantic.Type, e sqlast.Expr) (string, bool) {
	if cast, ok := e.(*sqlast.Cast); ok && !cast.Try {
		return temporalLiteral(t, cast)
	}
	c, ok := e.(*sqlast.Constant)
	if !ok || c.Value.IsNull {
		return "", false
	}
	switch {
	case t == "varchar" && c.Value.Type.ID == "VARCHAR":
		var s string
		if json.Unmarshal([]byte(c.Value.Raw), &s) != nil || strings.ContainsRune(s, 0) {
			return "", false
		}
		return semantic.QuoteText(s), true
	case integerBits[t] > 0 && (c.Value.Type.ID == "INTEGER" || c.Value.Type.ID == "BIGINT"):
		if _, err := strconv.ParseInt(c.Value.Raw, 10, integerBits[t]); err != nil {
			return "", false
		}
		return c.Value.Raw, true
	}
	return "", false
}

var (
	dateText      = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	timestampText = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$`)
)

// temporalLiteral spells DATE '...' and TIMESTAMP '...' that name a real day.
func temporalLiteral(t semantic.Type, cast *sqlast.Cast) (string, bool) {
	c, ok := cast.Child.(*sqlast.Constant)
	if !ok || c.Value.Type.ID != "VARCHAR" || !strings.EqualFold(typeWord(cast.Type), string(t)) {
		return "", false
	}
	var s string
	if json.Unmarshal([]byte(c.Value.Raw), &s) != nil {
		return "", false
	}
	switch {
	case t == "date" && dateText.MatchString(s):
		if _, err := time.Parse("2006-01-02", s); err == nil {
			return "DATE '" + s + "'", true
		}
	case t == "timestamp" && dateText.MatchString(s):
		if _, err := time.Parse("2006-01-02", s); err == nil {
			return "TIMESTAMP '" + s + " 00:00:00'", true
		}
	case t == "timestamp" && timestampText.MatchString(s):
		if _, err := time.Parse("2006-01-02 15:04:05", s); err == nil {
			return "TIMESTAMP '" + s + "'", true
		}
	}
	return "", false
}
