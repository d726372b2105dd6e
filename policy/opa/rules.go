package opa

import (
	"slices"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"plumbline/policy"
	"plumbline/semantic/diag"
)

// The packages that decide.
const (
	accessPackage   = "plumbline.access"
	questionPackage = "plumbline.question"
	limitsPackage   = "plumbline.limits"
	verifyPackage   = "plumbline.verify"
)

// documents says which documents decide, and which a bundle must have.
var documents = []struct {
	pkg, name string
	required  bool
}{
	{accessPackage, "visible", true},
	{accessPackage, "columns", true},
	{accessPackage, "masks", false},
	{accessPackage, "all_rows", false},
	{accessPackage, "rows", false},
	{accessPackage, "min_group", false},
	{questionPackage, "allow", true},
	{questionPackage, "deny", false},
	{limitsPackage, "lower", false},
	{verifyPackage, "allow", true},
	{verifyPackage, "deny", false},
}

// ruleTable holds the deciding rules by package.document, sorted by id. Several
// bodies under one id are one rule, placed where the first of them starts. Rules in
// log-only mode stand apart, under "log package.document".
type ruleTable map[string][]policy.RuleRef

func (t ruleTable) of(pkg, doc string) []policy.RuleRef { return t[pkg+"."+doc] }

// ref finds the rule of an id; a rule that was not collected has no place.
func (t ruleTable) ref(pkg, doc, id string) policy.RuleRef {
	for _, r := range slices.Concat(t.of(pkg, doc), t.tried(pkg, doc)) {
		if r.ID == id {
			return r
		}
	}
	return policy.RuleRef{ID: id}
}

// query asks for several documents at once, each written package.document: for the
// rules in force, or for those in log-only mode.
func (t ruleTable) query(tried bool, docs ...string) string {
	parts := make([]string, len(docs))
	for i, d := range docs {
		rules, others := t[d], t[logMode+" "+d]
		if tried {
			rules, others = others, rules
		}
		value := "{}"
		switch {
		case len(rules) > 0 && len(others) == 0:
			value = "data." + d
		case len(rules) > 0:
			ids := make([]string, len(rules))
			for n, r := range rules {
				ids[n] = strconv.Quote(r.ID)
			}
			value = "{id: value | some id in [" + strings.Join(ids, ", ") + "]; value := data." + d + "[id]}"
		}
		parts[i] = `"` + d[strings.LastIndexByte(d, '.')+1:] + `": ` + value
	}
	return "result := {" + strings.Join(parts, ", ") + "}"
}

// collectRules finds the deciding rules and refuses those whose id is not
// written out, those with a default or an else, functions,
// bounds that cannot be, and rules that look as if they decided.
func collectRules(c *ast.Compiler) (ruleTable, error) {
	table := ruleTable{}
	var list diag.List
	for _, m := range c.Modules {
		pkg := strings.TrimPrefix(m.Package.Path.String(), "data.")
		for _, r := range m.Rules {
			ref := r.Head.Ref()
			doc := strings.Trim(ref[0].Value.String(), `"`)
			if !decides(pkg, doc) {
				if err := unused(c, pkg, r); err != nil {
					list = append(list, err)
				}
				if tried, err := trial(c, r); tried || err != nil {
					list = append(list, diag.New(diag.ConfigRego, "custom.mode is of a rule that decides; %q decides nothing by itself", ref.String()).At(pos(r.Location)))
				}
				continue
			}
			id, err := ruleID(r)
			if err != nil {
				list = append(list, err.At(pos(r.Location)))
				continue
			}
			if doc == "lower" {
				if err := badLimit(r); err != nil {
					list = append(list, err.At(pos(r.Location)))
				}
			}
			if doc == "min_group" {
				if err := badGroup(r); err != nil {
					list = append(list, err.At(pos(r.Location)))
				}
			}
			if doc != "rows" && pkg == accessPackage {
				list = append(list, readsRow(c, r, doc, id)...)
			}
			tried, err := trial(c, r)
			if err != nil {
				list = append(list, err)
				continue
			}
			key := pkg + "." + doc
			if tried {
				key = logMode + " " + key
			}
			table.add(key, policy.RuleRef{ID: id, File: r.Location.File, Line: r.Location.Row})
		}
	}
	list = append(list, table.mixed()...)
	if len(table.of(accessPackage, "rows"))+len(table.of(accessPackage, "all_rows")) == 0 && len(list) == 0 {
		list = append(list, diag.New(diag.ConfigRego, "a policy bundle says which rows are seen; package %s has neither rows.ID nor all_rows.ID", accessPackage))
	}
	for _, d := range documents {
		if d.required && len(table.of(d.pkg, d.name)) == 0 && len(list) == 0 {
			list = append(list, diag.New(diag.ConfigRego, "a policy bundle decides by rules of each kind; package %s has no rule %s.ID", d.pkg, d.name))
		}
	}
	return table, list.Err()
}

