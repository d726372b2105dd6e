package resolve

import (
	"context"
	"errors"
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Place is one reference of a model expression: where it begins in the
// expression's text, and the field or the parameter it names, of which one is set.
type Place struct {
	At        int
	Column    semantic.Name
	Parameter semantic.Name
	End       int // parameter: where $name ends; 0 for a column
}

// Expressions knows the references of every expression of a catalog, and the
// trees of its derived metrics. It is filled by CheckModel, never changed
// afterwards, and safe to share.
type Expressions struct {
	places  map[expression][]Place
	derived map[string]*Derived // by key of the metric
}

type expression struct{ entity, text string }

// Columns gives the references of an expression of an entity in text order, those
// to parameters among them. An expression that is not of the checked catalog is an error.
func (x *Expressions) Columns(entity semantic.Name, expr string) ([]Place, error) {
	p, ok := x.places[expression{entity.Key(), expr}]
	if !ok {
		return nil, diag.New(diag.BugInternal, "an expression of the model was never checked")
	}
	return p, nil
}

// CheckModel reads every SQL expression of c: dimensions, measures and their
// filters, filters and segments of entities, and filters of metrics. Each may
// name only fields of its own entity, plainly, read parameters as $name, and call
// reviewed functions; queries, windows and stars have no place there, aggregates
// only in custom measures. Derived metrics are read as arithmetic over metrics.
// Mistakes come as model.sql at the expression's place, all at once; when there
// are none, what metrics are made of is held to its meaning, with model.cycle and
// model.invalid. It fills Dimension.Reads and Metric.Reads, so c must not be
// shared yet.
//
// The expressions of an entity are parsed together; only where that fails, or
// the parts do not add up, is each read alone to find the mistake.
func CheckModel(ctx context.Context, p sqlast.Parser, c *semantic.Catalog) (*Expressions, error) {
	m := &modelCheck{ctx: ctx, parser: p, catalog: c, out: &Expressions{map[expression][]Place{}, map[string]*Derived{}}}
	for _, e := range c.Entities {
		taken := func(name string) bool { return e.Field(semantic.Name(name)) != nil }
		list := append(expressionsOf(e), metricFilters(c, e)...)
		read := func(x *modelExpr, tree sqlast.Expr, text string, start int) { m.check(e, x, tree, text, start) }
		if err := m.read(list, taken, read); err != nil {
			return nil, err
		}
	}
	taken := func(name string) bool { return c.Metric(semantic.Name(name)) != nil }
	if err := m.read(derivedMetrics(c), taken, m.derive); err != nil {
		return nil, err
	}
	if len(m.errs) == 0 {
		m.errs = checkMetrics(c)
	}
	if err := m.errs.Err(); err != nil {
		return nil, err
	}
	return m.out, nil
}

// modelExpr is one expression of a model. dimension is set for those whose reads
// are kept, measure for what a measure aggregates. must says what is wrong with
// a type for this use; "" when nothing is. sql is text with its parameters replaced
// by the keys of parameters.
type modelExpr struct {
	text       string
	pos        diag.Pos
	what       string
	dimension  *semantic.Dimension
	measure    *semantic.Measure
	derived    *semantic.Metric
	must       func(found string) string
	sql        string
	parameters map[string]*semantic.Parameter
}

// aggregates reports that the expression is computed over many rows.
func (x *modelExpr) aggregates() bool { return x.measure != nil && x.measure.Agg == semantic.Custom }

func orPos(p, fallback diag.Pos) diag.Pos {
	if p.IsZero() {
		return fallback
	}
	return p
}

// expressionsOf lists an entity's own expressions, and fills the reads of
// dimensions that are fields.
func expressionsOf(e *semantic.Entity) []*modelExpr {
	var out []*modelExpr
	add := func(text string, pos, fallback diag.Pos, what string, must func(string) string) *modelExpr {
		x := &modelExpr{text: text, pos: orPos(pos, fallback), what: what, must: must}
		if text != "" {
			out = append(out, x)
		}
		return x
	}
	for _, d := range e.Dimensions {
		if d.Field != "" {
			d.Reads = []semantic.Name{d.Field}
		}
		add(d.Expr, d.ExprPos, d.Pos, "dimension "+string(d.Name), declared(d.Type)).dimension = d
	}
	for _, s := range e.Measures {
		add(s.Expr, s.ExprPos, s.Pos, "measure "+string(s.Name), taken(s)).measure = s
		add(s.Filter, s.FilterPos, s.Pos, "filter of measure "+string(s.Name), condition)
	}
	for _, f := range e.Filters {
		add(f.Expr, f.ExprPos, f.Pos, "filter "+string(f.Name), condition)
	}
	for _, s := range e.Segments {
		add(s.Expr, s.ExprPos, s.Pos, "segment "+string(s.Name), condition)
	}
	return out
}

// metricFilters lists the filters of the metrics over e.
func metricFilters(c *semantic.Catalog, e *semantic.Entity) []*modelExpr {
	var out []*modelExpr
	for _, m := range c.Metrics {
		if m.Filter != "" && m.Entity.Key() == e.Name.Key() {
			out = append(out, &modelExpr{text: m.Filter, pos: orPos(m.FilterPos, m.Pos), what: "filter of metric " + string(m.Name), must: condition})
		}
	}
	return out
}

// derivedMetrics lists the expressions of derived metrics.
func derivedMetrics(c *semantic.Catalog) []*modelExpr {
	var out []*modelExpr
	for _, m := range c.Metrics {
		if m.Kind == semantic.DerivedMetric {
			out = append(out, &modelExpr{text: m.Expr, pos: orPos(m.ExprPos, m.Pos), what: "metric " + string(m.Name), derived: m})
		}
	}
	return out
}

// modelCheck is the state of one CheckModel.
type modelCheck struct {
	ctx     context.Context
	parser  sqlast.Parser
	catalog *semantic.Catalog
	out     *Expressions
	errs    diag.List
}

// reading takes one parsed expression; start is where it begins in text.
type reading func(x *modelExpr, tree sqlast.Expr, text string, start int)

// read parses expressions of one scope and gives each to take.
func (m *modelCheck) read(list []*modelExpr, taken func(string) bool, take reading) error {
	list = slices.DeleteFunc(list, func(x *modelExpr) bool { return !m.parametersOf(x, taken) })
	for _, some := range batches(list) {
		if err := m.batch(some, take); err != nil {
			return err
		}
	}
	return nil
}

const batchBytes = 16 << 10 // well below the cap on a text

// batches cuts a list into runs that are read together.
func batches(list []*modelExpr) [][]*modelExpr {
	var out [][]*modelExpr
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && (n == 0 || size+len(list[n].text) < batchBytes) {
			size += len(list[n].text)
			n++
		}
		out, list = append(out, list[:n]), list[n:]
	}
	return out
}

