package sqlast

import "reflect"

// Equal reports whether two trees are the same but for their places. It goes
// over every field by reflection, so that a field added to a node is compared
// from the first day; an empty list equals an absent one.
func Equal(a, b Query) bool { return equal(reflect.ValueOf(a), reflect.ValueOf(b)) }

var offsetType = reflect.TypeFor[Offset]()

func equal(a, b reflect.Value) bool {
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
		return equal(a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range a.NumField() {
			if a.Type().Field(i).Type != offsetType && !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int:
		return a.Int() == b.Int()
	case reflect.Uint8: // json.RawMessage
		return a.Uint() == b.Uint()
	}
	// Unreachable with the node types of tree.go; a new kind of field is unequal
	// until it is compared here.
	return false
}
