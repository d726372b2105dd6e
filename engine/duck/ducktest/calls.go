package ducktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Signature is one way to call a function that DuckDB binds.
type Signature struct {
	Name   string
	Kind   string   // scalar, aggregate or macro, as duckdb_functions() says
	Args   []string // types; Lambda for a lambda
	Fixed  []bool   // the argument binds as a constant only
	Result string   // the type of the result, as DuckDB names it
}

// Lambda is the type of an argument that is a lambda.
const Lambda = "LAMBDA"

// Call writes the call with the arguments given. Those of operators stand round
// their signs.
func (s Signature) Call(args ...string) string {
	switch {
	case word(s.Name) || len(args) == 0 || len(args) > 2:
		return s.Name + "(" + strings.Join(args, ", ") + ")"
	case s.Name == "!__postfix":
		return "(" + args[0] + " !)"
	case len(args) == 1:
		return "(" + s.Name + " " + args[0] + ")"
	}
	return "(" + args[0] + " " + s.Name + " " + args[1] + ")"
}

func word(name string) bool {
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Edges are values of a type at which functions are known to fail, as literals
// without their type. The first one is plain.
var Edges = map[string][]string{
	"VARCHAR":                       quoted("a", "", "(", `\`, "%Y-%m-%d", `{"a": 1}`, "[", "$.a", "$[", "2026-01-01", "-1", "1e400", "year", "é", "%", "zz", "99", "a%", "Europe/Berlin"),
	"BIGINT":                        {"1", "0", "-1", "9223372036854775807", "-9223372036854775808", "64", "400000", "13"},
	"INTEGER":                       {"1", "0", "-1", "2147483647", "-2147483648"},
	"SMALLINT":                      {"1", "0", "-1", "32767", "-32768"},
	"TINYINT":                       {"1", "0", "-1", "127", "-128"},
	"UBIGINT":                       {"1", "0", "18446744073709551615", "64"},
	"HUGEINT":                       {"1", "0", "-1", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105727", "128"},
	"DOUBLE":                        {"1", "0", "-1", "2.5", "1e308", "-1e308", "1e-320", "'nan'", "'inf'", "'-inf'", "171", "-171"},
	"FLOAT":                         {"1", "0", "-1", "3e38", "'nan'", "'inf'"},
	"DECIMAL(18,3)":                 {"1", "0", "-1.5", "999999999999999.999", "-999999999999999.999"},
	"BOOLEAN":                       {"true", "false"},
	"DATE":                          quoted("2026-01-31", "0001-01-01", "5881580-07-10", "5877642-06-25 (BC)", "infinity", "-infinity", "1969-12-31"),
	"TIMESTAMP":                     quoted("2026-01-31 23:59:59", "0001-01-01 00:00:00", "290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806", "infinity", "-infinity"),
	"TIMESTAMP WITH TIME ZONE":      quoted("2026-01-31 23:59:59+00", "0001-01-01 00:00:00+00", "infinity", "294247-01-10 04:00:54.775806+00"),
	"TIME":                          quoted("12:00:00", "00:00:00", "24:00:00"),
	"INTERVAL":                      quoted("1 day", "0 day", "-1 month", "178956970 years", "9223372036854 seconds", "-2147483648 months", "2147483647 days"),
	"BLOB":                          {`'a'`, `''`, `'\xff\x00'`},
	"UUID":                          quoted("11111111-2222-3333-4444-555555555555"),
	"JSON":                          quoted(`{"a": [1, "x"]}`, "null", "[]", "1e400"),
	"VARCHAR[]":                     {"['a', 'b']", "[]", "['a', NULL]", "[NULL]"},
	"BIGINT[]":                      {"[1, 2]", "[]", "[NULL]", "[9223372036854775807, 1]", "[0]", "[-1]"},
	"DOUBLE[]":                      {"[1, 2]", "[]", "[NULL]", "[0]", "[-1]"},
	"BOOLEAN[]":                     {"[true, false]", "[]", "[NULL]"},
	"BIGINT[][]":                    {"[[1], [2, 3]]", "[]", "[NULL]"},
	"MAP(VARCHAR, BIGINT)":          {"MAP {'a': 1}", "MAP {}"},
	"STRUCT(a BIGINT)":              {"{'a': 1}", "{'a': NULL}"},
	"STRUCT(b BIGINT)":              {"{'b': 1}"},
	"STRUCT(k VARCHAR, v BIGINT)[]": {"[{'k': 'a', 'v': 1}]", "[{'k': 'a', 'v': 1}, {'k': 'a', 'v': 2}]", "[{'k': NULL, 'v': 1}]", "[]"},
}

func quoted(values ...string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return out
}

// Literal writes a value of Edges with its type.
func Literal(typ, value string) string {
	if typ == Lambda {
		return value
	}
	return "CAST(" + value + " AS " + typ + ")"
}

// instances are the types that stand for those that duckdb_functions() leaves open.
var instances = map[string][]string{
	"ANY": {"BIGINT", "VARCHAR", "DATE", "DOUBLE", "BIGINT[]", "JSON"}, "T": {"BIGINT", "VARCHAR"}, "K": {"VARCHAR"}, "V": {"BIGINT"},
	"ANY[]": {"BIGINT[]", "VARCHAR[]", "DOUBLE[]", "BOOLEAN[]"}, "T[]": {"BIGINT[]", "VARCHAR[]"}, "K[]": {"VARCHAR[]"}, "V[]": {"BIGINT[]"}, "T[][]": {"BIGINT[][]"},
	"MAP(K, V)": {"MAP(VARCHAR, BIGINT)"}, "STRUCT": {"STRUCT(a BIGINT)", "STRUCT(b BIGINT)"}, "DECIMAL": {"DECIMAL(18,3)"},
	"STRUCT(K, V)[]": {"STRUCT(k VARCHAR, v BIGINT)[]"},
	// A macro says no types.
	"": {"VARCHAR", "BIGINT", "TIMESTAMP", "DOUBLE", "BIGINT[]", "VARCHAR[]", "INTERVAL", "MAP(VARCHAR, BIGINT)"},
}

// maxVariants bounds the argument types that are tried for one overload.
const maxVariants = 72

// Signatures gives the ways to call a function that DuckDB binds: those of
// duckdb_functions(), with types put in where it leaves them open.
func (d *DB) Signatures(t testing.TB, names []string) []Signature {
	t.Helper()
	var out []Signature
	seen := map[string]bool{}
	for _, row := range d.Rows(t, `SELECT DISTINCT lower(function_name), function_type, coalesce(varargs, ''),
			array_to_string(list_transform(parameter_types, lambda p: coalesce(p, '')), ';'), len(parameters)
		FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') ORDER BY ALL`) {
		cells := strings.Split(row, "\t")
		if !slices.Contains(names, cells[0]) {
			continue
		}
		var params []string
		if cells[4] != "0" {
			params = strings.Split(cells[3], ";")
		}
		for _, args := range variants(params, cells[2]) {
			s := Signature{Name: cells[0], Kind: cells[1], Args: args, Fixed: make([]bool, len(args))}
			if key := fmt.Sprint(s.Name, s.Args); !seen[key] && d.bind(&s) {
				seen[key] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// variants are the argument types that are tried for one overload.
func variants(params []string, varargs string) [][]string {
	out := [][]string{{}}
	extend := func(lists [][]string, param string) [][]string {
		types, open := instances[param]
		if !open {
			types = []string{param}
		}
		var longer [][]string
		for _, l := range lists {
			for _, typ := range types {
				if _, known := Edges[typ]; known || typ == Lambda {
					longer = append(longer, append(slices.Clone(l), typ))
				}
			}
		}
		return longer[:min(len(longer), maxVariants)]
	}
	for _, p := range params {
		out = extend(out, p)
	}
	if varargs == "" {
		return out
	}
	one := extend(out, varargs)
	return append(append(out, one...), extend(one, varargs)...)
}

// Raises reports whether a call fails on some of the edges of its arguments'
// types, and DuckDB's words.
func (d *DB) Raises(s Signature) (words string, raises bool) {
	args, from := make([]string, len(s.Args)), []string{"(SELECT 1) AS one(x)"}
	for i, typ := range s.Args {
		switch {
		case typ == Lambda:
			args[i] = LambdaOf(s.Name)
		case s.Fixed[i]:
			args[i] = Literal(typ, Edges[typ][0])
		default:
			values := make([]string, len(Edges[typ]))
			for j, v := range Edges[typ] {
				values[j] = "(" + Literal(typ, v) + ")"
			}
			args[i] = fmt.Sprintf("a%d.x", i)
			from = append(from, fmt.Sprintf("(VALUES %s) AS a%d(x)", strings.Join(values[:min(len(values), edgesOf[min(i, 3)])], ", "), i))
		}
	}
	_, err := d.DB.Exec("SELECT count(r) FROM (SELECT " + s.Call(args...) + " AS r FROM " + strings.Join(from, ", ") + ")")
	if err == nil {
		return "", false
	}
	return err.Error(), true
}

// edgesOf bounds how many edges of the first arguments are combined.
var edgesOf = [4]int{20, 20, 8, 3}

// lambdas are tried where a function takes one.
var lambdas = []string{"lambda x: x", "lambda x: x IS NOT NULL", "lambda x, y: x"}

// LambdaOf gives the lambda that a function takes.
func LambdaOf(name string) string {
	switch {
	case strings.HasSuffix(name, "reduce"):
		return lambdas[2]
	case strings.HasSuffix(name, "filter"):
		return lambdas[1]
	}
	return lambdas[0]
}

// bind sets the result's type, and which arguments must be constants: none, all
// but the first, or all.
func (d *DB) bind(s *Signature) bool {
	for _, free := range []int{len(s.Args), 1, 0} {
		args, columns := make([]string, len(s.Args)), []string{"1 AS one"}
		for i, typ := range s.Args {
			s.Fixed[i] = i >= free
			switch {
			case typ == Lambda:
				args[i] = LambdaOf(s.Name)
			case s.Fixed[i]:
				args[i] = Literal(typ, Edges[typ][0])
			default:
				args[i] = fmt.Sprintf("c%d", i)
				columns = append(columns, Literal(typ, Edges[typ][0])+" AS "+args[i])
			}
		}
		row := d.QueryRow("DESCRIBE SELECT " + s.Call(args...) + " AS r FROM (SELECT " + strings.Join(columns, ", ") + ")")
		var name string
		var rest [4]any
		if row.Scan(&name, &s.Result, &rest[0], &rest[1], &rest[2], &rest[3]) == nil {
			return true
		}
	}
	return false
}
