package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// TestFactsOf prints the facts of one statement: two references to customers, a
// masked column behind a dimension, a join, a use by the model.
func TestFactsOf(t *testing.T) {
	c := people()
	access := asModelled(c)
	access["customers"].Columns["email"] = ColumnAccess{Class: semantic.FilterOnly, Mask: &Mask{Kind: "hash"}}
	b := statement(c, append(equality("INNER", 0, "ssn", 2, "ssn"),
		use("name", resolve.InOutput), use("NAME", resolve.InOutput), use("mail_host", resolve.InGroup),
		resolve.Use{Ref: 1, Column: "phone", Clause: resolve.InFilter, Origin: resolve.Model})...)
	b.Refs[0].Met = []semantic.Name{"window", "region"}
	b.Refs[1].Met = []semantic.Name{"region"}
	b.Kinds = []string{"SELECT_NODE", "BASE_TABLE"}
	b.Functions = []resolve.FunctionUse{{Name: "sum"}, {Name: "abs"}, {Name: "sum", Distinct: true}}
	f := FactsOf(b, access, Subject{ID: "ana", Roles: []string{"b", "a"}, Claims: map[string]any{"tenant": "acme"}}, "query_sql",
		[]string{"revenue"}, time.Date(2026, 5, 4, 3, 2, 1, 0, time.FixedZone("x", 3600)), Limits{TimeMS: 1, Rows: 2, Bytes: 3})
	datadriven.RunTest(t, "testdata/facts.txt", func(t *testing.T, _ *datadriven.TestData) string {
		text, err := json.MarshalIndent(f, "", " ")
		require.NoError(t, err)
		return string(text) + "\n"
	})
}

// TestFactsAreComplete: a statement with nothing in it has every list, and none is null.
func TestFactsAreComplete(t *testing.T) {
	for _, b := range []*resolve.Bound{{}, statement(people())} {
		text, err := json.Marshal(FactsOf(b, nil, Subject{}, "", nil, time.Time{}, Limits{}))
		require.NoError(t, err)
		require.NotContains(t, string(text), "null")
	}
}

// TestFactsAreDeterministic: the order of uses and references does not show.
func TestFactsAreDeterministic(t *testing.T) {
	c := people()
	uses := append(equality("INNER", 0, "ssn", 2, "ssn"), use("name", resolve.InOutput), use("plan", resolve.InFilter))
	turned := make([]resolve.Use, len(uses))
	for i, u := range uses {
		turned[len(uses)-1-i] = u
	}
	facts := func(u []resolve.Use) Facts {
		return FactsOf(statement(c, u...), asModelled(c), Subject{}, "", nil, time.Time{}, Limits{})
	}
	require.Equal(t, facts(uses), facts(turned))
}
