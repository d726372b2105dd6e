package sqlast_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic/diag"
)

// TestStages runs the goldens: parse (tree or refusal), expr, name and star (spans).
func TestStages(t *testing.T) {
	db := ducktest.Open(t, nil)
	ctx := context.Background()
	datadriven.Walk(t, "testdata/stages", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "parse":
				st, err := sqlast.Parse(ctx, db, td.Input)
				if err != nil {
					return err.Error()
				}
				return dump(st.Root)
			case "expr":
				e, st, skip, err := sqlast.ParseExpr(ctx, db, td.Input)
				if err != nil {
					return err.Error()
				}
				return fmt.Sprintf("%T at %d of %q", e, int(sqlast.Meta(e).At)-skip, st.Text[skip:])
			case "spans":
				return spans(t, db, td.Input)
			}
			t.Fatalf("unknown directive %s", td.Cmd)
			return ""
		})
	})
}

// spans shows what the lexer finds for each name, star and select item of a text.
func spans(t *testing.T, db *ducktest.DB, text string) string {
	st, err := sqlast.Parse(context.Background(), db, text)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	show := func(kind string, start, end int, err error) {
		if err != nil {
			fmt.Fprintf(&b, "%s: %v\n", kind, err)
			return
		}
		fmt.Fprintf(&b, "%s: %s\n", kind, text[start:end])
	}
	sqlast.Walk(st.Root, func(n any) bool {
		switch n := n.(type) {
		case *sqlast.BaseTable:
			start, end, _, err := sqlast.NamePath(text, n.At)
			show("name", start, end, err)
		case *sqlast.Star:
			if n.At != sqlast.NoOffset {
				start, end, err := sqlast.StarSpan(text, n.At)
				if end == start {
					fmt.Fprintf(&b, "unwritten star before: %s\n", text[start:])
					return true
				}
				show("star", start, end, err)
			}
		case *sqlast.SelectNode:
			for _, e := range n.Select {
				if at := sqlast.Meta(e).At; at != sqlast.NoOffset {
					end, err := sqlast.ItemEnd(text, at)
					show("item", int(at), end, err)
				}
			}
		}
		return true
	})
	return b.String()
}

// corpus gives the inputs of the goldens.
func corpus(t testing.TB) []string {
	files, err := filepath.Glob("testdata/stages/*")
	require.NoError(t, err)
	var out []string
	for _, f := range files {
		r, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		in := false
		for s := bufio.NewScanner(r); s.Scan(); {
			switch line := s.Text(); {
			case line == "parse" || line == "spans":
				in, text = true, nil
			case line == "----" && in:
				out, in = append(out, strings.Join(text, "\n")), false
			case in:
				text = append(text, line)
			}
		}
		require.NoError(t, r.Close())
	}
	require.NotEmpty(t, out)
	return out
}

// kinds collects the words that tell nodes apart in DuckDB's JSON.
func kinds(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if kind, ok := v["type"].(string); ok {
			if class, ok := v["class"].(string); ok {
				kind = class + "/" + kind
			}
			into[kind] = true
		}
		for _, child := range v {
			kinds(child, into)
		}
	case []any:
		for _, child := range v {
			kinds(child, into)
		}
	}
}

func TestGoldensCoverEveryKind(t *testing.T) {
	db := ducktest.Open(t, nil)
	seen := map[string]bool{}
	for _, text := range corpus(t) {
		raw, err := db.Serialize(context.Background(), text)
		require.NoError(t, err)
		var doc any
		if json.Unmarshal(raw, &doc) == nil {
			kinds(doc, seen)
		}
	}
	want := strings.Fields(`RECURSIVE_CTE_NODE SELECT_NODE SET_OPERATION_NODE BASE_TABLE EMPTY EXPRESSION_LIST JOIN PIVOT SHOW_REF SUBQUERY
		TABLE_FUNCTION DISTINCT_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER ORDER_MODIFIER DECIMAL_TYPE_INFO UNBOUND_TYPE_INFO`)
	for class, types := range sqlast.ExprTypes() {
		for _, k := range types {
			want = append(want, class+"/"+k)
		}
	}
	for _, k := range want {
		require.Contains(t, seen, k, "add a case to testdata/stages/kinds.txt")
	}
}

// TestPlacesAgreeWithDuckDB holds the lexer against DuckDB's own reading: the
// name at a reference's place is the name in the tree.
func TestPlacesAgreeWithDuckDB(t *testing.T) {
	db := ducktest.Open(t, nil)
	names := 0
	for _, text := range corpus(t) {
		st, err := sqlast.Parse(context.Background(), db, text)
		if err == nil {
			names += checkPlaces(t, st)
		}
	}
	require.Greater(t, names, 50)
}

func checkPlaces(t *testing.T, st *sqlast.Statement) int {
	names := 0
	sqlast.Walk(st.Root, func(n any) bool {
		if c, ok := n.(*sqlast.ColumnRef); ok && c.At != sqlast.NoOffset {
			_, _, parts, err := sqlast.NamePath(st.Text, c.At)
			if err == nil { // a * b is no relation; a list comprehension's columns stand at its bracket
				require.Equal(t, c.Names, parts, st.Text)
			}
		}
		b, ok := n.(*sqlast.BaseTable)
		if !ok || b.At == sqlast.NoOffset {
			return true
		}
		start, end, parts, err := sqlast.NamePath(st.Text, b.At)
		if diag.CodeOf(err) == diag.UnsupportedNode {
			return true
		}
		require.NoError(t, err, st.Text)
		require.Equal(t, int(b.At), start)
		require.Less(t, start, end)
		want := slices.DeleteFunc([]string{b.Catalog, b.Schema, b.Table}, func(s string) bool { return s == "" })
		require.Equal(t, want, parts, st.Text)
		names++
		return true
	})
	return names
}

