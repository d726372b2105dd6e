package postgres

import "reflect"

// nameOf gives the name of a result column without AS, as PostgreSQL's
// FigureColname does, and how sure it is of it: 2 for a column or a function, 1
// for a type or CASE, 0 for none.
func nameOf(n node) (string, int) {
	last := func(list []node) string {
		s, _ := list[len(list)-1].v.(*stringNode)
		if s == nil {
			return ""
		}
		return s.Val
	}
	switch n := n.v.(type) {
	case *columnRef:
		return last(n.Fields), 2
	case *indirection:
		for i := len(n.Path) - 1; i >= 0; i-- {
			if s, ok := n.Path[i].v.(*stringNode); ok {
				return s.Val, 2
			}
		}
		return nameOf(n.Arg)
	case *funcCall:
		return last(n.Name), 2
	case *operatorExpr:
		if n.Kind == "AEXPR_NULLIF" {
			return "nullif", 2
		}
	case *typeCast:
		if name, sure := nameOf(n.Arg); sure > 1 || n.Type == nil {
			return name, sure
		}
		return last(n.Type.Names), 1
	case *collateClause:
		return nameOf(n.Arg)
	case *groupingFunc:
		return "grouping", 2
	case *caseExpr:
		if name, sure := nameOf(n.Else); sure > 1 {
			return name, sure
		}
		return "case", 1
	case *coalesceExpr:
		return "coalesce", 2
	case *minMaxExpr:
		return map[string]string{"IS_GREATEST": "greatest", "IS_LEAST": "least"}[n.Op], 2
	case *arrayExpr:
		return "array", 2
	case *rowExpr:
		return "row", 2
	case *valueFunction:
		return valueFunctions[n.Op].label, 2
	case *subLink:
		return nameOfQuery(n)
	}
	return "?column?", 0
}

func nameOfQuery(n *subLink) (string, int) {
	switch n.Type {
	case "EXISTS_SUBLINK":
		return "exists", 2
	case "EXPR_SUBLINK":
		q, ok := n.Query.v.(*selectStmt)
		for ok && q.Left != nil {
			q = q.Left
		}
		if !ok || len(q.Targets) == 0 {
			break
		}
		first := q.Targets[0].v.(*target)
		if first.Name != "" {
			return first.Name, 2
		}
		name, _ := nameOf(first.Val)
		return name, 2
	}
	return "?column?", 0
}

// visit calls f with each node below a query.
func visit(n any, f func(any)) { visitValue(reflect.ValueOf(n), f) }

func visitValue(v reflect.Value, f func(any)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Kind() == reflect.Pointer {
			f(v.Interface())
		}
		visitValue(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			visitValue(v.Index(i), f)
		}
	case reflect.Struct:
		if n, ok := v.Interface().(node); ok {
			visitValue(reflect.ValueOf(n.v), f)
			return
		}
		for i := range v.NumField() {
			visitValue(v.Field(i), f)
		}
	}
}
