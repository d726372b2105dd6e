package load

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func (b *builder) entity(n node, label string, raw rawEntity) *semantic.Entity {
	e := &semantic.Entity{
		Name: nameOf(label), Description: raw.Description, Grain: raw.Grain,
		Tags: raw.Tags, Synonyms: raw.Synonyms, Pos: n.label(),
	}
	e.Source = b.source(n.child("source"), raw.Source)
	e.PrimaryKey = namesOf(raw.PrimaryKey)
	n.reserved("entity", label)
	for _, name := range n.child("fields").scope(slices.Collect(maps.Keys(raw.Fields)), "field") {
		e.Fields = append(e.Fields, b.field(n.child("fields", name), name, raw.Fields[name]))
	}
	for _, name := range n.child("dimensions").scope(slices.Collect(maps.Keys(raw.Dimensions)), "dimension") {
		e.Dimensions = append(e.Dimensions, b.dimension(n.child("dimensions", name), e, name, raw.Dimensions[name]))
	}
	for _, name := range n.child("measures").scope(slices.Collect(maps.Keys(raw.Measures)), "measure") {
		e.Measures = append(e.Measures, b.measure(n.child("measures", name), e, name, raw.Measures[name]))
	}
	for _, name := range n.child("relationships").scope(slices.Collect(maps.Keys(raw.Relationships)), "relationship") {
		e.Relationships = append(e.Relationships, relationship(n.child("relationships", name), e, name, raw.Relationships[name]))
		n.child("relationships", name).reserved("relationship", name)
	}
	for _, name := range n.child("filters").scope(slices.Collect(maps.Keys(raw.Filters)), "filter") {
		e.Filters = append(e.Filters, b.filter(n.child("filters", name), e, name, raw.Filters[name]))
	}
	for _, name := range n.child("segments").scope(slices.Collect(maps.Keys(raw.Segments)), "segment") {
		e.Segments = append(e.Segments, b.segment(n.child("segments", name), name, raw.Segments[name]))
	}
	for _, name := range n.child("hierarchies").scope(slices.Collect(maps.Keys(raw.Hierarchies)), "hierarchy") {
		e.Hierarchies = append(e.Hierarchies, hierarchy(n.child("hierarchies", name), e, name, raw.Hierarchies[name]))
	}
	for i, name := range raw.PrimaryKey {
		n.child("primary_key", strconv.Itoa(i)).fieldOf(e, name)
	}
	e.TimeDimension = nameOf(raw.TimeDimension)
	n.child("time_dimension").timeDimension(e, raw.TimeDimension)
	if len(raw.Fields) == 0 && len(b.places.written[key(n.child("fields").path)]) == 0 {
		n.invalid("entity %q has no fields", label)
	}
	return e
}

// fieldOf finds the field of e that the value of n names, and refuses when there is none.
func (n node) fieldOf(e *semantic.Entity, name string) *semantic.Field {
	if name == "" || len(e.Fields) == 0 {
		return nil
	}
	f, ok := find(e.Fields, name, fieldName)
	if !ok {
		n.unknown("field", name, fmt.Sprintf(" in entity %q", e.Name), texts(e.Fields, fieldName))
	}
	return f
}

func (n node) timeDimension(e *semantic.Entity, name string) {
	if name == "" {
		return
	}
	d, ok := find(e.Dimensions, name, dimensionName)
	switch {
	case !ok:
		n.unknown("dimension", name, fmt.Sprintf(" in entity %q", e.Name), texts(e.Dimensions, dimensionName))
	case d.Of != nil:
		n.invalid("the time dimension of entity %q dates its rows; %q is a measure of entity %q", e.Name, name, d.Of.Entity)
	case d.Type != "" && d.Kind != semantic.KindTime:
		n.invalid("the time dimension of entity %q must be a date or timestamp; %q is %s", e.Name, name, d.Type)
	}
}

var formats = map[string]string{".csv": "csv", ".parquet": "parquet", ".ndjson": "ndjson", ".jsonl": "ndjson"}

