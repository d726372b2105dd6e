package resolve

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Derived is one node of the tree of a derived metric's expression. It holds
// nothing but arithmetic over metrics, so that whoever prints it prints each
// kind in one way, and neither precedence nor text of the model is left to trust.
// The zero value is no expression.
//
// Meaning: every operand is a number or NULL, NULL makes arithmetic NULL (coalesce,
// greatest and least pass by it), and a division by zero is NULL: print "/" with
// nullif(divisor, 0).
type Derived struct {
	Kind DerivedKind
	// Text is the digits of a number, as written but for its underscores and with
	// a minus in front when it is below zero; the operator; or the name of the
	// function, lower case. Which there are stands at the kinds.
	Text string
	Name semantic.Name // metric, parameter: its name as declared
	// Args are the operands of an operator or call in order. Those of a case are
	// when, then, when, then, ..., else: an odd number, since a missing ELSE is NULL.
	Args []*Derived
	At   int // byte where the node begins in Metric.Expr; -1 when DuckDB did not say
}

// DerivedKind is what a node of a derived expression is.
type DerivedKind int

// The kinds.
const (
	DerivedNumber    DerivedKind = iota + 1 // Text: 12, 0.5, -3, 1e3
	DerivedNull                             // NULL
	DerivedMetric                           // Name
	DerivedParameter                        // Name
	// DerivedOperator: two operands for + - * / = <> < <= > >= "is distinct from"
	// "is not distinct from", two or more for and, or; one for not, "is null",
	// "is not null", and for - as a sign.
	DerivedOperator
	DerivedCall // coalesce, nullif, abs, round, greatest, least
	DerivedCase
)

// Derived gives the tree of a derived metric's expression; false when the metric
// is not a derived one of the checked catalog.
func (x *Expressions) Derived(metric semantic.Name) (*Derived, bool) {
	d, ok := x.derived[metric.Key()]
	return d, ok
}

// Walk calls f for d and every node below it, operands in order.
func (d *Derived) Walk(f func(*Derived)) {
	f(d)
	for _, a := range d.Args {
		a.Walk(f)
	}
}

// derivedFunctions are the functions of derived expressions with the least and
// the greatest number of operands; 0 is no bound.
var derivedFunctions = map[string][2]int{
	"coalesce": {1, 0}, "nullif": {2, 2}, "abs": {1, 1}, "round": {1, 2}, "greatest": {1, 0}, "least": {1, 0},
}

var derivedComparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "is distinct from", "COMPARE_NOT_DISTINCT_FROM": "is not distinct from",
}

const derivedHint = "a derived metric holds metrics by name, numbers, + - * /, brackets, CASE WHEN with comparisons, and coalesce, nullif, abs, round, greatest, least"

// derivation turns one parsed expression into its tree.
type derivation struct {
	check *modelCheck
	x     *modelExpr
	text  string // the parsed statement
	start int    // where the expression begins in text
	bad   bool
}

// derive reads the expression of a derived metric and fills its Reads.
func (m *modelCheck) derive(x *modelExpr, tree sqlast.Expr, text string, start int) {
	d := &derivation{check: m, x: x, text: text, start: start}
	root := d.value(tree)
	if d.bad {
		return
	}
	metric := x.derived
	metric.Reads = nil
	root.Walk(func(n *Derived) {
		if n.Kind == DerivedMetric && !slices.Contains(metric.Reads, n.Name) {
			metric.Reads = append(metric.Reads, n.Name)
		}
	})
	if len(metric.Reads) == 0 {
		m.report(x, diag.New(diag.ModelSQL, "no metric is named in it").WithHint(derivedHint))
		return
	}
	m.out.derived[metric.Name.Key()] = root
}

func (d *derivation) node(kind DerivedKind, e sqlast.Expr, text string, args ...*Derived) *Derived {
	at := -1
	if p := int(sqlast.Meta(e).At); p >= d.start {
		at = p - d.start
	}
	return &Derived{Kind: kind, Text: text, Args: args, At: at}
}

func (d *derivation) refuse(e sqlast.Expr, hint, format string, args ...any) *Derived {
	d.bad = true
	err := diag.New(diag.ModelSQL, format, args...).WithHint("%s", hint)
	if at := place(e); at >= 0 {
		err = err.At(diag.PosAt("", d.text, int(at)))
	}
	d.check.report(d.x, inExpression(err, d.x.text, d.text, d.start))
	return &Derived{}
}

func (d *derivation) values(list []sqlast.Expr) []*Derived {
	var out []*Derived
	for _, e := range list {
		out = append(out, d.value(e))
	}
	return out
}

// value reads what is a number.
func (d *derivation) value(e sqlast.Expr) *Derived {
	switch e := e.(type) {
	case *sqlast.ColumnRef:
		return d.name(e)
	case *sqlast.Constant:
		return d.constant(e)
	case *sqlast.Function:
		return d.call(e)
	case *sqlast.Operator:
		if e.Op == "OPERATOR_COALESCE" {
			return d.node(DerivedCall, e, "coalesce", d.values(e.Args)...)
		}
	case *sqlast.Case:
		return d.cases(e)
	}
	return d.refuse(e, derivedHint, "this form has no place in a derived metric where a number is meant")
}

