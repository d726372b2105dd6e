// Command scoreboard asks every question of folders of case files and prints,
// for each folder, how many answers were right, refused as expected, refused
// unexpectedly and wrong: go run ./test/scoreboard [FOLDER...].
//
// A case file is a CUE model with tests, as a workspace would hold it:
//
//	package models
//
//	import "plumbline.dev/schema:plumbline"
//
//	model: plumbline.#Model & {
//		entities: {...}
//		metrics: {...}
//		tests: by_region: {
//			description: "revenue of each region"
//			rows: orders: [{id: 1, region: "eu", total: 5}]
//			question: {metrics: ["revenue"], dimensions: ["region"]}
//			expect: [["eu", 5]]
//		}
//	}
//
// Descriptions, grains and sources may be left out. Every test brings its rows; fields left out are NULL and the sources' files
// are never read. It has a question or sql, and expects rows (in any order
// unless ordered is true; columns picks some by name) or with refused a code.
// now is the moment of the question. A file whose model must not load says so
// in a comment of its own line: "// refused: model.cycle".
//
// Cases that wait for something are listed in a file pending.txt of the folder,
// a line each: the case, a tab and the reason. One that is right is a failure,
// so the list can only shrink. The exit status is 1 when a case was wrong or
// unexpectedly refused.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ours are the folders that are asked when none is named.
const ours = "test/scoreboard/cases"

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout)) }

func run(ctx context.Context, folders []string, w io.Writer) int {
	if len(folders) == 0 {
		var err error
		if folders, err = filepath.Glob(ours + "/*"); err != nil || len(folders) == 0 {
			fmt.Fprintf(w, "there are no suites in %s\n", ours)
			return 2
		}
	}
	failed := false
	var boards []board
	for _, dir := range folders {
		b, err := play(ctx, dir)
		if err != nil {
			fmt.Fprintln(w, err)
			return 2
		}
		boards = append(boards, b)
		failed = failed || len(b.failures) > 0
	}
	print(w, boards)
	if failed {
		return 1
	}
	return 0
}
