// Package semantic holds the nouns of plumbline: the immutable catalog of
// entities, fields, dimensions, measures, relationships, filters and metrics,
// the workspace configuration, and Scan, the request that compiler and sources
// share. It stands at the bottom of the house and imports only diag.
//
// A *Catalog is built once by semantic/load, is never changed afterwards, and
// may be read by any number of goroutines. A reload builds a new one.
//
// Words: an entity is one governed relation; a field is one of its physical
// columns; a dimension is what answers may be grouped by (a field or a SQL
// expression over fields); a measure is an aggregate over an entity's own rows;
// a metric is a named question over measures; grain says in words what one row is.
package semantic

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"plumbline/semantic/diag"
)

// Name identifies an entity, field, dimension, measure, relationship or metric.
// Names compare as DuckDB compares identifiers: use Key for maps.
type Name string

// Key is the form under which names are equal to DuckDB: A to Z and a to z are
// one, and no other letters are, nor a letter and its decomposition. Anything
// wider would bind a name to one thing here and to another there.
func (n Name) Key() string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, string(n))
}

// Look is what a reader takes for the same name: NFC, and folded over all of
// Unicode. Two names of one scope with one Look are refused when models load.
func (n Name) Look() string { return strings.ToLower(norm.NFC.String(string(n))) }

// Type is a DuckDB type as a model declares it, lower case: boolean, tinyint,
// smallint, integer, bigint, hugeint, float, double, decimal(p,s), varchar,
// date, time, timestamp, timestamptz, interval, uuid, json, blob.
type Type string

// SQL gives the DuckDB spelling, e.g. "TIMESTAMP WITH TIME ZONE".
func (t Type) SQL() string {
	if t == "timestamptz" {
		return "TIMESTAMP WITH TIME ZONE"
	}
	return strings.ToUpper(string(t))
}

// Kind groups types by how values compare.
type Kind string

// The kinds. KindOther can be tested for null only.
const (
	KindText    Kind = "text"
	KindNumber  Kind = "number"
	KindBoolean Kind = "boolean"
	KindTime    Kind = "time" // date, timestamp, timestamptz
	KindOther   Kind = "other"
)

// Kind of a type; KindOther for what is not listed.
func (t Type) Kind() Kind {
	base, _, _ := strings.Cut(string(t), "(")
	switch base {
	case "varchar", "uuid":
		return KindText
	case "tinyint", "smallint", "integer", "bigint", "hugeint", "float", "double", "decimal":
		return KindNumber
	case "boolean":
		return KindBoolean
	case "date", "timestamp", "timestamptz":
		return KindTime
	}
	return KindOther
}

// Visibility says in which clauses a caller may use a field, from widest to
// strictest. The zero value is Private, the closed door.
type Visibility int

// The classes of semantics: output may be selected; filter may be filtered and
// ordered by; join may stand only in an equality of two join columns; private
// may be read only by the model's own expressions.
const (
	Private Visibility = iota
	JoinOnly
	FilterOnly
	Output
)

var visibilityWords = [...]string{"private", "join", "filter", "output"}

// String gives the word models use.
func (v Visibility) String() string { return visibilityWords[v] }

// ParseVisibility reads the word models use; false for any other text.
func ParseVisibility(s string) (Visibility, bool) {
	i := slices.Index(visibilityWords[:], s)
	return Visibility(max(i, 0)), i >= 0
}

// Catalog is everything the models declare. Order is declaration order within a
// file and file order by name, so that answers are deterministic.
type Catalog struct {
	Revision   string // hash of the model text
	Entities   []*Entity
	Metrics    []*Metric
	Time       TimeSettings
	Calendars  []*Calendar
	Parameters []*Parameter
	Views      []*View
	Tests      []*Test

	entities map[string]*Entity
	metrics  map[string]*Metric
	views    map[string]*View
}

