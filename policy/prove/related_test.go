package prove

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// getOf is a scan of two columns in a bound plan.
func getOf(table string, index int, a, b string) string {
	return fmt.Sprintf(`{"type":"LOGICAL_GET","name":"seq_scan","names":[%q,%q],"returned_types":[],"arguments":[],"original_arguments":[],
	"catalog_name":"","schema_name":"","has_serialize":true,"table_index":%d,"children":[],"projection_ids":[],"projected_input":[],"table_filters":{"filters":[]},
	"function_data":{"catalog":"plumbline","schema":"base","table":%q,"is_index_scan":false,"is_create_index":false,"result_ids":[]},
	"column_indexes":[{"index":0,"child_indexes":[],"index_type":"FULL_READ"},{"index":1,"child_indexes":[],"index_type":"FULL_READ"}],
	"extra_info":{"file_filters":"","total_files":18446744073709551615,"filtered_files":18446744073709551615,"sample_options":null},
	"ordinality_idx":18446744073709551615,"row_group_order_options":null}`, a, b, index, table)
}

func refTo(index int) string {
	return fmt.Sprintf(`{"expression_class":"BOUND_REF","index":%d}`, index)
}

// relatedPlan is the bound plan of a fence of orders whose rule asks for customers of the region.
var relatedPlan = `{"error":false,"plans":[{"type":"LOGICAL_PROJECTION","table_index":9,"expressions":[` + refTo(0) + `],"children":[
	{"type":"LOGICAL_LIMIT","limit_val":{"type":"UNSET","expression":null},"offset_val":{"type":"CONSTANT_VALUE","constant_integer":0,"expression":null},"children":[
	{"type":"LOGICAL_PROJECTION","table_index":8,"expressions":[` + refTo(0) + `],"children":[
	{"type":"LOGICAL_FILTER","projection_map":[],"expressions":[` + refTo(2) + `],"children":[
	{"type":"LOGICAL_COMPARISON_JOIN","join_type":"MARK","mark_index":5,"left_projection_map":[],"right_projection_map":[],"mark_types":[],
	"duplicate_eliminated_columns":[],"delim_flipped":false,"predicate":null,
	"conditions":[{"left":` + refTo(1) + `,"right":{"expression_class":"BOUND_REF","index":0},"comparison":"COMPARE_EQUAL"}],"children":[
	` + getOf("orders", 0, "id", "customer_id") + `,
	{"type":"LOGICAL_PROJECTION","table_index":7,"expressions":[` + refTo(0) + `],"children":[
	{"type":"LOGICAL_FILTER","projection_map":[],"expressions":[{"expression_class":"BOUND_COMPARISON","type":"COMPARE_EQUAL","left":` + refTo(1) + `}],"children":[
	` + getOf("customers", 6, "id", "region") + `]}]}]}]}]}]}]}]}`

// TestRelatedRowsAreReadStrictly reads the joins of a rule, and refuses a join
// that is anything else.
func TestRelatedRowsAreReadStrictly(t *testing.T) {
	got, err := readPlan([]byte(relatedPlan), anyCall)
	require.NoError(t, err)
	require.True(t, got.alone)
	in := `{in "customer_id" "COMPARE_EQUAL" "id" from "customers" select "id" where {expression_class:"BOUND_COMPARISON" left:"region" type:"COMPARE_EQUAL" }}`
	require.Equal(t, []scan{{table: "orders", end: true, through: []string{"customers"}, bare: []bool{false}, items: []string{`"id"`}, filter: []string{in}}}, got.scans)

	for _, c := range []struct{ old, new, want string }{
		{`"MARK"`, `"SEMI"`, "stands in no projection"},
		{`"predicate":null`, `"predicate":{}`, "joins in another way"},
		{`"predicate":null`, `"predicate":null,"more":1`, "joins in another way"},
		{`"delim_flipped":false`, `"delim_flipped":true`, "joins in another way"},
		{`"mark_types":[]`, `"mark_types":[1]`, "joins in another way"},
		{`"left_projection_map":[]`, `"left_projection_map":[1]`, "joins in another way"},
		{`"right_projection_map":[]`, `"right_projection_map":[1]`, "joins in another way"},
		{`"duplicate_eliminated_columns":[]`, `"duplicate_eliminated_columns":[1]`, "joins in another way"},
		{`"comparison":"COMPARE_EQUAL"`, `"comparison":"COMPARE_EQUAL","more":1`, "joins in another way"},
		{`"conditions":[{`, `"conditions":[],"was":[{`, "joins in another way"},
		{`"expressions":[` + refTo(2), `"expressions":[` + refTo(1), "joins what its rule does not ask for"},
		{`"left":` + refTo(1) + `,"right"`, `"left":` + refTo(2) + `,"right"`, "no column of its entity"},
		{`"right":` + refTo(0), `"right":` + refTo(1), "no column of its entity"},
		{`"table_index":7,`, `"table_index":7,"more":1,`, "not plain"},
		{`"table_index":7,"expressions":[` + refTo(0) + `]`, `"table_index":7,"expressions":[]`, "not plain"},
		{`{"type":"LOGICAL_PROJECTION","table_index":7`, `{"type":"LOGICAL_DISTINCT","table_index":7`, "in another way than by keys and conditions"},
		{`"table":"customers","is_index_scan":false`, `"table":"customers","is_index_scan":true`, "not a plain scan"},
		{`"catalog":"plumbline","schema":"base","table":"customers"`, `"catalog":"memory","schema":"base","table":"customers"`, "not a plain scan"},
	} {
		require.Contains(t, relatedPlan, c.old)
		_, err := readPlan([]byte(strings.Replace(relatedPlan, c.old, c.new, 1)), anyCall)
		require.ErrorContains(t, err, c.want, c.new)
	}
	for _, c := range []struct{ old, new string }{
		{`"table":"customers"`, `"table":"products"`}, {`["id","region"]`, `["id","plan"]`}, {`"left":` + refTo(1) + `,"right"`, `"left":` + refTo(0) + `,"right"`},
		{`"comparison":"COMPARE_EQUAL"`, `"comparison":"COMPARE_NOTEQUAL"`}, {`"type":"COMPARE_EQUAL","left"`, `"type":"COMPARE_NOTEQUAL","left"`},
		{`"table_index":7,"expressions":[` + refTo(0), `"table_index":7,"expressions":[` + refTo(1)},
	} {
		other, err := readPlan([]byte(strings.Replace(relatedPlan, c.old, c.new, 1)), anyCall)
		require.NoError(t, err)
		require.NotEqual(t, got.scans[0].key(), other.scans[0].key(), c.new)
	}
	byNumber, err := readPlan([]byte(strings.NewReplacer(
		`"expressions":[`+refTo(2), `"expressions":[{"expression_class":"BOUND_COLUMN_REF","depth":0,"binding":{"table_index":5,"column_index":0}}`,
		`"right":`+refTo(0), `"right":{"expression_class":"BOUND_COLUMN_REF","depth":0,"binding":{"table_index":7,"column_index":0}}`,
	).Replace(relatedPlan)), anyCall)
	require.NoError(t, err)
	require.Equal(t, got.scans, byNumber.scans)
}
