package resolve

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Typer binds texts on empty typed twins of the storage, all in one round trip.
type Typer interface {
	Types(ctx context.Context, texts []string) ([]Typed, error)
}

// Typed is DuckDB's binding of one text. OK is false when it does not bind.
type Typed struct {
	OK      bool
	Columns []string // the result columns' types as DuckDB names them
	Plan    []byte   // the bound, unoptimised plan (json_serialize_plan)
}

// CheckTypes binds every expression of a catalog that CheckModel accepted to
// the columns of its entity, each parameter as a NULL of its type, and holds its
// type against its use: filters are boolean, a dimension has its declared type,
// sum and avg take numbers, min and max what has an order, and metrics compute
// with numbers. A text literal that DuckDB would have to read as a number, date,
// timestamp or boolean, and could not, is found too, and so is a collation that
// it does not know. Mistakes come as model.sql at the expression's place, all at
// once, those about what is declared as model.invalid.
//
// The expressions of an entity are bound together; only those of an entity
// where that fails are bound alone to find the mistake, and those that aggregate.
func CheckTypes(ctx context.Context, t Typer, c *semantic.Catalog) error {
	m := &typeCheck{ctx: ctx, typer: t, catalog: c, found: map[*semantic.Measure]string{}}
	var together, alone []binding
	for _, e := range c.Entities {
		var rows []*modelExpr
		for _, x := range append(expressionsOf(e), metricFilters(c, e)...) {
			x.sql = typedText(c, x.text)
			if x.aggregates() {
				alone = append(alone, binding{e, []*modelExpr{x}})
				continue
			}
			rows = append(rows, x)
		}
		for _, list := range batches(rows) {
			b := binding{e, list}
			if slices.ContainsFunc(list, func(x *modelExpr) bool { return !closed(x.text) }) {
				alone = append(alone, b.split()...)
				continue
			}
			together = append(together, b)
		}
	}
	failed, err := m.bind(together)
	if err != nil {
		return err
	}
	for _, b := range failed {
		alone = append(alone, b.split()...)
	}
	if failed, err = m.bind(alone); err != nil {
		return err
	}
	for _, b := range failed {
		m.report(b.list[0], "DuckDB cannot bind it to the fields: an operator or a function does not take values of these types")
	}
	m.metrics()
	m.measureDimensions()
	if err := m.collations(); err != nil {
		return err
	}
	return m.errs.Err()
}

// binding is some expressions of one entity that are bound as one text.
type binding struct {
	entity *semantic.Entity
	list   []*modelExpr
}

func (b binding) split() []binding {
	out := make([]binding, len(b.list))
	for i := range b.list {
		out[i] = binding{b.entity, b.list[i : i+1]}
	}
	return out
}

func (b binding) text() string {
	items := make([]string, len(b.list))
	for i, x := range b.list {
		items[i] = "(" + x.sql + "\n)"
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + semantic.StorageName(b.entity.Name)
}

type typeCheck struct {
	ctx   context.Context
	typer Typer

	catalog *semantic.Catalog
	found   map[*semantic.Measure]string // types of measures' expressions
	errs    diag.List
}

const textsPerCall = 64 // their plans come back as one reply

// bind checks what binds and gives back what does not.
func (m *typeCheck) bind(list []binding) (failed []binding, err error) {
	for some := range slices.Chunk(list, textsPerCall) {
		texts := make([]string, len(some))
		for i, b := range some {
			texts[i] = b.text()
		}
		typed, err := m.typer.Types(m.ctx, texts)
		if err != nil {
			return nil, err
		}
		for i, b := range some {
			if !typed[i].OK || len(typed[i].Columns) != len(b.list) {
				failed = append(failed, b)
				continue
			}
			literals, err := castLiterals(typed[i].Plan, len(b.list))
			if err != nil {
				return nil, err
			}
			for k, x := range b.list {
				m.check(x, typed[i].Columns[k], literals[k])
			}
		}
	}
	return failed, nil
}

func (m *typeCheck) check(x *modelExpr, found string, literals []castLiteral) {
	if x.measure != nil {
		m.found[x.measure] = found
	}
	for _, l := range literals {
		if !l.readable() {
			m.report(x, "the text '%s' is no %s", l.text, strings.ToLower(l.to))
		}
	}
	if complaint := x.must(found); complaint != "" {
		m.report(x, "%s", complaint)
	}
}

func (m *typeCheck) report(x *modelExpr, format string, args ...any) {
	m.errs = append(m.errs, diag.New(diag.ModelSQL, "%s: %s", x.what, fmt.Sprintf(format, args...)).At(x.pos))
}

var parts = regexp.MustCompile(`\(.*\)$`)

// kindOf tells the kind of one of DuckDB's types.
func kindOf(found string) semantic.Kind {
	switch base := parts.ReplaceAllString(found, ""); base {
	case "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "BIGNUM":
		return semantic.KindNumber
	case "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE":
		return semantic.KindTime
	case "ENUM":
		return semantic.KindText
	default:
		return semantic.Type(strings.ToLower(base)).Kind()
	}
}

// condition is the demand on filters.
func condition(found string) string {
	if found == "BOOLEAN" {
		return ""
	}
	return fmt.Sprintf("a condition is true or false, and this is of type %s; compare it with something", strings.ToLower(found))
}

// declared is the demand on a dimension: the kind that its type says. Dates and
// timestamps are told apart exactly, and so are whole numbers from others.
func declared(t semantic.Type) func(string) string {
	return func(found string) string {
		lower := strings.ToLower(found)
		if lower == "timestamp with time zone" {
			lower = "timestamptz"
		}
		same := kindOf(found) == t.Kind()
		switch t.Kind() {
		case semantic.KindTime, semantic.KindOther:
			same = lower == string(t)
		case semantic.KindNumber:
			same = same && (!whole(string(t)) || whole(lower))
		}
		if same {
			return ""
		}
		return fmt.Sprintf("it is declared as %s and computes the type %s", t, lower)
	}
}

func whole(t string) bool { return strings.HasSuffix(t, "int") || strings.HasSuffix(t, "integer") }

// taken is the demand of an aggregate on what it is given.
func taken(m *semantic.Measure) func(string) string {
	return func(found string) string {
		kind, lower := kindOf(found), strings.ToLower(found)
		switch m.Agg {
		case semantic.Percentile:
			if m.Discrete {
				return inOrder(m.Agg, kind, lower)
			}
			fallthrough
		case semantic.Sum, semantic.Avg, semantic.Median, semantic.Stddev, semantic.Variance:
			if kind != semantic.KindNumber {
				return fmt.Sprintf("%s needs a number, and this is of type %s", m.Agg, lower)
			}
		case semantic.Min, semantic.Max:
			return inOrder(m.Agg, kind, lower)
		case semantic.StringAgg:
			if found != "VARCHAR" {
				return fmt.Sprintf("%s joins texts, and this is of type %s", m.Agg, lower)
			}
		case semantic.Custom:
			if m.Fill != nil && kind != semantic.KindNumber {
				return fmt.Sprintf("fill is a number, and this is of type %s", lower)
			}
		}
		return ""
	}
}

func inOrder(agg semantic.Agg, kind semantic.Kind, found string) string {
	if kind != semantic.KindOther {
		return ""
	}
	return fmt.Sprintf("%s needs values that have an order, and this is of type %s", agg, found)
}
