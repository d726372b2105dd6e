package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plumbline/engine"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

type testCmd struct {
	Names []string `arg:"" optional:"" help:"Names of tests; all when left out."`
	Match string   `name:"run" placeholder:"REGEXP" help:"Run only tests whose name matches."`
	As    string   `default:"operator" help:"Subject of plumbline.cue that sees everything, for tests that name none."`
}

// Run asks the questions of the models' tests and holds the answers against
// what they expect. It exits with 1 when a test fails.
func (c testCmd) Run(e *env) (err error) {
	match, err := regexp.Compile(c.Match)
	if err != nil {
		return diag.Wrap(err, diag.RequestMalformed, "--run takes a regular expression")
	}
	eng, err := e.open(engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	tests, err := c.chosen(eng.Tests(), match)
	if err != nil {
		return err
	}
	results, err := eng.Test(e.ctx, tests, c.As)
	if err != nil {
		return err
	}
	failed := 0
	for i := range results {
		if !results[i].Passed {
			failed++
		}
	}
	if e.cli.JSON {
		err = e.print(testsJSON(results, failed))
	} else {
		e.testsText(results, failed)
	}
	if err == nil && failed > 0 {
		err = exitCode(1)
	}
	return err
}

// chosen keeps the tests that the command line asks for, and refuses names that
// no test has and patterns that match none.
func (c testCmd) chosen(all []*semantic.Test, match *regexp.Regexp) ([]*semantic.Test, error) {
	var names []string
	for _, t := range all {
		names = append(names, string(t.Name))
	}
	var unknown diag.List
	for _, n := range c.Names {
		if !slices.Contains(names, n) {
			unknown = append(unknown, diag.New(diag.ModelUnknown, "the models have no test %q", n).Suggest(semantic.Nearest(n, names)...))
		}
	}
	if err := unknown.Err(); err != nil {
		return nil, err
	}
	var out []*semantic.Test
	for _, t := range all {
		if (len(c.Names) == 0 || slices.Contains(c.Names, string(t.Name))) && match.MatchString(string(t.Name)) {
			out = append(out, t)
		}
	}
	if len(out) == 0 && c.Match != "" {
		return nil, diag.New(diag.ModelUnknown, "no test matches %q", c.Match).WithHint("plumbline test without --run runs all %d", len(all))
	}
	return out, nil
}

func (e *env) testsText(results []engine.TestResult, failed int) {
	for i := range results {
		r := &results[i]
		if r.Passed {
			fmt.Fprintf(e.stdout, "ok    %s\n", r.Test.Name)
			continue
		}
		fmt.Fprintf(e.stdout, "FAIL  %s  %s\n", r.Test.Name, r.Test.Pos)
		for line := range strings.Lines(r.Text()) {
			fmt.Fprint(e.stdout, "      ", line)
		}
	}
	switch {
	case len(results) == 0:
		fmt.Fprintln(e.stdout, "the models have no tests")
	case failed == 0:
		fmt.Fprintf(e.stdout, "%s passed\n", count(len(results), "test"))
	default:
		fmt.Fprintf(e.stdout, "%d of %s failed\n", failed, count(len(results), "test"))
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func testsJSON(results []engine.TestResult, failed int) any {
	type testResult struct {
		Name       string   `json:"name"`
		Where      string   `json:"where"`
		Passed     bool     `json:"passed"`
		Faults     []string `json:"faults"`
		Error      *failure `json:"error,omitempty"`
		Columns    []string `json:"columns"`
		Missing    [][]any  `json:"missing"`    // expected, and not answered
		Unexpected [][]any  `json:"unexpected"` // answered, and not expected
		Reordered  bool     `json:"reordered"`
	}
	list := make([]testResult, len(results))
	for i, r := range results {
		list[i] = testResult{Name: string(r.Test.Name), Where: r.Test.Pos.String(), Passed: r.Passed, Faults: []string{}, Columns: []string{},
			Missing: [][]any{}, Unexpected: [][]any{}, Reordered: r.Diff.Reordered}
		t := &list[i]
		t.Faults = append(t.Faults, r.Faults...)
		t.Missing, t.Unexpected = append(t.Missing, r.Diff.Missing...), append(t.Unexpected, r.Diff.Unexpected...)
		for _, c := range r.Columns {
			t.Columns = append(t.Columns, c.Name)
		}
		if r.Err != nil {
			t.Error = &failures(diag.List{r.Err})[0]
		}
	}
	return map[string]any{"tests": list, "passed": len(results) - failed, "failed": failed}
}
