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
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// groupRules are shopRules with minimum groups of orders, order_items and customers.
func groupRules() policy.Decision {
	d := shopRules()
	for e, n := range map[string]int{"orders": 5, "order_items": 5, "customers": 7} {
		a := d.Entities[e]
		a.MinGroup.Size = n
		d.Entities[e] = a
	}
	return d
}

func groupInput(db *ducktest.DB, text string) prove.Input {
	in := input(db, text)
	in.Decision, in.Functions = groupRules(), reviewed()
	return in
}

// TestGroups proves the texts of testdata/groups.txt: those under "proved" are
// accepted, those under "refused" are not, whatever the golden says.
func TestGroups(t *testing.T) {
	db := openShop(t)
	datadriven.RunTest(t, "testdata/groups.txt", func(t *testing.T, td *datadriven.TestData) string {
		text := limited(fenced(td.Input, groupRules()))
		in := groupInput(db, text)
		if td.HasArg("model") {
			in.Model, in.Private = []resolve.Span{{End: len(text)}}, map[string][]semantic.Name{"customers": {"risk_score"}}
		}
		_, _, err := prove.Check(context.Background(), db, in)
		require.Equal(t, td.Cmd == "proved", err == nil, "%s: %v", td.Pos, errors.Unwrap(err))
		if err == nil {
			return "proved"
		}
		require.Contains(t, []diag.Code{diag.BugProve, diag.ResolveShape}, diag.CodeOf(err))
		return firstLines(errors.Unwrap(err))
	})
}

// fourOrders holds fewer orders than a group has, so that no text over them that is
// proved may answer with a row.
func fourOrders(t testing.TB) *ducktest.DB {
	db := openShop(t)
	for i := range 9 {
		db.Exec(t, fmt.Sprintf(`INSERT INTO plumbline.base.orders VALUES (%d, %d, DATE '2026-01-01', TIMESTAMP '2026-01-01', 'paid', %d, 1.5, '%s', 'o', 'x')`,
			i, i, 100+i, []string{"acme", "globex"}[min(1, i/4)]))
	}
	require.Equal(t, []string{"4"}, db.Rows(t, `SELECT count(*) FROM plumbline.base.orders WHERE tenant = 'acme'`))
	return db
}

var groupTexts = []string{
	`SELECT o.status, count(*) AS n FROM [[orders: status, id]] AS o GROUP BY o.status HAVING count(DISTINCT "o"."id") >= 5`,
	`SELECT sum(total_cents) AS s FROM [[orders: total_cents, id]] AS o HAVING count(DISTINCT "o"."id") >= 5 AND count("o"."total_cents") >= 5 AND (count(*) = 1)`,
}

// TestEveryHavingTokenMatters edits each token of proved texts in every way. What
// still passes shows no group, since there is none of the size.
func TestEveryHavingTokenMatters(t *testing.T) {
	db := fourOrders(t)
	memo, passed, refused := &prove.Memo{}, 0, 0
	for _, text := range groupTexts {
		text = limited(fenced(text, groupRules()))
		for at := range sqlast.Tokens(text) {
			for op := range 5 {
				for with := at % 17; with < 2*len(words); with += 17 {
					if with >= 17 && op != 2 && op != 3 {
						break
					}
					mutant := tamper(text, uint16(op), uint16(at), uint16(with))
					in := groupInput(db, mutant)
					in.Memo = memo
					_, evidence, err := prove.Check(context.Background(), db, in)
					if err != nil {
						refused++
						continue
					}
					if passed++; slices.ContainsFunc(evidence.Summary.Relations, func(r policy.SummaryRelation) bool { return r.Entity == "orders" }) {
						require.Empty(t, strings.Join(db.Rows(t, mutant), ""), mutant)
					}
				}
			}
		}
	}
	require.Greater(t, refused, 500)
	require.Greater(t, passed, 20)
}

// A row rule that looks into another entity stands in the fence, and is no query
// beside the groups.
func TestGroupsUnderARelatedRule(t *testing.T) {
	db := fourOrders(t)
	d := groupRules()
	a := d.Entities["orders"]
	a.Rows = policy.Predicate{Truth: policy.When, SQL: `"customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers" WHERE "region" = 'eu')`, Through: []semantic.Name{"customers"}}
	d.Entities["orders"] = a
	for i := range 5 {
		db.Exec(t, fmt.Sprintf("INSERT INTO plumbline.base.customers (id, region) VALUES (%d, 'eu')", i))
	}
	got, err := ask(db, "SELECT count(*) AS n, sum(total_cents) AS s FROM orders", d)
	require.NoError(t, err)
	require.Equal(t, []string{"5\t510"}, db.Rows(t, got))
}
