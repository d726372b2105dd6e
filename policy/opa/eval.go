package opa

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

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

// checkClaims refuses a subject whose claims are not text, numbers, booleans or
// lists of text. A null claim would compare equal to a NULL in a row.
func checkClaims(s policy.Subject) error {
	for _, name := range sortedKeys(s.Claims) {
		if !isClaim(s.Claims[name]) {
			return diag.New(diag.PolicyDenied, "claims are text, numbers, booleans or lists of text; claim %q is not", name).
				WithHint("correct the claim where the subject is configured or the token is issued")
		}
	}
	return nil
}

func isClaim(v any) bool {
	switch v := v.(type) {
	case string, bool, json.Number, float64, int, int64, []string:
		return true
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { _, text := item.(string); return !text })
	}
	return false
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

// inputValue turns facts into Rego's input, without a detour over JSON text. Every
// field is there: a nil list is an empty list and a nil map an empty object, so that
// no rule meets a null where it expects a list.
func inputValue(v any) (ast.Value, error) {
	term, err := termOf(reflect.ValueOf(v))
	if err != nil {
		return nil, failed(err)
	}
	return term.Value, nil
}

func termOf(v reflect.Value) (*ast.Term, error) {
	switch v.Kind() {
	case reflect.String:
		return ast.InternedTerm(v.String()), nil
	case reflect.Bool:
		return ast.InternedTerm(v.Bool()), nil
	case reflect.Int64:
		return ast.NumberTerm(json.Number(strconv.FormatInt(v.Int(), 10))), nil
	case reflect.Slice:
		terms := make([]*ast.Term, v.Len())
		for i := range terms {
			var err error
			if terms[i], err = termOf(v.Index(i)); err != nil {
				return nil, err
			}
		}
		return ast.ArrayTerm(terms...), nil
	case reflect.Map: // of claims, which hold anything
		if v.Len() == 0 {
			return ast.ObjectTerm(), nil
		}
		value, err := ast.InterfaceToValue(v.Interface())
		return ast.NewTerm(value), err
	case reflect.Struct:
		return structTerm(v)
	}
	return nil, fmt.Errorf("policy input cannot hold a %s", v.Kind())
}

func structTerm(v reflect.Value) (*ast.Term, error) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return ast.StringTerm(v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)), nil
	}
	pairs := make([][2]*ast.Term, v.NumField())
	for i := range pairs {
		field, err := termOf(v.Field(i))
		if err != nil {
			return nil, err
		}
		pairs[i] = [2]*ast.Term{ast.InternedTerm(v.Type().Field(i).Tag.Get("json")), field}
	}
	return ast.ObjectTerm(pairs...), nil
}
