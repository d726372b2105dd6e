package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/semantic/diag"
)

func TestDecodeUnderstandsWhatModelsSend(t *testing.T) {
	limit := 5
	cases := map[string]struct {
		raw  string
		want metricArgs
	}{
		"plain":               {`{"metrics":["revenue"],"limit":5}`, metricArgs{Question: metric.Question{Metrics: []string{"revenue"}, Limit: &limit}}},
		"list in a string":    {`{"metrics":"[\"revenue\"]","limit":"5"}`, metricArgs{Question: metric.Question{Metrics: []string{"revenue"}, Limit: &limit}}},
		"a choice":            {`{"metrics":["m"],"filters":[{"any":[{"field":"a","op":"=","values":"x"},{"all":[{"field":"b","op":"is_null"}]}]}]}`, metricArgs{Question: metric.Question{Metrics: []string{"m"}, Filters: []metric.Filter{{Any: []metric.Filter{{Field: "a", Op: "=", Values: []any{"x"}}, {All: []metric.Filter{{Field: "b", Op: "is_null"}}}}}}}}},
		"a relative range":    {`{"metrics":["m"],"time":{"field":"metric_time","last":"3 months","including_current":"true"}}`, metricArgs{Question: metric.Question{Metrics: []string{"m"}, Time: []metric.TimeRange{{Field: "metric_time", Last: "3 months", IncludingCurrent: true}}}}},
		"all the rest":        {`{"metrics":["m"],"segments":"big","offset":"2","totals":"total","top":"{\"dimension\":\"d\",\"by\":\"m\",\"n\":\"3\",\"other\":true}","fill_gaps":true,"parameters":{"rate":"1.5","n":2},"zone":"UTC","week_start":"sunday","definitions":true}`, metricArgs{Definitions: true, Question: metric.Question{Metrics: []string{"m"}, Segments: []string{"big"}, Offset: 2, Totals: "total", Top: &metric.Top{Dimension: "d", By: "m", N: 3, Other: true}, FillGaps: true, Parameters: map[string]any{"rate": "1.5", "n": json.Number("2")}, Zone: "UTC", WeekStart: "sunday"}}},
		"rows":                {`{"rows":"orders","dimensions":["id"]}`, metricArgs{Question: metric.Question{Rows: "orders", Dimensions: []metric.DimensionRef{{Name: "id"}}}}},
		"one name for a list": {`{"metrics":"revenue","show_sql":"true"}`, metricArgs{Question: metric.Question{Metrics: []string{"revenue"}}, ShowSQL: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got metricArgs
			require.NoError(t, decode(json.RawMessage(c.raw), &got))
			require.Equal(t, c.want, got)
		})
	}

	var got metricArgs
	require.NoError(t, decode(json.RawMessage(`{"metrics":["m"],"dimensions":["plan",{"name":"metric_time","grain":"month"}],"filters":[{"field":"plan","op":"in","values":["a",null,9007199254740993]}],"order":"m"}`), &got))
	require.Equal(t, "plan", got.Dimensions[0].Name)
	require.Equal(t, "month", got.Dimensions[1].Grain)
	require.Equal(t, []any{"a", nil, json.Number("9007199254740993")}, got.Filters[0].Values)
	require.Equal(t, "m", got.Order[0].By)
}

