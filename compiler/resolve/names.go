package resolve

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"plumbline/compiler/sqlast"
)

// resultName is the name DuckDB 1.5.6 gives a select item that has no alias:
// the column's name, or the expression as DuckDB prints it. "" when it is not
// certain, as with several names in EXCLUDE, whose order DuckDB does not keep.
//
// The text is a label only: it is never parsed and never run.
func resultName(e sqlast.Expr) string {
	if c, ok := e.(*sqlast.ColumnRef); ok {
		return c.Names[len(c.Names)-1]
	}
	l := &labeller{}
	s := l.expr(e)
	if l.unsure {
		return ""
	}
	return s
}

// labeller prints expressions and queries the way DuckDB labels them.
type labeller struct{ unsure bool }

func (l *labeller) giveUp() string {
	l.unsure = true
	return ""
}

func (l *labeller) list(exprs []sqlast.Expr) string {
	parts := make([]string, len(exprs))
	for i, e := range exprs {
		parts[i] = l.expr(e)
	}
	return strings.Join(parts, ", ")
}

var plainIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Identifier is a name as SQL takes it: quoted where it must be.
func Identifier(name string) string { return identifier(name) }

// identifier quotes a name where DuckDB does: keywords of every category too.
func identifier(name string) string {
	if plainIdentifier.MatchString(name) && !keywords[strings.ToLower(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

func identifiers(names []string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = identifier(n)
	}
	return strings.Join(parts, ", ")
}

func (l *labeller) expr(e sqlast.Expr) string {
	switch e := e.(type) {
	case *sqlast.ColumnRef:
		return strings.ReplaceAll(identifiers(e.Names), ", ", ".")
	case *sqlast.Constant:
		return l.value(e.Value)
	case *sqlast.Function:
		return l.function(e)
	case *sqlast.Window:
		return l.window(e)
	case *sqlast.Comparison:
		return "(" + l.expr(e.Left) + " " + l.sign(e.Op) + " " + l.expr(e.Right) + ")"
	case *sqlast.Between:
		return "(" + l.expr(e.Input) + " BETWEEN " + l.expr(e.Lower) + " AND " + l.expr(e.Upper) + ")"
	case *sqlast.Conjunction:
		word := " AND "
		if e.Op == "CONJUNCTION_OR" {
			word = " OR "
		}
		parts := make([]string, len(e.Args))
		for i, a := range e.Args {
			parts[i] = l.expr(a)
		}
		return "(" + strings.Join(parts, word) + ")"
	case *sqlast.Operator:
		return l.operator(e)
	case *sqlast.Case:
		return l.cases(e)
	case *sqlast.Cast:
		word := "CAST("
		if e.Try {
			word = "TRY_CAST("
		}
		return word + l.expr(e.Child) + " AS " + l.typeName(e.Type) + ")"
	case *sqlast.Collate:
		return l.expr(e.Child) + " COLLATE " + identifier(e.Collation)
	case *sqlast.Subquery:
		return l.subquery(e)
	case *sqlast.Lambda:
		return l.lambda(e)
	case *sqlast.Star:
		return l.star(e)
	}
	return l.giveUp()
}

var labelSigns = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "!=", "COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">",
	"COMPARE_LESSTHANOREQUALTO": "<=", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

func (l *labeller) sign(op string) string {
	if s := labelSigns[op]; s != "" {
		return s
	}
	return l.giveUp()
}

func (l *labeller) function(f *sqlast.Function) string {
	if f.IsOperator && f.Schema == "" && len(f.Args) == 2 {
		return "(" + l.expr(f.Args[0]) + " " + f.Name + " " + l.expr(f.Args[1]) + ")"
	}
	if f.IsOperator && f.Schema == "" && len(f.Args) == 1 {
		if name, postfix := strings.CutSuffix(f.Name, "__postfix"); postfix {
			return "((" + l.expr(f.Args[0]) + ")" + name + ")"
		}
		return f.Name + "(" + l.expr(f.Args[0]) + ")"
	}
	if f.IsOperator {
		return l.giveUp()
	}
	var b strings.Builder
	if f.Schema != "" {
		b.WriteString(identifier(f.Schema) + ".")
	}
	b.WriteString(identifier(f.Name) + "(")
	if f.Distinct {
		b.WriteString("DISTINCT ")
	}
	for i, a := range f.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		if alias := sqlast.Meta(a).Alias; alias != "" {
			b.WriteString(identifier(alias) + " := ")
		}
		b.WriteString(l.expr(a))
	}
	if len(f.OrderBy) > 0 && len(f.Args) == 0 {
		b.WriteString(") WITHIN GROUP (")
	}
	if len(f.OrderBy) > 0 {
		b.WriteString(" ORDER BY " + l.orders(f.OrderBy))
	}
	b.WriteString(")")
	if f.Filter != nil {
		b.WriteString(" FILTER (WHERE " + l.expr(f.Filter) + ")")
	}
	return b.String()
}

func (l *labeller) orders(list []sqlast.Order) string {
	parts := make([]string, len(list))
	for i, o := range list {
		s := l.expr(o.Expr)
		switch o.Dir {
		case "ASCENDING":
			s += " ASC"
		case "DESCENDING":
			s += " DESC"
		}
		if o.Nulls != "ORDER_DEFAULT" {
			s += " " + o.Nulls
		}
		parts[i] = s
	}
	return strings.Join(parts, ", ")
}

func (l *labeller) operator(e *sqlast.Operator) string {
	arg := func(i int) string {
		if i < len(e.Args) {
			return l.expr(e.Args[i])
		}
		return l.giveUp()
	}
	switch e.Op {
	case "COMPARE_IN":
		return "(" + arg(0) + " IN (" + l.list(e.Args[1:]) + "))"
	case "COMPARE_NOT_IN":
		return "(" + arg(0) + " NOT IN (" + l.list(e.Args[1:]) + "))"
	case "OPERATOR_NOT":
		return "(NOT " + arg(0) + ")"
	case "OPERATOR_IS_NULL":
		return "(" + arg(0) + " IS NULL)"
	case "OPERATOR_IS_NOT_NULL":
		return "(" + arg(0) + " IS NOT NULL)"
	case "OPERATOR_COALESCE":
		return "COALESCE(" + l.list(e.Args) + ")"
	case "GROUPING_FUNCTION":
		return "GROUPING(" + l.list(e.Args) + ")"
	case "ARRAY_CONSTRUCTOR":
		return "(ARRAY[" + l.list(e.Args) + "])"
	case "ARRAY_EXTRACT":
		return arg(0) + "[" + arg(1) + "]"
	case "ARRAY_SLICE":
		return l.slice(e)
	case "STRUCT_EXTRACT":
		if c, ok := e.Args[1].(*sqlast.Constant); ok {
			var name string
			if json.Unmarshal([]byte(c.Value.Raw), &name) == nil && !strings.Contains(name, "'") {
				return "(" + arg(0) + ")." + identifier(name)
			}
		}
	}
	return l.giveUp()
}

func (l *labeller) slice(e *sqlast.Operator) string {
	if len(e.Args) != 3 {
		return l.giveUp()
	}
	bound := func(e sqlast.Expr) string {
		if c, ok := e.(*sqlast.Constant); ok && c.Value.Type.ID == "LIST" {
			return ""
		}
		return l.expr(e)
	}
	return l.expr(e.Args[0]) + "[" + bound(e.Args[1]) + ":" + bound(e.Args[2]) + "]"
}

func (l *labeller) cases(e *sqlast.Case) string {
	s := "CASE "
	for _, c := range e.Checks {
		s += " WHEN (" + l.expr(c.When) + ") THEN (" + l.expr(c.Then) + ")"
	}
	if e.Else == nil {
		return s + " ELSE NULL END"
	}
	return s + " ELSE " + l.expr(e.Else) + " END"
}

func (l *labeller) lambda(e *sqlast.Lambda) string {
	if e.Syntax == "SINGLE_ARROW" {
		return "(" + l.expr(e.Params) + " -> " + l.expr(e.Body) + ")"
	}
	params := l.expr(e.Params)
	if f, ok := e.Params.(*sqlast.Function); ok {
		params = l.list(f.Args)
	}
	return "(lambda " + params + ": " + l.expr(e.Body) + ")"
}

// grammarTypes are the types that DuckDB prints without quotes, being keywords
// of its grammar; all others it quotes.
var grammarTypes = " TIME FLOAT VARCHAR DECIMAL SMALLINT BOOLEAN INTERVAL BIGINT MAP INTEGER BIT STRUCT TIMESTAMP "

func (l *labeller) typeName(t sqlast.TypeName) string {
	if t.Expr == nil {
		if t.Info != "" && t.Info != "null" {
			return l.giveUp()
		}
		return t.ID
	}
	return l.typeExpr(t.Expr)
}

func (l *labeller) typeExpr(e sqlast.Expr) string {
	if c, ok := e.(*sqlast.Constant); ok {
		return l.value(c.Value)
	}
	t, ok := e.(*sqlast.TypeExpr)
	if !ok || t.Schema != "" || t.Catalog != "" {
		return l.giveUp()
	}
	args := make([]string, len(t.Args))
	for i, a := range t.Args {
		args[i] = l.typeExpr(a)
		if alias := sqlast.Meta(a).Alias; alias != "" {
			args[i] = identifier(alias) + " " + args[i]
		}
	}
	switch {
	case t.Name == "list" && len(args) == 1:
		return args[0] + "[]"
	case t.Name == "array" && len(args) == 2:
		return args[0] + "[" + args[1] + "]"
	}
	name := t.Name
	if !strings.Contains(grammarTypes, " "+name+" ") {
		name = `"` + name + `"`
	}
	if len(args) > 0 {
		name += "(" + strings.Join(args, ", ") + ")"
	}
	return name
}

func (l *labeller) value(v sqlast.Value) string {
	switch {
	case v.IsNull:
		return "NULL"
	case v.Type.ID == "VARCHAR":
		var s string
		if json.Unmarshal([]byte(v.Raw), &s) != nil || strings.ContainsRune(s, 0) {
			return l.giveUp()
		}
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case v.Type.ID == "BOOLEAN":
		return v.Raw
	case v.Type.ID == "DOUBLE":
		return l.double(v.Raw)
	case v.Type.ID == "DECIMAL":
		return l.decimal(v)
	case strings.HasSuffix(v.Type.ID, "INTEGER") || strings.HasSuffix(v.Type.ID, "INT"):
		n, ok := wholeNumber(v.Raw)
		if !ok {
			return l.giveUp()
		}
		return n.String()
	}
	return l.giveUp()
}

// wholeNumber reads an integer, or the halves in which DuckDB writes 128 bits.
func wholeNumber(raw string) (*big.Int, bool) {
	if n, ok := new(big.Int).SetString(raw, 10); ok {
		return n, true
	}
	var halves struct {
		Upper json.Number `json:"upper"`
		Lower json.Number `json:"lower"`
	}
	if json.Unmarshal([]byte(raw), &halves) != nil {
		return nil, false
	}
	upper, ok1 := new(big.Int).SetString(halves.Upper.String(), 10)
	lower, ok2 := new(big.Int).SetString(halves.Lower.String(), 10)
	if !ok1 || !ok2 {
		return nil, false
	}
	return upper.Lsh(upper, 64).Add(upper, lower), true
}

func (l *labeller) decimal(v sqlast.Value) string {
	var info struct {
		Width int `json:"width"`
		Scale int `json:"scale"`
	}
	n, ok := wholeNumber(v.Raw)
	if !ok || json.Unmarshal([]byte(v.Type.Info), &info) != nil {
		return l.giveUp()
	}
	sign, digits := "", n.String()
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for len(digits) <= info.Scale {
		digits = "0" + digits
	}
	if info.Scale == 0 {
		return sign + digits
	}
	if info.Width == info.Scale { // .5, unlike 0.5
		return sign + "." + digits[len(digits)-info.Scale:]
	}
	return sign + digits[:len(digits)-info.Scale] + "." + digits[len(digits)-info.Scale:]
}

func (l *labeller) double(raw string) string {
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return l.giveUp()
	}
	exp := strconv.FormatFloat(f, 'e', -1, 64)
	_, power, _ := strings.Cut(exp, "e")
	if n, err := strconv.Atoi(power); err != nil || n < -4 || n >= 16 {
		return exp
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
