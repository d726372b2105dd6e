package load

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
	"golang.org/x/text/unicode/norm"

	"plumbline/semantic/diag"
)

// places knows where in the user's files each path of the model is written.
// A path is a list of labels, for example model, entities, orders, grain.
// What a comprehension or an imported package generates has no place of its own
// and takes that of its nearest ancestor.
type places struct {
	root    string
	written map[string][]place // by key(path), in file order
	order   map[string]int     // by key(path): rank of the first writing
	schema  map[diag.Pos]bool  // where a file names a definition of the schema
}

type place struct {
	label token.Pos
	value ast.Expr
	file  *ast.File
}

func key(path []string) string { return strings.Join(path, "\x00") }

func newPlaces(root string, files []*ast.File) *places {
	p := &places{root: root, written: map[string][]place{}, order: map[string]int{}, schema: map[diag.Pos]bool{}}
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b *ast.File) int { return strings.Compare(a.Filename, b.Filename) })
	for _, file := range sorted {
		p.walk(file, nil, file.Decls)
		p.definitions(file)
	}
	return p
}

func (p *places) walk(file *ast.File, path []string, decls []ast.Decl) {
	for _, decl := range decls {
		switch d := decl.(type) {
		case *ast.Field:
			label, _, err := ast.LabelName(d.Label)
			if err != nil {
				continue // a pattern or an interpolation
			}
			p.add(file, append(slices.Clip(path), norm.NFC.String(label)), d.Label.Pos(), d.Value) // as CUE takes it
		case *ast.EmbedDecl:
			p.enter(file, path, d.Expr)
		}
	}
}

// definitions notes where a file names one of the schema's, as plumbline.#Model.
func (p *places) definitions(file *ast.File) {
	imported := importName(file)
	ast.Walk(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported != "" && x.Name == imported {
				p.schema[p.pos(s.Pos())] = true
			}
		}
		return true
	}, nil)
}

func (p *places) add(file *ast.File, path []string, label token.Pos, value ast.Expr) {
	k := key(path)
	if _, seen := p.order[k]; !seen {
		p.order[k] = len(p.order)
	}
	p.written[k] = append(p.written[k], place{label: label, value: value, file: file})
	p.enter(file, path, value)
}

// enter descends into the structs and lists of a value, through & and parentheses.
func (p *places) enter(file *ast.File, path []string, value ast.Expr) {
	switch v := value.(type) {
	case *ast.StructLit:
		p.walk(file, path, v.Elts)
	case *ast.ParenExpr:
		p.enter(file, path, v.X)
	case *ast.BinaryExpr:
		if v.Op == token.AND {
			p.enter(file, path, v.X)
			p.enter(file, path, v.Y)
		}
	case *ast.ListLit:
		for i, element := range v.Elts {
			p.add(file, append(slices.Clip(path), strconv.Itoa(i)), element.Pos(), element)
		}
	}
}

// label gives where the last label of path is written, or its nearest ancestor's.
func (p *places) label(path []string) diag.Pos {
	for n := len(path); n > 0; n-- {
		if at := p.written[key(path[:n])]; len(at) > 0 {
			return p.pos(at[0].label)
		}
	}
	return diag.Pos{}
}

// value gives where the value of path begins, or its label's place.
func (p *places) value(path []string) diag.Pos {
	if at := p.written[key(path)]; len(at) > 0 && at[0].value.Pos().IsValid() {
		return p.pos(at[0].value.Pos())
	}
	return p.label(path)
}

// text gives where the first byte inside the string literal of path stands, so
// that an offset into one line of the text is an offset from there. Text that
// is not written as one literal gets the place of its value.
func (p *places) text(path []string) diag.Pos {
	pos := p.value(path)
	at := p.written[key(path)]
	if len(at) == 0 {
		return pos
	}
	lit, ok := at[0].value.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return pos
	}
	quotes := strings.IndexFunc(lit.Value, func(r rune) bool { return r != '#' && r != '"' })
	if first, rest, multiline := strings.Cut(lit.Value, "\n"); multiline && strings.HasSuffix(strings.TrimSpace(first), `"""`) {
		pos.Line++
		last := lit.Value[strings.LastIndexByte(lit.Value, '\n')+1:]
		indent := len(last) - len(strings.TrimLeft(last, " \t"))
		if rest == last {
			indent = 0
		}
		pos.Col = indent + 1
		return pos
	}
	if quotes > 0 {
		pos.Col += quotes
	}
	return pos
}

// rank orders the children of path as they are written; generated ones come last, by name.
func (p *places) rank(path []string, names []string) {
	rank := func(name string) int {
		if n, ok := p.order[key(append(slices.Clip(path), name))]; ok {
			return n
		}
		return len(p.order)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

// ours reports whether a place lies in one of the user's files, not in the schema.
func (p *places) ours(pos token.Pos) bool {
	return pos.IsValid() && !strings.Contains(filepath.ToSlash(pos.Filename()), "cue.mod/pkg/")
}

func (p *places) pos(pos token.Pos) diag.Pos {
	if !pos.IsValid() {
		return diag.Pos{}
	}
	return diag.Pos{File: relative(p.root, pos.Filename()), Line: pos.Line(), Col: pos.Column()}
}

// unquote turns the labels of a CUE error's path into plain names.
func unquote(path []string) []string {
	out := make([]string, len(path))
	for i, label := range path {
		out[i] = label
		if strings.HasPrefix(label, `"`) {
			if s, err := literal.Unquote(label); err == nil {
				out[i] = s
			}
		}
	}
	return out
}
