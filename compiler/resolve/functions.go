package resolve

import (
	"slices"
	"strings"
)

// FunctionKind says where a function may stand.
type FunctionKind string

// The kinds. An OperatorFunction is a Scalar written as an operator.
const (
	Scalar           FunctionKind = "scalar"
	Aggregate        FunctionKind = "aggregate"
	WindowOnly       FunctionKind = "window"
	TableFunction    FunctionKind = "table"
	OperatorFunction FunctionKind = "operator"
)

// Function is one reviewed function of DuckDB 1.5.6, by its name in lower case. The
// zero value is none.
type Function struct {
	Name   string
	Kind   FunctionKind
	Raises bool   // may fail on a value, so that it must never see a row outside the rule
	Clock  bool   // depends on the moment of the question; all others on their arguments alone
	Size   string // how its result is bounded: "" by its arguments, or one of the size rules
	Lambda bool   // its second argument may be a lambda
}

// The size rules: what of the call must be a literal, and how large it may be.
const (
	sizeCount  = "count"  // the second argument is a literal up to maxCount
	sizeSeries = "series" // all arguments are literals that make up to maxList (scalar) or maxRows (table) elements
	sizeFormat = "format" // the first argument is a literal without wide fields
)

const (
	maxCount = 10_000
	maxText  = 1_000_000
	maxList  = 10_000
	maxRows  = 1_000_000
)

// reviewed lists the functions by kind; one that is not here does not run. Left
// out on purpose: whatever reads files, settings, catalogs, the session, the
// statement's text, storage statistics or another query; whatever is volatile or
// has effects; edit distances, whose cost is not bounded by a cancel; and
// aggregates named by a text argument (list_aggregate).
var reviewed = map[FunctionKind]string{
	Aggregate: `any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max arg_max_null arg_min arg_min_null
		argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star countif covar_pop covar_samp
		entropy favg first fsum geomean geometric_mean group_concat histogram kahan_sum kurtosis kurtosis_pop last list listagg mad max
		max_by mean median min min_by mode product quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept
		regr_r2 regr_slope regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum sumkahan var_pop var_samp
		variance wavg weighted_avg json_group_array json_group_object`,
	WindowOnly: `cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank rank_dense row_number fill`,
	Scalar: `!__postfix !~~ !~~* % & && * ** + - ->> / // << <@ >> @ @> ^ ^@ xor | || ~ ~~ ~~* ~~~
		abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees divide even exp factorial fdiv floor
		fmod gamma gcd greatest greatest_common_divisor isfinite isinf isnan lcm least least_common_multiple lgamma ln log log10 log2 mod
		multiply nextafter pi pow power radians round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc
		array_extract ascii bit_length char_length character_length chr concat concat_ws contains ends_with format format_bytes
		formatreadabledecimalsize formatreadablesize from_base64 hash hex ilike_escape instr lcase left left_grapheme len length
		length_grapheme like_escape lower lpad ltrim md5 nfc_normalize not_ilike_escape not_like_escape octet_length ord
		parse_filename position prefix printf regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
		regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme rpad rtrim sha1 sha256 split split_part
		starts_with str_split str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr substring
		substring_grapheme suffix to_base to_base64 to_binary to_hex translate trim ucase unhex unicode upper url_decode url_encode
		age ago century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
		dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_timestamp hour isodow isoyear julian
		last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz microsecond millennium
		millisecond minute month monthname now quarter second strftime strptime time_bucket timezone to_centuries to_days to_decades
		to_hours to_microseconds to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years today
		transaction_timestamp try_strptime week weekday weekofyear year yearweek
		apply array_append array_apply array_cat array_concat array_contains array_distinct array_filter array_has array_has_all
		array_has_any array_indexof array_intersect array_length array_pop_back array_pop_front array_position array_prepend
		array_push_back array_push_front array_reduce array_reverse array_reverse_sort array_slice array_sort array_to_string
		array_transform array_unique array_value cardinality element_at filter flatten list_any_value list_append list_apply list_avg
		list_cat list_concat list_contains list_count list_distinct list_element list_extract list_filter list_first list_has
		list_has_all list_has_any list_indexof list_intersect list_last list_max list_median list_min list_pack list_position
		list_prepend list_reduce list_reverse list_reverse_sort list_select list_slice list_sort list_string_agg list_sum list_transform
		list_unique list_value list_where list_zip map map_contains map_entries map_extract map_extract_value map_from_entries map_keys
		map_values range generate_series reduce row struct_concat struct_extract struct_insert struct_pack unnest
		array_to_json from_json json_array json_array_length json_contains json_exists json_extract json_extract_path
		json_extract_path_text json_extract_string json_keys json_object json_quote json_structure json_type json_valid json_value
		row_to_json to_json
		constant_or_null nullif pg_typeof typeof`,
	TableFunction: `generate_series range unnest`,
}

