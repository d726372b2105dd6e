package duck_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// PostgreSQL's parser runs in the confined worker, and what it cannot read it
// reports as a tree's absence, not as a failure of the worker.
func TestParsePostgresInAWorker(t *testing.T) {
	p := open(t, config(t))
	tree, err := p.ParsePostgres(context.Background(), "SELECT a/2 FROM t -- é")
	require.NoError(t, err)
	require.Contains(t, string(tree), `"A_Expr"`)
	failed, err := p.ParsePostgres(context.Background(), "SELECT é FROM +")
	require.NoError(t, err)
	require.JSONEq(t, `{"error":true,"message":"syntax error at or near \"+\"","position":15}`, string(failed))
}

// Texts of 64 KiB that are all nesting end no server and no neighbour: each gives a
// tree, a report or a refusal, and a query beside them is answered all the while.
func TestHostilePostgresTexts(t *testing.T) {
	p := open(t, config(t))
	full := func(head, body, tail string) string {
		return head + strings.Repeat(body, (sqlast.MaxText-len(head)-len(tail))/len(body)) + tail
	}
	texts := []string{
		full("SELECT ", "(", ""), full("SELECT ", "NOT ", "true"), full("SELECT 1", "+1", ""), full("SELECT 1", "::int", ""),
		full("SELECT ", "CASE WHEN ", ""), full("SELECT ", "- ", "1"), full("SELECT 1", " UNION SELECT 1", ""), full("SELECT a", "[1]", ""),
		full("SELECT ", "f(", ""), full("SELECT ", "f(", "1"+strings.Repeat(")", 20000)), full("SELECT ", "(SELECT ", ""), full("SELECT '", "x", "'"), full("SELECT $a$", "x", ""),
		full("SELECT 1 IN (", "1,", "1)"), full("", "/*", ""), full("SELECT ", "\"", ""), full("SELECT E'", "\\", ""),
		full("SELECT * FROM ", "(SELECT * FROM ", ""), full("SELECT * FROM t", " JOIN t ON true", ""), full("WITH a AS (", "WITH a AS (", ""),
	}
	ctx, cancel := context.WithCancel(context.Background())
	var neighbour sync.WaitGroup
	answered := 0
	neighbour.Go(func() {
		for ctx.Err() == nil {
			_, err := p.Serialize(context.Background(), "SELECT 1")
			require.NoError(t, err)
			answered++
		}
	})
	for _, text := range texts {
		within, done := context.WithTimeout(context.Background(), 20*time.Second)
		tree, err := p.ParsePostgres(within, text)
		done()
		if err != nil {
			require.Contains(t, []diag.Code{diag.ExecuteCrashed, diag.LimitMemory, diag.LimitBytes, diag.LimitTime}, diag.CodeOf(err), "%.40s: %v", text, err)
			continue
		}
		require.NotEmpty(t, tree)
	}
	cancel()
	neighbour.Wait()
	require.NotZero(t, answered)
}