func decides(pkg, doc string) bool {
	for _, d := range documents {
		if d.pkg == pkg && d.name == doc {
			return true
		}
	}
	return false
}

func ruleID(r *ast.Rule) (string, *diag.Error) {
	ref := r.Head.Ref()
	if len(ref) < 2 {
		return "", diag.New(diag.ConfigRego, "a rule that decides names its id; %q has none", ref.String()).
			WithHint("write %s.some_id", ref.String())
	}
	id, ok := ref[1].Value.(ast.String)
	switch {
	case !ok:
		return "", diag.New(diag.ConfigRego, "the id of a rule is written out; that of %q is computed", ref.String())
	case r.Default:
		return "", diag.New(diag.ConfigRego, "a rule that decides has no default, since no rule already means no; %q has one", ref.String())
	case r.Else != nil:
		return "", diag.New(diag.ConfigRego, "a rule that decides has no else; %q has one", ref.String()).WithHint("write a second rule")
	case ref[0].Value.Compare(ast.Var("rows")) == 0 && !r.Head.Value.Equal(ast.BooleanTerm(true)):
		return "", diag.New(diag.ConfigRego, "a rows rule is true for a row or says nothing; %q has another value", ref.String()).
			WithHint("write %s if { ... }", ref.String())
	case len(r.Head.Args) > 0:
		return "", diag.New(diag.ConfigRego, "a rule that decides takes no arguments; %q does", ref.String())
	}
	return string(id), nil
}

func (t ruleTable) add(key string, r policy.RuleRef) {
	i, found := slices.BinarySearchFunc(t[key], r, func(a, b policy.RuleRef) int { return strings.Compare(a.ID, b.ID) })
	if !found {
		t[key] = slices.Insert(t[key], i, r)
		return
	}
	if old := t[key][i]; r.File < old.File || (r.File == old.File && r.Line < old.Line) {
		t[key][i] = r
	}
}

// readsRow refuses an access rule that reads the row without being a rows rule,
// also by a rule or function that it calls. There is no row then, and a "not"
// over what is missing would hold.
func readsRow(c *ast.Compiler, r *ast.Rule, doc, id string) diag.List {
	var list diag.List
	inputRefs(c, r, map[*ast.Rule]bool{}, func(in *ast.Rule, ref ast.Ref) {
		if !mayRead(ref, "row") {
			return
		}
		at := pos(ref[0].Location)
		if at.IsZero() {
			at = pos(in.Location)
		}
		list = append(list, diag.New(diag.ConfigRego, "only rows rules read input.row; %s.%s reads it, or input as a whole", doc, id).
			WithHint("name the part of input that is meant, and move what depends on the row into rows.%s", id).At(at))
	})
	return list
}

// readsNow reports whether an access rule, or anything it calls, may read
// input.now.
func readsNow(c *ast.Compiler) bool {
	found, seen := false, map[*ast.Rule]bool{}
	for _, m := range c.Modules {
		if m.Package.Path.String() != "data."+accessPackage {
			continue
		}
		for _, r := range m.Rules {
			inputRefs(c, r, seen, func(_ *ast.Rule, ref ast.Ref) { found = found || mayRead(ref, "now") })
		}
	}
	return found
}

// mayRead reports whether a reference to input reaches the part: by its name, by a
// computed name, or as input as a whole.
func mayRead(ref ast.Ref, part string) bool {
	return len(ref) == 1 || !isString(ref[1]) || ref[1].Equal(ast.StringTerm(part))
}

// inputRefs visits each reference to input in a rule and in what it depends on.
func inputRefs(c *ast.Compiler, r *ast.Rule, seen map[*ast.Rule]bool, visit func(*ast.Rule, ast.Ref)) {
	if seen[r] {
		return
	}
	seen[r] = true
	ast.WalkRefs(r, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.InputRootDocument) {
			visit(r, ref)
		}
		return false
	})
	for dep := range c.Graph.Dependencies(r) {
		if rule, ok := dep.(*ast.Rule); ok {
			inputRefs(c, rule, seen, visit)
		}
	}
}
