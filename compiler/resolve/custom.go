package resolve

import (
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// custom holds the expression of a custom measure to its form: aggregates, none
// inside another, and every column inside one of them.
func (m *modelCheck) custom(x *modelExpr, tree sqlast.Expr, text string, start int) bool {
	found, ok := false, true
	refuse := func(e sqlast.Expr, hint, format string, args ...any) {
		ok = false
		err := diag.New(diag.ModelSQL, format, args...).WithHint("%s", hint)
		if at := place(e); at != sqlast.NoOffset {
			err = err.At(diag.PosAt("", text, int(at)))
		}
		m.report(x, inExpression(err, x.text, text, start))
	}
	var read func(within bool) func(any) bool
	read = func(within bool) func(any) bool {
		return func(n any) bool {
			switch n := n.(type) {
			case *sqlast.Function:
				if functions[Aggregate][strings.ToLower(n.Name)].Name == "" {
					return true
				}
				if within {
					refuse(n, "aggregate the rows once", "the aggregate %s stands inside another", strings.ToLower(n.Name))
				}
				found = true
				inside(n, read(true))
				return false
			case *sqlast.ColumnRef:
				if !within && x.parameters[fold(n.Names[0])] == nil {
					refuse(n, "aggregate it, for example with sum or max", "%q is read outside an aggregate, where there is no single row", n.Names[0])
				}
			}
			return true
		}
	}
	sqlast.Walk(tree, read(false))
	if !found && ok {
		refuse(tree, "use sum, avg or another agg for an expression over one row", "a custom measure holds an aggregate, and none stands in it")
	}
	return ok
}

// inside walks what stands inside a call.
func inside(f *sqlast.Function, pre func(any) bool) {
	for _, a := range f.Args {
		sqlast.Walk(a, pre)
	}
	if f.Filter != nil {
		sqlast.Walk(f.Filter, pre)
	}
	for _, o := range f.OrderBy {
		sqlast.Walk(o.Expr, pre)
	}
}
