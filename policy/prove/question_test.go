package prove_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// TestQuestions takes metric questions of every kind through all stages up to the
// proof, under the shop's rules, and shows the rows.
func TestQuestions(t *testing.T) {
	db := openShop(t)
	db.Exec(t, `INSERT INTO "plumbline"."base"."customers" (id, name, region, tenant, risk_score) VALUES (1, 'Ann', 'eu', 'acme', 0.5), (2, 'Bob', 'us', 'acme', 0.25), (3, 'Cy', 'us', 'globex', 1)`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."orders" (id, customer_id, status, order_date, total_cents, tenant) VALUES
		(10, 1, 'paid', '2026-01-01', 100, 'acme'), (11, 2, 'open', '2026-01-02', 50, 'acme'), (12, 3, 'paid', '2026-01-02', 1000, 'globex'), (13, 1, 'paid', '2026-02-03', 70, 'acme'), (14, 3, 'paid', '2026-02-03', 30, 'acme')`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."order_items" (order_id, line, product_id, qty) VALUES (10, 1, 1, 1), (10, 2, 2, 1), (11, 1, 1, 1), (14, 1, 3, 1)`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."products" (id, category, label) VALUES (1, 'tool', 'hammer'), (2, 'tool', 'nail'), (3, 'toy', 'ball')`)
	catalog := semantictest.Kinds()
	rules := shopRules()
	items := rules.Entities["order_items"]
	items.Rows = policy.Predicate{Truth: policy.Always}
	rules.Entities["order_items"] = items
	exprs, err := resolve.CheckModel(context.Background(), db, catalog)
	require.NoError(t, err)
	datadriven.RunTest(t, "testdata/questions.txt", func(t *testing.T, td *datadriven.TestData) string {
		require.Equal(t, "ask", td.Cmd)
		text, err := question(db, catalog, exprs, td.Input, rules)
		if err != nil {
			return err.Error()
		}
		columns, rows := result(t, db, text)
		return columns + "\n-> " + strings.Join(rows, "\n-> ")
	})
}

// question takes a metric question through all stages up to the proof.
func question(db *ducktest.DB, catalog *semantic.Catalog, exprs *resolve.Expressions, asked string, d policy.Decision) (string, error) {
	ctx := context.Background()
	q, err := metric.Decode([]byte(asked))
	if err != nil {
		return "", err
	}
	plan, err := metric.Build(decided{d, catalog}, catalog, q, metric.Options{Expressions: exprs})
	if err != nil {
		return "", err
	}
	made, err := emit.SQL(plan)
	if err != nil {
		return "", err
	}
	st, err := sqlast.Parse(ctx, db, made.SQL)
	if err != nil {
		return "", err
	}
	b, err := resolve.Resolve(ctx, st, decided{d, catalog}, resolve.Options{ModelSpans: made.Model})
	if err != nil {
		return "", err
	}
	if err := policy.CheckUses(b, d.Entities); err != nil {
		return "", err
	}
	r, err := rewrite.Apply(ctx, db, b, d, rewrite.Options{RowCap: 1000, Model: made.Model})
	if err != nil {
		return "", err
	}
	in := prove.Input{Text: r.Text, Catalog: catalog, Decision: d, Functions: reviewed(), Aggregates: reviewed(resolve.Aggregate), Model: r.Model, RowCap: 1000, Memo: &known,
		Private: map[string][]semantic.Name{"customers": {"risk_score"}}}
	for _, o := range b.Outputs {
		in.Names = append(in.Names, o.Name)
	}
	_, _, err = prove.Check(ctx, db, in)
	return r.Text, err
}
