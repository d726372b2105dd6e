package sample_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/cmd/plumbline/sample"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic/diag"
)

var small = sample.Options{Scale: 0.01}

// tree gives the hash and the size of every file below dir.
func tree(t *testing.T, dir string) (hashes map[string]string, size int64) {
	t.Helper()
	hashes = map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		rel, _ := filepath.Rel(dir, path)
		hashes[rel], size = hex.EncodeToString(sum[:8]), size+int64(len(data))
		return err
	}))
	return hashes, size
}

func TestTwoRunsWriteTheSameBytes(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "deeper", "b")
	require.NoError(t, small.Write(t.Context(), a))
	require.NoError(t, small.Write(t.Context(), b))
	first, _ := tree(t, a)
	second, _ := tree(t, b)
	require.Equal(t, first, second)
	require.Len(t, first, 18+5+9+1, "18 months of orders, the other tables and the stamp")
}

func TestFolders(t *testing.T) {
	write := func(dir string, o sample.Options) error { return o.Write(t.Context(), dir) }
	t.Run("an empty folder is used", func(t *testing.T) {
		require.NoError(t, write(t.TempDir(), small))
	})
	t.Run("a foreign folder is refused and left alone", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "letter.txt"), nil, 0o644))
		require.Equal(t, diag.ConfigFolder, diag.CodeOf(write(dir, small)))
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, left, 1)
	})
	t.Run("a file in the place of the folder is refused", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.Equal(t, diag.ConfigFolder, diag.CodeOf(write(path, small)))
	})
	t.Run("current data is left alone, other sample data is replaced", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, write(dir, small))
		before, err := os.Stat(filepath.Join(dir, "customers.csv"))
		require.NoError(t, err)
		require.NoError(t, write(dir, small))
		after, err := os.Stat(filepath.Join(dir, "customers.csv"))
		require.NoError(t, err)
		require.True(t, os.SameFile(before, after))
		require.NoError(t, write(dir, sample.Options{Scale: 0.02}))
		after, err = os.Stat(filepath.Join(dir, "customers.csv"))
		require.NoError(t, err)
		require.False(t, os.SameFile(before, after))
	})
	t.Run("sample data with a foreign file beside it is refused", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		require.NoError(t, write(dir, small))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644))
		require.Equal(t, diag.ConfigFolder, diag.CodeOf(write(dir, small)))
	})
	t.Run("a scale that is not set is refused", func(t *testing.T) {
		require.Equal(t, diag.RequestMalformed, diag.CodeOf(write(t.TempDir(), sample.Options{})))
	})
}

// stopAt is a context that ends after its error has been asked for n times.
type stopAt struct {
	context.Context
	n *int
}

func (s stopAt) Err() error {
	if *s.n--; *s.n < 0 {
		return context.Canceled
	}
	return nil
}

func TestCancelLeavesNothing(t *testing.T) {
	for _, n := range []int{0, 3, 20} {
		parent := t.TempDir()
		err := small.Write(stopAt{t.Context(), &n}, filepath.Join(parent, "data"))
		require.Equal(t, diag.RequestCancelled, diag.CodeOf(err))
		require.True(t, errors.Is(err, context.Canceled))
		left, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// TestFullSize reads the demo's own data with DuckDB and checks what the demo
// and the twins count on.
func TestFullSize(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	began := time.Now()
	require.NoError(t, sample.Write(t.Context(), dir))
	_, size := tree(t, dir)
	t.Logf("written in %s, %d bytes", time.Since(began).Round(time.Millisecond), size)
	require.Less(t, size, int64(60_000_000))

	db := ducktest.Open(t, nil)
	for name, read := range map[string]string{
		"customers": "read_csv('%s/customers.csv', header = true)", "products": "read_csv('%s/products.csv', header = true)",
		"orders": "read_parquet('%s/orders/*/*.parquet', hive_partitioning = true)", "order_items": "read_parquet('%s/order_items.parquet')",
		"support_tickets":  "read_json('%s/support_tickets.ndjson', format = 'newline_delimited')",
		"account_balances": "read_parquet('%s/account_balances.parquet')", "plan_history": "read_parquet('%s/plan_history.parquet')",
		"exchange_rates": "read_csv('%s/exchange_rates.csv', header = true)", "purchases": "read_csv('%s/purchases.csv', header = true)",
		"calendar": "read_csv('%s/calendar.csv', header = true)", "sales_reps": "read_csv('%s/sales_reps.csv', header = true)",
		"account_owners": "read_csv('%s/account_owners.csv', header = true)", "labels": "read_csv('%s/labels.csv', header = true)",
		"product_labels": "read_csv('%s/product_labels.csv', header = true)", "web_visits": "read_parquet('%s/web_visits.parquet')",
	} {
		db.Exec(t, fmt.Sprintf("CREATE TABLE %s AS FROM "+read, name, dir))
	}
	datadriven.RunTest(t, "testdata/full.txt", func(t *testing.T, d *datadriven.TestData) string {
		return strings.Join(db.Rows(t, d.Input), "\n") + "\n"
	})
}
