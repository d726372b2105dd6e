package opa

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// maskSpec is a mask as a policy writes it; semantic.Mask says what each part is.
type maskSpec struct {
	Kind       string          `json:"kind"`
	N          int             `json:"n"`
	Width      json.RawMessage `json:"width"` // a number or a text
	Expr       string          `json:"expr"`
	Purpose    string          `json:"purpose"`
	Scope      string          `json:"scope"`
	Filterable bool            `json:"filterable"`
}

func (m maskSpec) mask() semantic.Mask {
	width := string(m.Width)
	var text string
	if json.Unmarshal(m.Width, &text) == nil {
		width = text
	}
	return semantic.Mask{Kind: m.Kind, N: m.N, Width: width, Expr: m.Expr, Purpose: m.Purpose, Scope: m.Scope, Filterable: m.Filterable}
}

// maskParts says which parts a kind of mask has, besides filterable.
var maskParts = map[string][]string{
	"null": {}, "redact": {}, "hash": {}, "year": {}, "first": {"n"}, "last": {"n"},
	"range": {"width"}, "expression": {"expr"}, "token": {"purpose", "scope"},
}

const (
	minMaskKey = 16 // bytes
	maxKept    = 64 // characters that first and last may leave
	hidden     = "***"
)

// masking is one mask on its way to SQL.
type masking struct {
	semantic.Mask
	policy *Policy
	entity *semantic.Entity
	field  *semantic.Field
	rule   policy.RuleRef
	under  *policy.Mask // the model's mask, on which a policy's mask stands; nil for none
}

// maskOf prints a mask as SQL over the bare quoted column. A mask keeps the
// column's type and never raises an error. A NULL stays visible under hash, year,
// range and token; redact, first and last hide it. A policy's mask is computed from
// what the model's mask shows, so it can tell no more than that.
func (p *Policy) maskOf(ctx context.Context, m semantic.Mask, e *semantic.Entity, f *semantic.Field, rule policy.RuleRef, under *policy.Mask) (*policy.Mask, error) {
	k := masking{Mask: m, policy: p, entity: e, field: f, rule: rule, under: under}
	if err := k.parts(); err != nil {
		return nil, err
	}
	out := &policy.Mask{Kind: m.Kind, Filterable: m.Filterable, Rule: rule}
	column := semantic.Quote(string(f.Name))
	if under != nil {
		out.Filterable = m.Filterable && under.Filterable
		column = "(" + under.SQL + ")"
	}
	var err error
	switch m.Kind {
	case "null":
		out.SQL = "CAST(NULL AS " + f.Type.SQL() + ")"
	case "year":
		out.SQL, err = k.band(column, "1 year")
	case "range":
		out.SQL, err = k.band(column, m.Width)
	case "expression":
		out.SQL, err = k.expression(ctx, column)
	case "token":
		out.Filterable = under == nil || under.Filterable
		out.Space = k.space()
		out.SQL, err = k.keyed(column, fmt.Sprintf("token %q", out.Space))
	case "hash":
		out.SQL, err = k.keyed(column, fmt.Sprintf("%q.%q", e.Name.Key(), f.Name.Key()))
	default:
		out.SQL, err = k.text(column)
	}
	return out, err
}

func (k masking) refuse(format string, args ...any) *diag.Error {
	return diag.New(diag.PolicyUnsay, format, args...).At(rulePos(k.rule))
}

// by names who puts the mask there.
func (k masking) by() string {
	if k.rule.ID == modelRule && strings.HasSuffix(k.rule.File, ".cue") {
		return "the model"
	}
	return "rule " + k.rule.ID
}

