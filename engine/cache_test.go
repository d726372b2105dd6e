package engine_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// Equal texts of many people at the same time, some kept and some running: each
// gets the rows of its own subject.
func TestEqualQuestionsOfDifferentSubjects(t *testing.T) {
	h := open(t, workspace(t))
	want := map[string]string{}
	const ask = "SELECT tenant, count(*) FROM customers GROUP BY tenant ORDER BY tenant"
	const metric = `{"metrics":["customer_count"],"dimensions":[{"name":"tenant"}]}`
	for _, who := range []string{"ana", "greta", "sam", "operator"} {
		want[who] = h.rows(who, ask)
	}
	require.Equal(t, "acme,179\n", want["ana"])
	require.Equal(t, "globex,136\n", want["greta"])
	require.NotEqual(t, want["operator"], want["ana"])
	var all sync.WaitGroup
	for i := range 64 {
		who := []string{"ana", "greta", "sam", "operator"}[i%4]
		all.Go(func() {
			var ans *engine.Answer
			var err error
			if i%8 < 4 {
				ans, err = h.sql(who, ask)
			} else {
				ans, err = h.metric(who, metric)
			}
			if err != nil {
				t.Error(err)
				return
			}
			got := ans.Table.CSV()
			if _, rows, _ := cutLine(got); rows != want[who] {
				t.Errorf("%s got %s", who, got)
			}
		})
	}
	all.Wait()
}

func cutLine(s string) (head, rest string, ok bool) {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// Subjects that differ in anything that a rule reads differ for what is kept: the
// same id with other claims or roles, and lists that only look alike.
func TestKeptForTheWholeSubject(t *testing.T) {
	h := open(t, workspace(t))
	ask := func(s policy.Subject) (string, bool, error) {
		ans, err := h.Answer(t.Context(), engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: "SELECT count(*) FROM customers"})
		r, _ := h.last()
		if err != nil {
			return "", r.Cached, err
		}
		_, rows, _ := cutLine(ans.Table.CSV())
		return rows, r.Cached, nil
	}
	ana := h.subject("ana")
	rows, cached, err := ask(ana)
	require.NoError(t, err)
	require.Equal(t, "179\n", rows)
	require.False(t, cached)
	_, cached, err = ask(ana)
	require.NoError(t, err)
	require.True(t, cached)
	for _, c := range []struct {
		roles  []string
		claims map[string]any
		rows   string
	}{
		{[]string{"analyst"}, map[string]any{"tenant": "globex"}, "136\n"},
		{[]string{"analyst"}, map[string]any{}, "0\n"},
		{[]string{"analyst"}, map[string]any{"tenant": []any{"acme"}}, "0\n"},
		{[]string{"operator"}, map[string]any{"tenant": "acme"}, "400\n"},
		{[]string{}, map[string]any{"tenant": "acme"}, ""},
		{[]string{"analyst,operator"}, map[string]any{"tenant": "acme"}, ""},
	} {
		rows, cached, err := ask(policy.Subject{ID: "ana", Roles: c.roles, Claims: c.claims})
		require.False(t, cached)
		if c.rows == "" {
			require.Equal(t, diag.ResolveUnknown, diag.CodeOf(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.rows, rows, "%v", c)
	}
}

// A decision is made for every question, also for a kept one, and a record is
// left; a limit that changes between two equal questions holds for the second.
func TestKeptQuestionIsDecidedAgain(t *testing.T) {
	root := workspace(t,
		[3]string{"rego/limits.rego", "", "\nlower[\"evening\"] := {\"rows\": 3} if {\n\tlib.role(\"analyst\")\n\ttime.parse_rfc3339_ns(input.now) > 1784138400000000000\n}\n"},
		[3]string{"rego/question.rego", "", "\ndeny[\"night\"] := \"not at night\" if {\n\tlib.role(\"analyst\")\n\ttime.parse_rfc3339_ns(input.now) > 1784152800000000000\n}\n"})
	var mu sync.Mutex
	now := time.Unix(1784131200, 0)
	at := func(sec int64) {
		mu.Lock()
		defer mu.Unlock()
		now = time.Unix(sec, 0)
	}
	h := house{t: t, root: root, log: t.TempDir() + "/audit.jsonl"}
	e, err := engine.Open(t.Context(), root, engine.Options{AuditTo: h.log, Temp: t.TempDir(), Now: func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h.Engine = e
	rows := func() (int, bool, string) {
		t.Helper()
		ans, err := h.sql("ana", "SELECT id FROM customers ORDER BY id")
		require.NoError(t, err)
		return len(ans.Table.Rows), ans.Table.Truncated, ans.LimitSource
	}
	check := func(want int, truncated bool, source string, cached bool) {
		t.Helper()
		n, cut, by := rows()
		require.Equal(t, fmt.Sprint(want, truncated, source), fmt.Sprint(n, cut, by))
		r, _ := h.last()
		require.Equal(t, cached, r.Cached)
		require.Equal(t, "allow", r.Verdict)
	}
	check(179, false, "server", false)
	check(179, false, "server", true)
	at(1784138500)
	check(3, true, "policy", false)
	check(3, true, "policy", true)
	at(1784131200)
	check(179, false, "server", false)
	at(1784152900)
	_, err = h.sql("ana", "SELECT id FROM customers ORDER BY id")
	h.code(diag.PolicyDenied, err)
	require.Contains(t, err.Error(), "not at night")
}

// A row rule that reads the clock closes rows to a question whose proof is kept.
func TestKeptQuestionMeetsARuleOfTheHour(t *testing.T) {
	root := workspace(t, [3]string{"rego/access.rego", "rows.analyst_tenant if {\n", "rows.analyst_tenant if {\n\ttime.parse_rfc3339_ns(input.now) < 1784138400000000000\n"})
	now := time.Unix(1784131200, 0)
	h := house{t: t, root: root, log: t.TempDir() + "/audit.jsonl"}
	e, err := engine.Open(t.Context(), root, engine.Options{AuditTo: h.log, Temp: t.TempDir(), Now: func() time.Time { return now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h.Engine = e
	for _, want := range []string{"179\n", "179\n", "0\n", "0\n", "179\n"} {
		switch want {
		case "0\n":
			now = time.Unix(1784138500, 0)
		default:
			now = time.Unix(1784131200, 0)
		}
		require.Equal(t, want, h.rows("ana", "SELECT count(*) FROM customers"))
	}
}
