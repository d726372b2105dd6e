package main

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestChecks shows which parts of a file are checks, and what each becomes.
func TestChecks(t *testing.T) {
	datadriven.RunTest(t, "testdata/checks.txt", func(t *testing.T, td *datadriven.TestData) string {
		mutants, files, _, err := instrument([]source{{"a.go", []byte("package a\n" + td.Input)}})
		require.NoError(t, err)
		var out strings.Builder
		for _, m := range mutants {
			out.WriteString(m.name + "\n")
		}
		_, body, _ := strings.Cut(string(files[0].text), "\n")
		return out.String() + body + "\n"
	})
}
