package changes

import (
	"reflect"

	"plumbline/semantic"
)

// class says what a change of one part of a noun is about.
type class int

// The classes. The zero value is the strictest, so that a part which the table
// does not know counts as meaning; a test wants every part to be in the table.
const (
	meaning class = iota
	access        // who may see what
	wording       // words for readers
	apart         // no part of the definition: names, places, indexes, what the compiler fills, nouns of their own
)

// lead says what a part of the meaning names, and so depends on. "Own" is the
// entity that a struct names in its part Entity, or else the one that declares it.
type lead int

const (
	nothing     lead = iota
	within           // the parts of the part
	toMetric         // metrics
	toEntity         // an entity
	toMeasure        // measures of the own entity
	toField          // fields of the own entity
	toFarField       // fields of the entity that a relationship leads to
	toDimension      // dimensions of the own entity
	toRole           // relationships of the own entity
	toPath           // dimensions in a question's spelling, reached from the metric's facts
	toSQL            // what SQL over the own entity reads: fields, parameters
	toFormula        // what arithmetic over metrics reads: metrics, parameters
	toFilters        // every filter of the entity
	toEvents         // pairs of fields of the entities of two metrics
)

type part struct {
	class class
	lead  lead
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

var (
	plain  = part{meaning, nothing}
	nested = part{meaning, within}
	words  = part{class: wording}
	who    = part{class: access}
	none   = part{class: apart}
)

func leads(l lead) part { return part{meaning, l} }

// parts is every part of every noun. A unit is meaning: cents read as euros are
// another number. A format is not: the number stays.
var parts = map[reflect.Type]map[string]part{
	typeOf[semantic.Metric](): {
		"Name": none, "Description": words, "Kind": plain, "Entity": leads(toEntity), "Measure": leads(toMeasure), "Filter": leads(toSQL),
		"Numerator": leads(toMetric), "Denominator": leads(toMetric), "Expr": leads(toFormula), "Reads": none, "Of": leads(toMetric),
		"Cumulative": nested, "Compare": nested, "Share": nested, "Rank": nested, "Conversion": nested, "Where": nested,
		"Unit": plain, "Format": words, "Owner": words, "Tags": who, "Synonyms": words, "Pos": none, "FilterPos": none, "ExprPos": none,
	},
	typeOf[semantic.Where]():      {"Field": leads(toPath), "Op": plain, "Values": plain, "Grain": plain, "Pos": none},
	typeOf[semantic.Period]():     {"N": plain, "Unit": plain},
	typeOf[semantic.Cumulative](): {"Window": nested, "IncludeCurrent": plain, "ToDate": plain, "Grain": plain, "Coarser": plain},
	typeOf[semantic.Compare]():    {"Offset": nested, "Give": plain, "ToDate": plain},
	typeOf[semantic.Share]():      {"Scope": plain, "Within": leads(toPath)},
	typeOf[semantic.Rank]():       {"Asc": plain, "Within": leads(toPath), "Ties": plain},
	typeOf[semantic.Conversion](): {"Base": leads(toMetric), "Converted": leads(toMetric), "On": leads(toEvents), "Window": nested, "Give": plain},
	typeOf[semantic.Entity](): {
		"Name": none, "Description": words, "Grain": words, "Source": nested, "PrimaryKey": leads(toField), "TimeDimension": leads(toDimension),
		"Fields": none, "Dimensions": none, "Measures": none, "Relationships": none, "Filters": {apart, toFilters}, "Segments": none, "Hierarchies": none,
		"Tags": who, "Synonyms": words, "Pos": none, "fields": none, "dimensions": none, "measures": none,
	},
	typeOf[semantic.SourceRef](): {"Source": plain, "Table": plain, "Path": plain, "Format": plain, "Hive": plain},
	typeOf[semantic.Field](): {
		"Name": none, "Column": plain, "Type": plain, "Description": words, "Visibility": who, "JoinDomain": who, "Zone": plain, "Mask": {access, within},
		"Tags": who, "Synonyms": words, "Samples": words, "Pos": none,
	},
	typeOf[semantic.Mask](): {
		"Kind": who, "N": who, "Width": who, "Expr": who, "Purpose": who, "Scope": who, "Filterable": who, "Pos": none, "ExprPos": none,
	},
	typeOf[semantic.Dimension](): {
		"Name": none, "Description": words, "Kind": plain, "Type": plain, "Field": leads(toField), "Expr": leads(toSQL), "Of": nested, "Bins": nested,
		"Collation": plain, "Reads": none, "Grains": plain, "Visibility": who, "Tags": who, "Synonyms": words, "Pos": none, "ExprPos": none,
	},
	typeOf[semantic.MeasureOf](): {"Entity": leads(toEntity), "Measure": leads(toMeasure), "Role": leads(toRole)},
	typeOf[semantic.Bins]():      {"Width": plain, "Edges": plain},
	typeOf[semantic.Segment]():   {"Name": none, "Description": words, "Expr": leads(toSQL), "Synonyms": words, "Pos": none, "ExprPos": none},
	typeOf[semantic.Hierarchy](): {"Name": none, "Description": words, "Levels": leads(toDimension), "Pos": none},
	typeOf[semantic.Filter](): {
		"Name": none, "Description": words, "Kind": plain, "Field": leads(toField), "Expr": leads(toSQL), "Unless": leads(toField), "Pos": none, "ExprPos": none,
	},
	typeOf[semantic.Measure](): {
		"Name": none, "Description": words, "Agg": plain, "Field": leads(toField), "Expr": leads(toSQL), "Filter": leads(toSQL),
		"Quantile": plain, "Discrete": plain, "By": leads(toField), "Order": nested, "Separator": plain, "Semi": nested, "Fill": plain,
		"Unit": plain, "Format": words, "Tags": who, "Synonyms": words, "Pos": none, "ExprPos": none, "FilterPos": none,
	},
	typeOf[semantic.OrderBy]():      {"By": leads(toField), "Desc": plain},
	typeOf[semantic.SemiAdditive](): {"Over": leads(toField), "Pick": plain, "Per": leads(toField)},
	typeOf[semantic.Relationship](): {
		"Name": none, "To": leads(toEntity), "Kind": plain, "On": nested, "Complete": plain, "Valid": nested, "AsOf": nested, "Through": nested, "Pos": none,
	},
	typeOf[semantic.JoinPair]():      {"From": leads(toField), "To": leads(toFarField)},
	typeOf[semantic.Validity]():      {"At": leads(toField), "From": leads(toFarField), "To": leads(toFarField)},
	typeOf[semantic.AsOf]():          {"At": leads(toField), "Time": leads(toFarField)},
	typeOf[semantic.Bridge]():        {"Entity": leads(toEntity), "Near": leads(toRole), "Far": leads(toRole), "Allocate": plain, "Weight": leads(toField)},
	typeOf[semantic.TimeSettings]():  {"Zone": plain, "WeekStart": plain, "FiscalStart": plain},
	typeOf[semantic.Calendar]():      {"Name": none, "Description": words, "Entity": leads(toEntity), "Date": leads(toField), "Grains": nested, "Pos": none},
	typeOf[semantic.CalendarGrain](): {"Name": plain, "Start": leads(toField)},
	typeOf[semantic.Parameter]():     {"Name": none, "Description": words, "Type": plain, "Default": plain, "Required": plain, "Allowed": plain, "Pos": none},
	typeOf[semantic.View]():          {"Name": none, "Description": words, "Entity": leads(toEntity), "Columns": nested, "Measures": leads(toMeasure), "Pos": none},
	typeOf[semantic.ViewColumn]():    {"Name": plain, "Path": plain, "Pos": none},
}

// kinds are the nouns that a change is told of, by the word for one.
var kinds = map[reflect.Type]string{
	typeOf[semantic.Metric](): "metric", typeOf[semantic.Entity](): "entity", typeOf[semantic.Field](): "field", typeOf[semantic.Dimension](): "dimension",
	typeOf[semantic.Measure](): "measure", typeOf[semantic.Relationship](): "relationship", typeOf[semantic.Filter](): "filter",
	typeOf[semantic.Segment](): "segment", typeOf[semantic.Hierarchy](): "hierarchy", typeOf[semantic.TimeSettings](): "time",
	typeOf[semantic.Calendar](): "calendar", typeOf[semantic.Parameter](): "parameter", typeOf[semantic.View](): "view",
}
