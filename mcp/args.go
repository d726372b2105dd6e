package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"plumbline/semantic/diag"
)

// decode reads a tool's arguments into the struct v points to, strictly: an
// unknown key, a key in another case, a duplicate key or a value of another
// shape is refused with the argument's name. Models send strings for everything,
// so a JSON text inside a string is accepted where the argument is a list, an
// object, a number or a boolean.
func decode(raw json.RawMessage, v any) error {
	clean, err := normalise(raw, reflect.TypeOf(v).Elem(), "")
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(clean))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return diag.Wrap(err, diag.RequestMalformed, "the arguments do not have the tool's shape").WithHint("compare them with the tool's input schema")
	}
	return nil
}

// normalise checks one value against the Go type that will hold it and gives
// JSON that decodes without surprises. path names the argument in errors.
func normalise(raw json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || !json.Valid(raw) {
		return nil, malformed(path, "JSON")
	}
	if string(raw) == "null" {
		return raw, nil
	}
	if inner, ok := unwrapped(raw, t); ok {
		raw = inner
	}
	switch t.Kind() {
	case reflect.Struct:
		return normaliseObject(raw, t, path)
	case reflect.Slice:
		if raw[0] == '"' && bytes.ContainsRune(raw, ',') {
			return nil, malformed(path, `a list, as in ["a", "b"]; one text with a comma could mean either`)
		}
		if raw[0] != '[' { // one value where a list is meant
			raw = slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
		}
		return normaliseList(raw, t, path)
	case reflect.Map:
		return normaliseMap(raw, t, path)
	case reflect.String:
		if raw[0] != '"' {
			return nil, malformed(path, "a text")
		}
	case reflect.Bool:
		if s := string(raw); s != "true" && s != "false" {
			return nil, malformed(path, "true or false")
		}
	case reflect.Int, reflect.Int64:
		var n json.Number
		if err := json.Unmarshal(raw, &n); err != nil || strings.ContainsAny(n.String(), ".eE") {
			return nil, malformed(path, "a whole number")
		}
		return json.RawMessage(n.String()), nil
	case reflect.Interface: // a filter's or a parameter's value: any scalar
		if raw[0] == '{' || raw[0] == '[' {
			return nil, malformed(path, "a text, number, boolean or null")
		}
	}
	return raw, nil
}

// unwrapped takes JSON out of a string where the type is not a text.
func unwrapped(raw json.RawMessage, t reflect.Type) (json.RawMessage, bool) {
	if raw[0] != '"' || t.Kind() == reflect.String || t.Kind() == reflect.Interface {
		return nil, false
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, false
	}
	inner := json.RawMessage(strings.TrimSpace(s))
	if len(inner) == 0 || !json.Valid(inner) {
		return nil, false
	}
	if t.Kind() == reflect.Slice && inner[0] != '[' {
		return nil, false
	}
	return inner, true
}

func normaliseList(raw json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, malformed(path, "a list")
	}
	for i, item := range items {
		clean, err := normalise(item, t.Elem(), path)
		if err != nil {
			return nil, err
		}
		items[i] = clean
	}
	return json.Marshal(items)
}

func normaliseObject(raw json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	if raw[0] == '"' && shorthand(t) != "" { // a bare text stands for its main field
		return json.Marshal(map[string]json.RawMessage{shorthand(t): raw})
	}
	known := fields(t)
	return normaliseKeys(raw, path, func(key string) (reflect.Type, error) {
		ft, ok := known[key]
		if !ok {
			return nil, unknownArgument(path, key, known)
		}
		return ft, nil
	})
}

// normaliseMap is an object whose keys are the caller's own names.
func normaliseMap(raw json.RawMessage, t reflect.Type, path string) (json.RawMessage, error) {
	return normaliseKeys(raw, path, func(string) (reflect.Type, error) { return t.Elem(), nil })
}

