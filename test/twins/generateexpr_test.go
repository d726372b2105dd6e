package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
)

// callTable holds the reviewed functions by what they give: the names that give a
// type, and the signatures of each.
type callTable struct {
	scalars, aggregates map[string][]string             // names by type
	signatures          map[string][]ducktest.Signature // by name and type
}

// clocks depend on the moment, which differs between the worlds.
var clocks = strings.Fields("now today get_current_timestamp transaction_timestamp age ago")

// inAnyOrder are aggregates that estimate, or that magnify rounding, so that the
// order of rows shows.
var inAnyOrder = strings.Fields("approx_quantile approx_top_k kurtosis kurtosis_pop skewness")

// newCallTable makes the table of all reviewed functions from what DuckDB binds.
func newCallTable(t testing.TB) *callTable {
	t.Helper()
	aggregates := map[string]bool{}
	var names []string
	for _, f := range resolve.Functions() {
		aggregates[f.Name] = aggregates[f.Name] || f.Kind == resolve.Aggregate
		if !slices.Contains(clocks, f.Name) && !slices.Contains(inAnyOrder, f.Name) {
			names = append(names, f.Name)
		}
	}
	c := &callTable{map[string][]string{}, map[string][]string{}, map[string][]ducktest.Signature{}}
	for _, s := range ducktest.Open(t, nil).Signatures(t, names) {
		typ, byType := typeOf(s.Result), c.scalars
		if aggregates[s.Name] {
			byType = c.aggregates
		}
		if !slices.Contains(byType[typ], s.Name) {
			byType[typ] = append(byType[typ], s.Name)
		}
		key := s.Name + " " + typ
		c.signatures[key] = append(c.signatures[key], s)
	}
	return c
}

// typeOf names the kinds of types that expressions are written for; "" for others.
func typeOf(result string) string {
	base, _, _ := strings.Cut(result, "(")
	switch {
	case strings.HasSuffix(result, "]"):
		return result
	case slices.Contains(kinds, base), slices.Contains([]string{"INTERVAL", "JSON", "HUGEINT", "BLOB", "TIME"}, base):
		return base
	}
	return ""
}

// tame are literals of a type that most functions take.
var tame = map[string][]string{
	"BIGINT": {"0", "1", "2", "10", "50"}, "INTEGER": {"1::INTEGER", "3::INTEGER"}, "DOUBLE": {"0.5::DOUBLE", "2::DOUBLE"},
	"DECIMAL": {"1.25", "10.50"}, "VARCHAR": {"'a'", "'red'", "'7'", "'2026-03-04'", `'{"a": 1}'`}, "BOOLEAN": {"true", "false"},
	"DATE": {"DATE '2026-03-04'", "DATE '2026-05-31'"}, "TIMESTAMP": {"TIMESTAMP '2026-03-04 05:06:07'"},
}

