package main

import (
	"context"
	"encoding/json"
	"path/filepath"

	"plumbline/engine"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// server is one engine over one world.
type server struct{ engine *engine.Engine }

func openEngine(ctx context.Context, dir string, _ setting) (Asker, error) {
	e, err := engine.Open(ctx, dir, engine.Options{Temp: filepath.Join(dir, "temp"), MaskKey: []byte("the same key in both worlds")})
	if err != nil {
		return nil, err
	}
	return server{e}, nil
}

func (s server) Close() error { return s.engine.Close() }

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
		return Answer{Code: string(diag.CodeOf(err)), Error: err.Error()}, nil
	}
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
