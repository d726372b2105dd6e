package prove_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/semantic/diag"
)

// samples are arguments to try a function with, the likelier first.
var samples = []string{
	"id", "status", "created_at", "id, 2", "discount", "status, 'a'", "[id, 2]", "created_at, created_at", "", "order_date",
	"[id, 2], 1", "['a', status]", "[[id]]", "[id], [2]", "MAP {'a': id}", "MAP {'a': id}, 'a'", "{'a': id}", "{'a': id}, 'a'",
	"'day', created_at", "'day', created_at, created_at", "created_at, INTERVAL 1 DAY", "INTERVAL 1 DAY, created_at", "INTERVAL 1 DAY",
	"created_at, '%Y'", "'UTC', created_at", "id::DOUBLE", "status, 1", "status, 1, 2", "status, 'a', 'b'", "'2026', '%Y'",
	"'{\"a\": 1}'", "'{\"a\": 1}', '$.a'", "'{\"a\": 1}', '{\"a\": \"INTEGER\"}'", "id > 1", "id, id > 1", "id, 0.5",
	"[id], lambda x: x + 1", "[id], lambda x: x > 1", "[id], lambda x, y: x + y", "[id], [true]", "[id], 1, 2", "['a'], ','", "{'a': id}, b := 2",
	"{'a': id}, {'b': 2}", "id, 2, 3", "id, 2, 3, 4, 5, 6.0", "2026, 1, 2", "'YWI='", "'a'::BLOB", "'6162'", "12, 2", "'x', 2", "status, 2, 'x'", "1, 3",
	"'{}', status", "'%d', id", "', ', status", "[1, 2]::INTEGER[2]", "TIME '10:00:00'", "MAP {'a': 1}, MAP {'b': 2}", "['a'], [1]", "[{'k': 'a', 'v': 1}]",
	"'\\x41'::BIT", "current_date", "id::VARCHAR, status", "2, [id]", "'a' IN status", "DATE '2026-01-05'", "'day', DATE '2026-01-01', DATE '2026-01-05'",
}

var operatorName = regexp.MustCompile(`^[^a-z]+$`)

// sampleCall writes a call of f over one table.
func sampleCall(f resolve.Function, args string) string {
	expr := f.Name + "(" + args + ")"
	parts := strings.SplitN(args, ", ", 2)
	switch {
	case f.Name == "!__postfix":
		expr = args + " !"
	case f.Kind == resolve.TableFunction:
		return "SELECT * FROM orders, " + expr + " AS t(x)"
	case f.Kind == resolve.WindowOnly:
		expr += " OVER (ORDER BY id)"
	case operatorName.MatchString(f.Name) && len(parts) == 2 && strings.Count(args, ", ") == 1:
		expr = parts[0] + " " + f.Name + " " + parts[1]
	case operatorName.MatchString(f.Name):
		expr = f.Name + " " + args
	}
	return "SELECT " + expr + " AS x FROM orders"
}

// TestReviewedFunctionsReachTheProof asks each reviewed function with arguments of
// several kinds, as a caller would: what binds is proved or refused with a reason,
// and nothing is a bug. Each function has a sample that is proved.
func TestReviewedFunctionsReachTheProof(t *testing.T) {
	db := openShop(t)
	db.Exec(t, `CREATE TABLE orders AS FROM "plumbline"."base"."orders"`) // what the caller's text itself would bind to
	d := shopRules()
	none := []string{}
	for _, f := range resolve.Functions() {
		bound := 0
		for _, args := range samples {
			text := sampleCall(f, args)
			st, err := db.Prepare(text)
			if err != nil {
				continue
			}
			require.NoError(t, st.Close())
			_, err = ask(db, text, d)
			if strings.HasPrefix(string(diag.CodeOf(err)), "bug.") {
				t.Errorf("%s: %v", text, errors.Unwrap(err))
			}
			if err == nil {
				bound++
			}
			if bound == 2 {
				break
			}
		}
		if bound == 0 {
			none = append(none, string(f.Kind)+" "+f.Name)
		}
	}
	require.Empty(t, none, "give these a sample")
}
