package semantic

import (
	"slices"

	"plumbline/semantic/diag"
)

// Metric is a named question over measures. Its kind says which of the parts
// below are set; Where, Unit, Format and the texts go with every kind.
type Metric struct {
	Name        Name
	Description string
	Kind        MetricKind

	Entity  Name   // simple: the measure's entity
	Measure Name   // simple
	Filter  string // simple: SQL condition over the measure's entity

	Numerator   Name // ratio: metrics
	Denominator Name

	Expr  string // derived: arithmetic over metrics by name
	Reads []Name // derived: the metrics that Expr names; filled when the model is checked

	Of         Name // cumulative, compare, share, rank: the metric it is made from
	Cumulative *Cumulative
	Compare    *Compare
	Share      *Share
	Rank       *Rank
	Conversion *Conversion

	// Where are conditions on dimensions that every measure below the metric is
	// filtered by, whatever its kind.
	Where []Where

	Unit      string
	Format    string
	Owner     string
	Tags      []string
	Synonyms  []string
	Pos       diag.Pos
	FilterPos diag.Pos
	ExprPos   diag.Pos
}

// Parts are the metrics that a metric is made from, each once, in the order they
// are written; nil for a simple one. Those of a derived metric are known once the
// model is checked.
func (m *Metric) Parts() []Name {
	all := append([]Name{m.Numerator, m.Denominator, m.Of}, m.Reads...)
	if m.Conversion != nil {
		all = append(all, m.Conversion.Base, m.Conversion.Converted)
	}
	var out []Name
	for _, n := range all {
		if n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// MetricKind is how a metric is made.
type MetricKind string

// The kinds.
const (
	SimpleMetric     MetricKind = "simple"     // one measure
	RatioMetric      MetricKind = "ratio"      // Numerator / Denominator; NULL where that is 0
	DerivedMetric    MetricKind = "derived"    // arithmetic over metrics
	CumulativeMetric MetricKind = "cumulative" // running, trailing or to-date
	CompareMetric    MetricKind = "compare"    // an earlier period's value, or the change since
	ShareMetric      MetricKind = "share"      // part of a total
	RankMetric       MetricKind = "rank"       // place among the groups
	ConversionMetric MetricKind = "conversion" // how many events were followed by another
)

// Where is a structured condition as questions write it: Field names a dimension
// by the spellings of a question, Op is one of a question's operators.
type Where struct {
	Field  string
	Op     string
	Values []any // text, json.Number, bool or nil
	Grain  string
	Pos    diag.Pos
}

// Period is a number of grains: 7 days, 1 year. N is 1 or more.
type Period struct {
	N    int
	Unit string // day, week, month, quarter, year
}

// Cumulative adds up a metric over time. With neither Window nor ToDate it runs
// from the first row. It needs a time dimension in the question.
type Cumulative struct {
	Window         *Period // trailing: that many periods
	IncludeCurrent bool    // trailing: whether the current period is one of them; the model must say
	ToDate         string  // restarts at each week, month, quarter or year; "" never
	// Grain at which it is computed when the question asks for a coarser one; "" is
	// the window's unit, or day.
	Grain string
	// Coarser picks the value of a coarser bucket among those of Grain: last
	// (default), first, avg, min or max.
	Coarser string
}

// Compare sets a metric beside its value Offset earlier.
type Compare struct {
	Offset Period
	Give   string // value, difference, growth (difference / earlier value)
	ToDate bool   // like for like: in the period that is not over yet, the earlier one is cut at the same point
}

// Share divides a metric by its total.
type Share struct {
	// Scope of the total: visible (the question's filters apply), all (the caller's
	// filters on dimensions do not, but for those on a time; time ranges and the model's
	// filters do), parent
	// (the group without its finest dimension).
	Scope  string
	Within []string // visible, all: dimensions that the total keeps
}

// Rank numbers groups by a metric, 1 first. NULL has no rank.
type Rank struct {
	Asc    bool
	Within []string // dimensions within whose values ranks start anew
	Ties   string   // rank (1 1 3, default), dense (1 1 2)
}

// Conversion counts the events of Base that were followed by one of Converted of
// the same entity within Window: base.time <= converted.time < base.time + Window.
// Each converted event is credited to the last base event before it, each base
// event counts once.
type Conversion struct {
	Base      Name // simple metrics that count rows; their filters apply
	Converted Name
	On        []JoinPair // fields that tell whose events they are: From of the base's entity
	Window    Period
	Give      string // count, rate (default: count / base events)
}

// View is a relation for SQL callers: dimensions of an entity and of those it
// leads to, with the entity's measures.
type View struct {
	Name        Name
	Description string
	Entity      Name
	Columns     []ViewColumn
	Measures    []Name // measures of the entity; nil: all
	Pos         diag.Pos
}

// ViewColumn names a dimension by a question's spelling: dimension, or role.dimension.
type ViewColumn struct {
	Name Name
	Path string
	Pos  diag.Pos
}

// Parameter is a value that questions may set. Model expressions read it as $name,
// always bound as a value, never as text of the query.
type Parameter struct {
	Name        Name
	Description string
	Type        Type
	Default     string   // as text; meaningless when Required
	Required    bool     // there is no default: a question that reads it must set it
	Allowed     []string // nil: any value of the type
	Pos         diag.Pos
}

// Test is a question with its answer, kept beside the model.
type Test struct {
	Name        Name
	Description string
	Rows        []TestRows // inline rows per entity; nil: the live data
	Question    []byte     // JSON of a metric question; nil when SQL is set
	SQL         string
	As          string   // subject; "" for the one that sees everything
	Now         string   // the moment of the question, RFC 3339; "" is the first moment of 2000 in UTC
	Columns     []string // names of the answer's columns, each once, in any order; nil: as the answer has them
	Expect      [][]any  // text, json.Number, bool, nil, or lists of them; in order when Ordered
	Ordered     bool
	Refused     string // code of the expected refusal; "" when an answer is expected
	Pos         diag.Pos
}

// TestRows are the rows that an entity has in a test. Fields left out are NULL.
type TestRows struct {
	Entity Name
	Rows   []map[string]any // by field name
}