func (b *builder) source(n node, raw rawSourceRef) semantic.SourceRef {
	s := semantic.SourceRef{Source: nameOf(raw.Source), Path: raw.Path, Format: raw.Format, Hive: raw.Hive}
	if b.workspace != nil && raw.Source != "" && b.workspace.Source(s.Source) == nil {
		known := texts(b.workspace.Sources, func(s semantic.SourceSpec) semantic.Name { return s.Name })
		n.child("source").unknown("source", raw.Source, " in "+ConfigFile, known)
	}
	if raw.Path == "" {
		return s
	}
	if !fs.ValidPath(raw.Path) || strings.ContainsAny(raw.Path, "\\\x00") {
		n.child("path").invalid("path must be a path below the root of its source, with slashes and without ..")
	}
	if s.Format == "" {
		if s.Format = formats[strings.ToLower(path.Ext(raw.Path))]; s.Format == "" {
			n.child("path").refuse(diag.New(diag.ModelInvalid, "the ending of path does not tell its format").WithHint("add format: csv, parquet or ndjson"))
		}
	}
	if raw.Hive && !strings.Contains(raw.Path, "=") {
		n.child("hive").invalid("hive needs folders key=value in path, for example orders/month=*/part.parquet")
	}
	return s
}

func (b *builder) field(n node, label string, raw rawField) *semantic.Field {
	f := &semantic.Field{
		Name: nameOf(label), Column: raw.Column, Type: b.typeOf(n.child("type"), raw.Type), Description: raw.Description,
		Visibility: visibility(raw.Visibility), JoinDomain: raw.JoinDomain, Zone: raw.Zone,
		Tags: raw.Tags, Synonyms: raw.Synonyms, Samples: raw.Samples, Pos: n.label(),
	}
	if f.Column == "" {
		f.Column = label // CUE gives labels in NFC; a source that spells otherwise needs column
	}
	if raw.Mask != nil {
		f.Mask = n.child("mask").mask(*raw.Mask)
	}
	n.zone(raw.Zone)
	if raw.Zone != "" && f.Type != "" && f.Type != "timestamp" {
		n.child("zone").invalid("only a timestamp has a zone; field %q is %s", label, f.Type)
	}
	return f
}

// visibility reads a class; left out it is output, and what CUE refused is private.
func visibility(word string) semantic.Visibility {
	if word == "" {
		return semantic.Output
	}
	v, _ := semantic.ParseVisibility(word)
	return v
}

var decimal = regexp.MustCompile(`^decimal\((\d+),(\d+)\)$`)

// typeOf checks a type; "" when there is none, or none that CUE let pass.
func (b *builder) typeOf(n node, text string) semantic.Type {
	if !slices.Contains(plainTypes, text) && !decimal.MatchString(text) {
		return ""
	}
	if m := decimal.FindStringSubmatch(text); m != nil {
		width, _ := strconv.Atoi(m[1]) // digits, as matched
		scale, _ := strconv.Atoi(m[2])
		if width < 1 || width > 38 || scale > width {
			n.invalid("decimal(p,s) has p from 1 to 38 and s at most p")
		}
	}
	return semantic.Type(text)
}

var plainTypes = strings.Fields(`boolean tinyint smallint integer bigint hugeint float double varchar
	date time timestamp timestamptz interval uuid json blob`)

