package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinesPassOnlyMessages(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		passed string
		codes  []int
	}{
		"messages":           {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"} \n", "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", nil},
		"no line end":        {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n", nil},
		"garbage between":    {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{bad\ngarbage\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", []int{-32700, -32700}},
		"no message":         {"{\"a\":1}\n{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"b\"}\n", "", []int{-32600, -32600}},
		"no object":          {"null\n[1]\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", []int{-32600, -32600}},
		"empty lines":        {"\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\r\n", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", nil},
		"too long":           {"{\"a\":\"" + strings.Repeat("x", 3*maxLine) + "\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", []int{-32600}},
		"long without end":   {strings.Repeat("x", 2*maxLine), "", []int{-32600}},
		"deep nesting":       {strings.Repeat("[", 20000) + "\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n", []int{-32700}},
		"garbage at the end": {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\noops", "{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n", []int{-32700}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			l := newLines(io.NopCloser(strings.NewReader(c.in)), &out)
			got, err := io.ReadAll(l)
			require.NoError(t, err)
			require.Equal(t, c.passed, string(got))
			var codes []int
			for line := range strings.Lines(out.String()) {
				var answer struct {
					ID    any
					Error struct{ Code int }
				}
				require.NoError(t, json.Unmarshal([]byte(line), &answer))
				require.Nil(t, answer.ID)
				codes = append(codes, answer.Error.Code)
			}
			require.Equal(t, c.codes, codes)
			require.NoError(t, l.Close())
		})
	}
}
