package prove

import "strings"

// enclosing gives what stands between the innermost parentheses around the
// byte at, without them; "" when there are none. Whoever uses the result
// compares its tree with the one expected, so a wrong cut can only refuse.
func enclosing(text string, at int) string {
	var open []int
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) > 0:
			if i > at && open[len(open)-1] < at {
				return text[open[len(open)-1]+1 : i]
			}
			open = open[:len(open)-1]
		default:
			if end := opaque(text, i); end > i {
				i = end
				continue
			}
		}
		i++
	}
	return ""
}

// opaque gives the end of the literal, quoted name or comment that starts at i,
// or i when none does.
func opaque(text string, i int) int {
	rest := text[i:]
	switch {
	case rest[0] == '"' || rest[0] == '\'':
		escapes := rest[0] == '\'' && i > 0 && (text[i-1] == 'e' || text[i-1] == 'E') && (i < 2 || !wordByte(text[i-2]))
		return quoted(text, i, escapes)
	case strings.HasPrefix(rest, "--"):
		if n := strings.IndexAny(rest, "\n\r"); n >= 0 {
			return i + n
		}
		return len(text)
	case strings.HasPrefix(rest, "/*"):
		return comment(text, i)
	case rest[0] == '$' && (i == 0 || !wordByte(text[i-1])):
		return dollar(text, i)
	}
	return i
}

func quoted(text string, i int, escapes bool) int {
	q := text[i]
	for j := i + 1; j < len(text); j++ {
		if escapes && text[j] == '\\' {
			j++
			continue
		}
		if text[j] != q {
			continue
		}
		if j+1 < len(text) && text[j+1] == q {
			j++
			continue
		}
		return j + 1
	}
	return len(text)
}

func comment(text string, i int) int {
	depth := 0
	for j := i; j+1 < len(text); {
		switch text[j : j+2] {
		case "/*":
			depth++
			j += 2
		case "*/":
			depth--
			j += 2
			if depth == 0 {
				return j
			}
		default:
			j++
		}
	}
	return len(text)
}

func dollar(text string, i int) int {
	n := strings.IndexByte(text[i+1:], '$')
	if n < 0 {
		return i
	}
	tag := text[i : i+n+2]
	for _, c := range []byte(tag[1 : len(tag)-1]) {
		if !wordByte(c) {
			return i
		}
	}
	end := strings.Index(text[i+len(tag):], tag)
	if end < 0 {
		return i
	}
	return i + len(tag) + end + len(tag)
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
