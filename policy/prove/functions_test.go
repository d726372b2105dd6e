package prove_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/policy/prove"
)

// TestReviewedMacrosBind calls every macro that resolve allows, and the forms for
// which SQL has words of its own. What binds must be proved, though it binds to
// other names than the text says. (All other functions bind to their own.)
func TestReviewedMacrosBind(t *testing.T) {
	db := openShop(t)
	allowed := map[string]bool{}
	for _, f := range resolve.Functions() {
		allowed[strings.ToLower(f.Name)] = true
	}
	rows, err := db.Query(`SELECT lower(function_name), list_transform(parameters, lambda p: 'INTEGER') FROM duckdb_functions() WHERE function_type = 'macro'`)
	require.NoError(t, err)
	signatures := map[string][][]any{}
	for rows.Next() {
		var name string
		var types []any
		require.NoError(t, rows.Scan(&name, &types))
		signatures[name] = append(signatures[name], types)
	}
	require.NoError(t, rows.Close())
	bound := 0
	for _, f := range resolve.Functions() {
		var texts []string
		for _, types := range signatures[strings.ToLower(f.Name)] {
			for _, arg := range []string{"1", "'a'", "[1, 2]", "DATE '2026-01-01'", "MAP {'a': 1}"} {
				texts = append(texts, call(f, len(types), arg))
			}
		}
		for _, text := range append(texts, spelled[f.Name]...) {
			got, err := db.Check(context.Background(), []string{text})
			require.NoError(t, err)
			if !got[0].OK {
				continue
			}
			in := input(db, text)
			in.Functions = allowed
			if _, _, err := prove.Check(context.Background(), db, in); err != nil {
				t.Errorf("%s: %v", text, errors.Unwrap(err))
			}
			bound++
		}
	}
	require.Greater(t, bound, 40)
}

// spelled are calls that the grammar spells.
var spelled = map[string][]string{
	"substring": {"SELECT substring('abc' FROM 2 FOR 1) AS x LIMIT 1"},
	"trim":      {"SELECT trim(LEADING 'a' FROM 'abc') AS x LIMIT 1"},
	"position":  {"SELECT position('a' IN 'abc') AS x LIMIT 1"},
	"date_part": {"SELECT extract(year FROM DATE '2026-01-01') AS x LIMIT 1"},
	"timezone":  {"SELECT TIMESTAMP '2026-01-01' AT TIME ZONE 'UTC' AS x LIMIT 1"},
	"upper":     {"SELECT 'A' SIMILAR TO 'b' OR 'a' ILIKE 'b' ESCAPE 'c' OR 'a' NOT LIKE 'b' AS x LIMIT 1"},
	"list":      {"SELECT {'a': 1}.a AS y, [1, 2][1:2] AS z, MAP {'a': 1}['a'] AS m LIMIT 1"},
}

// call writes a call with n times the same argument.
func call(f resolve.Function, n int, arg string) string {
	return "SELECT " + f.Name + "(" + strings.Join(slices.Repeat([]string{arg}, n), ", ") + ") AS x\nLIMIT 1"
}
