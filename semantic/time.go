package semantic

import "plumbline/semantic/diag"

// TimeSettings are the model's defaults for time.
type TimeSettings struct {
	Zone        string // IANA name; "" means UTC
	WeekStart   string // "monday" (default) or "sunday"
	FiscalStart int    // month 1..12 in which the fiscal year starts; 0 means 1
}

// Grains from finest to coarsest. The fiscal ones follow TimeSettings.FiscalStart;
// a bucket is named by its first day or instant.
var Grains = []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// The grains of the fiscal year, beside Grains.
const (
	FiscalQuarter = "fiscal_quarter"
	FiscalYear    = "fiscal_year"
)

// Calendar is a table with one row per day that says in which custom periods the
// day lies. Its grains may be asked of any time dimension of a day or finer.
type Calendar struct {
	Name        Name
	Description string
	Entity      Name
	Date        Name // date field, unique
	Grains      []CalendarGrain
	Pos         diag.Pos
}

// CalendarGrain is a custom period, such as a retail week: Start is the date field
// that holds the first day of the day's period.
type CalendarGrain struct {
	Name  Name
	Start Name
}
