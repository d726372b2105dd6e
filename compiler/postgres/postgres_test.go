package postgres_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/postgres"
	"plumbline/compiler/postgres/cparse"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// inProcess parses in the test's own process; the server does so in a worker.
type inProcess struct{}

func (inProcess) ParsePostgres(_ context.Context, text string) ([]byte, error) {
	return cparse.Parse(text), nil
}

// shopView shows the shop as its model does, with one masked field.
type shopView struct{ catalog *semantic.Catalog }

func (v shopView) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := v.catalog.Entity(n)
	if e == nil || e.Name == "support_tickets" { // hidden
		return nil, nil
	}
	out := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}}
	for _, f := range e.Fields {
		out.Fields[f.Name.Key()] = f.Visibility
	}
	out.Masked["status"] = e.Name == "orders"
	return out, nil
}

func (v shopView) Names() []string { return []string{"customers", "orders", "products"} }

func input(t testing.TB) postgres.Input {
	catalog := semantictest.Shop()
	return postgres.Input{Postgres: inProcess{}, DuckDB: ducktest.Open(t, catalog), View: shopView{catalog}}
}

// TestTranslate runs the goldens: PostgreSQL text in, DuckDB's text or a refusal out.
func TestTranslate(t *testing.T) {
	in := input(t)
	datadriven.Walk(t, "testdata/translate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			out, err := postgres.Translate(context.Background(), td.Input, in)
			if err != nil {
				return err.Error()
			}
			return out.SQL
		})
	})
}

// The longest texts and the deepest are refused with a code, and soon.
func TestHostileTexts(t *testing.T) {
	in := input(t)
	for _, text := range []string{
		"", ";", "SELECT 1\x00", "SELECT '\xff'", strings.Repeat("a", sqlast.MaxText+1),
		"SELECT " + strings.Repeat("a.", 30000) + "b", "SELECT 1" + strings.Repeat("+1", 7000), "SELECT 1" + strings.Repeat("+1", 160),
		"SELECT 1" + strings.Repeat("::text", 3000), "SELECT 1 IN (" + strings.Repeat("1,", 7000) + "1)",
		"SELECT " + strings.Repeat("1/(", 40) + "2" + strings.Repeat(")", 40), "SELECT " + strings.Repeat("round(1/", 12) + "3.0" + strings.Repeat(", 2)", 12),
		"SELECT 1" + strings.Repeat(" UNION SELECT 1", 3000),
		"SELECT " + strings.Repeat("(", 60) + "true" + strings.Repeat(" BETWEEN false AND true)", 60),
		"SELECT " + strings.Repeat("CASE ", 25) + "1" + strings.Repeat(" WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 END", 25),
		"SELECT id FROM orders WHERE " + strings.Repeat("discount > (SELECT avg(discount) FROM orders WHERE ", 25) + "true" + strings.Repeat(")", 25),
	} {
		_, err := postgres.Translate(context.Background(), text, in)
		require.Error(t, err, "%.60s", text)
		code := diag.CodeOf(err)
		require.True(t, strings.HasPrefix(string(code), "limit.") || strings.HasPrefix(string(code), "parse."), "%.60s: %v", text, err)
	}
}

// FuzzTranslate: nothing makes the translator panic, and what it gives is what
// DuckDB reads as meant. It refuses the rest with a code of its own: a reading that
// differs would be a bug.
func FuzzTranslate(f *testing.F) {
	in := input(f)
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, err := postgres.Translate(context.Background(), text, in)
		if err != nil {
			require.NotEmpty(t, diag.CodeOf(err), "%v", err)
			require.NotContains(t, []diag.Code{diag.BugInternal, diag.BugSplice}, diag.CodeOf(err), "%q", text)
			return
		}
		_, err = sqlast.Parse(context.Background(), in.DuckDB, out.SQL)
		require.NoError(t, err)
	})
}

// FuzzTree: no JSON that a worker may send makes the reader panic.
func FuzzTree(f *testing.F) {
	in := input(f)
	for _, text := range corpus(f) {
		f.Add(text, cparse.Parse(text))
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		in := in
		in.Postgres = sent(raw)
		if _, err := postgres.Translate(context.Background(), text, in); err != nil {
			require.NotEmpty(t, diag.CodeOf(err), "%v", err)
		}
	})
}

// sent is a parser that gives one answer.
type sent []byte

func (s sent) ParsePostgres(context.Context, string) ([]byte, error) { return s, nil }

// corpus are the texts of the goldens.
func corpus(t testing.TB) []string {
	var out []string
	files, err := os.ReadDir("testdata/translate")
	require.NoError(t, err)
	for _, file := range files {
		b, err := os.ReadFile("testdata/translate/" + file.Name())
		require.NoError(t, err)
		for _, block := range strings.Split(string(b), "translate\n")[1:] {
			text, _, found := strings.Cut(block, "\n----")
			require.True(t, found)
			out = append(out, text)
		}
	}
	require.Greater(t, len(out), 20, fmt.Sprint(files))
	return out
}
