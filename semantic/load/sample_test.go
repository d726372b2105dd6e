package load_test

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/semantic/schema"
)

// unused are parts of the schema that the sample does without, each with the reason.
var unused = map[string]string{
	"#Relationship.kind one_to_one": "no two tables of a shop hold the same things",
	"#Dimension.kind boolean":       "kinds are told by types; naming one is shown once",
	"#Dimension.kind text":          "as above",
	"#Dimension.kind time":          "as above",
	"#Dimension.kind other":         "as above",
	"#Dimension.visibility output":  "what is left out is as visible as the field",
	"#Dimension.visibility join":    "a dimension is for groups and filters",
	"#Dimension.visibility private": "as above",
	"#Field.visibility output":      "what is left out is output",
	"#Dimension.grains second":      "all grains that a type has go without saying",
	"#Dimension.grains minute":      "as above",
	"#Dimension.grains hour":        "as above",
	"#Cumulative.to_date week":      "a unit like the others",
	"#Cumulative.to_date quarter":   "as above",
	"#Cumulative.grain day":         "as above",
	"#Cumulative.grain week":        "as above",
	"#Cumulative.grain quarter":     "as above",
	"#Cumulative.grain year":        "as above",
	"#Cumulative.coarser first":     "a choice like the others",
	"#Cumulative.coarser avg":       "as above",
	"#Cumulative.coarser min":       "as above",
	"#Time.week_start sunday":       "a model has one start of the week; the retail calendar has the other",
	"#SourceRef.format parquet":     "told by the file's name; naming a format is shown once",
	"#SourceRef.format ndjson":      "as above",
	"#Field.mask":                   "a mask of the model holds for operators too, and the sample's policies mask per role",
	"#Mask.kind":                    "as above",
	"#Mask.n":                       "as above",
	"#Mask.width":                   "as above",
	"#Mask.expr":                    "as above",
	"#Mask.purpose":                 "as above",
	"#Mask.scope":                   "as above",
	"#Mask.filterable":              "as above",
	"#Where.op":                     "questions have the same operators, and policy tests show them",
}

// TestSampleUsesEveryFeature wants every field of every definition of the schema,
// and every word that a field may hold, to stand somewhere in the sample's models.
func TestSampleUsesEveryFeature(t *testing.T) {
	defined := definitions(t)
	require.Greater(t, len(defined), 25)
	used := usage{schema: defined, seen: map[string]bool{}}
	files, err := fs.Glob(plumbline.Files, "models/*.cue")
	require.NoError(t, err)
	for _, name := range files {
		text, err := fs.ReadFile(plumbline.Files, name)
		require.NoError(t, err)
		file, err := parser.ParseFile(path.Base(name), text)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.Field); ok {
				used.value("#Model", f.Value)
			}
		}
	}
	var missing []string
	excused := map[string]bool{}
	for _, what := range slices.Sorted(maps.Keys(all(defined))) {
		field, _, _ := strings.Cut(what, " ")
		if used.seen[what] {
			continue
		}
		excuse := what
		if _, whole := unused[field]; whole {
			excuse = field
		}
		if excused[excuse] = true; unused[excuse] == "" {
			missing = append(missing, what)
		}
	}
	require.Empty(t, missing, "the sample shows every feature, or unused says why not")
	for what := range unused {
		require.True(t, excused[what], "the sample has %s", what)
	}
}

// definition is what one definition of the schema may hold.
type definition struct {
	fields map[string]part
}

// part is one field: the definition of its values, or the words it may be.
type part struct {
	of    string
	each  bool // of is that of the values of a struct whose names the model makes up
	words []string
}

var alternatives = regexp.MustCompile(`\^\(([a-z_|]+)\)\$`)

