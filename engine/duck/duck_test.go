package duck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy/prove"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/sources/files"
)

var (
	_ sqlast.Parser = (*duck.Pool)(nil)
	_ prove.Planner = (*duck.Pool)(nil)
)

func TestMain(m *testing.M) {
	duck.WorkerMain()
	if os.Getenv(serverEnv) != "" {
		serve()
	}
	os.Exit(m.Run())
}

const items = 200_000

// data makes a Parquet file of items rows and a small CSV file.
func data(t testing.TB) []semantic.Storage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	pq, csv := filepath.Join(dir, "items.parquet"), filepath.Join(dir, "people.csv")
	db := ducktest.Open(t, nil)
	db.Exec(t, fmt.Sprintf(`COPY (SELECT i AS id, i %% 7 AS grp, 'item ' || i AS label, i / 4.0 AS price FROM range(%d) t(i)) TO '%s'`, items, pq))
	require.NoError(t, os.WriteFile(csv, []byte("id,name\n1,Ann\n2,\n3,\"\"\n"), 0o600))
	return []semantic.Storage{
		storage("items", "read_parquet(["+semantic.QuoteText(pq)+"])", pq,
			"id", "bigint", "grp", "bigint", "label", "varchar"),
		storage("people", "read_csv(["+semantic.QuoteText(csv)+"], auto_detect = false, header = true, allow_quoted_nulls = false, columns = {'id': 'BIGINT', 'name': 'VARCHAR'})", csv,
			"id", "bigint", "name", "varchar"),
	}
}

func storage(name, from, file string, columns ...string) semantic.Storage {
	e := &semantic.Entity{Name: semantic.Name(name), Pos: diag.Pos{File: name + ".cue", Line: 1}}
	for i := 0; i < len(columns); i += 2 {
		e.Fields = append(e.Fields, &semantic.Field{Name: semantic.Name(columns[i]), Column: columns[i], Type: semantic.Type(columns[i+1]), Pos: diag.Pos{File: name + ".cue", Line: 2 + i/2}})
	}
	semantic.NewCatalog(semantic.Catalog{Revision: "test", Entities: []*semantic.Entity{e}})
	return semantic.Storage{Entity: e, From: from, Files: []string{file}}
}

func config(t testing.TB) duck.Config {
	return duck.Config{Relations: data(t), TempDir: t.TempDir(), Memory: 600 << 20, Temp: 256 << 20, Threads: 2, Workers: 2}
}

func open(t testing.TB, cfg duck.Config) *duck.Pool {
	t.Helper()
	p, err := duck.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err, diag.All(err)[0].Err)
	}
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

const (
	itemsTable  = `"plumbline"."base"."items"`
	peopleTable = `"plumbline"."base"."people"`
	endless     = `SELECT count(*) FROM ` + itemsTable + ` a, ` + itemsTable + ` b, ` + itemsTable + ` c WHERE (a.id * b.id + c.id) % 7 = 3`
)

var limits = duck.RunLimits{Rows: 1000, Bytes: 8 << 20}

// settled waits until all workers are up.
func settled(t testing.TB, p *duck.Pool, n int) []int {
	t.Helper()
	require.Eventually(t, func() bool { return len(p.PIDs()) == n }, 10*time.Second, time.Millisecond)
	return p.PIDs()
}

func run(t testing.TB, p *duck.Pool, text string) (*duck.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second) // a guard: longer than a worker may take to start
	defer cancel()
	return p.Run(ctx, prove.ForTest(t, text), limits)
}

func works(t testing.TB, p *duck.Pool) {
	t.Helper()
	res, err := run(t, p, `SELECT count(*) FROM `+itemsTable)
	require.NoError(t, err)
	defer res.Release()
	require.EqualValues(t, items, res.Records[0].Column(0).(*array.Int64).Value(0))
}

