package metric

import (
	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Plan is an answerable question: what to aggregate and how to put it together.
// It is never changed after Build.
type Plan struct {
	Frames  []*Frame  // the first gives the rows of the answer
	Sources []*Source // what the rows look up elsewhere
	Keys    []Key     // what rows are grouped by, in the question's order
	Metrics []Metric  // in the question's order
	// Levels are the sets of keys that rows are given for, the first of them all keys;
	// nil is that one alone. With more, the answer has a column that tells them apart.
	Levels   [][]int
	RolledUp string // label of that column; "" when there is none
	Spine    *Spine // buckets that rows are given for though they have none; nil for none
	Kept     *Kept  // the groups that are kept by name; nil for all
	// Watermarks say where the data of a fact end, for comparisons to date.
	Watermarks []*Watermark
	// Ungrouped plans list rows: their keys are columns, there is no metric.
	Ungrouped   bool
	Having      []Condition
	Order       []OrderTerm // completed with the keys
	Limit       int         // 0 means none; the text fetches one row more
	LimitSource string      // "question" or "default"; "" when there is none
	Offset      int         // rows passed over
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
	Number int
	Legs   []*Leg  // one per fact
	Leaves []*Leaf // all aggregates, in the order of first use
	Keys   []Key   // what its rows are grouped by; beside Plan.Keys, the time key perhaps at a finer grain
	// Levels are the sets of keys it is grouped by, each in order; nil is all keys alone.
	Levels [][]int
	// Over makes the frame's time key the last bucket of a window: every row counts in
	// each bucket whose window it lies in. nil: in its own bucket.
	Over  *Source
	Whole bool       // it is not joined to Plan.Kept
	Cut   *Watermark // rows count up to the point in their period that the data have come to in the last one; nil: all
}

// Source is a frame as the rows of the answer look it up: the cells of some
// other context, such as a total, an earlier period or a running window.
type Source struct {
	Number int
	Frame  *Frame
	Whole  *Frame            // running: the frame of the leaves that only rows can give; nil when there are none
	Levels [][]int           // per level of the plan, the keys it is looked up by
	Shift  []semantic.Period // how much earlier its time key lies; nil: the same
	Moved  bool              // the ranges of Frame lie as much earlier, so that its total is the earlier one
	Time   int               // the time key among Plan.Keys, -1 when Shift and Running are not set
	Run    *Running
}

// Running is a window over the buckets of the time key.
type Running struct {
	semantic.Cumulative
	Grain  string  // of the buckets that are added up
	Coarse *Bucket // of the answer's buckets, over dates, where they are coarser; nil when they are the same
	Reset  *Bucket // of ToDate, over dates
	Extent *Frame  // the days of its own fact; nil when those of Source.Frame are
	To     string  // literal of the last day that the question's ranges leave of the fact; "" when the data end it
}

// Spine adds buckets between the first and the last of the data.
type Spine struct {
	Time    int       // the time key among Plan.Keys
	Bucket  Bucket    // of the time key, over dates; for parts of a day only its Grain
	From    string    // literal of the first bucket that may be shown; "" when the data begin it
	Sources []*Source // running ones, whose groups and buckets count too
	// Extents have the days of all the data, fact by fact, whatever the question
	// filters; nil when it filters nothing, so that the rows themselves tell.
	Extents []*Frame
	To      string // literal of the last day that the question's ranges leave; "" when the data end it
}

// Kept are the groups of a key that have a name in the answer, greatest first.
type Kept struct {
	Key   int // among Plan.Keys
	Frame *Frame
	By    Value
	N     int
	Other int // the key that tells the rest, -1 when the rest is left out
}

// Watermark is the last day of a fact's data.
type Watermark struct {
	Number int
	Frame  *Frame // one row: the last time of each fact
	Time   int    // the time key
	Bucket Bucket // of the time key, over dates
}

// Key is one group key of the answer. How each fact computes it stands in Leg.Keys.
type Key struct {
	Label     string // column name of the answer
	Grain     string // time buckets
	Type      semantic.Type
	Collation string // of its order; "" is binary
	Other     bool   // not a column of the facts: whether the row is the rest beside Plan.Kept
}

// Metric is one metric column of the answer.
type Metric struct {
	Label    string
	Value    Value
	Type     semantic.Type // "" when only the engine knows
	Additive bool          // groups add up to their total
	Unit     string
	Format   string
	Of       *semantic.Metric
}

// Value says how a metric is computed from the cells of a row: a *Leaf of the main
// frame, or one of the kinds below.
type Value interface{ value() }

type (
	// Cell is a leaf of another frame, looked up.
	Cell struct {
		Source *Source
		Leaf   *Leaf
	}
	// Ratio is Num / nullif(Den, 0), as DOUBLE.
	Ratio struct{ Num, Den Value }
	// Apply is one node of a derived metric's arithmetic, as resolve.Derived has it:
	// numbers, operators, calls and cases over Args. Parameters are numbers here.
	Apply struct {
		Kind resolve.DerivedKind
		Text string
		Args []Value
	}
	// Ranked is the place of Of among the rows of its level, 1 first.
	Ranked struct {
		Of     Value
		Asc    bool
		Ties   string // rank or dense
		Within []int  // keys within whose values ranks start anew
	}
	// ToDate is Cut in the period that is not over yet, Whole in all others.
	ToDate struct {
		Cut, Whole Value
		Mark       *Watermark
	}
)

func (*Leaf) value()   {}
func (*Cell) value()   {}
func (*Ratio) value()  {}
func (*Apply) value()  {}
func (*Ranked) value() {}
func (*ToDate) value() {}

// Leaf is one aggregate over the rows of one entity.
type Leaf struct {
	Index   int // in Frame.Leaves
	Leg     *Leg
	Measure *semantic.Measure // how it aggregates, beside Arg, Filters and Order
	Arg     *Expr             // nil: count rows
	Filters []Expr            // of the measure and of the metric
	Where   []Condition       // of the metrics above, on dimensions; like Filters they say which rows count. They have no ID
	Weights []*Table          // bridges whose weights its rows are multiplied by, where they are joined
	Order   []Sort            // first, last, string_agg, list: of the fact's fields, complete
	Fill    *int              // where the fact has no row for the group
	// Converted counts the base events of a conversion that were followed by another.
	Converted bool
	Type      semantic.Type

	id string // equal for leaves of one value
}

// Sort is a term of an order inside an aggregate. Nulls are last in both directions.
type Sort struct {
	Column semantic.Name // "" is the aggregate's own argument
	Desc   bool
}

// Leg is one fact with its joins and filters, aggregated to the plan's keys.
type Leg struct {
	Tables []*Table    // the fact first, a parent before its children
	Keys   []Operand   // one per key of its frame
	Where  []Condition // of the caller, and the fact's own model filters
	// Semi legs hold leaves that count only rows at their group's last or first time.
	Semi bool
	// Conversion legs count base events; nil for all others.
	Conversion *Conversion
}

// Table is one reference to an entity. Number is unique in the plan.
type Table struct {
	Number  int
	Entity  *semantic.Entity
	Parent  *Table // nil for the fact
	Join    *semantic.Relationship
	Inner   bool
	As      string      // alias in a caller's SQL; "" takes one from Number
	Filters []Condition // the model's filters on a joined entity: they stand in ON, so its rows go and the fact's stay

	Day  *Operand // a calendar's table: its Join has no pairs, Date is the day of this
	Date semantic.Name

	Rollup *Rollup // the table is aggregated to its Parent's rows; nil for others
	Bridge *Bridge // the table between two that are many to many; Parent is the near side, its Join has no pairs

	path string // role names from the fact
}

// Bridge is how a table between two is joined to both, and what part of a row each
// partner gets.
type Bridge struct {
	Near, Far *semantic.Relationship // of the bridge's entity; Far is the Join of the table behind it
	Allocate  semantic.Allocation
	Weight    semantic.Name
}

// Over is the bridge that a table is or lies behind; nil for none.
func (t *Table) Over() *Table {
	for ; t != nil; t = t.Parent {
		if t.Bridge != nil {
			return t
		}
	}
	return nil
}

// Operand is what a key or a filter reads: a column, cut into buckets when
// Bucket is set; or, for filters after aggregation, a metric or a key of the answer.
type Operand struct {
	Table  *Table
	Column semantic.Name
	Bucket *Bucket
	Bins   *Bins
	Metric *Metric
	Key    int // from 1: a key of the answer
}

// Bins cut a number into groups, each named by its lower edge.
type Bins struct {
	semantic.Bins
	Floating bool // the number may be NaN or infinite, which lies in no group
	Single   bool // it is a float
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
	Values  []string // beside Columns, the literals of parameters; nil when there are none
}

// Condition is one filter. Exactly one of Model, Test and Parts is set. ID is
// unique in the plan, from 1 to Plan.Conditions.
type Condition struct {
	ID      int
	Model   *Expr
	By      semantic.Name // Model: the filter's name
	Operand Operand
	Test    Test
	Parts   []Condition // of which one must hold (Or), or each
	Or      bool
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
	Column    int
	Hidden    *Operand // rows: a column that they do not show, in place of Column; nil otherwise
	Desc      bool
	Collation string // a text's; its order is completed by the bytes
	Finite    bool   // the column may hold NaN and infinities: they are ordered as the NULL they are shown as
}

// FilterOrigin says whose a filter is.
type FilterOrigin string

// The origins.
const (
	OfCaller   FilterOrigin = "caller"
	OfFixed    FilterOrigin = "fixed"
	OfDefault  FilterOrigin = "default"
	OfRequired FilterOrigin = "required"
	OfSegment  FilterOrigin = "segment"
)

// AppliedFilter tells the caller about one filter: what it says and whose it
// is. Overridden marks a default that the caller's own filter replaced.
type AppliedFilter struct {
	Origin     FilterOrigin
	Entity     semantic.Name // "" for filters on metrics
	Name       semantic.Name // the model's name of the filter; "" for the caller's
	Text       string
	Overridden bool
	Counted    bool // a time range that was counted from now
}

// Walk calls f for a value and all below it.
func Walk(v Value, f func(Value)) {
	f(v)
	switch v := v.(type) {
	case *Ratio:
		Walk(v.Num, f)
		Walk(v.Den, f)
	case *Apply:
		for _, a := range v.Args {
			Walk(a, f)
		}
	case *Ranked:
		Walk(v.Of, f)
	case *ToDate:
		Walk(v.Cut, f)
		Walk(v.Whole, f)
	}
}
