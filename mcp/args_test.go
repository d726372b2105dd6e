package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

func TestDecodeUnderstandsWhatModelsSend(t *testing.T) {
	limit := 5
	cases := map[string]struct {
		raw  string
		want metricArgs
	}{
		"plain":               {`{"metrics":["revenue"],"limit":5}`, metricArgs{Metrics: []string{"revenue"}, Limit: &limit}},
		"list in a string":    {`{"metrics":"[\"revenue\"]","limit":"5"}`, metricArgs{Metrics: []string{"revenue"}, Limit: &limit}},
		"one name for a list": {`{"metrics":"revenue","show_sql":"true"}`, metricArgs{Metrics: []string{"revenue"}, ShowSQL: true}},
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
		"not an object":        {`[1]`, diag.RequestMalformed, `"arguments"`},
		"not JSON":             {`{"metrics":`, diag.RequestMalformed, `"arguments"`},
		"unknown":              {`{"metrics":["m"],"colour":"red"}`, diag.RequestUnknownArg, `"colour"`},
		"misspelt":             {`{"metric":["m"]}`, diag.RequestUnknownArg, `did you mean "metrics"`},
		"another case":         {`{"metrics":["m"],"Limit":1}`, diag.RequestUnknownArg, `did you mean "limit"`},
		"twice":                {`{"metrics":["m"],"metrics":["n"]}`, diag.RequestMalformed, "twice"},
		"filter one level up":  {`{"metrics":["m"],"op":"="}`, diag.RequestUnknownArg, "inside an item of filters"},
		"identity as argument": {`{"metrics":["m"],"tenant":"globex"}`, diag.RequestUnknownArg, "identity comes from the connection"},
		"unknown in a filter":  {`{"metrics":["m"],"filters":[{"field":"a","op":"=","value":"x"}]}`, diag.RequestUnknownArg, "filters.value"},
		"fraction for a limit": {`{"metrics":["m"],"limit":1.5}`, diag.RequestMalformed, `"limit" must be a whole number`},
		"object as a value":    {`{"metrics":["m"],"filters":[{"field":"a","op":"=","values":[{"$ne":1}]}]}`, diag.RequestMalformed, "filters.values"},
		"commas for a list":    {`{"metrics":["m"],"filters":[{"field":"a","op":"in","values":"x,y"}]}`, diag.RequestMalformed, `["a", "b"]`},
		"number for a text":    {`{"metrics":[1]}`, diag.RequestMalformed, `"metrics" must be a text`},
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
