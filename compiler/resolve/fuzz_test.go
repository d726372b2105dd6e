package resolve_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// FuzzResolve: whatever the text, resolve ends without a panic; what it accepts
// names only visible columns, and stays a statement after its splices.
func FuzzResolve(f *testing.F) {
	for _, file := range []string{"testdata/accepted.sql", "testdata/unbound.sql"} {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		for line := range strings.Lines(string(raw)) {
			f.Add(strings.TrimPrefix(strings.TrimSpace(line), "names: "))
		}
	}
	db := ducktest.Open(f, nil)
	view := everyone{c: semantictest.Shop(), hidden: []string{"customers.email"}}
	f.Fuzz(func(t *testing.T, text string) {
		st, err := sqlast.Parse(context.Background(), db, text)
		if err != nil {
			return
		}
		b, err := resolve.Resolve(context.Background(), st, view, resolve.Options{})
		if err != nil {
			return
		}
		for _, u := range b.Uses {
			require.NotContains(t, []semantic.Name{"email", "risk_score"}, u.Column)
			require.Contains(t, b.Refs[u.Ref].Columns, u.Column)
		}
		_, err = sqlast.Parse(context.Background(), db, spliced(b))
		require.NoError(t, err, spliced(b))
	})
}
