package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnalystsPage types the commands of docs/analysts.md, those of its last part
// in a repository that has the revisions it names.
func TestAnalystsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/analysts.md")
	require.NoError(t, err)
	root := t.TempDir()
	t.Chdir(root)
	program(t, "demo", "shop", "--write", "--scale", sampleScale)
	for _, args := range [][]string{
		{"init", "-q", "--initial-branch=main", "."}, {"add", "shop/plumbline.cue", "shop/models", "shop/cue.mod"}, {"commit", "-q", "-m", "one"},
		{"commit", "-q", "--allow-empty", "-m", "two"}, {"branch", "feature"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	require.NoError(t, os.CopyFS(filepath.Join(filepath.Dir(root), "shop-of-yesterday"), os.DirFS("shop")))

	typed := 0
	for _, b := range block.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(b[2]) {
			args := words.FindAllString(line, -1)
			if b[1] != "sh" || len(args) < 2 {
				continue
			}
			for i, a := range args {
				args[i] = strings.Trim(a, "'")
			}
			require.Equal(t, "plumbline", filepath.Base(args[0]))
			require.NotEmpty(t, program(t, args[1:]...), line)
			typed++
		}
	}
	require.Equal(t, 7, typed)
}

// inline is a command within a sentence; those without arguments only name one.
var inline = regexp.MustCompile("`plumbline ([^`]+ [^`]+)`")

// TestCommandsInSentences types what pages show of commands with their arguments, in
// the sample workspace, after one question that a replay can ask again. Words in
// capitals stand for what the reader puts in.
func TestCommandsInSentences(t *testing.T) {
	pages := map[string]int{"../../README.md": 2, "../../docs/policies.md": 4, "../../docs/security.md": 5, "../../docs/postgres.md": 1, "../../rego/README.md": 1}
	text := map[string]string{}
	for page := range pages {
		raw, err := os.ReadFile(page)
		require.NoError(t, err)
		text[page] = string(raw)
	}
	shop := filepath.Join(t.TempDir(), "shop")
	program(t, "demo", shop, "--write", "--scale", "0.01")
	t.Chdir(shop)
	program(t, "sql", "SELECT count(*) FROM orders")
	for page, want := range pages {
		found := inline.FindAllStringSubmatch(text[page], -1)
		require.Len(t, found, want, page)
		for _, m := range found {
			line := strings.NewReplacer("SUBJECT", "ana", "DIR", "rego", "ENTITY.COLUMN", "customers.email", "SELECT ...", "SELECT id FROM orders").Replace(m[1])
			args := words.FindAllString(line, -1)
			for i, a := range args {
				args[i] = strings.Trim(a, "'")
			}
			out := program(t, args...)
			if !strings.Contains(line, "--outcome deny") { // nothing was
				require.NotEmpty(t, out, line)
			}
		}
	}
}

// TestPolicyPageChecks types what docs/policies.md says to do to switch policies in one
// step, and before a deployment, in a workspace.
func TestPolicyPageChecks(t *testing.T) {
	page, err := os.ReadFile("../../docs/policies.md")
	require.NoError(t, err)
	under := func(title string) string { // the first block there
		_, after, found := strings.Cut(string(page), title)
		require.True(t, found)
		return block.FindStringSubmatch(after)[2]
	}
	shop := filepath.Join(t.TempDir(), "shop")
	program(t, "demo", shop, "--write", "--scale", "0.01")
	opa := exec.CommandContext(t.Context(), "go", "tool", "-n", "opa")
	path, err := opa.Output()
	require.NoError(t, err)
	t.Chdir(shop)
	out, err := exec.CommandContext(t.Context(), "sh", "-ec", under("## Changing a policy that is served")).CombinedOutput()
	require.NoError(t, err, string(out))
	target, err := os.Readlink("rego")
	require.NoError(t, err)
	require.Equal(t, "rego-2", target)
	typed := map[string]int{}
	for line := range strings.Lines(under("## Before you deploy")) {
		args := strings.Fields(line)
		typed[args[0]]++
		if args[0] == "plumbline" {
			require.NotEmpty(t, program(t, args[1:]...))
			continue
		}
		require.Equal(t, "opa", args[0])
		out, err := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), args[1:]...).CombinedOutput()
		require.NoError(t, err, "%s%s", line, out)
	}
	require.Equal(t, map[string]int{"opa": 3, "plumbline": 1}, typed)
}

// TestExitCodesOfDiff: 0 and 1 speak of the difference, so that a failure is
// neither; without --exit-code a difference is no failure.
func TestExitCodesOfDiff(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"old", "new", "broken"} {
		program(t, "init", folder)
	}
	edit := func(folder, from, to string) {
		file := filepath.Join(folder, "models", "orders.cue")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), from)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), from, to)), 0o600))
	}
	edit("new", "total_cents >= 50000", "total_cents >= 60000")
	edit("broken", `agg: "sum"`, `agg: "summ"`)
	for _, c := range []struct {
		code int
		args string
	}{
		{0, "old --exit-code"}, {0, "new"}, {1, "new --exit-code"}, {1, "new --exit-code --json"}, {1, "new --exit-code --markdown"},
		{2, "broken"}, {2, "broken --exit-code"}, {2, "nowhere --exit-code"}, {2, "nowhere --json"}, {2, ""},
	} {
		var out strings.Builder
		args := append([]string{"diff", "-C", "old", "--no-values"}, strings.Fields(c.args)...)
		require.Equal(t, c.code, run(t.Context(), args, nil, &out, &out), "%s\n%s", c.args, out.String())
	}
}
