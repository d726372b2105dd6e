package semantic

import "plumbline/semantic/diag"

// Agg is how a measure aggregates.
type Agg string

// The aggregates of a measure. All but count of rows pass by NULL.
const (
	Sum            Agg = "sum"
	Count          Agg = "count" // of rows, or of non-null Expr
	CountDistinct  Agg = "count_distinct"
	ApproxDistinct Agg = "approx_distinct" // about 2 % off; answers are marked approximate
	Avg            Agg = "avg"
	Min            Agg = "min"
	Max            Agg = "max"
	Median         Agg = "median"
	Percentile     Agg = "percentile" // at Quantile, interpolated unless Discrete
	Stddev         Agg = "stddev"     // of a sample
	Variance       Agg = "variance"   // of a sample
	First          Agg = "first"      // value at the earliest By
	Last           Agg = "last"       // value at the latest By
	StringAgg      Agg = "string_agg" // texts in Order with Separator between
	ListAgg        Agg = "list"       // values in Order
	Custom         Agg = "custom"     // Expr is an aggregate expression itself
)

// Class says how an aggregate of parts relates to that of the whole: what
// totals, "other" rows, shares and running values ask before they combine groups.
type Class int

// The classes of the decomposition algebra. The zero value is the strictest.
const (
	Holistic     Class = iota // only the rows give it: distinct counts, medians, percentiles, lists, custom
	Algebraic                 // made of distributive parts: avg, stddev, variance
	Distributive              // combined from parts by itself: sum, count, min, max
)

// Measure is an aggregate over an entity's own rows. Field or Expr is set, or
// neither for a row count. Filter is a SQL condition over the entity's fields.
type Measure struct {
	Name        Name
	Description string
	Agg         Agg
	Field       Name
	Expr        string // custom: an aggregate expression over the fields
	Filter      string
	Quantile    string    // percentile: decimal digits, 0 < q < 1
	Discrete    bool      // percentile: a value of the rows, never one in between
	By          Name      // first, last: the field that orders; ties go to the greatest primary key
	Order       []OrderBy // string_agg, list: fields; completed with the primary key
	Separator   string    // string_agg; "" means ", "
	Semi        *SemiAdditive
	Fill        *int // value for groups absent from this measure's fact; nil leaves NULL
	Unit        string
	Format      string
	Tags        []string
	Synonyms    []string
	Pos         diag.Pos
	ExprPos     diag.Pos
	FilterPos   diag.Pos
}

// OrderBy is one term of an order: a field, or for other lists a dimension.
type OrderBy struct {
	By   Name
	Desc bool
}

// SemiAdditive says that a measure does not add up along time: of each group (and
// of each Per within it) only the rows at its last, or first, time count.
type SemiAdditive struct {
	Over Name   // time field of the entity
	Pick Agg    // Last or First
	Per  []Name // fields whose every value has its own last time; nil: one last time for the group
}

// Class of the measure without regard to Semi; a semi-additive measure is never
// combined from groups.
func (m *Measure) Class() Class {
	switch m.Agg {
	case Sum, Count, Min, Max:
		return Distributive
	case Avg, Stddev, Variance:
		return Algebraic
	}
	return Holistic
}

// Additive reports that groups add up to their total.
func (m *Measure) Additive() bool { return m.Semi == nil && (m.Agg == Sum || m.Agg == Count) }