func TestRun(t *testing.T) {
	p := open(t, config(t))
	t.Run("names, types and rows", func(t *testing.T) {
		res, err := run(t, p, `SELECT id, label AS "größe", id / 2 AS half, DATE '2024-02-29' AS d, TIMESTAMPTZ '2024-02-29 00:00:00+00' AS tz, 1.50::DECIMAL(9,2) AS m, [1] AS l FROM `+itemsTable+` ORDER BY id LIMIT 3`)
		require.NoError(t, err)
		defer res.Release()
		require.Equal(t, []prove.Column{{Name: "id", Type: "BIGINT"}, {Name: "größe", Type: "VARCHAR"}, {Name: "half", Type: "DOUBLE"}, {Name: "d", Type: "DATE"}, {Name: "tz", Type: "TIMESTAMPTZ"}, {Name: "m", Type: "DECIMAL(9,2)"}, {Name: "l", Type: "INTEGER[]"}}, res.Columns)
		require.Equal(t, 3, res.Rows)
		require.False(t, res.Truncated)
		require.Equal(t, "item 2", res.Records[0].Column(1).(*array.String).Value(2))
	})
	t.Run("no rows", func(t *testing.T) {
		res, err := run(t, p, `SELECT id FROM `+itemsTable+` WHERE id < 0`)
		require.NoError(t, err)
		defer res.Release()
		require.Zero(t, res.Rows)
		require.Equal(t, []prove.Column{{Name: "id", Type: "BIGINT"}}, res.Columns)
	})
	t.Run("nothing between commas is NULL, two quotes are empty", func(t *testing.T) {
		res, err := run(t, p, `SELECT count(*) FILTER (name IS NULL), count(*) FILTER (name = '') FROM `+peopleTable)
		require.NoError(t, err)
		defer res.Release()
		require.EqualValues(t, 1, res.Records[0].Column(0).(*array.Int64).Value(0))
		require.EqualValues(t, 1, res.Records[0].Column(1).(*array.Int64).Value(0))
	})
	t.Run("the zero ticket", func(t *testing.T) {
		_, err := p.Run(t.Context(), prove.Proved{}, limits)
		require.Equal(t, diag.BugProve, diag.CodeOf(err))
	})
}

func TestRowAndByteLimits(t *testing.T) {
	p := open(t, config(t))
	for _, c := range []struct {
		name, text string
		rows       int
		bytes      int64
		want       int
		truncated  bool
		code       diag.Code
	}{
		{"rows", `SELECT id FROM ` + itemsTable, 10, 1 << 20, 10, true, ""},
		{"rows across chunks", `SELECT id FROM ` + itemsTable, 5000, 1 << 20, 5000, true, ""},
		{"exactly the rows", `SELECT id FROM ` + itemsTable + ` WHERE id < 5000`, 5000, 1 << 20, 5000, false, ""},
		{"one row more", `SELECT id FROM ` + itemsTable + ` WHERE id < 5001`, 5000, 1 << 20, 5000, true, ""},
		{"one row less", `SELECT id FROM ` + itemsTable + ` WHERE id < 4999`, 5000, 1 << 20, 4999, false, ""},
		{"bytes cut the first chunk", `SELECT repeat('x', 1000) FROM range(100)`, 1000, 20 << 10, 12, true, ""},
		{"bytes cut a later chunk", `SELECT id FROM ` + itemsTable, items, 100 << 10, 12544, true, ""},
		{"one row too large", `SELECT repeat('x', 1000000)`, 1000, 20 << 10, 0, false, diag.LimitBytes},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, err := p.Run(t.Context(), prove.ForTest(t, c.text), duck.RunLimits{Rows: c.rows, Bytes: c.bytes})
			require.Equal(t, c.code, diag.CodeOf(err), "%v", err)
			if err != nil {
				return
			}
			defer res.Release()
			require.Equal(t, c.truncated, res.Truncated)
			require.Equal(t, c.want, res.Rows)
		})
	}
}

func TestSerializeAndCheck(t *testing.T) {
	p := open(t, config(t))
	tree, err := p.Serialize(t.Context(), `SELECT 'it''s; a "text"' AS x`)
	require.NoError(t, err)
	require.Contains(t, string(tree), `"error":false`)
	tree, err = p.Serialize(t.Context(), `SELEC 1`)
	require.NoError(t, err)
	require.Contains(t, string(tree), `"error":true`)

	long := `SELECT id FROM ` + itemsTable + ` WHERE id IN (` + strings.Repeat("1,", 20000) + `1)`
	got, err := p.Check(t.Context(), []string{`SELECT label, grp / 2 AS h FROM ` + itemsTable, `SELECT nothing FROM ` + itemsTable, `SELECT 1; SELECT 2`, `SELECT ?`, long})
	require.NoError(t, err)
	require.True(t, got[0].OK)
	require.Equal(t, []prove.Column{{Name: "label", Type: "VARCHAR"}, {Name: "h", Type: "DOUBLE"}}, got[0].Columns)
	require.Contains(t, string(got[0].Plan), `"table":"items"`)
	require.False(t, got[1].OK)
	require.Contains(t, got[1].Error, "nothing")
	require.Nil(t, got[1].Tree)
	require.False(t, got[2].OK)
	require.False(t, got[3].OK)
	require.True(t, got[4].OK)

	for _, text := range []string{"SELECT 1\x00", "SELECT '\xff'"} {
		_, err := p.Serialize(t.Context(), text)
		require.Equal(t, diag.ParseSyntax, diag.CodeOf(err))
	}
}

