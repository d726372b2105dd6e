package prove

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/policy"
)

// onePlan is the bound plan of SELECT abs(id) over a fence of one entity.
const onePlan = `{"error":false,"plans":[{"type":"LOGICAL_PROJECTION","table_index":9,
	"expressions":[{"expression_class":"BOUND_FUNCTION","name":"abs","catalog_name":"system","schema_name":"main","children":[]}],"children":[
	{"type":"LOGICAL_LIMIT","limit_val":{"type":"UNSET","expression":null},"offset_val":{"type":"CONSTANT_VALUE","constant_integer":0,"expression":null},"children":[
	{"type":"LOGICAL_PROJECTION","table_index":8,"expressions":[{"expression_class":"BOUND_REF","index":1}],"children":[
	{"type":"LOGICAL_FILTER","projection_map":[],"expressions":[{"expression_class":"BOUND_COMPARISON","left":{"expression_class":"BOUND_REF","index":0}}],"children":[
	{"type":"LOGICAL_GET","name":"seq_scan","names":["id","tenant"],"returned_types":[],"arguments":[],"original_arguments":[],"catalog_name":"","schema_name":"",
	"has_serialize":true,"table_index":0,"children":[],"projection_ids":[],"projected_input":[],"table_filters":{"filters":[]},
	"function_data":{"catalog":"plumbline","schema":"base","table":"orders","is_index_scan":false,"is_create_index":false,"result_ids":[]},
	"column_indexes":[{"index":1,"child_indexes":[],"index_type":"FULL_READ"},{"index":0,"child_indexes":[],"index_type":"FULL_READ"}],
	"extra_info":{"file_filters":"","total_files":18446744073709551615,"filtered_files":18446744073709551615,"sample_options":null},
	"ordinality_idx":18446744073709551615,"row_group_order_options":null}]}]}]}]}]}`

