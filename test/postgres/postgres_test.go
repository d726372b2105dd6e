package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/engine/duck"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

func TestMain(m *testing.M) {
	duck.WorkerMain() // does not return in a worker process
	os.Exit(m.Run())
}

var opened = sync.OnceValues(func() (*engine.Engine, error) {
	temp, err := os.MkdirTemp("", "plumbline-postgres-test-")
	if err != nil {
		return nil, err
	}
	return engine.Open(context.Background(), "testdata/workspace", engine.Options{Temp: filepath.Join(temp, "temp"), AuditTo: filepath.Join(temp, "audit.jsonl")})
})

func ask(t *testing.T, sql string) (*engine.Answer, error) {
	t.Helper()
	e, err := opened()
	require.NoError(t, err)
	s, ok := e.Subject("all")
	require.True(t, ok)
	return askAs(e, s, sql)
}

func askAs(e *engine.Engine, s policy.Subject, sql string) (*engine.Answer, error) {
	return e.Answer(context.Background(), engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: sql, Dialect: engine.DialectPostgres, ShowSQL: true, Asked: json.RawMessage(`{}`)})
}

// least is how many cases of each suite must be answered as PostgreSQL does.
var least = map[string]int{"expressions": 300, "queries": 60}

// Every case of the corpus gives PostgreSQL's answer: names, values, order and
// failures. What is refused is no case here; it stands in unsupported.
func TestAnswersArePostgres(t *testing.T) {
	for _, suite := range suites {
		t.Run(suite, func(t *testing.T) {
			cases, err := readCases("testdata", suite)
			require.NoError(t, err)
			want, err := readAnswers("testdata", suite)
			require.NoError(t, err)
			require.Len(t, want, len(cases), "record the answers anew: tools/postgres.sh go run ./test/postgres -record")
			equal := 0
			for i, c := range cases {
				require.Equal(t, c.sql, want[i].sql, "record the answers anew")
				if t.Run(fmt.Sprint(i), func(t *testing.T) { compare(t, c.sql, want[i]) }) && want[i].failed == "" {
					equal++
				}
			}
			t.Logf("%s: %d of %d cases are answered as by PostgreSQL, the others fail as there", suite, equal, len(cases))
			require.GreaterOrEqual(t, equal, least[suite])
		})
	}
}

func compare(t *testing.T, sql string, want answer) {
	got, err := ask(t, sql)
	if want.failed != "" {
		require.Error(t, err, "PostgreSQL fails with %s:\n%s", want.failed, sql)
		require.Equal(t, diag.ExecuteFailed, diag.CodeOf(err), "%s\n%v", sql, err)
		return
	}
	require.NoError(t, err, sql)
	var names []string
	for _, c := range got.Table.Columns {
		names = append(names, c.Name)
	}
	types := make([]string, len(want.columns))
	for i, c := range want.columns {
		name, of, _ := strings.Cut(c, "|")
		types[i] = of
		require.Equal(t, name, names[i], "%s\n%s", sql, got.SQL)
	}
	require.Len(t, names, len(types), sql)
	mine, theirs := rowsOf(t, got.Table, types), rowsOfText(t, want.rows, types)
	if !strings.Contains(sql, "ORDER BY") {
		slices.SortFunc(mine, slices.Compare)
		slices.SortFunc(theirs, slices.Compare)
	}
	require.Len(t, mine, len(theirs), "%s\n%s", sql, got.SQL)
	for i := range theirs {
		for k := range theirs[i] {
			if !same(types[k], got.Table.Columns[k].Type, mine[i][k], theirs[i][k]) {
				t.Fatalf("%s\nrow %d, column %d (%s): plumbline %s, PostgreSQL %s\n%s", sql, i, k, types[k], mine[i][k], theirs[i][k], got.SQL)
			}
		}
	}
}

// same compares two values by their type. Numbers of double precision may differ by
// one part in 10^13; so may numerics that plumbline answers as doubles. All else is
// equal to the last digit.
func same(of, here, mine, theirs string) bool {
	if mine == theirs {
		return true
	}
	if mine == null || theirs == null || of != "double precision" && !(strings.HasPrefix(of, "numeric") && here == "DOUBLE") {
		return false
	}
	a, okA := new(big.Rat).SetString(mine)
	b, okB := new(big.Rat).SetString(theirs)
	if !okA || !okB {
		return false
	}
	size := new(big.Rat).Abs(b)
	diff := new(big.Rat).Sub(a, b)
	return diff.Abs(diff).Mul(diff, big.NewRat(1e13, 1)).Cmp(size) <= 0
}

