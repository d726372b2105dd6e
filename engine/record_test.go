package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// recordKeys are the fields that every record has, whatever happened.
var recordKeys = []string{"id", "time", "subject", "tool", "replays", "question", "normalised", "hash", "entities", "functions", "verdict", "reasons", "rules", "logged",
	"policy_revision", "model_revision", "final_sql", "beside_sql", "sources", "rows", "bytes", "truncated", "cached", "stage_ms", "outcome", "errors", "raw_error"}

func TestEveryRecordIsComplete(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/verify.rego", "", "\ndeny[\"no_products\"] := \"products are not read today\" if {\n\tsome relation in input.relations\n\trelation.entity == \"products\"\n}\n"}))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	describe := func(who, table string) error {
		_, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject(who), Table: table, Asked: json.RawMessage(`{"table":"x"}`)})
		return err
	}
	sql := func(who, text string) func() error {
		return func() error { _, err := h.sql(who, text); return err }
	}
	metric := func(who, text string) func() error {
		return func() error { _, err := h.metric(who, text); return err }
	}
	explain := func(who, text string) func() error {
		return func() error { _, err := h.explain(who, text); return err }
	}
	for _, c := range []struct {
		name    string
		do      func() error
		outcome diag.Code
		stages  string // the last stage that ran
	}{
		{"answered in SQL", sql("ana", "SELECT count(*) FROM orders WHERE status = 'paid'"), "answered", "shape"},
		{"answered as a metric", metric("ana", `{"metrics":["revenue"]}`), "answered", "shape"},
		{"answered again", sql("ana", "SELECT count(*) FROM orders WHERE status = 'paid'"), "answered", "shape"},
		{"explained", explain("ana", "SELECT count(*) FROM orders"), "answered", "prove"},
		{"no question", sql("ana", ""), diag.ParseEmpty, "request"},
		{"metric unknown", metric("ana", `{"metrics":["nothing"]}`), diag.MetricUnknown, "request"},
		{"no SQL", sql("ana", "SELEC"), diag.ParseSyntax, "parse"},
		{"a write", sql("ana", "DROP TABLE orders"), diag.ParseReadOnly, "parse"},
		{"hidden column", sql("ana", "SELECT email FROM customers"), diag.ResolveUnknown, "resolve"},
		{"masked column in a condition", sql("sam", "SELECT id FROM customers WHERE name = 'A'"), diag.PolicyColumn, "decide"},
		{"required filter", sql("ana", "SELECT count(*) FROM account_balances"), diag.PolicyRequired, "decide"},
		{"denied", sql("sam", "SELECT count(*) FROM account_balances WHERE month = DATE '2026-03-01'"), diag.PolicyDenied, "decide"},
		{"refused by verify", sql("ana", "SELECT count(*) FROM products"), diag.PolicyVerify, "prove"},
		{"failed in the engine", sql("ana", "SELECT name::INTEGER FROM customers"), diag.ExecuteFailed, "execute"},
		{"cancelled", func() error { _, err := h.sqlIn(cancelled, "ana", "SELECT count(*) FROM support_tickets"); return err }, diag.RequestCancelled, "parse"},
		{"described", func() error { return describe("ana", "orders") }, "answered", "resolve"},
		{"described what is hidden", func() error { return describe("sam", "orders") }, diag.ResolveUnknown, "resolve"},
		{"refused before it was a question", func() error {
			err := diag.New(diag.RequestUnknownArg, "there is no argument %q", "x")
			require.NoError(t, h.Refused(t.Context(), engine.ToolSQL, h.subject("ana"), json.RawMessage(`{"x":1}`), err))
			return err
		}, diag.RequestUnknownArg, ""},
		{"refused without a subject", func() error {
			err := diag.New(diag.RequestSubject, "no")
			require.NoError(t, h.Refused(t.Context(), engine.ToolSQL, policy.Subject{ID: "?"}, nil, err))
			return err
		}, diag.RequestSubject, ""},
		{"refused without JSON", func() error {
			err := diag.New(diag.RequestMalformed, "no")
			require.NoError(t, h.Refused(t.Context(), engine.ToolSQL, h.subject("ana"), json.RawMessage("{\xff"), err))
			return err
		}, diag.RequestMalformed, ""},
	} {
		before := len(h.records())
		err := c.do()
		require.Len(t, h.records(), before+1, "%s: one record a request", c.name)
		r, keys := h.last()
		for _, k := range recordKeys {
			require.Contains(t, keys, k, c.name)
			require.NotEqual(t, "null", string(keys[k]), "%s: %s", c.name, k)
		}
		require.Len(t, keys, len(recordKeys), "%s: a field that this test does not know", c.name)
		require.Equal(t, string(c.outcome), r.Outcome, "%s: %v %s", c.name, err, r.RawError)
		require.NotContains(t, string(keys["subject"]), "null", c.name)
		require.True(t, json.Valid(r.Question) && len(r.Question) > 0, c.name)
		require.NotEmpty(t, r.ID, c.name)
		require.NotEmpty(t, r.Policy, c.name)
		require.NotEmpty(t, r.Model, c.name)
		require.NotEmpty(t, r.Subject.ID, c.name)
		for _, s := range slices.Sorted(slices.Values(keysOf(r.StageMS))) {
			require.Contains(t, engine.Stages, s)
			require.LessOrEqual(t, slices.Index(engine.Stages, s), slices.Index(engine.Stages, c.stages), "%s: %s ran", c.name, s)
		}
		if c.stages != "" {
			require.Contains(t, r.StageMS, c.stages, c.name)
		}
		if err == nil {
			require.Empty(t, r.Errors, c.name)
			continue
		}
		require.Equal(t, c.outcome, diag.CodeOf(err), c.name)
		require.Len(t, r.Errors, len(diag.All(err)), c.name)
		require.Zero(t, r.Rows, c.name)
	}
}