func TestPlanIsReadStrictly(t *testing.T) {
	abs := func(name string) bool { return name == "abs" }
	got, err := readPlan([]byte(onePlan), abs)
	require.NoError(t, err)
	require.True(t, got.alone)
	require.Equal(t, []scan{{table: "orders", end: true, bare: []bool{true}, items: []string{`"id"`},
		filter: []string{`{expression_class:"BOUND_COMPARISON" left:"tenant" }`}}}, got.scans)
	require.Equal(t, "PROJECTION\n  LIMIT\n    PROJECTION\n      FILTER\n        GET\n", got.outline.String())

	for _, c := range []struct{ old, new, want string }{
		{`"error":false`, `"error":true`, "not that of one statement"},
		{`"plans":[`, `"plans":[{},`, "not that of one statement"},
		{`{"error"`, `{"more":1,"error"`, "not that of one statement"},
		{`"LOGICAL_LIMIT"`, `"LOGICAL_TOP_N"`, `operator "LOGICAL_TOP_N"`},
		{`"children":[],"projection_ids"`, `"children":{},"projection_ids"`, "no list of children"},
		{`"children":[],"projection_ids"`, `"children":[3],"projection_ids"`, "no operator"},
		{`"projection_map":[]`, `"projection_map":[{"type":"LOGICAL_GET"}]`, "stands where an expression should"},
		{`"projection_map":[]`, `"projection_map":[0]`, "filter over \"orders\" is not plain"},
		{`"projection_map":[]`, `"projection_map":[],"more":[]`, "filter over \"orders\" is not plain"},
		{`"BOUND_COMPARISON"`, `"BOUND_SUBQUERY"`, `expression "BOUND_SUBQUERY"`},
		{`"abs"`, `""`, "a call without a name"},
		{`"abs"`, `"getenv"`, `calls "getenv"`},
		{`"catalog_name":"system"`, `"catalog_name":"plumbline"`, `of "plumbline"."main"`},
		{`"schema_name":"main"`, `"schema_name":"base"`, `of "system"."base"`},
		{`"seq_scan"`, `"read_csv"`, `reads "read_csv"`},
		{`"catalog":"plumbline"`, `"catalog":"memory"`, "not a plain scan"},
		{`"schema":"base"`, `"schema":"main"`, "not a plain scan"},
		{`"is_index_scan":false`, `"is_index_scan":true`, "not a plain scan"},
		{`"result_ids":[]`, `"result_ids":[1]`, "not a plain scan"},
		{`"result_ids":[]`, `"result_ids":[],"more":1`, "not a plain scan"},
		{`"projection_ids":[]`, `"projection_ids":[1]`, "not a plain scan"},
		{`"filters":[]`, `"filters":[1]`, "not a plain scan"},
		{`"sample_options":null`, `"sample_options":{}`, "not a plain scan"},
		{`"file_filters":""`, `"file_filters":"x"`, "not a plain scan"},
		{`"row_group_order_options":null`, `"row_group_order_options":{}`, "not a plain scan"},
		{`"ordinality_idx":18446744073709551615`, `"ordinality_idx":1`, "not a plain scan"},
		{`"has_serialize":true`, `"has_serialize":true,"more":1`, "not a plain scan"},
		{`"index":1,"child_indexes":[]`, `"index":1,"child_indexes":[0]`, "parts of columns"},
		{`"FULL_READ"`, `"PUSHDOWN_EXTRACT"`, "parts of columns"},
		{`"BOUND_REF","index":1`, `"BOUND_REF","index":2`, "no column of its entity"},
		{`"BOUND_REF","index":1`, `"BOUND_COLUMN_REF","depth":0,"binding":{"table_index":0,"column_index":2}`, "no column of its entity"},
		{`"BOUND_REF","index":1`, `"BOUND_COLUMN_REF","depth":0,"binding":{"table_index":5,"column_index":1}`, "no column of its entity"},
		{`"BOUND_REF","index":1`, `"BOUND_COLUMN_REF","depth":1,"binding":{"table_index":0,"column_index":1}`, "no column of its entity"},
		{`"BOUND_REF","index":1`, `"BOUND_COLUMN_REF"`, "no column of its entity"},
		{`"index":0,"child_indexes"`, `"index":18446744073709551614,"child_indexes"`, "no column of its entity"},
		{`"LOGICAL_FILTER"`, `"LOGICAL_SAMPLE"`, "stands in no projection"},
		{`"table_index":8`, `"more":8`, "projection over \"orders\" is not plain"},
		{`"expressions":[{"expression_class":"BOUND_REF","index":1}]`, `"expressions":[]`, "projection over \"orders\" is not plain"},
		{`"expressions":[{"expression_class":"BOUND_COMPARISON","left":{"expression_class":"BOUND_REF","index":0}}]`, `"expressions":[]`, "filter over \"orders\" is not plain"},
		{`"projection_ids":[]`, `"projection_ids":null`, "not a plain scan"},
	} {
		require.Contains(t, onePlan, c.old)
		_, err := readPlan([]byte(strings.Replace(onePlan, c.old, c.new, 1)), abs)
		require.ErrorContains(t, err, c.want, c.new)
	}
	for _, c := range []struct{ old, new string }{
		{`"LOGICAL_LIMIT"`, `"LOGICAL_DISTINCT"`}, {`"LOGICAL_LIMIT"`, `"LOGICAL_LIMIT","more":1`},
		{`"UNSET","expression":null`, `"UNSET","expression":{}`}, {`"constant_integer":0,"expression":null`, `"constant_integer":0,"expression":{}`},
		{`"UNSET"`, `"CONSTANT_VALUE"`}, {`"constant_integer":0`, `"constant_integer":1`}, {`"offset_val":{"type":"CONSTANT_VALUE"`, `"offset_val":{"type":"UNSET"`},
	} {
		got, err := readPlan([]byte(strings.Replace(onePlan, c.old, c.new, 1)), abs)
		require.NoError(t, err)
		require.False(t, got.scans[0].end, c.new)
	}
	byNumber, err := readPlan([]byte(strings.Replace(onePlan, `"BOUND_REF","index":1`, `"BOUND_COLUMN_REF","depth":0,"binding":{"table_index":0,"column_index":1}`, 1)), abs)
	require.NoError(t, err)
	require.Equal(t, got.scans, byNumber.scans)
	for _, raw := range []string{`{}`, `[]`, onePlan + `{}`, `{"error":false,"plans":{}}`, `{"error":false,"plans":[1]}`} {
		_, err := readPlan([]byte(raw), abs)
		require.Error(t, err)
	}
	_, err = readPlan(nil, abs)
	require.ErrorContains(t, err, "the plan is no JSON")
	require.Contains(t, (&planReader{}).canonical(map[string]any{"alias": "x"}, &outputs{}), "alias")
}

// TestFenceAloneIsAsLearned compares what a fence binds to alone with the rule,
// in ways that its tree already rules out.
func TestFenceAloneIsAsLearned(t *testing.T) {
	f := &fence{entity: "orders", relation: policy.SummaryRelation{Fenced: true}, fields: []string{"id", "mail"}, node: &sqlast.SelectNode{Select: []sqlast.Expr{
		&sqlast.ColumnRef{Names: []string{"id"}}, &sqlast.Constant{ExprBase: sqlast.ExprBase{Alias: "mail"}},
	}}}
	r := &rule{filter: []string{"rule"}, items: map[string]string{"mail": "null"}}
	good := scan{table: "orders", end: true, filter: []string{"rule"}, bare: []bool{false}, items: []string{`"id"`, "null"}}
	require.NoError(t, asLearned(f, good, r))
	for want, edit := range map[string]func(*scan){
		"another scan":      func(s *scan) { s.table = "customers" },
		"binds to another":  func(s *scan) { s.end = false },
		"to another scan":   func(s *scan) { s.items = s.items[:1] },
		"lacks its rule":    func(s *scan) { s.filter = nil },
		"another condition": func(s *scan) { s.filter = []string{"other"} },
		"against literals":  func(s *scan) { s.filter, s.bare = []string{"rule", "more"}, []bool{false, true} },
		`value as "id"`:     func(s *scan) { s.items = []string{`"tenant"`, "null"} },
		`value as "mail"`:   func(s *scan) { s.items = []string{`"id"`, `"mail"`} },
	} {
		s := good
		edit(&s)
		require.ErrorContains(t, asLearned(f, s, r), want)
	}
}
