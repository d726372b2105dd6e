// Command twins asks every line of a corpus of two servers that one subject
// cannot tell apart, and prints where it could: go run ./test/twins FILE.
//
// World A has all rows and values; World B has what the subject may see, derived
// by a filter in Go. Same rows, same columns, same error text, or it is a leak.
// The exit status is 1 when there was a leak or an over-block.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"plumbline/engine/duck"
)

func main() {
	duck.WorkerMain() // the servers start their workers from this binary
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout))
}

func run(ctx context.Context, args []string, w io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(w, "usage: twins FILE, for example test/twins/testdata/bypass.tsv")
		return 2
	}
	lines, err := readCorpus(args[0])
	if err != nil {
		fmt.Fprintln(w, err)
		return 2
	}
	root, remove, err := temp()
	if err != nil {
		fmt.Fprintln(w, err)
		return 2
	}
	defer remove()
	findings, err := runAll(ctx, root, lines, settings, openEngine)
	if err != nil {
		fmt.Fprintln(w, err)
		return 2
	}
	if leaks, blocks := report(w, findings); leaks+blocks > 0 {
		return 1
	}
	return 0
}
