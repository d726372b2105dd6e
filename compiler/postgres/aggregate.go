package postgres

import (
	"strconv"

	"plumbline/compiler/sqlast"
)

// aggregateOf is one aggregate while its function gives it a value. over makes the
// call with all that stands beside the arguments: DISTINCT, ORDER BY, FILTER, OVER.
type aggregateOf struct {
	scalarCall
	over func(duck string, args ...sqlast.Expr) sqlast.Expr
}

func (t *translator) aggregateCall(name string, f *funcCall, s *scope) value {
	if f.Within {
		return t.orderedSet(name, f, s)
	}
	var filter sqlast.Expr
	if f.Filter.v != nil {
		filter = t.condition(f.Filter, s)
	}
	var orders []sqlast.Order
	for _, n := range f.Order {
		by := n.v.(*sortBy)
		orders = append(orders, t.order(by, t.sorted(t.expr(by.Node, s)).e))
	}
	if name != "array_agg" && name != "string_agg" {
		orders = nil // the others do not depend on it
	}
	return t.aggregate(name, f, s, func(duck string, args ...sqlast.Expr) sqlast.Expr {
		return &sqlast.Function{ExprBase: at(f.Location), Name: duck, Args: args, Distinct: f.Distinct, Filter: filter, OrderBy: orders}
	})
}

func (t *translator) aggregate(name string, f *funcCall, s *scope, over func(string, ...sqlast.Expr) sqlast.Expr) value {
	c := &aggregateOf{scalarCall{t: t, name: name, at: f.Location, args: t.exprs(f.Args, s)}, over}
	build := aggregates[name]
	if build == nil {
		t.refuse(f.Location, "docs/postgres.md lists the functions that are read", "the aggregate %q is not supported", name)
	}
	if name == "count" && (f.Star != (len(f.Args) == 0) || f.Star && f.Distinct) {
		t.refuse(f.Location, "write count(*) or count(x)", "count takes one argument")
	}
	for i, a := range c.args {
		if a.t == tUnknown && name == "array_agg" {
			t.refuse(f.Location, "cast it", "PostgreSQL does not tell the type of this argument of %s", name)
		}
		c.args[i] = t.known(a)
		if f.Distinct {
			t.grouped(a)
		}
	}
	v := build(c)
	v.at = f.Location
	return v
}

var aggregates map[string]func(*aggregateOf) value

func init() {
	aggregates = map[string]func(*aggregateOf) value{
		"count": count, "sum": sum, "avg": avg, "min": extreme, "max": extreme,
		"bool_and": allOf, "bool_or": allOf, "every": allOf, "string_agg": stringAgg, "array_agg": arrayAgg,
		"stddev": spread, "stddev_samp": spread, "stddev_pop": spread, "variance": spread, "var_samp": spread, "var_pop": spread,
		"covar_pop": covariance, "covar_samp": covariance, "bit_and": bitsOf, "bit_or": bitsOf,
	}
}

func count(c *aggregateOf) value {
	c.takes(0, 1)
	if len(c.args) == 0 {
		return exactly(tInt8, c.over("count_star"))
	}
	return exactly(tInt8, c.over("count", c.args[0].e))
}

// sum adds up in the type that PostgreSQL adds up in.
func sum(c *aggregateOf) value {
	c.takes(1, 1)
	v := c.args[0]
	switch {
	case v.t == tInt8:
		return typed(tNumeric, decimal(c.over("sum", v.e), maxDigits, 0))
	case isInteger(v.t):
		return exactly(tInt8, cast(c.over("sum", v.e), "BIGINT"))
	case v.t == tNumeric, v.t == tFloat8:
		return value{t: v.t, scale: v.scale, approx: v.approx, padded: v.padded, e: c.over("sum", v.e)}
	}
	c.bad(0)
	return value{}
}

