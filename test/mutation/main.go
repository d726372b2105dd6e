// Command mutation removes each check of the packages that stand between a
// question and its answer, one at a time, and asks their tests whether they
// notice. It prints a table, the survivors, and one line of figures, and fails
// when a mutant survives that survivors.txt does not explain.
//
// A check is found by its form, not by a list:
//
//   - an if or a case that refuses: its own statements call something that always
//     makes an error, or return false, an error, a sentence, or nil from a function
//     of pointers. Each operand of its OR is a check; so is each operand of an AND
//     below NOT.
//   - an if or a case that accepts, in a function that can also refuse: it returns
//     true, nil or "", returns from a function without results, or goes on to the
//     next round of a loop. Each operand of its AND is a check; so is each operand
//     of what a predicate returns.
//   - a call, as a statement, of a function of the package that may refuse, however
//     far down; an argument of errors.Join; an else that refuses.
//   - in the policies, each rule, and each expression of a rule that makes no variable.
//
// Off, a condition says what refuses less, a statement does not run, and a rule is
// not there. All checks of a package are switches in one binary (compiled over
// copies, by an overlay), and an environment variable turns one of them off. A
// mutant is tried only by the tests in which its check decides something; when
// there are none it survives untried. Tests that caught many mutants for their
// time come first.
//
// survivors.txt holds, for the few mutants that no test can catch, their names and
// the reason. A line without a survivor fails, too, and so do more than five lines.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// targets are the packages whose checks are removed.
var targets = []target{
	{"policy", "check_uses.go"},
	{"policy/rewrite", ""},
	{"policy/prove", ""},
	{"compiler/resolve", ""},
}

// most bounds the lines of survivors.txt.
const most = 5

func main() {
	only := flag.String("only", "", "try one folder's mutants, and do not hold survivors.txt against them")
	flag.Parse()
	if err := run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// row is a line of the table, and the mutants behind it.
type row struct {
	folder  string
	results []result
	took    time.Duration
}

func run(only string) error {
	dir, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var rows []row
	add := func(folder string, try func() ([]result, error)) error {
		if only != "" && only != folder {
			return nil
		}
		start := time.Now()
		results, err := try()
		rows = append(rows, row{folder, results, time.Since(start)})
		return err
	}
	for _, t := range targets {
		if err := add(t.folder, func() ([]result, error) { return t.try(filepath.Join(dir, t.folder)) }); err != nil {
			return err
		}
	}
	if err := add(library, func() ([]result, error) { return tryPolicies(dir) }); err != nil {
		return err
	}
	return report(rows, only == "")
}

// report prints the table and judges the survivors.
func report(rows []row, whole bool) error {
	known, err := readSurvivors()
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "package\tmutants\tcaught\tby the first test\tby a later one\thung\tsurvived\ttook")
	cases, unexplained := 0, []string{}
	for _, r := range rows {
		count := map[outcome]int{}
		for _, m := range r.results {
			count[m.outcome]++
			switch m.outcome {
			case survived, unfired:
				if known[m.name] == "" {
					unexplained = append(unexplained, m.outcome.String()+": "+m.name)
				}
				delete(known, m.name)
			case hung:
				fmt.Println("caught by the bound of time alone: " + m.name)
			}
		}
		cases += len(r.results)
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", r.folder, len(r.results), count[caught]+count[caughtLater]+count[hung],
			count[caught], count[caughtLater], count[hung], count[survived]+count[unfired], r.took.Round(time.Second))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, line := range unexplained {
		fmt.Println(line)
	}
	fmt.Printf("security: mutation cases=%d leaks=%d overblocks=0\n", cases, len(unexplained))
	var errs []error
	if len(unexplained) > 0 {
		errs = append(errs, fmt.Errorf("%d mutants survive; write the test that catches each, or remove the check", len(unexplained)))
	}
	for name := range known {
		if whole {
			errs = append(errs, fmt.Errorf("survivors.txt explains what does not survive: %s", name))
		}
	}
	return errors.Join(errs...)
}

// readSurvivors gives the explained mutants, by name, with their reasons.
func readSurvivors() (map[string]string, error) {
	file := filepath.Join("test", "mutation", "survivors.txt")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "  because ")
		if !ok || reason == "" || out[name] != "" {
			return nil, fmt.Errorf("%s: no mutant with a reason: %s", file, line)
		}
		out[name] = reason
	}
	if len(out) > most {
		return nil, fmt.Errorf("%s: %d lines, and %d may stand", file, len(out), most)
	}
	return out, nil
}

// result is how one mutant ended.
type result struct {
	mutant
	outcome outcome
}

// try compiles a package with switches and tries each of its mutants.
func (t target) try(dir string) ([]result, error) {
	mutants, binary, err := t.build(dir)
	if err != nil {
		return nil, err
	}
	r := &runner{binary: binary, folder: t.folder, dir: dir}
	if err := r.measure(); err != nil {
		return nil, err
	}
	out := make([]result, len(mutants))
	err = each(len(mutants), func(i int) error {
		o, err := r.try(i + 1)
		out[i] = result{mutants[i], o}
		return err
	})
	slices.SortStableFunc(out, func(a, b result) int { return strings.Compare(a.name, b.name) })
	return out, err
}
