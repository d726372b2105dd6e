package engine_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func n(s string) json.Number { return json.Number(s) }

// two are the rows of a small world: three orders, of which one is cancelled,
// and one customer.
var two = []semantic.TestRows{
	{Entity: "customers", Rows: []map[string]any{{"id": n("1"), "plan": "pro", "region": "eu", "tenant": "acme", "risk_score": n("0.25"), "signed_up": "2025-01-01"}}},
	{Entity: "orders", Rows: []map[string]any{
		{"id": n("1"), "customer_id": n("1"), "order_date": "2026-01-05", "total_cents": n("9007199254740993"), "discount": n("1.25"), "status": "paid", "tenant": "acme"},
		{"id": n("2"), "customer_id": n("7"), "order_date": "2026-02-06", "total_cents": n("50"), "status": "open", "tenant": "globex"},
		{"id": n("3"), "customer_id": n("1"), "order_date": "2026-02-07", "total_cents": n("1000"), "status": "cancelled", "tenant": "acme"},
	}},
}

func TestModelTests(t *testing.T) {
	h := shop(t)
	question := func(q string) []byte { return []byte(q) }
	byPlan := question(`{"metrics":["revenue"],"dimensions":["customers.plan"]}`)
	cases := []struct {
		name   string
		test   semantic.Test
		passed bool
		fails  string // in the text of the failure
	}{
		{"rows", semantic.Test{Rows: two, Question: byPlan, Expect: [][]any{{nil, n("50")}, {"pro", "9007199254740993"}}}, true, ""},
		{"columns in another order", semantic.Test{Rows: two, Question: byPlan, Columns: []string{"revenue", "customers.plan"}, Expect: [][]any{{n("50"), nil}, {"9007199254740993", "pro"}}}, true, ""},
		{"a wrong number", semantic.Test{Rows: two, Question: byPlan, Expect: [][]any{{nil, n("51")}, {"pro", "9007199254740993"}}}, false, "-  NULL            51\n+  NULL            50\n"},
		{"order counts", semantic.Test{Rows: two, Question: byPlan, Ordered: true, Expect: [][]any{{nil, n("50")}, {"pro", "9007199254740993"}}}, false, "their order is not"},
		{"a column that is not named", semantic.Test{Rows: two, Question: byPlan, Columns: []string{"revenue"}, Expect: [][]any{{n("50")}}}, false, `does not name the column "customers.plan"`},
		{"a column that is not there", semantic.Test{Rows: two, Question: byPlan, Columns: []string{"revenue", "plan"}, Expect: [][]any{}}, false, `no column "plan"`},
		{"a column twice", semantic.Test{Rows: two, Question: byPlan, Columns: []string{"revenue", "customers.plan", "revenue"}, Expect: [][]any{}}, false, "twice"},
		{"a row too short", semantic.Test{Rows: two, Question: byPlan, Expect: [][]any{{n("50")}}}, false, "-  50\n"},
		{"sql", semantic.Test{Rows: two, SQL: "SELECT id, discount FROM orders ORDER BY id", Ordered: true, Expect: [][]any{{n("1"), n("1.25")}, {n("2"), nil}, {n("3"), nil}}}, true, ""},
		{"entities without rows are empty", semantic.Test{Rows: two, SQL: "SELECT count(*) FROM products", Expect: [][]any{{n("0")}}}, true, ""},
		{"no rows at all", semantic.Test{Rows: []semantic.TestRows{}, SQL: "SELECT count(*) FROM orders", Expect: [][]any{{n("0")}}}, true, ""},
		{"a row of nothing is a row", semantic.Test{Rows: []semantic.TestRows{{Entity: "orders", Rows: []map[string]any{{}, {"status": nil}}}}, SQL: "SELECT count(*), count(id) FROM orders", Expect: [][]any{{n("2"), n("0")}}}, true, ""},
		{"texts arrive as they are", semantic.Test{Rows: []semantic.TestRows{{Entity: "products", Rows: []map[string]any{
			{"id": n("1"), "name": "a \"b\",\nc", "größe": "", "active": true}, {"id": n("2"), "name": " NULL ", "active": false}}}},
			SQL: `SELECT name, "größe", active FROM products`, Expect: [][]any{{"a \"b\",\nc", "", true}, {" NULL ", nil, false}}}, true, ""},
		{"live data", semantic.Test{SQL: "SELECT count(*) > 1000 AS many FROM orders", Columns: []string{"many"}, Expect: [][]any{{true}}}, true, ""},
		{"as somebody", semantic.Test{Rows: two, As: "greta", SQL: "SELECT id FROM orders", Expect: [][]any{{n("2")}}}, true, ""},
		{"as nobody", semantic.Test{Rows: two, As: "gretta", SQL: "SELECT id FROM orders"}, false, `"gretta" is none (did you mean "greta"?)`},
		{"refused", semantic.Test{Rows: two, As: "ana", SQL: "SELECT email FROM customers", Refused: "resolve.unknown"}, true, ""},
		{"refused otherwise", semantic.Test{Rows: two, As: "ana", SQL: "SELECT email FROM customers", Refused: "policy.denied"}, false, "resolve.unknown"},
		{"refused, it is thought", semantic.Test{Rows: two, SQL: "SELECT email FROM customers", Refused: "resolve.unknown"}, false, "it is answered"},
		{"refused, and rows are expected", semantic.Test{Rows: two, Question: question(`{"metrics":["revenu"]}`)}, false, `did you mean "revenue"`},
		{"a question that is none", semantic.Test{Rows: two, Question: question(`{"metric":["revenue"]}`)}, false, "request.unknown_argument"},
		{"rows of nothing", semantic.Test{Rows: []semantic.TestRows{{Entity: "order"}}, SQL: "SELECT 1"}, false, `no entity "order", for which rows are given (did you mean "orders"?)`},
		{"a value of nothing", semantic.Test{Rows: []semantic.TestRows{{Entity: "orders", Rows: []map[string]any{{"total": n("1")}}}}, SQL: "SELECT 1"}, false, `no field "total" of "orders"`},
		{"a value of a strange kind", semantic.Test{Rows: []semantic.TestRows{{Entity: "orders", Rows: []map[string]any{{"id": []any{n("1")}}}}}, SQL: "SELECT 1"}, false, `one of "id" of "orders" is not`},
		{"a value that does not fit", semantic.Test{Rows: []semantic.TestRows{{Entity: "orders", Rows: []map[string]any{{"order_date": "2026-02-30"}}}}, SQL: "SELECT order_date FROM orders"}, false, "source.corrupt"},
		{"the clock", semantic.Test{Rows: two, SQL: "SELECT now() > DATE '2020-01-01'", Expect: [][]any{{true}}}, false, "now reads the clock"},
		{"the clock without parentheses", semantic.Test{Rows: two, SQL: "SELECT id FROM orders WHERE order_date > current_date"}, false, "current_date reads the clock"},
		{"a word for the clock in a literal", semantic.Test{Rows: two, SQL: "SELECT DATE 'today'"}, false, "execute.failed"},
		{"a word for the clock in a cast", semantic.Test{Rows: two, SQL: "SELECT CAST('now' AS TIMESTAMP)"}, false, "execute.failed"},
		{"an age", semantic.Test{Rows: two, SQL: "SELECT age(TIMESTAMP '2020-01-01')"}, false, "age reads the clock"},
		{"an age between two moments", semantic.Test{Rows: two, SQL: "SELECT age(DATE '2020-01-02', DATE '2020-01-01') = INTERVAL 1 DAY AS day", Expect: [][]any{{true}}}, true, ""},
		{"a moment that is none", semantic.Test{Rows: two, Now: "yesterday", SQL: "SELECT 1"}, false, "2026-05-04T12:00:00Z"},
		{"too many rows", semantic.Test{SQL: "SELECT id FROM orders"}, false, "more rows than may be given"},
	}
	var tests []*semantic.Test
	for i := range cases {
		cases[i].test.Pos = diag.Pos{File: "models/x.cue", Line: 3}
		tests = append(tests, &cases[i].test)
	}
	results, err := h.Test(t.Context(), tests, "operator") // together: those of equal rows share a world
	require.NoError(t, err)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := results[i].Text()
			require.Equal(t, c.passed, results[i].Passed, text)
			require.Contains(t, text, c.fails)
		})
	}
}

// Tests with equal rows share a world; each keeps its place in the results.
func TestModelTestsTogether(t *testing.T) {
	h := open(t, workspace(t))
	count := func(rows []semantic.TestRows, want string) *semantic.Test {
		return &semantic.Test{Rows: rows, SQL: "SELECT count(*) FROM orders", Expect: [][]any{{n(want)}}}
	}
	one := []semantic.TestRows{{Entity: "Orders", Rows: []map[string]any{{"ID": n("1")}}}}
	results, err := h.Test(t.Context(), []*semantic.Test{count(two, "3"), count(one, "1"), count(nil, "10000"), count(two, "3")}, "operator")
	require.NoError(t, err)
	for i, r := range results {
		require.True(t, r.Passed, "%d: %s", i, r.Text())
	}
	require.Equal(t, "1\n", h.rows("operator", "SELECT 1"), "the engine itself goes on")
	left, err := os.ReadDir(h.temp)
	require.NoError(t, err)
	require.Len(t, left, 1, "the folders of the tests are gone")
}
