package load_test

import (
	"errors"
	"os"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// FuzzModel changes the text of one model file. Whatever it says, the loader
// gives either a whole catalog, which stock cue accepts as well, or errors with
// registered codes, and never the folder it runs in.
func FuzzModel(f *testing.F) {
	cases, err := os.ReadFile("testdata/refused/meaning.txt")
	require.NoError(f, err)
	seen := map[string]bool{}
	datadriven.RunTestFromStringAny(f, string(cases), func(tb testing.TB, d *datadriven.TestData) string {
		files := shop(tb)
		edit(tb, d, files)
		if text := files["models/orders.cue"]; !seen[text] {
			seen[text] = true
			f.Add(text)
		}
		return d.Expected
	})
	f.Fuzz(func(t *testing.T, text string) {
		files := shop(t)
		files["models/orders.cue"] = text
		root := write(t, files)
		_, c, err := load.Dir(root)
		if err != nil {
			var list diag.List
			require.True(t, errors.As(err, &list), "%v", err)
			require.NotContains(t, err.Error(), root)
			for _, e := range list {
				require.NotEqual(t, diag.BugInternal, e.Code, "%v", e.Err)
			}
			return
		}
		whole(t, c)
		require.Empty(t, vet(t, root))
	})
}

// whole checks that every name in a catalog leads somewhere.
func whole(t *testing.T, c *semantic.Catalog) {
	t.Helper()
	for _, e := range c.Entities {
		for _, k := range e.PrimaryKey {
			require.NotNil(t, e.Field(k))
		}
		if e.TimeDimension != "" {
			require.Equal(t, semantic.KindTime, e.Dimension(e.TimeDimension).Kind)
		}
		for _, d := range e.Dimensions {
			require.NotEmpty(t, d.Type)
			require.NotEqual(t, d.Field == "", d.Expr == "")
			if d.Field != "" {
				require.NotNil(t, e.Field(d.Field))
			}
		}
		for _, m := range e.Measures {
			require.True(t, m.Field == "" || e.Field(m.Field) != nil)
			require.Nil(t, e.Dimension(m.Name))
		}
		for _, r := range e.Relationships {
			for _, p := range r.On {
				require.NotNil(t, e.Field(p.From))
				require.NotNil(t, c.Entity(r.To).Field(p.To))
			}
		}
	}
	for _, m := range c.Metrics {
		if m.Kind == semantic.SimpleMetric {
			require.NotNil(t, c.Entity(m.Entity).Measure(m.Measure))
			continue
		}
		require.NotNil(t, c.Metric(m.Numerator))
		require.NotNil(t, c.Metric(m.Denominator))
	}
}
