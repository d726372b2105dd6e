package resolve

import (
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
)

// AggregateCall is where an aggregate of an expression takes a condition on its rows.
type AggregateCall struct {
	End      int  // just after the call: where a FILTER clause may stand
	From, To int  // the condition of the FILTER clause it has already; equal when it has none
	Macro    bool // it takes no FILTER clause
}

// macros are the aggregates that DuckDB spells out, and that take no FILTER.
var macros = strings.Fields(`geomean geometric_mean wavg weighted_avg`)

// AggregateCalls finds the aggregates of an expression that CheckModel accepted, in
// text order. It goes by tokens: a reviewed aggregate's name before a bracket is
// a call of it, and none stands inside another.
func AggregateCalls(expr string) []AggregateCall {
	var out []AggregateCall
	toks := sqlast.Tokens(expr)
	word := func(i int) string {
		if i < 0 || i >= len(toks) {
			return ""
		}
		s := expr[toks[i].Start:toks[i].End]
		switch toks[i].Kind {
		case sqlast.Word, sqlast.Symbol:
			return strings.ToLower(s)
		case sqlast.QuotedName:
			return strings.ToLower(strings.Trim(s, `"`))
		}
		return ""
	}
	for i := 0; i < len(toks); i++ {
		name := word(i)
		if functions[Aggregate][name].Name == "" || word(i+1) != "(" {
			continue
		}
		i = closes(word, i+1, len(toks))
		if word(i+1) == "within" && word(i+2) == "group" {
			i = closes(word, i+3, len(toks))
		}
		call := AggregateCall{Macro: slices.Contains(macros, name)}
		if word(i+1) == "filter" && word(i+2) == "(" {
			open := i + 2
			i = closes(word, open, len(toks))
			if word(open+1) == "where" {
				open++
			}
			call.From, call.To = toks[open].End, toks[i].Start
		}
		call.End = toks[i].End
		out = append(out, call)
	}
	return out
}

// closes gives the token of the bracket that closes the one at i, or the last token.
func closes(word func(int) string, i, n int) int {
	for depth := 0; i < n-1; i++ {
		switch word(i) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		}
		if depth == 0 {
			break
		}
	}
	return i
}
