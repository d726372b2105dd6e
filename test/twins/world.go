package main

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tenant is the subject's; rows of others are forbidden.
const tenant = "acme"

// table is one entity's rows as text, in the order of its columns.
type table struct {
	name    string
	columns []string
	rows    [][]string
}

// full makes World A: every row of three tenants. What the subject may not see
// is built to be noticed: foreign tenants are no numbers and no dates, foreign
// totals overflow, hidden mails differ.
func full(seed uint64) []table {
	r := rand.New(rand.NewPCG(seed, seed))
	return []table{customersOf(r), ordersOf(r), ticketsOf(r)}
}

func customersOf(r *rand.Rand) table {
	t := table{name: "customers", columns: []string{"id", "name", "email", "ssn", "region", "plan"}}
	for id := 1; id <= 90; id++ {
		t.rows = append(t.rows, []string{
			strconv.Itoa(id), fmt.Sprintf("customer %d", id), fmt.Sprintf("user%d@example.com", r.IntN(1000)),
			fmt.Sprintf("%03d-00-0000", r.IntN(60)), pick(r, "eu", "us", "apac"), pick(r, "free", "pro", "enterprise"),
		})
	}
	return t
}

func ordersOf(r *rand.Rand) table {
	t := table{name: "orders", columns: []string{"id", "customer_id", "order_date", "status", "total_cents", "tenant"}}
	for id := 1; id <= 300; id++ {
		owner, status, total := tenant, pick(r, "paid", "open", "refunded"), 1+r.Int64N(800)
		if id > 1 && r.IntN(3) > 0 {
			owner, status, total = pick(r, "globex", "initech"), pick(r, "paid", "secret", "0"), 9223372036854770000+r.Int64N(5000)
		}
		t.rows = append(t.rows, []string{
			strconv.Itoa(id), strconv.Itoa(1 + r.IntN(90)), fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(6), 1+r.IntN(28)),
			status, strconv.FormatInt(total, 10), owner,
		})
	}
	return t
}

func ticketsOf(r *rand.Rand) table {
	t := table{name: "support_tickets", columns: []string{"id", "customer_id", "created_at", "priority"}}
	for id := 1; id <= 120; id++ {
		t.rows = append(t.rows, []string{
			strconv.Itoa(id), strconv.Itoa(1 + r.IntN(90)), fmt.Sprintf("2026-%02d-%02d %02d:00:00", 1+r.IntN(6), 1+r.IntN(28), r.IntN(24)), pick(r, "low", "high"),
		})
	}
	return t
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// visible derives World B from World A: only what the subject may see. It is
// written against the rules in words and shares nothing with policy, rewrite or
// SQL. Rows keep their order.
func visible(all []table, seed uint64) []table {
	var out []table
	for _, t := range all {
		b := table{name: t.name, columns: t.columns}
		rekey := bijection(t, "ssn", seed)
		for _, row := range t.rows {
			row = slices.Clone(row)
			drop := false
			for i, column := range t.columns {
				switch {
				case column == "tenant":
					drop = row[i] != tenant
				case column == "email":
					row[i] = "hidden"
				case column == "ssn":
					row[i] = rekey[row[i]]
				}
			}
			if !drop {
				b.rows = append(b.rows, row)
			}
		}
		out = append(out, b)
	}
	return out
}

// bijection gives each value of a column another one: equal stays equal, and
// order, text and distance mean nothing any more.
func bijection(t table, column string, seed uint64) map[string]string {
	at := slices.Index(t.columns, column)
	out := map[string]string{}
	if at < 0 {
		return out
	}
	r := rand.New(rand.NewPCG(seed, 1))
	for _, row := range t.rows {
		out[row[at]] = ""
	}
	numbers := r.Perm(len(out))
	for i, value := range slices.Sorted(maps.Keys(out)) {
		out[value] = fmt.Sprintf("key-%c-%04d", 'z'-rune(numbers[i]%26), numbers[i])
	}
	return out
}

// writeCSV writes each table as dir/name.csv.
func writeCSV(dir string, tables []table) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, t := range tables {
		var b strings.Builder
		w := csv.NewWriter(&b)
		if err := w.WriteAll(append([][]string{t.columns}, t.rows...)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, t.name+".csv"), []byte(b.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}
