package load

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/schema"
)

// lint finds what CUE accepts in silence: labels that it would merge or hide,
// stray top-level fields, and a model that nothing closes. top is the one field
// a file may have, and definition what it must be unified with.
func (r *reader) lint(files []*ast.File, top, definition string) diag.List {
	var out diag.List
	closed, written := false, false
	for _, file := range files {
		imported := importName(file)
		for _, decl := range file.Decls {
			label, field := fieldOf(decl)
			switch {
			case field == nil || strings.HasPrefix(label, "_") || strings.HasPrefix(label, "#"):
				continue
			case label != top:
				out = append(out, diag.New(r.invalid, "%q is not read: everything stands under %q", label, top).
					At(r.places.pos(field.Pos())).Suggest(semantic.Nearest(label, []string{top})...))
				continue
			}
			written = true
			closed = closed || imported != "" && unifies(field.Value, imported, definition)
			out = append(out, r.hidden(field.Value)...)
		}
	}
	if written && !closed {
		out = append(out, diag.New(r.invalid, "nothing checks %q against the schema", top).At(r.places.label([]string{top})).
			WithHint("write %s: plumbline.%s & {...} and import %q", top, definition, schema.ImportPath+":plumbline"))
	}
	return append(out, r.repeated()...)
}

func fieldOf(decl ast.Decl) (string, *ast.Field) {
	field, ok := decl.(*ast.Field)
	if !ok {
		return "", nil
	}
	label, _, err := ast.LabelName(field.Label)
	if err != nil {
		return "", nil
	}
	return label, field
}

// importName gives the name under which a file imports the schema, or "".
func importName(file *ast.File) string {
	for spec := range file.ImportSpecs() {
		path := strings.Trim(spec.Path.Value, `"`)
		base, qualifier, _ := strings.Cut(path, ":")
		if base != schema.ImportPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return qualifier
	}
	return ""
}

// unifies reports whether value has pkg.definition among the operands of its &.
func unifies(value ast.Expr, pkg, definition string) bool {
	switch v := value.(type) {
	case *ast.BinaryExpr:
		return v.Op == token.AND && (unifies(v.X, pkg, definition) || unifies(v.Y, pkg, definition))
	case *ast.ParenExpr:
		return unifies(v.X, pkg, definition)
	case *ast.SelectorExpr:
		x, ok := v.X.(*ast.Ident)
		sel, isIdent := v.Sel.(*ast.Ident)
		return ok && isIdent && x.Name == pkg && sel.Name == definition
	}
	return false
}

// hidden finds labels that CUE takes for private ones of its own.
func (r *reader) hidden(value ast.Expr) diag.List {
	var out diag.List
	ast.Walk(value, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		ident, ok := field.Label.(*ast.Ident)
		if ok && (strings.HasPrefix(ident.Name, "_") || strings.HasPrefix(ident.Name, "#")) {
			out = append(out, diag.New(r.invalid, "CUE hides the name %s", ident.Name).
				At(r.places.pos(field.Pos())).WithHint("write it in quotes: %q", ident.Name))
		}
		return true
	}, nil)
	return out
}

// repeated finds what is written twice: CUE would merge both into one.
func (r *reader) repeated() diag.List {
	var out diag.List
	for k, all := range r.places.written {
		path := strings.Split(k, "\x00")
		if !r.twice(path) || slices.ContainsFunc(prefixes(path), r.twice) {
			continue // or what it stands in is reported
		}
		for _, again := range all[1:] {
			out = append(out, diag.New(diag.ModelDuplicate, "%s is declared twice; first at %s", describe(path), r.places.pos(all[0].label)).
				At(r.places.pos(again.label)).WithHint("%s", once(path)))
		}
	}
	return out
}

// twice reports whether path is written more than once where once is meant.
// Structs without a name of their own may be written in parts, as CUE users do:
// source: path: "a.csv" and source: format: "csv".
func (r *reader) twice(path []string) bool {
	all := r.places.written[key(path)]
	if len(all) < 2 || !isNamed(path) {
		return false
	}
	s, _ := shapeOf(path)
	return s.noun != "" || slices.ContainsFunc(all, func(p place) bool {
		_, parts := p.value.(*ast.StructLit)
		return !parts
	})
}

func prefixes(path []string) [][]string {
	var out [][]string
	for n := 1; n < len(path); n++ {
		out = append(out, path[:n])
	}
	return out
}

func once(path []string) string {
	s, _ := shapeOf(path)
	if s.noun == "" {
		return "write it once"
	}
	return fmt.Sprintf("rename one, or write the whole %s in one place", s.noun)
}

// isNamed reports whether path is an entity, a metric, or anything inside one.
func isNamed(path []string) bool {
	return slices.ContainsFunc(structure, func(s shape) bool {
		return s.noun != "" && len(path) >= strings.Count(s.pattern, ".")+1 && matches(s.pattern, path[:strings.Count(s.pattern, ".")+1])
	})
}
