package main

import (
	"os"
	"os/exec"
	"path/filepath"
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