func keysOf[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestRecordTellsWhatHappened(t *testing.T) {
	h := open(t, workspace(t))
	_, err := h.sql("ana", "SELECT status, sum(total_cents) FROM orders WHERE order_date >= DATE '2026-01-01' GROUP BY status ORDER BY 1 LIMIT 3")
	require.NoError(t, err)
	r, _ := h.last()
	require.Equal(t, "allow", r.Verdict)
	require.Equal(t, 3, r.Rows)
	require.Positive(t, r.Bytes)
	require.True(t, r.Time.Equal(today))
	require.Equal(t, []string{"files"}, r.Sources)
	require.Contains(t, r.Functions, "sum")
	require.Contains(t, r.Entities, audit.EntityUse{Entity: "orders", Column: "order_date", Class: "output", Clause: "filter"})
	require.Contains(t, r.FinalSQL, `"tenant" = 'acme'`)
	require.Len(t, r.Hash, 64)
	var ids []string
	for _, rule := range r.Rules {
		require.Positive(t, rule.Line)
		ids = append(ids, rule.ID)
	}
	require.Contains(t, ids, "analyst_tenant")
	require.Contains(t, ids, "known_role")

	_, err = h.sql("sam", "SELECT count(*) FROM account_balances WHERE month = DATE '2026-03-01'")
	h.code(diag.PolicyDenied, err)
	r, _ = h.last()
	require.Equal(t, "deny", r.Verdict)
	require.Len(t, r.Reasons, 1)
	require.Equal(t, "support_balances", r.Reasons[0].Rule.ID)
	require.Empty(t, r.FinalSQL)
}

// The engine's own words may quote a row: they are in the record and nowhere else.
func TestRawErrorsStayInTheRecord(t *testing.T) {
	h := shop(t)
	_, err := h.sql("ana", "SELECT min(name::INTEGER) FROM customers WHERE id = 1")
	h.code(diag.ExecuteFailed, err)
	require.NotContains(t, err.Error(), "Smith")
	r, _ := h.last()
	require.Contains(t, r.RawError, "Smith, John")
	for _, e := range r.Errors {
		require.NotContains(t, e, "Smith")
	}
}

func TestNoRecordNoAnswer(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Log("this system has no /dev/full; the closed log below stands for it")
	} else {
		e, err := engine.Open(t.Context(), template, engine.Options{AuditTo: "/dev/full", Temp: t.TempDir()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		withheld(t, house{Engine: e, t: t})
		_, err = engine.Open(t.Context(), template, engine.Options{AuditTo: "/dev/full", Temp: t.TempDir(), SelfTest: true})
		require.Error(t, err, "the self-test's own questions leave records too")
	}

	temp := t.TempDir()
	e, err := engine.Open(t.Context(), template, engine.Options{AuditTo: temp + "/audit.jsonl", Temp: temp + "/pool"})
	require.NoError(t, err)
	h := house{Engine: e, t: t}
	ana := h.subject("ana")
	require.NoError(t, e.Close())
	withheld(t, h)
	_, err = e.Answer(t.Context(), engine.Request{Tool: engine.ToolSQL, Subject: ana, SQL: "SELECT 1"})
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
	require.Error(t, e.Reload(t.Context()), "a closed engine starts nothing")
	left, err := os.ReadDir(temp + "/pool")
	require.NoError(t, err)
	require.Empty(t, left)

	_, err = engine.Open(t.Context(), template, engine.Options{AuditTo: "/proc/none/audit.jsonl", Temp: temp + "/pool"})
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
	left, err = os.ReadDir(temp + "/pool")
	require.NoError(t, err)
	require.Empty(t, left, "a start that fails leaves nothing")
}

// withheld asks in every way; none may answer.
func withheld(t *testing.T, h house) {
	t.Helper()
	ana := h.subject("ana")
	ans, err := h.sql("ana", "SELECT count(*) FROM orders")
	require.Nil(t, ans)
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err), "%v", err)
	ans, err = h.sql("ana", "SELECT email FROM customers")
	require.Nil(t, ans)
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err), "a refusal is an answer too")
	tables, err := h.Tables(t.Context(), engine.Describing{Tool: engine.ToolSearch, Subject: ana})
	require.Empty(t, tables, "nothing is told without a record")
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
	metrics, err := h.Metrics(t.Context(), engine.Describing{Tool: engine.ToolList, Subject: ana})
	require.Empty(t, metrics)
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
	table, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: ana, Table: "orders"})
	require.Nil(t, table)
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
	require.Equal(t, diag.AuditFailed, diag.CodeOf(h.Refused(t.Context(), engine.ToolSQL, ana, nil, errors.New("x"))))
	require.False(t, strings.Contains(err.Error(), "/dev"), "no path in the text")
}

