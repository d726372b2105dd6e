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
		"messages":           {"{\"a\":1}\n {\"b\":2} \n", "{\"a\":1}\n{\"b\":2}\n", nil},
		"no line end":        {"{\"a\":1}", "{\"a\":1}\n", nil},
		"garbage between":    {"{\"a\":1}\n{bad\ngarbage\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":2}\n", []int{-32700, -32700}},
		"no object":          {"null\n[1]\n{\"b\":2}\n", "{\"b\":2}\n", []int{-32600, -32600}},
		"empty lines":        {"\n\r\n{\"b\":2}\r\n", "{\"b\":2}\n", nil},
		"too long":           {"{\"a\":\"" + strings.Repeat("x", 3*maxLine) + "\"}\n{\"b\":2}\n", "{\"b\":2}\n", []int{-32600}},
		"long without end":   {strings.Repeat("x", 2*maxLine), "", []int{-32600}},
		"deep nesting":       {strings.Repeat("[", 20000) + "\n{\"b\":2}\n", "{\"b\":2}\n", []int{-32700}},
		"garbage at the end": {"{\"a\":1}\noops", "{\"a\":1}\n", []int{-32700}},
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