// hints are arguments without which a function answers nearly nothing.
var hints = map[string][]string{
	"date_part 0": parts, "datepart 0": parts, "date_trunc 0": parts, "datetrunc 0": parts, "date_diff 0": parts, "datediff 0": parts,
	"date_sub 0": parts, "datesub 0": parts, "date_add 1": {"INTERVAL 1 DAY"}, "strftime 1": formats, "strftime 0": {"DATE '2026-03-04'"},
	"strptime 0": {"'2026-03-04'"}, "strptime 1": formats, "try_strptime 1": formats, "timezone 0": {"'UTC'", "'Europe/Berlin'"},
	"time_bucket 0": {"INTERVAL 7 DAY"}, "json_extract 0": docs, "json_extract 1": paths, "json_extract_string 0": docs, "json_extract_string 1": paths,
	"json_extract_path 0": docs, "json_extract_path 1": paths, "json_extract_path_text 0": docs, "json_extract_path_text 1": paths,
	"json_value 0": docs, "json_value 1": paths, "json_exists 0": docs, "json_exists 1": paths, "json_type 0": docs, "json_type 1": paths,
	"json_keys 0": docs, "json_keys 1": paths, "json_array_length 0": docs, "json_array_length 1": paths, "json_structure 0": docs,
	"json_contains 0": docs, "json_contains 1": docs, "array_to_json 0": {"[1, 2]"}, "->> 0": docs, "->> 1": paths,
	"regexp_extract 1": patterns, "regexp_extract_all 1": patterns, "regexp_full_match 1": patterns, "regexp_matches 1": patterns,
	"regexp_replace 1": patterns, "regexp_split_to_array 1": patterns, "string_split_regex 1": patterns, "str_split_regex 1": patterns,
	"regexp_extract 2": {"0"}, "regexp_extract_all 2": {"0"}, "to_base 1": {"2", "16"}, "to_base 0": {"7"}, "to_base 2": {"4"}, "chr 0": {"65::INTEGER"},
	"repeat 1": {"2", "3"}, "lpad 1": {"5::INTEGER"}, "rpad 1": {"5::INTEGER"}, "range 0": {"3"}, "range 1": {"9"}, "range 2": {"2"},
	"generate_series 0": {"1"}, "generate_series 1": {"4"}, "generate_series 2": {"1"}, "format 0": {"'{}'"}, "printf 0": {"'%s'"},
	"unhex 0": {"'6162'"}, "from_base64 0": {"'YWI='"}, "make_date 1": {"2"}, "make_date 2": {"3"}, "make_time 0": {"3"}, "make_time 1": {"4"},
	"make_timestamp 1": {"2"}, "make_timestamp 2": {"3"}, "make_timestamp 3": {"3"}, "make_timestamp 4": {"4"}, "make_timestamptz 1": {"2"},
	"make_timestamptz 2": {"3"}, "make_timestamptz 3": {"3"}, "make_timestamptz 4": {"4"}, "factorial 0": {"4::INTEGER"}, "!__postfix 0": {"4::INTEGER"},
	"acos 0": {"0.5"}, "asin 0": {"0.5"}, "atanh 0": {"0.5"}, "acosh 0": {"2.5"}, "<< 1": {"2"}, ">> 1": {"2"}, "sqrt 0": {"4"}, "ln 0": {"2.5"},
	"log 0": {"2.5"}, "log 1": {"3.5"}, "log2 0": {"2.5"}, "log10 0": {"2.5"}, "lgamma 0": {"2.5"}, "gamma 0": {"2.5"},
	"quantile 1": {"0.5"}, "quantile_cont 1": {"0.5"}, "quantile_disc 1": {"0.5"}, "array_slice 3": {"1"}, "list_slice 3": {"1"},
	"reservoir_quantile 1": {"0.5"}, "nextafter 1": {"3.5"}, "translate 1": {"'a'"}, "list_reduce 0": {"[1, 2]"}, "array_reduce 0": {"[1, 2]"}, "reduce 0": {"[1, 2]"},
}

var (
	parts    = []string{"'year'", "'month'", "'day'"}
	formats  = []string{"'%Y-%m-%d'"}
	docs     = []string{`'{"a": 1, "b": [1, 2]}'`}
	paths    = []string{"'$.a'", "'$.b[0]'"}
	patterns = []string{"'a'", "'[0-9]+'"}
)

// expr writes an expression of a type over the columns in scope.
func (g *generator) expr(typ string, depth int) string {
	n := g.between(0, 99)
	switch {
	case depth <= 0 || n < 25:
		return g.leaf(typ)
	case typ == "BOOLEAN" && n < 75:
		return g.condition(depth - 1)
	case n < 78:
		if names := g.calls.scalars[typ]; len(names) > 0 {
			return g.call(g.pick(names...), typ, depth-1)
		}
	case n < 86:
		return g.cast(typ, depth-1)
	case n < 92:
		g.uses("case")
		return "CASE WHEN " + g.expr("BOOLEAN", depth-1) + " THEN " + g.expr(typ, depth-1) + g.pick(" END", " ELSE "+g.expr(typ, depth-1)+" END")
	case n < 96 && !g.inside && depth > 1:
		return g.scalarQuery(typ, depth-1)
	}
	return g.leaf(typ)
}

// leaf writes a column, now and then one of a query further out, or a literal.
func (g *generator) leaf(typ string) string {
	if len(g.scopes) > 0 && g.chance(85) {
		scope := g.scope()
		if len(g.scopes) > 1 && !g.inside && g.chance(15) {
			scope = g.scopes[g.between(0, len(g.scopes)-2)]
			g.uses("correlation")
		}
		fit := slices.DeleteFunc(slices.Clone(scope), func(c column) bool { return c.typ != typ || c.use != "" })
		if len(fit) > 0 {
			return g.pick(names(fit)...)
		}
	}
	return g.literal(typ)
}

