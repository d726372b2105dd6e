package opa

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// groupSpec is a minimum group as a policy writes it.
type groupSpec struct {
	Size       int `json:"size"`
	FilterSets int `json:"filter_sets"`
}

const (
	minGroupSize  = 3 // of two values the average and the deviation tell both
	maxGroupSize  = 1_000_000
	maxFilterSets = 10_000 // of which each one is remembered
)

// minGroup gives the strictest of the minimum groups that hold. Rows are counted by
// the primary key, so that a join that repeats them does not count them twice: the
// subject has to see the key as it is, or the obligation cannot be kept.
func (p *Policy) minGroup(e *semantic.Entity, answer accessAnswer, columns map[string]policy.ColumnAccess) (policy.MinGroup, []policy.RuleRef, error) {
	var out policy.MinGroup
	var applied []policy.RuleRef
	for _, id := range sortedKeys(answer.MinGroup) {
		rule := p.rules.ref(accessPackage, "min_group", id)
		if rule.File == "" {
			return out, nil, failed(errUncollected("min_group", id))
		}
		g := answer.MinGroup[id]
		if why := g.wrong(); why != "" {
			return out, nil, diag.New(diag.PolicyUnsay, "%s; min_group.%s says otherwise", why, id).At(rulePos(rule))
		}
		if g.Size > out.Size {
			out.Size, out.Rule = g.Size, rule
		}
		if g.FilterSets > 0 && (out.FilterSets == 0 || g.FilterSets < out.FilterSets) {
			out.FilterSets = g.FilterSets
		}
		applied = append(applied, rule)
	}
	if out.Size == 0 {
		return out, nil, nil
	}
	if len(e.PrimaryKey) == 0 {
		return out, nil, diag.New(diag.PolicyUnsay, "a minimum group counts rows by their primary key, and %q has none", e.Name).At(rulePos(out.Rule)).
			WithHint("declare primary_key in the model")
	}
	for _, k := range e.PrimaryKey {
		if c := columns[k.Key()]; c.Class != semantic.Output || c.Mask != nil {
			return out, nil, diag.New(diag.PolicyUnsay, "a minimum group counts rows by their primary key, so columns.ID grants it as output and no mask is on it; that of %q is closed or masked", e.Name).
				At(rulePos(out.Rule)).WithHint("grant the key: in groups of that size it shows nobody")
		}
	}
	return out, applied, nil
}

func (g groupSpec) wrong() string {
	switch {
	case g.Size < minGroupSize || g.Size > maxGroupSize:
		return "the size of a minimum group is a number from 3 to 1000000"
	case g.FilterSets < 0 || g.FilterSets > maxFilterSets:
		return "filter_sets is a number from 1 to 10000, or left out"
	}
	return ""
}

// badGroup refuses minimum groups that are written out and cannot be.
func badGroup(r *ast.Rule) *diag.Error {
	object, ok := r.Head.Value.Value.(ast.Object)
	if !ok {
		if ast.IsScalar(r.Head.Value.Value) {
			return diag.New(diag.ConfigRego, `a minimum group is an object such as {"size": 5}; this is %s`, r.Head.Value)
		}
		return nil // computed: samples are decided at load, and questions close
	}
	sizes := map[string]int{"size": 0}
	var out *diag.Error
	object.Foreach(func(key, value *ast.Term) {
		if !isString(key) {
			sizes["size"] = max(sizes["size"], minGroupSize) // computed
			return
		}
		name := strings.Trim(key.String(), `"`)
		n, number := value.Value.(ast.Number)
		whole, fits := n.Int()
		switch {
		case name != "size" && name != "filter_sets":
			out = diag.New(diag.ConfigRego, "a minimum group has size and filter_sets; there is no %s", key)
		case number && !fits, !number && ast.IsScalar(value.Value):
			out = diag.New(diag.ConfigRego, "%s of a minimum group is a whole number; this is %s", key, value)
		case number && name == "filter_sets" && whole < 1:
			out = diag.New(diag.ConfigRego, "filter_sets is a number from 1 to %d, or left out", maxFilterSets)
		case number:
			sizes[name] = whole
		default:
			sizes[name] = minGroupSize // computed
		}
	})
	if out == nil {
		if why := (groupSpec{sizes["size"], sizes["filter_sets"]}).wrong(); why != "" {
			out = diag.New(diag.ConfigRego, "%s", why)
		}
	}
	return out
}
