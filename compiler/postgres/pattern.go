package postgres

import (
	"strconv"
	"strings"
	"unicode"

	"plumbline/compiler/sqlast"
)

// like reads LIKE and ILIKE, with ESCAPE or without.
func (t *translator) like(n *operatorExpr, name string, s *scope) value {
	escape := text(`\`)
	pattern := n.Right
	if f, ok := pattern.v.(*funcCall); ok && t.functionName(f) == "like_escape" && len(f.Args) == 2 {
		pattern = f.Args[0]
		c := t.expr(f.Args[1], s)
		if c.literal == nil || len(*c.literal) != 1 {
			t.refuse(n.Location, "escape with one ASCII character", "this ESCAPE is not supported")
		}
		escape = text(*c.literal)
	}
	return t.likeText(name, n.Location, t.implicit(t.expr(n.Left, s), tText), t.implicit(t.expr(pattern, s), tText), escape)
}

// likeText compares with a pattern. DuckDB knows no escape unless it is told one.
func (t *translator) likeText(name string, place int, a, pattern value, escape sqlast.Expr) value {
	var raw string
	literal := literalText(pattern.e, &raw)
	v := value{t: tBool, at: place}
	var char string
	literalText(escape, &char)
	if literal && !strings.Contains(raw, char) {
		v.e = op(name, a.e, pattern.e)
		return v
	}
	if literal && strings.HasSuffix(strings.ReplaceAll(raw, char+char, ""), char) {
		t.refuse(place, "", "the pattern ends in an escape")
	}
	function := map[string]string{"~~": "like_escape", "!~~": "not_like_escape", "~~*": "ilike_escape", "!~~*": "not_ilike_escape"}[name]
	v.e = call(function, a.e, pattern.e, escape)
	return v
}

// literalText gives the text of a constant.
func literalText(e sqlast.Expr, into *string) bool {
	c, ok := e.(*sqlast.Constant)
	if !ok || c.Value.Type.ID != "VARCHAR" {
		return false
	}
	*into = unquoted(c.Value.Raw)
	return true
}

// matches reads ~, ~*, !~ and !~*.
func (t *translator) matches(name string, place int, a, b value) value {
	pattern := t.regex(b, strings.HasSuffix(name, "*"), false)
	v := value{t: tBool, at: place, e: call("regexp_matches", t.implicit(a, tText).e, text(pattern.sql), text("s"))}
	if strings.HasPrefix(name, "!") {
		v.e = not(v.e)
	}
	return v
}

// regex is a pattern that POSIX and RE2 read alike.
type regex struct {
	sql    string
	groups int
}

// maxPattern bounds the characters of a literal pattern, and what they are when each
// count is written out: a pattern may take time by the square of that.
const maxPattern = 2000

// regex reads a literal pattern of characters, classes, groups, alternatives and
// counts. POSIX takes the longest match and RE2 the first: where the match itself
// is asked for, and not only whether there is one, alternatives and counted groups
// are refused. Without case, each ASCII letter is written both ways.
func (t *translator) regex(v value, anyCase, matched bool) regex {
	if v.literal == nil {
		t.refuse(v.at, "write the pattern as a literal", "a pattern that is not written out is not supported")
	}
	if len(*v.literal) > maxPattern {
		t.longPattern(v.at)
	}
	r := &regexReader{t: t, at: v.at, sizes: []int{0}, runes: []rune(*v.literal), anyCase: anyCase, matched: matched}
	if strings.HasPrefix(*v.literal, "***") || strings.HasPrefix(*v.literal, "(?") {
		r.refuse("options in a pattern")
	}
	for r.i < len(r.runes) {
		r.one()
	}
	if r.depth != 0 {
		r.refuse("a group that does not end")
	}
	return regex{r.out.String(), r.groups}
}

func (t *translator) longPattern(place int) {
	t.refuse(place, "", "a pattern of more than %d characters, or of as many when its counts are written out, is not supported", maxPattern)
}

type regexReader struct {
	t                *translator
	at               int
	runes            []rune
	i                int
	out              strings.Builder
	anyCase, matched bool
	depth, groups    int
	atom             rune  // what a count would repeat: 'a' a character, ')' a group, 0 nothing
	size             int   // of the atom, in characters, with its counts written out
	sizes            []int // of the pattern and of each group that is open
}

func (r *regexReader) refuse(what string) {
	r.t.refuse(r.at, "use characters, [classes], groups, |, and the counts * + ? {n,m}", "%s has another meaning here, or none", what)
}

func (r *regexReader) one() {
	c := r.runes[r.i]
	r.i++
	switch {
	case c == '(':
		if r.i < len(r.runes) && (r.runes[r.i] == '?' || r.runes[r.i] == '*') {
			r.refuse("(?")
		}
		r.depth++
		r.groups++
		r.sizes = append(r.sizes, 0)
		r.put("(", 0)
	case c == ')':
		if r.depth--; r.depth < 0 {
			r.refuse("a bracket that was not opened")
		}
		r.size = r.sizes[len(r.sizes)-1] + 1
		r.sizes = r.sizes[:len(r.sizes)-1]
		r.put(")", ')')
		r.grow(r.size)
	case c == '|':
		if r.matched {
			r.refuse("| in a pattern whose match is asked for")
		}
		r.put("|", 0)
	case c == '^', c == '$':
		r.put(string(c), 0)
	case c == '.':
		r.put(".", 'a')
	case c == '[':
		r.class()
	case c == '*', c == '+', c == '?', c == '{':
		r.count(c)
	case c == '\\':
		r.escape()
	default:
		r.letter(c)
	}
}

func (r *regexReader) put(s string, atom rune) {
	r.out.WriteString(s)
	r.atom = atom
	if atom == 'a' {
		r.size = 1
		r.grow(1)
	}
}

// grow adds to the size of the innermost open group.
func (r *regexReader) grow(by int) {
	n := &r.sizes[len(r.sizes)-1]
	if *n += by; *n > maxPattern {
		r.t.longPattern(r.at)
	}
}

func (r *regexReader) letter(c rune) {
	switch {
	case r.anyCase && c > unicode.MaxASCII:
		r.refuse("a letter outside ASCII without case")
	case r.anyCase && unicode.IsLetter(c):
		r.put("["+string(unicode.ToLower(c))+string(unicode.ToUpper(c))+"]", 'a')
	default:
		r.put(quoteMeta(string(c)), 'a')
	}
}

func (r *regexReader) count(c rune) {
	if r.atom == 0 {
		r.refuse("a count of nothing")
	}
	if r.atom == ')' && r.matched {
		r.refuse("a counted group in a pattern whose match is asked for")
	}
	s := string(c)
	if c == '{' {
		end := r.i
		for end < len(r.runes) && (unicode.IsDigit(r.runes[end]) && r.runes[end] < 128 || r.runes[end] == ',') {
			end++
		}
		body := string(r.runes[r.i:end])
		if end == len(r.runes) || r.runes[end] != '}' || body == "" || body[0] == ',' || strings.Count(body, ",") > 1 || len(body) > 7 {
			r.refuse("{")
		}
		s, r.i = "{"+body+"}", end+1
		for _, n := range strings.Split(body, ",") {
			times, _ := strconv.Atoi(n) // seven digits at most, or none
			r.grow(r.size * max(times-1, 0))
		}
	}
	if r.i < len(r.runes) && strings.ContainsRune("*+?{", r.runes[r.i]) {
		r.refuse("a count behind a count")
	}
	r.put(s, 0)
}

func (r *regexReader) escape() {
	if r.i == len(r.runes) {
		r.refuse(`\ at the end`)
	}
	c := r.runes[r.i]
	r.i++
	switch {
	case c == 'd':
		r.put("[0-9]", 'a')
	case c > unicode.MaxASCII, unicode.IsLetter(c), unicode.IsDigit(c):
		r.refuse(`\` + string(c))
	default:
		r.put(quoteMeta(string(c)), 'a')
	}
}

// class reads [...] of characters and ranges of ASCII letters or digits.
func (r *regexReader) class() {
	end := r.i
	for end < len(r.runes) && (r.runes[end] != ']' || end == r.i) {
		end++
	}
	if end == len(r.runes) {
		r.refuse("[")
	}
	body := r.runes[r.i:end]
	r.i = end + 1
	out := "["
	if len(body) > 0 && body[0] == '^' {
		out, body = "[^", body[1:]
	}
	if len(body) == 0 {
		r.refuse("[")
	}
	for i := 0; i < len(body); i++ {
		c := body[i]
		if i+2 < len(body) && body[i+1] == '-' {
			out += r.span(c, body[i+2])
			i += 2
			continue
		}
		switch {
		case c == '[' && i+1 < len(body) && strings.ContainsRune(":.=", body[i+1]), c == '\\' || c == '-' && i > 0 && i < len(body)-1, r.anyCase && c > unicode.MaxASCII:
			r.refuse("this class of characters")
		case r.anyCase && unicode.IsLetter(c):
			out += string(unicode.ToLower(c)) + string(unicode.ToUpper(c))
		case strings.ContainsRune(`[]^-`, c):
			out += `\` + string(c)
		default:
			out += string(c)
		}
	}
	r.put(out+"]", 'a')
}

func (r *regexReader) span(from, to rune) string {
	same := func(a, b rune) bool { return a <= from && from <= to && to <= b }
	switch {
	case same('0', '9'):
		return string(from) + "-" + string(to)
	case same('a', 'z'), same('A', 'Z'):
		if r.anyCase {
			return string(unicode.ToLower(from)) + "-" + string(unicode.ToLower(to)) + string(unicode.ToUpper(from)) + "-" + string(unicode.ToUpper(to))
		}
		return string(from) + "-" + string(to)
	}
	r.refuse("this range of characters")
	return ""
}
