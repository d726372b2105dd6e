package metric_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/semantic/diag"
)

func TestDecodeKeepsWhatWasWritten(t *testing.T) {
	q, err := metric.Decode([]byte(`{"metrics": ["m"], "dimensions": ["a", {"name": "b", "grain": "day"}], "filters": [{"field": "f", "op": "in", "values": [9007199254740993, null, "x", true]}]}`))
	require.NoError(t, err)
	require.Equal(t, []metric.DimensionRef{{Name: "a"}, {Name: "b", Grain: "day"}}, q.Dimensions)
	require.Equal(t, []any{json.Number("9007199254740993"), nil, "x", true}, q.Filters[0].Values)
}

func TestDecodeIsStrict(t *testing.T) {
	for text, code := range map[string]diag.Code{
		``:                              diag.RequestMalformed,
		`null x`:                        diag.RequestMalformed,
		`[]`:                            diag.RequestMalformed,
		`{"metrics": ["a"]} {}`:         diag.RequestMalformed,
		`{"metrics": ["a"], "x": 1}`:    diag.RequestUnknownArg,
		`{"metrics": [], "METRICS":[]}`: diag.RequestMalformed,
		`{"metrics": ["a"], "dimensions": [{"name": "d", "grian": "day"}]}`:                diag.RequestUnknownArg,
		`{"metrics": ["a"], "filters": [{"field": "d", "op": "=", "value": 1}]}`:           diag.RequestUnknownArg,
		`{"metrics": ["a"], "filters": [{"field": "d", "op": "=", "op": "!="}]}`:           diag.RequestMalformed,
		`{"metrics": ["a"], "filters": [{"field": "d", "op": "=", "values": "x"}]}`:        diag.RequestMalformed,
		`{"metrics": ["a"], "order": [{"by": "a", "direction": "descending"}]}`:            diag.RequestUnknownArg,
		`{"metrics": ["a"], "order": [{"by": "a", "desc": "yes"}]}`:                        diag.RequestMalformed,
		`{"metrics": ["a"], "limit": "ten"}`:                                               diag.RequestMalformed,
		`{"metrics": ["a"], "limit": 1.5}`:                                                 diag.RequestMalformed,
		`{"metrics": ["a"], "time": [{"field": "d", "from": "2024-01-01", "until": "x"}]}`: diag.RequestUnknownArg,
	} {
		_, err := metric.Decode([]byte(text))
		require.Error(t, err, text)
		require.Equal(t, code, diag.CodeOf(err), "%s: %v", text, err)
	}
}

// FuzzDecode: what is accepted survives a round trip, what is refused has a code.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"metrics": ["m"], "dimensions": ["a", {"name": "b", "grain": "day"}], "filters": [{"field": "f", "op": "in", "values": [1e3, null, "x"]}], "order": [{"by": "m", "desc": true}], "limit": 3}`))
	f.Add([]byte(`{"metrics": ["m"], "time": [{"field": "metric_time", "from": "2024-01-01"}]}`))
	f.Add([]byte(`{"a": {"b": [1, {"c": null}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		q, err := metric.Decode(raw)
		if err != nil {
			require.NotEqual(t, diag.BugInternal, diag.CodeOf(err))
			return
		}
		again, err := json.Marshal(q)
		require.NoError(t, err)
		back, err := metric.Decode(again)
		require.NoError(t, err)
		once, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(again), string(once))
	})
}
