package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// finder finds the checks of one file and the edits that make each of them a
// switch. It goes by the tree alone, without types: functions are told apart by name.
type finder struct {
	*pkg
	file  string // of the repository
	text  []byte
	fn    string           // the function around, for the mutants' names
	types []*ast.FuncType  // of the functions around, the nearest last
	edits map[int][]string // by offset
}

// pkg is what the finder knows of a whole package.
type pkg struct {
	fset    *token.FileSet
	mutants []mutant
	seen    map[string]int
	// refusers refuse whatever happens; mayRefuse are these and all functions that
	// call one of them, however far down.
	refusers, mayRefuse map[string]bool
	errorTypes          map[string]bool
}

// mutant is one check, which is off when its number is chosen. Its name has no
// line, so that it stays when lines move.
type mutant struct{ name string }

// learn finds the functions that refuse: a statement of theirs that no return
// stands before makes an error, or calls a function that refuses.
func (p *pkg) learn(files []*ast.File) {
	var funcs []*ast.FuncDecl
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				funcs = append(funcs, fn)
				if fn.Name.Name == "Error" && fn.Recv != nil {
					p.errorTypes[typeName(fn.Recv.List[0].Type)] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range funcs {
			name := fn.Name.Name
			if !p.refusers[name] && p.always(fn.Body.List) {
				p.refusers[name], p.mayRefuse[name], changed = true, true, true
			}
			if !p.mayRefuse[name] && p.calls(fn.Body, p.mayRefuse) {
				p.mayRefuse[name], changed = true, true
			}
		}
	}
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// always reports that the statements refuse on every path.
func (p *pkg) always(list []ast.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.IfStmt:
			if other, ok := s.Else.(*ast.BlockStmt); ok && p.always(s.Body.List) && p.always(other.List) {
				return true
			}
			if returns(s) && !p.always(s.Body.List) {
				return false
			}
		case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt:
			if returns(s) && !p.refuses(s) {
				return false
			}
		default:
			if p.refuses(s) {
				return true
			}
			if _, ok := s.(*ast.ReturnStmt); ok {
				return false
			}
		}
	}
	return false
}

func returns(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		_, ok := n.(*ast.ReturnStmt)
		found = found || ok
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// refuses reports that a part holds a call that refuses.
func (p *pkg) refuses(n ast.Node) bool { return p.calls(n, p.refusers) }

func (p *pkg) calls(n ast.Node, names map[string]bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			switch f := call.Fun.(type) {
			case *ast.Ident:
				found = found || names[f.Name] || p.errorTypes[f.Name]
			case *ast.SelectorExpr:
				x, ok := f.X.(*ast.Ident)
				switch {
				case ok && x.Name == "diag":
					found = found || f.Sel.Name == "New" || f.Sel.Name == "Wrap"
				case ok && x.Obj == nil && imported(x.Name):
				default:
					found = found || names[f.Sel.Name]
				}
			}
		}
		_, inner := n.(*ast.FuncLit)
		return !found && !inner
	})
	return found
}

// imported names other packages whose functions are called like our own.
func imported(name string) bool {
	return slices.Contains([]string{"slices", "maps", "strings", "json", "reflect", "sqlast", "semantic", "resolve", "policy", "errors", "fmt", "strconv", "time", "big", "ast"}, name)
}

// add numbers a mutant and names it by its place and its text.
func (f *finder) add(n ast.Node) int {
	text := strings.Join(strings.Fields(string(f.text[f.at(n.Pos()):f.at(n.End())])), " ")
	if len(text) > 100 {
		text = text[:100]
	}
	name := f.file + " " + f.fn + ": " + text
	f.seen[name]++
	if k := f.seen[name]; k > 1 {
		name += fmt.Sprintf(" (%d)", k)
	}
	f.mutants = append(f.mutants, mutant{name})
	return len(f.mutants) // 0 is no mutant
}

func (f *finder) at(p token.Pos) int { return f.fset.Position(p).Offset }

// around puts text before and after a part. Of what begins at one place the outer
// part comes first; of what ends at one place the inner one does.
func (f *finder) around(from, to token.Pos, before, after string) {
	f.edits[f.at(from)] = append(f.edits[f.at(from)], before)
	f.edits[f.at(to)] = append([]string{after}, f.edits[f.at(to)]...)
}

func (f *finder) apply() []byte {
	var out []byte
	for i := range len(f.text) + 1 {
		for _, e := range f.edits[i] {
			out = append(out, e...)
		}
		if i < len(f.text) {
			out = append(out, f.text[i])
		}
	}
	return out
}

// run visits a function.
func (f *finder) run(fn *ast.FuncDecl) {
	f.fn, f.types = fn.Name.Name, []*ast.FuncType{fn.Type}
	f.block(fn.Body.List, false, true)
}

