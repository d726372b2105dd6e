package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// switches is added to the package under test. MUTANT is the number of the check
// that is off. With MUTANT_FIRED, a file's name, each check that decides something
// (it refuses, or is all that keeps another from accepting) is written there once:
// only a test in which it does can catch its mutant.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantFile      = os.Getenv("MUTANT_FIRED")
	mutantLock      sync.Mutex
	mutantSeen      = map[int]bool{}
)

func mutantOff(n int) bool { return n == mutantChosen }

func mutantDoes(n int) bool { return mutantNote(n, !mutantOff(n)) }

func mutantYes(n int) bool { return mutantNote(n, mutantOff(n)) }

func mutantErr(n int, err error) error {
	if err != nil && mutantNote(n, mutantOff(n)) {
		return nil
	}
	return err
}

func mutantNote(n int, answer bool) bool {
	if mutantFile == "" {
		return answer
	}
	mutantLock.Lock()
	defer mutantLock.Unlock()
	if mutantSeen[n] {
		return answer
	}
	mutantSeen[n] = true
	f, err := os.OpenFile(mutantFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(n) + "\n")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
	return answer
}
`

// source is one file of a package, or the part of a package that is mutated.
type source struct {
	name string // in the repository, with slashes
	text []byte
}

// instrument finds the checks of a package's files and gives the files with a
// switch around each. The mutant with number n is the n-1st of the list.
func instrument(files []source) ([]mutant, []source, string, error) {
	p := &pkg{fset: token.NewFileSet(), seen: map[string]int{}, refusers: map[string]bool{}, mayRefuse: map[string]bool{}, errorTypes: map[string]bool{}}
	trees := make([]*ast.File, len(files))
	for i, f := range files {
		tree, err := parser.ParseFile(p.fset, f.name, f.text, parser.ParseComments)
		if err != nil {
			return nil, nil, "", err
		}
		trees[i] = tree
	}
	p.learn(trees)
	out := make([]source, len(files))
	for i, f := range files {
		find := &finder{pkg: p, file: f.name, text: f.text, edits: map[int][]string{}}
		for _, d := range trees[i].Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				find.run(fn)
			}
		}
		out[i] = source{f.name, find.apply()}
	}
	return p.mutants, out, trees[0].Name.Name, nil
}

// target is a package, or files of one, whose checks are removed.
type target struct {
	folder string
	only   string // one file; "" for all
}

func (t target) sources() ([]source, error) {
	names, err := filepath.Glob(filepath.Join(t.folder, "*.go"))
	if err != nil {
		return nil, err
	}
	var out []source
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") || t.only != "" && base != t.only {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, source{filepath.ToSlash(name), text})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no Go files in %s", t.folder)
	}
	return out, nil
}

// build compiles the tests of a package over its files with switches.
func (t target) build(dir string) (mutants []mutant, binary string, err error) {
	files, err := t.sources()
	if err != nil {
		return nil, "", err
	}
	mutants, files, name, err := instrument(files)
	if err != nil {
		return nil, "", err
	}
	files = append(files, source{t.folder + "/mutant_switches.go", fmt.Appendf(nil, switches, name)})
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, f := range files {
		from, err := filepath.Abs(f.name)
		if err != nil {
			return nil, "", err
		}
		to := filepath.Join(dir, filepath.Base(f.name))
		if err := os.WriteFile(to, f.text, 0o600); err != nil {
			return nil, "", err
		}
		overlay.Replace[from] = to
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		return nil, "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tests")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		return nil, "", err
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, "./"+t.folder).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("compile the tests of %s: %w\n%s", t.folder, err, out)
	}
	return mutants, binary, nil
}
