package sqlast

import "plumbline/semantic/diag"

// ref reads a table reference and counts the joins of its FROM clause.
func (d *decoder) ref(v any) TableRef {
	t := d.refNode(v)
	if countJoins(t) > MaxJoins {
		d.refuse(diag.LimitTree, "one FROM clause has more than %d joins", MaxJoins)
	}
	return t
}

func countJoins(t TableRef) int {
	switch t := t.(type) {
	case *JoinRef:
		return 1 + countJoins(t.Left) + countJoins(t.Right)
	case *PivotRef:
		return countJoins(t.Source)
	}
	return 0
}

func (d *decoder) refNode(v any) TableRef {
	o := d.object(v, "table reference")
	defer d.enter()()
	base := RefBase{Alias: o.str("alias"), Sample: d.sample(o.get("sample")), At: o.place()}
	var t TableRef
	switch kind := o.word("type"); kind {
	case "EMPTY":
		t = &EmptyRef{base}
	case "BASE_TABLE":
		t = d.baseTable(o, base)
	case "JOIN":
		t = d.join(o, base)
	case "SUBQUERY":
		t = &SubqueryRef{base, d.wrapped(o.get("subquery"), "subquery"), o.strs("column_name_alias")}
	case "TABLE_FUNCTION":
		t = d.tableFunction(o, base)
	case "EXPRESSION_LIST":
		t = d.values(o, base)
	case "PIVOT":
		t = d.pivot(o, base)
	case "SHOW_REF":
		t = d.show(o, base)
	default:
		d.unknown("table reference", kind)
	}
	o.done()
	return t
}

func (d *decoder) baseTable(o *object, base RefBase) TableRef {
	t := &BaseTable{RefBase: base, Catalog: o.str("catalog_name"), Schema: o.str("schema_name"), Table: o.str("table_name"),
		ColumnAliases: o.strs("column_name_alias")}
	if o.get("at_clause") != nil {
		d.refuse(diag.UnsupportedNode, "time travel (AT) is not supported")
	}
	return t
}

func (d *decoder) join(o *object, base RefBase) TableRef {
	t := &JoinRef{RefBase: base,
		Type: o.enum("join_type", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"),
		Kind: o.enum("ref_type", "REGULAR", "CROSS", "NATURAL", "ASOF", "POSITIONAL"),
		Left: d.refNode(o.get("left")), Right: d.refNode(o.get("right")),
		Condition: d.optional(o.get("condition")), Using: o.strs("using_columns"), Implicit: o.boolean("is_implicit")}
	o.empty("duplicate_eliminated_columns")
	if o.boolean("delim_flipped") {
		o.bad("delim_flipped")
	}
	return t
}

func (d *decoder) tableFunction(o *object, base RefBase) TableRef {
	f, ok := d.expr(o.get("function")).(*Function)
	if !ok {
		o.bad("function")
	}
	return &TableFunction{base, f, o.strs("column_name_alias"),
		o.enum("with_ordinality", "WITHOUT_ORDINALITY", "WITH_ORDINALITY") == "WITH_ORDINALITY"}
}

func (d *decoder) values(o *object, base RefBase) TableRef {
	t := &ValuesRef{RefBase: base, ExpectedNames: o.strs("expected_names")}
	o.empty("expected_types")
	for _, v := range o.list("values") {
		row, ok := v.([]any)
		if !ok {
			o.bad("values")
		}
		t.Rows = append(t.Rows, d.exprs(row))
	}
	return t
}

func (d *decoder) pivot(o *object, base RefBase) TableRef {
	return &PivotRef{RefBase: base,
		Source:     d.refNode(o.get("source")),
		Aggregates: d.exprs(o.list("aggregates")), UnpivotNames: o.strs("unpivot_names"),
		Pivots: objects(o, "pivots", "pivot column", d.pivotColumn),
		Groups: o.strs("groups"), ColumnAliases: o.strs("column_name_alias"), IncludeNulls: o.boolean("include_nulls")}
}

func (d *decoder) pivotColumn(o *object) PivotColumn {
	return PivotColumn{Exprs: d.exprs(o.list("pivot_expressions")), UnpivotNames: o.strs("unpivot_names"),
		Entries: objects(o, "entries", "pivot entry", func(o *object) PivotEntry {
			e := PivotEntry{Star: d.optional(o.get("star_expr")), Alias: o.str("alias")}
			for _, v := range o.list("values") {
				e.Values = append(e.Values, d.value(v))
			}
			return e
		}), Enum: o.str("pivot_enum")}
}

// show keeps what was asked for by name; the query inside is never run, so it is
// only read as far as the name goes.
func (d *decoder) show(o *object, base RefBase) TableRef {
	t := &ShowRef{RefBase: base, ShowType: o.enum("show_type", "DESCRIBE", "SHOW_FROM", "SHOW_UNQUALIFIED", "SUMMARY"), Table: o.str("table_name")}
	o.str("catalog_name")
	o.str("schema_name")
	o.get("query")
	return t
}

// value reads a literal.
func (d *decoder) value(v any) Value {
	o := d.object(v, "value")
	val := Value{Type: d.typeName(o.get("type")), IsNull: o.boolean("is_null")}
	if !val.IsNull {
		val.Raw = writeJSON(o.get("value"))
	}
	o.done()
	return val
}

// typeName reads {id, type_info}; a written type stands there as an expression.
func (d *decoder) typeName(v any) TypeName {
	o := d.object(v, "type")
	t := TypeName{ID: o.str("id")}
	info := o.get("type_info")
	o.done()
	if info == nil {
		return t
	}
	if t.ID != "UNBOUND" {
		t.Info = writeJSON(info)
		return t
	}
	u := d.object(info, "written type")
	t.Expr = d.expr(u.get("expr"))
	u.enum("type", "UNBOUND_TYPE_INFO")
	if u.str("alias") != "" || u.get("extension_info") != nil {
		u.bad("alias")
	}
	u.done()
	return t
}
