package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/cmd/plumbline/sample"
	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// small is an engine over a tiny shop whose policy lets the self-test's own
// subject ask, as a careless one would.
func small(t *testing.T) (*Engine, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, load.Init(root, plumbline.Files))
	require.NoError(t, sample.Options{Scale: 0.001}.Write(t.Context(), filepath.Join(root, "data")))
	careless := "\nallow[\"anyone\"] if lib.complete_question\n"
	f, err := os.OpenFile(filepath.Join(root, "rego/question.rego"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(careless)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	e, err := Open(t.Context(), root, Options{AuditTo: log, Temp: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e, log
}

func newest(t *testing.T, log string) audit.Record {
	t.Helper()
	list, err := audit.Tail(log, 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

func TestSelfTest(t *testing.T) {
	e, log := small(t)
	require.NoError(t, e.selfTest(t.Context(), frontDoor), "also under a policy that allows everyone")
	list, err := audit.Tail(log, 1000)
	require.NoError(t, err)
	require.Len(t, list, len(frontDoor), "its attempts are on record")

	for _, through := range []string{
		"SELECT 1", // is answered
		"SELECT CAST('x' AS INTEGER)",
		"SELECT 1 FROM",
	} {
		err := e.selfTest(t.Context(), append([]string{through}, frontDoor...))
		if through == "SELECT 1 FROM" {
			require.NoError(t, err, "a text that does not parse is refused")
			continue
		}
		require.Equal(t, diag.ConfigSelfTest, diag.CodeOf(err), "%s", through)
		require.Contains(t, err.Error(), "attempt 1")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, e.selfTest(ctx, frontDoor), "a self-test that was interrupted shows nothing")
}

// A panic anywhere in the stages is a refusal with a record, and the engine goes on.
func TestPanicIsARefusal(t *testing.T) {
	e, log := small(t)
	ana, ok := e.Subject("ana")
	require.True(t, ok)
	ask := Request{Tool: ToolSQL, Subject: ana, SQL: "SELECT count(*) FROM orders", Asked: json.RawMessage(`{"sql":"x"}`)}
	w := e.current.Load()
	pool, expressions, rules := w.pool, w.expressions, w.policy

	check := func(err error) {
		t.Helper()
		require.Equal(t, diag.BugInternal, diag.CodeOf(err))
		require.NotContains(t, err.Error(), "nil pointer", "the cause is for the record")
		r := newest(t, log)
		require.Equal(t, string(diag.BugInternal), r.Outcome)
		require.Contains(t, err.Error(), r.ID, "the asker can report it")
		require.Contains(t, r.RawError, "nil pointer")
		require.Contains(t, r.RawError, ".go:", "with the place")
	}
	w.pool, w.expressions = nil, nil // what no rule foresees
	ans, err := e.Answer(t.Context(), ask)
	require.Nil(t, ans)
	check(err)
	tables, err := e.Tables(t.Context(), Describing{Tool: ToolSearch, Subject: ana})
	require.Nil(t, tables)
	check(err)

	w.policy = nil // the record itself cannot be built: it names the policy's revision
	ans, err = e.Answer(t.Context(), ask)
	require.Nil(t, ans)
	require.Equal(t, diag.BugRecord, diag.CodeOf(err))
	r := newest(t, log)
	require.Equal(t, string(diag.BugRecord), r.Outcome)
	require.Equal(t, "ana", string(r.Subject.ID))
	require.JSONEq(t, `{"sql":"x"}`, string(r.Question))

	w.pool, w.expressions, w.policy = pool, expressions, rules
	ans, err = e.Answer(t.Context(), ask)
	require.NoError(t, err)
	require.NotNil(t, ans)
}

// A panic stays one when the context has ended as well: a bug is never filed as
// the caller's doing.
func TestPanicIsNotACancellation(t *testing.T) {
	e, log := small(t)
	ctx, cancel := context.WithCancel(t.Context())
	q := e.begin(ctx, e.current.Load(), Request{Tool: ToolSQL, Subject: policy.Subject{ID: "x"}})
	cancel()
	_, err := q.finish(ctx, nil, nil, "something")
	require.Equal(t, diag.BugInternal, diag.CodeOf(err))
	require.Equal(t, string(diag.BugInternal), newest(t, log).Outcome)
}
