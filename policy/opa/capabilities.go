package opa

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// allowed are the built-in functions a policy may call: total, deterministic
// functions of their arguments. There is no network, no clock (input.now is the
// time), no randomness, no environment, and nothing that makes large values from
// small ones (numbers.range, net.cidr_expand).
var allowed = []string{
	"eq", "neq", "equal", "lt", "lte", "gt", "gte", "assign",
	"internal.member_2", "internal.member_3", "internal.print", "internal.template_string", "internal.test_case",
	"plus", "minus", "mul", "div", "rem", "abs", "ceil", "floor", "round",
	"count", "sum", "max", "min", "sort", "and", "or", "intersection", "union",
	"array.concat", "array.flatten", "array.reverse", "array.slice",
	"object.get", "object.keys", "object.filter", "object.remove", "object.subset", "object.union", "object.union_n",
	"concat", "contains", "endswith", "startswith", "indexof", "lower", "upper", "split", "sprintf", "substring",
	"replace", "strings.any_prefix_match", "strings.any_suffix_match", "strings.count", "strings.reverse",
	"trim", "trim_left", "trim_prefix", "trim_right", "trim_space", "trim_suffix", "format_int", "to_number",
	"is_array", "is_boolean", "is_null", "is_number", "is_object", "is_set", "is_string", "type_name",
	"regex.match", "regex.is_valid", "glob.match", "glob.quote_meta", "semver.compare", "semver.is_valid",
	"time.parse_rfc3339_ns", "time.parse_ns", "time.parse_duration_ns", "time.add_date", "time.clock", "time.date",
	"time.diff", "time.format", "time.weekday", "walk",
}

// capabilities is the language of our policies. The text matches take any value
// as their operands here: with OPA's own declaration partial evaluation drops a
// "not startswith(input.row.x, 5)" as a condition that never fails, and the rule
// would open. So the condition stays, and the printer refuses it.
func capabilities() *ast.Capabilities {
	caps := ast.CapabilitiesForThisVersion()
	caps.AllowNet = []string{}
	var kept []*ast.Builtin
	for _, b := range caps.Builtins {
		if !slices.Contains(allowed, b.Name) {
			continue
		}
		if b.Name == ast.StartsWith.Name || b.Name == ast.EndsWith.Name || b.Name == ast.Contains.Name {
			loose := *b
			loose.Decl = types.NewFunction(types.Args(types.A, types.A), types.B)
			b = &loose
		}
		kept = append(kept, b)
	}
	caps.Builtins = kept
	return caps
}