func (d *derivation) name(e *sqlast.ColumnRef) *Derived {
	if len(e.Names) > 1 {
		return d.refuse(e, "name the metric alone", "a metric has no qualifier")
	}
	written := e.Names[0]
	if p := d.x.parameters[strings.ToLower(written)]; p != nil {
		n := d.node(DerivedParameter, e, "")
		n.Name = p.Name
		if p.Type.Kind() != semantic.KindNumber {
			return d.refuse(e, "", "a derived metric computes with numbers, and parameter %q is %s", p.Name, p.Type)
		}
		return n
	}
	metric := d.check.catalog.Metric(semantic.Name(written))
	if metric == nil {
		d.bad = true
		err := diag.New(diag.ModelSQL, "there is no metric %q", written).At(diag.PosAt("", d.text, int(e.At)))
		if near := semantic.Nearest(written, d.check.metricNames()); len(near) > 0 {
			err = err.Suggest(near...)
		}
		d.check.report(d.x, inExpression(err, d.x.text, d.text, d.start))
		return &Derived{}
	}
	n := d.node(DerivedMetric, e, "")
	n.Name = metric.Name
	return n
}

func (d *derivation) constant(e *sqlast.Constant) *Derived {
	if e.Value.IsNull {
		return d.node(DerivedNull, e, "")
	}
	digits := ""
	for i, t := range sqlast.Tokens(d.text[max(int(e.At), 0):]) {
		word := d.text[int(e.At)+t.Start : int(e.At)+t.End]
		if t.Kind == sqlast.Number {
			return d.node(DerivedNumber, e, digits+strings.ReplaceAll(word, "_", ""))
		}
		if i > 0 || word != "-" {
			break
		}
		digits = "-"
	}
	return d.refuse(e, derivedHint, "a derived metric holds no values but numbers")
}

func (d *derivation) call(e *sqlast.Function) *Derived {
	name := strings.ToLower(e.Name)
	plain := e.Catalog == "" && e.Schema == "" && !e.Distinct && e.Filter == nil && len(e.OrderBy) == 0
	if e.IsOperator {
		if !plain || !slices.Contains([]string{"+", "-", "*", "/"}, name) || len(e.Args) > 2 || len(e.Args) == 1 && name != "-" && name != "+" {
			return d.refuse(e, derivedHint, "the operator %s has no place in a derived metric", name)
		}
		if len(e.Args) == 1 && name == "+" {
			return d.value(e.Args[0])
		}
		return d.node(DerivedOperator, e, name, d.values(e.Args)...)
	}
	bounds, ok := derivedFunctions[name]
	switch {
	case !ok || !plain:
		return d.refuse(e, derivedHint, "the function %q has no place in a derived metric", e.Name)
	case len(e.Args) < bounds[0] || bounds[1] > 0 && len(e.Args) > bounds[1]:
		return d.refuse(e, "", "%s does not take %d operands", name, len(e.Args))
	}
	if name == "round" && len(e.Args) == 2 {
		if _, ok := integer(e.Args[1]); !ok {
			return d.refuse(e.Args[1], "round(x, 2)", "round takes its number of places as a whole number")
		}
	}
	return d.node(DerivedCall, e, name, d.values(e.Args)...)
}

func (d *derivation) cases(e *sqlast.Case) *Derived {
	n := d.node(DerivedCase, e, "")
	for _, c := range e.Checks {
		n.Args = append(n.Args, d.condition(c.When), d.value(c.Then))
	}
	if e.Else == nil {
		n.Args = append(n.Args, &Derived{Kind: DerivedNull, At: -1})
		return n
	}
	n.Args = append(n.Args, d.value(e.Else))
	return n
}

// condition reads what stands after WHEN.
func (d *derivation) condition(e sqlast.Expr) *Derived {
	switch e := e.(type) {
	case *sqlast.Comparison:
		if op := derivedComparisons[e.Op]; op != "" {
			return d.node(DerivedOperator, e, op, d.value(e.Left), d.value(e.Right))
		}
	case *sqlast.Between:
		return d.node(DerivedOperator, e, "and",
			d.node(DerivedOperator, e, ">=", d.value(e.Input), d.value(e.Lower)),
			d.node(DerivedOperator, e, "<=", d.value(e.Input), d.value(e.Upper)))
	case *sqlast.Conjunction:
		op := "and"
		if e.Op == "CONJUNCTION_OR" {
			op = "or"
		}
		n := d.node(DerivedOperator, e, op)
		for _, a := range e.Args {
			n.Args = append(n.Args, d.condition(a))
		}
		return n
	case *sqlast.Operator:
		switch e.Op {
		case "OPERATOR_NOT":
			return d.node(DerivedOperator, e, "not", d.condition(e.Args[0]))
		case "OPERATOR_IS_NULL":
			return d.node(DerivedOperator, e, "is null", d.value(e.Args[0]))
		case "OPERATOR_IS_NOT_NULL":
			return d.node(DerivedOperator, e, "is not null", d.value(e.Args[0]))
		}
	}
	return d.refuse(e, derivedHint, "this form is no condition of a derived metric")
}
