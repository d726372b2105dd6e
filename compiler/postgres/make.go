package postgres

import (
	"encoding/json"
	"math"
	"strconv"

	"plumbline/compiler/sqlast"
)

// The parts of a meant tree, in the form in which DuckDB reads them.

func at(place int) sqlast.ExprBase { return sqlast.ExprBase{At: sqlast.Offset(place)} }

var nowhere = sqlast.ExprBase{At: sqlast.NoOffset}

func text(s string) sqlast.Expr {
	raw, _ := json.Marshal(s) // a string is always JSON
	return &sqlast.Constant{ExprBase: nowhere, Value: sqlast.Value{Type: sqlast.TypeName{ID: "VARCHAR"}, Raw: string(raw)}}
}

func number(n int64) sqlast.Expr {
	id := "INTEGER"
	switch {
	case n == math.MinInt64: // its digits alone are no BIGINT
		return cast(text(strconv.FormatInt(n, 10)), "BIGINT")
	case n != int64(int32(n)), n == math.MinInt32:
		id = "BIGINT"
	}
	return &sqlast.Constant{ExprBase: nowhere, Value: sqlast.Value{Type: sqlast.TypeName{ID: id}, Raw: strconv.FormatInt(n, 10)}}
}

func null() sqlast.Expr {
	return &sqlast.Constant{ExprBase: nowhere, Value: sqlast.Value{Type: sqlast.TypeName{ID: "NULL"}, IsNull: true}}
}

func boolean(b bool) sqlast.Expr {
	return cast(text(map[bool]string{true: "t", false: "f"}[b]), "BOOLEAN")
}

func column(place int, names ...string) sqlast.Expr {
	return &sqlast.ColumnRef{ExprBase: at(place), Names: names}
}

func call(name string, args ...sqlast.Expr) sqlast.Expr {
	return &sqlast.Function{ExprBase: nowhere, Name: name, Args: args}
}

func op(name string, args ...sqlast.Expr) sqlast.Expr {
	return &sqlast.Function{ExprBase: nowhere, Name: name, Args: args, IsOperator: true}
}

func compare(op string, a, b sqlast.Expr) sqlast.Expr {
	return &sqlast.Comparison{ExprBase: nowhere, Op: op, Left: a, Right: b}
}

func equals(a, b sqlast.Expr) sqlast.Expr { return compare("COMPARE_EQUAL", a, b) }

func less(a, b sqlast.Expr) sqlast.Expr { return compare("COMPARE_LESSTHAN", a, b) }

func and(args ...sqlast.Expr) sqlast.Expr { return conjunction("CONJUNCTION_AND", args) }

func or(args ...sqlast.Expr) sqlast.Expr { return conjunction("CONJUNCTION_OR", args) }

// conjunction is flat, as DuckDB reads AND within AND, and OR within OR.
func conjunction(op string, args []sqlast.Expr) sqlast.Expr {
	if len(args) == 1 {
		return args[0]
	}
	out := &sqlast.Conjunction{ExprBase: nowhere, Op: op}
	for _, a := range args {
		if inner, ok := a.(*sqlast.Conjunction); ok && inner.Op == op {
			out.Args = append(out.Args, inner.Args...)
			continue
		}
		out.Args = append(out.Args, a)
	}
	return out
}

func operator(op string, args ...sqlast.Expr) sqlast.Expr {
	return &sqlast.Operator{ExprBase: nowhere, Op: op, Args: args}
}

// negated are the operations that DuckDB's parser turns round behind NOT.
var negated = map[string]string{
	"COMPARE_EQUAL": "COMPARE_NOTEQUAL", "COMPARE_NOTEQUAL": "COMPARE_EQUAL", "COMPARE_LESSTHAN": "COMPARE_GREATERTHANOREQUALTO",
	"COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHAN", "COMPARE_GREATERTHAN": "COMPARE_LESSTHANOREQUALTO",
	"COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHAN", "COMPARE_DISTINCT_FROM": "COMPARE_NOT_DISTINCT_FROM",
	"COMPARE_NOT_DISTINCT_FROM": "COMPARE_DISTINCT_FROM",
}

func not(e sqlast.Expr) sqlast.Expr {
	switch e := e.(type) {
	case *sqlast.Comparison:
		return &sqlast.Comparison{ExprBase: e.ExprBase, Op: negated[e.Op], Left: e.Left, Right: e.Right}
	case *sqlast.Operator:
		if e.Op == "COMPARE_IN" {
			return &sqlast.Operator{ExprBase: e.ExprBase, Op: "COMPARE_NOT_IN", Args: e.Args}
		}
	}
	return operator("OPERATOR_NOT", e)
}

func isNull(e sqlast.Expr) sqlast.Expr { return operator("OPERATOR_IS_NULL", e) }

func coalesce(args ...sqlast.Expr) sqlast.Expr { return operator("OPERATOR_COALESCE", args...) }

// when is CASE WHEN condition THEN a ELSE b END.
func when(condition, a, b sqlast.Expr) sqlast.Expr {
	return &sqlast.Case{ExprBase: nowhere, Checks: []sqlast.CaseCheck{{When: condition, Then: a}}, Else: b}
}

func cast(e sqlast.Expr, to string, args ...int) sqlast.Expr {
	t := &sqlast.TypeExpr{ExprBase: nowhere, Name: to}
	for _, a := range args {
		t.Args = append(t.Args, number(int64(a)))
	}
	return &sqlast.Cast{ExprBase: nowhere, Child: e, Type: sqlast.TypeName{ID: "UNBOUND", Expr: t}}
}

func decimal(e sqlast.Expr, width, scale int) sqlast.Expr { return cast(e, "DECIMAL", width, scale) }

// failing is an expression of a DuckDB type that fails whenever it is computed;
// witness is not null there. A constant would fail before any row is looked at.
func failing(witness sqlast.Expr, to string) sqlast.Expr {
	message := op("||", text("no value for "), cast(witness, "VARCHAR"))
	if to == "VARCHAR" {
		message = cast(message, "BIGINT")
	}
	return cast(message, to)
}

// guarded gives e where the condition holds, and fails where it does not; where
// the condition is null, e is.
func guarded(condition, e, witness sqlast.Expr, to string) sqlast.Expr {
	return when(not(condition), failing(witness, to), e)
}

// unquoted gives the text of a constant's JSON.
func unquoted(raw string) string {
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // text made it
	return s
}
