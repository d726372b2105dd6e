package resolve

import (
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// View is the catalog as one subject may see it. The engine makes it from the
// policy's access decisions; a hidden thing is absent, so that hidden and
// missing are answered alike. Implementations are safe for one goroutine.
type View interface {
	// Entity gives the visible entity of that name (any case), nil when hidden or missing.
	Entity(n semantic.Name) (*Visible, error)
	// Names lists the visible entities, for suggestions.
	Names() []string
}

// Visible is one entity with the class of each of its fields for one subject.
type Visible struct {
	Entity *semantic.Entity
	// Fields maps a field's key to its class for this subject; an absent field
	// is hidden. Private fields are present: only model text may read them.
	Fields map[string]semantic.Visibility
	// Masked holds the keys of the fields that this subject sees masked only.
	Masked map[string]bool
	// SelectOnly are those of Masked whose mask may be selected and nothing else.
	SelectOnly map[string]bool
}

// Class gives the class of a column (field or dimension) for callers. A computed
// dimension has the strictest class of what it reads; false when hidden.
func (v *Visible) Class(n semantic.Name) (semantic.Visibility, bool) {
	if c, ok := v.Fields[n.Key()]; ok {
		return c, true
	}
	if v.Entity.Field(n) != nil {
		return 0, false
	}
	d := v.Entity.Dimension(n)
	if d == nil {
		return 0, false
	}
	class := d.Visibility
	for _, f := range d.Reads {
		c, ok := v.Fields[f.Key()]
		if !ok {
			return 0, false
		}
		class = min(class, c)
	}
	return class, true
}

// Span is a half-open byte range of the statement's text.
type Span struct{ Start, End int }

// Contains reports whether the offset lies in the span.
func (s Span) Contains(at int) bool { return s.Start <= at && at < s.End }

// Origin says who wrote a piece of text. The zero value is Caller, the stricter one.
type Origin int

// The origins. Text of a metric question is the model's except the marked spans.
const (
	Caller Origin = iota
	Model
)

// Clause says in which position a column is used.
type Clause string

// The clauses. A column inside an expression has the clause the expression
// stands in; Depth in Use tells a bare column from one inside an expression.
const (
	InOutput    Clause = "output" // a select list at any level
	InFilter    Clause = "filter" // WHERE, HAVING, QUALIFY, FILTER, ON other than InJoin
	InJoin      Clause = "join"   // one side of a top-level equality of two bare columns in ON
	InGroup     Clause = "group"
	InOrder     Clause = "order" // ORDER BY, DISTINCT ON
	InWindow    Clause = "window"
	InAggregate Clause = "aggregate" // argument of an aggregate, in whatever clause
	InUsing     Clause = "using"     // USING or NATURAL
	InPivot     Clause = "pivot"
	InSetOp     Clause = "setop" // corresponding columns of UNION, EXCEPT, INTERSECT
)

// Use is one use of one entity column (a field, or a dimension of a raw query).
type Use struct {
	Ref       int // index into Bound.Refs
	Column    semantic.Name
	Clause    Clause
	Aggregate string        // InAggregate: the function
	Bare      bool          // the column itself, not inside an expression
	Other     *ColumnID     // InJoin: the other side
	OtherRef  int           // InJoin: index of the other side's reference
	JoinType  string        // InJoin: INNER, LEFT, ...
	Literal   bool          // compared with a literal
	Origin    Origin        // who wrote this use
	At        sqlast.Offset // place in the text
}

// ColumnID names a column of an entity.
type ColumnID struct {
	Entity semantic.Name
	Column semantic.Name
}

// Ref is one reference of the text to an entity: where it stands, and what
// its fence must hold.
type Ref struct {
	Node   *sqlast.BaseTable
	Entity *semantic.Entity
	Name   Span   // the name path to replace (quoted and dotted identifiers)
	Alias  string // how the text calls it
	// AddAlias: the tree's alias is empty, so the splice appends AS "<as written>".
	AddAlias bool
	// Columns are the columns the fence must offer, in declared order (fields
	// first, then computed dimensions): only those used when every use is by
	// name, all visible ones otherwise (CONTRACTS section 4). Empty means that no column
	// is used at all.
	Columns []semantic.Name
	// Conjuncts may be copied inside the fence: column against literal of the
	// same type, from a preserved or inner side.
	Conjuncts []Conjunct
	// Met names the required filters of the entity that this scan meets.
	Met []semantic.Name
}

// Conjunct is a literal condition on one column of a Ref, already spelled with
// the bare quoted column: "status" = 'paid'.
type Conjunct struct {
	Column semantic.Name
	SQL    string
}

// StarSplice replaces a star by the explicit list of what it stands for.
type StarSplice struct {
	Span Span   // the star with its qualifier and EXCLUDE/REPLACE/RENAME
	SQL  string // quoted, qualified list, with aliases where a rename or replace asks for one
}

// NameSplice appends an alias to a select item whose result name would
// otherwise be made from spliced text.
type NameSplice struct {
	At    int // byte offset at which ` AS "Name"` goes
	Label string
}

// Output is one column of the result.
type Output struct {
	Name string
	From []ColumnID // every entity column it is computed from; nil for constants
	Bare bool       // exactly one column, unchanged
}

// FunctionUse is one call, by DuckDB's name, operators included.
type FunctionUse struct {
	Name     string
	Kind     string // scalar, aggregate, window, table, operator
	Args     int
	Distinct bool
	At       sqlast.Offset
}

// Bound is what resolve knows of a statement: facts beside the tree, never in it.
type Bound struct {
	Statement *sqlast.Statement
	Refs      []Ref // in text order
	Uses      []Use
	Outputs   []Output
	Functions []FunctionUse
	Kinds     []string // distinct node kinds, sorted
	Stars     []StarSplice
	Names     []NameSplice
	Ordered   bool // the outermost query has ORDER BY
	Limit     *int // the outermost literal LIMIT; nil when none
	// Unordered names what in the text, at any level, depends on an order of rows
	// that the text does not say: aggregates and windows by name, LIMIT, DISTINCT
	// ON. Empty when nothing does.
	Unordered []string
}
