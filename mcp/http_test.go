package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/mcp"
	"plumbline/semantic/diag"
)

func TestDoor(t *testing.T) {
	srv := web(t, shop(t), "https://friend.example")
	header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
	ask := callBody(older, engine.ToolSQL, sqlArgs("SELECT count(*) FROM orders"))
	for _, c := range []struct {
		name, who, body string
		change          func(*http.Request)
		status          int
	}{
		{"a token of ana", "ana", ask, nil, 200},
		{"no token", "", ask, nil, 401},
		{"a wrong token", "", ask, header("Authorization", "Bearer ana-0123456789abcdeg"), 401},
		{"the beginning of a token", "", ask, header("Authorization", "Bearer ana-0123456789abcde"), 401},
		{"an empty token", "", ask, header("Authorization", "Bearer "), 401},
		{"another scheme", "", ask, header("Authorization", "Basic "+secretOf("ana")), 401},
		{"a token in the query", "", ask, func(r *http.Request) { r.URL.RawQuery = "access_token=" + secretOf("ana") }, 401},
		{"no token for nonsense", "", "{", nil, 401},
		{"no token for a GET", "", "", func(r *http.Request) { r.Method = http.MethodGet }, 401},
		{"another origin", "ana", ask, header("Origin", "https://evil.example"), 403},
		{"a cross-site fetch", "ana", ask, header("Sec-Fetch-Site", "cross-site"), 403},
		{"the null origin", "ana", ask, header("Origin", "null"), 403},
		{"a listed origin", "ana", ask, header("Origin", "https://friend.example"), 200},
		{"a listed origin's neighbour", "ana", ask, header("Origin", "https://friend.example.evil.example"), 403},
		{"another origin without a token", "", ask, header("Origin", "https://evil.example"), 403},
		{"another host", "ana", ask, func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"another host that is its own origin", "ana", ask, func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, 403},
		{"another content type", "ana", ask, header("Content-Type", "text/plain"), 415},
		{"a form", "ana", ask, header("Content-Type", "application/x-www-form-urlencoded"), 415},
		{"no content type", "ana", ask, func(r *http.Request) { r.Header.Del("Content-Type") }, 415},
		{"a body past the limit", "ana", callBody(older, engine.ToolSQL, sqlArgs(strings.Repeat("x", 300<<10))), nil, 413},
		{"a chunked body past the limit", "ana", callBody(older, engine.ToolSQL, sqlArgs(strings.Repeat("x", 300<<10))), func(r *http.Request) { r.ContentLength = -1 }, 413},
		{"a GET", "ana", "", func(r *http.Request) { r.Method = http.MethodGet }, 405},
		{"a DELETE", "ana", "", func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		{"another path", "ana", ask, func(r *http.Request) { r.URL.Path = "/" }, 404},
		{"a version nobody knows", "ana", ask, header("MCP-Protocol-Version", "1999-01-01"), 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := send(t, post(t, srv.URL, c.who, older, c.body, c.change))
			require.Equal(t, c.status, res.status, res.body)
			challenge := res.header.Get("WWW-Authenticate")
			require.Equal(t, c.status == 401, strings.HasPrefix(challenge, "Bearer"), "a challenge stands with 401 and nowhere else: %q", challenge)
			if c.status != 200 {
				require.NotContains(t, res.body, "0123456789abcdef", "no secret comes back")
				require.NotContains(t, res.body, "3970")
			}
		})
	}
}

func TestTokens(t *testing.T) {
	s := mcp.New(shop(t), "test", "")
	_, err := s.HTTP([]mcp.Token{{Subject: "ana", Secret: "short"}}, nil)
	require.Equal(t, diag.ConfigInvalid, diag.CodeOf(err))
	require.NotContains(t, err.Error(), `"short"`)
	_, err = s.HTTP([]mcp.Token{{Subject: "ana", Secret: secretOf("ana")}, {Subject: "sam", Secret: secretOf("ana")}}, nil)
	require.Equal(t, diag.ConfigInvalid, diag.CodeOf(err))
	require.NotContains(t, err.Error(), secretOf("ana"))
	_, err = s.HTTP(nil, []string{"not an origin"})
	require.Equal(t, diag.ConfigInvalid, diag.CodeOf(err))
}

