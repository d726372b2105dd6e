package load

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// reader turns what CUE says about one instance into our own errors.
type reader struct {
	places      *places
	definitions map[string]definition
	invalid     diag.Code // the shape is wrong
	syntax      diag.Code // it is not CUE
}

// refusals translates CUE's errors: one for each path, on the user's line, in
// words that name the rule. Values are never repeated, since a configuration
// may hold a secret by mistake.
func (r *reader) refusals(err error) diag.List {
	byPath := map[string][]errors.Error{}
	var paths [][]string
	for _, e := range errors.Errors(err) {
		path := unquote(e.Path())
		k := key(path)
		if len(path) == 0 {
			k = fmt.Sprint(len(paths)) // nothing to group by
		}
		if byPath[k] == nil {
			paths = append(paths, path)
		}
		byPath[k] = append(byPath[k], e)
	}
	var out diag.List
	for i, path := range paths {
		k := key(path)
		if len(path) == 0 {
			k = fmt.Sprint(i)
		}
		out = append(out, r.refusal(path, clearest(byPath[k])))
	}
	return out
}

// clearest picks among the errors of one path the one that states a rule:
// CUE adds one per alternative and a line that only counts them.
func clearest(all []errors.Error) errors.Error {
	rank := func(e errors.Error) int {
		text := message(e)
		switch {
		case strings.Contains(text, "must be"):
			return 0
		case strings.Contains(text, "empty disjunction"):
			return 2
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b errors.Error) int { return rank(a) - rank(b) })
}

func message(e errors.Error) string {
	format, args := e.Msg()
	return fmt.Sprintf(format, args...)
}

var (
	enumeration = regexp.MustCompile(`=~"\^\(([a-z0-9_|]+)\)\$"`)
	mismatch    = regexp.MustCompile(`\(mismatched types (\S+) and (\S+)\)`)
	rule        = regexp.MustCompile(`^[a-z_]+ must be\b`)
)

// wording gives the rule behind a bound that CUE would print as a pattern.
var wording = map[string]string{
	"description": "description needs 5 letters or more",
	"type":        "type must be a DuckDB type in lower case: boolean, integer, bigint, double, decimal(p,s), varchar, date, timestamp, ...",
	"time":        "time must be a number with ms, s or m, for example 30s",
	"bytes":       sizeRule, "memory": sizeRule, "temp": sizeRule, "max_bytes": sizeRule,
	"listen":  "listen must be host:port",
	"env":     "env must be the name of an environment variable",
	"rows":    "rows must be a whole number from 1 to 1000000",
	"workers": countRule, "threads": countRule,
	"fill": "fill must be a whole number of at most 15 digits",
	"keep": "keep must be a whole number from 0 to 1000",
}

const countRule = "workers and threads must be whole numbers from 1 to 64"

const sizeRule = "a size must be a number with B, KiB, MiB or GiB, for example 64MiB"

func (r *reader) refusal(path []string, e errors.Error) *diag.Error {
	text := message(e)
	last := ""
	if len(path) > 0 {
		last = path[len(path)-1]
	}
	switch m := enumeration.FindStringSubmatch(text); {
	case len(path) == 0 || path[0] != "model" && path[0] != "workspace":
		return r.foreign(e, e.Error())
	case strings.HasPrefix(text, "field not allowed"):
		return r.unknown(r.outermost(path))
	case strings.HasPrefix(text, "reference "):
		return r.foreign(e, text).At(r.places.value(path))
	case strings.HasPrefix(text, "field is required"):
		return r.missing(path)
	case rule.MatchString(text):
		return r.at(path, "%s, in %s", text, describe(path[:len(path)-1]))
	case m != nil:
		return r.at(path, "%s must be one of: %s, in %s", last, strings.ReplaceAll(m[1], "|", ", "), describe(path[:len(path)-1]))
	case len(path) > 2 && path[len(path)-2] == "claims":
		return r.at(path, "a claim is a text, a number of 64 bits, true or false, or a list of texts; %s is none", describe(path))
	case mismatch.MatchString(text):
		kinds := mismatch.FindStringSubmatch(text)[1:]
		return r.at(path, "%s has the wrong type: %s where %s is meant", describe(path), kinds[0], kinds[1])
	case strings.HasPrefix(text, "conflicting values") && len(r.places.written[key(path)]) > 1:
		return r.conflict(path)
	case strings.HasPrefix(text, "conflicting values") && len(r.meeting(e)) > 1:
		at := r.meeting(e)
		return r.at(path, "%s has two values that exclude each other", describe(path)).At(at[1]).WithHint("the other is at %s", at[0])
	case wording[last] != "" && refusesValue(text):
		return r.at(path, "%s, in %s", wording[last], describe(path[:len(path)-1]))
	case refusesValue(text):
		return r.at(path, "%s has a value that the schema does not allow", describe(path))
	case strings.Contains(text, "incomplete value"), strings.Contains(text, "non-concrete"):
		return r.at(path, "%s has no definite value", describe(path))
	}
	for cause, words := range otherCauses {
		if strings.HasPrefix(text, cause) {
			return r.at(path, "%s %s", describe(path), words)
		}
	}
	return diag.Wrap(e, r.invalid, "%s does not follow the schema", describe(path)).At(r.places.value(path))
}

