package metric

import (
	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Plan is an answerable question: what to aggregate and how to put it together.
// It is never changed after Build.
type Plan struct {
	Frames      []*Frame // the first gives the rows of the answer
	Keys        []Key    // what rows are grouped by, in the question's order
	Metrics     []Metric // in the question's order
	Having      []Condition
	Order       []OrderTerm // completed with the keys
	Limit       int         // 0 means none; the text fetches one row more
	LimitSource string      // "question" or "default"; "" when there is none
	Applied     []AppliedFilter
	Warnings    []string // what a reader of the answer would not expect
	Conditions  int      // how many Conditions the plan holds, all told
	Zone        string   // IANA name of the zone whose days are meant, "UTC" included
	WeekStart   string   // monday or sunday
}

// Main is the frame that gives the rows of the answer.
func (p *Plan) Main() *Frame { return p.Frames[0] }

// Frame is a set of facts under one set of filters and keys: each fact aggregated
// alone, then put together by the keys.
type Frame struct {
	Legs   []*Leg  // one per fact
	Leaves []*Leaf // all aggregates, in the order of first use
	Keys   []Key   // what its rows are grouped by
}

// Key is one group key of the answer. How each fact computes it stands in Leg.Keys.
type Key struct {
	Label string // column name of the answer
	Grain string // time buckets
	Type  semantic.Type
}

// Metric is one metric column of the answer.
type Metric struct {
	Label  string
	Value  Value
	Type   semantic.Type // "" when only the engine knows
	Unit   string
	Format string
}

// Value is a Leaf or a Ratio.
type Value interface{ value() }

// Ratio is Num / nullif(Den, 0), as DOUBLE.
type Ratio struct{ Num, Den Value }

func (*Leaf) value()  {}
func (*Ratio) value() {}

// Leaf is one aggregate over the rows of one entity.
type Leaf struct {
	Index   int // in Plan.Leaves
	Leg     *Leg
	Agg     semantic.Agg
	Arg     *Expr  // nil: count rows
	Filters []Expr // of the measure and of the metric
	Fill    *int   // where the fact has no row for the group
	Type    semantic.Type
}

// Leg is one fact with its joins and filters, aggregated to the plan's keys.
type Leg struct {
	Tables []*Table    // the fact first, a parent before its children
	Keys   []Operand   // one per key of its frame
	Where  []Condition // of the caller, and the fact's own model filters
}

// Table is one reference to an entity. Number is unique in the plan.
type Table struct {
	Number  int
	Entity  *semantic.Entity
	Parent  *Table // nil for the fact
	Join    *semantic.Relationship
	Inner   bool
	Filters []Condition // the model's filters on a joined entity: they stand in ON, so its rows go and the fact's stay

	Day  *Operand // a calendar's table: its Join has no pairs, Date is the day of this
	Date semantic.Name

	path string // role names from the fact
}

// Operand is what a key or a filter reads: a column, cut into buckets when
// Bucket is set; or, for filters after aggregation, a metric.
type Operand struct {
	Table  *Table
	Column semantic.Name
	Bucket *Bucket
	Metric *Metric
}

// Bucket cuts a time column. Zones are IANA names, "UTC" included, never "".
type Bucket struct {
	Grain  string
	Type   semantic.Type // of the column: date, timestamp, timestamptz
	Stored string        // zone of a timestamp column's local time
	Shown  string        // zone whose days are meant
	Sunday bool          // weeks start on Sunday
	Fiscal int           // month in which the fiscal year starts; 0 means 1
}

// Expr is SQL of the model over the fields of one entity, unqualified. Columns
// are the places where a qualifier goes.
type Expr struct {
	Table   *Table
	Text    string
	Columns []resolve.Place
}

// Condition is one filter. Exactly one of Model and Test is set. ID is unique
// in the plan, from 1 to Plan.Conditions.
type Condition struct {
	ID      int
	Model   *Expr
	By      semantic.Name // Model: the filter's name
	Operand Operand
	Test    Test
}

// Test is what a caller's filter asks of its operand: Compare, In, Null, Call,
// All or Any. SQL literals in it are complete and typed.
type Test interface{ dropsNull() bool }

// The tests.
type (
	// Compare is operand Op literal; Op is =, <, <=, >, >= or IS DISTINCT FROM.
	Compare struct{ Op, Literal string }
	// In is membership in a list without NULL.
	In struct {
		Not      bool
		Literals []string
	}
	// Null is IS NULL.
	Null struct{ Not bool }
	// Call is Function(operand, literal).
	Call struct{ Function, Literal string }
	// All holds when every test does.
	All []Test
	// Any holds when one test does.
	Any []Test
)

func (t Compare) dropsNull() bool { return t.Op != distinct }
func (t In) dropsNull() bool      { return true }
func (t Null) dropsNull() bool    { return t.Not }
func (t Call) dropsNull() bool    { return true }

func (t All) dropsNull() bool {
	for _, x := range t {
		if x.dropsNull() {
			return true
		}
	}
	return false
}

func (t Any) dropsNull() bool {
	for _, x := range t {
		if !x.dropsNull() {
			return false
		}
	}
	return true
}

const distinct = "IS DISTINCT FROM"

// OrderTerm is one column of the answer, keys first then metrics, from 0.
// Nulls are last in both directions.
type OrderTerm struct {
	Column int
	Desc   bool
	Finite bool // the column may hold NaN and infinities: they are ordered as the NULL they are shown as
}

// FilterOrigin says whose a filter is.
type FilterOrigin string

// The origins.
const (
	OfCaller   FilterOrigin = "caller"
	OfFixed    FilterOrigin = "fixed"
	OfDefault  FilterOrigin = "default"
	OfRequired FilterOrigin = "required"
)

// AppliedFilter tells the caller about one filter: what it says and whose it
// is. Overridden marks a default that the caller's own filter replaced.
type AppliedFilter struct {
	Origin     FilterOrigin
	Entity     semantic.Name // "" for filters on metrics
	Name       semantic.Name // the model's name of the filter; "" for the caller's
	Text       string
	Overridden bool
}
