package resolve

import "strings"

// Refused is why a function of DuckDB 1.5.6 is not among the reviewed ones.
type Refused struct {
	Name  string // ends with * for all names that begin so
	Class string // one of the classes of refused
	Why   string // what the functions of the class do
}

// refused lists the functions that do not run, by class. A test compares them and
// the reviewed ones with what DuckDB has, so that an upgrade shows what is new. A
// name that a reviewed function has too, of another kind, is not listed.
var refused = []struct{ class, why, names string }{
	{"files", "reads or writes files and logs", `add_parquet_key arrow_scan arrow_scan_dumb copy_database disable_logging duckdb_log_contexts duckdb_logs duckdb_logs_parsed
		enable_logging glob import_database parquet_bloom_probe parquet_file_metadata parquet_full_metadata parquet_kv_metadata
		parquet_metadata parquet_scan parquet_schema parse_duckdb_log_message read_blob read_csv read_csv_auto read_duckdb read_json
		read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects read_parquet read_text
		sniff_csv truncate_duckdb_logs write_log`},
	{"queries", "runs, parses or prints a statement, or names a function by a text", `aggregate array_aggr array_aggregate check_peg_parser json_deserialize_sql json_execute_serialized_sql json_serialize_plan
		json_serialize_sql list_aggr list_aggregate query query_table sql_auto_complete summary`},
	{"session", "tells or changes the session, its settings and secrets", `current_catalog current_connection_id current_database current_query current_query_id current_role current_schema
		current_schemas current_setting current_transaction_id current_user duckdb_profiling_settings duckdb_secret_types duckdb_secrets
		duckdb_settings duckdb_variables get_block_size getvariable in_search_path session_user setseed txid_current user version
		which_secret`},
	{"settings", "changes the engine or prints its state", `all_profiling_output checkpoint collations database_list database_size disable_checkpoint_on_shutdown disable_object_cache
		disable_optimizer disable_peg_parser disable_print_progress_bar disable_profile disable_profiling disable_progress_bar
		disable_verification disable_verify_external disable_verify_fetch_row disable_verify_parallelism disable_verify_serializer
		enable_checkpoint_on_shutdown enable_object_cache enable_optimizer enable_peg_parser enable_print_progress_bar enable_profile
		enable_profiling enable_progress_bar enable_verification extension_versions force_checkpoint functions metadata_info platform
		show show_databases show_tables show_tables_expanded storage_info table_info user_agent verify_external verify_fetch_row
		verify_parallelism verify_serializer`},
	{"catalog", "tells the engine's own catalog", `col_description duckdb_approx_database_count duckdb_columns duckdb_connection_count duckdb_constraints duckdb_coordinate_systems
		duckdb_databases duckdb_dependencies duckdb_extensions duckdb_external_file_cache duckdb_functions duckdb_indexes
		duckdb_keywords duckdb_memory duckdb_optimizers duckdb_prepared_statements duckdb_schemas duckdb_sequences duckdb_table_sample
		duckdb_tables duckdb_temporary_files duckdb_types duckdb_views format_pg_type format_type generate_subscripts
		has_any_column_privilege has_column_privilege has_database_privilege has_foreign_data_wrapper_privilege has_function_privilege
		has_language_privilege has_schema_privilege has_sequence_privilege has_server_privilege has_table_privilege
		has_tablespace_privilege histogram_values icu_calendar_names inet_client_addr inet_client_port inet_server_addr inet_server_port
		map_to_pg_oid obj_description pg_collation_is_visible pg_conf_load_time pg_conversion_is_visible pg_function_is_visible
		pg_get_constraintdef pg_get_expr pg_get_viewdef pg_has_role pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible
		pg_operator_is_visible pg_opfamily_is_visible pg_postmaster_start_time pg_table_is_visible pg_timezone_names
		pg_ts_config_is_visible pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible pg_type_is_visible
		pragma_collations pragma_database_size pragma_metadata_info pragma_platform pragma_show pragma_storage_info pragma_table_info
		pragma_user_agent pragma_version seq_scan shobj_description test_all_types test_vector_types`},
	{"storage", "tells how values are stored, or takes types as values", `alias can_cast_implicitly cast_to_type create_sort_key get_type icu_sort_key make_type remap_struct replace_type stats
		vector_type`},
	{"volatile", "gives another value at each call, waits, fails on purpose, or is a clock that SQL writes as a word", `current_date current_localtime current_localtimestamp currval error gen_random_uuid get_current_time nextval pg_sleep random
		reservoir_quantile sleep_ms uuid uuidv4 uuidv7`},
	{"cost", "costs more than its arguments' size, or makes values as large as an argument says", `array_resize bar bit_position bitstring bitstring_agg damerau_levenshtein editdist3 equi_width_bins get_bit hamming
		is_histogram_other_bin jaccard jaro_similarity jaro_winkler_similarity levenshtein list_resize mismatches repeat_row set_bit`},
	{"internal", "is put into plans by the engine, and is no function for texts", `__internal_* icu_collate_* array_to_string_comma_default combine finalize normalized_interval struct_extract_at switch
		timetz_byte_comparable unpivot_list variant_bytes_to_variant variant_normalize variant_to_parquet_variant`},
	{"unneeded", "has not been asked for, or has another name that is reviewed", `<-> <=> arg_max_nulls_last arg_min_nulls_last array_cosine_distance array_cosine_similarity array_cross_product array_distance
		array_dot_product array_grade_up array_inner_product array_negative_dot_product array_negative_inner_product array_select
		array_where array_zip base64 bin decode encode enum_code enum_first enum_last enum_range enum_range_boundary from_binary
		from_hex from_json_strict grade_up histogram_exact json json_each json_group_structure json_merge_patch json_pretty
		json_transform json_transform_strict json_tree list_approx_count_distinct list_bit_and list_bit_or list_bit_xor list_bool_and
		list_bool_or list_cosine_distance list_cosine_similarity list_distance list_dot_product list_entropy list_grade_up
		list_histogram list_inner_product list_kurtosis list_kurtosis_pop list_mad list_mode list_negative_dot_product
		list_negative_inner_product list_product list_sem list_skewness list_stddev_pop list_stddev_samp list_var_pop list_var_samp
		map_concat map_contains_entry map_contains_value md5_number md5_number_lower md5_number_upper nanosecond parse_dirname
		parse_dirpath parse_formatted_bytes parse_path pg_size_pretty regexp_split_to_table st_asbinary st_astext st_aswkb st_aswkt
		st_crs st_geomfromwkb st_intersects_extent st_setcrs struct_contains struct_has struct_indexof struct_keys struct_position
		struct_update struct_values sum_no_overflow timezone_hour timezone_minute to_millennia unbin union_extract union_tag union_value
		uuid_extract_timestamp uuid_extract_version variant_extract variant_typeof`},
}

// Refusals gives the functions that do not run, in the order of their classes.
func Refusals() []Refused {
	var out []Refused
	for _, r := range refused {
		for _, name := range strings.Fields(r.names) {
			out = append(out, Refused{Name: name, Class: r.class, Why: r.why})
		}
	}
	return out
}
