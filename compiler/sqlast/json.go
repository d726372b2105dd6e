package sqlast

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// readJSON reads one JSON value and nothing after it: nil, bool, string,
// json.Number (as written), []any or *fields. It refuses what encoding/json lets
// pass (a key twice, bytes that are not UTF-8), keeps the order of keys, and
// takes less than half the time, which every question pays three times.
// Strings share the memory of raw's copy; what is kept of them must be cloned.
func readJSON(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errJSON
	}
	r := &jsonReader{s: string(raw)}
	v := r.value(0)
	r.space()
	switch {
	case r.deep:
		return nil, errDeep
	case r.bad || r.i != len(r.s):
		return nil, errJSON
	}
	return v, nil
}

var (
	errJSON = errors.New("the engine's description of the tree is not valid JSON")
	errDeep = errors.New("the engine's description of the tree is nested too deep")
)

// fields is a JSON object in the order of the text.
type fields []field

type field struct {
	name  string
	value any
}

// maxNesting bounds the reader's own recursion. A node is at most six levels of
// JSON below its parent, so that no tree within MaxDepth is refused here.
const maxNesting = 7 * MaxDepth

// jsonReader reads s from i on. After a mistake bad stays set and i is no more
// than the length of s.
type jsonReader struct {
	s       string
	i       int
	bad     bool
	deep    bool
	objects []field // of the objects that are being read, innermost last
	arrays  []any   // likewise of the arrays
}

func (r *jsonReader) fail() any {
	r.bad = true
	return nil
}

func (r *jsonReader) space() {
	for r.i < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.i]) >= 0 {
		r.i++
	}
}

// take reports whether the next character that is no space is c, and passes it.
func (r *jsonReader) take(c byte) bool {
	r.space()
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *jsonReader) value(depth int) any {
	r.space()
	r.deep = r.deep || depth > maxNesting
	if r.i >= len(r.s) || r.deep {
		return r.fail()
	}
	switch c := r.s[r.i]; {
	case c == '{':
		r.i++
		return r.object(depth + 1)
	case c == '[':
		r.i++
		return r.array(depth + 1)
	case c == '"':
		return r.str()
	case c == '-' || isDigit(c):
		return r.number()
	}
	switch rest := r.s[r.i:]; {
	case strings.HasPrefix(rest, "null"):
		r.i += len("null")
		return nil
	case strings.HasPrefix(rest, "true"):
		r.i += len("true")
		return true
	case strings.HasPrefix(rest, "false"):
		r.i += len("false")
		return false
	}
	return r.fail()
}

func (r *jsonReader) object(depth int) any {
	start := len(r.objects)
	for first := true; !r.take('}'); first = false {
		if !first && !r.take(',') {
			return r.fail()
		}
		if r.space(); r.i >= len(r.s) || r.s[r.i] != '"' {
			return r.fail()
		}
		name := r.str()
		for _, f := range r.objects[start:] {
			if f.name == name {
				return r.fail()
			}
		}
		if !r.take(':') {
			return r.fail()
		}
		v := r.value(depth)
		if r.bad {
			return nil
		}
		r.objects = append(r.objects, field{name, v})
	}
	f := fields(slices.Clone(r.objects[start:]))
	r.objects = r.objects[:start]
	return &f
}

func (r *jsonReader) array(depth int) any {
	start := len(r.arrays)
	for first := true; !r.take(']'); first = false {
		if !first && !r.take(',') {
			return r.fail()
		}
		v := r.value(depth)
		if r.bad {
			return nil
		}
		r.arrays = append(r.arrays, v)
	}
	list := slices.Clone(r.arrays[start:])
	r.arrays = r.arrays[:start]
	return list
}

// str reads a string; one with escapes is left to encoding/json.
func (r *jsonReader) str() string {
	start, escaped := r.i, false
	for r.i++; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; {
		case c == '\\':
			escaped = true
			r.i++
		case c < ' ':
			r.fail()
		case c == '"':
			r.i++
			if !escaped {
				return r.s[start+1 : r.i-1]
			}
			var out string
			if json.Unmarshal([]byte(r.s[start:r.i]), &out) != nil {
				r.fail()
			}
			return out
		}
	}
	r.i = len(r.s)
	r.fail()
	return ""
}

// number reads a number and leaves its grammar to encoding/json unless it is a
// plain one.
func (r *jsonReader) number() any {
	start, plain := r.i, true
	for ; r.i < len(r.s); r.i++ {
		switch c := r.s[r.i]; {
		case isDigit(c):
		case c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E':
			plain = false
		default:
			return r.numeral(start, plain)
		}
	}
	return r.numeral(start, plain)
}

func (r *jsonReader) numeral(start int, plain bool) any {
	n := r.s[start:r.i]
	if plain && (n[0] != '0' || len(n) == 1) || json.Valid([]byte(n)) {
		return json.Number(n)
	}
	return r.fail()
}

// writeJSON gives the JSON of a value with sorted keys.
func writeJSON(v any) string {
	switch v := v.(type) {
	case *fields:
		parts := make([]string, len(*v))
		for i, f := range *v {
			parts[i] = writeJSON(f.name) + ":" + writeJSON(f.value)
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = writeJSON(item)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json.Number:
		return strings.Clone(string(v))
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // nil, bool or string: cannot fail
	}
	return string(b)
}