// definitions reads the schema's text: what its definitions hold.
func definitions(t *testing.T) map[string]definition {
	text, err := schema.FS.ReadFile("model.cue")
	require.NoError(t, err)
	file, err := parser.ParseFile("model.cue", text)
	require.NoError(t, err)
	out := map[string]definition{}
	words := map[string][]string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, _ := ast.LabelName(f.Label)
		if s, ok := f.Value.(*ast.StructLit); ok {
			out[name] = definition{fields: fieldsOf(s)}
			continue
		}
		words[name] = texts(f.Value)
	}
	for _, d := range out {
		for name, p := range d.fields {
			if list, ok := words[p.of]; ok {
				p.of, p.words = "", list
				d.fields[name] = p
			}
		}
	}
	return out
}

func fieldsOf(s *ast.StructLit) map[string]part {
	out := map[string]part{}
	for _, d := range s.Elts {
		f, ok := d.(*ast.Field)
		if !ok {
			continue
		}
		name, _, err := ast.LabelName(f.Label)
		if err != nil {
			continue
		}
		p := part{words: texts(f.Value)}
		value := f.Value
		if inner, ok := value.(*ast.StructLit); ok && len(inner.Elts) == 1 {
			if pattern, ok := inner.Elts[0].(*ast.Field); ok {
				if _, ok := pattern.Label.(*ast.ListLit); ok {
					p.each, value = true, pattern.Value
				}
			}
		}
		ast.Walk(value, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && strings.HasPrefix(id.Name, "#") {
				p.of = id.Name
			}
			return true
		}, nil)
		out[name] = p
	}
	return out
}

// texts are the words that a value of the schema allows, by a disjunction of texts
// or by a pattern that lists them.
func texts(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.OR {
			return append(texts(e.X), texts(e.Y)...)
		}
	case *ast.ParenExpr:
		return texts(e.X)
	case *ast.ListLit:
		if len(e.Elts) == 1 {
			if more, ok := e.Elts[0].(*ast.Ellipsis); ok && more.Type != nil {
				return texts(more.Type)
			}
		}
	case *ast.UnaryExpr:
		if lit, ok := e.X.(*ast.BasicLit); ok {
			if m := alternatives.FindStringSubmatch(lit.Value); m != nil {
				return strings.Split(m[1], "|")
			}
		}
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return []string{strings.Trim(e.Value, `"`)}
		}
	}
	return nil
}

// all names every field as #Definition.field, and every word as #Definition.field word.
func all(schema map[string]definition) map[string]bool {
	out := map[string]bool{}
	for name, d := range schema {
		for field, p := range d.fields {
			out[name+"."+field] = true
			for _, w := range p.words {
				out[name+"."+field+" "+w] = true
			}
		}
	}
	return out
}

// usage collects what models hold.
type usage struct {
	schema map[string]definition
	seen   map[string]bool
}

// value walks a value of the models that a definition describes.
func (u usage) value(of string, v ast.Expr) {
	switch v := v.(type) {
	case *ast.BinaryExpr: // plumbline.#Model & {...}
		u.value(of, v.Y)
	case *ast.ListLit:
		for _, e := range v.Elts {
			u.value(of, e)
		}
	case *ast.StructLit:
		for _, d := range v.Elts {
			if f, ok := d.(*ast.Field); ok {
				u.field(of, f)
			}
		}
	}
}

func (u usage) field(of string, f *ast.Field) {
	name, _, _ := ast.LabelName(f.Label)
	p, ok := u.schema[of].fields[name]
	if !ok {
		return
	}
	u.seen[of+"."+name] = true
	if len(p.words) > 0 {
		for _, w := range texts(f.Value) {
			u.seen[of+"."+name+" "+w] = true
		}
		if list, ok := f.Value.(*ast.ListLit); ok {
			for _, e := range list.Elts {
				for _, w := range texts(e) {
					u.seen[of+"."+name+" "+w] = true
				}
			}
		}
	}
	if !p.each {
		u.value(p.of, f.Value)
		return
	}
	names, ok := f.Value.(*ast.StructLit)
	if !ok {
		return
	}
	for _, d := range names.Elts {
		if f, ok := d.(*ast.Field); ok {
			u.value(p.of, f.Value)
		}
	}
}
