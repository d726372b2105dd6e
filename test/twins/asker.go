package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"plumbline/engine"
	"plumbline/mcp"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// server is one engine over one world, with a client of its tools.
type server struct {
	engine *engine.Engine
	client *sdk.ClientSession
}

func openEngine(ctx context.Context, dir string, s setting) (Asker, error) {
	e, err := engine.Open(ctx, dir, engine.Options{Temp: filepath.Join(dir, "temp"), Materialize: s.storage == "native"})
	if err != nil {
		return nil, err
	}
	here, there := sdk.NewInMemoryTransports()
	if _, err := mcp.New(e, "twins", subject).Connect(ctx, there); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	client, err := sdk.NewClient(&sdk.Implementation{Name: "twins", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return server{e, client}, nil
}

func (s server) Close() error { return errors.Join(s.client.Close(), s.engine.Close()) }

// queryID is the name of one question, which differs from one to the next.
var queryID = regexp.MustCompile(`\bq[0-9a-f]{18}\b`)

// Tool calls a tool as an MCP client does. The subject is the transport's, which
// is the one every line is asked by. The answer's lines are its rows.
func (s server) Tool(ctx context.Context, _, name string, arguments []byte) (Answer, error) {
	res, err := s.client.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return Answer{Code: "request.malformed", Error: err.Error()}, nil
	}
	var text strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	shown := queryID.ReplaceAllString(text.String(), "q")
	if res.IsError {
		code, _, _ := strings.Cut(strings.TrimPrefix(shown, "refused: "), ": ")
		return Answer{Code: code, Error: shown}, nil
	}
	var out Answer
	for l := range strings.SplitSeq(strings.TrimSpace(shown), "\n") {
		out.Rows = append(out.Rows, []string{l})
	}
	return out, nil
}

// SQL asks as query_sql does.
func (s server) SQL(ctx context.Context, subject, text string) (Answer, error) {
	who, ok := s.engine.Subject(subject)
	if !ok {
		who = policy.Subject{ID: policy.SubjectID(subject)}
	}
	asked, err := json.Marshal(map[string]string{"sql": text})
	if err != nil {
		return Answer{}, err
	}
	ans, err := s.engine.Answer(ctx, engine.Request{Tool: "query_sql", Subject: who, SQL: text, Asked: asked})
	if err != nil {
		return refusal(err), nil
	}
	return answerOf(ans)
}

func refusal(err error) Answer { return Answer{Code: string(diag.CodeOf(err)), Error: err.Error()} }

// answerOf writes the table of an answer as JSON cells.
func answerOf(ans *engine.Answer) (Answer, error) {
	out := Answer{Cut: ans.Table.Truncated}
	for _, c := range ans.Table.Columns {
		out.Columns = append(out.Columns, c.Name)
	}
	for _, row := range ans.Table.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			raw, err := json.Marshal(v)
			if err != nil {
				return Answer{}, err
			}
			cells[i] = string(raw)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out, nil
}
