package duck_test

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only the files that run in a worker may reach C, which is DuckDB and PostgreSQL's
// parser: what the server runs cannot call it, because it does not import it.
func TestOnlyWorkerFilesImportC(t *testing.T) {
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	worker := map[string]int{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range f.Imports {
			for _, c := range []string{"duckdb", "cparse"} {
				if strings.Contains(i.Path.Value, c) {
					require.True(t, strings.HasPrefix(e.Name(), "worker_"), "%s imports %s", e.Name(), i.Path.Value)
					worker[c]++
				}
			}
		}
	}
	require.Len(t, worker, 2)
}