// rowsOf writes an answer's values in one form for each type.
func rowsOf(t *testing.T, table *shape.Table, types []string) [][]string {
	raw, err := json.Marshal(table.Rows)
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var rows [][]any
	require.NoError(t, d.Decode(&rows))
	out := make([][]string, len(rows))
	for i, row := range rows {
		for k, v := range row {
			out[i] = append(out[i], canonical(t, types[k], v))
		}
	}
	return out
}

func rowsOfText(t *testing.T, rows [][]string, types []string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for k, s := range row {
			var v any = s
			if s == null {
				v = nil
			}
			out[i] = append(out[i], canonical(t, types[k], v))
		}
	}
	return out
}

func canonical(t *testing.T, of string, v any) string {
	if v == nil {
		return null
	}
	s := fmt.Sprint(v)
	switch base, _, _ := strings.Cut(of, "("); base {
	case "smallint", "integer", "bigint", "numeric", "double precision":
		if r, ok := new(big.Rat).SetString(s); ok {
			return r.RatString()
		}
	case "boolean":
		if long := map[string]string{"t": "true", "f": "false"}[s]; long != "" {
			return long
		}
	case "timestamp without time zone", "timestamp with time zone":
		for _, layout := range []string{"2006-01-02 15:04:05.999999", "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999Z07", "2006-01-02T15:04:05.999999Z07:00", "2006-01-02 15:04:05.999999Z07:00"} {
			if at, err := time.Parse(layout, s); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		t.Fatalf("no time: %s", s)
	case "interval":
		return duration(t, s)
	case "jsonb":
		var doc any
		if text, ok := v.(string); ok && json.Unmarshal([]byte(text), &doc) == nil {
			v = doc
		}
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	case "integer[]", "text[]", "bigint[]":
		if list, ok := v.([]any); ok {
			var parts []string
			for _, e := range list {
				if e == nil {
					e = "NULL"
				}
				parts = append(parts, fmt.Sprint(e))
			}
			return strings.Join(parts, ",")
		}
		return strings.NewReplacer(`"`, "", `\\`, `\`).Replace(strings.Trim(s, "{}"))
	}
	return s
}

var isoInterval = regexp.MustCompile(`^P(-?[0-9]+)M(-?[0-9]+)DT(-?[0-9.]+)S$`)

// duration writes an interval as months, days and microseconds.
func duration(t *testing.T, s string) string {
	var months, days int
	var rest time.Duration
	if iso := isoInterval.FindStringSubmatch(s); iso != nil {
		months, _ = strconv.Atoi(iso[1])
		days, _ = strconv.Atoi(iso[2])
		rest, err := time.ParseDuration(iso[3] + "s")
		require.NoError(t, err, s)
		return fmt.Sprintf("%d months %d days %s", months, days, rest)
	}
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		if clock := strings.Split(words[i], ":"); len(clock) == 3 {
			sign := time.Duration(1)
			if strings.HasPrefix(clock[0], "-") {
				sign = -1
			}
			d, err := time.ParseDuration(strings.TrimLeft(clock[0], "+-") + "h" + clock[1] + "m" + clock[2] + "s")
			require.NoError(t, err, s)
			rest += sign * d
			continue
		}
		var n int
		_, err := fmt.Sscan(words[i], &n)
		require.NoError(t, err, s)
		i++
		switch strings.TrimSuffix(words[i], "s") {
		case "year":
			months += 12 * n
		case "mon", "month":
			months += n
		case "day":
			days += n
		default:
			t.Fatalf("no interval: %s", s)
		}
	}
	return fmt.Sprintf("%d months %d days %s", months, days, rest)
}

// What is refused, with its reason. A case that is answered one day fails here.
func TestUnsupported(t *testing.T) {
	datadriven.RunTest(t, "testdata/unsupported", func(t *testing.T, td *datadriven.TestData) string {
		_, err := ask(t, td.Input)
		if err == nil {
			return "answered"
		}
		return strings.TrimSpace(err.Error())
	})
}
