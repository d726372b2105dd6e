package load

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"

	"plumbline/semantic/schema"
)

// blank takes the place of a schema file that must not be read.
const blank = "package plumbline\n"

// evaluation is one CUE instance of the user's files and its value.
type evaluation struct {
	instance *build.Instance
	value    cue.Value
	err      error // of loading and building; validation is left to the caller
}

// evaluate loads the package or file that arg names in dir under the given schema
// files. texts, by absolute path, are taken in place of what is on disk.
func evaluate(root, dir, arg string, texts map[string][]byte, definitions map[string]string) evaluation {
	files := overlay(root, definitions)
	for name, text := range texts {
		files[name] = load.FromBytes(text)
	}
	instances := load.Instances([]string{arg}, &load.Config{
		Dir:        dir,
		ModuleRoot: root,
		Overlay:    files,
		Env:        []string{"CUE_REGISTRY=none"}, // nothing is ever fetched
	})
	e := evaluation{instance: instances[0]}
	if e.err = e.instance.Err; e.err != nil {
		return e
	}
	e.value = cuecontext.New().BuildInstance(e.instance)
	e.err = e.value.Err()
	return e
}

// overlay lays our schema and a module file without dependencies over the
// workspace, whatever it holds there: a stale copy of the schema, or none.
func overlay(root string, definitions map[string]string) map[string]load.Source {
	vendored := filepath.Join(root, filepath.FromSlash(schema.Dir))
	files := map[string]load.Source{
		filepath.Join(root, "cue.mod", "module.cue"): load.FromString(moduleFile(root)),
		filepath.Join(root, ConfigFile):              load.FromString("package workspace\n"), // read on its own
	}
	stale, _ := filepath.Glob(filepath.Join(vendored, "*.cue")) // none when there is no copy
	for _, file := range stale {
		files[file] = load.FromString(blank)
	}
	for name, text := range definitions {
		files[filepath.Join(vendored, name)] = load.FromString(text)
	}
	return files
}

var modulePath = regexp.MustCompile(`(?m)^\s*module:\s*"([^"]+)"`)

// moduleFile keeps the workspace's own module path, so that models may import
// packages of the workspace, and drops its dependencies.
func moduleFile(root string) string {
	name := "plumbline.example/workspace@v0"
	if own, err := os.ReadFile(filepath.Join(root, "cue.mod", "module.cue")); err == nil {
		if m := modulePath.FindSubmatch(own); m != nil {
			name = string(m[1])
		}
	}
	return "module: \"" + name + "\"\nlanguage: version: \"v0.17.0\"\n"
}

// shapes are the schema files without the references, which Go checks.
func shapes() map[string]string {
	out := map[string]string{}
	for _, name := range schemaFiles() {
		text, err := schema.FS.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		out[name] = string(text)
		if name == schema.References {
			out[name] = blank
		}
	}
	return out
}

func schemaFiles() []string {
	names, err := fs.Glob(schema.FS, "*.cue")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return names
}

// open are definitions of the same names that accept everything.
func open() map[string]string {
	var b strings.Builder
	b.WriteString(blank)
	for name := range definitions() {
		b.WriteString(name + ": _\n")
	}
	out := map[string]string{"model.cue": b.String()}
	for _, name := range schemaFiles() {
		if name != "model.cue" {
			out[name] = blank
		}
	}
	return out
}

// definition lists the fields of one closed struct of the schema.
type definition struct {
	fields   []string
	required []string
}

// definitions reads the schema's own text, so that messages about unknown and
// missing fields never disagree with it.
func definitions() map[string]definition {
	out := map[string]definition{}
	for name, text := range shapes() {
		file, err := parser.ParseFile(path.Join(schema.Dir, name), text)
		if err != nil {
			panic(err) // embedded
		}
		for _, decl := range file.Decls {
			field, ok := decl.(*ast.Field)
			if !ok {
				continue
			}
			label, _, err := ast.LabelName(field.Label)
			if err != nil || !strings.HasPrefix(label, "#") {
				continue
			}
			out[label] = fieldsOf(field.Value)
		}
	}
	return out
}

func fieldsOf(value ast.Expr) definition {
	var d definition
	body, ok := value.(*ast.StructLit)
	if !ok {
		return d
	}
	for _, decl := range body.Elts {
		field, ok := decl.(*ast.Field)
		if !ok {
			continue
		}
		label, _, err := ast.LabelName(field.Label)
		if err != nil {
			continue
		}
		d.fields = append(d.fields, label)
		if field.Constraint == token.NOT {
			d.required = append(d.required, label)
		}
	}
	return d
}