// batch reads some expressions as the items of one SELECT.
func (m *modelCheck) batch(list []*modelExpr, take reading) error {
	text, starts := "SELECT ", make([]int, len(list))
	together := true
	for i, x := range list {
		if i > 0 {
			text += ", "
		}
		text += "("
		starts[i] = len(text)
		text += x.sql + "\n)"
		together = together && closed(x.text)
	}
	if together {
		st, err := sqlast.Parse(m.ctx, m.parser, text)
		if q := itemsOf(st, err); len(q) == len(list) {
			for i, x := range list {
				take(x, q[i], text, starts[i])
			}
			return nil
		}
	}
	for _, x := range list {
		tree, st, before, err := sqlast.ParseExpr(m.ctx, m.parser, x.sql)
		var d *diag.Error
		switch {
		case errors.As(err, &d):
			m.report(x, d)
		case err != nil:
			return err
		default:
			take(x, tree, st.Text, before)
		}
	}
	return nil
}

// closed reports that the brackets of an expression close inside it and no comma
// or semicolon stands outside them, so that it cannot reach into its neighbours.
func closed(expr string) bool {
	depth := 0
	for _, t := range sqlast.Tokens(expr) {
		switch {
		case t.Kind == sqlast.Broken:
			return false
		case t.Kind != sqlast.Symbol:
			continue
		}
		switch expr[t.Start:t.End] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",", ";":
			if depth == 0 {
				return false
			}
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// itemsOf gives the items of a SELECT that has nothing else.
func itemsOf(st *sqlast.Statement, err error) []sqlast.Expr {
	if err != nil {
		return nil
	}
	q, ok := st.Root.(*sqlast.SelectNode)
	if !ok || len(q.CTEs) > 0 || len(q.Modifiers) > 0 {
		return nil
	}
	if _, empty := q.From.(*sqlast.EmptyRef); !empty {
		return nil
	}
	return q.Select
}

func (m *modelCheck) report(x *modelExpr, cause *diag.Error) {
	e := diag.New(diag.ModelSQL, "%s: %s", x.what, cause.Msg).At(x.pos)
	e.Hint, e.DidYouMean = cause.Hint, cause.DidYouMean
	if cause.Pos.Col > 0 {
		e.Msg += " (" + cause.Pos.String() + " in the expression)"
	}
	m.errs = append(m.errs, e)
}

// check binds one expression to the entity's fields. start is where it begins in text.
func (m *modelCheck) check(e *semantic.Entity, x *modelExpr, tree sqlast.Expr, text string, start int) {
	visible := &Visible{Entity: e, Fields: map[string]semantic.Visibility{}}
	rel := &relation{ref: 0}
	for _, f := range e.Fields {
		visible.Fields[f.Name.Key()] = f.Visibility
		rel.cols = append(rel.cols, column{name: string(f.Name), from: lineage{{0, f.Name}}, bare: true, direct: true, private: true, class: f.Visibility})
	}
	r := &resolver{text: text, model: true, opts: Options{ModelSpans: []Span{{0, len(text)}}}, bound: &Bound{}, kinds: map[string]bool{}, labels: map[string]sqlast.Offset{},
		refs: []*reference{{visible: visible, used: map[string]bool{}}}}
	for stand := range x.parameters {
		visible.Fields[stand] = semantic.Output
		rel.cols = append(rel.cols, column{name: stand, from: lineage{{0, semantic.Name(stand)}}, bare: true, direct: true, class: semantic.Output})
	}
	if !m.shape(x, tree, text, start) {
		return
	}
	r.expr(tree, ctx{scope: &scope{level: &level{rels: []*relation{rel}}}, clause: InOutput})
	for _, f := range r.bound.Functions {
		if f.Kind == string(Aggregate) && !x.aggregates() {
			m.report(x, diag.New(diag.ModelSQL, "%s is an aggregate, and an expression is computed row by row", f.Name).WithHint("declare a measure with agg"))
		}
	}
	for _, err := range r.errs {
		err.DidYouMean = slices.DeleteFunc(err.DidYouMean, func(name string) bool { return x.parameters[fold(name)] != nil })
		m.report(x, inExpression(err, x.text, text, start))
	}
	if len(r.errs) > 0 || x.aggregates() && !m.custom(x, tree, text, start) {
		return
	}
	if x.dimension != nil && len(x.parameters) > 0 {
		m.report(x, diag.New(diag.ModelSQL, "a dimension is a column of its entity, and takes no parameter").WithHint("read the parameter in a measure, a segment or a filter"))
	}
	if len(r.bound.Unordered) > 0 && x.aggregates() {
		m.report(x, diag.New(diag.ModelSQL, "the result of %s depends on an order of rows", strings.Join(r.bound.Unordered, ", ")).
			WithHint("give the order inside, as in list(x ORDER BY y)"))
	}
	var places []Place
	for _, u := range r.uses {
		if p := x.parameters[u.Column.Key()]; p != nil {
			at := int(u.At) - start
			places = append(places, Place{At: at, Parameter: p.Name, End: at + len(u.Column)})
			continue
		}
		places = append(places, Place{At: int(u.At) - start, Column: u.Column})
		if x.dimension != nil && !slices.Contains(x.dimension.Reads, u.Column) {
			x.dimension.Reads = append(x.dimension.Reads, u.Column)
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return a.At - b.At })
	m.out.places[expression{e.Name.Key(), x.text}] = slices.Compact(places)
}

// shape refuses what has no place in an expression over one row.
func (m *modelCheck) shape(x *modelExpr, tree sqlast.Expr, text string, start int) bool {
	ok := true
	sqlast.Walk(tree, func(n any) bool {
		var what string
		switch n := n.(type) {
		case *sqlast.Subquery:
			what = "a query"
		case *sqlast.Window:
			what = "a window function"
		case *sqlast.Star:
			what = "a star"
		case *sqlast.ColumnRef:
			if len(n.Names) > 1 {
				what = "a qualified name"
			}
		}
		if what == "" {
			return true
		}
		ok = false
		at := place(n.(sqlast.Expr))
		err := diag.New(diag.ModelSQL, "%s has no place in an expression of the model", what).WithHint("name the entity's own fields plainly")
		m.report(x, inExpression(err.At(diag.PosAt("", text, int(at))), x.text, text, start))
		return false
	})
	return ok
}

// inExpression moves a place in the parsed text to one in the expression.
func inExpression(e *diag.Error, expr, text string, start int) *diag.Error {
	before := diag.PosAt("", text, start)
	switch {
	case e.Pos.Line < before.Line:
		return e.At(diag.Pos{})
	case e.Pos.Line == before.Line:
		return e.At(diag.Pos{Line: 1, Col: e.Pos.Col - before.Col + 1})
	case e.Pos.Line-before.Line > strings.Count(expr, "\n"):
		return e.At(diag.Pos{})
	}
	return e.At(diag.Pos{Line: e.Pos.Line - before.Line + 1, Col: e.Pos.Col})
}