// What ducktest reads in the test's process is what a worker reads.
func TestCheckAgreesWithDucktest(t *testing.T) {
	cfg := config(t)
	p := open(t, cfg)
	db := ducktest.Open(t, semantic.NewCatalog(semantic.Catalog{Revision: "test", Entities: []*semantic.Entity{cfg.Relations[0].Entity, cfg.Relations[1].Entity}}))
	texts := []string{
		`SELECT * FROM ` + itemsTable, `WITH t AS MATERIALIZED (SELECT 1 AS a) SELECT a, sum(a) OVER () FROM t`,
		`SELECT {'a': 1, 'b c': [DATE '2024-01-01']} AS s, MAP {'k': 1.5} AS m, now() AS n, INTERVAL 1 DAY AS i, uuid() AS u, 1::HUGEINT AS h, '{}'::JSON AS j, NULL AS z`,
	}
	want, err := db.Check(t.Context(), texts)
	require.NoError(t, err)
	got, err := p.Check(t.Context(), texts)
	require.NoError(t, err)
	for i := range texts {
		require.True(t, got[i].OK, got[i].Error)
		require.Equal(t, string(want[i].Tree), string(got[i].Tree))
		require.Equal(t, string(want[i].Plan), string(got[i].Plan))
		require.Equal(t, want[i].Columns, got[i].Columns)
	}
}

func TestRefused(t *testing.T) {
	p := open(t, config(t))
	settled(t, p, 3)
	before := p.Losses()
	dir := t.TempDir()
	for _, text := range []string{
		`COPY (SELECT 1) TO '` + dir + `/x.csv'`, `CREATE TABLE t (i INTEGER)`, `CREATE TEMP TABLE t (i INTEGER)`, `ATTACH ':memory:' AS m`,
		`INSTALL httpfs`, `LOAD httpfs`, `SET memory_limit = '1TB'`, `PRAGMA enable_profiling`, `SELECT 1; SELECT 2`, `SELECT ?`, `` + ` `,
		`CALL pragma_version()`, `EXPLAIN SELECT 1`, `EXECUTE x`, `PREPARE x AS SELECT 1`, `CHECKPOINT`, `VACUUM`, `DROP VIEW base.items`,
	} {
		_, err := run(t, p, text)
		require.Contains(t, []diag.Code{diag.BugProve, diag.ExecuteFailed}, diag.CodeOf(err), text)
	}
	for _, text := range []string{
		`SELECT * FROM read_text('/etc/hostname')`, `SELECT * FROM '/etc/passwd'`, `SELECT * FROM glob('/etc/*')`, `SELECT * FROM read_csv('` + dir + `/*')`,
		`SELECT * FROM read_blob('/proc/self/environ')`,
	} {
		_, err := run(t, p, text)
		require.Equal(t, diag.ExecuteFailed, diag.CodeOf(err), text)
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, p.SelfTest(t.Context()))
	require.Equal(t, before, p.Losses(), "no worker was lost")
	works(t, p)
}

func TestErrorsShowNoValue(t *testing.T) {
	p := open(t, config(t))
	_, err := run(t, p, `SELECT CAST(label AS INTEGER) FROM `+itemsTable)
	require.Equal(t, diag.ExecuteFailed, diag.CodeOf(err))
	require.NotContains(t, err.Error(), "item")
	require.ErrorContains(t, diag.All(err)[0].Err, "item ")
}

// An error in the middle of a stream is never a short answer.
func TestLateErrorIsNoShortAnswer(t *testing.T) {
	p := open(t, config(t))
	text := fmt.Sprintf(`SELECT label, label, label, label, CAST(CASE WHEN id = %d THEN 'x' ELSE '1' END AS INTEGER) FROM `+itemsTable, items-1)
	_, err := p.Run(t.Context(), prove.ForTest(t, text), duck.RunLimits{Rows: 10 * items, Bytes: 64 << 20})
	require.Equal(t, diag.ExecuteFailed, diag.CodeOf(err), "%v: %v", err, errors.Unwrap(err))
}