// raises are the functions that fail on some values. A test calls every reviewed
// function at the edges of its arguments' types, and finds no other.
var raises = `% * + - // / ** << >> ^ factorial add subtract multiply divide mod fmod gamma lgamma ln log log10 log2 sqrt pow power exp acos
	asin acosh atanh chr to_base from_base64 unhex url_decode list_reduce array_reduce reduce make_date make_time make_timestamp
	make_timestamp_ms make_timestamp_ns make_timestamptz to_timestamp strptime strftime regexp_replace regexp_extract
	regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array string_split_regex str_split_regex json_extract
	json_extract_string json_value json_array_length json_contains json_exists json_keys json_structure json_type from_json format
	printf sum product avg element_at struct_extract map map_from_entries date_add date_sub time_bucket to_centuries to_decades
	to_years to_months to_weeks to_days to_hours to_minutes to_seconds timezone lcm gcd abs range generate_series repeat lpad rpad
	!__postfix ->> @ ago array_extract array_length array_slice array_to_string array_value corr cos cot date_diff date_part
	date_trunc datediff datepart datesub datetrunc dayofweek dayofyear epoch_ms epoch_ns epoch_us era geomean geometric_mean
	greatest greatest_common_divisor histogram ilike_escape isodow isoyear json_extract_path json_extract_path_text kurtosis
	kurtosis_pop last_day least least_common_multiple left left_grapheme like_escape list_element list_extract list_select
	list_slice list_where mad mean not_ilike_escape not_like_escape nullif regr_intercept regr_r2 regr_slope regr_sxx regr_syy sem
	sin skewness stddev stddev_pop stddev_samp struct_pack substr substring substring_grapheme tan to_milliseconds to_quarters
	var_pop var_samp variance wavg week weekday weekofyear weighted_avg yearweek`

var sizes = map[string]string{
	"repeat": sizeCount, "lpad": sizeCount, "rpad": sizeCount,
	"range": sizeSeries, "generate_series": sizeSeries,
	"format": sizeFormat, "printf": sizeFormat,
}

// clocks depend on the moment; age and ago do where they are given one date.
var clocks = strings.Fields(`now today get_current_timestamp transaction_timestamp age ago`)

var lambdas = `apply array_apply array_filter array_reduce array_transform filter list_apply list_filter list_reduce list_transform reduce`

// functions holds each reviewed function by kind and name.
var functions = func() map[FunctionKind]map[string]Function {
	raising, taking := strings.Fields(raises), strings.Fields(lambdas)
	out := map[FunctionKind]map[string]Function{}
	for kind, names := range reviewed {
		out[kind] = map[string]Function{}
		for _, name := range strings.Fields(names) {
			out[kind][name] = Function{Name: name, Kind: kind, Size: sizes[name],
				Raises: slices.Contains(raising, name), Clock: slices.Contains(clocks, name), Lambda: slices.Contains(taking, name)}
		}
	}
	return out
}()

// Functions gives the reviewed functions by name, then kind.
func Functions() []Function {
	var out []Function
	for _, byName := range functions {
		for _, f := range byName {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Function) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return strings.Compare(string(a.Kind), string(b.Kind))
	})
	return out
}

// valueRule says what a bare word means to DuckDB when it is no column.
type valueRule int

const (
	unknownValue valueRule = iota // nothing: it is just an unknown name
	allowedValue                  // the clock
	deniedValue                   // the session
)

// valueFunctions are the words that DuckDB reads as functions without parentheses.
var valueFunctions = map[string]valueRule{
	"current_date": allowedValue, "current_time": allowedValue, "current_timestamp": allowedValue,
	"localtime": allowedValue, "localtimestamp": allowedValue,
	"current_catalog": deniedValue, "current_role": deniedValue, "current_schema": deniedValue,
	"current_user": deniedValue, "session_user": deniedValue, "user": deniedValue,
}

// typeNames are the types that a cast may name; nested types list them as arguments.
var typeNames = strings.Fields(`bool boolean logical tinyint int1 smallint int2 short integer int int4 signed bigint int8 long int64
	int32 int16 hugeint int128 utinyint uint8 usmallint uint16 uinteger uint32 ubigint uint64 uhugeint uint128 float float4 real double
	float8 decimal numeric dec varchar text string char bpchar nvarchar date time timestamp timestamp_s timestamp_ms timestamp_ns
	timestamp_us datetime timestamptz interval uuid json blob bytea binary varbinary list array struct row map null
	time_with_time_zone timestamp_with_time_zone`)
