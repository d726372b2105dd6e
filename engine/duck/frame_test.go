package duck

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is written is read again, and what is cut short or too large is an error.
func FuzzFrame(f *testing.F) {
	f.Add("run", []byte("SELECT 1"), 3)
	f.Add("", []byte{}, 0)
	f.Add("x\xff", []byte{0, 0xff}, 9)
	f.Fuzz(func(t *testing.T, verb string, payload []byte, cut int) {
		var buf bytes.Buffer
		require.NoError(t, writeFrame(&buf, request{Verb: verb}, payload))
		whole := buf.Bytes()
		limit := func() int64 { return int64(len(payload)) }
		var got, want request
		text, err := json.Marshal(request{Verb: verb})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &want))
		back, err := readFrame(bytes.NewReader(whole), &got, limit)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, bytes.Equal(payload, back))
		if cut = ((cut % len(whole)) + len(whole)) % len(whole); cut < len(whole) {
			_, err = readFrame(bytes.NewReader(whole[:cut]), &got, limit)
			require.Error(t, err)
		}
		if len(payload) > 0 {
			_, err = readFrame(bytes.NewReader(whole), &got, func() int64 { return int64(len(payload)) - 1 })
			require.ErrorIs(t, err, errFrame)
		}
	})
}

// Any bytes are a frame or an error, never a panic or a large allocation.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 0, 0, 0, 0, '{', '}'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var rep reply
		payload, err := readFrame(bytes.NewReader(data), &rep, func() int64 { return 1 << 10 })
		if err == nil {
			require.LessOrEqual(t, len(payload), 1<<10)
		}
		parts, err := splitTexts(data, []int{1, len(data) - 1})
		if err == nil {
			require.True(t, bytes.Equal(data, append(bytes.Clone(parts[0]), parts[1]...)))
		}
	})
}
