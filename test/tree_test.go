// Package test holds what is true of the repository as a whole: which folder may
// import which, that documents describe the tree that is there, and that no text
// is left that should not be. It reads the tree in its own process, so that the
// test cache sees every file it looked at.
//
// A check takes a tree and gives its complaints. Each check runs over the
// repository, where it must find nothing, and over planted trees in testdata,
// where it must find exactly what is written there.
package test

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// root is the repository as seen from this folder.
const root = ".."

// tree is a repository: slash-separated paths and what the files hold.
type tree map[string][]byte

// checks are all checks by name; the name is the directive in testdata.
var checks = map[string]func(tree) []string{
	"imports":   checkImports,
	"comments":  checkComments,
	"decisions": checkDecisions,
	"changelog": checkChangelog,
	"links":     checkLinks,
	"targets":   checkTargets,
	"commands":  checkCommands,
	"tests":     checkTests,
	"snippets":  checkSnippets,
	"pages":     checkPages,
	"lengths":   checkLengths,
	"words":     checkWords,
	"names":     checkNames,
	"sizes":     checkSizes,
}

func TestRepository(t *testing.T) {
	repo := readRepository(t)
	if rewrite := flag.Lookup("rewrite"); rewrite.Value.String() == "true" { // datadriven's flag: one for all goldens
		writePages(t, repo)
	}
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, strings.Join(checks[name](repo), "\n"))
		})
	}
}

func TestPlanted(t *testing.T) {
	planted := map[string]bool{}
	datadriven.Walk(t, "testdata/planted", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			require.Contains(t, checks, d.Cmd)
			found := checks[d.Cmd](plant(d.Input))
			planted[d.Cmd] = planted[d.Cmd] || len(found) > 0
			if len(found) == 0 {
				return "nothing\n"
			}
			return strings.Join(found, "\n") + "\n"
		})
	})
	for name := range checks {
		require.True(t, planted[name], "the check %q has no planted tree that makes it complain", name)
	}
}

// plant makes a tree of a txtar archive; "@lines N" alone in a file stands for N
// lines and "@bytes N" for N bytes.
func plant(archive string) tree {
	out := tree{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		out[f.Name] = expand(string(f.Data))
	}
	return out
}

// readRepository reads every file that git would track: all but what .gitignore
// names. Folders that are modules of their own are part of it.
func readRepository(t *testing.T) tree {
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	require.NoError(t, err)
	patterns := strings.Fields(string(ignore))
	out := tree{}
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if rel == ".git" || ignored(patterns, rel, d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		out[rel], err = os.ReadFile(file)
		return err
	}))
	require.Contains(t, out, "go.mod")
	return out
}

// ignored says whether a pattern of .gitignore names rel: "/folder/" at the root,
// or a pattern for the last element. Other forms of .gitignore are not used here.
func ignored(patterns []string, rel string, dir bool) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if inner, ok := strings.CutPrefix(p, "/"); ok {
			return dir && strings.TrimSuffix(inner, "/") == rel
		}
		ok, _ := path.Match(p, path.Base(rel))
		return ok
	})
}

// paths gives the files of one extension in order; "" gives all.
func (t tree) paths(ext string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(t)), func(p string) bool { return ext != "" && path.Ext(p) != ext })
}

// goFiles gives the Go files of the main module in order.
func (t tree) goFiles() []string {
	return slices.DeleteFunc(t.paths(".go"), func(p string) bool {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if _, own := t[dir+"/go.mod"]; own || path.Base(dir) == "testdata" {
				return true
			}
		}
		return false
	})
}
