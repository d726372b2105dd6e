package emit_test

import (
	"context"
	"slices"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// resolves checks that the pipeline reads a text as it was meant: it resolves
// for the subject it was made for, every scan meets the filters its entity
// requires, and what the caller may not touch is touched by the model alone.
func resolves(t require.TestingT, w *world, v view, text emit.Text) {
	stmt, err := sqlast.Parse(context.Background(), w.db, text.SQL)
	require.NoError(t, err, text.SQL)
	bound, err := resolve.Resolve(context.Background(), stmt, v, resolve.Options{ModelSpans: text.Model})
	require.NoError(t, err, text.SQL)
	require.Len(t, bound.Outputs, len(text.Columns))
	for i, c := range text.Columns {
		require.Equal(t, c.Name, bound.Outputs[i].Name)
	}
	for _, r := range bound.Refs {
		for _, f := range r.Entity.Filters {
			if f.Kind == semantic.RequiredFilter {
				require.True(t, slices.Contains(r.Met, f.Name), "%s is not met\n%s", f.Name, text.SQL)
			}
		}
	}
	for _, u := range bound.Uses {
		e := bound.Refs[u.Ref].Entity
		vis, err := v.Entity(e.Name)
		require.NoError(t, err)
		if class, _ := vis.Class(u.Column); class < semantic.FilterOnly {
			require.Equal(t, resolve.Model, u.Origin, "%s.%s\n%s", e.Name, u.Column, text.SQL)
		}
	}
}
