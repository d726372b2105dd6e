package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/duck/ducktest"
)

// shapes are the shapes of row rules; each is one subject of testdata/random, and
// all let the same rows through.
var shapes = []string{"equal", "in", "or", "not", "prefix", "suffix", "contains", "since", "empty", "fields", "related"}

// storages are the ways in which the rows of a random world are held.
var storages = []string{"native", "parquet", "csv", "ndjson"}

// randomTables make World A of the random questions. Rows of the subject's tenant
// are tame. In the others stands what makes functions, casts and sums fail.
func randomTables(seed uint64) []table {
	r := rand.New(rand.NewPCG(seed, 2))
	tenants := table{name: "tenants", columns: []string{"name", "own"}, rows: [][]string{{tenant, "yes"}, {"globex", "no"}, {"initech", ""}}}
	return []table{peopleTable(r), ordersTable(r), itemsTable(r), tenants, edgesTable(r)}
}

// ruled are the values of the fields that the row rules read.
func ruled(r *rand.Rand, own bool) []string {
	if own {
		return []string{tenant, tenant, fmt.Sprintf("2026-0%d-02 03:04:05", 1+r.IntN(6)), ""}
	}
	return []string{pick(r, "globex", "initech"), pick(r, "elsewhere", ""), pick(r, "", "2025-12-31 23:59:59", "1999-01-01 00:00:00"), "2026-02-02"}
}

var ruledColumns = []string{"tenant", "home", "opened", "dropped"}

// either draws from the tame or from the wild values.
func either(r *rand.Rand, own bool, tame, wild []string) string {
	if own {
		return pick(r, tame...)
	}
	return pick(r, wild...)
}

