package opa

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic/semantictest"
)

func benchPolicy(b *testing.B) *Policy {
	b.Helper()
	p, err := Open(sampleRego, Options{MaskKey: testKey, Timeout: time.Second})
	require.NoError(b, err)
	return p
}

// BenchmarkEntityCold is an access decided for a subject not seen before.
func BenchmarkEntityCold(b *testing.B) {
	p, e := benchPolicy(b), semantictest.Shop().Entity("customers")
	for i := 0; b.Loop(); i++ {
		s := policy.Subject{ID: policy.SubjectID(fmt.Sprint(i)), Roles: []string{"analyst"}, Claims: map[string]any{"tenant": "acme"}}
		_, err := p.Entity(context.Background(), s, testNow, e)
		require.NoError(b, err)
	}
}

// BenchmarkEntityWarm is an access that was decided before.
func BenchmarkEntityWarm(b *testing.B) {
	p, e := benchPolicy(b), semantictest.Shop().Entity("customers")
	for b.Loop() {
		_, err := p.Entity(context.Background(), people["ana"], testNow, e)
		require.NoError(b, err)
	}
}

// BenchmarkDecide is one decision on three entities and twenty column uses.
func BenchmarkDecide(b *testing.B) {
	p := benchPolicy(b)
	f := policy.Facts{Subject: people["ana"], Tool: "query_sql", Now: testNow, Functions: []string{"sum", "count"}, Nodes: []string{"SELECT_NODE", "JOIN", "BASE_TABLE"}}
	access := map[string]policy.EntityAccess{}
	for i := range 3 {
		e := policy.EntityFact{Name: fmt.Sprintf("e%d", i)}
		access[e.Name] = policy.EntityAccess{Visible: true}
		for j := range 7 {
			e.Columns = append(e.Columns, policy.ColumnFact{Name: fmt.Sprintf("c%d", j), Class: "output", Clause: "output", Origin: "caller"})
		}
		f.Entities = append(f.Entities, e)
	}
	for b.Loop() {
		d, err := p.Decide(context.Background(), f, access)
		require.NoError(b, err)
		require.Equal(b, policy.Allow, d.Verdict)
	}
}

// BenchmarkVerify is one check of the summary of a final text with three relations.
func BenchmarkVerify(b *testing.B) {
	p := benchPolicy(b)
	s := policy.Summary{Subject: people["ana"]}
	for i := range 3 {
		s.Relations = append(s.Relations, policy.SummaryRelation{Entity: fmt.Sprint(i), Columns: []string{"a", "b"}, Predicate: `"tenant" = 'acme'`, Fenced: true})
	}
	for b.Loop() {
		reasons, _, err := p.Verify(context.Background(), s)
		require.NoError(b, err)
		require.Empty(b, reasons)
	}
}