// parts checks that a mask has what its kind needs, and nothing else.
func (k masking) parts() error {
	needs, known := maskParts[k.Kind]
	if !known {
		return k.refuse("a mask's kind is null, hash, redact, first, last, year, range, expression or token; %s names another", k.by())
	}
	has := map[string]bool{"n": k.N != 0, "width": k.Width != "", "expr": k.Expr != "", "purpose": k.Purpose != "", "scope": k.Scope != ""}
	for _, part := range sortedKeys(has) {
		switch needed := slices.Contains(needs, part); {
		case has[part] && !needed:
			return k.refuse("a mask of kind %s has no %s; that of %s has", k.Kind, part, k.by())
		case !has[part] && needed && part != "scope":
			return k.refuse("a mask of kind %s has %s; that of %s has none", k.Kind, part, k.by())
		}
	}
	if k.N < 0 || k.N > maxKept {
		return k.refuse("the masks first and last keep n characters, from 1 to %d", maxKept)
	}
	return nil
}

// text prints the masks that are on text only and need no key.
func (k masking) text(column string) (string, error) {
	if k.field.Type != "varchar" {
		return "", k.refuse("a mask of kind %s is on text; %s puts it on another type", k.Kind, k.by())
	}
	keep := ""
	switch k.Kind {
	case "redact":
		return semantic.QuoteText(hidden), nil
	case "first":
		keep = fmt.Sprintf("left(%s, %d) || '%s'", column, k.N, hidden)
	case "last":
		keep = fmt.Sprintf("'%s' || right(%s, %d)", hidden, column, k.N)
	}
	return fmt.Sprintf("CASE WHEN length(%s) > %d THEN %s ELSE '%s' END", column, k.N, keep, hidden), nil
}

// keyed prints a hash that the deployment's key and use determine. What stands in
// SQL is derived from the key, so that the key itself never does.
func (k masking) keyed(column, use string) (string, error) {
	key := k.policy.options.MaskKey
	switch {
	case k.field.Type != "varchar":
		return "", k.refuse("a mask of kind %s is text, so it is on text; %s puts it on another type", k.Kind, k.by()).
			WithHint("declare the field as varchar in the model, or mask it as null or range")
	case len(key) < minMaskKey:
		return "", k.refuse("a %s mask needs the deployment's mask key, of at least %d bytes", k.Kind, minMaskKey)
	}
	derive := func(part string) string {
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s.%s", use, part)
		return hex.EncodeToString(h.Sum(nil))
	}
	return fmt.Sprintf("left(sha256('%s' || sha256('%s' || %s)), 32)", derive("outer"), derive("inner"), column), nil
}

// space names the columns in which equal values have equal tokens: those of one
// purpose, scope and join domain. Over another mask a column has a space of its
// own, but for a token, which keeps what is equal.
func (k masking) space() string {
	domain := fmt.Sprintf("domain %q", k.field.JoinDomain)
	if k.field.JoinDomain == "" || k.under != nil && k.under.Space == "" {
		domain = fmt.Sprintf("column %q.%q", k.entity.Name.Key(), k.field.Name.Key())
	}
	space := fmt.Sprintf("purpose %q scope %q %s", k.Purpose, k.Scope, domain)
	if k.under != nil && k.under.Space != "" {
		space += " of " + k.under.Space
	}
	return space
}

// expression prints a mask that a policy or a model writes in SQL.
func (k masking) expression(ctx context.Context, column string) (string, error) {
	if k.policy.options.Expression == nil {
		return "", k.refuse("an expression mask is checked by the engine; there is none here")
	}
	spans, err := k.policy.expressions.check(ctx, k.policy.options.Expression, k.field, k.Expr)
	if err != nil {
		found := diag.All(err)[0]
		if found.Code != diag.ModelSQL {
			return "", err
		}
		refused := k.refuse("the expression of a mask is total and over its own column: %s", found.Msg)
		refused.Hint, refused.DidYouMean = found.Hint, found.DidYouMean
		return "", refused
	}
	var out strings.Builder
	end := 0
	for _, s := range spans {
		out.WriteString(k.Expr[end:s.Start] + column)
		end = s.End
	}
	return out.String() + k.Expr[end:] + "\n", nil
}

// An ExpressionCheck reads the expression of a mask on a field and gives the places
// where it names the field, in order. Its refusals are model.sql.
type ExpressionCheck func(ctx context.Context, f *semantic.Field, expr string) ([]resolve.Span, error)
