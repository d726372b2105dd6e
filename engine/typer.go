package engine

import (
	"context"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck"
)

// typer lets the compiler bind expressions of the model on the workers' twins.
type typer struct{ pool *duck.Pool }

// Types satisfies resolve.Typer. The engine's own text stays here.
func (t typer) Types(ctx context.Context, texts []string) ([]resolve.Typed, error) {
	checked, err := t.pool.Check(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]resolve.Typed, len(checked))
	for i, c := range checked {
		out[i] = resolve.Typed{OK: c.OK, Plan: c.Plan}
		for _, column := range c.Columns {
			out[i].Columns = append(out[i].Columns, column.Type)
		}
	}
	return out, nil
}
