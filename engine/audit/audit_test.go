package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
