package opa

import (
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"plumbline/semantic/diag"
)

// unused refuses a rule that looks as if it decided and does not: one of a
// deciding package, or with the name of a deciding document in another package
// below plumbline, that no rule uses. Such a rule is most often misspelt, and a
// policy that is silently not in force is the worst kind. Functions are left alone.
func unused(c *ast.Compiler, pkg string, r *ast.Rule) *diag.Error {
	if len(r.Head.Args) > 0 || len(c.Graph.Dependents(r)) > 0 {
		return nil
	}
	name := r.Head.Ref().String()
	doc := strings.Trim(r.Head.Ref()[0].Value.String(), `"`)
	var here, packages []string
	for _, d := range documents {
		if d.pkg == pkg {
			here = append(here, d.name)
		}
		if d.name == doc {
			packages = append(packages, d.pkg)
		}
	}
	at := pos(r.Location)
	switch {
	case len(here) > 0:
		return diag.New(diag.ConfigRego, "the rule %s decides nothing, and no rule uses it", name).At(at).
			WithHint("package %s decides by: %s; remove the rule, or use it in one of those", pkg, strings.Join(here, ", "))
	case len(packages) > 0 && strings.HasPrefix(pkg, "plumbline.") && len(r.Head.Ref()) > 1:
		return diag.New(diag.ConfigRego, "the rule %s decides nothing in package %s, and no rule uses it", name, pkg).At(at).
			WithHint("rules of that name decide in package %s", strings.Join(slices.Compact(packages), " or "))
	}
	return nil
}

// badLimit refuses bounds that are written out and cannot be.
func badLimit(r *ast.Rule) *diag.Error {
	bounds, ok := r.Head.Value.Value.(ast.Object)
	if !ok {
		return nil // computed: samples are decided at load, and questions close
	}
	var out *diag.Error
	bounds.Foreach(func(key, value *ast.Term) {
		name, known := key.Value.(ast.String)
		if !known {
			return
		}
		if !slices.Contains(limitNames, string(name)) {
			out = diag.New(diag.ConfigRego, "a limit is one of: %s; there is no %s", strings.Join(limitNames, ", "), key)
			return
		}
		n, number := value.Value.(ast.Number)
		whole, fits := n.Int64()
		if number && fits && whole >= 0 || !number && !ast.IsScalar(value.Value) {
			return
		}
		out = diag.New(diag.ConfigRego, "a limit is a whole number and not below zero; %s is %s", key, value)
	})
	return out
}

var limitNames = []string{"time_ms", "rows", "bytes", "calls"}
