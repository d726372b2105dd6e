package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/policy/opa"
)

// live is a served workspace whose files the test edits. It waits for what the server
// writes, and for nothing else.
type live struct {
	t       *testing.T
	root    string
	session *sdk.ClientSession
	told    *bufio.Scanner
	stop    func()
}

// serveLive serves the sample workspace over stdio, as the program does.
func serveLive(t *testing.T) *live {
	root := filepath.Join(t.TempDir(), "shop")
	program(t, "demo", root, "--write", "--scale", "0.01")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // else a word that never comes hangs
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	said, saying := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() {
		if code := run(ctx, []string{"serve", "--stdio", "-C", root}, fromClient, toClient, saying); code != 0 {
			t.Errorf("serve gave %d", code)
		}
		_ = saying.Close()
	})
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	require.NoError(t, err)
	l := &live{t: t, root: root, session: session, told: bufio.NewScanner(said)}
	l.stop = func() {
		go func() { _, _ = io.Copy(io.Discard, said) }() // a last word may come
		_ = session.Close()
		serving.Wait()
		cancel()
	}
	return l
}

// tenants asks whose customers ana sees.
func (l *live) tenants() string {
	res, err := l.session.CallTool(context.Background(), &sdk.CallToolParams{Name: engine.ToolSQL,
		Arguments: map[string]any{"sql": "SELECT tenant FROM customers GROUP BY tenant ORDER BY tenant"}})
	if err != nil {
		return err.Error()
	}
	text := res.Content[0].(*sdk.TextContent).Text
	var out []string
	for _, tenant := range []string{"acme", "globex", "initech"} {
		if strings.Contains(text, tenant) {
			out = append(out, tenant)
		}
	}
	return strings.Join(out, " ")
}

// hears reads what the server says until it says this.
func (l *live) hears(want string) {
	l.t.Helper()
	var all []string
	for l.told.Scan() {
		if all = append(all, l.told.Text()); strings.Contains(l.told.Text(), want) {
			return
		}
	}
	l.t.Fatalf("the server never said %q, but\n%s", want, strings.Join(all, "\n"))
}

// takes waits until the server has taken the policy under which ana sees these tenants.
func (l *live) takes(tenants string) {
	l.t.Helper()
	for {
		l.hears("models and policies loaded again")
		if l.tenants() == tenants {
			return
		}
	}
}

// keeps waits until the server has refused a change for a reason, which may be a place;
// ana sees what she saw.
func (l *live) keeps(tenants, reason string) {
	l.t.Helper()
	l.hears("the change is not taken, the old models and policies stay")
	l.hears(reason)
	require.Equal(l.t, tenants, l.tenants())
}

func (l *live) path(name string) string { return filepath.Join(l.root, name) }

func (l *live) read(name string) string {
	text, err := os.ReadFile(l.path(name))
	require.NoError(l.t, err)
	return string(text)
}

func (l *live) write(name, text string) {
	require.NoError(l.t, os.WriteFile(l.path(name), []byte(text), 0o600))
}

func (l *live) rename(from, to string) {
	require.NoError(l.t, os.Rename(l.path(from), l.path(to)))
}

func (l *live) revision() string {
	r, err := opa.Revision(l.path("rego"))
	require.NoError(l.t, err)
	return r
}

// whileAsking goes on asking in two places until the function ends.
func (l *live) whileAsking(do func()) {
	stop, asking := make(chan struct{}), sync.WaitGroup{}
	for range 2 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := l.tenants(); got != own && got != everyone {
					l.t.Errorf("an answer of no policy: %q", got)
					return
				}
			}
		})
	}
	defer func() { close(stop); asking.Wait() }()
	do()
}

// What ana sees under the sample's policy, and under the other one.
const own, everyone = "acme", "acme globex initech"

// otherPolicy shows analysts every customer, and has a rule for guests that loads only
// with a guest among the sample subjects, in another file.
func (l *live) otherPolicy() (access, subjects string) {
	access, subjects = l.read("rego/access.rego"), l.read("rego/subjects.json")
	opened := strings.Replace(access, `{"products", "labels"`, `{"customers", "products", "labels"`, 1)
	require.NotEqual(l.t, access, opened)
	guest := strings.Replace(subjects, `{"id": "stranger"`, `{"id": "guest", "roles": ["guest"], "claims": {"tenant": "acme"}}, {"id": "stranger"`, 1)
	require.NotEqual(l.t, subjects, guest)
	return opened + `
visible.guest if lib.role("guest")

rows.guest if {
	lib.role("guest")
	lib.has_field("tenant")
	input.row.tenant == lib.text_claim("tenant")
}
`, guest
}

