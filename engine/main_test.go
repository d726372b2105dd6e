package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/cmd/plumbline/sample"
	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/engine/duck"
	"plumbline/policy"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// template is a sample workspace that no test changes.
var template string

func TestMain(m *testing.M) {
	duck.WorkerMain() // does not return in a worker process
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "plumbline-engine-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	template = filepath.Join(dir, "shop")
	if err := load.Init(template, plumbline.Files); err != nil {
		panic(err)
	}
	if err := (sample.Options{Scale: 0.02}).Write(context.Background(), filepath.Join(template, "data")); err != nil {
		panic(err)
	}
	// A key of the deployment's own, so that hash masks are the same in every run.
	os.Setenv("PLUMBLINE_TEST_MASK_KEY", strings.Repeat("k", 32))
	config := filepath.Join(template, "plumbline.cue")
	text, err := os.ReadFile(config)
	if err != nil {
		panic(err)
	}
	text = bytes.Replace(text, []byte("\tserver: {\n"), []byte("\tserver: {\n\t\tmask_key: env: \"PLUMBLINE_TEST_MASK_KEY\"\n"), 1)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		panic(err)
	}
	return m.Run()
}

// today is the engine's clock in tests, so that answers do not depend on the day.
var today = time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return today }

// house is an engine over a workspace, and where its records are.
type house struct {
	*engine.Engine
	t    *testing.T
	root string
	log  string
	temp string
}

// shared is an engine over the unchanged sample, for tests that only ask.
var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.Open(context.Background(), template, engine.Options{Now: clock, AuditTo: filepath.Join(filepath.Dir(template), "shared.jsonl"),
		Temp: filepath.Join(filepath.Dir(template), "shared-temp")})
})

func shop(t *testing.T) house {
	t.Helper()
	e, err := shared()
	require.NoError(t, err)
	return house{Engine: e, t: t, root: template, log: filepath.Join(filepath.Dir(template), "shared.jsonl")}
}

// workspace gives a copy of the sample with files changed: each edit is a file
// name, a text in it, and what takes its place.
func workspace(t *testing.T, edits ...[3]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, os.CopyFS(root, os.DirFS(template)))
	for _, e := range edits {
		edit(t, root, e[0], e[1], e[2])
	}
	return root
}

// edit replaces a text that stands in a file of a workspace. An empty text means
// the end of the file.
func edit(t *testing.T, root, name, from, to string) {
	t.Helper()
	path := filepath.Join(root, name)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(b) + to
	if from != "" {
		require.Contains(t, string(b), from, "%s has changed", name)
		text = strings.ReplaceAll(string(b), from, to)
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// open starts an engine over a workspace of a test's own.
func open(t *testing.T, root string) house {
	t.Helper()
	h := house{t: t, root: root, log: filepath.Join(t.TempDir(), "audit.jsonl"), temp: filepath.Join(t.TempDir(), "temp")}
	e, err := engine.Open(t.Context(), root, engine.Options{Now: clock, AuditTo: h.log, Temp: h.temp})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	h.Engine = e
	return h
}

func (h house) subject(id string) policy.Subject {
	h.t.Helper()
	s, ok := h.Subject(id)
	require.True(h.t, ok, "no subject %s", id)
	return s
}

func (h house) sql(id, text string) (*engine.Answer, error) {
	return h.sqlIn(h.t.Context(), id, text)
}

func (h house) sqlIn(ctx context.Context, id, text string) (*engine.Answer, error) {
	asked, _ := json.Marshal(map[string]string{"sql": text})
	return h.Answer(ctx, engine.Request{Tool: engine.ToolSQL, Subject: h.subject(id), SQL: text, Asked: asked})
}

func (h house) metric(id, question string) (*engine.Answer, error) {
	h.t.Helper()
	q, err := metric.Decode([]byte(question))
	require.NoError(h.t, err)
	return h.Answer(h.t.Context(), engine.Request{Tool: engine.ToolMetrics, Subject: h.subject(id), Question: &q, Asked: json.RawMessage(question)})
}

func (h house) explain(id, text string) (*engine.Answer, error) {
	asked, _ := json.Marshal(map[string]string{"sql": text})
	return h.Answer(h.t.Context(), engine.Request{Tool: engine.ToolExplain, Subject: h.subject(id), SQL: text, Asked: asked})
}

// rows asks in SQL and gives the rows as CSV without the head.
func (h house) rows(id, text string) string {
	h.t.Helper()
	ans, err := h.sql(id, text)
	require.NoError(h.t, err)
	_, body, _ := strings.Cut(ans.Table.CSV(), "\n")
	return body
}

// records gives all records of the engine, oldest first.
func (h house) records() []audit.Record {
	h.t.Helper()
	list, err := audit.Tail(h.log, 1_000_000)
	require.NoError(h.t, err)
	return list
}

// last gives the newest record, decoded and as the keys that its line has.
func (h house) last() (audit.Record, map[string]json.RawMessage) {
	h.t.Helper()
	b, err := os.ReadFile(h.log)
	require.NoError(h.t, err)
	lines := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	line := lines[len(lines)-1]
	var keys map[string]json.RawMessage
	require.NoError(h.t, json.Unmarshal(line, &keys))
	var r audit.Record
	require.NoError(h.t, json.Unmarshal(line, &r))
	return r, keys
}

// code requires an error with the code, and the code in the newest record.
func (h house) code(want diag.Code, err error) {
	h.t.Helper()
	require.Error(h.t, err)
	require.Equal(h.t, want, diag.CodeOf(err), "%v", err)
	r, _ := h.last()
	require.Equal(h.t, string(want), r.Outcome, "the record tells another outcome")
}

// write is what an answer looks like in goldens.
func write(ans *engine.Answer, err error) string {
	var b strings.Builder
	if err != nil {
		for _, e := range diag.All(err) {
			fmt.Fprintf(&b, "refused: %s\n", e.Error())
		}
		return b.String()
	}
	for _, a := range ans.Applied {
		fmt.Fprintf(&b, "# %s: %s", a.Origin, a.Text)
		if a.Overridden {
			b.WriteString(" (overridden)")
		}
		b.WriteByte('\n')
	}
	for _, w := range ans.Warnings {
		fmt.Fprintf(&b, "# %s\n", w)
	}
	if ans.Table != nil {
		b.WriteString(ans.Table.CSV())
	}
	return b.String()
}

// defined asks for the definitions too.
func (h house) defined(id, question string) (*engine.Answer, error) {
	h.t.Helper()
	q, err := metric.Decode([]byte(question))
	require.NoError(h.t, err)
	return h.Answer(h.t.Context(), engine.Request{Tool: engine.ToolMetrics, Subject: h.subject(id), Question: &q, Asked: json.RawMessage(question), Define: true})
}
