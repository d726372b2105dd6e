package sqlast

import (
	"cmp"
	"slices"

	"plumbline/semantic/diag"
)

func (d *decoder) exprs(list []any) []Expr {
	var out []Expr
	for _, v := range list {
		out = append(out, d.expr(v))
	}
	return out
}

func (d *decoder) optional(v any) Expr {
	if v == nil {
		return nil
	}
	return d.expr(v)
}

// exprTypes names the types that each class of the tree may have.
var exprTypes = map[string][]string{
	"COLUMN_REF": {"COLUMN_REF"},
	"CONSTANT":   {"VALUE_CONSTANT"},
	"FUNCTION":   {"FUNCTION"},
	"WINDOW": {"WINDOW_AGGREGATE", "WINDOW_CUME_DIST", "WINDOW_FILL", "WINDOW_FIRST_VALUE", "WINDOW_LAG", "WINDOW_LAST_VALUE",
		"WINDOW_LEAD", "WINDOW_NTH_VALUE", "WINDOW_NTILE", "WINDOW_PERCENT_RANK", "WINDOW_RANK", "WINDOW_RANK_DENSE", "WINDOW_ROW_NUMBER"},
	"COMPARISON": {"COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN", "COMPARE_LESSTHANOREQUALTO",
		"COMPARE_GREATERTHANOREQUALTO", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM"},
	"CONJUNCTION": {"CONJUNCTION_AND", "CONJUNCTION_OR"},
	"OPERATOR": {"ARRAY_CONSTRUCTOR", "ARRAY_EXTRACT", "ARRAY_SLICE", "COMPARE_IN", "COMPARE_NOT_IN", "GROUPING_FUNCTION", "OPERATOR_COALESCE",
		"OPERATOR_IS_NOT_NULL", "OPERATOR_IS_NULL", "OPERATOR_NOT", "OPERATOR_TRY", "OPERATOR_UNPACK", "STRUCT_EXTRACT"},
	"BETWEEN":              {"COMPARE_BETWEEN"},
	"CASE":                 {"CASE_EXPR"},
	"CAST":                 {"OPERATOR_CAST"},
	"COLLATE":              {"COLLATE"},
	"STAR":                 {"STAR"},
	"SUBQUERY":             {"SUBQUERY"},
	"LAMBDA":               {"LAMBDA"},
	"POSITIONAL_REFERENCE": {"POSITIONAL_REFERENCE"},
	"PARAMETER":            {"VALUE_PARAMETER"},
	"TYPE":                 {"TYPE"},
	"DEFAULT":              {"VALUE_DEFAULT"},
}

func (d *decoder) expr(v any) Expr {
	o := d.object(v, "expression")
	defer d.enter()()
	base := ExprBase{Alias: o.str("alias"), At: o.place()}
	class, kind := o.word("class"), o.word("type")
	i := slices.Index(exprTypes[class], kind)
	if i < 0 {
		d.unknown("expression", class+"/"+kind)
	}
	o.kind = class
	e := d.exprOf(class, exprTypes[class][i], o, base)
	o.done()
	return e
}

func (d *decoder) exprOf(class, kind string, o *object, b ExprBase) Expr {
	switch class {
	case "COLUMN_REF":
		return d.columnRef(o, b)
	case "CONSTANT":
		return &Constant{b, d.value(o.get("value"))}
	case "FUNCTION":
		return d.function(o, b)
	case "WINDOW":
		return d.window(o, b, kind)
	case "COMPARISON":
		return &Comparison{b, kind, d.expr(o.get("left")), d.expr(o.get("right"))}
	case "CONJUNCTION":
		return d.conjunction(o, b, kind)
	case "OPERATOR":
		return d.operator(o, b, kind)
	case "BETWEEN":
		return &Between{b, d.expr(o.get("input")), d.expr(o.get("lower")), d.expr(o.get("upper"))}
	case "CASE":
		return d.caseExpr(o, b)
	case "CAST":
		return &Cast{b, d.expr(o.get("child")), d.typeName(o.get("cast_type")), o.boolean("try_cast")}
	case "COLLATE":
		return &Collate{b, d.expr(o.get("child")), o.str("collation")}
	case "STAR":
		return d.star(o, b)
	case "SUBQUERY":
		return d.subquery(o, b)
	case "LAMBDA":
		return &Lambda{b, d.expr(o.get("lhs")), d.expr(o.get("expr")), o.enum("syntax_type", "SINGLE_ARROW", "LAMBDA_KEYWORD")}
	case "POSITIONAL_REFERENCE":
		return &Positional{b, o.integer("index")}
	case "TYPE":
		return &TypeExpr{b, o.str("catalog"), o.str("schema"), o.str("type_name"), d.exprs(o.list("children"))}
	case "PARAMETER":
		panic(&refusal{parameter(d.text)})
	}
	d.refuse(diag.UnsupportedNode, "the word DEFAULT is not supported as a value")
	return nil
}

func (d *decoder) columnRef(o *object, b ExprBase) Expr {
	c := &ColumnRef{b, o.strs("column_names")}
	if len(c.Names) == 0 {
		o.bad("column_names")
	}
	return c
}

func (d *decoder) function(o *object, b ExprBase) Expr {
	return &Function{ExprBase: b, Catalog: o.str("catalog"), Schema: o.str("schema"), Name: o.str("function_name"),
		Args: d.exprs(o.list("children")), Distinct: o.boolean("distinct"), Filter: d.optional(o.get("filter")),
		OrderBy: d.orderBy(o.get("order_bys")), IsOperator: o.boolean("is_operator"), ExportState: o.boolean("export_state")}
}

func (d *decoder) orderBy(v any) []Order {
	o := d.object(v, "order_bys")
	o.enum("type", "ORDER_MODIFIER")
	orders := objects(o, "orders", "order", d.order)
	o.done()
	return orders
}

func (d *decoder) window(o *object, b ExprBase, kind string) Expr {
	return &Window{ExprBase: b, Kind: kind, Catalog: o.str("catalog"), Schema: o.str("schema"), Name: o.str("function_name"),
		Args: d.exprs(o.list("children")), Partitions: d.exprs(o.list("partitions")),
		Orders: objects(o, "orders", "order", d.order), ArgOrders: objects(o, "arg_orders", "order", d.order),
		Start: o.enum("start", boundaries...), End: o.enum("end", boundaries...),
		StartExpr: d.optional(o.get("start_expr")), EndExpr: d.optional(o.get("end_expr")),
		OffsetExpr: d.optional(o.get("offset_expr")), DefaultExpr: d.optional(o.get("default_expr")),
		Filter: d.optional(o.get("filter_expr")), IgnoreNulls: o.boolean("ignore_nulls"), Distinct: o.boolean("distinct"),
		Exclude: o.enum("exclude_clause", "NO_OTHER", "CURRENT_ROW", "GROUP", "TIES")}
}

var boundaries = []string{"UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING",
	"CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS", "CURRENT_ROW_GROUPS",
	"EXPR_PRECEDING_RANGE", "EXPR_PRECEDING_ROWS", "EXPR_PRECEDING_GROUPS",
	"EXPR_FOLLOWING_RANGE", "EXPR_FOLLOWING_ROWS", "EXPR_FOLLOWING_GROUPS"}

func (d *decoder) conjunction(o *object, b ExprBase, kind string) Expr {
	list := o.list("children")
	if len(list) > MaxWidth {
		d.refuse(diag.LimitTree, "one AND or OR has more than %d operands", MaxWidth)
	}
	return &Conjunction{b, kind, d.exprs(list)}
}

func (d *decoder) operator(o *object, b ExprBase, kind string) Expr {
	list := o.list("children")
	if (kind == "COMPARE_IN" || kind == "COMPARE_NOT_IN") && len(list) > MaxList+1 {
		d.refuse(diag.LimitTree, "one IN list has more than %d items", MaxList)
	}
	return &Operator{b, kind, d.exprs(list)}
}

func (d *decoder) caseExpr(o *object, b ExprBase) Expr {
	checks := objects(o, "case_checks", "case check", func(o *object) CaseCheck {
		return CaseCheck{d.expr(o.get("when_expr")), d.expr(o.get("then_expr"))}
	})
	return &Case{b, checks, d.optional(o.get("else_expr"))}
}

// star sorts EXCLUDE, REPLACE and RENAME by name: DuckDB keeps them unordered.
// A star that is not written has place 0 there, where none can stand; selectNode
// finds its own.
func (d *decoder) star(o *object, b ExprBase) Expr {
	s := &Star{ExprBase: b, Relation: o.str("relation_name"), Exclude: o.set("exclude_list"),
		QualifiedExclude: objects(o, "qualified_exclude_list", "qualified name", qualifiedName),
		Replace: objects(o, "replace_list", "replacement", func(o *object) Named {
			return Named{o.str("key"), d.expr(o.get("value"))}
		}),
		Rename: objects(o, "rename_list", "renaming", func(o *object) Rename {
			key := d.object(o.get("key"), "qualified name")
			from := qualifiedName(key)
			key.done()
			return Rename{from, o.str("value")}
		}),
		Columns: o.boolean("columns"), Expr: d.optional(o.get("expr"))}
	slices.SortFunc(s.QualifiedExclude, compareNames)
	slices.SortFunc(s.Replace, func(a, b Named) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Rename, func(a, b Rename) int { return compareNames(a.From, b.From) })
	return s
}

func qualifiedName(o *object) QualifiedName {
	return QualifiedName{o.str("catalog"), o.str("schema"), o.str("table"), o.str("column")}
}

func compareNames(a, b QualifiedName) int {
	return cmp.Or(cmp.Compare(a.Catalog, b.Catalog), cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column))
}

func (d *decoder) subquery(o *object, b ExprBase) Expr {
	return &Subquery{ExprBase: b, Kind: o.enum("subquery_type", "SCALAR", "EXISTS", "NOT_EXISTS", "ANY"),
		Comparison: o.enum("comparison_type", append([]string{"INVALID"}, exprTypes["COMPARISON"]...)...),
		Child:      d.optional(o.get("child")), Query: d.wrapped(o.get("subquery"), "subquery")}
}
