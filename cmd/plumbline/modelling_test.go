package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/semantic/load"
)

var (
	cueBlock = regexp.MustCompile("(?ms)^```cue\n(.*?)^```$")
	inEntity = regexp.MustCompile(`(?s)^entities: (\w+): (.*)$`)
)

// TestModellingPage makes one model of the blocks of docs/modelling.md, over files
// without rows, and wants its tests to pass.
func TestModellingPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/modelling.md")
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, load.Init(root, plumbline.Files))
	models := filepath.Join(root, "models")
	require.NoError(t, os.RemoveAll(models))
	require.NoError(t, os.Mkdir(models, 0o755))
	text := oneModel(cueBlock.FindAllStringSubmatch(string(page), -1))
	require.NoError(t, os.WriteFile(filepath.Join(models, "page.cue"), []byte(text), 0o600))
	tests := strings.Count(text, "expect: [") + strings.Count(text, "refused: ")
	require.Greater(t, tests, 15)
	emptyFiles(t, root)
	require.Contains(t, program(t, "test", "-C", root), fmt.Sprintf("%d tests passed", tests))
}

// oneModel puts the declarations of blocks where they belong: what is said of one
// entity into one place, hidden fields beside the model.
func oneModel(blocks [][]string) string {
	besides, inside := "", ""
	var names []string
	entities := map[string]string{}
	for _, b := range blocks {
		for _, d := range declarations(b[1]) {
			m := inEntity.FindStringSubmatch(d)
			switch {
			case strings.HasPrefix(d, "_"):
				besides += d
			case m == nil:
				inside += d
			case strings.HasPrefix(m[2], "{"):
				names = append(names, m[1])
				entities[m[1]] = strings.TrimSuffix(strings.TrimPrefix(m[2], "{\n"), "}\n")
			default:
				entities[m[1]] += m[2]
			}
		}
	}
	for _, n := range names {
		inside += "entities: " + n + ": {\n" + entities[n] + "}\n"
	}
	return "package models\n\nimport \"plumbline.dev/schema:plumbline\"\n\n" + besides + "model: plumbline.#Model & {\n" + inside + "}\n"
}

// declarations cuts a block at the lines that begin something new.
func declarations(block string) []string {
	var out []string
	for line := range strings.Lines(block) {
		if c := line[0]; len(out) == 0 || c == '_' || 'a' <= c && c <= 'z' {
			out = append(out, "")
		}
		out[len(out)-1] += line
	}
	return out
}

// emptyFiles writes a file with a header and no row for each entity of a workspace.
func emptyFiles(t *testing.T, root string) {
	_, catalog, err := load.Dir(root)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "data"), 0o755))
	for _, e := range catalog.Entities {
		var text strings.Builder
		names := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			names[i] = f.Column
		}
		w := csv.NewWriter(&text)
		require.NoError(t, w.Write(names))
		w.Flush()
		require.NoError(t, os.WriteFile(filepath.Join(root, "data", e.Source.Path), []byte(text.String()), 0o600))
	}
}