// Who asks is who bears the token, in both versions, whatever the call says.
func TestTokenDecides(t *testing.T) {
	srv := web(t, shop(t))
	ask := sqlArgs("SELECT tenant, count(*) FROM customers GROUP BY tenant ORDER BY tenant")
	for _, version := range []string{older, newest} {
		for who, want := range map[string]string{"ana": "acme", "greta": "globex"} {
			res := send(t, post(t, srv.URL, who, version, callBody(version, engine.ToolSQL, ask), func(r *http.Request) {
				for _, h := range []string{"X-Subject", "X-Tenant", "X-User", "X-Forwarded-User", "Mcp-Session-Id"} {
					r.Header.Set(h, "operator")
				}
			}))
			require.Equal(t, 200, res.status, res.body)
			var r rpc
			require.NoError(t, json.Unmarshal([]byte(res.body), &r))
			rows := r.Result.table(t).Rows
			require.Len(t, rows, 1)
			require.Equal(t, want, rows[0][0])
		}
	}
	r := call(t, srv, "nobody", engine.ToolSQL, ask).refusals(t)
	require.Equal(t, string(diag.RequestSubject), r[0].Code)
	last := lastRecord(t)
	require.Equal(t, string(diag.RequestSubject), last.Outcome, "also this call has a record")
	require.Equal(t, engine.ToolSQL, last.Tool)
	for _, arg := range []string{"tenant", "subject", "user", "role", "roles", "claims", "as", "token"} {
		r := call(t, srv, "ana", engine.ToolSQL, `{"sql":"SELECT 1","`+arg+`":"operator"}`).refusals(t)
		require.Equal(t, string(diag.RequestUnknownArg), r[0].Code, arg)
		require.Equal(t, string(diag.RequestUnknownArg), lastRecord(t).Outcome)
	}
}