// A refusal's record tells as much as an answer's: what was used, which rule spoke.
func TestRecordsOfRefusals(t *testing.T) {
	h := open(t, workspace(t,
		[3]string{"rego/verify.rego", "", "\ndeny[\"no_products\"] := \"products are not read today\" if {\n\tsome relation in input.relations\n\trelation.entity == \"products\"\n}\n"},
		[3]string{"rego/question.rego", "", "\ndeny[\"broken\"] := \"never\" if {\n\t\"upper\" in input.functions\n\tn := count(input.functions)\n\t1 / (n - n) > 0\n}\n"}))
	_, err := h.sql("ana", "SELECT name FROM products")
	h.code(diag.PolicyVerify, err)
	r, _ := h.last()
	require.Equal(t, "deny", r.Verdict)
	require.Len(t, r.Reasons, 1)
	require.Equal(t, "no_products", r.Reasons[0].Rule.ID)
	require.Contains(t, r.Rules, r.Reasons[0].Rule)

	_, err = h.sql("sam", "SELECT id FROM customers WHERE name = 'A'")
	h.code(diag.PolicyColumn, err)
	r, _ = h.last()
	require.Empty(t, r.Verdict, "the policy was not asked")
	require.Contains(t, r.Entities, audit.EntityUse{Entity: "customers", Column: "name", Class: "output", Clause: "filter", Mask: "first"})

	_, err = h.sql("ana", "SELECT upper(label) AS label FROM labels")
	h.code(diag.PolicyDenied, err)
	r, _ = h.last()
	require.Equal(t, "deny", r.Verdict, "what cannot be decided is denied")
	require.Contains(t, r.Entities, audit.EntityUse{Entity: "labels", Column: "label", Class: "output", Clause: "output"})
	require.NotEmpty(t, r.RawError)
	require.Contains(t, r.Errors[0], "rego/question.rego:")
}
