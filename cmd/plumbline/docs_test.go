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