func TestMalformedMessages(t *testing.T) {
	srv := web(t, shop(t))
	for _, body := range []string{
		"", "{", "null", "[]", "[1]", `"x"`, "\x00", "{}", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"query_sql","arguments":{"sql":"SELECT 1"}}}`,
		strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat("}", 20_000) + `}`,
	} {
		for _, version := range []string{older, newest} {
			res := send(t, post(t, srv.URL, "ana", version, body, nil))
			if res.status == 200 {
				var r rpc
				require.NoError(t, json.Unmarshal([]byte(res.body), &r), "%.80q gave %q", body, res.body)
				require.True(t, r.Error != nil || r.Result.IsError, "%.80q gave %q", body, res.body)
				continue
			}
			require.GreaterOrEqual(t, res.status, 400, "%.80q gave %q", body, res.body)
			require.Less(t, res.status, 500, "%.80q gave %q", body, res.body)
		}
	}
	require.False(t, call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT count(*) FROM orders")).IsError, "the server goes on")
}

// waiting is an engine that answers nothing until its caller leaves.
type waiting struct {
	*engine.Engine
	began chan struct{}
	ended chan error
}

func (w waiting) Answer(ctx context.Context, _ engine.Request) (*engine.Answer, error) {
	w.began <- struct{}{}
	<-ctx.Done()
	w.ended <- ctx.Err()
	return nil, diag.New(diag.RequestCancelled, "the call was cancelled")
}

// Closing the connection cancels the question, whatever version the client speaks.
func TestClosingCancels(t *testing.T) {
	for _, version := range []string{newest, older} {
		t.Run(version, func(t *testing.T) {
			w := waiting{shop(t), make(chan struct{}), make(chan error, 1)}
			srv := web(t, w)
			ctx, cancel := context.WithCancel(t.Context())
			req := post(t, srv.URL, "ana", version, callBody(version, engine.ToolSQL, sqlArgs("SELECT 1")), nil).WithContext(ctx)
			left := make(chan error, 1)
			go func() {
				res, err := http.DefaultClient.Do(req)
				if err == nil {
					res.Body.Close()
				}
				left <- err
			}()
			<-w.began
			cancel()
			require.ErrorIs(t, <-left, context.Canceled)
			require.ErrorIs(t, <-w.ended, context.Canceled)
		})
	}
}

// The same against the engine: the worker stops and the record says why.
func TestClosingStopsTheWorker(t *testing.T) {
	e := shop(t)
	srv := web(t, e)
	for i, version := range []string{newest, older} {
		ctx, cancel := context.WithCancel(t.Context())
		endless := sqlArgs(fmt.Sprintf("SELECT count(*) FROM order_items a, order_items b, order_items c WHERE a.qty * b.qty > c.qty + %d", i))
		req := post(t, srv.URL, "operator", version, callBody(version, engine.ToolSQL, endless), nil).WithContext(ctx)
		left := make(chan error, 1)
		go func() {
			res, err := http.DefaultClient.Do(req)
			if err == nil {
				res.Body.Close()
			}
			left <- err
		}()
		// It waits behind the one that runs; when this is answered the other has begun.
		require.False(t, call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT count(*) FROM orders")).IsError)
		cancel()
		<-left
		require.Eventually(t, func() bool {
			r := lastRecord(t)
			return r.Subject.ID == "operator" && r.Outcome == string(diag.RequestCancelled)
		}, waitFor, tick)
	}
}

func TestManyCallers(t *testing.T) {
	srv := web(t, shop(t))
	var all sync.WaitGroup
	for i := range 32 {
		who, want := "ana", "179"
		if i%2 == 1 {
			who, want = "greta", "136"
		}
		all.Go(func() {
			for n := range 4 {
				version := []string{older, newest}[n%2]
				req := post(t, srv.URL, who, version, callBody(version, engine.ToolSQL, sqlArgs("SELECT count(*) AS n FROM customers")), nil)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				var r rpc
				err = json.NewDecoder(res.Body).Decode(&r)
				res.Body.Close()
				if err != nil || r.Result.IsError || !strings.HasSuffix(r.Result.Content[0].Text, "\nn\n"+want+"\n") {
					t.Errorf("%s: %v %+v", who, err, r)
				}
			}
		})
	}
	all.Wait()
}

// broken is an engine that panics in an answer.
type broken struct{ *engine.Engine }

func (broken) Answer(context.Context, engine.Request) (*engine.Answer, error) {
	return &engine.Answer{}, nil // without a table: writing it fails as no rule foresees
}

func TestPanicInATool(t *testing.T) {
	srv := web(t, broken{shop(t)})
	for range 2 {
		r := call(t, srv, "ana", engine.ToolSQL, sqlArgs("SELECT 1")).refusals(t)
		require.Equal(t, string(diag.BugInternal), r[0].Code)
		require.NotContains(t, r[0].Message, "nil pointer")
		last := lastRecord(t)
		require.Equal(t, string(diag.BugInternal), last.Outcome)
		require.Contains(t, last.RawError, "nil pointer")
	}
}

// An ordinary client of the SDK over HTTP, for each of its calls.
func TestSDKClient(t *testing.T) {
	srv := web(t, shop(t))
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{Transport: bearing{"sam"}}, DisableStandaloneSSE: true}, nil)
	require.NoError(t, err)
	defer c.Close()
	list, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 5)
	require.Equal(t, "private", list.CacheScope, "who may ask what depends on the caller")
	require.Positive(t, list.TTLMs)
	res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: engine.ToolSQL, Arguments: map[string]any{"sql": "SELECT count(*) FROM customers"}})
	require.NoError(t, err)
	require.False(t, res.IsError)
	_, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: srv.URL + "/mcp", DisableStandaloneSSE: true}, nil)
	require.Error(t, err)
}

type bearing struct{ who string }

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secretOf(b.who))
	return http.DefaultTransport.RoundTrip(r)
}

// Over HTTP a request without a token's subject is nobody, never the person of stdio.
func TestHTTPHasNoSubjectOfItsOwn(t *testing.T) {
	_, err := mcp.New(shop(t), "test", "ana").HTTP([]mcp.Token{{Subject: "ana", Secret: "a token of enough length"}}, nil)
	require.Equal(t, diag.BugInternal, diag.CodeOf(err))
}
