package sqlast_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic/diag"
)

// FuzzDecode: no JSON makes the decoder panic, and what it refuses has a code.
func FuzzDecode(f *testing.F) {
	db := ducktest.Open(f, nil)
	for _, text := range corpus(f) {
		raw, err := db.Serialize(context.Background(), text)
		require.NoError(f, err)
		f.Add(text, raw)
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		st, err := sqlast.Decode(text, raw)
		if err != nil {
			require.NotEqual(t, diag.BugInternal, diag.CodeOf(err))
			return
		}
		sqlast.Walk(st.Root, func(any) bool { return true })
		require.True(t, sqlast.Equal(st.Root, st.Root))
	})
}

// FuzzPlaces: DuckDB is the oracle of the lexer. Whatever DuckDB parses, our
// tokens cover the text, and each relation's name is where the tree says.
func FuzzPlaces(f *testing.F) {
	db := ducktest.Open(f, nil)
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, tok := range sqlast.Tokens(text) {
			require.GreaterOrEqual(t, tok.Start, last)
			require.Greater(t, tok.End, tok.Start)
			last = tok.End
		}
		require.LessOrEqual(t, last, len(text))
		st, err := sqlast.Parse(context.Background(), db, text)
		if err != nil {
			require.NotEqual(t, diag.BugInternal, diag.CodeOf(err), "%v", err)
			return
		}
		for _, tok := range sqlast.Tokens(text) {
			require.NotEqual(t, sqlast.Broken, tok.Kind, "DuckDB parses what our lexer finds broken: %q", text)
		}
		checkPlaces(t, st)
	})
}
