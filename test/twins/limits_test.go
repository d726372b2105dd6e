package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the server of TestLimits gives a question, and what may come on top before the
// refusal is back: the grace of a worker is a quarter of a second, and the rest is for
// a machine that does other things.
const (
	limitTime = 2 * time.Second
	limitSlow = 4 * time.Second
)

// stopped are the codes that a hostile question may end with: a limit, or the stages
// that refuse a text before it runs.
var stopped = []string{"limit.", "parse.", "resolve.", "unsupported."}

// limits is one server, what it must answer, and what went wrong.
type limits struct {
	server
	root    string
	files   map[string]string // of the workspace
	catalog string
	asked   atomic.Int64 // makes texts differ

	mu      sync.Mutex
	ends    map[string]int // of the hostile questions, by code
	right   int            // answers to neighbours
	leaks   []string
	refused []string
}

// TestLimits asks every question of the corpus that wants too much of one server,
// while other subjects ask theirs. Each hostile question ends within its time and by
// a code of its own, nothing that the server holds changes, and the neighbours are
// answered rightly all the while. A wrong answer, a lasting change or a server that
// fails counts as a leak, a refused neighbour as an over-block.
func TestLimits(t *testing.T) {
	l := openLimits(t)
	hostile := l.hostile(t)
	ctx, done := context.WithCancel(t.Context())
	var neighbours, lanes sync.WaitGroup
	for _, tenant := range []string{"globex", "initech"} {
		neighbours.Go(func() { l.neighbour(ctx, tenant) })
	}
	memory := watchMemory(l.engine.Pool().PIDs)
	queue := make(chan line)
	for range 2 {
		lanes.Go(func() {
			for h := range queue {
				l.attack(h)
			}
		})
	}
	for _, h := range hostile {
		queue <- h
	}
	close(queue)
	lanes.Wait()
	done()
	neighbours.Wait()
	l.leaks = append(l.leaks, memory()...)
	require.NoError(t, l.Close())
	left, err := os.ReadDir(filepath.Join(l.root, "temp"))
	require.NoError(t, err)
	for _, f := range left {
		l.leak("the server leaves %s behind", f.Name())
	}
	t.Logf("the hostile questions end with %v; neighbours have %d right answers", l.ends, l.right)
	t.Logf("security: limits cases=%d leaks=%d overblocks=%d", len(hostile), len(l.leaks), len(l.refused))
	require.Empty(t, l.leaks)
	require.Empty(t, l.refused)
	require.Greater(t, l.ends["limit.time"]+l.ends["limit.memory"], 5, "some run until they are stopped")
	require.Greater(t, l.right, 2*len(hostile), "neighbours ask all the while")
}

// hostile are the lines of the corpus about resources.
func (l *limits) hostile(t *testing.T) []line {
	all, err := readCorpus(corpus)
	require.NoError(t, err)
	more, err := readCorpus("testdata/limits.tsv")
	require.NoError(t, err)
	all = append(all, more...)
	out := slices.DeleteFunc(all, func(l line) bool { return !strings.HasPrefix(l.category, "resource") })
	require.Greater(t, len(out), 40)
	return out
}

// openLimits starts the server over World A, with neighbours.
func openLimits(t *testing.T) *limits {
	l := &limits{root: t.TempDir(), ends: map[string]int{}}
	require.NoError(t, writeWorkspace(t.Context(), l.root, settings[0], full(seed)))
	config := filepath.Join(l.root, "plumbline.cue")
	raw, err := os.ReadFile(config)
	require.NoError(t, err)
	text := string(raw)
	for from, to := range map[string]string{`workers: 1`: `workers: 3`, `time:    "1s"`: `time: "` + limitTime.String() + `"`} {
		require.Contains(t, text, from)
		text = strings.Replace(text, from, to, 1)
	}
	for _, tenant := range []string{"globex", "initech"} {
		text += fmt.Sprintf("workspace: subjects: %s: {roles: [\"tester\"], claims: {tenant: %q, tenants: [%q]}}\n", tenant, tenant, tenant)
	}
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	asker, err := openEngine(t.Context(), l.root, settings[0])
	require.NoError(t, err)
	l.server = asker.(server)
	l.files, err = filesIn(l.root)
	require.NoError(t, err)
	l.catalog, err = l.shown()
	require.NoError(t, err)
	wrong, _ := l.ordinary("globex", "initech")
	require.NotEmpty(t, wrong, "another tenant's rows would be noticed")
	_, refused := l.ordinary("nobody", "globex")
	require.NotEmpty(t, refused)
	return l
}

