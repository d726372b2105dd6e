package engine_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/engine"
	"plumbline/semantic/load"
)

func governance(t *testing.T, root string) *engine.Governance {
	t.Helper()
	g, err := engine.OpenGovernance(t.Context(), root, engine.Options{Now: clock, Temp: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return g
}

// What the matrix says of a subject is what the tools tell that subject: the same
// tables, columns, uses and masks, and metrics either listed or closed.
func TestMatrixAgreesWithTheTools(t *testing.T) {
	h := shop(t)
	m, err := governance(t, template).Matrix(t.Context(), engine.Choice{})
	require.NoError(t, err)
	require.Len(t, m.Subjects, 5)
	for _, s := range m.Subjects {
		tables, err := h.Tables(t.Context(), engine.Describing{Tool: engine.ToolSearch, Subject: s.Subject, Limit: math.MaxInt})
		require.NoError(t, err)
		told, shown := map[string]map[string][2]string{}, map[string]map[string][2]string{}
		for _, table := range tables {
			if table.ViewOf != "" {
				continue
			}
			whole, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: s.Subject, Table: table.Name})
			require.NoError(t, err)
			told[table.Name] = map[string][2]string{}
			for _, c := range whole.Columns {
				told[table.Name][c.Name] = [2]string{c.Use, c.Mask}
			}
		}
		for _, e := range s.Entities {
			require.Empty(t, e.Fault)
			if !e.Visible {
				continue
			}
			shown[e.Entity] = map[string][2]string{}
			for _, c := range e.Columns {
				if c.Class == "hidden" || c.Class == "private" {
					continue
				}
				mask := c.Mask
				if c.Computed {
					mask = ""
				}
				shown[e.Entity][c.Column] = [2]string{c.Class, mask}
				require.NotEmpty(t, c.Column == "lifetime_orders" || len(c.Rules) > 0, "%s.%s has a rule", e.Entity, c.Column)
			}
			delete(shown[e.Entity], "lifetime_orders") // a measure of other rows: a dimension of metrics, no column
		}
		require.Equal(t, told, shown, s.ID)

		list, err := h.Metrics(t.Context(), engine.Describing{Tool: engine.ToolList, Subject: s.Subject, Limit: math.MaxInt})
		require.NoError(t, err)
		names := map[string]bool{}
		for _, x := range list {
			names[x.Name] = true
		}
		for _, x := range s.Metrics {
			require.NotEmpty(t, x.Why)
			require.False(t, names[x.Name], "%s is listed and closed to %s", x.Name, s.ID)
		}
		require.Equal(t, h.Summary().Metrics, len(list)+len(s.Metrics), s.ID)
	}
}

// The rows of the matrix are the rows of answers.
func TestMatrixConditionsAreThoseOfAnswers(t *testing.T) {
	h := shop(t)
	m, err := governance(t, template).Matrix(t.Context(), engine.Choice{As: "ana"})
	require.NoError(t, err)
	for _, e := range m.Subjects[0].Entities {
		if slices.Contains([]string{"account_balances", "support_tickets"}, e.Entity) { // asked with a filter that they require
			continue
		}
		where := map[string]string{"all": "true", "none": "false", "some": e.Rows.Condition}[e.Rows.Seen]
		require.Equal(t, h.rows("operator", "SELECT count(*) FROM "+e.Entity+" WHERE "+where), h.rows("ana", "SELECT count(*) FROM "+e.Entity), e.Entity)
	}
}

// It needs models and policies alone: no data, no secret of the configuration.
func TestMatrixReadsNoData(t *testing.T) {
	root := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, load.Init(root, plumbline.Files))
	edit(t, root, "plumbline.cue", "\tserver: {\n", "\tserver: {\n\t\tmask_key: env: \"PLUMBLINE_NOT_SET\"\n")
	_, err := os.Stat(filepath.Join(root, "data"))
	require.ErrorIs(t, err, os.ErrNotExist)
	m, err := governance(t, root).Matrix(t.Context(), engine.Choice{Role: "support"})
	require.NoError(t, err)
	require.Len(t, m.Subjects, 1)
	require.Equal(t, []string{"plumbline.cue", "subjects.json"}, m.Subjects[0].Declared)
}
