package prove_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// decided is what a decision lets a subject see.
type decided struct {
	policy.Decision
	catalog *semantic.Catalog
}

func (v decided) Entity(n semantic.Name) (*resolve.Visible, error) {
	e, access := v.catalog.Entity(n), v.Entities[n.Key()]
	if e == nil || !access.Visible {
		return nil, nil
	}
	out := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}}
	for key, c := range access.Columns {
		out.Fields[key], out.Masked[key] = c.Class, c.Mask != nil
	}
	return out, nil
}

func (v decided) Names() []string { return nil }

// reviewed are the functions that the server lets a text call.
func reviewed(kinds ...resolve.FunctionKind) map[string]bool {
	out := map[string]bool{}
	for _, f := range resolve.Functions() {
		if len(kinds) == 0 || slices.Contains(kinds, f.Kind) {
			out[strings.ToLower(f.Name)] = true
		}
	}
	return out
}

// known is shared, since all tests here ask of one catalog.
var known prove.Memo

// ask takes a caller's text through all stages up to the proof.
func ask(db *ducktest.DB, text string, d policy.Decision) (string, error) {
	ctx := context.Background()
	st, err := sqlast.Parse(ctx, db, text)
	if err != nil {
		return "", err
	}
	b, err := resolve.Resolve(ctx, st, decided{d, semantictest.Shop()}, resolve.Options{})
	if err != nil {
		return "", err
	}
	if err := policy.CheckUses(b, d.Entities); err != nil {
		return "", err
	}
	r, err := rewrite.Apply(ctx, db, b, d, rewrite.Options{RowCap: 1000})
	if err != nil {
		return "", err
	}
	in := prove.Input{Text: r.Text, Catalog: semantictest.Shop(), Decision: d, Functions: reviewed(), Aggregates: reviewed(resolve.Aggregate), RowCap: 1000, Memo: &known}
	for _, o := range b.Outputs {
		in.Names = append(in.Names, o.Name)
	}
	_, _, err = prove.Check(ctx, db, in)
	return r.Text, err
}

// TestPipeline takes a caller's texts through resolve, rewrite and proof. Rows
// tell that the text means what it meant.
func TestPipeline(t *testing.T) {
	db := openShop(t)
	db.Exec(t, `INSERT INTO "plumbline"."base"."customers" (id, name, region, tenant) VALUES (1, 'Ann', 'eu', 'acme'), (2, 'Bob', 'us', 'acme'), (3, 'Cy', 'us', 'globex')`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."orders" (id, customer_id, status, created_at, tenant) VALUES (10, 1, 'paid', '2026-01-01', 'acme'), (11, 2, 'open', '2026-01-02', 'acme'), (12, 3, 'paid', NULL, 'globex')`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."products" (id, category, label) VALUES (1, 'a', 'one'), (2, 'b', 'two')`)
	datadriven.RunTest(t, "testdata/pipeline.txt", func(t *testing.T, td *datadriven.TestData) string {
		require.Equal(t, "ask", td.Cmd)
		text, err := ask(db, td.Input, shopRules())
		if err != nil {
			out := err.Error()
			if strings.HasPrefix(string(diag.CodeOf(err)), "bug.") {
				out += fmt.Sprintf("\n%v", errors.Unwrap(err))
			}
			return out
		}
		columns, rows := result(t, db, text)
		return columns + "\n-> " + strings.Join(rows, "\n-> ")
	})
}

func result(t *testing.T, db *ducktest.DB, text string) (string, []string) {
	got, err := db.Check(context.Background(), []string{text})
	require.NoError(t, err)
	var names []string
	for _, c := range got[0].Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", "), db.Rows(t, text)
}