func numbers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// wildTexts are what no function likes to read.
var wildTexts = []string{"(", `\`, "x", "-1", "1e400", "[", "{", "$.a", "%Y", "0", "secret word", "%", "é", "2026-13-01", "a;b", "NaN"}

func ordersTable(r *rand.Rand) table {
	t := table{name: "orders", columns: append(slices.Clone(ruledColumns), "id", "buyer", "code", "note", "amount", "price", "ratio",
		"n", "paid", "day", "at", "doc", "secret", "ssn", "risk", "inner")}
	for id := 1; id <= 42; id++ {
		own := id%3 == 1
		day := fmt.Sprintf("2026-%02d-%02d", 1+r.IntN(6), 1+r.IntN(28))
		t.rows = append(t.rows, append(ruled(r, own),
			strconv.Itoa(id), strconv.Itoa(1+r.IntN(20)),
			either(r, own, numbers(90), wildTexts),
			either(r, own, []string{"", "red", "blue", "a b"}, append(wildTexts, "red")),
			either(r, own, numbers(99), []string{"9223372036854775807", "-9223372036854775808", "0", "-1"}),
			either(r, own, []string{"1.25", "10.50", "0.75"}, []string{"9999999999.99", "-9999999999.99", "0.00"}),
			either(r, own, []string{"0.5", "1.25", "2", ""}, []string{"1e308", "-1e308", "0", "-3"}),
			either(r, own, []string{"1", "2", "3", "7", ""}, []string{"2147483647", "-2147483648", "0", "-5"}),
			either(r, own, []string{"true", "false", ""}, []string{"true", "false"}),
			either(r, own, []string{day}, []string{"0001-01-01", "9999-12-31", day}),
			either(r, own, []string{day + " 10:20:30"}, []string{"0001-01-01 00:00:00", "9999-12-31 23:59:59", day + " 00:00:00"}),
			either(r, own, []string{`{"a": 1, "b": [1, 2]}`, `[1, 2]`, `{"a": "x"}`}, []string{"{", "", "nul", `{"a": {}}`}),
			fmt.Sprintf("secret%d", r.IntN(1000)), fmt.Sprintf("%03d-00", r.IntN(20)), strconv.Itoa(r.IntN(9)), "private"+strconv.Itoa(id)))
	}
	return t
}

func peopleTable(r *rand.Rand) table {
	t := table{name: "people", columns: append(slices.Clone(ruledColumns), "id", "region", "name", "mail", "phone", "iban", "born", "joined", "salary", "points", "nick", "person", "secret", "ssn")}
	for id := 1; id <= 20; id++ {
		own := id%2 == 1
		t.rows = append(t.rows, append(ruled(r, own),
			strconv.Itoa(id), either(r, own, []string{"eu", "us", ""}, append(wildTexts, "eu")),
			pick(r, "Ann Smith", "Bo", "Annika", "Ömer K", "", "X"), pick(r, "a@x.org", "b@x.org", "c@x.org", ""), pick(r, "+49 1", "", "0"),
			pick(r, "DE0012", "FR7712", "NL9", "AB", ""), fmt.Sprintf("19%02d-%02d-11", 60+r.IntN(30), 1+r.IntN(12)),
			fmt.Sprintf("20%02d-%02d-11 01:02:03", 10+r.IntN(3), 1+r.IntN(12)), strconv.Itoa(r.IntN(9000)),
			strconv.Itoa(r.IntN(400)), pick(r, "ann", "bob", "bill", ""), pick(r, "p1", "p2", "p3"), fmt.Sprintf("secret%d", r.IntN(1000)), fmt.Sprintf("%03d-00", r.IntN(20))))
	}
	return t
}

// edgeColumns are the columns of edges by type.
var edgeColumns = map[string][2]string{"VARCHAR": {"t1", "t2"}, "BIGINT": {"b1", "b2"}, "INTEGER": {"i1", "i2"}, "DOUBLE": {"d1", "d2"},
	"DECIMAL(18,3)": {"c1", "c2"}, "DATE": {"y1", "y2"}, "TIMESTAMP": {"s1", "s2"}}

// edgesTable has tame rows, and among them rows of others with the edges that a text
// file may hold: few values, so that Parquet holds them in a dictionary.
func edgesTable(r *rand.Rand) table {
	t := table{name: "edges", columns: append(slices.Clone(ruledColumns), "id")}
	for id := 1; id <= 100; id++ {
		t.rows = append(t.rows, append(ruled(r, id%4 > 0), strconv.Itoa(id)))
	}
	plain := regexp.MustCompile(`^[^()]*$|^\($`)
	for _, typ := range slices.Sorted(maps.Keys(edgeColumns)) {
		var values []string
		for _, v := range ducktest.Edges[typ] {
			v = strings.ReplaceAll(strings.Trim(v, "'"), "''", "'")
			year, _, _ := strings.Cut(v, "-")
			if (typ != "DATE" && typ != "TIMESTAMP" || len(year) == 4) && plain.MatchString(v) && !slices.Contains([]string{"inf", "nan", "-inf", "1e-320"}, v) {
				values = append(values, v)
			}
		}
		for _, column := range edgeColumns[typ] {
			t.columns = append(t.columns, column)
			for i := range t.rows {
				value := values[0]
				if (i+1)%4 == 0 {
					value = pick(r, values...)
				}
				t.rows[i] = append(t.rows[i], value)
			}
		}
	}
	return t
}

func itemsTable(r *rand.Rand) table {
	t := table{name: "items", columns: []string{"order_id", "sku", "qty"}}
	for id := 1; id <= 42; id++ {
		for _, sku := range []string{"ball", "kite"}[:1+r.IntN(2)] {
			t.rows = append(t.rows, []string{strconv.Itoa(id), sku, pick(r, "1", "2", "5", "")})
		}
	}
	return t
}

// randomVisible derives World B: the rows of the subject's tenant, other values
// where the subject sees nothing or a mask, and other join keys, one to one. It is
// written against the rules in words, as visible is.
func randomVisible(all []table, seed uint64) []table {
	rekey := bijectionOver("ssn", all, seed)
	var out []table
	for _, t := range all {
		b := table{name: t.name, columns: t.columns}
		for _, row := range t.rows {
			if t.name == "tenants" && row[0] != tenant {
				continue
			}
			if at := slices.Index(t.columns, "tenant"); at >= 0 && row[at] != tenant {
				continue
			}
			row = slices.Clone(row)
			for i, column := range t.columns {
				switch {
				case column == "secret" || column == "inner":
					row[i] = "hidden"
				case column == "ssn":
					row[i] = rekey[row[i]]
				case t.name == "people":
					row[i] = sameMask(column, row[i])
				}
			}
			b.rows = append(b.rows, row)
		}
		out = append(out, b)
	}
	return out
}

// sameMask gives another value of a masked column that looks the same behind its mask.
func sameMask(column, value string) string {
	letters := []rune(value)
	switch column {
	case "name": // the first two letters, if there are more
		if len(letters) > 2 {
			return string(letters[:2]) + "other name"
		}
		return "?"
	case "iban": // the last three
		if len(letters) > 3 {
			return "other" + string(letters[len(letters)-3:])
		}
		return "??"
	case "phone": // nothing
		return "none"
	case "born", "joined": // the year
		return value[:4] + "-07-07" + value[10:]
	case "salary": // nothing
		return "0"
	case "points": // the hundreds
		n, _ := strconv.Atoi(value) // always a number
		return strconv.Itoa(n - n%100 + 7)
	case "nick": // the first letter
		if value != "" {
			return value[:1] + "other"
		}
	}
	return value
}

// bijectionOver is bijection over the columns of that name in all tables.
func bijectionOver(column string, all []table, seed uint64) map[string]string {
	union := table{columns: []string{column}}
	for _, t := range all {
		if at := slices.Index(t.columns, column); at >= 0 {
			for _, row := range t.rows {
				union.rows = append(union.rows, []string{row[at]})
			}
		}
	}
	return bijection(union, column, seed)
}

// writeRandom writes the workspace of the random questions with the given rows.
func writeRandom(dir, storage string, tables []table) error {
	if err := os.CopyFS(dir, os.DirFS("testdata/random")); err != nil {
		return err
	}
	format := map[string]string{"native": "csv"}[storage]
	if format == "" {
		format = storage
	}
	model := filepath.Join(dir, "models", "shop.cue")
	raw, err := os.ReadFile(model)
	if err != nil {
		return err
	}
	if err := os.WriteFile(model, []byte(strings.ReplaceAll(string(raw), ".FORMAT", "."+format)), 0o600); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	switch format {
	case "ndjson":
		return writeNDJSON(data, tables)
	case "parquet":
		if err := writeCSV(data, tables); err != nil {
			return err
		}
		return toParquet(context.Background(), data, tables)
	}
	return writeCSV(data, tables)
}

// writeNDJSON writes each table as dir/name.ndjson; an empty text is null, as in CSV.
func writeNDJSON(dir string, tables []table) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, t := range tables {
		var b strings.Builder
		for _, row := range t.rows {
			cells := make([]string, len(row))
			for i, value := range row {
				cells[i] = strconv.Quote(t.columns[i]) + ": " + jsonValue(types[t.columns[i]], value)
			}
			b.WriteString("{" + strings.Join(cells, ", ") + "}\n")
		}
		if err := os.WriteFile(filepath.Join(dir, t.name+".ndjson"), []byte(b.String()), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func jsonValue(typ, value string) string {
	switch typ {
	case "BIGINT", "INTEGER", "DOUBLE", "DECIMAL(12,2)", "DECIMAL(18,3)", "BOOLEAN":
		if value != "" {
			return value
		}
	default:
		if value != "" {
			raw, _ := json.Marshal(value) // text always marshals
			return string(raw)
		}
	}
	return "null"
}

// twinEngines are two engines over the worlds of one storage.
type twinEngines struct {
	storage string
	a, b    server
}

// openTwins opens both worlds of each storage.
func openTwins(t testing.TB) []twinEngines {
	t.Helper()
	all := randomTables(seed)
	worlds := [][]table{all, randomVisible(all, seed)}
	clock := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	var out []twinEngines
	for _, storage := range storages {
		pair := [2]server{}
		for i, tables := range worlds {
			dir := filepath.Join(t.TempDir(), storage)
			require.NoError(t, writeRandom(dir, storage, tables))
			e, err := engine.Open(context.Background(), dir, engine.Options{Temp: filepath.Join(dir, "temp"), Materialize: storage == "native",
				Now: func() time.Time { return clock }})
			require.NoError(t, err)
			pair[i] = server{engine: e}
			t.Cleanup(func() { require.NoError(t, e.Close()) })
		}
		out = append(out, twinEngines{storage, pair[0], pair[1]})
	}
	return out
}
