package resolve

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// masking lists the functions that the expression of a mask may call. As CheckMask
// lets them be called none raises an error for any value, none makes more of a value than a few times its size, and
// each gives the same for the same values, at any time. LIKE is not among them: it
// raises an error for a pattern that ends with its escape character.
var masking = strings.Fields(`|| ^@
	ascii bit_length char_length character_length concat contains ends_with instr lcase left left_grapheme len length length_grapheme
	lower ltrim md5 octet_length ord prefix reverse right right_grapheme rtrim sha1 sha256 split_part starts_with strip_accents
	strlen strpos substr substring substring_grapheme suffix trim ucase unicode upper
	ceil ceiling even floor greatest isfinite isinf isnan least round sign trunc
	day dayofmonth dayofweek dayofyear hour isodow minute month quarter second weekday year nullif`)

// joining are those of masking whose every argument may be a value. The others take
// literals after their first: left and substring raise an error for a number of
// characters beyond 2^32.
var joining = strings.Fields("|| concat greatest least nullif")

// maxMask bounds the text of a mask's expression, and so what it makes of a value.
const maxMask = 1000

// CheckMask reads the expression of a mask on a field. It names the field and
// nothing else, has the field's type, and is total: it raises no error whatever
// the value is, so that no error tells of a value that the mask hides. It gives
// the places where the expression names the field, in order. Refusals are
// model.sql, without a place.
func CheckMask(ctx context.Context, p sqlast.Parser, t Typer, f *semantic.Field, expr string) ([]Span, error) {
	if len(expr) > maxMask {
		return nil, diag.New(diag.ModelSQL, "the expression of a mask has at most %d bytes", maxMask)
	}
	alone := semantic.NewCatalog(semantic.Catalog{Entities: []*semantic.Entity{{Name: "masked", Fields: []*semantic.Field{f}}}})
	m := &modelCheck{ctx: ctx, parser: p, catalog: alone, out: &Expressions{map[expression][]Place{}, map[string]*Derived{}}}
	x := &modelExpr{text: expr, what: "mask"}
	taken := func(name string) bool { return semantic.Name(name).Key() == f.Name.Key() }
	err := m.read([]*modelExpr{x}, taken, func(x *modelExpr, tree sqlast.Expr, text string, start int) {
		m.check(alone.Entities[0], x, tree, text, start)
		if len(m.errs) == 0 {
			m.total(f, x, tree, text, start)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := m.errs.Err(); err != nil {
		return nil, err
	}
	if err := totalPlan(ctx, t, f, expr); err != nil {
		return nil, err
	}
	return spansOf(expr, m.out.places[expression{"masked", expr}]), nil
}

// total refuses the parts of an expression that are not known to be total.
func (m *modelCheck) total(f *semantic.Field, x *modelExpr, tree sqlast.Expr, text string, start int) {
	sqlast.Walk(tree, func(n any) bool {
		what := ""
		switch n := n.(type) {
		case *sqlast.ColumnRef: // or a word of the clock
			if semantic.Name(n.Names[0]).Key() != f.Name.Key() {
				what = n.Names[0]
			}
		case *sqlast.Constant, *sqlast.Comparison, *sqlast.Conjunction, *sqlast.Between, *sqlast.Case:
		case *sqlast.Cast:
			if !n.Try && !isLiteral(n) && !strings.EqualFold(castTo(n), "varchar") {
				what = "a cast that may fail"
			}
		case *sqlast.Operator:
			if !slices.Contains([]string{"COMPARE_IN", "COMPARE_NOT_IN", "OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE"}, n.Op) {
				what = "this operator"
			}
		case *sqlast.Function:
			switch name := strings.ToLower(n.Name); {
			case isLiteral(n): // a negative number
			case !slices.Contains(masking, name) || n.Distinct || n.Filter != nil || len(n.OrderBy) > 0:
				what = n.Name
			case !slices.Contains(joining, name) && slices.ContainsFunc(n.Args[min(1, len(n.Args)):], large):
				what = n.Name + " with anything but small literals after its first argument"
			}
		case *sqlast.TypeExpr:
		default:
			what = "this part"
		}
		if what == "" {
			return true
		}
		err := diag.New(diag.ModelSQL, "%s is not known to be total, bounded and the same at any time", what).
			WithHint("a mask may use CASE, comparisons, TRY_CAST and functions such as left, length, round and md5")
		m.report(x, inExpression(err.At(diag.PosAt("", text, int(place(n.(sqlast.Expr))))), x.text, text, start))
		return false
	})
}

// large reports an argument that is no literal, or a number beyond maxMask, also as text.
func large(e sqlast.Expr) bool {
	c, ok := e.(*sqlast.Constant)
	if !ok {
		return true
	}
	n, err := strconv.ParseFloat(strings.Trim(c.Value.Raw, `"`), 64)
	return err == nil && math.Abs(n) > maxMask
}

// castTo is the type that a cast names.
func castTo(c *sqlast.Cast) string {
	if t, ok := c.Type.Expr.(*sqlast.TypeExpr); ok {
		return t.Name
	}
	return c.Type.ID
}

// totalPlan binds the expression as DuckDB does: it has the field's type, and what
// DuckDB casts by itself cannot fail on a value.
func totalPlan(ctx context.Context, t Typer, f *semantic.Field, expr string) error {
	sql := f.Type.SQL()
	typed, err := t.Types(ctx, []string{"SELECT (" + expr + "\n) FROM (SELECT CAST(NULL AS " + sql + ") AS " + semantic.Quote(string(f.Name)) + ")"})
	if err != nil {
		return err
	}
	if len(typed) != 1 || !typed[0].OK || len(typed[0].Columns) != 1 {
		return diag.New(diag.ModelSQL, "DuckDB cannot bind it to the field: an operator or a function does not take values of these types")
	}
	if typed[0].Columns[0] != sql {
		return diag.New(diag.ModelSQL, "a mask keeps the type of its field, which is %s, and this is of type %s", f.Type, strings.ToLower(typed[0].Columns[0])).
			WithHint("write TRY_CAST(... AS %s)", sql)
	}
	literals, err := castLiterals(typed[0].Plan, 1)
	if err != nil {
		return err
	}
	for _, l := range literals[0] {
		if !l.readable() {
			return diag.New(diag.ModelSQL, "the text '%s' is no %s", l.text, strings.ToLower(l.to))
		}
	}
	return safeCasts(typed[0].Plan, f)
}

// widths orders the types in which each holds all values of those before it.
var widths = []string{"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"}

// safeCasts refuses casts of values that may fail: those to a narrower type.
// A literal's cast fails or not whatever the rows are.
func safeCasts(plan []byte, f *semantic.Field) error {
	var whole any
	if err := json.Unmarshal(plan, &whole); err != nil {
		return diag.Wrap(err, diag.BugInternal, "the bound plan of a mask has an unknown form")
	}
	var bad error
	walkJSON(whole, func(node map[string]any) {
		child, _ := node["child"].(map[string]any)
		if node["expression_class"] != "BOUND_CAST" || node["try_cast"] == true || child["expression_class"] == "BOUND_CONSTANT" {
			return
		}
		from, to := slices.Index(widths, typeID(child["return_type"])), slices.Index(widths, typeID(node["return_type"]))
		if typeID(node["return_type"]) != "VARCHAR" && (from < 0 || to < from) {
			bad = diag.New(diag.ModelSQL, "DuckDB casts a value to %s here, which may fail", strings.ToLower(typeID(node["return_type"]))).
				WithHint("compare %q with a literal of its type, %s, or write TRY_CAST", f.Name, f.Type)
		}
	})
	return bad
}

// spansOf widens the places of an expression to the names as they are written.
func spansOf(expr string, places []Place) []Span {
	var out []Span
	for _, t := range sqlast.Tokens(expr) {
		if slices.ContainsFunc(places, func(p Place) bool { return p.At == t.Start }) {
			out = append(out, Span{t.Start, t.End})
		}
	}
	return out
}

// CheckMasks reads the expressions of the model's own masks. Mistakes come as
// model.sql at their places, all at once.
func CheckMasks(ctx context.Context, p sqlast.Parser, t Typer, c *semantic.Catalog) error {
	var list diag.List
	for _, e := range c.Entities {
		for _, f := range e.Fields {
			if f.Mask == nil || f.Mask.Expr == "" {
				continue
			}
			_, err := CheckMask(ctx, p, t, f, f.Mask.Expr)
			if err != nil && diag.CodeOf(err) != diag.ModelSQL {
				return err
			}
			for _, d := range diag.All(err) {
				d.Pos = orPos(f.Mask.ExprPos, f.Mask.Pos)
				list = append(list, d)
			}
		}
	}
	return list.Err()
}
