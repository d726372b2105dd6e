package sqlast

import (
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a token.
type Kind int

// The kinds. An unterminated string, name or comment runs to the end of the text
// with kind Broken; DuckDB refuses such a text.
const (
	Broken       Kind = iota
	Space             // blanks, Unicode spaces included
	LineComment       // -- to the end of the line
	BlockComment      // /* */, which nest
	Word              // an unquoted identifier or keyword
	QuotedName        // "name", quotes doubled inside
	Text              // 'text', E'text', and prefixes B, X, N
	DollarText        // $tag$text$tag$
	Number            // digits with point and exponent
	Param             // $1, $name or ?
	Symbol            // one operator character, bracket, comma, point or semicolon
)

// Token is one token as a byte span of the text.
type Token struct {
	Kind       Kind
	Start, End int
}

// Tokens gives the tokens of a text without spaces and comments. It splits
// operators into single characters, since no caller needs them whole.
func Tokens(text string) []Token {
	var out []Token
	for i := 0; i < len(text); {
		t := nextToken(text, i)
		if !t.blank() {
			out = append(out, t)
		}
		i = t.End
	}
	return out
}

// Words gives the unquoted words of a text in lower case.
func Words(text string) []string {
	var out []string
	for _, t := range Tokens(text) {
		if t.Kind == Word {
			out = append(out, strings.ToLower(text[t.Start:t.End]))
		}
	}
	return out
}

func (t Token) blank() bool {
	return t.Kind == Space || t.Kind == LineComment || t.Kind == BlockComment
}

// nextToken reads the token at i, which lies inside the text. It always advances.
func nextToken(text string, i int) Token {
	c := text[i]
	switch {
	case isSpaceAt(text, i):
		j := i
		for j < len(text) && isSpaceAt(text, j) {
			j += runeLen(text, j)
		}
		return Token{Space, i, j}
	case strings.HasPrefix(text[i:], "--"):
		if n := strings.IndexAny(text[i:], "\n\r"); n >= 0 {
			return Token{LineComment, i, i + n}
		}
		return Token{LineComment, i, len(text)}
	case strings.HasPrefix(text[i:], "/*"):
		return blockComment(text, i)
	case c == '"':
		return quoted(text, i, i+1, '"', QuotedName, false)
	case c == '\'':
		return quoted(text, i, i+1, '\'', Text, false)
	case strings.IndexByte("eEbBxXnN", c) >= 0 && i+1 < len(text) && text[i+1] == '\'':
		return quoted(text, i, i+2, '\'', Text, c == 'e' || c == 'E')
	case c == '$':
		return dollar(text, i)
	case isWordStart(c):
		j := i + 1
		for j < len(text) && (isWordStart(text[j]) || isDigit(text[j]) || text[j] == '$') && !isSpaceAt(text, j) {
			j++
		}
		return Token{Word, i, j}
	case isDigit(c) || c == '.' && i+1 < len(text) && isDigit(text[i+1]):
		return number(text, i)
	case c == '?':
		return Token{Param, i, i + 1}
	}
	return Token{Symbol, i, i + 1}
}

// quoted reads up to the closing quote; a doubled quote stands for itself, and
// in E strings a backslash escapes the next byte.
func quoted(text string, start, i int, quote byte, kind Kind, escapes bool) Token {
	for ; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\':
			i++
		case text[i] != quote:
		case i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return Token{kind, start, i + 1}
		}
	}
	return Token{Broken, start, len(text)}
}

// blockComment follows DuckDB, where comments nest.
func blockComment(text string, start int) Token {
	depth := 0
	for i := start; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return Token{BlockComment, start, i + 1}
			}
		}
	}
	return Token{Broken, start, len(text)}
}

// dollar reads $tag$...$tag$ or a parameter; a lone $ is a symbol.
func dollar(text string, start int) Token {
	i := start + 1
	if i < len(text) && isDigit(text[i]) {
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		return Token{Param, start, i}
	}
	for i < len(text) && (isWordStart(text[i]) || isDigit(text[i])) && !isSpaceAt(text, i) {
		i++
	}
	if i < len(text) && text[i] == '$' {
		tag := text[start : i+1]
		if n := strings.Index(text[i+1:], tag); n >= 0 {
			return Token{DollarText, start, i + 1 + n + len(tag)}
		}
		return Token{Broken, start, len(text)}
	}
	if i == start+1 {
		return Token{Symbol, start, i}
	}
	return Token{Param, start, i}
}

func number(text string, start int) Token {
	i := start
	digits := func() {
		for i < len(text) && (isDigit(text[i]) || text[i] == '_' && i+1 < len(text) && isDigit(text[i+1])) {
			i++
		}
	}
	digits()
	if i < len(text) && text[i] == '.' && !strings.HasPrefix(text[i:], "..") {
		i++
		digits()
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		j := i + 1
		if j < len(text) && (text[j] == '+' || text[j] == '-') {
			j++
		}
		if j < len(text) && isDigit(text[j]) {
			i = j
			digits()
		}
	}
	return Token{Number, start, i}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isWordStart takes every byte above ASCII as a letter, as DuckDB's lexer does.
func isWordStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

func isSpaceAt(text string, i int) bool {
	switch text[i] {
	case ' ', '\t', '\n', '\r', '\f', '\v':
		return true
	}
	return unicodeSpace(text, i, i+1) == i
}

func runeLen(text string, i int) int {
	_, n := utf8.DecodeRuneInString(text[i:])
	return n
}

// unicodeSpace gives the place of the first character from start to end that
// DuckDB takes for a space though it is longer than a byte; -1 when there is none.
func unicodeSpace(text string, start, end int) int {
	for i := start; i < end; i++ {
		if text[i] < utf8.RuneSelf {
			continue
		}
		switch r, _ := utf8.DecodeRuneInString(text[i:]); {
		case r == 0x00A0, r == 0x202F, r == 0x205F, r == 0x2060, r == 0x3000, r == 0xFEFF, 0x2000 <= r && r <= 0x200D:
			return i
		}
	}
	return -1
}

// tokenAt gives the first token that is no blank and ends after the offset.
func tokenAt(text string, at int) (Token, bool) {
	for i := 0; i < len(text); {
		t := nextToken(text, i)
		if t.End > at && !t.blank() {
			return t, true
		}
		i = t.End
	}
	return Token{}, false
}
