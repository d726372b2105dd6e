package sqlast

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"plumbline/semantic/diag"
)

// The caps of one text and of the tree DuckDB makes of it. The text is capped
// before DuckDB sees it, since its tree can be a thousand times larger.
const (
	MaxText   = 64 << 10 // bytes of SQL
	MaxNodes  = 5000     // queries, references, expressions and modifiers
	MaxDepth  = 100      // nodes above a node
	MaxWidth  = 250      // operands of one AND or OR
	MaxList   = 1000     // items of one IN list
	MaxJoins  = 20       // joins of one FROM clause; a TPC-DS query has 17
	maxSerial = 4 << 20  // bytes of JSON
)

// Parse reads one SELECT statement: exactly one, after which a single semicolon
// may stand. Codes: limit.text, limit.tree, parse.*, unsupported.text and
// unsupported.node; an error of p itself is passed on as it is.
func Parse(ctx context.Context, p Parser, text string) (*Statement, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	raw, err := p.Serialize(ctx, text)
	if err != nil {
		return nil, err
	}
	return decodeText(text, raw)
}

// Decode is the pure part of Parse: it reads DuckDB's JSON of text, strictly.
func Decode(text string, raw []byte) (*Statement, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	return decodeText(text, raw)
}

func decodeText(text string, raw []byte) (*Statement, error) {
	if len(raw) > maxSerial {
		return nil, diag.New(diag.LimitTree, "the query's tree is too large")
	}
	doc, err := readJSON(raw)
	if errors.Is(err, errDeep) {
		return nil, tooDeep(err)
	}
	if err != nil {
		return nil, diag.Wrap(err, diag.UnsupportedText, "the engine cannot describe the query as a tree").
			WithHint("a number is out of range, or a form is unknown to it")
	}
	return decode(text, doc)
}

// checkText refuses what must not reach DuckDB, and what would make its places
// differ from the text's: DuckDB turns each Unicode space into one byte.
func checkText(text string) error {
	if len(text) > MaxText {
		return diag.New(diag.LimitText, "the text has %d bytes, more than %d", len(text), MaxText)
	}
	if at := strings.IndexByte(text, 0); at >= 0 {
		return diag.New(diag.ParseSyntax, "the text holds a NUL byte").At(diag.PosAt("", text, at))
	}
	if !utf8.ValidString(text) {
		return diag.New(diag.ParseSyntax, "the text is not valid UTF-8").At(diag.PosAt("", text, invalidAt(text)))
	}
	at := statements(text)
	if at.space < 0 && at.unclear {
		at.space = at.quotedSpace
	}
	switch {
	case at.space >= 0:
		return diag.New(diag.ParseSyntax, "a space that is not an ordinary space").
			At(diag.PosAt("", text, at.space)).WithHint("write it as an ordinary space")
	case len(at.starts) == 0:
		return diag.New(diag.ParseEmpty, "the query is empty").WithHint("send a SELECT statement")
	case len(at.starts) > 1:
		return diag.New(diag.ParseStatements, "one call holds one statement, this text holds %d", len(at.starts)).
			At(diag.PosAt("", text, at.starts[1]))
	case at.semicolons > 1 || at.semicolons == 1 && at.firstSemicolon < at.starts[0]:
		return diag.New(diag.ParseStatements, "an empty statement stands beside the query").
			At(diag.PosAt("", text, at.firstSemicolon)).WithHint("end the statement with at most one semicolon")
	}
	return nil
}

func invalidAt(text string) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// layout is what the tokens alone say of a text.
type layout struct {
	starts         []int // first token of each statement
	semicolons     int
	firstSemicolon int
	space          int // first Unicode space outside strings, quoted names and line comments; -1 when none
	quotedSpace    int // first one inside strings and quoted names; -1 when none
	// unclear: DuckDB looks for Unicode spaces before it splits the text into
	// tokens, and then mistakes what is a string after quotes in a comment, a
	// backslash in a string, or a dollar in a name.
	unclear bool
}