func normaliseKeys(raw json.RawMessage, path string, typeOf func(key string) (reflect.Type, error)) (json.RawMessage, error) {
	if raw[0] != '{' {
		return nil, malformed(path, "an object")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, malformed(path, "an object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return nil, malformed(path, "an object")
		}
		key, _ := tok.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil && err != io.EOF {
			return nil, malformed(join(path, key), "JSON")
		}
		ft, err := typeOf(key)
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, diag.New(diag.RequestMalformed, "the argument %q is given twice", join(path, key)).WithHint("give it once")
		}
		if out[key], err = normalise(value, ft, join(path, key)); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// fields maps the JSON names of a struct, and of those embedded in it, to their types.
func fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			maps.Copy(out, fields(f.Type))
		}
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = t.Field(i).Type
		}
	}
	return out
}

// shorthand is the field that a bare text stands for: the dimension of
// {name, grain}, the term of {by, desc}.
func shorthand(t reflect.Type) string {
	known := fields(t)
	for _, name := range []string{"name", "by"} {
		if _, ok := known[name]; ok && len(known) <= 2 {
			return name
		}
	}
	return ""
}

// hint tells where an argument belongs, among tools that take another one.
type hint struct {
	takes string // the argument that it sends to; "" fits every tool
	text  string
}

// misplaced tells where arguments that agents often put elsewhere belong; the first
// hint that fits the tool is given.
var misplaced = map[string][]hint{
	"op": {{"filters", "op stands inside an item of filters"}}, "values": {{"filters", "values stands inside an item of filters"}},
	"value": {{"filters", "write values: [..] inside an item of filters"}}, "where": {{"filters", "write filters: [{field, op, values}]"}},
	"having": {{"filters", "filter on a metric's name inside filters"}}, "or": {{"filters", "write any: [..] as an item of filters"}}, "any": {{"filters", "any stands as an item of filters"}},
	"grain": {{"dimensions", "grain stands inside an item of dimensions, as {name, grain}"}}, "group_by": {{"dimensions", "name dimensions in dimensions"}},
	"timezone": {{"zone", "write zone"}}, "tz": {{"zone", "write zone"}},
	"last": {{"time", "last stands inside an item of time"}}, "this": {{"time", "this stands inside an item of time"}},
	"from": {{"time", "from stands inside an item of time"}}, "to": {{"time", "to stands inside an item of time"}},
	"time_range": {{"time", "write time: [{field, from, to}]"}}, "date_range": {{"time", "write time: [{field, from, to}]"}},
	"top_n": {{"top", "write top: {dimension, by, n}"}}, "compare": {{"metrics", "a comparison is a metric of its own; list_metrics lists them"}},
	"measures": {{"metrics", "name metrics in metrics"}},
	"query":    {{"sql", "write sql"}, {"search", "write search"}, {"table", "write table; search_tables looks for one"}},
	"name":     {{"table", "write table"}, {"search", "write search"}},
	"tenant":   identity, "subject": identity, "user": identity, "role": identity,
}

var identity = []hint{{"", "identity comes from the connection, never from arguments"}}

func unknownArgument(path, key string, known map[string]reflect.Type) error {
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	e := diag.New(diag.RequestUnknownArg, "there is no argument %q here; known are %s", join(path, clip(key)), strings.Join(names, ", "))
	for _, n := range names {
		if levenshtein.ComputeDistance(strings.ToLower(n), strings.ToLower(clip(key))) <= 2 {
			e = e.Suggest(n)
		}
	}
	if path != "" { // only a question has arguments inside others
		known = fields(reflect.TypeFor[metricArgs]())
	}
	for _, h := range misplaced[strings.ToLower(key)] {
		if _, ok := known[h.takes]; ok || h.takes == "" {
			return e.WithHint("%s", h.text)
		}
	}
	return e
}

func malformed(path, want string) error {
	if path == "" {
		path = "arguments"
	}
	return diag.New(diag.RequestMalformed, "%q must be %s", path, want).WithHint("compare it with the tool's input schema")
}

func join(path, key string) string {
	if path == "" {
		return clip(key)
	}
	return path + "." + clip(key)
}

// clip keeps an error text short whatever was sent.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
