package opa

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// maskSpec is a mask as a policy writes it.
type maskSpec struct {
	Kind       string `json:"kind"`       // null, hash, redact, first, last, year
	N          int    `json:"n"`          // first, last: how many characters stay
	Filterable bool   `json:"filterable"` // may also be filtered, joined, grouped, ordered
}

const (
	minMaskKey = 16 // bytes
	maxKept    = 64 // characters that first and last may leave
	hidden     = "***"
)

// maskOf prints a mask as SQL over the bare quoted column. A mask keeps the
// column's type and never raises an error. Null stays visible under hash and
// year; redact, first and last hide it.
func (p *Policy) maskOf(m maskSpec, e *semantic.Entity, f *semantic.Field, rule policy.RuleRef) (*policy.Mask, error) {
	refuse := func(format string, args ...any) error {
		return diag.New(diag.PolicyUnsay, format, args...).At(rulePos(rule))
	}
	if keeps := m.Kind == "first" || m.Kind == "last"; keeps != (m.N != 0) || m.N < 0 || m.N > maxKept {
		return nil, refuse("the masks first and last, and only they, keep n characters, from 1 to %d", maxKept)
	}
	column := semantic.Quote(string(f.Name))
	text := f.Type == "varchar"
	var sql string
	switch {
	case m.Kind == "null":
		sql = "CAST(NULL AS " + f.Type.SQL() + ")"
	case m.Kind == "redact" && text:
		sql = semantic.QuoteText(hidden)
	case m.Kind == "first" && text:
		sql = fmt.Sprintf("CASE WHEN length(%s) > %d THEN left(%s, %d) || '%s' ELSE '%s' END", column, m.N, column, m.N, hidden, hidden)
	case m.Kind == "last" && text:
		sql = fmt.Sprintf("CASE WHEN length(%s) > %d THEN '%s' || right(%s, %d) ELSE '%s' END", column, m.N, hidden, column, m.N, hidden)
	case m.Kind == "hash" && text:
		if len(p.options.MaskKey) < minMaskKey {
			return nil, refuse("a hash mask needs the deployment's mask key, of at least %d bytes", minMaskKey)
		}
		sql = fmt.Sprintf("left(sha256('%s' || sha256('%s' || %s)), 32)", p.subkey(e, f, "outer"), p.subkey(e, f, "inner"), column)
	case m.Kind == "year" && f.Type == "date":
		sql = "CAST(date_trunc('year', " + column + ") AS DATE)"
	case m.Kind == "year" && f.Type == "timestamp":
		sql = "date_trunc('year', " + column + ")"
	default:
		return nil, refuse("a mask is null, or redact, first, last or hash on text, or year on a date or timestamp; rule %s asks for another", rule.ID)
	}
	return &policy.Mask{Kind: m.Kind, SQL: sql, Filterable: m.Filterable, Rule: rule}, nil
}

// subkey derives what stands in SQL, so that the deployment's key never does, and
// equal values in two columns do not hash alike.
func (p *Policy) subkey(e *semantic.Entity, f *semantic.Field, use string) string {
	h := hmac.New(sha256.New, p.options.MaskKey)
	fmt.Fprintf(h, "%q.%q.%s", e.Name.Key(), f.Name.Key(), use)
	return hex.EncodeToString(h.Sum(nil))
}
