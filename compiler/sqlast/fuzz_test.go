package sqlast_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

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

// FuzzJSON: encoding/json is the oracle of the reader. What we read, it reads,
// and the same; what we refuse, it refuses, but for a key that stands twice, bytes
// that are not UTF-8, and deep nesting.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"x\u00e4\n",true,false,null,{}],"b":{"c":[]}}`, `{"a":1,"a":2}`, ` [ 1 , 2 ] `, `01`, `-`, `1.`, `"a`,
		`{"a"}`, `[1,]`, `{,}`, `nul`, `"\x"`, `1 2`, `{"b":1,"a":"<"}`, `Infinity`, "\"\x01\"", `[[[[]]]]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := sqlast.CanonicalJSON(raw)
		if err != nil {
			repeated := bytes.Count(raw, []byte{':'}) > 1 || bytes.Count(raw, []byte{'['}) > 100
			require.True(t, !json.Valid(raw) || !utf8.Valid(raw) || repeated, "refused: %q", raw)
			return
		}
		require.True(t, json.Valid(raw), "read: %q", raw)
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		var want any
		require.NoError(t, dec.Decode(&want))
		canonical, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(canonical), got)
	})
}
