package resolve_test

import (
	"fmt"
	"os"
	"slices"
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
	for _, row := range []string{
		"orders VALUES (1, 1, '2026-01-01', '2026-01-01', 'paid', 100, 1.5, 'acme', 'x', 'l'), (2, 1, '2026-01-02', '2026-01-02', 'open', 20, NULL, 'acme', NULL, 's'), (3, 2, '2026-02-01', '2026-02-01', 'paid', 300, 0, 'globex', 'y', 'l'), (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"customers VALUES (1, 'ann', 'a@x', 'eu', 'pro', 'acme', '2025-01-01', 'big'), (2, 'bob', NULL, 'us', 'free', 'globex', NULL, 'big'), (5, 'eve', 'e@x', NULL, 'pro', 'acme', '2025-05-01', 'small')",
		"order_items VALUES (1, 1, 1, 2, 50, 'acme'), (1, 2, 2, 1, 10, 'acme'), (3, 1, 9, 4, 75, 'globex')",
		"products VALUES (1, 'a', 'one'), (2, 'b', 'two'), (3, 'a', NULL)",
		"support_tickets VALUES (1, 1, '2026-01-01', 'high', 'acme'), (2, 2, '2026-01-15', 'low', 'globex'), (3, 7, '2025-01-01', NULL, 'acme')",
	} {
		db.Exec(t, "INSERT INTO "+row)
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

// edit is one replacement of a byte range.
type edit struct {
	start, end int
	sql        string
}

func apply(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return b.start - a.start })
	for _, e := range edits {
		text = text[:e.start] + e.sql + text[e.end:]
	}
	return text
}

func starsAndNames(b *resolve.Bound) []edit {
	var edits []edit
	for _, s := range b.Stars {
		edits = append(edits, edit{s.Span.Start, s.Span.End, s.SQL})
	}
	for _, n := range b.Names {
		edits = append(edits, edit{n.At, n.At, " AS " + semantic.Quote(n.Label)})
	}
	return edits
}

// spliced applies the stars and names, which must change nothing for DuckDB.
func spliced(b *resolve.Bound) string { return apply(b.Statement.Text, starsAndNames(b)) }

// fenced also puts a fence round each reference, with nothing but its columns
// and conditions. Storage here is the table of the entity's name.
func fenced(b *resolve.Bound) string {
	edits := starsAndNames(b)
	for _, r := range b.Refs {
		cols := []string{"1 AS only_one"}
		for i, c := range r.Columns {
			if i == 0 {
				cols = nil
			}
			if f := r.Entity.Field(c); f != nil && f.Visibility != semantic.Output {
				cols = append(cols, "'?' AS "+semantic.Quote(string(c))) // not in the plain tables
				continue
			}
			cols = append(cols, semantic.Quote(string(c)))
		}
		sql := "(SELECT " + strings.Join(cols, ", ") + " FROM memory.main." + semantic.Quote(string(r.Entity.Name)) + " WHERE true"
		for _, c := range r.Conjuncts {
			sql += " AND " + c.SQL
		}
		sql += " OFFSET 0)"
		if r.AddAlias {
			sql += " AS " + semantic.Quote(r.Alias)
		}
		edits = append(edits, edit{r.Name.Start, r.Name.End, sql})
	}
	return apply(b.Statement.Text, edits)
}

// TestOracle: for every accepted query, the outputs are those that DuckDB gives
// the original text, before and after the splices, and fences that hold only the
// columns and conditions that resolve names leave the rows as they are.
func TestOracle(t *testing.T) {
	db := plain(t)
	view := everyone{c: semantictest.Shop()}
	for i, q := range queries(t, "testdata/accepted.sql") {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			q, named := strings.CutPrefix(q, "names: ") // rows that differ by the clock, or that Go cannot read
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
			if named {
				return
			}
			rows, inside := db.Rows(t, q), db.Rows(t, fenced(b))
			slices.Sort(rows)
			slices.Sort(inside)
			require.Equal(t, rows, inside, "%s\n%s", q, fenced(b))
		})
	}
}

// TestUnbound: what DuckDB cannot bind, resolve does not accept.
func TestUnbound(t *testing.T) {
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
