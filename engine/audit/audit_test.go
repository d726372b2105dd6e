package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func open(t *testing.T, maxBytes int64, keep int) (*Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sub", "audit.jsonl")
	l, err := Open(semantic.AuditSpec{Path: path, MaxBytes: maxBytes, Keep: keep})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, path
}

func TestWriteKeepsEveryRecordOfManyCallers(t *testing.T) {
	l, path := open(t, 0, 0)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			require.NoError(t, l.Write(context.Background(), Record{ID: fmt.Sprint(i), Outcome: "answered"}))
		})
	}
	wg.Wait()
	got, err := Tail(path, 100)
	require.NoError(t, err)
	require.Len(t, got, 64)
	seen := map[string]bool{}
	for _, r := range got {
		seen[r.ID] = true
	}
	require.Len(t, seen, 64)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm(), "only the owner may read raw texts")
}

func TestWriteRotatesAndKeepsTheNewest(t *testing.T) {
	l, path := open(t, 2500, 2)
	for i := range 20 {
		require.NoError(t, l.Write(context.Background(), Record{ID: fmt.Sprint(i)}))
	}
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 3)
	last, err := Tail(path, 1)
	require.NoError(t, err)
	require.Equal(t, "19", last[0].ID)
	for _, f := range files {
		_, err := Tail(f, 100) // every file holds whole lines
		require.NoError(t, err)
	}
}

func TestWriteOnAFullDiskFailsWithACode(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("no /dev/full on this system; the closed-log case below stands for it")
	} else {
		l, err := Open(semantic.AuditSpec{Path: "/dev/full"})
		require.NoError(t, err)
		err = l.Write(context.Background(), Record{ID: "1"})
		require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
		require.NotContains(t, err.Error(), "/dev/full")
		require.NoError(t, l.Close())
	}
	l, _ := open(t, 0, 0)
	require.NoError(t, l.Close())
	require.Equal(t, diag.AuditFailed, diag.CodeOf(l.Write(context.Background(), Record{ID: "1"})))
}

func TestOpenRefusesAnUnwritablePlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(semantic.AuditSpec{Path: filepath.Join(file, "audit.jsonl")})
	require.Equal(t, diag.AuditFailed, diag.CodeOf(err))
}

func TestTailRefusesABrokenLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("{}\n{\"id\": \n"), 0o600))
	_, err := Tail(path, 5)
	require.ErrorContains(t, err, "read audit record")
	require.False(t, strings.Contains(err.Error(), path))
}

// TestALongRecordIsCut writes records of which every field that can grow has grown.
func TestALongRecordIsCut(t *testing.T) {
	long := strings.Repeat("\x01", 3<<20) // six bytes each in JSON
	list := slices.Repeat([]string{"item"}, 1<<18)
	for name, r := range map[string]Record{
		"texts": {Normalised: long, FinalSQL: long, RawError: long, Tool: long, Subject: policy.Subject{ID: policy.SubjectID(long)}},
		"json":  {Question: json.RawMessage(`{"sql":"` + strings.Repeat("é", 1<<20) + `"}`), Subject: policy.Subject{Claims: map[string]any{"a": long}}},
		"lists": {Functions: list, BesideSQL: []string{long, long}, Sources: list, Errors: []string{long}, Subject: policy.Subject{Roles: list}},
		"facts": {Entities: []EntityUse{{Entity: "orders"}, {Entity: long}}, Reasons: []policy.Reason{{Text: long}}, Rules: []policy.RuleRef{{ID: long}}},
	} {
		for _, maxBytes := range []int64{0, 64 << 10} {
			l, path := open(t, maxBytes, 2)
			r.ID, r.Outcome = "q1", "answered"
			require.NoError(t, l.Write(context.Background(), r), name)
			st, err := os.Stat(path)
			require.NoError(t, err)
			require.LessOrEqual(t, st.Size(), int64(l.bound()), name)
			got, err := Tail(path, 1)
			require.NoError(t, err, name)
			require.Equal(t, "q1", got[0].ID)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(data), "cut", name)
			if name == "facts" {
				require.Equal(t, "orders", got[0].Entities[0].Entity, "what fits stays")
			}
		}
	}
}

// TestLongRecordsLeaveHistory: a few requests, however long, do not push out what was kept.
func TestLongRecordsLeaveHistory(t *testing.T) {
	l, path := open(t, 64<<10, 2)
	require.NoError(t, l.Write(context.Background(), Record{ID: "earlier"}))
	for range 8 {
		require.NoError(t, l.Write(context.Background(), Record{ID: "long", Normalised: strings.Repeat("x", 1<<20)}))
	}
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	var all []string
	for _, f := range files {
		list, err := Tail(f, 100)
		require.NoError(t, err)
		for _, r := range list {
			all = append(all, r.ID)
		}
	}
	require.Contains(t, all, "earlier")
	require.Len(t, all, 9)
}
