package measure

import (
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// modifier is one modifier of AT. Places are those of the asked text.
type modifier struct {
	word string         // ALL, SET, WHERE, VISIBLE
	at   int            // of the word
	dims []sqlast.Range // ALL: what it drops; SET: the one it sets
	expr sqlast.Range   // SET, WHERE
}

// lifted is a text without its AT modifiers: spaces stand in their places.
type lifted struct {
	text      string
	modifiers map[int][]modifier // by the place of the call before them
	at        map[int]int        // the place of the first AT, by call
}

// calls reports that the words of a text may hold a call.
func calls(text string) bool {
	toks := sqlast.Tokens(text)
	for i := range toks {
		if callAt(text, toks, i) {
			return true
		}
	}
	return false
}

func callAt(text string, toks []sqlast.Token, i int) bool {
	return (is(text, toks, i, "measure") || is(text, toks, i, "aggregate")) && is(text, toks, i+1, "(") && !is(text, toks, i-1, ".")
}

// is reports whether the token at i exists and reads s, for words in any case.
func is(text string, toks []sqlast.Token, i int, s string) bool {
	return i >= 0 && i < len(toks) && (toks[i].Kind == sqlast.Word || toks[i].Kind == sqlast.Symbol) && strings.EqualFold(text[toks[i].Start:toks[i].End], s)
}

// closing gives the index of the bracket that closes the one at i; -1 for none.
func closing(text string, toks []sqlast.Token, i int) int {
	depth := 0
	for ; i < len(toks); i++ {
		if depth += nesting(text, toks[i]); depth == 0 {
			return i
		}
	}
	return -1
}

func nesting(text string, t sqlast.Token) int {
	if t.Kind != sqlast.Symbol {
		return 0
	}
	switch text[t.Start:t.End] {
	case "(", "[", "{":
		return 1
	case ")", "]", "}":
		return -1
	}
	return 0
}

// maxCalls bounds the calls of one text: each may need a derived table of its own,
// and is compared with those before it.
const maxCalls = 200

// lift takes the modifiers behind calls out of a text. AT in other places stays,
// for the parser to judge.
func lift(text string) (*lifted, error) {
	out := &lifted{modifiers: map[int][]modifier{}, at: map[int]int{}}
	toks := sqlast.Tokens(text)
	blank := []byte(text)
	calls := 0
	for i := range toks {
		if !callAt(text, toks, i) {
			continue
		}
		if calls++; calls > maxCalls {
			return nil, diag.New(diag.LimitTree, "the text calls more than %d measures", maxCalls).At(diag.PosAt("", text, toks[i].Start)).
				WithHint("split the question")
		}
		j := closing(text, toks, i+1)
		if j < 0 {
			break
		}
		call := toks[i].Start
		for is(text, toks, j+1, "at") && is(text, toks, j+2, "(") {
			end := closing(text, toks, j+2)
			if end < 0 {
				return nil, syntax(text, toks[j+1].Start, "AT has no closing bracket")
			}
			list, err := modifiers(text, toks[j+3:end], toks[end].Start)
			if err != nil {
				return nil, err
			}
			if _, ok := out.at[call]; !ok {
				out.at[call] = toks[j+1].Start
			}
			out.modifiers[call] = append(out.modifiers[call], list...)
			for k := toks[j+1].Start; k < toks[end].End; k++ {
				if blank[k] != '\n' {
					blank[k] = ' '
				}
			}
			j = end
		}
	}
	out.text = string(blank)
	return out, nil
}

func syntax(text string, at int, format string, args ...any) *diag.Error {
	return diag.New(diag.ParseSyntax, format, args...).At(diag.PosAt("", text, at)).
		WithHint("AT takes ALL, ALL dimension, SET dimension = value, WHERE condition and VISIBLE")
}

// modifiers reads what stands between the brackets of AT.
func modifiers(text string, toks []sqlast.Token, end int) ([]modifier, error) {
	if len(toks) == 0 {
		return nil, syntax(text, end, "AT is empty")
	}
	var out []modifier
	for i := 0; i < len(toks); {
		m := modifier{word: strings.ToUpper(text[toks[i].Start:toks[i].End]), at: toks[i].Start}
		next := i + 1
		for depth := 0; next < len(toks) && (depth > 0 || !begins(text, toks, next)); next++ {
			depth += nesting(text, toks[next])
		}
		if err := m.read(text, toks[i:next]); err != nil {
			return nil, err
		}
		out = append(out, m)
		i = next
	}
	return out, nil
}

// begins reports a word that begins a modifier. WHERE and ALL are reserved words,
// SET and VISIBLE are no names where nothing but an operator stands before them.
func begins(text string, toks []sqlast.Token, i int) bool {
	if is(text, toks, i-1, ".") || is(text, toks, i+1, ".") {
		return false
	}
	switch {
	case is(text, toks, i, "where"):
		return true
	case is(text, toks, i, "all"):
		return !is(text, toks, i+1, "(") || !operator(text, toks, i-1) // = ALL (...)
	case is(text, toks, i, "set"):
		return !operator(text, toks, i-1) && i+1 < len(toks) && toks[i+1].Kind != sqlast.Symbol
	case is(text, toks, i, "visible"):
		return !operator(text, toks, i-1) && !operator(text, toks, i+1)
	}
	return false
}

// operator reports a token that wants a value beside it.
func operator(text string, toks []sqlast.Token, i int) bool {
	if i < 0 || i >= len(toks) {
		return false
	}
	for _, w := range []string{"and", "or", "not", "in", "is", "like", "ilike", "between", "then", "when", "else", "case", "current", "where", "set", "from", ","} {
		if is(text, toks, i, w) {
			return true
		}
	}
	return toks[i].Kind == sqlast.Symbol && nesting(text, toks[i]) == 0
}

func (m *modifier) read(text string, toks []sqlast.Token) error {
	rest := toks[1:]
	switch {
	case m.word == "ALL":
		for len(rest) > 0 {
			n := 0
			for depth := 0; n < len(rest) && (depth > 0 || !is(text, rest, n, ",")); n++ {
				depth += nesting(text, rest[n])
			}
			if n == 0 || n == len(rest)-1 {
				return syntax(text, rest[0].Start, "ALL has a comma too many")
			}
			m.dims = append(m.dims, sqlast.Range{Start: rest[0].Start, End: rest[n-1].End})
			rest = rest[min(n+1, len(rest)):]
		}
		return nil
	case m.word == "VISIBLE" && len(rest) == 0:
		return nil
	case m.word == "WHERE" && len(rest) > 0:
		m.expr = sqlast.Range{Start: rest[0].Start, End: rest[len(rest)-1].End}
		return nil
	case m.word == "SET":
		eq := 0
		for depth := 0; eq < len(rest) && (depth > 0 || !is(text, rest, eq, "=")); eq++ {
			depth += nesting(text, rest[eq])
		}
		if eq == 0 || eq >= len(rest)-1 {
			return syntax(text, m.at, "SET is written SET dimension = value")
		}
		m.dims = []sqlast.Range{{Start: rest[0].Start, End: rest[eq-1].End}}
		m.expr = sqlast.Range{Start: rest[eq+1].Start, End: rest[len(rest)-1].End}
		return nil
	}
	return syntax(text, m.at, "%q begins no modifier of AT", m.word)
}
