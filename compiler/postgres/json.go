package postgres

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
)

// jsonKey are the keys that stand in a path as they are.
var jsonKey = regexp.MustCompile(`^[A-Za-z0-9_ -]+$`)

// jsonOperator reads the operators of jsonb.
func (t *translator) jsonOperator(name string, place int, a, b value) value {
	if a.t != tJSON {
		t.noOperator(place, name, a.t, b.t)
	}
	switch name {
	case "->", "->>":
		return t.jsonPart(name == "->>", place, a, t.jsonStep(place, b))
	case "#>", "#>>":
		if b.literal == nil || !strings.HasPrefix(*b.literal, "{") || !strings.HasSuffix(*b.literal, "}") {
			t.refuse(place, "write '{a,b}'", "a path that is not written out is not supported")
		}
		path := "$"
		for key := range strings.SplitSeq(strings.Trim(*b.literal, "{}"), ",") {
			if !jsonKey.MatchString(key) || strings.Trim(key, " ") != key || strings.Trim(key, "-0123456789") == "" {
				t.refuse(place, "use -> for numbers and unusual keys", "this path is not supported")
			}
			path += `."` + key + `"`
		}
		return t.jsonPart(name == "#>>", place, a, path)
	case "?":
		key := "$" + t.jsonName(place, b)
		object := equals(call("json_type", a.e), text("OBJECT"))
		return value{t: tBool, at: place, e: guarded(object, call("json_exists", a.e, text(key)), a.e, "BOOLEAN")}
	}
	return t.jsonContains(place, a, b)
}

// jsonStep is the path of one key or one index.
func (t *translator) jsonStep(place int, b value) string {
	if isInteger(b.t) && b.whole != nil {
		if *b.whole < 0 {
			return "$[#" + strconv.FormatInt(*b.whole, 10) + "]"
		}
		return "$[" + strconv.FormatInt(*b.whole, 10) + "]"
	}
	return "$" + t.jsonName(place, b)
}

func (t *translator) jsonName(place int, b value) string {
	if b.literal == nil || !jsonKey.MatchString(*b.literal) {
		t.refuse(place, "write the key as a literal of letters, digits and _", "this key is not supported")
	}
	return `."` + *b.literal + `"`
}

// jsonPart gives a part of a JSON value, as JSON or as text. As text, objects,
// lists and numbers with a point are written in another way here, so they fail.
func (t *translator) jsonPart(asText bool, place int, a value, path string) value {
	if !asText {
		return value{t: tJSON, at: place, e: call("json_extract", a.e, text(path))}
	}
	kind := call("json_type", a.e, text(path))
	alike := operator("COMPARE_IN", kind, text("VARCHAR"), text("BIGINT"), text("UBIGINT"), text("BOOLEAN"), text("NULL"))
	return value{t: tText, at: place, e: guarded(alike, call("json_extract_string", a.e, text(path)), a.e, "VARCHAR")}
}

// jsonContains reads @> with a flat object of texts, whole numbers and booleans.
func (t *translator) jsonContains(place int, a, b value) value {
	var want map[string]any
	if b.literal == nil || json.Unmarshal([]byte(*b.literal), &want) != nil || len(want) == 0 {
		t.refuse(place, "compare the parts with ->>", "@> takes an object that is written out")
	}
	var keys []string
	for k := range want {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	parts := []sqlast.Expr{equals(call("json_type", a.e), text("OBJECT"))}
	for _, k := range keys {
		if !jsonKey.MatchString(k) {
			t.refuse(place, "compare the parts with ->>", "this key is not supported")
		}
		path := text(`$."` + k + `"`)
		kind := func(names ...string) sqlast.Expr {
			args := []sqlast.Expr{coalesce(call("json_type", a.e, path), text("none"))}
			for _, n := range names {
				args = append(args, text(n))
			}
			return operator("COMPARE_IN", args...)
		}
		same := func(s string) sqlast.Expr {
			return coalesce(equals(call("json_extract_string", a.e, path), text(s)), boolean(false))
		}
		switch v := want[k].(type) {
		case string:
			parts = append(parts, kind("VARCHAR"), same(v))
		case bool:
			parts = append(parts, kind("BOOLEAN"), same(strconv.FormatBool(v)))
		default:
			t.refuse(place, "compare the parts with ->>", "@> takes texts and booleans")
		}
	}
	return value{t: tBool, at: place, e: when(isNull(a.e), cast(null(), "BOOLEAN"), and(parts...))}
}

func jsonLength(c *scalarCall) value {
	c.takes(1, 1)
	if c.args[0].t != tJSON {
		c.bad(0)
	}
	e := c.args[0].e
	return typed(tInt4, guarded(equals(call("json_type", e), text("ARRAY")), call("json_array_length", e), e, "BIGINT"))
}

func jsonType(c *scalarCall) value {
	c.takes(1, 1)
	if c.args[0].t != tJSON {
		c.bad(0)
	}
	kind := call("json_type", c.args[0].e)
	out := &sqlast.Case{ExprBase: nowhere, Else: text("number")}
	for _, k := range [][2]string{{"OBJECT", "object"}, {"ARRAY", "array"}, {"VARCHAR", "string"}, {"BOOLEAN", "boolean"}, {"NULL", "null"}} {
		out.Checks = append(out.Checks, sqlast.CaseCheck{When: equals(kind, text(k[0])), Then: text(k[1])})
	}
	return typed(tText, when(isNull(c.args[0].e), cast(null(), "VARCHAR"), out))
}

func jsonPathText(c *scalarCall) value {
	c.takes(2, 10)
	if c.args[0].t != tJSON {
		c.bad(0)
	}
	path := "$"
	for _, a := range c.args[1:] {
		path += c.t.jsonName(c.at, a)
	}
	return c.t.jsonPart(true, c.at, c.args[0], path)
}
