package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

func TestReload(t *testing.T) {
	h := open(t, workspace(t))
	before := h.Summary()

	t.Run("a faulty change keeps the old world", func(t *testing.T) {
		h := house{Engine: h.Engine, t: t, root: h.root, log: h.log}
		for _, broken := range []struct {
			file, from, to string
			code           diag.Code
		}{
			{"models/account_balances.cue", `to: "customers"`, `to: "costumers"`, diag.ModelUnknown},
			{"models/orders.cue", `expr:        "status IS DISTINCT FROM 'cancelled'"`, `expr:        "nothing_here IS NULL"`, diag.ModelSQL},
			{"models/orders.cue", "package models", "package models\n\n}", diag.ModelSyntax},
			{"rego/access.rego", "package plumbline.access", "package plumbline.access\n\nthis is no rule", diag.ConfigRego},
			{"rego/access.rego", `input.row.tenant == lib.text_claim("tenant")`, `upper(input.row.tenant) == lib.text_claim("tenant")`, diag.ConfigRego},
			{"plumbline.cue", `rows:    1000`, `rows:    "many"`, diag.ConfigInvalid},
			{"models/products.cue", `"products.csv"`, `"nowhere.csv"`, diag.SourceMissing},
		} {
			path := filepath.Join(h.root, broken.file)
			whole, err := os.ReadFile(path)
			require.NoError(t, err)
			edit(t, h.root, broken.file, broken.from, broken.to)
			err = h.Reload(t.Context())
			require.Equal(t, broken.code, diag.CodeOf(err), "%s: %v", broken.to, err)
			require.Equal(t, before, h.Summary())
			require.Equal(t, "3970\n", h.rows("ana", "SELECT count(*) FROM orders"))
			require.NoError(t, os.WriteFile(path, whole, 0o600))
		}
		require.NoError(t, h.Reload(t.Context()))
	})

	t.Run("a good change is there at once", func(t *testing.T) {
		h := house{Engine: h.Engine, t: t, root: h.root, log: h.log}
		_, err := h.metric("ana", `{"metrics":["earliest"]}`)
		h.code(diag.MetricUnknown, err)
		edit(t, h.root, "models/orders.cue", "\tmetrics: {\n", "\tmetrics: {\n\t\tearliest: {entity: \"orders\", measure: \"order_count\", description: \"orders\"}\n")
		require.NoError(t, h.Reload(t.Context()))
		ans, err := h.metric("ana", `{"metrics":["earliest"]}`)
		require.NoError(t, err)
		require.Equal(t, "earliest", ans.Table.Columns[0].Name)
		r, _ := h.last()
		require.NotEqual(t, before.Model, r.Model, "the record names the revision that answered")
		require.Equal(t, before.Policy, r.Policy)
	})
}

// Questions go on during reloads, each in one world.
func TestReloadUnderLoad(t *testing.T) {
	h := open(t, workspace(t))
	stop := make(chan struct{})
	var asking sync.WaitGroup
	var failed sync.Map
	for i := range 50 {
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				ans, err := h.sql("ana", fmt.Sprintf("SELECT count(*) FROM orders WHERE total_cents > %d", -1-i-100*(n%3)))
				if err != nil {
					failed.Store(err.Error(), true)
					return
				}
				if got := ans.Table.CSV(); got != "count_star()\n3970\n" {
					failed.Store(got, true)
				}
			}
		})
	}
	for i := range 3 {
		edit(t, h.root, "models/orders.cue", "", fmt.Sprintf("\n// %d\n", i))
		if err := h.Reload(t.Context()); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	asking.Wait()
	failed.Range(func(k, _ any) bool { t.Error(k); return true })
}

