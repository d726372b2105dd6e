package prove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
)

// accepted is a text that is proved, and its rules.
type accepted struct {
	text  string
	rules policy.Decision
}

// acceptedTexts gives the corpora of accepted texts, spelled out.
func acceptedTexts(t testing.TB) []accepted {
	t.Helper()
	var out []accepted
	for file, rules := range map[string]policy.Decision{"accepted": shopRules(), "related_accepted": relatedRules()} {
		raw, err := os.ReadFile("testdata/" + file + ".txt")
		require.NoError(t, err)
		for block := range strings.SplitSeq(string(raw), "\n\n") {
			_, block, _ = strings.Cut(block, "prove\n")
			if text, _, ok := strings.Cut(block, "\n----"); ok && !strings.Contains(text, "risk_score") {
				out = append(out, accepted{limited(fenced(text, rules)), rules})
			}
		}
	}
	slices.SortFunc(out, func(a, b accepted) int { return strings.Compare(a.text, b.text) })
	require.Greater(t, len(out), 35)
	return out
}

// twins are two shops that a subject cannot tell apart: the second lacks the
// rows its rules forbid, holds other values where it sees a mask or nothing, and has
// join keys renamed one to one.
func twins(t testing.TB) (a, b *ducktest.DB) {
	a, b = openShop(t), openShop(t)
	for _, db := range []*ducktest.DB{a, b} {
		db.Exec(t, "SET threads = 1")
		db.Exec(t, `INSERT INTO plumbline.base.products VALUES (1, 'toys', 'ball'), (2, 'toys', 'kite')`)
	}
	for i := range 12 {
		tenant := []string{"acme", "globex", "initech"}[i%3]
		order := fmt.Sprintf(`INSERT INTO plumbline.base.orders VALUES (%d, %d, DATE '2026-01-0%d', TIMESTAMP '2026-01-01', '%s', %d, %d.5, '%s', 'o', '%s')`,
			i, i%4, i%9+1, []string{"paid", "open", "secret-status"}[i%3], 100+i, i, tenant, tenant)
		item := fmt.Sprintf(`INSERT INTO plumbline.base.order_items VALUES (%d, 1, 1, 7, 700, '%s')`, i, tenant)
		ticket := fmt.Sprintf(`INSERT INTO plumbline.base.support_tickets VALUES (%d, %d, TIMESTAMP '2026-01-01', '%s', '%s')`, i, i%4, []string{"high", "low", "mid", "mid"}[i%4], tenant)
		customer := `INSERT INTO plumbline.base.customers VALUES (%d, 'n%s', '%s', 'p%d', 's%d', 'eu', '%s', '%s', %d, DATE '2026-01-01')`
		for _, stmt := range []string{order, item, ticket, fmt.Sprintf(customer, i, "ame", "mail", i, i%5, "plan", tenant, i)} {
			a.Exec(t, stmt)
		}
		if tenant == "acme" {
			b.Exec(t, order)
			b.Exec(t, item)
		}
		if tenant == "acme" || i%4 == 1 {
			b.Exec(t, ticket)
		}
		if tenant != "globex" || i == 1 { // a rule of order_items asks for customer 1
			b.Exec(t, fmt.Sprintf(customer, i, "-other", "hidden", i, 9-i%5, "hidden", tenant, 99))
		}
	}
	return a, b
}

// answer is the rows of a text as a sorted list, or that it failed. Failing is
// one answer: its text quotes values and never leaves the server.
func answer(db *ducktest.DB, text string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return failed(ctx)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	out := []string{}
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		if rows.Scan(cells...) != nil {
			return failed(ctx)
		}
		line := ""
		for _, c := range cells {
			line += fmt.Sprintf("%v\t", *c.(*any))
		}
		out = append(out, line)
	}
	if rows.Err() != nil {
		return failed(ctx)
	}
	slices.Sort(out)
	return out
}

func failed(ctx context.Context) []string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil
	}
	return []string{"failed"}
}