// avg is the quotient of a sum and a count, of double precision until it is rounded.
func avg(c *aggregateOf) value {
	c.takes(1, 1)
	v := c.args[0]
	switch {
	case v.t == tFloat8:
		return typed(tFloat8, c.over("avg", v.e))
	case !isNumber(v.t):
		c.bad(0)
	}
	out := value{t: tNumeric, approx: true, e: c.over("avg", v.e)}
	if !v.approx {
		total := value{t: tNumeric, scale: v.scale, e: c.over("sum", v.e)}
		out.setQuotient(total, value{t: tInt8, e: c.over("count", v.e), exact: true, counted: true})
	}
	return out
}

func extreme(c *aggregateOf) value {
	c.takes(1, 1)
	v := c.args[0]
	if v.t == tBool || v.t == tUUID || v.t == tInterval {
		c.bad(0)
	}
	c.t.ordered(v)
	return value{t: v.t, scale: v.scale, approx: v.approx, padded: v.padded, exact: v.exact, e: c.over(c.name, v.e)}
}

func allOf(c *aggregateOf) value {
	c.takes(1, 1)
	duck := c.name
	if duck == "every" {
		duck = "bool_and"
	}
	return typed(tBool, c.over(duck, c.t.implicit(c.args[0], tBool).e))
}

func stringAgg(c *aggregateOf) value {
	c.takes(2, 2)
	if _, ok := c.args[1].e.(*sqlast.Constant); !ok {
		c.refuse("", "string_agg takes a delimiter that is written out")
	}
	return typed(tText, c.over("string_agg", c.text(0), c.text(1)))
}

func arrayAgg(c *aggregateOf) value {
	c.takes(1, 1)
	v := c.args[0]
	if v.t == tOpaque || v.t == tJSON || elementOf(v.t) != "" || v.t == tNumeric && (v.approx || v.padded) {
		c.bad(0)
	}
	return typed(v.t+"[]", c.over("array_agg", v.e))
}

// spread is a standard deviation or a variance.
func spread(c *aggregateOf) value {
	c.takes(1, 1)
	duck := map[string]string{"stddev": "stddev_samp", "variance": "var_samp"}[c.name]
	if duck == "" {
		duck = c.name
	}
	if c.args[0].t != tFloat8 { // of exact numbers PostgreSQL computes it exactly
		c.refuse("cast it to double precision", "%s of %s is not supported", c.name, c.args[0].t)
	}
	return typed(tFloat8, c.over(duck, c.double(0)))
}

func covariance(c *aggregateOf) value {
	c.takes(2, 2)
	return typed(tFloat8, c.over(c.name, c.double(0), c.double(1)))
}

func bitsOf(c *aggregateOf) value {
	c.takes(1, 1)
	if !isInteger(c.args[0].t) {
		c.bad(0)
	}
	return exactly(c.args[0].t, c.over(c.name, fixed(c.args[0])))
}

// orderedSet reads percentile_cont and percentile_disc.
func (t *translator) orderedSet(name string, f *funcCall, s *scope) value {
	if name != "percentile_cont" && name != "percentile_disc" || len(f.Args) != 1 || len(f.Order) != 1 {
		t.refuse(f.Location, "", "%s WITHIN GROUP is not supported", name)
	}
	fraction := t.fraction(f)
	by := f.Order[0].v.(*sortBy)
	if by.Dir == "SORTBY_DESC" || by.Nulls != "SORTBY_NULLS_DEFAULT" {
		t.refuse(f.Location, "order ascending, and take 1 minus the fraction", "%s is computed in ascending order", name)
	}
	var filter sqlast.Expr
	if f.Filter.v != nil {
		filter = t.condition(f.Filter, s)
	}
	v := t.expr(by.Node, s)
	if v.t == tUnknown {
		t.refuse(f.Location, "cast it", "PostgreSQL does not tell the type of this argument of %s", name)
	}
	t.ordered(v)
	out := value{t: v.t, at: f.Location, scale: v.scale, approx: v.approx, padded: v.padded}
	e, duck := v.e, "quantile_disc"
	if name == "percentile_cont" {
		if !isNumber(v.t) {
			t.refuse(f.Location, "", "%s of %s is not supported", name, v.t)
		}
		e, duck = t.toDouble(v, f.Location), "quantile_cont"
		out = value{t: tFloat8, at: f.Location}
	}
	out.e = &sqlast.Function{ExprBase: at(f.Location), Name: duck, Args: []sqlast.Expr{e, fraction}, Filter: filter}
	return out
}

