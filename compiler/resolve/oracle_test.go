package resolve_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// plain makes every entity a table of its own name with the columns a caller
// may select or name, so that DuckDB itself reads the original text.
func plain(t *testing.T) *ducktest.DB {
	c := semantictest.Shop()
	db := ducktest.Open(t, c)
	for _, e := range c.Entities {
		var cols []string
		for _, f := range e.Fields {
			if f.Visibility == semantic.Output {
				cols = append(cols, semantic.Quote(string(f.Name))+" "+f.Type.SQL())
			}
		}
		for _, d := range e.Dimensions {
			if d.Expr != "" {
				cols = append(cols, semantic.Quote(string(d.Name))+" "+d.Type.SQL())
			}
		}
		db.Exec(t, "CREATE TABLE "+semantic.Quote(string(e.Name))+" ("+strings.Join(cols, ", ")+")")
	}
	return db
}

// queries reads one statement per line; lines that start with # are titles.
func queries(t *testing.T, file string) []string {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []string
	for _, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// columns gives DuckDB's result columns for a text.
func columns(db *ducktest.DB, text string) ([]string, error) {
	rows, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Columns()
}

// spliced applies the stars and names, which must change nothing for DuckDB.
func spliced(b *resolve.Bound) string {
	text := b.Statement.Text
	type edit struct {
		start, end int
		sql        string
	}
	var edits []edit
	for _, s := range b.Stars {
		edits = append(edits, edit{s.Span.Start, s.Span.End, s.SQL})
	}
	for _, n := range b.Names {
		edits = append(edits, edit{n.At, n.At, " AS " + semantic.Quote(n.Label)})
	}
	for at := len(text); at >= 0; at-- {
		for _, e := range edits {
			if e.start == at {
				text = text[:e.start] + e.sql + text[e.end:]
			}
		}
	}
	return text
}

// TestOracleNames: for every accepted query, the outputs are those that DuckDB
// gives the original text, before and after the splices.
func TestOracleNames(t *testing.T) {
	db := plain(t)
	view := everyone{c: semantictest.Shop()}
	for i, q := range queries(t, "testdata/accepted.sql") {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b, err := bind(db, view, q)
			require.NoError(t, err, q)
			want, err := columns(db, q)
			require.NoError(t, err, q)
			var got []string
			for _, o := range b.Outputs {
				got = append(got, o.Name)
			}
			require.Equal(t, want, got, q)
			after, err := columns(db, spliced(b))
			require.NoError(t, err, "%s\n%s", q, spliced(b))
			require.Equal(t, want, after, "%s\n%s", q, spliced(b))
		})
	}
}

// TestOracleUnknown: what DuckDB cannot bind, resolve does not accept.
func TestOracleUnknown(t *testing.T) {
	db := plain(t)
	view := everyone{c: semantictest.Shop()}
	for i, q := range queries(t, "testdata/unbound.sql") {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			_, err := columns(db, q)
			require.ErrorContains(t, err, "Error", q)
			_, err = bind(db, view, q)
			require.Error(t, err, q)
		})
	}
}
