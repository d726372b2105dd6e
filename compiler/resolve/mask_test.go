package resolve_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// extremes are values at the ends of types, as literals.
var extremes = map[string][]string{
	"varchar":       {"''", "'äöü'", "'\U0001F469\u200D\U0001F4BB e\u0301'", "repeat('x', 100000)", "chr(0)", "'%_\\'"},
	"bigint":        {"'-9223372036854775808'", "'9223372036854775807'", "'0'"},
	"hugeint":       {"'-170141183460469231731687303715884105728'", "'170141183460469231731687303715884105727'"},
	"double":        {"'-1.7976931348623157e308'", "'1.7976931348623157e308'", "'nan'", "'inf'", "'-inf'", "'5e-324'"},
	"decimal(38,1)": {"'-9999999999999999999999999999999999999.9'", "'9999999999999999999999999999999999999.9'"},
	"date":          {"'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'", "'2024-02-29'"},
	"timestamp":     {"'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'", "'-infinity'"},
	"boolean":       {"'true'"}, "blob": {"'\\x00\\xFF'"},
}

// TestMasksAreTotal calls every function that a mask may call with values at the
// ends of every type: what CheckMask takes raises nothing and stays small. Some of
// the functions raise for arguments, or types, that CheckMask does not take.
func TestMasksAreTotal(t *testing.T) {
	db := ducktest.Open(t, nil)
	reviewed, called := resolve.Functions(), map[string]bool{}
	for _, name := range resolve.Masking {
		require.True(t, slices.ContainsFunc(reviewed, func(f resolve.Function) bool {
			return f.Name == name && f.Kind == resolve.Scalar && !f.Lambda && f.Size == ""
		}), name)
		for _, typ := range slices.Sorted(maps.Keys(extremes)) {
			sql := strings.ToUpper(strings.ReplaceAll(typ, "timestamptz", "TIMESTAMP WITH TIME ZONE"))
			from := fmt.Sprintf("(SELECT CAST(v AS %s) AS v FROM (VALUES (%s), (NULL)) AS l(v))", sql, strings.Join(extremes[typ], "), ("))
			for _, args := range []string{"v", "v, v", "v, 'a'", "v, NULL", "v, -1", "v, 1000", "v, -1000", "v, 1001", "v, 9223372036854775807", "v, '9223372036854775807'",
				"v, 'a', 2", "v, 2, 3", "v, '', -1000", "v, -1000, 1000", "v, 1000, -1000", "v, '%', 'b'", "'a', v", "1000, v"} {
				call := name + "(" + args + ")"
				if strings.ContainsAny(name, "|^") {
					call = "(" + strings.ReplaceAll(args, ", ", " "+name+" ") + ")"
				}
				if _, err := db.DB.Exec("SELECT " + call + " FROM (SELECT CAST(NULL AS " + sql + ") AS v)"); err != nil {
					continue // takes no such values, or a literal that it cannot read whatever the rows are
				}
				expr := "CASE WHEN " + call + " IS NULL THEN v ELSE v END"
				spans, err := resolve.CheckMask(context.Background(), db, twins{db}, &semantic.Field{Name: "v", Type: semantic.Type(typ)}, expr)
				if err != nil {
					require.Equal(t, diag.ModelSQL, diag.CodeOf(err))
					continue
				}
				called[name] = true
				require.Len(t, spans, 2+strings.Count(args, "v"))
				for _, length := range db.Rows(t, "SELECT octet_length(encode(CAST("+call+" AS VARCHAR))) FROM "+from) {
					require.True(t, length == "<nil>" || len(length) < 7, "%s makes %s bytes", call, length)
				}
			}
		}
		require.True(t, called[name], "%s was never called", name)
	}
}