func statements(text string) layout {
	l := layout{space: -1, quotedSpace: -1}
	fresh := true
	for i := 0; i < len(text); {
		t := nextToken(text, i)
		i = t.End
		if l.quotedSpace < 0 && (t.Kind == Text || t.Kind == QuotedName || t.Kind == DollarText) {
			l.quotedSpace = unicodeSpace(text, t.Start, t.End)
		}
		l.unclear = l.unclear || t.Kind == BlockComment || t.Kind == Text && text[t.Start] != '\'' ||
			t.Kind == Word && strings.Contains(text[t.Start:t.End], "$")
		switch {
		case t.Kind == Space || t.Kind == BlockComment:
			if l.space < 0 {
				l.space = unicodeSpace(text, t.Start, t.End)
			}
		case t.Kind == LineComment:
		case text[t.Start:t.End] == ";":
			if l.semicolons == 0 {
				l.firstSemicolon = t.Start
			}
			l.semicolons++
			fresh = true
		case fresh:
			l.starts = append(l.starts, t.Start)
			fresh = false
		}
	}
	return l
}

// refused turns DuckDB's error form into ours. Its message may quote the text at
// any length, so ours is made from our own token at its place.
func refused(text string, o *object) error {
	kind, message := o.str("error_type"), o.str("error_message")
	cause := errors.New(kind + ": " + message)
	if kind == "not implemented" {
		return notSerialised(text, message, cause)
	}
	if strings.Contains(message, "depth limit") {
		return tooDeep(cause)
	}
	e := diag.Wrap(cause, diag.ParseSyntax, "the text is not valid SQL of DuckDB's dialect")
	at, ok := errorPlace(text, o)
	if !ok {
		return e
	}
	e = diag.Wrap(cause, diag.ParseSyntax, "syntax error at the end of the text")
	if t, found := tokenAt(text, at); found {
		e = diag.Wrap(cause, diag.ParseSyntax, "syntax error near %s", strconv.Quote(clip(text[t.Start:t.End])))
	}
	return e.At(diag.PosAt("", text, at))
}

func tooDeep(cause error) error {
	return diag.Wrap(cause, diag.LimitTree, "the query is nested deeper than %d levels", MaxDepth)
}

// errorPlace gives the byte offset of an error; DuckDB counts characters there.
func errorPlace(text string, o *object) (int, bool) {
	s, ok := o.find("position").(string)
	if !ok {
		return 0, false
	}
	chars, err := strconv.Atoi(s)
	if err != nil || chars < 0 {
		return 0, false
	}
	for at := range text {
		if chars == 0 {
			return at, true
		}
		chars--
	}
	return len(text), chars == 0
}

// clip shortens a token for a message.
func clip(token string) string {
	const most = 40
	if len(token) <= most {
		return token
	}
	cut := most
	for !utf8.RuneStart(token[cut]) {
		cut--
	}
	return token[:cut] + "..."
}

func notSerialised(text, message string, cause error) error {
	if strings.Contains(message, "parameter") {
		e := parameter(text)
		e.Err = cause
		return e
	}
	words := Words(text)
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	switch first {
	case "select", "from", "values", "table", "pivot", "unpivot", "with", "":
		for _, w := range words {
			switch w {
			case "insert", "update", "delete", "merge":
				return readOnly(cause, strings.ToUpper(w))
			}
		}
		return diag.Wrap(cause, diag.UnsupportedText, "the engine cannot describe the query as a tree").
			WithHint("if it holds a PIVOT, list the values: PIVOT t ON c IN ('a', 'b') USING sum(x)")
	}
	return readOnly(cause, strings.ToUpper(clip(first)))
}

func readOnly(cause error, word string) error {
	return diag.Wrap(cause, diag.ParseReadOnly, "only SELECT statements run, not %s", word)
}

// parameter refuses a parameter; the tree does not give its place, the lexer does.
func parameter(text string) *diag.Error {
	e := diag.New(diag.ParseParameter, "the text holds a parameter").WithHint("write the value into the text")
	for _, t := range Tokens(text) {
		if t.Kind == Param {
			return e.At(diag.PosAt("", text, t.Start))
		}
	}
	return e
}