// shown is what the subject is shown of the catalog.
func (l *limits) shown() (string, error) {
	var out strings.Builder
	for _, call := range [][2]string{
		{"list_metrics", `{}`}, {"search_tables", `{}`}, {"describe_table", `{"table":"orders"}`}, {"describe_table", `{"table":"customers"}`},
	} {
		got, err := l.Tool(context.Background(), subject, call[0], []byte(call[1]))
		if err != nil || got.refused() {
			return "", fmt.Errorf("%s: %s %w", call[0], got.Error, err)
		}
		fmt.Fprintln(&out, got.Rows)
	}
	return out.String(), nil
}

// attack asks one hostile question and looks whether everything still stands.
func (l *limits) attack(h line) {
	began := time.Now()
	got, err := l.SQL(context.Background(), subject, h.text)
	took := time.Since(began)
	l.mu.Lock()
	l.ends[got.Code]++
	l.mu.Unlock()
	switch {
	case err != nil:
		l.leak("%s: the answer is unreadable: %v", h.id, err)
	case took > limitTime+limitSlow:
		l.leak("%s: %s after %v", h.id, outcome(got), took)
	case got.refused() && !slices.ContainsFunc(stopped, func(family string) bool { return strings.HasPrefix(got.Code, family) }):
		l.leak("%s: ends with %s", h.id, outcome(got))
	case !got.refused() && len(got.Rows) > rowLimit:
		l.leak("%s: %d rows were given", h.id, len(got.Rows))
	}
	if wrong, refused := l.ordinary(subject, tenant); wrong+refused != "" {
		l.leak("%s: the next question: %s%s", h.id, wrong, refused)
	}
	if files, err := filesIn(l.root); err != nil || !maps.Equal(files, l.files) {
		l.leak("%s: a file of the workspace is new, gone or changed: %v", h.id, err)
	}
	if shown, err := l.shown(); err != nil || shown != l.catalog {
		l.leak("%s: the catalog is shown otherwise: %v", h.id, err)
	}
}

func (l *limits) leak(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaks = append(l.leaks, fmt.Sprintf(format, args...))
}

// neighbour asks ordinary questions, one after the other, until ctx is done.
func (l *limits) neighbour(ctx context.Context, tenant string) {
	for ctx.Err() == nil {
		wrong, refused := l.ordinary(tenant, tenant)
		l.mu.Lock()
		switch {
		case wrong != "":
			l.leaks = append(l.leaks, wrong)
		case refused != "":
			l.refused = append(l.refused, refused)
		default:
			l.right++
		}
		l.mu.Unlock()
	}
}

// ordinary asks what the world's rows of a tenant tell, as its subject.
func (l *limits) ordinary(who, tenant string) (wrong, refused string) {
	n := int(l.asked.Add(1))
	statuses := map[string]int{}
	for _, row := range full(seed)[1].rows {
		if row[5] == tenant {
			statuses[row[3]]++
		}
	}
	text := "SELECT o.status, count(*) + " + strconv.Itoa(n) + " AS n FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY ALL"
	got, err := l.SQL(context.Background(), who, text)
	if err == nil && got.refused() {
		return "", fmt.Sprintf("%s is refused: %s", who, outcome(got))
	}
	want := [][]string{}
	for status, count := range statuses {
		want = append(want, []string{strconv.Quote(status), strconv.Itoa(count + n)})
	}
	if err != nil || !slices.Equal(sorted(got.Rows), sorted(want)) {
		return fmt.Sprintf("%s gets %v in place of %v: %v", who, got.Rows, want, err), ""
	}
	return "", ""
}
