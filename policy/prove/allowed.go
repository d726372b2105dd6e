package prove

// What may stand in a bound plan of DuckDB 1.5.6. An upgrade that brings a new
// word is refused until it has been looked at.

// The keys of the operators of a scan, and of the conditions of a rule's join.
var (
	getKeys = []string{"arguments", "catalog_name", "children", "column_indexes", "extra_info", "function_data",
		"has_serialize", "name", "names", "ordinality_idx", "original_arguments", "projected_input", "projection_ids",
		"returned_types", "row_group_order_options", "schema_name", "table_filters", "table_index", "type"}
	extraKeys      = []string{"file_filters", "total_files", "filtered_files", "sample_options"}
	filterKeys     = []string{"type", "children", "expressions", "projection_map"}
	projectionKeys = []string{"type", "children", "expressions", "table_index"}
	limitKeys      = []string{"type", "children", "limit_val", "offset_val"}
	joinKeys       = []string{"type", "children", "join_type", "mark_index", "left_projection_map", "right_projection_map",
		"conditions", "mark_types", "duplicate_eliminated_columns", "delim_flipped", "predicate"}
	conditionKeys = []string{"left", "right", "comparison"}
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

var knownOperators = set(
	"LOGICAL_PROJECTION", "LOGICAL_FILTER", "LOGICAL_AGGREGATE_AND_GROUP_BY", "LOGICAL_WINDOW", "LOGICAL_UNNEST",
	"LOGICAL_LIMIT", "LOGICAL_ORDER_BY", "LOGICAL_SAMPLE", "LOGICAL_DISTINCT",
	"LOGICAL_GET", "LOGICAL_DELIM_GET", "LOGICAL_EXPRESSION_GET", "LOGICAL_DUMMY_SCAN", "LOGICAL_EMPTY_RESULT", "LOGICAL_CTE_REF",
	"LOGICAL_COMPARISON_JOIN", "LOGICAL_ANY_JOIN", "LOGICAL_DELIM_JOIN", "LOGICAL_CROSS_PRODUCT", "LOGICAL_ASOF_JOIN",
	"LOGICAL_UNION", "LOGICAL_EXCEPT", "LOGICAL_INTERSECT", "LOGICAL_RECURSIVE_CTE", "LOGICAL_MATERIALIZED_CTE",
)

// collating begins the calls that DuckDB puts into plans for COLLATE with a
// language: each makes a sort key of one text, and reads nothing.
const collating = "icu_collate_"

var knownClasses = set(
	"BOUND_REF", "BOUND_COLUMN_REF", // the latter below an unnest of a list made of columns to its left
	"BOUND_CONSTANT", "BOUND_CAST", "BOUND_COMPARISON", "BOUND_CONJUNCTION", "BOUND_OPERATOR", "BOUND_CASE",
	"BOUND_BETWEEN", "BOUND_UNNEST", "BOUND_LAMBDA", "BOUND_LAMBDA_REF",
	"BOUND_FUNCTION", "BOUND_AGGREGATE", "BOUND_WINDOW",
)

// namedClasses carry the name of what they call.
var namedClasses = set("BOUND_FUNCTION", "BOUND_AGGREGATE", "BOUND_WINDOW")

// tableFunctions are the reads of a plan that read no storage.
var tableFunctions = set("range", "generate_series", "unnest")

// boundNames are calls that DuckDB puts into plans for what is no call in the
// text: operators, literals of lists and structs, quantifiers, sub-queries,
// PIVOT and UNPIVOT. None reads anything. error is DuckDB's own, over a scalar
// sub-query that may give two rows and inside macros; a text may not call it.
var boundNames = set(
	"+", "-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>", "~", "!", "@", "||", "&&", "@>", "<@",
	"~~", "!~~", "~~~", "~~*", "!~~*", "like_escape", "not_like_escape", "ilike_escape", "not_ilike_escape",
	"prefix", "suffix", "contains", "regexp_full_match", "^@", "->>", "->",
	"count_star", "count", "first", "array_agg", "list", "sum", "any_value", "constant_or_null",
	"list_value", "struct_pack", "row", "array_value", "map", "unpivot_list",
	"struct_extract", "struct_extract_at", "list_extract", "array_extract", "array_slice", "list_slice", "map_extract", "map_extract_value",
	"list_contains", "list_aggr", "error",
	"current_date", "get_current_time", "current_localtime", "current_localtimestamp", // words of the clock
	"normalized_interval", // keys that are intervals
)