func TestDeadlineAndCancel(t *testing.T) {
	cfg := config(t)
	p := open(t, cfg)
	for _, c := range []struct {
		name, text string
		dies       bool
	}{
		{"a join stops", endless, false},
		{"one long function call does not", `SELECT levenshtein(repeat('a', 60000 + id), repeat('b', 60000)) FROM ` + itemsTable + ` WHERE id < 3`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			settled(t, p, cfg.Workers+1)
			before := p.Losses()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := p.Run(ctx, prove.ForTest(t, c.text), limits)
			require.Equal(t, diag.LimitTime, diag.CodeOf(err), "%v", err)
			require.Less(t, time.Since(start), 2*time.Second)
			if c.dies {
				before++
			}
			require.Eventually(t, func() bool { return p.Losses() == before }, 5*time.Second, time.Millisecond) // one that starts counts until it is listed
			works(t, p)
		})
	}
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := p.Run(ctx, prove.ForTest(t, endless), limits)
		require.Equal(t, diag.RequestCancelled, diag.CodeOf(err), "%v", err)
		works(t, p)
	})
	t.Run("cancel after a while", func(t *testing.T) {
		settled(t, p, cfg.Workers+1)
		before := p.Losses()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(1500*time.Millisecond, cancel) // longer than a frame may take to write
		_, err := p.Run(ctx, prove.ForTest(t, endless), limits)
		require.Equal(t, diag.RequestCancelled, diag.CodeOf(err), "%v", err)
		require.Equal(t, before, p.Losses(), "an interrupt was enough")
	})
	t.Run("busy", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range cfg.Workers {
			wg.Go(func() { p.Run(ctx, prove.ForTest(t, endless), limits) })
		}
		time.Sleep(50 * time.Millisecond)
		short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		_, err := p.Run(short, prove.ForTest(t, `SELECT 1`), limits)
		require.Equal(t, diag.RequestBusy, diag.CodeOf(err), "%v", err)
		_, err = p.Serialize(t.Context(), `SELECT 1`) // the spare parses meanwhile
		require.NoError(t, err)
		cancel()
		wg.Wait()
	})
}

func TestKilledWorkerCostsOneQuery(t *testing.T) {
	cfg := config(t)
	p := open(t, cfg)
	settled(t, p, cfg.Workers+1)
	errs := make(chan error, 1)
	go func() {
		_, err := run(t, p, endless)
		errs <- err
	}()
	victim := busiest(t, p)
	require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	works(t, p)
	err := <-errs
	require.Equal(t, diag.ExecuteCrashed, diag.CodeOf(err), "%v", err)
	require.Eventually(t, func() bool { return !slices.Contains(p.PIDs(), victim) }, 10*time.Second, time.Millisecond)
	settled(t, p, cfg.Workers+1)
	works(t, p)
}

// Workers that die while they are idle cost nobody a question.
func TestIdleDeathCostsNothing(t *testing.T) {
	p := open(t, config(t))
	for range 3 {
		for _, pid := range settled(t, p, 3) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			require.Eventually(t, func() bool { return gone(pid) }, 5*time.Second, time.Millisecond)
		}
		works(t, p)
	}
}