// TestTwinsTellNothing checks the oracle of FuzzTamper on the accepted texts,
// and that it would see a text without a fence.
func TestTwinsTellNothing(t *testing.T) {
	a, b := twins(t)
	items := 0
	for _, c := range acceptedTexts(t) {
		got := answer(a, c.text)
		require.Equal(t, got, answer(b, c.text), c.text)
		if strings.Contains(c.text, "order_items") {
			items += len(got)
		}
	}
	require.Positive(t, items, "a rule over related rows lets some through")
	for _, leak := range []string{
		`SELECT count(*) FROM "plumbline"."base"."orders"`,
		`SELECT count(*) FROM "plumbline"."base"."order_items"`,
		`SELECT "email" FROM "plumbline"."base"."customers" WHERE "tenant" = 'acme'`,
	} {
		require.NotEqual(t, answer(a, leak), answer(b, leak), leak)
	}
}

// words are what FuzzTamper puts into a text beside the text's own tokens.
var words = strings.Fields(`"tenant" "email" "risk_score" "ssn" "plan" tenant o c "plumbline" "base" "orders" "customers" orders
	OR AND NOT = <> IN IS NULL true false ( ) , . * 0 1 5 'acme' 'globex' OFFSET LIMIT WHERE SELECT FROM UNION ALL JOIN ON AS
	DISTINCT GROUP BY ORDER TABLESAMPLE WITH LATERAL EXISTS upper max count rowid #1 $1 ; -- /* */ ::INTEGER %`)

// tamper edits one token of text: it deletes, doubles, swaps, replaces or inserts.
func tamper(text string, op, at, with uint16) string {
	tokens := sqlast.Tokens(text)
	i := int(at) % len(tokens)
	t := tokens[i]
	word := words[int(with)%len(words)]
	if with%2 == 1 {
		other := tokens[int(with/2)%len(tokens)]
		word = text[other.Start:other.End]
	}
	switch op % 5 {
	case 0:
		return text[:t.Start] + " " + text[t.End:]
	case 1:
		return text[:t.End] + " " + text[t.Start:]
	case 2:
		return text[:t.Start] + " " + word + " " + text[t.End:]
	case 3:
		return text[:t.Start] + " " + word + " " + text[t.Start:]
	}
	if i+1 == len(tokens) {
		return text
	}
	n := tokens[i+1]
	return text[:t.Start] + text[n.Start:n.End] + text[t.End:n.Start] + text[t.Start:t.End] + text[n.End:]
}

// FuzzTamper edits accepted texts. Whatever prove still accepts must answer the
// same on both twins.
func FuzzTamper(f *testing.F) {
	corpus := acceptedTexts(f)
	a, b := twins(f)
	memo := &prove.Memo{}
	for n := range 400 {
		f.Add(uint16(n), uint16(n*7), uint16(n*13), uint16(n*31), uint16(n%2*n))
	}
	f.Fuzz(func(t *testing.T, text, op, at, with, again uint16) {
		from := corpus[int(text)%len(corpus)]
		mutant := tamper(from.text, op, at, with)
		if again > 0 && len(sqlast.Tokens(mutant)) > 0 {
			mutant = tamper(mutant, again, again/5, again/7)
		}
		in := under(a, mutant, from.rules)
		in.Memo = memo
		got, _, err := prove.Check(context.Background(), a, in)
		if err != nil {
			return
		}
		require.Equal(t, mutant, got.Text())
		x, y := answer(a, mutant), answer(b, mutant)
		if x != nil && y != nil {
			require.Equal(t, x, y, mutant)
		}
	})
}

// TestEveryFenceTokenMatters edits each token of a text in every way. A text that
// passes has the fence it had, but for plain columns that the subject has.
func TestEveryFenceTokenMatters(t *testing.T) {
	t.Run("own rows", func(t *testing.T) {
		everyTokenMatters(t, `SELECT c.id FROM [[customers: id, name, email]] AS c`, shopRules(), "id",
			[]string{"id", "phone", "ssn", "region", "tenant", "signed_up"})
	})
	t.Run("related rows", func(t *testing.T) {
		everyTokenMatters(t, `SELECT i.line FROM [[order_items: line]] AS i`, relatedRules(), "line",
			[]string{"order_id", "line", "product_id", "qty", "price_cents", "tenant"})
	})
}

