package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/postgres"
	"plumbline/semantic/diag"
)

// nested repeats what stands before and behind a text.
func nested(n int, before, inner, after string) string {
	return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
}

// Short texts whose translation would be huge are refused, with no more work than a
// translation may do.
func TestBounds(t *testing.T) {
	in := input(t)
	from := func(e string) string { return "SELECT " + e + " AS z FROM (SELECT 3 AS x, 3.5 AS y) t" }
	long := "'" + strings.Repeat("x", 30000) + "'"
	for _, c := range []struct {
		text string
		code diag.Code
	}{
		{from(nested(18, "7/(", "x", ")")), diag.LimitText},
		{from(nested(40, "7 % (", "x", ")")), diag.LimitText},
		{from(nested(40, "7.5/(", "y", ")")), diag.LimitText},
		{from(nested(40, "sqrt(", "x", ")")), diag.LimitText},
		{from(nested(40, "ln(", "x", ")")), diag.LimitText},
		{from(nested(30, "(", "(x = 1)", " BETWEEN SYMMETRIC true AND true)")), diag.LimitTree},
		{from(nested(30, "extract(year FROM make_date(", "x", ", 1, 1))::int")), diag.LimitText},
		{from(nested(6, "(", "("+long+" = 'a')", " BETWEEN SYMMETRIC true AND true)")), diag.LimitTree},
		{from("CASE " + long + strings.Repeat(" WHEN 'a' THEN 1", 500) + " END"), diag.LimitTree},
		{from("coalesce(" + strings.Repeat("1/y,", 1000) + "y) IN (" + strings.Repeat("1,", 1000) + "2)"), diag.LimitTree},
		{"SELECT " + strings.Repeat("*,", 6000) + "* FROM (SELECT id, status, discount, customer_id FROM orders) o, orders", diag.LimitTree},
		{"SELECT 1 FROM orders" + strings.Repeat(", orders", 5000), diag.LimitTree},
		{"WITH w AS (SELECT 1 AS a" + columns(200) + ") SELECT 1" + strings.Repeat(", (SELECT 1 FROM w)", 1000) + " FROM w", diag.LimitTree},
		{"SELECT " + strings.Repeat(nested(8, "7/(", "id", ")")+", ", 60) + "1 FROM orders ORDER BY 1", diag.LimitText},
	} {
		var work postgres.Work
		_, err := postgres.TranslateCounted(context.Background(), c.text, in, &work)
		require.Equal(t, c.code, diag.CodeOf(err), "%.80s: %v", c.text, err)
		require.LessOrEqual(t, work.Done, work.MostDone, "%.80s", c.text)
		require.LessOrEqual(t, work.Printed, work.MostPrinted, "%.80s", c.text)
	}
}

func columns(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, ", 1 AS a%d", i)
	}
	return out.String()
}

// Grouping sets are counted before they are made.
func TestGroupingSetBounds(t *testing.T) {
	in := input(t)
	cube := "CUBE(" + strings.Repeat("id, ", 21) + "id)"
	for _, by := range []string{
		cube, cube + ", " + cube, "CUBE(" + strings.Repeat("id, ", 2000) + "id)", "ROLLUP(" + strings.Repeat("id, ", 2000) + "id)",
		"GROUPING SETS (" + strings.Repeat("id, ", 2000) + "id)", "GROUPING SETS (" + strings.Repeat("CUBE(id, status, discount), ", 100) + "id)",
		strings.Repeat("GROUPING SETS (id, status), ", 40) + "id",
	} {
		_, err := postgres.Translate(context.Background(), "SELECT 1 FROM orders GROUP BY "+by, in)
		require.ErrorContains(t, err, "more than 64 grouping sets", "%.60s", by)
		require.Equal(t, diag.UnsupportedPostgres, diag.CodeOf(err))
	}
	out, err := postgres.Translate(context.Background(), "SELECT count(*) FROM orders GROUP BY id, ROLLUP(id, discount), discount, id", in)
	require.ErrorContains(t, err, "two grouping sets are the same")
	require.Nil(t, out)
	out, err = postgres.Translate(context.Background(), "SELECT count(*) FROM orders GROUP BY id, CUBE(customer_id, discount), id", in)
	require.NoError(t, err)
	require.Contains(t, out.SQL, `GROUPING SETS (("orders"."id", "orders"."customer_id", "orders"."discount"), ("orders"."id", "orders"."customer_id"), ("orders"."id", "orders"."discount"), ("orders"."id"))`)
}

// What is empty in a place where DuckDB has nothing like it is refused by name.
func TestEmptyRowsAndArrays(t *testing.T) {
	in := input(t)
	for _, text := range []string{
		"SELECT ROW() = ROW()", "SELECT ROW() <> ROW()", "SELECT ROW() < ROW()", "SELECT ROW() IN (ROW())", "SELECT ROW()",
		"SELECT 1 = ANY (ARRAY[])", "SELECT 1 <> ALL (ARRAY[])", "SELECT ARRAY[]", "SELECT 1 FROM orders GROUP BY ROW()",
		"SELECT 1 FROM orders GROUP BY CUBE(ROW(), id)", "SELECT ROW() BETWEEN ROW() AND ROW()", "SELECT ROW() IS DISTINCT FROM ROW()",
	} {
		_, err := postgres.Translate(context.Background(), text, in)
		require.Equal(t, diag.UnsupportedPostgres, diag.CodeOf(err), "%s: %v", text, err)
	}
}

// Patterns that would take long wherever they are tried are refused, whether they are
// long as they stand or with their counts written out.
func TestLongPatterns(t *testing.T) {
	in := input(t)
	for _, e := range []string{
		"'a' ~ '" + strings.Repeat("a?", 20000) + "'", "'a' ~ '" + strings.Repeat("a?", 1001) + "'", "'a' !~* '" + strings.Repeat("a", 2001) + "'",
		"'a' ~ '" + strings.Repeat("a{0,900}", 200) + "'", "'a' ~ '(((a{9}){9}){9}){9}'", "regexp_replace('a', '" + strings.Repeat("b", 3000) + "', '')",
		"regexp_like('a', '" + strings.Repeat("b", 3000) + "')", "to_date('a', 'YYYY" + strings.Repeat("-", 3000) + "')", "'a' ~ '[" + strings.Repeat("b", 30000) + "]'",
	} {
		_, err := postgres.Translate(context.Background(), "SELECT "+e, in)
		require.ErrorContains(t, err, "a pattern of more than", "%.60s", e)
		require.Equal(t, diag.UnsupportedPostgres, diag.CodeOf(err))
	}
	_, err := postgres.Translate(context.Background(), `SELECT 'a' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 'b' ~ '(a|b{2,5})+c{10,}'`, in)
	require.NoError(t, err)
}

// A call that has ended translates nothing more.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := postgres.Translate(ctx, "SELECT 1", input(t)) // its parser does not look at ctx
	require.Equal(t, diag.RequestCancelled, diag.CodeOf(err))
}
