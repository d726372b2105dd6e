package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// board is a suite's score.
type board struct {
	suite    string
	counts   map[verdict]int
	pending  int
	failures []result
}

// play runs a folder of case files and counts.
func play(ctx context.Context, dir string) (board, error) {
	waiting, err := readPending(filepath.Join(dir, "pending.txt"))
	if err != nil {
		return board{}, err
	}
	results, err := suite(ctx, dir)
	if err != nil {
		return board{}, err
	}
	return score(filepath.Base(dir), results, waiting), nil
}

// score counts results; a pending case that passes, or is not there, is a failure.
func score(name string, results []result, waiting map[string]string) board {
	b := board{suite: name, counts: map[verdict]int{}}
	met := map[string]bool{}
	for _, r := range results {
		passed := r.Verdict == right || r.Verdict == refused
		reason, pending := waiting[r.Case]
		switch {
		case pending && passed:
			r.Why = "this case passes: take it out of pending.txt (" + reason + ")"
			b.failures = append(b.failures, r)
		case pending:
			b.pending++
		case !passed:
			b.failures = append(b.failures, r)
		}
		met[r.Case] = true
		if !pending || passed {
			b.counts[r.Verdict]++
		}
	}
	for c := range waiting {
		if !met[c] {
			b.failures = append(b.failures, result{c, wrong, "pending.txt names a case that is not there"})
		}
	}
	return b
}

// readPending reads case TAB reason lines; a file that is not there is empty.
func readPending(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, reason, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || reason == "" {
			return nil, fmt.Errorf("%s: %q is not a case, a tab and a reason", file, line)
		}
		out[name] = reason
	}
	return out, nil
}

// print writes the failures and then the table.
func print(w io.Writer, boards []board) {
	for _, b := range boards {
		for _, f := range b.failures {
			fmt.Fprintf(w, "%s %s/%s: %s\n\n", f.Verdict, b.suite, f.Case, f.Why)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "suite\tright\trefused\trefused unexpectedly\twrong\tpending\t")
	for _, b := range boards {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t\n", b.suite, b.counts[right], b.counts[refused], b.counts[unexpected], b.counts[wrong], b.pending)
	}
	_ = t.Flush() // into the writer given, which fails or not as it likes
}
