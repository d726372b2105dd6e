package changes

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// flatten gives the parts of one class of a struct as texts, by their path, and
// appends the paths to order. What a struct holds by pointer or value is part of
// it; a list is one text.
func flatten(k class, path string, v reflect.Value, into map[string]string, order []string) []string {
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		p := parts[v.Type()][name]
		f := v.Field(i)
		at := strings.TrimPrefix(path+"."+word(name), ".")
		for f.Kind() == reflect.Pointer && !f.IsNil() {
			f = f.Elem()
		}
		switch {
		case p.class != k:
		case f.Kind() == reflect.Struct:
			into[at] = "{}" // one that says nothing differs from none
			order = append(order, at)
			order = flatten(k, at, f, into, order)
		default:
			into[at] = text(f)
			order = append(order, at)
		}
	}
	return order
}

// text prints a value; a nil pointer and an empty text are both "".
func text(v reflect.Value) string {
	if named, ok := v.Interface().(fmt.Stringer); ok && v.Kind() == reflect.Int {
		return named.String() // a visibility
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			if v.Kind() == reflect.Interface {
				return "null"
			}
			return ""
		}
		return text(v.Elem())
	case reflect.Slice:
		if v.IsNil() {
			return ""
		}
		out := make([]string, v.Len())
		for i := range out {
			out[i] = text(v.Index(i))
			if e := v.Index(i); e.Kind() == reflect.String || e.Kind() == reflect.Interface && !e.IsNil() && e.Elem().Type() == reflect.TypeFor[string]() {
				out[i] = fmt.Sprintf("%q", out[i])
			}
		}
		return "[" + strings.Join(out, ", ") + "]"
	case reflect.Struct:
		var out []string
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if s := text(v.Field(i)); parts[v.Type()][name].class == meaning && s != "" {
				out = append(out, word(name)+": "+s)
			}
		}
		return "{" + strings.Join(out, ", ") + "}"
	case reflect.Bool:
		return fmt.Sprint(v.Bool())
	case reflect.Int:
		return fmt.Sprint(v.Int())
	}
	return v.String()
}

// word spells a part as models do: TimeDimension is time_dimension.
func word(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