// TestLiveEdits edits the policy of a served workspace, as editors do, while questions
// run. A good edit holds without a restart; a broken one is told with its place and
// not taken; and each answer is wholly that of the policy that its record names.
func TestLiveEdits(t *testing.T) {
	l := serveLive(t)
	access, subjects := l.read("rego/access.rego"), l.read("rego/subjects.json")
	opened, guest := l.otherPolicy()
	first := l.revision()
	var second string
	require.Equal(t, own, l.tenants())
	l.whileAsking(func() {
		// The first half of an edit, by a rename as editors save: not taken.
		l.write("rego/access.rego.tmp", opened)
		l.rename("rego/access.rego.tmp", "rego/access.rego")
		l.keeps(own, "rego/access.rego:")
		// The other half: both are taken as one.
		l.write("rego/subjects.json", guest)
		l.takes(everyone)
		second = l.revision()
		// A file that is written in part, and one that is gone.
		l.write("rego/access.rego", strings.TrimSuffix(opened, "}\n"))
		l.keeps(everyone, "rego/access.rego:")
		require.NoError(t, os.Remove(l.path("rego/access.rego")))
		l.keeps(everyone, "config.policy:")
		// Back again.
		l.write("rego/subjects.json", subjects)
		l.write("rego/access.rego", access)
		l.takes(own)
	})
	require.NotEqual(t, first, second)
	require.Equal(t, first, l.revision())
	l.stop()

	seen := map[string]int{}
	reader := audit.NewReader(l.path("audit/audit.jsonl"))
	require.NoError(t, reader.Read(func(x audit.Entry) error {
		if !strings.Contains(string(x.Record.Question), "GROUP BY tenant") {
			return x.Err // the self-test's
		}
		require.Equal(t, map[string]int{first: 1, second: 3}[x.Record.Policy], x.Record.Rows, "a record names the policy that gave its rows")
		seen[x.Record.Policy]++
		return x.Err
	}))
	require.NoError(t, reader.Close())
	require.Greater(t, seen[first], 3)
	require.Greater(t, seen[second], 3)
}

// TestLiveSwitch changes all policies at once: by a folder that takes the place of
// another, and by a symbolic link that is turned.
func TestLiveSwitch(t *testing.T) {
	l := serveLive(t)
	opened, guest := l.otherPolicy()
	require.NoError(t, os.CopyFS(l.path("next"), os.DirFS(l.path("rego"))))
	l.write("next/access.rego", opened)
	l.write("next/subjects.json", guest)
	turn := func(target string) {
		require.NoError(t, os.Symlink(target, l.path("rego.tmp")))
		l.rename("rego.tmp", "rego")
	}
	l.whileAsking(func() {
		l.rename("rego", "before")
		l.rename("next", "rego")
		l.takes(everyone)
		// A folder that is away stops nothing: its place is watched.
		l.rename("rego", "next")
		l.keeps(everyone, "config.policy:")
		turn("before")
		l.takes(own)
		turn("next")
		l.takes(everyone)
		turn("before")
		l.takes(own)
		// What the link leads to is watched too.
		l.write("before/subjects.json", guest)
		l.write("before/access.rego", opened)
		l.takes(everyone)
	})
	l.stop()
}

// TestWatchMissesNothing: a change between loading and watching is noticed, and so is a
// folder that is moved in, whatever its name.
func TestWatchMissesNothing(t *testing.T) {
	l := &live{t: t, root: filepath.Join(t.TempDir(), "shop")}
	program(t, "demo", l.root, "--write", "--scale", "0.01")
	eng, err := engine.Open(t.Context(), l.root, engine.Options{})
	require.NoError(t, err)
	l.write("rego/data.json", `{"n": 1}`)

	ctx, cancel := context.WithCancel(t.Context())
	changed := make(chan struct{}, 1)
	w, err := newWatch(l.root, eng)
	require.NoError(t, err)
	var watching sync.WaitGroup
	watching.Go(func() {
		if err := w.run(ctx, changed); err != nil {
			t.Error(err)
		}
	})
	<-changed
	require.True(t, eng.Stale())
	require.NoError(t, eng.Reload(t.Context()))
	require.NoError(t, os.Mkdir(l.path("../sales.v2"), 0o755))
	l.write("../sales.v2/data.json", `{"n": 2}`)
	l.rename("../sales.v2", "rego/sales.v2")
	<-changed
	require.NoError(t, eng.Reload(t.Context()))
	l.write("rego/sales.v2/data.json", `{"n": 3}`)
	<-changed
	cancel()
	watching.Wait()
	require.NoError(t, eng.Close())
}
