package opa

import (
	"context"
	"errors"

	"plumbline/policy"
	"plumbline/semantic"
)

// verdict is the answer of the packages question and verify, by rule id. Lower
// comes from the package limits, for a question only.
type verdict struct {
	Allow map[string]bool             `json:"allow"`
	Deny  map[string]string           `json:"deny"`
	Lower map[string]map[string]int64 `json:"lower"`
}

// Decide is the one decision on a question. access holds what Entity said of
// every entity in the facts; one that is missing or not visible denies. The
// verdict is Allow only when an allow rule holds and no deny rule does. An
// evaluation that fails gives the zero decision and policy.denied.
func (p *Policy) Decide(ctx context.Context, f policy.Facts, access map[string]policy.EntityAccess) (policy.Decision, error) {
	if err := checkClaims(f.Subject); err != nil {
		return policy.Decision{}, err
	}
	input, err := inputValue(f)
	if err != nil {
		return policy.Decision{}, err
	}
	d := policy.Decision{Entities: access, Revision: p.revision}
	var answer verdict
	if err := p.evaluate(ctx, p.question, input, &answer); err != nil {
		return policy.Decision{}, err
	}
	var reasons []policy.Reason
	if d.Rules, reasons, err = p.judge(questionPackage, answer); err != nil {
		return policy.Decision{}, err
	}
	var lowering []policy.RuleRef
	if d.Limits, lowering, err = p.lowered(f.Limits, answer); err != nil {
		return policy.Decision{}, err
	}
	d.Rules = append(d.Rules, lowering...)
	for _, e := range f.Entities {
		if !access[semantic.Name(e.Name).Key()].Visible {
			reasons = append(reasons, policy.Reason{Text: "no rule lets this subject see an entity of the question"})
			break
		}
	}
	d.Reasons = reasons
	if len(reasons) == 0 {
		d.Verdict = policy.Allow
	}
	if d.Logged, err = p.tried(ctx, questionPackage, input); err != nil && ctx.Err() != nil {
		return policy.Decision{}, err
	}
	return d, nil
}

// Verify asks the bundle about the final text. No reason means that it passes;
// no allow rule, a deny rule, or a failed evaluation means that it does not. What
// rules in log-only mode would have done is given beside it.
func (p *Policy) Verify(ctx context.Context, s policy.Summary) ([]policy.Reason, []policy.Logged, error) {
	if err := checkClaims(s.Subject); err != nil {
		return nil, nil, err
	}
	input, err := inputValue(s)
	if err != nil {
		return nil, nil, err
	}
	var answer verdict
	if err := p.evaluate(ctx, p.verify, input, &answer); err != nil {
		return nil, nil, err
	}
	_, reasons, err := p.judge(verifyPackage, answer)
	if err != nil {
		return nil, nil, err
	}
	logged, err := p.tried(ctx, verifyPackage, input)
	if err != nil && ctx.Err() != nil {
		return nil, nil, err
	}
	return reasons, logged, nil
}

// judge gives the rules that spoke and the reasons against; no reason means yes.
func (p *Policy) judge(pkg string, v verdict) ([]policy.RuleRef, []policy.Reason, error) {
	var rules []policy.RuleRef
	var reasons []policy.Reason
	allowed := false
	for _, id := range sortedKeys(v.Allow) {
		if !v.Allow[id] {
			continue
		}
		r := p.rules.ref(pkg, "allow", id)
		if r.File == "" {
			return nil, nil, failed(errUncollected("allow", id))
		}
		rules, allowed = append(rules, r), true
	}
	for _, id := range sortedKeys(v.Deny) {
		r := p.rules.ref(pkg, "deny", id)
		rules = append(rules, r)
		reasons = append(reasons, policy.Reason{Text: v.Deny[id], Rule: r})
	}
	if !allowed && len(reasons) == 0 {
		reasons = append(reasons, policy.Reason{Text: "no rule allows this"})
	}
	return rules, reasons, nil
}

// lowered applies the limits rules; the lowest value of each bound holds.
func (p *Policy) lowered(limits policy.Limits, answer verdict) (policy.Limits, []policy.RuleRef, error) {
	bounds := map[string]*int64{"time_ms": &limits.TimeMS, "rows": &limits.Rows, "bytes": &limits.Bytes, "calls": &limits.Calls}
	var rules []policy.RuleRef
	for _, id := range sortedKeys(answer.Lower) {
		for name, value := range answer.Lower[id] {
			bound, ok := bounds[name]
			if !ok || value < 0 {
				return policy.Limits{}, nil, failed(errLimit).At(rulePos(p.rules.ref(limitsPackage, "lower", id)))
			}
			*bound = min(*bound, value)
		}
		rules = append(rules, p.rules.ref(limitsPackage, "lower", id))
	}
	return limits, rules, nil
}

var errLimit = errors.New("a limit is time_ms, rows, bytes or calls, and not below zero")
