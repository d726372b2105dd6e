package metric

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func TestParsePeriod(t *testing.T) {
	for text, want := range map[string]semantic.Period{
		"7 days": {N: 7, Unit: "day"}, "1 day": {N: 1, Unit: "day"}, " 3  Months ": {N: 3, Unit: "month"},
		"1 year": {N: 1, Unit: "year"}, "52 weeks": {N: 52, Unit: "week"}, "24 hours": {N: 24, Unit: "hour"},
		"2 fiscal_quarters": {N: 2, Unit: "fiscal_quarter"}, "1 fiscal year": {N: 1, Unit: "fiscal_year"},
	} {
		got, ok := ParsePeriod(text)
		require.True(t, ok, text)
		require.Equal(t, want, got, text)
		again, ok := ParsePeriod(PeriodText(got))
		require.True(t, ok && again == got, PeriodText(got))
	}
	for _, text := range []string{"", "days", "0 days", "-1 days", "1.5 months", "3 fortnights", "3 dayss", "last 3 days", "3days", "3 days ago", "999999 years", "1 fiscal month", "1 month 2 days"} {
		_, ok := ParsePeriod(text)
		require.False(t, ok, text)
	}
}

func TestAddPeriod(t *testing.T) {
	for _, c := range []struct {
		from, period string
		n            int
		want         string
	}{
		{"2024-03-31", "1 month", -1, "2024-02-29"},
		{"2023-03-31", "1 month", -1, "2023-02-28"},
		{"2024-01-31", "1 month", 1, "2024-02-29"},
		{"2024-02-29", "1 year", -1, "2023-02-28"},
		{"2024-05-31", "1 quarter", -1, "2024-02-29"},
		{"2024-01-15", "1 month", -13, "2022-12-15"},
		{"2024-06-10", "52 weeks", -1, "2023-06-12"}, // T52: a Monday stays one
		{"2024-03-01", "1 day", -1, "2024-02-29"},
		{"2024-04-01", "2 fiscal_quarters", -1, "2023-10-01"},
	} {
		from, err := time.Parse(time.DateOnly, c.from)
		require.NoError(t, err)
		p, ok := ParsePeriod(c.period)
		require.True(t, ok)
		require.Equal(t, c.want, AddPeriod(from, p, c.n).Format(time.DateOnly), "%+v", c)
	}
}

func TestPeriodFits(t *testing.T) {
	for _, c := range []struct{ grain, period, hint string }{
		{"day", "1 month", ""}, {"day", "1 day", ""}, {"day", "1 year", ""},
		{"week", "1 week", ""}, {"week", "14 days", ""}, {"week", "10 days", "move by a multiple of 7 days"},
		{"week", "1 year", "a year or month is no number of whole weeks; 52 weeks keeps the weekdays"},
		{"week", "1 quarter", "a year or month is no number of whole weeks; 13 weeks keeps the weekdays"},
		{"week", "1 month", "a year or month is no number of whole weeks; 4 weeks keeps the weekdays"},
		{"week", "24 months", "a year or month is no number of whole weeks; 104 weeks keeps the weekdays"},
		{"month", "1 month", ""}, {"month", "1 year", ""}, {"month", "30 days", "move by whole months, or ask by day"},
		{"quarter", "3 months", ""}, {"quarter", "1 month", "move by whole quarters, or ask by day"},
		{"year", "4 quarters", ""}, {"year", "1 quarter", "move by whole years, or ask by day"},
		{"fiscal_year", "1 year", ""}, {"fiscal_quarter", "1 year", ""}, {"fiscal_quarter", "2 months", "move by whole fiscal quarters, or ask by day"},
		{"hour", "1 day", "ask by one of day, week, month, quarter, year, fiscal_quarter, fiscal_year"},
		{"retail_week", "1 week", "ask by one of day, week, month, quarter, year, fiscal_quarter, fiscal_year"},
		{"day", "3 hours", "move by days, weeks, months, quarters or years"},
	} {
		p, ok := ParsePeriod(c.period)
		require.True(t, ok)
		err := PeriodFits(c.grain, p)
		if c.hint == "" {
			require.Nil(t, err, "%+v", c)
			continue
		}
		require.NotNil(t, err, "%+v", c)
		require.Equal(t, diag.MetricGrain, err.Code)
		require.Equal(t, c.hint, err.Hint)
	}
}

