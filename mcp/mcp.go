// Package mcp shows the engine as five MCP tools over stdio and stateless
// streamable HTTP. It decodes arguments strictly, takes the subject from the
// transport only (a configured one over stdio, a verified bearer token over
// HTTP), and writes answers and refusals so that an agent can act on them.
// It decides nothing: every call goes through engine.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/engine"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// instructions are what a client's model reads first.
const instructions = `plumbline answers business questions over governed data. Metrics first: list_metrics, then query_metrics; the numbers are defined and joined for you. Use query_sql (one DuckDB SELECT over the tables of search_tables) for what no metric covers. Ask for the final answer, not for rows to add up yourself. A refusal names its code, the place and what would work: repair and ask again.`

// Asker is what the tools need of the engine.
type Asker interface {
	Answer(context.Context, engine.Request) (*engine.Answer, error)
	Metrics(context.Context, engine.Describing) ([]engine.Metric, error)
	Tables(context.Context, engine.Describing) ([]engine.Table, error)
	Table(context.Context, engine.Describing) (*engine.Table, error)
	Contents(context.Context, engine.Describing) (*engine.Contents, error)
	Subject(id string) (policy.Subject, bool)
	Refused(ctx context.Context, tool string, s policy.Subject, asked json.RawMessage, err error) error
}

// Server is the set of tools over one engine.
type Server struct {
	asker Asker
	sdk   *sdk.Server
	// stdioSubject asks over stdio; "" refuses that transport.
	stdioSubject string
}

// New makes the server. version goes to clients; stdioSubject is the configured
// subject of the stdio transport.
func New(asker Asker, version, stdioSubject string) *Server {
	s := &Server{asker: asker, stdioSubject: stdioSubject}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "plumbline", Title: "plumbline semantic layer", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.CacheScope, c.TTLMs = "private", int((5 * time.Minute).Milliseconds())
		},
	})
	for _, t := range tools {
		s.sdk.AddTool(t.describe(), s.handler(t))
	}
	return s
}

// Stdio serves one client on the given streams until it leaves or ctx ends.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	if _, ok := s.asker.Subject(s.stdioSubject); !ok {
		return diag.New(diag.RequestSubject, "the stdio transport needs server.stdio_subject to name a declared subject").
			WithHint("set server.stdio_subject in plumbline.cue")
	}
	safe := &oneWriter{WriteCloser: out}
	return s.sdk.Run(ctx, &sdk.IOTransport{Reader: newLines(in, safe), Writer: safe})
}

// Connect serves one in-process client, as Stdio does; for demos and tests.
func (s *Server) Connect(ctx context.Context, t sdk.Transport) (*sdk.ServerSession, error) {
	return s.sdk.Connect(ctx, t, nil)
}

// subject finds who asks: the bearer token's subject over HTTP, the configured
// one otherwise. A request without either is refused.
func (s *Server) subject(req *sdk.CallToolRequest) (policy.Subject, error) {
	id := s.stdioSubject
	if req.Extra != nil && req.Extra.Header != nil { // over HTTP only the token counts
		id = ""
		if req.Extra.TokenInfo != nil {
			id = req.Extra.TokenInfo.UserID
		}
	}
	subject, ok := s.asker.Subject(id)
	if id == "" || !ok {
		return policy.Subject{}, diag.New(diag.RequestSubject, "this connection has no subject").WithHint("use a token that the server's configuration lists")
	}
	return subject, nil
}

// handler runs one tool: subject, arguments, engine, answer. A refusal is a tool
// result with isError, so that the model sees it. A panic is one too: the SDK
// calls tools on goroutines of its own, where it would end the process.
func (s *Server) handler(t tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, _ error) {
		ctx, stop := untilClosed(ctx)
		defer stop()
		raw := req.Params.Arguments
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		subject, err := s.subject(req)
		defer func() {
			if p := recover(); p != nil {
				err := diag.Wrap(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), diag.BugInternal, "something failed that no rule foresees").WithHint("report it with the time of the call")
				res = refusal(refuse(ctx, s.asker, t.name, subject, raw, err))
			}
		}()
		if err != nil {
			return refusal(refuse(ctx, s.asker, t.name, subject, raw, err)), nil
		}
		res, err = t.run(ctx, s.asker, subject, raw)
		if err != nil {
			return refusal(err), nil
		}
		return res, nil
	}
}
