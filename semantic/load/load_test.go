package load_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	cue "cuelang.org/go/cmd/cue/cmd"
	cueerrors "cuelang.org/go/cue/errors"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"plumbline"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// TestRefused shows, for each mistake, all that load.Dir says; with the argument
// vet also what the stock cue command says, less the places in the schema. A
// case edits the workspace of shop.txtar, or with the argument language that of
// language.txtar, by lines "file: old => new", and adds
// the files that follow them in txtar form ("-- file --"). A line "file: gone"
// removes a file.
func TestRefused(t *testing.T) {
	datadriven.Walk(t, "testdata/refused", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			files := shop(t)
			if d.HasArg("language") {
				files = archive(t, "language")
			}
			edit(t, d, files)
			root := write(t, files)
			_, _, err := load.Dir(root)
			var out strings.Builder
			if err == nil {
				out.WriteString("accepted\n")
			} else {
				var list diag.List
				require.ErrorAs(t, err, &list)
				require.NotContains(t, err.Error(), root)
				fmt.Fprintln(&out, err)
			}
			if d.HasArg("vet") {
				said := vet(t, root)
				require.NotEmpty(t, said, "%s: stock cue accepts", d.Pos)
				require.Contains(t, said, "    ./models/", "%s: no place in the user's files", d.Pos)
				require.Error(t, err, "%s: cue refuses what load.Dir accepts", d.Pos)
				out.WriteString("vet:\n" + said)
			}
			return out.String()
		})
	})
}

func shop(t testing.TB) map[string]string {
	t.Helper()
	return archive(t, "shop")
}

func archive(t testing.TB, name string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	return files
}

func edit(t testing.TB, d *datadriven.TestData, files map[string]string) {
	t.Helper()
	archive := txtar.Parse([]byte(d.Input + "\n"))
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, change, ok := strings.Cut(line, ": ")
		require.True(t, ok, "%s: %s", d.Pos, line)
		if change == "gone" {
			delete(files, name)
			continue
		}
		before, after, ok := strings.Cut(change, "=>")
		before, after = strings.TrimSpace(before), strings.TrimSpace(after)
		require.True(t, ok, "%s: %s", d.Pos, line)
		require.Equal(t, 1, strings.Count(files[name], before), "%s: %q must stand once in %s", d.Pos, before, name)
		files[name] = strings.Replace(files[name], before, after, 1)
	}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
}

// write makes a workspace as init does, with the schema copy that cue vet needs.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root, tree := t.TempDir(), fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	require.NoError(t, load.Init(root, tree))
	return root
}

// vet runs the stock `cue vet -c ./models/...` in dir, in this process, and
// gives what it prints less the places outside the user's files.
func vet(t *testing.T, dir string) string {
	t.Helper()
	back, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Chdir(dir))
	defer func() { require.NoError(t, os.Chdir(back)) }()
	command, err := cue.New([]string{"vet", "-c", "./models/..."})
	require.NoError(t, err)
	var said bytes.Buffer
	command.SetOut(&said)
	command.SetErr(&said)
	if err := command.Run(t.Context()); err != nil && !errors.Is(err, cue.ErrPrintedError) {
		cueerrors.Print(&said, err, &cueerrors.Config{Cwd: dir, ToSlash: true}) // as the command's main does
	}
	var out strings.Builder
	for line := range strings.Lines(said.String()) {
		if !strings.HasPrefix(line, "    ./") || strings.HasPrefix(line, "    ./models/") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestSampleVet runs the stock command where the README does: in the repository,
// whose module takes the schema from semantic/schema.
func TestSampleVet(t *testing.T) {
	require.Empty(t, vet(t, "../.."))
}

func TestSample(t *testing.T) {
	w, catalog, err := load.Dir("../..")
	require.NoError(t, err)
	datadriven.RunTest(t, "testdata/sample.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "workspace" {
			return outlineWorkspace(w)
		}
		return outline(catalog)
	})
}

// TestLanguage loads every noun of the language, and the stock command accepts it.
func TestLanguage(t *testing.T) {
	root := write(t, archive(t, "language"))
	require.Empty(t, vet(t, root))
	_, catalog, err := load.Dir(root)
	require.NoError(t, err)
	datadriven.RunTest(t, "testdata/language.txt", func(t *testing.T, d *datadriven.TestData) string { return outline(catalog) })
}

func TestInit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "shop")
	require.NoError(t, load.Init(dir, plumbline.Files))
	require.Empty(t, vet(t, dir))
	_, sample, err := load.Dir(dir)
	require.NoError(t, err)
	_, own, err := load.Dir(repository(t))
	require.NoError(t, err)
	require.Equal(t, own.Revision, sample.Revision, "the same models have the same revision wherever they stand")

	before := tree(t, dir)
	err = load.Init(dir, plumbline.Files)
	require.Equal(t, diag.ConfigInvalid, diag.CodeOf(err))
	require.Len(t, diag.All(err), len(before), "every file that exists is named")
	require.Equal(t, before, tree(t, dir))

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "plumbline.cue"), []byte("mine"), 0o600))
	require.ErrorContains(t, load.Init(other, plumbline.Files), "plumbline.cue: config.invalid")
	require.Equal(t, map[string]string{"plumbline.cue": "mine"}, tree(t, other))
}

func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod above the test")
	return ""
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := os.DirFS(dir)
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		out[name] = string(text)
		return err
	}))
	return out
}