// An edit that comes while the policies are read is not taken by half. The last file
// becomes a pipe, so that the test knows when the others have been read.
func TestReloadTakesOneStateOfTheFiles(t *testing.T) {
	root := workspace(t)
	last, other := filepath.Join(root, "rego", "zz", "data.json"), filepath.Join(root, "other")
	require.NoError(t, os.Mkdir(filepath.Dir(last), 0o755))
	require.NoError(t, os.WriteFile(last, []byte("{}"), 0o600))
	h := open(t, root)
	before := h.Summary()

	require.NoError(t, os.Rename(last, other))
	require.NoError(t, syscall.Mkfifo(last, 0o600))
	var editing sync.WaitGroup
	editing.Go(func() {
		pipe, err := os.OpenFile(last, os.O_WRONLY, 0) // when it is read
		if err != nil {
			t.Error(err)
			return
		}
		edit(t, root, "rego/access.rego", `lib.untagged(field, "pii")`, "lib.untagged(field, \"pii\")\n\tfield.name != \"tenant\"")
		_, err = pipe.WriteString("{}")
		if err := errors.Join(os.Rename(other, last), err, pipe.Close()); err != nil {
			t.Error(err)
		}
	})
	err := h.Reload(t.Context())
	editing.Wait()
	require.Equal(t, diag.ConfigChanged, diag.CodeOf(err), "%v", err)
	require.Equal(t, before, h.Summary())
	require.True(t, h.Stale())

	require.NoError(t, h.Reload(t.Context()))
	require.NotEqual(t, before.Policy, h.Summary().Policy)
	require.False(t, h.Stale())
	edit(t, root, "models/orders.cue", "", "\n// another\n")
	require.True(t, h.Stale())
}

// What a reload takes it gives back: goroutines, processes, folders.
func TestReloadLeaksNothing(t *testing.T) {
	h := open(t, workspace(t))
	settle := func() {
		require.Eventually(t, func() bool { return len(h.Pool().PIDs()) == 3 }, 20*time.Second, time.Millisecond)
	}
	h.rows("ana", "SELECT count(*) FROM orders")
	require.NoError(t, h.Reload(t.Context()))
	settle()
	var old []int
	least := runtime.NumGoroutine()
	for range 5 {
		old = append(old, h.Pool().PIDs()...)
		require.NoError(t, h.Reload(t.Context()))
		h.rows("ana", "SELECT count(*) FROM orders")
		settle()
	}
	for until := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > least && time.Now().Before(until); { // not Eventually, which has goroutines of its own
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), least)
	for _, pid := range old {
		require.Equal(t, syscall.ESRCH, syscall.Kill(pid, 0), "the old worker %d is gone", pid)
	}
	pools, err := os.ReadDir(h.temp)
	require.NoError(t, err)
	require.Len(t, pools, 1)
}

// A policy holds from the reload on, also for questions that were proved before.
func TestReloadedPolicyMeetsKeptQuestions(t *testing.T) {
	h := open(t, workspace(t))
	ask := "SELECT tenant, count(*) FROM customers GROUP BY tenant ORDER BY tenant"
	cached := func(want bool) {
		t.Helper()
		r, _ := h.last()
		require.Equal(t, want, r.Cached)
	}
	require.Equal(t, "acme,179\n", h.rows("ana", ask))
	cached(false)
	require.Equal(t, "acme,179\n", h.rows("ana", ask))
	cached(true)

	edit(t, h.root, "plumbline.cue", `ana: {roles: ["analyst"], claims: tenant: "acme"`, `ana: {roles: ["analyst"], claims: tenant: "globex"`)
	require.NoError(t, h.Reload(t.Context()))
	require.Equal(t, "globex,136\n", h.rows("ana", ask), "a changed claim gives other rows")
	cached(false)

	edit(t, h.root, "rego/access.rego", `lib.untagged(field, "pii")`, "lib.untagged(field, \"pii\")\n\tfield.name != \"tenant\"")
	require.NoError(t, h.Reload(t.Context()))
	_, err := h.sql("ana", ask)
	h.code(diag.ResolveUnknown, err)
	require.Equal(t, "136\n", h.rows("ana", "SELECT count(*) FROM customers"), "the row rule still reads what is hidden")

	edit(t, h.root, "rego/question.rego", "", "\ndeny[\"closed\"] := \"closed today\" if lib.role(\"analyst\")\n")
	require.NoError(t, h.Reload(t.Context()))
	_, err = h.sql("ana", "SELECT count(*) FROM customers")
	h.code(diag.PolicyDenied, err)
	require.Contains(t, err.Error(), "closed today")
}
