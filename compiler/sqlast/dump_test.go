package sqlast_test

import (
	"fmt"
	"reflect"
	"strings"

	"plumbline/compiler/sqlast"
)

// dump prints a tree for goldens: one node a line, places after @, empty fields
// left out. It is not SQL and cannot be read back.
func dump(q sqlast.Query) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(q), "", 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, label string, depth int) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	line := func(format string, args ...any) {
		fmt.Fprintf(b, "%s%s%s\n", strings.Repeat("  ", depth), label, fmt.Sprintf(format, args...))
	}
	switch v.Kind() {
	case reflect.Struct:
		head, rest := heads(v)
		line("%s", head)
		for _, f := range rest {
			dumpField(b, v, f, depth+1)
		}
	case reflect.Slice:
		line("[")
		for i := range v.Len() {
			dumpValue(b, v.Index(i), "", depth+1)
		}
		fmt.Fprintf(b, "%s]\n", strings.Repeat("  ", depth))
	default:
		line("%v", v)
	}
}

// heads gives the line of a node (type, place, scalar fields) and its other fields.
func heads(v reflect.Value) (string, []int) {
	head := v.Type().Name()
	var rest []int
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch {
		case name == "Modifiers", name == "CTEs":
			rest = append(rest, i)
		case name == "ExprBase" || name == "RefBase":
			if at := f.FieldByName("At").Int(); at >= 0 {
				head += fmt.Sprintf("@%d", at)
			}
			if alias := f.FieldByName("Alias").String(); alias != "" {
				head += fmt.Sprintf(" Alias=%q", alias)
			}
			if name == "RefBase" {
				rest = append(rest, i)
			}
		case f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0:
		case scalar(f):
			head += fmt.Sprintf(" %s=%v", name, f)
		case f.Kind() == reflect.Slice && scalar(f.Index(0)):
			head += fmt.Sprintf(" %s=%q", name, f)
		default:
			rest = append(rest, i)
		}
	}
	return head, rest
}

func scalar(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Uint8:
		return true
	}
	return false
}

func dumpField(b *strings.Builder, v reflect.Value, i, depth int) {
	f, name := v.Field(i), v.Type().Field(i).Name
	switch name {
	case "RefBase":
		if s := f.FieldByName("Sample"); !s.IsNil() {
			dumpValue(b, s, "Sample=", depth)
		}
	case "QueryBase":
		for _, part := range []string{"CTEs", "Modifiers"} {
			if l := f.FieldByName(part); l.Len() > 0 {
				dumpValue(b, l, part+"=", depth)
			}
		}
	default:
		dumpValue(b, f, name+"=", depth)
	}
}