// NewCatalog indexes what is declared and gives a copy that is ready for use.
// Names must be unique already; load checks that.
func NewCatalog(declared Catalog) *Catalog {
	c := &declared
	c.entities = make(map[string]*Entity, len(c.Entities))
	c.metrics = make(map[string]*Metric, len(c.Metrics))
	c.views = make(map[string]*View, len(c.Views))
	for _, e := range c.Entities {
		e.index()
		c.entities[e.Name.Key()] = e
	}
	for _, m := range c.Metrics {
		c.metrics[m.Name.Key()] = m
	}
	for _, v := range c.Views {
		c.views[v.Name.Key()] = v
	}
	return c
}

// Entity finds by name without regard to case; nil when there is none.
func (c *Catalog) Entity(n Name) *Entity { return c.entities[n.Key()] }

// Metric finds by name without regard to case; nil when there is none.
func (c *Catalog) Metric(n Name) *Metric { return c.metrics[n.Key()] }

// View finds by name without regard to case; nil when there is none.
func (c *Catalog) View(n Name) *View { return c.views[n.Key()] }

// Parameter finds by name without regard to case; nil when there is none.
func (c *Catalog) Parameter(n Name) *Parameter {
	return named(c.Parameters, n, func(p *Parameter) Name { return p.Name })
}

// named finds in a short list by name without regard to case; nil when there is none.
func named[T any](list []*T, n Name, name func(*T) Name) *T {
	key := n.Key()
	for _, x := range list {
		if name(x).Key() == key {
			return x
		}
	}
	return nil
}

// Entity is one governed relation.
type Entity struct {
	Name          Name
	Description   string
	Grain         string // what one row is, in words
	Source        SourceRef
	PrimaryKey    []Name // field names
	TimeDimension Name   // dimension that dates a row; "" when none
	Fields        []*Field
	Dimensions    []*Dimension
	Measures      []*Measure
	Relationships []*Relationship
	Filters       []*Filter
	Segments      []*Segment
	Hierarchies   []*Hierarchy
	Tags          []string
	Synonyms      []string
	Pos           diag.Pos

	fields     map[string]*Field
	dimensions map[string]*Dimension
	measures   map[string]*Measure
}

func (e *Entity) index() {
	e.fields = make(map[string]*Field, len(e.Fields))
	for _, f := range e.Fields {
		e.fields[f.Name.Key()] = f
	}
	e.dimensions = make(map[string]*Dimension, len(e.Dimensions))
	for _, d := range e.Dimensions {
		e.dimensions[d.Name.Key()] = d
	}
	e.measures = make(map[string]*Measure, len(e.Measures))
	for _, m := range e.Measures {
		e.measures[m.Name.Key()] = m
	}
}

// Field finds a field; nil when there is none.
func (e *Entity) Field(n Name) *Field { return e.fields[n.Key()] }

// Dimension finds a dimension; nil when there is none.
func (e *Entity) Dimension(n Name) *Dimension { return e.dimensions[n.Key()] }

// Measure finds a measure; nil when there is none.
func (e *Entity) Measure(n Name) *Measure { return e.measures[n.Key()] }

// Segment finds a segment; nil when there is none.
func (e *Entity) Segment(n Name) *Segment {
	return named(e.Segments, n, func(s *Segment) Name { return s.Name })
}

// Relationship finds a relationship by its role; nil when there is none.
func (e *Entity) Relationship(role Name) *Relationship {
	return named(e.Relationships, role, func(r *Relationship) Name { return r.Name })
}

// SourceRef says where an entity's rows come from.
type SourceRef struct {
	Source Name // a source of the workspace
	Table  string
	Path   string // files: path or glob below the source's root
	Format string // files: csv, parquet, ndjson
	Hive   bool   // files: partition folders key=value become fields
}

