package opa

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// A rule under the annotation custom.mode "log" is on trial: it decides nothing,
// and what it would have said is told. It is left out of the queries that decide
// and evaluated by queries of its own, so that one that fails closes nothing.

// logMode is the one value of custom.mode.
const logMode = "log"

// trial reports whether a rule is in log-only mode. Only annotations of the rule or
// of its document count: one for a whole file would take every rule out of force.
func trial(c *ast.Compiler, r *ast.Rule) (bool, *diag.Error) {
	set := c.GetAnnotationSet()
	if set == nil {
		return false, nil
	}
	found := false
	for _, ref := range set.Chain(r) {
		if ref.Annotations == nil { // a rule without any
			continue
		}
		mode, ok := ref.Annotations.Custom["mode"]
		switch scope := ref.Annotations.Scope; {
		case !ok:
		case scope != "rule" && scope != "document":
			return false, diag.New(diag.ConfigRego, "custom.mode is of one rule; here it is of a %s", scope).
				At(pos(ref.Annotations.Location)).WithHint("write the annotation above each rule that is tried")
		case mode != logMode:
			return false, diag.New(diag.ConfigRego, "custom.mode is log, or is left out; here it is another word").At(pos(ref.Annotations.Location))
		default:
			found = true
		}
	}
	return found, nil
}

// trials are the prepared queries of the rules in log-only mode, by the first
// package they ask; a package without such a rule has none.
type trials map[string]rego.PreparedEvalQuery

// said is what rules in log-only mode say: document, rule id, value.
type said map[string]map[string]json.RawMessage

// ask evaluates the trials of a package; nothing where there are none.
func (p *Policy) ask(ctx context.Context, pkg string, input ast.Value) (said, error) {
	q, ok := p.trials[pkg]
	if !ok {
		return nil, nil
	}
	var answer said
	err := p.evaluate(ctx, q, input, &answer)
	return answer, err
}

// failedTrial tells of trials that could not be decided, which changes no answer.
func (p *Policy) failedTrial(pkg string) []policy.Logged {
	var out []policy.Logged
	for _, d := range documents {
		for _, r := range p.rules.tried(d.pkg, d.name) {
			if d.pkg == pkg || pkg == questionPackage && d.pkg == limitsPackage {
				out = append(out, policy.Logged{Rule: r, Document: d.name, Would: "fail, so that what it is about would be closed"})
			}
		}
	}
	return out
}

// entityTrials tells what the access rules in log-only mode would have done.
func (p *Policy) entityTrials(ctx context.Context, s policy.Subject, now time.Time, e *semantic.Entity, access policy.EntityAccess) ([]policy.Logged, error) {
	if _, ok := p.trials[accessPackage]; !ok && len(p.rules.tried(accessPackage, "rows")) == 0 {
		return nil, nil
	}
	input, err := inputValue(accessInput{Subject: s, Now: moment(now), Entity: describe(e)})
	if err != nil {
		return nil, err
	}
	return p.triedEntity(ctx, input, e, access)
}

// triedEntity is entityTrials with the input made. A rule that cannot be said is
// among what is told, and in the error.
func (p *Policy) triedEntity(ctx context.Context, input ast.Value, e *semantic.Entity, access policy.EntityAccess) ([]policy.Logged, error) {
	answer, err := p.ask(ctx, accessPackage, input)
	if err != nil {
		return p.failedTrial(accessPackage), err
	}
	var out []policy.Logged
	var errs diag.List
	tell := func(rule policy.RuleRef, doc, would string, err error) {
		if err != nil {
			would = "fail: " + diag.All(err)[0].Msg
			errs = append(errs, diag.All(err)...)
		}
		if would != "" {
			out = append(out, policy.Logged{Rule: rule, Document: doc, Would: would})
		}
	}
	for _, doc := range sortedKeys(answer) {
		for _, id := range sortedKeys(answer[doc]) {
			rule := p.rules.ref(accessPackage, doc, id)
			would, err := p.wouldOpen(ctx, doc, answer[doc][id], e, access, rule)
			tell(rule, doc, would, err)
		}
	}
	for _, rule := range p.rules.tried(accessPackage, "rows") {
		rows, err := p.predicateOf(ctx, input, e, []policy.RuleRef{rule})
		would := ""
		if err == nil && rows.Truth == policy.When {
			would = fmt.Sprintf("show rows of %s where %s", e.Name, rows.SQL)
		}
		tell(rule, "rows", would, err)
	}
	return out, errs.Err()
}