func (b *builder) filter(n node, e *semantic.Entity, label string, raw rawFilter) *semantic.Filter {
	f := &semantic.Filter{
		Name: nameOf(label), Description: raw.Description, Kind: semantic.FilterKind(raw.Kind), Field: nameOf(raw.Field),
		Expr: raw.Expr, Unless: namesOf(raw.Unless), Pos: n.label(),
	}
	if raw.Expr != "" {
		f.ExprPos = b.places.text(n.child("expr").path)
	}
	field := n.child("field").fieldOf(e, raw.Field)
	for i, name := range raw.Unless {
		n.child("unless", strconv.Itoa(i)).fieldOf(e, name)
	}
	must := func(part, text string, wanted bool) {
		switch {
		case wanted && text == "":
			n.invalid("a %s filter needs %s; %q has none", f.Kind, part, label)
		case !wanted && text != "":
			n.child(part).invalid("a %s filter has no %s", f.Kind, part)
		}
	}
	switch f.Kind {
	case semantic.FixedFilter:
		must("field", raw.Field, false)
		must("expr", raw.Expr, true)
	case semantic.RequiredFilter:
		must("field", raw.Field, true)
		must("expr", raw.Expr, false)
		n.answerable(e, field)
	case semantic.DefaultFilter:
		must("field", raw.Field, true)
		must("expr", raw.Expr, true)
	default:
		return f // reported by CUE
	}
	if f.Kind != semantic.DefaultFilter && len(raw.Unless) > 0 {
		n.child("unless").invalid("only a default filter has unless")
	}
	if field != nil && field.Visibility < semantic.FilterOnly && f.Kind != semantic.FixedFilter {
		n.child("field").invalid("a %s filter is about a field that callers may filter; %q is %s", f.Kind, field.Name, field.Visibility)
	}
	return f
}

// answerable refuses a required filter that no metric question could meet: such
// a question names dimensions, and none stands for the field.
func (n node) answerable(e *semantic.Entity, f *semantic.Field) {
	if f == nil || f.Visibility < semantic.FilterOnly {
		return // unknown, or refused for what it is
	}
	if slices.ContainsFunc(e.Dimensions, func(d *semantic.Dimension) bool { return d.Field == f.Name && d.Visibility >= semantic.FilterOnly }) {
		return
	}
	n.child("field").refuse(diag.New(diag.ModelInvalid, "a required filter is given by the caller, and no dimension that callers may filter stands for field %q", f.Name).
		WithHint("add dimensions: %q: {field: %q, description: ...}", f.Name, f.Name))
}

// reservedFor are the names that questions and answers keep for themselves, with
// what they mean and the nouns that cannot have them.
var reservedFor = map[string]struct{ means, nouns string }{
	"metric_time": {"means the time of every metric in a question", "metric dimension"},
	"rolled_up":   {"is the column that tells total rows apart", "metric dimension"},
	"is_other":    {"is the column that tells the row of all others apart", "metric dimension"},
	"metric":      {"is how a filter names a metric, as in metric.revenue", "entity relationship"},
}

// reserved refuses a name that questions or answers keep for themselves.
func (n node) reserved(noun, label string) {
	if r := reservedFor[nameOf(label).Key()]; slices.Contains(strings.Fields(r.nouns), noun) {
		n.b.errs = append(n.b.errs, diag.New(diag.ModelInvalid, "%s %s, and cannot be the name of a %s", nameOf(label).Key(), r.means, noun).At(n.label()))
	}
}

func (b *builder) segment(n node, label string, raw rawSegment) *semantic.Segment {
	s := &semantic.Segment{Name: nameOf(label), Description: raw.Description, Expr: raw.Expr, Synonyms: raw.Synonyms, Pos: n.label()}
	if raw.Expr != "" {
		s.ExprPos = b.places.text(n.child("expr").path)
	}
	return s
}

func hierarchy(n node, e *semantic.Entity, label string, raw rawHierarchy) *semantic.Hierarchy {
	h := &semantic.Hierarchy{Name: nameOf(label), Description: raw.Description, Levels: namesOf(raw.Levels), Pos: n.label()}
	if len(raw.Levels) == 1 {
		n.child("levels").invalid("a hierarchy has two levels or more; %q has one", label)
	}
	for i, name := range raw.Levels {
		at := n.child("levels", strconv.Itoa(i))
		at.dimensionOf(e, name)
		if slices.Contains(raw.Levels[:i], name) {
			at.invalid("level %q is listed twice", name)
		}
	}
	return h
}

// dimensionOf finds the dimension of e that the value of n names, and refuses when there is none.
func (n node) dimensionOf(e *semantic.Entity, name string) *semantic.Dimension {
	if name == "" {
		return nil
	}
	d, ok := find(e.Dimensions, name, dimensionName)
	if !ok {
		n.unknown("dimension", name, fmt.Sprintf(" in entity %q", e.Name), texts(e.Dimensions, dimensionName))
	}
	return d
}