func TestCaps(t *testing.T) {
	db := ducktest.Open(t, nil)
	joined := func(n int, item, sep string) string { return strings.TrimSuffix(strings.Repeat(item+sep, n), sep) }
	for _, c := range []struct {
		name, text string
		code       diag.Code
	}{
		{"text", "SELECT '" + strings.Repeat("x", sqlast.MaxText) + "'", diag.LimitText},
		{"nul", "SELECT 1\x00", diag.ParseSyntax},
		{"utf8", "SELECT 'a\xff'", diag.ParseSyntax},
		{"nodes", "SELECT " + joined(sqlast.MaxNodes, "1", ","), diag.LimitTree},
		{"depth", "SELECT " + strings.Repeat("(1+", sqlast.MaxDepth) + "1" + strings.Repeat(")", sqlast.MaxDepth), diag.LimitTree},
		{"subqueries", strings.Repeat("SELECT * FROM (", 60) + "SELECT 1" + strings.Repeat(")", 60), diag.LimitTree},
		{"and", "SELECT " + joined(sqlast.MaxWidth+1, "a", " AND "), diag.LimitTree},
		{"and fits", "SELECT " + joined(sqlast.MaxWidth, "a", " AND "), ""},
		{"in", "SELECT 1 IN (" + joined(sqlast.MaxList+1, "1", ",") + ")", diag.LimitTree},
		{"in fits", "SELECT 1 IN (" + joined(sqlast.MaxList, "1", ",") + ")", ""},
		{"joins", "SELECT 1 FROM " + joined(sqlast.MaxJoins+2, "t", ","), diag.LimitTree},
		{"joins fit", "SELECT 1 FROM " + joined(sqlast.MaxJoins+1, "t", ","), ""},
		{"json", "SELECT " + joined(13000, "a", " OR "), diag.LimitTree},
		{"deep JSON", "SELECT " + joined(700, "1", "+"), diag.LimitTree},
		{"deep cases", "SELECT " + strings.Repeat("CASE WHEN ", 90) + "a" + strings.Repeat(" THEN 1 END", 90), ""},
		{"deep tables", strings.Repeat("SELECT * FROM (", 45) + "SELECT 1" + strings.Repeat(")", 45), ""},
		{"deep CTEs", strings.Repeat("WITH t AS (", 90) + "SELECT 1" + strings.Repeat(") SELECT * FROM t", 90), ""},
		{"engine's depth", "SELECT " + joined(20000, "1", "+"), diag.LimitTree},
	} {
		_, err := sqlast.Parse(context.Background(), db, c.text)
		require.Equal(t, c.code, diag.CodeOf(err), c.name)
	}
}

// broken fails as a worker does that is gone.
type broken struct{}

func (broken) Serialize(context.Context, string) ([]byte, error) {
	return nil, diag.New(diag.ExecuteCrashed, "gone")
}

func TestParserErrorsArePassedOn(t *testing.T) {
	_, err := sqlast.Parse(context.Background(), broken{}, "SELECT 1")
	require.Equal(t, diag.ExecuteCrashed, diag.CodeOf(err))
}

func TestDecodeIsStrict(t *testing.T) {
	db := ducktest.Open(t, nil)
	raw, err := db.Serialize(context.Background(), "SELECT a FROM t ORDER BY 1")
	require.NoError(t, err)
	edit := func(from, to string) []byte {
		require.Contains(t, string(raw), from)
		return []byte(strings.Replace(string(raw), from, to, 1))
	}
	for name, bad := range map[string][]byte{
		"field more":    edit(`"alias":""`, `"alias":"","colour":1`),
		"field less":    edit(`"catalog_name":"",`, ``),
		"enum":          edit(`"ORDER_DEFAULT"`, `"SIDEWAYS"`),
		"node":          edit(`"BASE_TABLE"`, `"COLUMN_DATA"`),
		"class":         edit(`"class":"COLUMN_REF"`, `"class":"BOUND_REF"`),
		"type":          edit(`"alias":""`, `"alias":7`),
		"negative":      edit(`"query_location":7`, `"query_location":-7`),
		"no array":      edit(`"select_list":[`, `"select_list":7,"x":[`),
		"named param":   edit(`"named_param_map":[]`, `"named_param_map":[{"key":"1","value":1}]`),
		"twice":         edit(`"statements":[`, `"statements":[],"statements":[`),
		"two":           edit(`"statements":[`, `"statements":[{"node":null,"named_param_map":[]},`),
		"not the start": append([]byte(`[`), raw...),
		"not the end":   append(slices.Clone(raw), '1'),
		"empty":         nil,
	} {
		_, err := sqlast.Decode("SELECT a FROM t ORDER BY 1", bad)
		var e *diag.Error
		require.True(t, errors.As(err, &e), name)
		require.NotEqual(t, diag.BugInternal, e.Code, name)
		require.Equal(t, name == "two", e.Code == diag.ParseStatements, name)
	}
	_, err = sqlast.Decode("SELECT 1", []byte(strings.Repeat(" ", 5<<20)))
	require.Equal(t, diag.LimitTree, diag.CodeOf(err))
}
