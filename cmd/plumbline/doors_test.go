package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/mcp"
	"plumbline/policy"
)

// hidden are words that only the entity orders has, which the doors must not show
// where a policy hides it.
var hidden = []string{"total_cents", "sum of order totals"}

// askedOfTools are arguments about orders for each tool; a tool without any fails the test.
var askedOfTools = map[string][]map[string]any{
	engine.ToolList:     {{"search": "revenue"}, {"dimension": "orders.status"}},
	engine.ToolMetrics:  {{"metrics": []string{"revenue"}}, {"rows": "orders", "dimensions": []string{"orders.status"}}},
	engine.ToolSQL:      {{"sql": "SELECT count(*) FROM orders"}, {"sql": "SELECT MEASURE(revenue) FROM orders"}},
	engine.ToolSearch:   {{"search": "orders"}, {}},
	engine.ToolDescribe: {{"table": "orders"}, {"table": "orders", "dimension": "status"}},
}

// door is what a command of the program asks, and as whom. Nobody asks by one without
// args; why says how it is governed then.
type door struct {
	as   string
	args []string
	why  string
}

var commands = map[string]door{
	"sql":     {as: "ana", args: []string{"SELECT count(*) FROM orders"}},
	"query":   {as: "ana", args: []string{"revenue"}},
	"explain": {as: "ana", args: []string{"SELECT count(*) FROM orders"}}, // --why reads policies and no data
	"metrics": {as: "ana", args: []string{"--dimension", "orders.status"}},
	"test":    {as: "operator", args: []string{"revenue_by_plan"}, why: "tests ask as the operator, through the pipeline"},
	"check":   {as: "operator", args: []string{"--data"}, why: "promises of the data are counted as the operator, who must see everything"},
	"diff":    {as: "operator", args: []string{"older"}, why: "values of metrics are asked as the operator"},
	"audit replay": {as: "ana", args: []string{"--policy", "rego", "--file", "recorded.jsonl"},
		why: "recorded questions are asked as their subjects"},

	"demo":         {why: "writes a workspace and calls the tools of its own server"},
	"serve":        {why: "offers the tools"},
	"init":         {why: "writes files"},
	"version":      {why: "reads nothing"},
	"audit matrix": {why: "reads policies and no data; engine.TestMatrixAgreesWithTheTools holds it against the tools"},
	"audit log":    {why: "reads the audit file, which its owner alone may"},
}

// leaves lists the commands that the program has.
func leaves(t *testing.T) []string {
	t.Helper()
	parser, err := kong.New(&cli{})
	require.NoError(t, err)
	var out []string
	for _, leaf := range parser.Model.Leaves(true) {
		name, _, _ := strings.Cut(leaf.Path(), " <")
		out = append(out, strings.TrimSpace(strings.TrimPrefix(name, parser.Model.Name)))
	}
	return out
}

// ruled writes the sample workspace with its access rules edited: each edit is a text
// and what takes its place.
func ruled(t *testing.T, edits ...[2]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "shop")
	program(t, "demo", root, "--write", "--scale", "0.01")
	file := filepath.Join(root, "rego", "access.rego")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, e := range edits {
		require.Contains(t, string(text), e[0])
		text = []byte(strings.ReplaceAll(string(text), e[0], e[1]))
	}
	require.NoError(t, os.WriteFile(file, text, 0o600))
	older(t, root)
	return root
}

// newRecords gives the records since the last call.
type newRecords struct {
	t      *testing.T
	reader *audit.Reader
}

func (n newRecords) read() []audit.Record {
	n.t.Helper()
	var out []audit.Record
	require.NoError(n.t, n.reader.Read(func(e audit.Entry) error {
		out = append(out, e.Record)
		return e.Err
	}))
	return out
}

