package engine_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// openAt starts an engine whose clock the test sets.
func openAt(t *testing.T, root string, now *time.Time) house {
	t.Helper()
	h := house{t: t, root: root, log: filepath.Join(t.TempDir(), "audit.jsonl")}
	e, err := engine.Open(t.Context(), root, engine.Options{Now: func() time.Time { return *now }, AuditTo: h.log, Temp: filepath.Join(t.TempDir(), "temp")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h.Engine = e
	return h
}

// Calls of all tools count together, for each subject alone; a minute later they no
// longer do, and a refused call never does.
func TestCallsAreLimited(t *testing.T) {
	now := today
	h := openAt(t, workspace(t, [3]string{"plumbline.cue", "\tlimits: {\n", "\tlimits: {\n\t\tcalls_per_minute: 4\n"},
		[3]string{"rego/limits.rego", `{"rows": 500}`, `{"rows": 500, "calls": 2}`}), &now)
	ask := func(who string) error {
		_, err := h.sql(who, "SELECT 1 AS n")
		return err
	}
	describe := func(who string) error {
		_, err := h.Tables(t.Context(), engine.Describing{Tool: engine.ToolSearch, Subject: h.subject(who)})
		return err
	}
	require.NoError(t, ask("ana"))
	now = now.Add(20 * time.Second)
	require.NoError(t, describe("ana"))
	_, err := h.explain("ana", "SELECT 1 AS n")
	require.NoError(t, err)
	require.NoError(t, ask("ana"))
	for range 3 {
		err := ask("ana")
		h.code(diag.LimitCalls, err)
		require.ErrorContains(t, err, "you may call 4 times in a minute, and have; ask again in 40s")
		h.code(diag.LimitCalls, describe("ana"))
	}

	require.NoError(t, ask("sam"), "another subject")
	require.NoError(t, describe("sam"))
	h.code(diag.LimitCalls, ask("sam"))
	require.NoError(t, describe("sam"), "the policy's limit is one of questions")

	now = now.Add(40 * time.Second)
	require.NoError(t, ask("ana"))
	h.code(diag.LimitCalls, ask("ana"))
	require.NoError(t, h.Reload(t.Context()))
	h.code(diag.LimitCalls, ask("ana"))
	now = now.Add(time.Minute)
	require.NoError(t, ask("ana"))
}

// So many sets of filters and groups are asked by in an hour; what is asked of one of
// them, and in which order, does not matter.
func TestFilterSetsAreLimited(t *testing.T) {
	now := today
	h := openAt(t, workspace(t, [3]string{"rego/access.rego", "", `
min_group.people := {"size": 5, "filter_sets": 3} if {
	lib.role("analyst")
	input.entity.name in {"orders", "customers"}
}
`}), &now)
	ask := func(text string) error {
		_, err := h.sql("ana", text)
		return err
	}
	const base = "SELECT status, count(*) AS n FROM orders GROUP BY status"
	require.NoError(t, ask(base))
	for _, same := range []string{
		base, "SELECT  status, COUNT( * ) AS n -- again\nFROM Orders GROUP BY STATUS", "SELECT status, sum(total_cents) AS s FROM orders GROUP BY status",
		"SELECT status, avg(total_cents) AS a, count(DISTINCT id) AS d FROM orders GROUP BY status ORDER BY 2 DESC LIMIT 2",
	} {
		require.NoError(t, ask(same))
	}
	now = now.Add(10 * time.Minute)
	_, err := h.explain("ana", "SELECT count(*) AS n FROM orders WHERE id <> 10")
	require.NoError(t, err)
	h.code(diag.PolicyGroup, ask("SELECT max(id) AS n FROM orders WHERE id <> 10"))
	require.NoError(t, ask("SELECT count(*) AS n FROM orders WHERE id <> 11"))
	require.NoError(t, ask("SELECT count(*) AS n FROM orders"))
	for i, other := range []string{
		"SELECT count(*) AS n FROM orders WHERE id <> 10", "SELECT count(*) AS n FROM orders WHERE id <> 12", "SELECT customer_id, count(*) AS n FROM orders GROUP BY 1",
		"SELECT id, count(*) AS n FROM orders GROUP BY 1", "SELECT status, count(*) AS n FROM orders GROUP BY status HAVING sum(total_cents) > 5",
	} {
		err := ask(other)
		h.code(diag.LimitFilterSets, err)
		require.ErrorContains(t, err, `you may ask for "orders" by 3 different sets of filters and groups in an hour, and have; ask by one of those again, or in 50m0s by another`, fmt.Sprint(i))
	}
	_, err = h.metric("ana", `{"metrics": ["revenue"], "dimensions": ["status"]}`)
	h.code(diag.LimitFilterSets, err)
	require.NoError(t, ask(base), "one of the three")
	require.NoError(t, ask("SELECT count(*) AS n FROM customers"), "another entity")
	require.NotEmpty(t, h.rows("operator", "SELECT count(*) AS n FROM orders WHERE id <> 13"), "another subject")
	now = now.Add(time.Hour)
	require.NoError(t, ask("SELECT count(*) AS n FROM orders WHERE id <> 10"))
}
