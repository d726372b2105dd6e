package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/engine"
	"plumbline/mcp"
)

const token = "bench-token-of-32-characters-long"

// mcpCalls holds the smallest call of ours against a tool of the bare SDK that
// answers at once, both over the same streamable HTTP transport.
func mcpCalls(ctx context.Context, eng *engine.Engine) error {
	ours, err := mcp.New(eng, "bench", "").HTTP([]mcp.Token{{Subject: "ana", Secret: token}}, nil)
	if err != nil {
		return err
	}
	floor := sdk.NewServer(&sdk.Implementation{Name: "floor", Version: "1"}, nil)
	floor.AddTool(&sdk.Tool{Name: "nothing", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "1"}}}, nil
	})
	bare := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return floor }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})

	base, err := callTime(ctx, bare, "/", "nothing", map[string]any{})
	if err != nil {
		return err
	}
	fmt.Printf("\nMCP over HTTP, median milliseconds\n%-34s %8.2f\n", "SDK's floor", base)
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{engine.ToolDescribe, map[string]any{"table": "orders"}},
		{engine.ToolSQL, map[string]any{"sql": "SELECT 1 AS one"}},
		{engine.ToolMetrics, map[string]any{"metrics": []string{"revenue"}}},
	} {
		took, err := callTime(ctx, ours, "/mcp", c.tool, c.args)
		if err != nil {
			return err
		}
		fmt.Printf("%-34s %8.2f (%4.2fx)\n", c.tool, took, took/base)
	}
	return nil
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func callTime(ctx context.Context, h http.Handler, path, tool string, args map[string]any) (float64, error) {
	srv := httptest.NewServer(h)
	defer srv.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: srv.URL + path, HTTPClient: &http.Client{Transport: bearer{}}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	return median(func() error {
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
		if err == nil && res.IsError {
			err = fmt.Errorf("%s refused: %v", tool, res.Content)
		}
		return err
	})
}