// Nor does it when the question comes before the death has shown, or when the
// idle workers stand still.
func TestUntakenQuestionsGoToAnother(t *testing.T) {
	p := open(t, config(t))
	for range 10 {
		for _, pid := range settled(t, p, 3) {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		works(t, p)
	}
	for _, pid := range settled(t, p, 3) {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	works(t, p)
	_, err := p.Serialize(t.Context(), `SELECT 1`)
	require.NoError(t, err)
}

// Dead idle workers leave nothing that their replacements would wait for.
func TestIdleDeathsDoNotPileUp(t *testing.T) {
	p := open(t, config(t))
	for range 3 {
		dead := settled(t, p, 3)
		for _, pid := range dead {
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
		require.Eventually(t, func() bool {
			return len(p.PIDs()) == 3 && !slices.ContainsFunc(p.PIDs(), func(pid int) bool { return slices.Contains(dead, pid) })
		}, 10*time.Second, time.Millisecond)
	}
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("the pool does not close")
	}
}

// A value that has the form of its type and is none is the source's fault too.
func TestValuesOutOfRangeAreTheSources(t *testing.T) {
	for _, row := range []string{"x,2024-01-01", "99999999999999999999999,2024-01-01", "1,hello", "1,2024-02-30", "1,2024-13-45"} {
		t.Run(row, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(root, "p.csv"), []byte("id,d\n1,2024-02-29\n2,\n"+row+"\n"), 0o600))
			e := storage("things", "", "", "id", "bigint", "d", "date").Entity
			e.Source = semantic.SourceRef{Path: "p.csv", Format: "csv"}
			st, err := files.Relation(semantic.SourceSpec{Name: "shop", Kind: "files", Root: root}, e)
			require.NoError(t, err)
			cfg := config(t)
			cfg.Relations = []semantic.Storage{st}
			p := open(t, cfg)
			_, err = run(t, p, `SELECT * FROM "plumbline"."base"."things"`)
			require.Equal(t, diag.SourceCorrupt, diag.CodeOf(err), "%v", err)
			res, err := run(t, p, `SELECT id, d FROM "plumbline"."base"."things" LIMIT 0`)
			require.NoError(t, err)
			res.Release()
		})
	}
}

// A text whose reading does not end costs two workers and a little time, not
// the caller's whole limit.
func TestReadingHasItsOwnDeadline(t *testing.T) {
	p := open(t, config(t).Reading(150*time.Millisecond))
	settled(t, p, 3)
	start := time.Now()
	_, err := p.Serialize(t.Context(), `SELECT 1 WHERE true`+strings.Repeat(` AND 1 = 1`, 50_000))
	require.Equal(t, diag.LimitTime, diag.CodeOf(err), "%v", err)
	require.Less(t, time.Since(start), 3*time.Second)
	settled(t, p, 3)
	works(t, p)
}

// busiest waits for the worker that burns processor time.
func busiest(t *testing.T, p *duck.Pool) int {
	t.Helper()
	ticks := func(pid int) (n int) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		f := strings.Fields(string(text))
		if len(f) > 13 {
			fmt.Sscan(f[13], &n)
		}
		return n
	}
	first := map[int]int{}
	for _, pid := range p.PIDs() {
		first[pid] = ticks(pid)
	}
	for range 500 {
		time.Sleep(10 * time.Millisecond)
		for pid, n := range first {
			if ticks(pid) > n+20 {
				return pid
			}
		}
	}
	t.Fatal("no worker is busy")
	return 0
}

func TestMemory(t *testing.T) {
	hogs := []string{
		`SELECT repeat('x', 2000000000)`, `SELECT len(repeat('x', 2000000000))`, `SELECT len(range(400000000))`,
		`SELECT list(a.label || b.label) FROM ` + itemsTable + ` a, ` + itemsTable + ` b`,
		`SELECT sum(len(x)) FROM (SELECT string_agg(repeat(label, 10000), '') AS x FROM ` + itemsTable + `)`,
	}
	t.Run("limited", func(t *testing.T) {
		p := open(t, config(t))
		settled(t, p, 3)
		before := p.Losses()
		for i, text := range hogs {
			_, err := run(t, p, text)
			require.Equal(t, diag.LimitMemory, diag.CodeOf(err), "%s: %v", text, err)
			if i < 3 {
				require.Equal(t, before, p.Losses(), "one allocation is refused and the worker lives")
			}
			works(t, p)
		}
	})
	t.Run("watched", func(t *testing.T) {
		p := open(t, config(t).WithoutDataLimit())
		_, err := run(t, p, `SELECT len(range(400000000))`)
		require.Equal(t, diag.LimitMemory, diag.CodeOf(err), "%v", err)
		works(t, p)
	})
}

func TestCloseLeavesNothing(t *testing.T) {
	cfg := config(t)
	p, err := duck.Open(t.Context(), cfg)
	require.NoError(t, err)
	settled(t, p, cfg.Workers+1)
	pids := settled(t, p, cfg.Workers+1)
	errs := make(chan error, 1)
	go func() {
		_, err := run(t, p, endless)
		errs <- err
	}()
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, p.Close())
	require.Equal(t, diag.RequestCancelled, diag.CodeOf(<-errs))
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
	left, err := os.ReadDir(cfg.TempDir)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = run(t, p, `SELECT 1`)
	require.Equal(t, diag.RequestCancelled, diag.CodeOf(err))
	require.NoError(t, p.Close())
}

