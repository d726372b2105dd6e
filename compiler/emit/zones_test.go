package emit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
)

// clockChanges are days around which a zone's clock does something odd: at
// midnight, by half an hour, or not at all.
var clockChanges = map[string][]string{
	"Europe/Copenhagen":   {"2024-03-31", "2024-10-27"},
	"America/New_York":    {"2024-03-10", "2024-11-03"},
	"America/Sao_Paulo":   {"2018-02-18", "2018-11-04"}, // at midnight
	"Asia/Beirut":         {"2024-03-31", "2024-10-27"}, // at midnight
	"America/Havana":      {"2024-03-10", "2024-11-03"}, // midnight comes twice
	"Australia/Lord_Howe": {"2024-04-07", "2024-10-06"}, // by half an hour
	"Asia/Kolkata":        {"2024-01-01"},               // half an hour off
	"Pacific/Apia":        {"2011-12-30"},               // a day that was left out
	"UTC":                 {"2024-01-01"},
}

// TestZonesAgreeWithGo compares days and hours of DuckDB's expressions, and the
// literals of filters, with Go's own reading of the zones (T34, T36).
func TestZonesAgreeWithGo(t *testing.T) {
	for zone, around := range clockChanges {
		t.Run(zone, func(t *testing.T) {
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			w := newWorld(t, modelOf(t, "zone "+zone+"\nentity e\n  at timestamptz\n  utc timestamp\n  measure n = count(*)"))
			byDay, byHour := map[string]int{}, map[string]int{}
			var rows []string
			for _, day := range around {
				start, err := time.Parse(time.DateOnly, day)
				require.NoError(t, err)
				for at := start.Add(-36 * time.Hour); at.Before(start.Add(60 * time.Hour)); at = at.Add(15 * time.Minute) {
					text := at.Format(time.DateTime)
					rows = append(rows, fmt.Sprintf("('%s+00', '%s')", text, text))
					local := at.In(loc)
					byDay[local.Format(time.DateOnly)]++
					sinceHour := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
					byHour[at.Add(-sinceHour).Format(time.DateTime)]++
				}
			}
			w.db.Exec(t, `INSERT INTO "plumbline"."base"."e" VALUES `+strings.Join(rows, ", "))
			for _, column := range []string{"at", "utc"} {
				require.Equal(t, byDay, counts(t, w, column, "day", time.DateOnly), column)
				require.Equal(t, byHour, counts(t, w, column, "hour", time.DateTime), column)
				for day, n := range byDay {
					filter := fmt.Sprintf(`{"metrics": ["n"], "filters": [{"field": %q, "op": "=", "values": [%q]}]}`, column, day)
					ranged := fmt.Sprintf(`{"metrics": ["n"], "time": [{"field": %q, "from": %q, "to": %q}]}`, column, day, day)
					require.Equal(t, fmt.Sprint(n), one(t, w, filter), "%s %s", column, day)
					require.Equal(t, fmt.Sprint(n), one(t, w, ranged), "%s %s", column, day)
				}
			}
		})
	}
}

func counts(t *testing.T, w *world, column, grain, layout string) map[string]int {
	text, _, err := w.compile(fmt.Sprintf(`{"metrics": ["n"], "dimensions": [{"name": %q, "grain": %q}]}`, column, grain), view{catalog: w.catalog}, metric.Options{Expressions: w.exprs})
	require.NoError(t, err)
	rows, err := w.db.Query(text.SQL)
	require.NoError(t, err)
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var at time.Time
		var n int
		require.NoError(t, rows.Scan(&at, &n))
		out[at.UTC().Format(layout)] += n
	}
	require.NoError(t, rows.Err())
	return out
}

func one(t *testing.T, w *world, question string) string {
	text, _, err := w.compile(question, view{catalog: w.catalog}, metric.Options{Expressions: w.exprs})
	require.NoError(t, err)
	return w.db.Rows(t, text.SQL)[0]
}