// throughEveryDoor asks about orders by every tool and every command, and gives what
// each wrote and the records that it left to judge.
func throughEveryDoor(t *testing.T, root string, judge func(t *testing.T, written string, refused bool, records []audit.Record, as, revision string)) {
	log := filepath.Join(root, "audit", "audit.jsonl")
	records := newRecords{t, audit.NewReader(log)}
	t.Cleanup(func() { require.NoError(t, records.reader.Close()) })

	eng, err := engine.Open(t.Context(), root, engine.Options{})
	require.NoError(t, err)
	revision := eng.Summary().Policy
	client, server := sdk.NewInMemoryTransports()
	_, err = mcp.New(eng, "test", "ana").Connect(t.Context(), server)
	require.NoError(t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), client, nil)
	require.NoError(t, err)
	offers := session.InitializeResult().Capabilities
	require.Nil(t, offers.Resources, "resources would be a door without a row here")
	require.Nil(t, offers.Prompts, "prompts would be a door without a row here")
	list, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, len(askedOfTools))
	for _, tool := range list.Tools {
		require.NotEmpty(t, askedOfTools[tool.Name], "the tool %s has no row", tool.Name)
		for _, args := range askedOfTools[tool.Name] {
			t.Run(tool.Name, func(t *testing.T) {
				res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.Name, Arguments: args})
				require.NoError(t, err)
				text, err := res.Content[0].MarshalJSON()
				require.NoError(t, err)
				judge(t, string(text), res.IsError, records.read(), "ana", revision)
			})
		}
	}
	require.NoError(t, session.Close())
	require.NoError(t, eng.Close())

	t.Chdir(root)
	require.ElementsMatch(t, leaves(t), slices.Collect(keysOf(commands)), "every command has a row")
	for name, d := range commands {
		if d.args == nil {
			require.NotEmpty(t, d.why, name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := append(strings.Fields(name), d.args...)
			if d.why == "" {
				args = append(args, "--as", d.as)
			}
			var out strings.Builder
			code := run(context.Background(), args, nil, &out, &out)
			judge(t, out.String(), code != 0, records.read(), d.as, revision)
		})
	}
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// older lays a revision of the models beside the workspace in which a metric means
// something else, and a recorded question, for the commands that compare.
func older(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, os.CopyFS(filepath.Join(root, "older", "models"), os.DirFS(filepath.Join(root, "models"))))
	require.NoError(t, os.CopyFS(filepath.Join(root, "older", "cue.mod"), os.DirFS(filepath.Join(root, "cue.mod"))))
	text, err := os.ReadFile(filepath.Join(root, "plumbline.cue"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "older", "plumbline.cue"), text, 0o600))
	file := filepath.Join(root, "older", "models", "orders.cue")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "cancelled", "refunded")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "recorded.jsonl"), []byte(`{"id":"q1","time":"2026-06-15T10:00:01Z","subject":{"id":"ana","roles":["analyst"],"claims":{"tenant":"acme"}},"tool":"query_sql","question":{"sql":"SELECT count(*) FROM orders"}}`+"\n"), 0o600))
}

// TestEveryDoorHidesWhatThePolicyHides: where the policy hides orders, no tool and no
// command shows anything of it, and each leaves a record under that policy.
func TestEveryDoorHidesWhatThePolicyHides(t *testing.T) {
	var edits [][2]string
	for _, role := range []string{"operator", "analyst"} {
		rule := "visible." + role + " if lib.role(\"" + role + "\")\n"
		edits = append(edits, [2]string{rule, "visible." + role + " if {\n\tlib.role(\"" + role + "\")\n\tinput.entity.name != \"orders\"\n}\n"})
	}
	root := ruled(t, edits...)
	throughEveryDoor(t, root, func(t *testing.T, written string, _ bool, records []audit.Record, as, revision string) {
		if !strings.HasSuffix(t.Name(), "/diff") { // which tells what model files say, to those who have them
			for _, word := range hidden {
				require.NotContains(t, written, word)
			}
		}
		if strings.HasSuffix(t.Name(), "/check") {
			require.Contains(t, written, "policy.denied")
			return // refused before anything was asked
		}
		require.NotEmpty(t, records)
		for _, r := range records {
			require.Equal(t, revision, r.Policy)
			require.Equal(t, policy.SubjectID(as), r.Subject.ID)
			require.False(t, slices.ContainsFunc(r.Entities, func(u audit.EntityUse) bool { return u.Entity == "orders" }), r.FinalSQL)
			require.NotContains(t, r.FinalSQL, `"orders"`)
		}
	})
}

// TestEveryDoorIsShutWhenThePolicyFails: a rule that fails when it is evaluated, but not
// at the moment at which loading tries it, shuts every door.
func TestEveryDoorIsShutWhenThePolicyFails(t *testing.T) {
	root := ruled(t, [2]string{"\n# Which columns exist", "\nvisible.broken if {\n\tinput.now != \"2026-01-15T12:00:00Z\"\n\tn := count(input.entity.name)\n\t1 / (n - n) > 0\n}\n\n# Which columns exist"})
	throughEveryDoor(t, root, func(t *testing.T, written string, refused bool, records []audit.Record, as, revision string) {
		name := t.Name()[strings.LastIndexByte(t.Name(), '/')+1:]
		if name == "audit_replay" {
			require.False(t, refused, "it is refused under both policies, which is no difference: %s", written)
		} else {
			require.True(t, refused, written)
		}
		if name != "check" { // refused before anything was asked
			require.NotEmpty(t, records)
		}
		for _, r := range records {
			require.NotEqual(t, "answered", r.Outcome, "%s %s", r.Tool, r.Question)
			require.Equal(t, revision, r.Policy)
			require.Empty(t, r.FinalSQL)
		}
	})
}