func TestOpenReportsEveryBadRelation(t *testing.T) {
	cfg := config(t)
	good := cfg.Relations[0]
	missing := storage("missing", "read_parquet(['/nowhere/x.parquet'])", "/nowhere/x.parquet", "id", "bigint")
	column := storage("lacking", good.From, good.Files[0], "id", "bigint", "colour", "varchar")
	narrow := storage("narrow", good.From, good.Files[0], "id", "integer")
	rounded := storage("rounded", good.From, good.Files[0], "price", "bigint")
	bad := filepath.Join(filepath.Dir(good.Files[0]), "bad.parquet")
	require.NoError(t, os.WriteFile(bad, []byte("not parquet at all"), 0o600))
	corrupt := storage("corrupt", "read_parquet(["+semantic.QuoteText(bad)+"])", bad, "id", "bigint")
	cfg.Relations = append(cfg.Relations, missing, column, narrow, rounded, corrupt)
	_, err := duck.Open(t.Context(), cfg)
	require.Equal(t, strings.TrimSpace(`
corrupt.cue:1: source.corrupt: a file behind "corrupt" cannot be read as declared
lacking.cue:3: source.corrupt: the files behind "lacking" have no column "colour", which field "colour" declares
missing.cue:1: source.missing: a file behind "missing" is missing
narrow.cue:2: source.corrupt: field "id" of "narrow" is declared integer, but the files hold bigint, and not every such value can become one; declare the type that the files have
rounded.cue:2: source.corrupt: field "price" of "rounded" is declared bigint, but the files hold double, and not every such value can become one; declare the type that the files have`), err.Error())
	left, err := os.ReadDir(cfg.TempDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFilesThatGoBadLater(t *testing.T) {
	cfg := config(t)
	p := open(t, cfg)
	require.NoError(t, os.WriteFile(cfg.Relations[1].Files[0], []byte("id,name\n1,Ann\nsecret,x\n"), 0o600))
	_, err := run(t, p, `SELECT * FROM `+peopleTable)
	require.Equal(t, diag.SourceCorrupt, diag.CodeOf(err), "%v", err)
	require.Equal(t, `source.corrupt: a file behind "people" cannot be read as declared`, err.Error())
	require.NoError(t, os.Remove(cfg.Relations[0].Files[0]))
	_, err = run(t, p, `SELECT * FROM `+itemsTable)
	require.Equal(t, diag.SourceMissing, diag.CodeOf(err), "%v", err)
	require.Equal(t, `source.missing: a file behind "items" is missing`, err.Error())
}

// What sources/files makes, a worker reads; a value that does not fit its type
// is the source's fault, found when it is read.
func TestFilesAsRelations(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("people.csv", "id,name\n1,Ann\n2,\n")
	write("day=2024-01-01/t.ndjson", `{"n": 1.25}`)
	write("day=2024-01-02/t.ndjson", `{"n": 2.255}`)
	people, tickets := storage("people", "", "", "id", "bigint", "name", "varchar").Entity, storage("tickets", "", "", "n", "decimal(9,2)", "day", "date").Entity
	people.Source = semantic.SourceRef{Path: "people.csv", Format: "csv"}
	tickets.Source = semantic.SourceRef{Path: "*/t.ndjson", Format: "ndjson", Hive: true}
	cfg := config(t)
	cfg.Relations = nil
	for _, e := range []*semantic.Entity{people, tickets} {
		st, err := files.Relation(semantic.SourceSpec{Name: "shop", Kind: "files", Root: root}, e)
		require.NoError(t, err)
		cfg.Relations = append(cfg.Relations, st)
	}
	p := open(t, cfg)
	require.NoError(t, p.SelfTest(t.Context()))
	res, err := run(t, p, `SELECT count(name), sum(id) FROM `+peopleTable)
	require.NoError(t, err)
	res.Release()
	res, err = run(t, p, `SELECT day FROM "plumbline"."base"."tickets" ORDER BY day`)
	require.NoError(t, err)
	require.Equal(t, []prove.Column{{Name: "day", Type: "DATE"}}, res.Columns)
	require.Equal(t, 2, res.Rows)
	res.Release()
	_, err = run(t, p, `SELECT sum(n) FROM "plumbline"."base"."tickets"`)
	require.Equal(t, `source.corrupt: a file behind "tickets" cannot be read as declared`, err.Error())
}
