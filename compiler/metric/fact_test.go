package metric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A bucket is complete when the data go past its end, or reach its last day and
// it is over (T55).
func TestComplete(t *testing.T) {
	const cph, ny = "Europe/Copenhagen", "America/New_York"
	for _, c := range []struct {
		b                 Bucket
		bucket, upTo, now string
		want              bool
	}{
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "2024-02-01", "2024-02-05", "2024-05-15T12:00:00Z", false}, // T55: five days of a month
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "2024-01-01", "2024-02-05", "2024-02-05T12:00:00Z", true},
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "2024-02-01", "2024-02-28", "2024-03-01T00:00:00Z", false}, // the 29th is missing
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "2024-02-01", "2024-02-29", "2024-03-01T00:00:00Z", true},
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "2024-02-01", "2024-02-29", "2024-02-29T23:00:00Z", false}, // not over
		{Bucket{Grain: "month", Type: "date", Shown: cph}, "2024-02-01", "2024-02-29", "2024-02-29T23:00:00Z", true},  // but over in Copenhagen
		{Bucket{Grain: "week", Type: "date", Shown: utc}, "2024-08-26", "2024-09-01", "2024-09-02T00:00:00Z", true},
		{Bucket{Grain: "week", Type: "date", Shown: utc, Sunday: true}, "2024-09-01", "2024-09-01", "2024-09-02T00:00:00Z", false},
		{Bucket{Grain: "day", Type: "date", Shown: utc}, "2024-05-15", "2024-05-15", "2024-05-15T12:00:00Z", false},
		{Bucket{Grain: "day", Type: "date", Shown: utc}, "2024-05-15", "2024-05-16", "2024-05-15T12:00:00Z", true}, // future rows: the data go past it
		{Bucket{Grain: "fiscal_year", Type: "date", Shown: utc, Fiscal: 4}, "2023-04-01", "2024-03-31", "2024-04-01T00:00:00Z", true},
		{Bucket{Grain: "fiscal_year", Type: "date", Shown: utc, Fiscal: 4}, "2024-04-01", "2024-12-31", "2025-01-01T00:00:00Z", false},
		// 03:00Z on March 1 is still February in New York
		{Bucket{Grain: "month", Type: "timestamptz", Shown: ny}, "2024-02-01", "2024-03-01T03:00:00Z", "2024-03-01T04:00:00Z", false},
		{Bucket{Grain: "month", Type: "timestamptz", Shown: ny}, "2024-02-01", "2024-03-01T03:00:00Z", "2024-03-01T05:00:00Z", true},
		{Bucket{Grain: "month", Type: "timestamptz", Shown: ny}, "2024-02-01", "2024-03-01T05:00:00Z", "2024-03-01T05:00:00Z", true},
		{Bucket{Grain: "day", Type: "timestamp", Stored: cph, Shown: cph}, "2024-03-31", "2024-03-31T23:30:00", "2024-03-31T22:00:00Z", true},
		{Bucket{Grain: "hour", Type: "timestamptz", Shown: cph}, "2024-10-27T00:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T00:59:00Z", false},
		{Bucket{Grain: "hour", Type: "timestamptz", Shown: cph}, "2024-10-27T00:00:00Z", "2024-10-27T00:30:00Z", "2024-10-27T01:00:00Z", true},
		{Bucket{Grain: "hour", Type: "timestamptz", Shown: cph}, "2024-10-27T00:00:00Z", "2024-10-26T12:00:00Z", "2024-10-28T01:00:00Z", false},
		{Bucket{Grain: "month", Type: "date", Shown: utc}, "(other)", "2024-02-05", "2024-05-15T12:00:00Z", false},
	} {
		upTo, ok := c.b.Instant(c.upTo)
		require.True(t, ok, c.upTo)
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		require.Equal(t, c.want, c.b.Complete(c.bucket, upTo, now), "%+v", c)
	}
	at, _ := Bucket{Type: "timestamptz"}.Instant("2024-03-31T22:30:00.5Z")
	require.Equal(t, "2024-04-01T00:30:00+02:00", Bucket{Type: "timestamptz", Shown: cph}.Local(at))
	_, ok := Bucket{Type: "date"}.Instant("infinity")
	require.False(t, ok)
}

// Data that are dated by the first day of a month fill the month that they come up to.
func TestCompleteByFinestGrain(t *testing.T) {
	const cph = "Europe/Copenhagen"
	month := Bucket{Grain: "month", Type: "date", Shown: utc}
	quarter := Bucket{Grain: "quarter", Type: "date", Shown: utc}
	local := Bucket{Grain: "month", Type: "timestamp", Stored: cph, Shown: cph}
	for _, c := range []struct {
		b                         Bucket
		finest, bucket, upTo, now string
		want                      bool
	}{
		{month, "month", "2026-06-01", "2026-06-01", "2026-07-15T12:00:00Z", true},
		{month, "day", "2026-06-01", "2026-06-01", "2026-07-15T12:00:00Z", false},
		{month, "", "2026-06-01", "2026-06-01", "2026-07-15T12:00:00Z", false},
		{month, "month", "2026-06-01", "2026-06-02", "2026-07-15T12:00:00Z", false}, // dated by day, whatever it offers
		{month, "month", "2026-06-01", "2026-06-01", "2026-06-30T12:00:00Z", false}, // June is not over
		{month, "quarter", "2026-06-01", "2026-04-01", "2026-07-01T00:00:00Z", true},
		{quarter, "month", "2026-04-01", "2026-06-01", "2026-07-15T12:00:00Z", true},
		{quarter, "month", "2026-04-01", "2026-05-01", "2026-07-15T12:00:00Z", false},
		{local, "month", "2026-03-01", "2026-03-01T00:00:00", "2026-03-31T22:00:00Z", true}, // over in Copenhagen
		{local, "month", "2026-03-01", "2026-03-01T00:00:01", "2026-03-31T22:00:00Z", false},
	} {
		upTo, ok := c.b.Instant(c.upTo)
		require.True(t, ok)
		now, err := time.Parse(time.RFC3339, c.now)
		require.NoError(t, err)
		require.Equal(t, c.want, Fact{Bucket: c.b, Finest: c.finest}.Complete(c.bucket, upTo, now), "%+v", c)
	}
}

// What literal writes is read back as the same moment.
func TestMomentOfLiteral(t *testing.T) {
	for _, b := range []Bucket{
		{Type: "date", Shown: utc}, {Type: "timestamp", Stored: utc, Shown: "Asia/Kolkata"},
		{Type: "timestamp", Stored: "Europe/Copenhagen", Shown: utc}, {Type: "timestamptz", Shown: "Asia/Kolkata"},
	} {
		day, _ := parseMoment("2026-07-01")
		sql, ok := b.literal(day)
		require.True(t, ok)
		at, ok := b.moment(sql)
		want, _ := b.instantOf(day)
		require.True(t, ok && want.Equal(at), "%+v %s %s", b, sql, at)
	}
}
