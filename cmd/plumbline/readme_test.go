package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README shows some of the demo's questions, and its audit lines.
var shownSteps = []string{"2", "3", "5", "8", "9", "audit"}

const (
	readmePath = "../../README.md"
	demoBegin  = "<!-- demo:begin -->\n"
	demoEnd    = "<!-- demo:end -->"
)

// TestReadmeShowsTheDemo runs the demo at full size and wants its output in the
// README; then it types the README's commands into that workspace.
func TestReadmeShowsTheDemo(t *testing.T) {
	readme, err := os.ReadFile(readmePath)
	require.NoError(t, err)
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	path, err := filepath.Abs(readmePath)
	require.NoError(t, err)
	t.Chdir(t.TempDir())

	before, rest, found := strings.Cut(string(readme), demoBegin)
	require.True(t, found)
	shown, after, found := strings.Cut(rest, demoEnd)
	require.True(t, found)
	want := excerpt(t, program(t, "demo"))
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, []byte(before+demoBegin+want+demoEnd+after), 0o644))
		shown = want
	}
	require.Equal(t, want, shown, "UPDATE_GOLDEN=1 writes it anew")

	t.Run("commands", func(t *testing.T) { typeCommands(t, before+after) })
	t.Run("clients", func(t *testing.T) { configureClients(t, before+after, string(makefile)) })
}

// program runs plumbline and gives what it printed; it must exit with 0.
func program(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	code := run(context.Background(), args, io.NopCloser(strings.NewReader("")), &stdout, &stderr)
	require.Zero(t, code, "plumbline %s: %s%s", strings.Join(args, " "), stdout.String(), stderr.String())
	return stdout.String()
}

var stepHead = regexp.MustCompile(`^(?:(\d+)\. |(audit): )`)

// excerpt keeps the shown steps of the demo's output; "..." stands for the others.
func excerpt(t *testing.T, out string) string {
	var kept, seen []string
	for part := range strings.SplitSeq(strings.TrimSpace(unsteady.ReplaceAllString(out, "q...")), "\n\n") {
		m := stepHead.FindStringSubmatch(part)
		if m == nil || !slices.Contains(shownSteps, m[1]+m[2]) {
			if len(kept) == 0 || kept[len(kept)-1] != "..." {
				kept = append(kept, "...")
			}
			continue
		}
		kept, seen = append(kept, part), append(seen, m[1]+m[2])
	}
	require.Equal(t, shownSteps, seen)
	return "```\n" + strings.Join(kept[1:], "\n\n") + "\n```\n"
}

var (
	block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	words = regexp.MustCompile(`'[^']*'|\S+`)
)

// typeCommands runs every line of the README's blocks that begins with
// bin/plumbline, and the copying between them, in the order of the page.
func typeCommands(t *testing.T, readme string) {
	known := map[string]bool{}
	for _, b := range block.FindAllStringSubmatch(readme, -1) {
		for line := range strings.Lines(b[2]) {
			args := words.FindAllString(line, -1)
			for i, a := range args {
				args[i] = strings.Trim(a, "'")
			}
			switch {
			case len(args) > 1 && args[0] == "bin/plumbline":
				known[args[1]] = true
				require.NotEmpty(t, program(t, args[1:]...), line)
			case len(args) == 4 && args[0] == "cp" && args[1] == "-r":
				require.NoError(t, os.CopyFS(filepath.Join(args[3], filepath.Base(args[2])), os.DirFS(args[2])))
			}
		}
	}
	for _, command := range []string{"metrics", "query", "sql", "explain", "init", "check", "audit"} {
		require.True(t, known[command], "the README shows %s", command)
	}
}

// configureClients wants the configuration for clients to be JSON, its command
// to serve, and its address to be the one that make serve listens on.
func configureClients(t *testing.T, readme, makefile string) {
	type server struct {
		Command, URL string
		Args         []string
	}
	found := map[string]bool{}
	for _, b := range block.FindAllStringSubmatch(readme, -1) {
		if b[1] != "json" {
			continue
		}
		var config struct {
			Servers map[string]server `json:"mcpServers"`
		}
		require.NoError(t, json.Unmarshal([]byte(b[2]), &config), b[2])
		for _, s := range config.Servers {
			if s.URL != "" {
				found["http"] = true
				host := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/mcp")
				require.Contains(t, makefile, "--listen "+host+"\n")
				continue
			}
			found["stdio"] = true
			require.Equal(t, "bin/plumbline", s.Command)
			require.Empty(t, program(t, s.Args...), "a client that leaves at once is told nothing")
		}
	}
	require.Len(t, found, 2)
}
