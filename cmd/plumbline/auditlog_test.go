package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/semantic"
)

// TestFollowSurvivesRotation: audit log --follow prints each record once and in order
// while the file is rotated under it. The test reads what the command writes and waits
// for nothing else.
func TestFollowSurvivesRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(semantic.AuditSpec{Path: path, MaxBytes: 8 << 10, Keep: 100})
	require.NoError(t, err)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			question, err := json.Marshal(map[string]string{"sql": fmt.Sprintf("SELECT %d, '%s'", i, strings.Repeat("x", 300))})
			require.NoError(t, err)
			require.NoError(t, log.Write(context.Background(), audit.Record{ID: fmt.Sprintf("n%d", i), Time: time.Now(), Subject: policy.Subject{ID: "ana"}, Tool: "query_sql", Question: question, Outcome: "answered"}))
		}
	}
	write(0, 3)

	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"audit", "log", "--file", path, "--follow", "--json"}, nil, in, in)
		_ = in.Close() // a pipe's Close does not fail
		ended <- code
	}()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	expect := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			require.True(t, lines.Scan(), "record %d comes", i)
			var r audit.Record
			require.NoError(t, json.Unmarshal(lines.Bytes(), &r), lines.Text())
			require.Equal(t, fmt.Sprintf("n%d", i), r.ID)
		}
	}
	expect(0, 3)
	write(3, 4)
	expect(3, 4)
	written := make(chan struct{})
	go func() { write(4, 120); close(written) }()
	expect(4, 120)
	<-written
	rotated, err := filepath.Glob(path + ".*")
	require.NoError(t, err)
	require.Greater(t, len(rotated), 3)
	stop()
	require.False(t, lines.Scan(), "nothing more comes: %s", lines.Text())
	require.Zero(t, <-ended)
	require.NoError(t, log.Close())
}
