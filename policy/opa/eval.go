package opa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"plumbline/policy"
	"plumbline/semantic/diag"
)

// evaluate runs one query under the deadline and decodes its one answer
// strictly. Undefined is an error.
func (p *Policy) evaluate(ctx context.Context, q rego.PreparedEvalQuery, input ast.Value, into any) error {
	bounded, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	results, err := q.Eval(bounded, rego.EvalParsedInput(input))
	if err != nil {
		return stopped(ctx, err)
	}
	if len(results) != 1 {
		return failed(errors.New("the policy's answer is undefined"))
	}
	text, err := json.Marshal(results[0].Bindings["result"])
	if err != nil {
		return failed(err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return failed(err)
	}
	return nil
}

// stopped tells an evaluation that the question's own end cut short from one that
// failed.
func stopped(ctx context.Context, err error) *diag.Error {
	switch ctx.Err() {
	case nil:
		return failed(err)
	case context.Canceled:
		return diag.Wrap(err, diag.RequestCancelled, "the call was cancelled while policy was deciding")
	}
	return diag.Wrap(err, diag.LimitTime, "the time limit passed while policy was deciding")
}

// failed makes the denial for an evaluation that gave no usable answer. The cause
// may quote claims, so it is kept for the audit record only; the place is shown.
func failed(err error) *diag.Error {
	d := diag.Wrap(err, diag.PolicyDenied, "what cannot be decided is denied; a policy rule failed, was too slow, or gave an answer of another shape").
		WithHint("the policy's author finds the cause in the audit record")
	var inner *topdown.Error
	if errors.As(err, &inner) {
		return d.At(pos(inner.Location))
	}
	return d
}

// inputValue turns a struct or map into Rego's input.
func inputValue(v any) (ast.Value, error) {
	value, err := ast.InterfaceToValue(v)
	if err != nil {
		return nil, failed(err)
	}
	return value, nil
}

// completed gives the subject with every list and map present, so that no rule
// meets a null where it expects a list.
func completed(s policy.Subject) policy.Subject {
	s.Roles = present(s.Roles)
	if s.Claims == nil {
		s.Claims = map[string]any{}
	}
	return s
}

func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