// otherCauses says in our words what else CUE may hold against a value.
var otherCauses = map[string]string{
	"structural cycle":          "refers to itself",
	"incompatible list lengths": "has too few items",
	"cannot use value":          "has the wrong type",
}

func refusesValue(text string) bool {
	return strings.HasPrefix(text, "invalid value") || strings.HasPrefix(text, "conflicting values")
}

// outermost shortens path to the first label that the schema does not have, so
// that what stands inside an unknown field is not reported as well.
func (r *reader) outermost(path []string) []string {
	for n := 2; n < len(path); n++ {
		s, ok := shapeOf(path[:n-1])
		if ok && !slices.Contains(r.definitions[s.definition].fields, path[n-1]) {
			return path[:n]
		}
	}
	return path
}

func (r *reader) at(path []string, format string, args ...any) *diag.Error {
	return diag.New(r.invalid, format, args...).At(r.places.value(path))
}

// unknown speaks of a label that the schema does not have there.
func (r *reader) unknown(path []string) *diag.Error {
	parent, last := path[:len(path)-1], path[len(path)-1]
	pos := r.places.label(path)
	if s, ok := shapeOf(path); ok && s.noun != "" {
		return diag.New(r.invalid, "%q cannot be the name of a %s", last, s.noun).At(pos).WithHint("%s", nameRule(s.noun))
	}
	e := diag.New(r.invalid, "%q is not known in %s", last, describe(parent)).At(pos)
	if s, ok := shapeOf(parent); ok {
		fields := r.definitions[s.definition].fields
		if near := semantic.Nearest(last, fields); len(near) > 0 {
			return e.Suggest(near...)
		}
		return e.WithHint("it may have: %s", strings.Join(fields, ", "))
	}
	return e
}

func nameRule(noun string) string {
	switch noun {
	case "field":
		return "a field's name has at most 128 characters, no quotes, no control characters and no blank at its ends"
	case "subject":
		return "a subject's id has at most 128 characters and no blanks"
	}
	return "a name has at most 63 letters, digits and underscores, and does not begin with a digit"
}

func (r *reader) missing(path []string) *diag.Error {
	parent := path[:len(path)-1]
	return diag.New(r.invalid, "%s is missing in %s", path[len(path)-1], describe(parent)).At(r.places.label(parent))
}

// conflict names the other place at which the value is written.
func (r *reader) conflict(path []string) *diag.Error {
	all := r.places.written[key(path)]
	e := r.at(path, "%s has two values that exclude each other", describe(path))
	return e.At(r.places.pos(all[1].value.Pos())).WithHint("the other is at %s", r.places.pos(all[0].value.Pos()))
}

// meeting gives the places in the user's files at which the values of a conflict
// are written, in the order of files and lines; a pattern writes a value for many paths.
func (r *reader) meeting(e errors.Error) []diag.Pos {
	var out []diag.Pos
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if at := r.places.pos(p); r.places.ours(p) && !r.places.schema[at] && !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	slices.SortFunc(out, func(a, b diag.Pos) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Col-b.Col)
	})
	return out
}

// foreign is an error outside the model: syntax, imports, the user's own CUE.
func (r *reader) foreign(e errors.Error, text string) *diag.Error {
	pos := diag.Pos{}
	for _, p := range append([]token.Pos{e.Position()}, e.InputPositions()...) {
		if r.places.ours(p) {
			pos = r.places.pos(p)
			break
		}
	}
	if r.invalid == diag.ConfigInvalid { // CUE quotes what it stumbles over; here that may be a secret
		return diag.Wrap(e, r.syntax, "this is not valid CUE").At(pos)
	}
	text, _, _ = strings.Cut(text, "\n")
	text = strings.ReplaceAll(text, r.places.root+string(os.PathSeparator), "")
	return diag.Wrap(e, r.syntax, "%s", text).At(pos)
}
