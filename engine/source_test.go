package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// damage is one way in which a file behind an entity goes wrong.
type damage struct {
	name   string
	file   string // below data
	do     func(t *testing.T, path string)
	ask    string
	answer string // of ana, before it goes wrong
	code   diag.Code
	lazy   bool // a start does not read that far
}

func half(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b[:len(b)/2], 0o600))
}

func gone(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
}

func appended(line string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(line)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
}

// secret stands in the damaged lines and must not come out in any error.
const secret = "topsecretvalue"

var damages = []damage{
	{"no csv", "customers.csv", gone, "SELECT count(*) FROM customers", "179\n", diag.SourceMissing, false},
	{"no parquet", "order_items.parquet", gone, "SELECT count(*) > 0 FROM order_items", "true\n", diag.SourceMissing, false},
	{"no ndjson", "support_tickets.ndjson", gone, "SELECT count(*) > 0 FROM support_tickets", "true\n", diag.SourceMissing, false},
	{"one month gone", "orders/month=2026-03/part-0.parquet", gone, "SELECT count(*) FROM orders", "3970\n", diag.SourceMissing, true},
	{"half a parquet", "order_items.parquet", half, "SELECT count(*) > 0 FROM order_items", "true\n", diag.SourceCorrupt, false},
	{"half a month", "orders/month=2026-03/part-0.parquet", half, "SELECT count(*) FROM orders", "3970\n", diag.SourceCorrupt, true},
	{"text in a number of a csv", "customers.csv", appended(secret + ",n,e,p,s,eu,pro,acme,2025-01-01,0.5\n"), "SELECT max(id) > 0 FROM customers", "true\n", diag.SourceCorrupt, true},
	{"a date that is none", "customers.csv", appended("999999,n,e,p,s,eu,pro,acme," + secret + ",0.5\n"), "SELECT max(signed_up) > DATE '2000-01-01' FROM customers", "true\n", diag.SourceCorrupt, true},
	{"a csv row too short", "customers.csv", appended("999999," + secret + "\n"), "SELECT count(*) FROM customers", "179\n", diag.SourceCorrupt, true},
	{"an open quote in a csv", "customers.csv", appended("999999,\"" + secret + "\n"), "SELECT count(*) FROM customers", "179\n", diag.SourceCorrupt, true},
	{"ndjson cut within a line", "support_tickets.ndjson", appended(`{"id":999999,"customer_id":` + secret), "SELECT count(*) > 0 FROM support_tickets", "true\n", diag.SourceCorrupt, true},
	{"text in a number of ndjson", "support_tickets.ndjson", appended(`{"id":"` + secret + `","customer_id":1,"created_at":"2026-01-01 00:00:00","priority":"low","status":"open","subject":"s","tenant":"acme"}` + "\n"), "SELECT max(id) > 0 FROM support_tickets", "true\n", diag.SourceCorrupt, true},
	{"no parquet at all", "account_balances.parquet", func(t *testing.T, path string) {
		require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(secret), 100), 0o600))
	}, "SELECT count(*) FROM account_balances WHERE month = DATE '2026-03-01'", "61\n", diag.SourceCorrupt, false},
}

func discreet(t *testing.T, root string, err error) {
	t.Helper()
	for _, word := range []string{secret, root, "read_csv", "read_parquet", "Error:", "IO "} {
		require.NotContains(t, err.Error(), word)
	}
}

// A file that breaks under a running server closes its entity and no other, and
// opens it again when it is whole.
func TestSourceBreaksWhileRunning(t *testing.T) {
	h := open(t, workspace(t))
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			h := house{Engine: h.Engine, t: t, root: h.root, log: h.log}
			path := filepath.Join(h.root, "data", d.file)
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, d.answer, h.rows("ana", d.ask))
			d.do(t, path)
			ans, err := h.sql("ana", d.ask)
			h.code(d.code, err)
			require.Nil(t, ans)
			discreet(t, h.root, err)
			r, _ := h.last()
			require.NotEmpty(t, r.RawError, "the operator finds the cause in the record")
			require.Contains(t, h.rows("ana", "SELECT count(*) FROM products"), "\n", "other entities answer")
			require.NoError(t, os.WriteFile(path, whole, 0o600))
			require.Equal(t, d.answer, h.rows("ana", d.ask))
		})
	}
}

// A start with a broken file either says so, all at once, or opens and refuses
// the questions that read it; it never answers from what is left.
func TestSourceBrokenAtStart(t *testing.T) {
	for _, d := range damages {
		if d.lazy {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			root := workspace(t)
			d.do(t, filepath.Join(root, "data", d.file))
			temp := t.TempDir()
			e, err := engine.Open(t.Context(), root, engine.Options{AuditTo: filepath.Join(t.TempDir(), "a.jsonl"), Temp: temp})
			if err == nil {
				e.Close()
			}
			require.Equal(t, d.code, diag.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), ".cue:", "the place in the model")
			discreet(t, root, err)
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	t.Run("several at once", func(t *testing.T) {
		root := workspace(t)
		gone(t, filepath.Join(root, "data/customers.csv"))
		gone(t, filepath.Join(root, "data/products.csv"))
		_, err := engine.Open(t.Context(), root, engine.Options{AuditTo: filepath.Join(t.TempDir(), "a.jsonl"), Temp: t.TempDir()})
		require.Len(t, diag.All(err), 2)
		require.True(t, strings.Contains(err.Error(), "customers") && strings.Contains(err.Error(), "products"))
	})
	t.Run("a month gone and half a month", func(t *testing.T) {
		root := workspace(t)
		half(t, filepath.Join(root, "data/orders/month=2026-03/part-0.parquet"))
		e, err := engine.Open(t.Context(), root, engine.Options{AuditTo: filepath.Join(t.TempDir(), "a.jsonl"), Temp: t.TempDir()})
		if err != nil {
			require.Equal(t, diag.SourceCorrupt, diag.CodeOf(err))
			return
		}
		defer e.Close()
		h := house{Engine: e, t: t}
		_, err = h.sql("ana", "SELECT count(*) FROM orders")
		require.Equal(t, diag.SourceCorrupt, diag.CodeOf(err))
	})
}
