package load

import (
	"fmt"
	"strconv"
	"strings"
)

// shape is one kind of struct in a model or workspace: where it stands, the
// definition that closes it, and what people call it.
type shape struct {
	pattern    string // labels joined by dots; * is any one label
	definition string
	noun       string // for structs that have a name; "" otherwise
}

// structure is the outline of the schema. Everything that speaks about a path
// reads it: unknown and missing fields, duplicates, and the words of messages.
var structure = []shape{
	{"model", "#Model", ""},
	{"model.time", "#Time", ""},
	{"model.entities.*", "#Entity", "entity"},
	{"model.entities.*.source", "#SourceRef", ""},
	{"model.entities.*.fields.*", "#Field", "field"},
	{"model.entities.*.fields.*.mask", "#Mask", ""},
	{"model.entities.*.dimensions.*", "#Dimension", "dimension"},
	{"model.entities.*.dimensions.*.measure", "#MeasureOf", ""},
	{"model.entities.*.dimensions.*.bins", "#Bins", ""},
	{"model.entities.*.measures.*", "#Measure", "measure"},
	{"model.entities.*.measures.*.order.*", "#FieldOrder", ""},
	{"model.entities.*.measures.*.semi_additive", "#SemiAdditive", ""},
	{"model.entities.*.relationships.*", "#Relationship", "relationship"},
	{"model.entities.*.relationships.*.on.*", "#JoinPair", ""},
	{"model.entities.*.relationships.*.valid", "#Validity", ""},
	{"model.entities.*.relationships.*.as_of", "#AsOf", ""},
	{"model.entities.*.relationships.*.through", "#Bridge", ""},
	{"model.entities.*.filters.*", "#Filter", "filter"},
	{"model.entities.*.segments.*", "#Segment", "segment"},
	{"model.entities.*.hierarchies.*", "#Hierarchy", "hierarchy"},
	{"model.metrics.*", "#Metric", "metric"},
	{"model.metrics.*.where.*", "#Where", ""},
	{"model.metrics.*.cumulative", "#Cumulative", ""},
	{"model.metrics.*.compare", "#Compare", ""},
	{"model.metrics.*.share", "#Share", ""},
	{"model.metrics.*.rank", "#Rank", ""},
	{"model.metrics.*.conversion", "#Conversion", ""},
	{"model.metrics.*.conversion.on.*", "#JoinPair", ""},
	{"model.calendars.*", "#Calendar", "calendar"},
	{"model.parameters.*", "#Parameter", "parameter"},
	{"model.views.*", "#View", "view"},
	{"model.tests.*", "#Test", "test"},
	{"workspace", "#Workspace", ""},
	{"workspace.sources.*", "#Source", "source"},
	{"workspace.limits", "#Limits", ""},
	{"workspace.server", "#Server", ""},
	{"workspace.server.mask_key", "#Secret", ""},
	{"workspace.audit", "#Audit", ""},
	{"workspace.subjects.*", "#Subject", "subject"},
	{"workspace.subjects.*.token", "#Secret", ""},
}

// shapeOf finds the struct that path leads to.
func shapeOf(path []string) (shape, bool) {
	for _, s := range structure {
		if matches(s.pattern, path) {
			return s, true
		}
	}
	return shape{}, false
}

func matches(pattern string, path []string) bool {
	segments := strings.Split(pattern, ".")
	if len(segments) != len(path) {
		return false
	}
	for i, s := range segments {
		if s != "*" && s != path[i] {
			return false
		}
	}
	return true
}

// describe says a path in words: type of field "id" of entity "orders".
func describe(path []string) string {
	var words []string
	for rest := path; len(rest) > 1; rest = rest[:len(rest)-1] {
		last := rest[len(rest)-1]
		s, ok := shapeOf(rest)
		switch {
		case ok && s.noun != "":
			words = append(words, fmt.Sprintf("%s %q", s.noun, last))
			rest = rest[:len(rest)-1] // the list of such names
		case len(words) == 0 && !isNumber(last):
			words = append(words, last)
		}
	}
	if len(words) == 0 {
		return "the " + path[0]
	}
	return strings.Join(words, " of ")
}

func isNumber(label string) bool {
	_, err := strconv.Atoi(label)
	return err == nil
}