// block visits statements. checked says that a check around them is a mutant
// already; last that nothing comes after them in their function.
func (f *finder) block(list []ast.Stmt, checked, last bool) {
	for i, s := range list {
		f.stmt(s, checked, last && i == len(list)-1)
	}
}

func (f *finder) stmt(s ast.Stmt, checked, last bool) {
	switch s := s.(type) {
	case *ast.IfStmt:
		f.ifStmt(s, last)
	case *ast.SwitchStmt:
		f.inits(s.Init)
		for _, c := range s.Body.List {
			f.clause(c.(*ast.CaseClause), s.Tag == nil, last)
		}
	case *ast.TypeSwitchStmt:
		for _, c := range s.Body.List {
			f.clause(c.(*ast.CaseClause), false, last)
		}
	case *ast.ForStmt:
		f.block(s.Body.List, false, false)
	case *ast.RangeStmt:
		f.block(s.Body.List, false, false)
	case *ast.BlockStmt:
		f.block(s.List, checked, last)
	case *ast.ReturnStmt:
		f.returned(s)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if ok && f.calls(&ast.CallExpr{Fun: call.Fun}, f.mayRefuse) && !(checked && f.refuses(&ast.CallExpr{Fun: call.Fun})) {
			n := f.add(s)
			f.around(s.Pos(), s.End(), fmt.Sprintf("if mutantDoes(%d) { ", n), " }")
		}
		f.inits(s)
	default:
		f.inits(s)
	}
}

// inits visits the function literals of a statement.
func (f *finder) inits(s ast.Node) {
	if s == nil || s == ast.Stmt(nil) {
		return
	}
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.types = append(f.types, n.Type)
			f.block(n.Body.List, false, true)
			f.types = f.types[:len(f.types)-1]
			return false
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Join" && typeName(sel.X) == "errors" && !n.Ellipsis.IsValid() {
				for _, arg := range n.Args {
					f.around(arg.Pos(), arg.End(), fmt.Sprintf("mutantErr(%d, ", f.add(arg)), ")")
				}
			}
		}
		return true
	})
}

func (f *finder) ifStmt(s *ast.IfStmt, last bool) {
	f.inits(s.Init)
	refuses := f.bodyRefuses(s.Body.List)
	switch {
	case refuses:
		f.condition(s.Cond, true, true)
	case f.accepts(s.Body.List):
		f.condition(s.Cond, false, f.answers(s.Body.List))
	default:
		f.inits(s.Cond)
	}
	f.block(s.Body.List, refuses, last)
	switch other := s.Else.(type) {
	case *ast.IfStmt:
		f.ifStmt(other, last)
	case *ast.BlockStmt:
		refuses := f.bodyRefuses(other.List)
		if refuses && !(last && endsInReturn(other.List)) {
			f.drop(other.List)
		}
		f.block(other.List, refuses, last)
	}
}

// clause visits a case. Without a tag its expressions are conditions; otherwise
// the whole body is dropped, or its false becomes true.
func (f *finder) clause(c *ast.CaseClause, conditions, last bool) {
	refuses := f.bodyRefuses(c.Body) || !conditions && f.asks(c.Body)
	switch {
	case conditions && c.List != nil && refuses:
		for _, e := range c.List {
			f.condition(e, true, true)
		}
	case conditions && c.List != nil && f.accepts(c.Body):
		for _, e := range c.List {
			f.condition(e, false, f.answers(c.Body))
		}
	case !refuses:
	case len(c.Body) == 1 && f.no(c.Body[0]) != nil:
		no := f.no(c.Body[0])
		f.edits[f.at(no.Pos())] = append(f.edits[f.at(no.Pos())], fmt.Sprintf("mutantYes(%d) || ", f.add(c)))
	case last && endsInReturn(c.Body):
		refuses = false
	default:
		f.drop(c.Body)
	}
	f.block(c.Body, refuses, last)
}

func (f *finder) drop(body []ast.Stmt) {
	first, end := body[0], body[len(body)-1]
	f.around(first.Pos(), end.End(), fmt.Sprintf("if mutantDoes(%d) { ", f.add(end)), " }")
}

func endsInReturn(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	_, ok := list[len(list)-1].(*ast.ReturnStmt)
	return ok
}

// no gives the false that a statement returns, nil for another statement.
func (f *finder) no(s ast.Stmt) ast.Expr {
	r, ok := s.(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 || f.result() != "bool" || f.refuses(s) {
		return nil
	}
	if e := r.Results[len(r.Results)-1]; isIdent(e, "false") {
		return e
	}
	return nil
}

// result is the type of the last result of the function around, "" for none.
func (f *finder) result() string {
	list := f.types[len(f.types)-1].Results
	if list == nil {
		return ""
	}
	switch t := list.List[len(list.List)-1].Type.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		if sel, ok := t.X.(*ast.SelectorExpr); ok && typeName(sel.X) == "diag" {
			return "error"
		}
		return "*"
	}
	return "other"
}