func everyTokenMatters(t *testing.T, query string, rules policy.Decision, column string, has []string) {
	db := openShop(t)
	text := limited(fenced(query, rules))
	relations := strings.Count(text, `"base"`)
	rest, columns := fenceTree(t, db, text, relations)
	require.Equal(t, []string{column}, columns)
	memo, passed, refused := &prove.Memo{}, 0, 0
	for at := range sqlast.Tokens(text) {
		for op := range 5 {
			for with := at % 13; with < 2*len(words); with += 13 { // a different thirteenth at each place
				if with >= 13 && op != 2 && op != 3 {
					break
				}
				mutant := tamper(text, uint16(op), uint16(at), uint16(with))
				in := under(db, mutant, rules)
				in.Memo = memo
				if _, _, err := prove.Check(context.Background(), db, in); err != nil {
					refused++
					continue
				}
				passed++
				gotRest, gotColumns := fenceTree(t, db, mutant, relations)
				require.Equal(t, rest, gotRest, mutant)
				require.Subset(t, has, gotColumns, mutant)
			}
		}
	}
	require.Greater(t, refused, 500)
	require.Greater(t, passed, 10)
}

// fenceTree gives DuckDB's tree of the only fence of a text without places, with
// the sub-queries of its rule, and apart from it the plain columns of its select list.
func fenceTree(t testing.TB, db *ducktest.DB, text string, relations int) (rest string, columns []string) {
	t.Helper()
	raw, err := db.Serialize(context.Background(), text)
	require.NoError(t, err)
	var doc any
	require.NoError(t, json.Unmarshal(raw, &doc))
	var found []map[string]any
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "query_location")
			if from, ok := v["from_table"].(map[string]any); ok && from["schema_name"] != nil && from["schema_name"] != "" {
				found = append(found, v)
			}
			for _, item := range v {
				visit(item)
			}
		case []any:
			for _, item := range v {
				visit(item)
			}
		}
	}
	visit(doc)
	require.Len(t, found, relations, text)
	found[0]["select_list"] = slices.DeleteFunc(found[0]["select_list"].([]any), func(item any) bool {
		column := item.(map[string]any)
		if args, _ := column["children"].([]any); column["type"] == "OPERATOR_COALESCE" && len(args) == 2 {
			if null, _ := args[1].(map[string]any)["value"].(map[string]any); null["is_null"] == true {
				column = args[0].(map[string]any)
			}
		}
		names, ok := column["column_names"].([]any)
		if ok && len(names) == 1 {
			columns = append(columns, names[0].(string))
		}
		return ok && len(names) == 1
	})
	out, err := json.Marshal(found[0])
	require.NoError(t, err)
	return string(out), columns
}

// BenchmarkCheck is the proof of a question with three fences: with everything
// new, and with its rules and fences seen before.
func BenchmarkCheck(b *testing.B) {
	db := openShop(b)
	text := fenced(`SELECT c.region, date_trunc('month', o.order_date) AS m, sum(o.total_cents) AS revenue, count(*) AS n
		FROM [[orders: customer_id, order_date, total_cents, status | "status" = 'paid']] AS o JOIN [[customers: id, region]] AS c ON c.id = o.customer_id
		WHERE o.status = 'paid' AND EXISTS (SELECT 1 FROM [[support_tickets: customer_id, priority]] AS t WHERE t.customer_id = c.id AND t.priority = 'high')
		GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20`, shopRules())
	in := input(db, text)
	for name, memo := range map[string]*prove.Memo{"new": nil, "known": {}} {
		b.Run(name, func(b *testing.B) {
			in.Memo = memo
			for b.Loop() {
				if _, _, err := prove.Check(context.Background(), db, in); err != nil {
					b.Fatal(errors.Unwrap(err))
				}
			}
		})
	}
	b.Run("planner", func(b *testing.B) {
		for b.Loop() {
			if _, err := db.Check(context.Background(), []string{text}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