func (t *translator) fraction(f *funcCall) sqlast.Expr {
	c, ok := f.Args[0].v.(*constant)
	digits := ""
	switch {
	case ok && c.Float != nil:
		digits = c.Float.V
	case ok && c.Int != nil:
		digits = strconv.FormatInt(c.Int.V, 10)
	}
	if n, err := strconv.ParseFloat(digits, 64); err != nil || n < 0 || n > 1 {
		t.refuse(f.Location, "", "a percentile takes a fraction from 0 to 1 that is written out")
	}
	return cast(text(digits), "DOUBLE")
}

// windowOnly are the functions that only stand before OVER.
var windowOnly = map[string]struct{ kind, t string }{
	"row_number": {"WINDOW_ROW_NUMBER", tInt8}, "rank": {"WINDOW_RANK", tInt8}, "dense_rank": {"WINDOW_RANK_DENSE", tInt8},
	"percent_rank": {"WINDOW_PERCENT_RANK", tFloat8}, "cume_dist": {"WINDOW_CUME_DIST", tFloat8}, "ntile": {"WINDOW_NTILE", tInt4},
	"lag": {"WINDOW_LAG", ""}, "lead": {"WINDOW_LEAD", ""}, "first_value": {"WINDOW_FIRST_VALUE", ""},
	"last_value": {"WINDOW_LAST_VALUE", ""}, "nth_value": {"WINDOW_NTH_VALUE", ""},
}

func (t *translator) windowCall(name string, f *funcCall, s *scope) value {
	if f.Distinct || len(f.Order) > 0 || f.Within {
		t.refuse(f.Location, "", "DISTINCT and ORDER BY inside a window function are not supported")
	}
	if windowOnly[name].kind != "" {
		return t.ranking(name, f, s)
	}
	return t.aggregate(name, f, s, func(duck string, args ...sqlast.Expr) sqlast.Expr {
		w := t.window(f.Over, s)
		w.At, w.Kind, w.Name, w.Args = sqlast.Offset(f.Location), "WINDOW_AGGREGATE", duck, args
		if duck == "count_star" {
			w.Name = "count"
		}
		if f.Filter.v != nil {
			w.Filter = t.condition(f.Filter, s)
		}
		return w
	})
}

func (t *translator) ranking(name string, f *funcCall, s *scope) value {
	spec := windowOnly[name]
	c := &scalarCall{t: t, name: name, at: f.Location, args: t.exprs(f.Args, s)}
	if f.Filter.v != nil {
		c.refuse("", "FILTER behind %s is not supported", name)
	}
	w := t.window(f.Over, s)
	w.At, w.Kind, w.Name = sqlast.Offset(f.Location), spec.kind, name
	out := value{t: spec.t, at: f.Location, e: w, exact: spec.t == tInt8}
	switch name {
	case "ntile":
		c.takes(1, 1)
		w.Args = []sqlast.Expr{number(c.count(0, 1))}
		return out
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
		c.takes(0, 0)
		return out
	}
	if len(c.args) > 0 && c.args[0].t == tUnknown {
		c.refuse("cast it", "PostgreSQL does not tell the type of this argument of %s", name)
	}
	c.takes(1, map[string]int{"lag": 3, "lead": 3, "nth_value": 2, "first_value": 1, "last_value": 1}[name])
	v := t.known(c.args[0])
	if len(c.args) > 2 {
		_, both := t.common("the value and the default of "+name, f.Location, []value{v, c.args[2]})
		if both[0].t != v.t {
			c.refuse("cast it", "the default of %s has another type than the value", name)
		}
		w.DefaultExpr = both[1].e
	}
	w.Args = []sqlast.Expr{v.e}
	switch {
	case name == "nth_value":
		c.takes(2, 2)
		w.Args = append(w.Args, number(c.count(1, 1)))
	case len(c.args) > 1:
		w.OffsetExpr = number(c.count(1, 0))
	}
	return value{t: v.t, at: f.Location, e: w, exact: v.exact, scale: v.scale, padded: v.padded, approx: v.approx}
}

