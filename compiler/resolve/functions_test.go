package resolve_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
)

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