func (g *generator) literal(typ string) string {
	if words := tame[typ]; words != nil {
		return g.pick(words...)
	}
	if typ == "STRUCT" || typ == "" {
		return "NULL"
	}
	edges := ducktest.Edges[typ]
	if edges == nil {
		return "CAST(NULL AS " + typ + ")"
	}
	return ducktest.Literal(typ, edges[0])
}

// call writes a call of a function that gives the type.
func (g *generator) call(name, typ string, depth int) string {
	known := g.calls.signatures[name+" "+typ]
	s := known[g.between(0, len(known)-1)]
	g.uses("function " + name)
	args := make([]string, len(s.Args))
	for i, arg := range s.Args {
		args[i] = g.argument(s, i, arg, depth)
	}
	return s.Call(args...)
}

func (g *generator) argument(s ducktest.Signature, i int, typ string, depth int) string {
	hint := hints[fmt.Sprintf("%s %d", s.Name, i)]
	kind := typeOf(typ)
	switch {
	case typ == ducktest.Lambda:
		g.uses("lambda")
		return ducktest.LambdaOf(s.Name)
	case hint != nil && (s.Fixed[i] || g.chance(85)):
		return g.pick(hint...)
	case s.Fixed[i] || !slices.Contains(kinds, kind):
		return ducktest.Literal(typ, g.pick(ducktest.Edges[typ]...))
	}
	return g.expr(kind, depth)
}

// cast writes a cast from another type, mostly one that holds for the tame rows.
func (g *generator) cast(typ string, depth int) string {
	g.uses("cast")
	target := map[string]string{"DECIMAL": "DECIMAL(12,2)"}[typ]
	if target == "" {
		target = typ
	}
	numeric := slices.Contains([]string{"BIGINT", "INTEGER", "DOUBLE", "DECIMAL"}, typ)
	codes := slices.DeleteFunc(slices.Clone(g.scope()), func(c column) bool { return !strings.HasSuffix(c.name, ".code") })
	switch {
	case numeric && len(codes) > 0 && g.chance(70):
		return "CAST(" + g.pick(names(codes)...) + " AS " + target + ")"
	case numeric:
		return "CAST(" + g.expr(g.pick("BIGINT", "INTEGER", "DOUBLE", "DECIMAL", "BOOLEAN"), depth) + " AS " + target + ")"
	case typ == "DATE" || typ == "TIMESTAMP":
		return g.pick("CAST", "TRY_CAST") + "(" + g.expr(g.pick("DATE", "TIMESTAMP"), depth) + " AS " + target + ")"
	}
	return g.pick("CAST", "TRY_CAST") + "(" + g.expr(g.pick(kinds...), depth) + " AS " + target + ")"
}

// known picks a type that a column in scope has.
func (g *generator) known() string {
	scope := g.scope()
	if c := scope[g.between(0, len(scope)-1)]; slices.Contains(kinds, c.typ) {
		return c.typ
	}
	return "VARCHAR"
}

// condition writes a BOOLEAN expression that is no call by name.
func (g *generator) condition(depth int) string {
	typ := g.known()
	switch n := g.between(0, 99); {
	case n < 35:
		return "(" + g.expr(typ, depth) + g.pick(" = ", " <> ", " < ", " >= ", " IS DISTINCT FROM ", " IS NOT DISTINCT FROM ") + g.expr(typ, depth) + ")"
	case n < 50:
		return "(" + g.expr("BOOLEAN", depth) + g.pick(" AND ", " OR ") + g.expr("BOOLEAN", depth) + ")"
	case n < 55:
		return "(NOT " + g.expr("BOOLEAN", depth) + ")"
	case n < 63:
		return "(" + g.expr(typ, depth) + g.pick(" IS NULL)", " IS NOT NULL)")
	case n < 72:
		return "(" + g.expr(typ, depth) + g.pick(" IN (", " NOT IN (") + g.literal(typ) + ", " + g.literal(typ) + "))"
	case n < 80:
		return "(" + g.expr("VARCHAR", depth) + g.pick(" LIKE ", " NOT LIKE ", " ILIKE ", " GLOB ") + g.pick("'r%'", "'%a%'", "'_'", "'1*'") + ")"
	case n < 86:
		return "(" + g.expr(typ, depth) + " BETWEEN " + g.expr(typ, 0) + " AND " + g.expr(typ, 0) + ")"
	case n < 93 && depth > 0 && !g.inside:
		g.uses("exists")
		return g.pick("EXISTS", "NOT EXISTS") + " (" + g.plain([]string{"BIGINT"}, depth-1) + ")"
	case depth > 0 && !g.inside:
		g.uses("in sub-query")
		return "(" + g.expr(typ, 0) + g.pick(" IN (", " NOT IN (", " = ANY (") + g.plain([]string{typ}, depth-1) + "))"
	}
	return g.leaf("BOOLEAN")
}