// The bits of PostgreSQL's frameOptions.
const (
	frameNonDefault = 1 << iota
	frameRange
	frameRows
	frameGroups
	frameBetween
	frameStartUnbounded
	_
	_
	frameEndUnbounded
	frameStartCurrent
	frameEndCurrent
	frameStartPreceding
	frameEndPreceding
	frameStartFollowing
	frameEndFollowing
	frameExclude = 0x8000 | 0x10000 | 0x20000
)

// window reads what stands in OVER.
func (t *translator) window(d *windowDef, s *scope) *sqlast.Window {
	if d.Name != "" {
		if d = s.window(d.Name); d == nil {
			t.refuse(-1, "", "OVER names a window that WINDOW does not define")
		}
	}
	if d.Ref != "" {
		t.refuse(d.Location, "write the whole window", "a window that adds to another is not supported")
	}
	w := &sqlast.Window{Start: "UNBOUNDED_PRECEDING", End: "CURRENT_ROW_RANGE", Exclude: "NO_OTHER"}
	for _, n := range d.Partition {
		v := t.known(t.expr(n, s))
		t.grouped(v)
		w.Partitions = append(w.Partitions, v.e)
	}
	for _, n := range d.Order {
		by := n.v.(*sortBy)
		w.Orders = append(w.Orders, t.order(by, t.sorted(t.expr(by.Node, s)).e))
	}
	if d.Frame&frameNonDefault != 0 {
		t.frame(d, w, s)
	}
	return w
}

func (t *translator) frame(d *windowDef, w *sqlast.Window, s *scope) {
	unit := map[int]string{frameRange: "RANGE", frameRows: "ROWS", frameGroups: "GROUPS"}[d.Frame&(frameRange|frameRows|frameGroups)]
	offset := func(n node) sqlast.Expr {
		v := t.expr(n, s)
		if unit == "RANGE" || v.whole == nil || *v.whole < 0 {
			t.refuse(d.Location, "count ROWS with a number", "this frame of a window is not supported")
		}
		return v.e
	}
	bound := func(unbounded, current, preceding, following int, word string, n node) (string, sqlast.Expr) {
		switch {
		case d.Frame&unbounded != 0:
			return "UNBOUNDED_" + word, nil
		case d.Frame&current != 0:
			return "CURRENT_ROW_" + unit, nil
		case d.Frame&preceding != 0:
			return "EXPR_PRECEDING_" + unit, offset(n)
		case d.Frame&following != 0:
			return "EXPR_FOLLOWING_" + unit, offset(n)
		}
		t.refuse(d.Location, "", "this frame of a window is not supported")
		return "", nil
	}
	if d.Frame&frameExclude != 0 {
		t.refuse(d.Location, "", "EXCLUDE in a window is not supported")
	}
	w.Start, w.StartExpr = bound(frameStartUnbounded, frameStartCurrent, frameStartPreceding, frameStartFollowing, "PRECEDING", d.Start)
	w.End, w.EndExpr = bound(frameEndUnbounded, frameEndCurrent, frameEndPreceding, frameEndFollowing, "FOLLOWING", d.End)
}