func TestDecodeRefusesAndNamesTheArgument(t *testing.T) {
	cases := map[string]struct {
		raw  string
		code diag.Code
		says string
	}{
		"not an object":          {`[1]`, diag.RequestMalformed, `"arguments"`},
		"not JSON":               {`{"metrics":`, diag.RequestMalformed, `"arguments"`},
		"unknown":                {`{"metrics":["m"],"colour":"red"}`, diag.RequestUnknownArg, `"colour"`},
		"misspelt":               {`{"metric":["m"]}`, diag.RequestUnknownArg, `did you mean "metrics"`},
		"another case":           {`{"metrics":["m"],"Limit":1}`, diag.RequestUnknownArg, `did you mean "limit"`},
		"twice":                  {`{"metrics":["m"],"metrics":["n"]}`, diag.RequestMalformed, "twice"},
		"filter one level up":    {`{"metrics":["m"],"op":"="}`, diag.RequestUnknownArg, "inside an item of filters"},
		"identity as argument":   {`{"metrics":["m"],"tenant":"globex"}`, diag.RequestUnknownArg, "identity comes from the connection"},
		"unknown in a filter":    {`{"metrics":["m"],"filters":[{"field":"a","op":"=","value":"x"}]}`, diag.RequestUnknownArg, "filters.value"},
		"a range one level up":   {`{"metrics":["m"],"last":"3 months"}`, diag.RequestUnknownArg, "inside an item of time"},
		"a zone by another name": {`{"metrics":["m"],"timezone":"UTC"}`, diag.RequestUnknownArg, "write zone"},
		"a parameter twice":      {`{"metrics":["m"],"parameters":{"a":1,"a":2}}`, diag.RequestMalformed, "twice"},
		"a list as a parameter":  {`{"metrics":["m"],"parameters":{"a":[1]}}`, diag.RequestMalformed, "parameters.a"},
		"parameters in a list":   {`{"metrics":["m"],"parameters":[1]}`, diag.RequestMalformed, "an object"},
		"unknown in a choice":    {`{"metrics":["m"],"filters":[{"any":[{"feld":"a"}]}]}`, diag.RequestUnknownArg, "filters.any.feld"},
		"unknown in top":         {`{"metrics":["m"],"top":{"dimension":"d","limit":3}}`, diag.RequestUnknownArg, "top.limit"},
		"number for a last":      {`{"metrics":["m"],"time":[{"field":"a","last":3}]}`, diag.RequestMalformed, "time.last"},
		"fraction for a limit":   {`{"metrics":["m"],"limit":1.5}`, diag.RequestMalformed, `"limit" must be a whole number`},
		"object as a value":      {`{"metrics":["m"],"filters":[{"field":"a","op":"=","values":[{"$ne":1}]}]}`, diag.RequestMalformed, "filters.values"},
		"commas for a list":      {`{"metrics":["m"],"filters":[{"field":"a","op":"in","values":"x,y"}]}`, diag.RequestMalformed, `["a", "b"]`},
		"number for a text":      {`{"metrics":[1]}`, diag.RequestMalformed, `"metrics" must be a text`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got metricArgs
			err := decode(json.RawMessage(c.raw), &got)
			require.Equal(t, c.code, diag.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), c.says)
		})
	}
}

// FuzzDecode: whatever comes, decode answers or refuses with a code of the
// request family; an accepted text is JSON that holds no unknown key.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `{"metrics":["a"]}`, `{"metrics":"[\"a\"]","limit":"3"}`, `{"a":{"b":[1,{"c":null}]}}`, "{\"metrics\":[\"\xff\"]}", `"{}"`, `null`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var got metricArgs
		err := decode(json.RawMessage(raw), &got)
		if err == nil {
			if !json.Valid([]byte(raw)) {
				t.Fatalf("accepted what is no JSON: %q", raw)
			}
			return
		}
		if code := diag.CodeOf(err); code != diag.RequestMalformed && code != diag.RequestUnknownArg {
			t.Fatalf("%q: code %s", raw, code)
		}
	})
}

func TestToolsAreFewPlainAndShort(t *testing.T) {
	total := len(instructions)
	for _, tool := range tools {
		var schema map[string]any
		require.NoError(t, json.Unmarshal([]byte(tool.schema), &schema), tool.name)
		require.Equal(t, false, schema["additionalProperties"], tool.name)
		require.NotContains(t, tool.schema, "anyOf")
		require.NotContains(t, tool.schema, "oneOf")
		total += len(tool.name) + len(tool.description) + len(tool.schema)
	}
	require.Len(t, tools, 5)
	require.Less(t, total, 1500*4, "about four bytes a token: the definitions stay under 1,500 tokens")
}
