package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/cmd/plumbline/sample"
	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/engine/duck"
	"plumbline/mcp"
	"plumbline/semantic/load"
)

// dir holds the sample workspace that all tests ask.
var dir string

func TestMain(m *testing.M) {
	duck.WorkerMain() // does not return in a worker process
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if dir, err = os.MkdirTemp("", "plumbline-mcp-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "shop")
	if err := load.Init(root, plumbline.Files); err != nil {
		panic(err)
	}
	if err := (sample.Options{Scale: 0.02}).Write(context.Background(), filepath.Join(root, "data")); err != nil {
		panic(err)
	}
	return m.Run()
}

var logFile = func() string { return filepath.Join(dir, "audit.jsonl") }

var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.Open(context.Background(), filepath.Join(dir, "shop"), engine.Options{AuditTo: logFile(), Temp: filepath.Join(dir, "temp"),
		Now: func() time.Time { return time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC) }})
})

func shop(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := shared()
	require.NoError(t, err)
	return e
}

func lastRecord(t *testing.T) audit.Record {
	t.Helper()
	list, err := audit.Tail(logFile(), 1)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// The secrets of the sample's people.
var tokens = []mcp.Token{
	{Subject: "ana", Secret: "ana-0123456789abcdef"},
	{Subject: "greta", Secret: "greta-0123456789abcdef"},
	{Subject: "sam", Secret: "sam-0123456789abcdef"},
	{Subject: "operator", Secret: "operator-0123456789abcdef"},
	{Subject: "nobody", Secret: "nobody-0123456789abcdef"}, // in no configuration
}

func secretOf(who string) string {
	for _, k := range tokens {
		if k.Subject == who {
			return k.Secret
		}
	}
	return ""
}

// web serves an asker over HTTP.
func web(t *testing.T, a mcp.Asker, origins ...string) *httptest.Server {
	t.Helper()
	h, err := mcp.New(a, "test", "").HTTP(tokens, origins)
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

// How long an event may take on a busy machine, and how often it is looked for.
const (
	waitFor = 20 * time.Second
	tick    = time.Millisecond
)

// The protocol versions that tests speak: the newest and one with sessions.
const (
	newest = "2026-07-28"
	older  = "2025-06-18"
)

// post makes the request that a client would send for one call; change may spoil it.
func post(t *testing.T, url, who, version, body string, change func(*http.Request)) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", version)
	if who != "" {
		req.Header.Set("Authorization", "Bearer "+secretOf(who))
	}
	if version == newest {
		var m struct {
			Method string
			Params struct{ Name string }
		}
		_ = json.Unmarshal([]byte(body), &m) // what is malformed has no name
		req.Header.Set("Mcp-Method", m.Method)
		if m.Params.Name != "" {
			req.Header.Set("Mcp-Name", m.Params.Name)
		}
	}
	if change != nil {
		change(req)
	}
	return req
}

// callBody is the JSON-RPC text of a tool call in one version.
func callBody(version, tool, args string) string {
	meta := ""
	if version == newest {
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + newest + `","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + meta + `}}`
}

// reply is an HTTP response that has been read.
type reply struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, req *http.Request) reply {
	t.Helper()
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return reply{res.StatusCode, res.Header, string(b)}
}

// rpc is a JSON-RPC response with a tool's result.
type rpc struct {
	Error *struct {
		Code    int
		Message string
	}
	Result toolResult
}

type toolResult struct {
	IsError bool
	Content []struct{ Type, Text string }
	// Structured is the structured content as it came.
	Structured json.RawMessage `json:"structuredContent"`
}

// call calls a tool over HTTP and gives its result.
func call(t *testing.T, srv *httptest.Server, who, tool, args string) toolResult {
	t.Helper()
	res := send(t, post(t, srv.URL, who, older, callBody(older, tool, args), nil))
	require.Equal(t, http.StatusOK, res.status, res.body)
	var r rpc
	require.NoError(t, json.Unmarshal([]byte(res.body), &r), res.body)
	require.Nil(t, r.Error, res.body)
	return r.Result
}

// sqlArgs is the arguments of query_sql.
func sqlArgs(text string) string {
	b, _ := json.Marshal(map[string]string{"sql": text})
	return string(b)
}

// table is the structured content of an answer.
type table struct {
	QueryID string `json:"query_id"`
	Columns []struct{ Name, Type, Kind, Unit, Grain, Format string }
	Rows    [][]any
	Count   int    `json:"row_count"`
	Limit   int    `json:"limit"`
	LimitBy string `json:"limit_source"`
	CutBy   string `json:"cut_by"`
	Applied []struct{ Origin, Text string }

	Truncated bool
	Warnings  []string
	SQL       string
}

func (r toolResult) table(t *testing.T) table {
	t.Helper()
	require.False(t, r.IsError, "%+v", r.Content)
	d := json.NewDecoder(bytes.NewReader(r.Structured))
	d.UseNumber()
	var out table
	require.NoError(t, d.Decode(&out))
	require.Equal(t, len(out.Rows), out.Count)
	return out
}

// refusals are the structured content of a refusal.
func (r toolResult) refusals(t *testing.T) []struct {
	Code, Message, Where, Hint string
	DidYouMean                 []string `json:"did_you_mean"`
} {
	t.Helper()
	require.True(t, r.IsError, "%+v", r.Content)
	var out struct {
		Errors []struct {
			Code, Message, Where, Hint string
			DidYouMean                 []string `json:"did_you_mean"`
		}
	}
	require.NoError(t, json.Unmarshal(r.Structured, &out))
	require.NotEmpty(t, out.Errors)
	require.Len(t, r.Content, 1)
	for _, e := range out.Errors {
		require.Contains(t, r.Content[0].Text, "refused: ")
		require.Contains(t, r.Content[0].Text, e.Code)
	}
	return out.Errors
}

// client connects an SDK client to a server in this process.
func client(t *testing.T, s *mcp.Server) *sdk.ClientSession {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	_, err := s.Connect(t.Context(), there)
	require.NoError(t, err)
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}