// wouldOpen says in words what a rule about an entity would do; "" when it does
// not speak.
func (p *Policy) wouldOpen(ctx context.Context, doc string, value json.RawMessage, e *semantic.Entity, access policy.EntityAccess, rule policy.RuleRef) (string, error) {
	switch doc {
	case "visible", "all_rows":
		var yes bool
		if err := strictly(value, &yes); err != nil || !yes {
			return "", err
		}
		if doc == "visible" {
			return fmt.Sprintf("make %s visible", e.Name), nil
		}
		return fmt.Sprintf("show every row of %s", e.Name), nil
	case "columns":
		var classes map[string]string
		if err := strictly(value, &classes); err != nil || len(classes) == 0 {
			return "", err
		}
		one, _, err := p.classes(e, map[string]map[string]string{rule.ID: classes})
		return fieldsIn("give", e, func(key string) string {
			if c, ok := one[key]; ok {
				return " as " + c.Class.String()
			}
			return ""
		}), err
	case "masks":
		var specs map[string]maskSpec
		if err := strictly(value, &specs); err != nil || len(specs) == 0 {
			return "", err
		}
		columns := map[string]policy.ColumnAccess{}
		for key, c := range access.Columns {
			columns[key] = policy.ColumnAccess{Class: c.Class}
		}
		if err := p.modelMasks(ctx, e, columns); err != nil {
			return "", err
		}
		before := map[string]*policy.Mask{}
		for key, c := range columns {
			before[key] = c.Mask
		}
		_, err := p.masks(ctx, e, map[string]map[string]maskSpec{rule.ID: specs}, columns)
		return fieldsIn("mask", e, func(key string) string {
			if m := columns[key].Mask; m != before[key] {
				return " as " + m.Kind
			}
			return ""
		}), err
	}
	return fmt.Sprintf("say of %s: %s %s", e.Name, doc, oneLine(string(value))), nil
}

// fieldsIn puts the fields that a rule is about after a verb; "" where there are none.
func fieldsIn(verb string, e *semantic.Entity, what func(key string) string) string {
	var fields []string
	for _, f := range e.Fields {
		if w := what(f.Name.Key()); w != "" {
			fields = append(fields, " "+string(e.Name)+"."+string(f.Name)+w)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return verb + strings.Join(fields, ",")
}

// tried tells what the rules in log-only mode of a question, or of the final text,
// would have done. A failure of theirs is told and changes nothing.
func (p *Policy) tried(ctx context.Context, pkg string, input ast.Value) ([]policy.Logged, error) {
	answer, err := p.ask(ctx, pkg, input)
	if err != nil {
		return p.failedTrial(pkg), err
	}
	var out []policy.Logged
	for _, doc := range sortedKeys(answer) {
		of := pkg
		if doc == "lower" {
			of = limitsPackage
		}
		for _, id := range sortedKeys(answer[doc]) {
			would := doc + " " + oneLine(string(answer[doc][id]))
			var text string
			switch {
			case doc == "allow" && string(answer[doc][id]) == "true":
				would = "allow it"
			case doc == "allow":
				continue
			case doc == "deny" && json.Unmarshal(answer[doc][id], &text) == nil:
				would = "deny it: " + text
			}
			out = append(out, policy.Logged{Rule: p.rules.ref(of, doc, id), Document: doc, Would: would})
		}
	}
	return out, nil
}

// strictly decodes what one rule says.
func strictly(value json.RawMessage, into any) error {
	dec := json.NewDecoder(strings.NewReader(string(value)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return failed(err)
	}
	return nil
}

// tried lists the rules of a document that are in log-only mode.
func (t ruleTable) tried(pkg, doc string) []policy.RuleRef { return t[logMode+" "+pkg+"."+doc] }

// hasTrial reports whether one of the documents has a rule in log-only mode.
func (t ruleTable) hasTrial(docs []string) bool {
	return slices.ContainsFunc(docs, func(d string) bool { return len(t[logMode+" "+d]) > 0 })
}

// mixed refuses an id of which some bodies are in force and others are tried.
func (t ruleTable) mixed() diag.List {
	var list diag.List
	for _, d := range documents {
		for _, r := range t.tried(d.pkg, d.name) {
			if slices.ContainsFunc(t.of(d.pkg, d.name), func(in policy.RuleRef) bool { return in.ID == r.ID }) {
				list = append(list, diag.New(diag.ConfigRego, "all bodies of a rule are in one mode; of %s.%s some are in force and some are tried", d.name, r.ID).
					At(rulePos(r)).WithHint("write the annotation with scope: document, or give the new body an id of its own"))
			}
		}
	}
	return list
}
