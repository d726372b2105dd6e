package prove

import (
	"reflect"

	"plumbline/compiler/sqlast"
)

// same compares trees, or parts of trees, without their places. It reads every
// field of every node by reflection, so a field that is added to a node counts
// at once.
func same(a, b any) bool { return sameShape(reflect.ValueOf(a), reflect.ValueOf(b)) }

// sameExpr compares two select items or conditions without their own alias,
// which the caller compares by its own rule.
func sameExpr(a, b sqlast.Expr) bool {
	x, y := reflect.Indirect(reflect.ValueOf(a)), reflect.Indirect(reflect.ValueOf(b))
	if x.Type() != y.Type() {
		return false
	}
	for i := range x.NumField() {
		if x.Type().Field(i).Type != baseType && !sameShape(x.Field(i), y.Field(i)) {
			return false
		}
	}
	return true
}

var (
	offsetType = reflect.TypeFor[sqlast.Offset]()
	baseType   = reflect.TypeFor[sqlast.ExprBase]()
)

func sameShape(a, b reflect.Value) bool {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		return sameShape(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).Type != offsetType && !sameShape(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameShape(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}