// Field is one physical column. Column is its name in the source; Name is what
// callers and models say.
type Field struct {
	Name        Name
	Column      string
	Type        Type
	Description string
	Visibility  Visibility
	JoinDomain  string // join columns compare only within one domain; "" is a domain of its own per field
	Zone        string // timestamp fields: IANA zone of the stored local time, or "" for UTC
	Mask        *Mask  // holds for every subject; nil for most
	Tags        []string
	Synonyms    []string
	Samples     []string
	Pos         diag.Pos
}

// Dimension is what answers may be grouped and filtered by. Exactly one of
// Field, Expr and Of is set. Visibility is the strictest of the fields it reads and
// of its own declaration. A field that no dimension names is not a dimension.
type Dimension struct {
	Name        Name
	Description string
	Kind        Kind
	Type        Type       // type of the value; declared for Expr, the field's otherwise
	Field       Name       // a field of the entity
	Expr        string     // SQL over the entity's fields, unqualified names
	Of          *MeasureOf // a measure of a to-many entity, one value per row
	Bins        *Bins      // number: groups of values in place of the values; nil for the values
	Collation   string     // text: DuckDB collation of its order, for example "de" or "nocase"; "" is binary
	Reads       []Name     // fields that Expr reads, or Field; filled by the compiler when the model is checked
	Grains      []string
	Visibility  Visibility
	Tags        []string
	Synonyms    []string
	Pos         diag.Pos
	ExprPos     diag.Pos
}

// MeasureOf makes a measure of another entity a dimension: for each row of the
// dimension's entity, the measure over the rows of Entity that belong to it by
// the relationship Role, which is a to-one relationship of Entity. The other
// entity's own filters apply, a question's do not. A row without any has the
// value of an empty aggregate: 0 for counts, the measure's fill, NULL otherwise.
type MeasureOf struct {
	Entity  Name
	Measure Name
	Role    Name // relationship of Entity that leads here
}

// Bins cut a number into groups [edge, next edge). A group is named by its lower
// edge. Exactly one of Width and Edges is set. Digits are decimal text.
type Bins struct {
	Width string   // groups of equal width, counted from 0
	Edges []string // ascending, one or more; values below the first are grouped under NULL, as missing ones are
}

// Segment is a named condition on an entity that questions may ask for.
type Segment struct {
	Name        Name
	Description string
	Expr        string // SQL condition over the entity's fields
	Synonyms    []string
	Pos         diag.Pos
	ExprPos     diag.Pos
}

// Hierarchy orders dimensions of one entity from coarse to fine, for drill-down
// and for shares of the parent.
type Hierarchy struct {
	Name        Name
	Description string
	Levels      []Name // dimensions of the entity, two or more, coarsest first
	Pos         diag.Pos
}

// Filter is a model's own filter on an entity. Fixed filters always apply and
// cannot be cleared; required ones must be supplied by the caller on Field;
// default ones apply unless the caller filters Field or one of Unless.
type Filter struct {
	Name        Name
	Description string
	Kind        FilterKind
	Field       Name   // required and default: the field it is about
	Expr        string // fixed and default: SQL condition over the entity's fields
	Unless      []Name
	Pos         diag.Pos
	ExprPos     diag.Pos
}

// FilterKind says who may clear a filter.
type FilterKind string

// The kinds of filters.
const (
	FixedFilter    FilterKind = "fixed"
	RequiredFilter FilterKind = "required"
	DefaultFilter  FilterKind = "default"
)

// Quote writes an identifier for SQL, always in double quotes, doubling embedded ones.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteText writes a text literal for SQL. A NUL byte cannot stand in SQL text; callers refuse it earlier.
func QuoteText(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// Storage is the catalog and schema under which workers and the proof catalog
// hold one relation per entity. Nobody but a fence may name them.
const (
	StorageCatalog = "plumbline"
	StorageSchema  = "base"
)

// StorageName is the fully qualified, quoted relation of an entity, lower case.
func StorageName(n Name) string {
	return Quote(StorageCatalog) + "." + Quote(StorageSchema) + "." + Quote(n.Key())
}