// scalarQuery writes a sub-query of one row.
func (g *generator) scalarQuery(typ string, depth int) string {
	g.uses("scalar sub-query")
	from := g.from(depth - 1)
	defer g.leave()
	text := "(SELECT " + g.aggregate(typ, depth) + from
	if g.chance(60) {
		text += " WHERE " + g.expr("BOOLEAN", depth)
	}
	return text + ")"
}

// takesOrder are aggregates whose result depends on an order of rows.
var takesOrder = strings.Fields(`any_value arbitrary array_agg first group_concat json_group_array json_group_object last list listagg
	string_agg arg_max arg_max_null arg_min arg_min_null argmax argmin max_by min_by mode`)

// aggregate writes a call of an aggregate that gives the type.
func (g *generator) aggregate(typ string, depth int) string {
	was := g.inside
	g.inside = true
	defer func() { g.inside = was }()
	g.uses("aggregate")
	names := g.calls.aggregates[typ]
	if len(names) == 0 || g.chance(15) {
		names = []string{"max", "min", "any_value"}
		if typ == "BIGINT" {
			names = []string{"count"}
		}
	}
	name := g.pick(names...)
	var call string
	if sigs := g.calls.signatures[name+" "+typ]; len(sigs) > 0 {
		call = g.call(name, typ, min(depth, 1))
	} else {
		call = name + "(" + g.expr(typ, 1) + ")"
	}
	open := strings.Index(call, "(")
	inner := strings.TrimSuffix(call[open+1:], ")")
	switch {
	case slices.Contains(takesOrder, name):
		call = name + "(" + inner + " ORDER BY " + strings.Join(orderable(g.scope()), ", ") + ")"
	case inner != "" && g.chance(12):
		call = name + "(DISTINCT " + inner + ")"
	}
	if g.chance(12) {
		call += " FILTER (WHERE " + g.expr("BOOLEAN", 1) + ")"
	}
	return call
}

// orderable are the columns that together order rows, up to equal ones.
func orderable(scope []column) []string {
	return names(slices.DeleteFunc(slices.Clone(scope), func(c column) bool { return c.use != "" }))
}

// window writes a window that gives the type.
func (g *generator) window(typ string, depth int) string {
	g.uses("window")
	was := g.inside
	g.inside = true
	defer func() { g.inside = was }()
	over := " OVER (" + g.pick("", "PARTITION BY "+g.leaf(g.pick(kinds...))) + " ORDER BY " + strings.Join(orderable(g.scope()), ", ") +
		g.pick("", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING") + ")"
	switch n := g.between(0, 99); {
	case typ == "BIGINT" && n < 60:
		return g.pick("row_number()", "rank()", "dense_rank()", "ntile(3)", "count(*)", "rank_dense()") + over
	case typ == "DOUBLE" && n < 50:
		return g.pick("percent_rank()", "cume_dist()") + over
	case n < 85:
		value := g.expr(typ, min(depth, 1))
		return g.pick("lag("+value+")", "lead("+value+", 2)", "first_value("+value+")", "last_value("+value+")", "nth_value("+value+", 2)", "max("+value+")", "min("+value+")") + over
	}
	names := slices.DeleteFunc(slices.Clone(g.calls.aggregates[typ]), func(n string) bool { return slices.Contains(takesOrder, n) })
	if len(names) == 0 {
		return g.leaf(typ)
	}
	return g.call(g.pick(names...), typ, 0) + over
}
