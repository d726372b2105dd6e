// Command postgres holds what is recorded as PostgreSQL's answers to the corpus
// of testdata against a running server of version 15, and fails on a difference:
//
//	tools/postgres.sh go run ./test/postgres
//
// With -record it writes the answers down instead. The tests of this folder then
// ask plumbline the same, in dialect postgres, and need no server.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	record := flag.Bool("record", false, "write the server's answers down")
	flag.Parse()
	if err := run("test/postgres/testdata", *record); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string, record bool) error {
	for _, suite := range suites {
		asked, err := readCases(dir, suite)
		if err != nil {
			return err
		}
		said, err := askServer(dir, asked)
		if err != nil {
			return err
		}
		if record {
			if err := writeAnswers(dir, suite, said); err != nil {
				return err
			}
			continue
		}
		recorded, err := readAnswers(dir, suite)
		if err != nil {
			return err
		}
		if len(recorded) != len(asked) {
			return fmt.Errorf("%s: %d cases and %d recorded answers", suite, len(asked), len(recorded))
		}
		for i, c := range asked {
			if !said[i].equal(recorded[i]) {
				return fmt.Errorf("%s: PostgreSQL now answers otherwise:\n%s\nrecorded:\n%s\nnow:\n%s", suite, c.sql, recorded[i], said[i])
			}
		}
		fmt.Printf("%s: %d answers are as recorded\n", suite, len(asked))
	}
	return nil
}