func TestPlus(t *testing.T) {
	require.Equal(t, `("k" - 14)`, Plus(`"k"`, semantic.Period{N: 2, Unit: "week"}, -1))
	require.Equal(t, `("k" + 3)`, Plus(`"k"`, semantic.Period{N: 1, Unit: "day"}, 3))
	require.Equal(t, `CAST(("k" - INTERVAL 12 MONTH) AS DATE)`, Plus(`"k"`, semantic.Period{N: 1, Unit: "year"}, -1))
	require.Equal(t, `CAST(("k" + INTERVAL 6 MONTH) AS DATE)`, Plus(`"k"`, semantic.Period{N: 1, Unit: "quarter"}, 2))
}

// The first day of a bucket, and of the next one. 2024-09-01 is a Sunday (T39).
func TestBuckets(t *testing.T) {
	for _, c := range []struct {
		b                Bucket
		day, first, next string
	}{
		{Bucket{Grain: "day"}, "2024-09-01", "2024-09-01", "2024-09-02"},
		{Bucket{Grain: "week"}, "2024-09-01", "2024-08-26", "2024-09-02"},
		{Bucket{Grain: "week", Sunday: true}, "2024-09-01", "2024-09-01", "2024-09-08"},
		{Bucket{Grain: "week", Sunday: true}, "2024-09-07", "2024-09-01", "2024-09-08"},
		{Bucket{Grain: "month"}, "2024-02-29", "2024-02-01", "2024-03-01"},
		{Bucket{Grain: "quarter"}, "2024-12-31", "2024-10-01", "2025-01-01"},
		{Bucket{Grain: "year"}, "2024-02-29", "2024-01-01", "2025-01-01"},
		{Bucket{Grain: "fiscal_year", Fiscal: 4}, "2024-03-31", "2023-04-01", "2024-04-01"},
		{Bucket{Grain: "fiscal_year", Fiscal: 4}, "2024-04-01", "2024-04-01", "2025-04-01"},
		{Bucket{Grain: "fiscal_quarter", Fiscal: 4}, "2024-03-31", "2024-01-01", "2024-04-01"},
		{Bucket{Grain: "fiscal_quarter", Fiscal: 2}, "2024-01-31", "2023-11-01", "2024-02-01"},
		{Bucket{Grain: "fiscal_quarter", Fiscal: 12}, "2024-11-30", "2024-09-01", "2024-12-01"},
		{Bucket{Grain: "fiscal_year"}, "2024-06-30", "2024-01-01", "2025-01-01"},
	} {
		day, err := time.Parse(time.DateOnly, c.day)
		require.NoError(t, err)
		first := c.b.First(day)
		require.Equal(t, c.first, first.Format(time.DateOnly), "%+v", c)
		require.Equal(t, c.next, c.b.Next(first).Format(time.DateOnly), "%+v", c)
	}
}

func TestShiftRange(t *testing.T) {
	for _, c := range []struct{ from, to, period, wantFrom, wantTo string }{
		{"2024-04-01", "2024-04-30", "1 month", "2024-03-01", "2024-03-31"}, // T51: the 31st is not lost
		{"2024-03-01", "2024-03-31", "1 month", "2024-02-01", "2024-02-29"},
		{"2024-02-01", "2024-02-29", "1 year", "2023-02-01", "2023-02-28"},
		{"2024-03-30", "2024-03-30", "1 month", "2024-02-29", "2024-02-29"}, // clamped, and not empty
		{"2024-01-08", "2024-01-10", "7 days", "2024-01-01", "2024-01-03"},  // T46
		{"2024-06-10", "2024-06-16", "52 weeks", "2023-06-12", "2023-06-18"},
		{"2024-03-05", "", "1 quarter", "2023-12-05", ""},
		{"", "2024-12-31", "1 quarter", "", "2024-09-30"},
		{"2024-05-31 10:00", "2024-06-30 10:00:00.5", "1 month", "2024-04-30 10:00:00", "2024-05-30 10:00:00.5"},
		{"2024-04-30T22:30:00Z", "", "1 month", "2024-03-31 22:30:00Z", ""}, // 00:30 on May 1st becomes April 1st
		{"2024-04-30T22:00:00Z", "", "1 quarter", "2024-01-31 23:00:00Z", ""},
	} {
		p, ok := ParsePeriod(c.period)
		require.True(t, ok)
		got := shiftRange(TimeRange{Field: "at", From: c.from, To: c.to}, p, "Europe/Copenhagen")
		require.Equal(t, TimeRange{Field: "at", From: c.wantFrom, To: c.wantTo}, got, "%+v", c)
	}
}