// bodyRefuses reports that one of the statements, not one inside another, calls
// what refuses, or returns false, nil from a function of pointers, an error, or a sentence.
func (f *finder) bodyRefuses(body []ast.Stmt) bool {
	return slices.ContainsFunc(body, func(s ast.Stmt) bool {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.AssignStmt:
			return f.refuses(s)
		case *ast.ReturnStmt:
			if f.refuses(s) {
				return true
			}
			if len(s.Results) == 0 {
				return false
			}
			e := s.Results[len(s.Results)-1]
			switch f.result() {
			case "bool":
				return isIdent(e, "false")
			case "error":
				return !isIdent(e, "nil")
			case "*":
				return isIdent(e, "nil")
			case "string":
				lit, ok := e.(*ast.BasicLit)
				return ok && strings.Count(lit.Value, " ") > 3
			}
		}
		return false
	})
}

// asks reports that a body returns what a function that may refuse says.
func (f *finder) asks(body []ast.Stmt) bool {
	if len(body) != 1 {
		return false
	}
	r, ok := body[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) == 0 {
		return false
	}
	call, ok := r.Results[len(r.Results)-1].(*ast.CallExpr)
	return ok && f.calls(&ast.CallExpr{Fun: call.Fun}, f.mayRefuse) && slices.Contains([]string{"bool", "error"}, f.result())
}

// accepts reports that a body ends a function that refuses, or a round of its
// loop, without refusing.
func (f *finder) accepts(body []ast.Stmt) bool {
	if len(body) != 1 || f.result() != "bool" && !f.mayRefuse[f.fn] {
		return false
	}
	switch s := body[0].(type) {
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE
	case *ast.ReturnStmt:
		if len(s.Results) == 0 {
			return true
		}
		e := s.Results[len(s.Results)-1]
		switch f.result() {
		case "bool":
			return isIdent(e, "true")
		case "error":
			return isIdent(e, "nil")
		case "string":
			lit, ok := e.(*ast.BasicLit)
			return ok && lit.Value == `""`
		}
	}
	return false
}

// answers reports that a body that accepts gives a result: nothing of the
// function's later refusals is left.
func (f *finder) answers(body []ast.Stmt) bool {
	r, ok := body[0].(*ast.ReturnStmt)
	return ok && len(r.Results) > 0
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// returned weakens what a predicate returns: each operand of its AND.
func (f *finder) returned(s *ast.ReturnStmt) {
	if len(s.Results) == 0 || len(s.Results) != f.types[len(f.types)-1].Results.NumFields() || f.result() != "bool" || len(f.types) > 1 {
		f.inits(s)
		return
	}
	e := s.Results[len(s.Results)-1]
	if _, ok := e.(*ast.Ident); ok {
		return
	}
	f.condition(e, false, true)
}

// condition makes switches of the parts of a condition without which less is
// refused: each operand of OR in what refuses, each operand of AND in what
// accepts, and the whole where that is no more than one. leaf asks for a part
// that has no such operands.
func (f *finder) condition(e ast.Expr, refusing, leaf bool) {
	inner := ast.Unparen(e)
	switch x := inner.(type) {
	case *ast.BinaryExpr:
		splits, other := token.LOR, token.LAND
		if !refusing {
			splits, other = other, splits
		}
		switch x.Op {
		case splits:
			f.condition(x.X, refusing, true)
			f.condition(x.Y, refusing, true)
			return
		case other:
			if leaf {
				f.leaf(e, refusing)
			}
			f.condition(x.X, refusing, false)
			f.condition(x.Y, refusing, false)
			return
		}
	case *ast.UnaryExpr:
		if b, ok := ast.Unparen(x.X).(*ast.BinaryExpr); ok && x.Op == token.NOT && (b.Op == token.LAND || b.Op == token.LOR) {
			f.condition(x.X, !refusing, leaf)
			return
		}
	}
	if leaf {
		f.leaf(e, refusing)
	}
	f.inits(e)
}

func (f *finder) leaf(e ast.Expr, refusing bool) {
	n := strconv.Itoa(f.add(e))
	if refusing {
		f.around(e.Pos(), e.End(), "(!mutantOff("+n+") && (", ") && mutantNote("+n+", true))")
		return
	}
	f.around(e.Pos(), e.End(), "(mutantOff("+n+") || (", ") || mutantNote("+n+", false))")
}
