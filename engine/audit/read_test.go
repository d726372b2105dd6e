package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/policy"
)

// read gives the ids that a reader has for us since the last time, and the places of
// broken lines.
func read(t *testing.T, r *Reader) (ids, broken []string) {
	t.Helper()
	require.NoError(t, r.Read(func(e Entry) error {
		if e.Err != nil {
			broken = append(broken, e.Where)
			return nil
		}
		ids = append(ids, e.Record.ID)
		return nil
	}))
	return ids, broken
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func numbers(from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint(i))
	}
	return out
}

// A reader meets every record once and in order, however often the file was rotated
// between two readings, and wherever it stood.
func TestReaderSurvivesRotation(t *testing.T) {
	l, path := open(t, 2500, 50)
	r := NewReader(path)
	defer func() { require.NoError(t, r.Close()) }()
	ids, _ := read(t, r)
	require.Empty(t, ids)
	next := 0
	for _, more := range []int{1, 1, 7, 0, 30, 2, 12} {
		from := next
		for range more {
			require.NoError(t, l.Write(context.Background(), testRecord(next)))
			next++
		}
		ids, broken := read(t, r)
		require.Equal(t, numbers(from, next), ids)
		require.Empty(t, broken)
	}
	files, err := filepath.Glob(path + ".*")
	require.NoError(t, err)
	require.Greater(t, len(files), 5, "it was rotated")

	again := NewReader(path)
	defer func() { require.NoError(t, again.Close()) }()
	ids, _ = read(t, again)
	require.Equal(t, numbers(0, next), ids, "another reader begins with the oldest file")
}

// What was rotated out of the kept files is gone; the rest comes in order.
func TestReaderThatWasLeftBehind(t *testing.T) {
	l, path := open(t, 2500, 1)
	r := NewReader(path)
	defer func() { require.NoError(t, r.Close()) }()
	require.NoError(t, l.Write(context.Background(), testRecord(0)))
	ids, _ := read(t, r)
	require.Equal(t, numbers(0, 1), ids)
	for i := 1; i < 30; i++ {
		require.NoError(t, l.Write(context.Background(), testRecord(i)))
	}
	ids, _ = read(t, r)
	require.Less(t, len(ids), 29, "some are gone")
	require.Equal(t, "1", ids[0], "the file that was being read is read to its end")
	require.Equal(t, "29", ids[len(ids)-1])
	require.True(t, slices.IsSortedFunc(ids, func(a, b string) int { return atoi(t, a) - atoi(t, b) }))
}

func TestReaderTellsBrokenLines(t *testing.T) {
	whole := `{"id":"a","time":"2026-05-04T03:02:01Z","subject":{"id":"ana","claims":{"n":9007199254740993}}}`
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write(path+".1", whole+"\n{\"id\": \nnull\n{}\n"+whole+" "+whole+"\n\n"+whole+"\n{\"id\":\"cut")
	write(path, whole+"\n{\"id\":\"b\",")
	r := NewReader(path)
	defer func() { require.NoError(t, r.Close()) }()
	ids, broken := read(t, r)
	require.Equal(t, []string{"a", "a", "a"}, ids)
	require.Equal(t, []string{"audit.jsonl.1:2", "audit.jsonl.1:3", "audit.jsonl.1:4", "audit.jsonl.1:5", "audit.jsonl.1:6", "audit.jsonl.1:8"}, broken)
	e, ok := r.Unfinished()
	require.True(t, ok)
	require.Equal(t, "audit.jsonl:2", e.Where)
	require.Error(t, e.Err)

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`"time":"2026-05-04T03:02:02Z"}` + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	ids, broken = read(t, r)
	require.Equal(t, []string{"b"}, ids, "its end has come")
	require.Empty(t, broken)
	_, ok = r.Unfinished()
	require.False(t, ok)
	require.Equal(t, "9007199254740993", fmt.Sprint(entry([]byte(whole), "").Record.Subject.Claims["n"]), "numbers stay as they were written")
}

var recorded = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func testRecord(i int) Record {
	return Record{ID: fmt.Sprint(i), Time: recorded, Subject: policy.Subject{ID: "ana"}, Outcome: "answered"}
}
