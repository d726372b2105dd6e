package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// plain writes text that others have written to a terminal: what would move its
// cursor, colour it or turn its direction is written as \u001b and the like, which
// in JSON means the same. Each Write must hold whole characters.
type plain struct{ io.Writer }

// Write writes the text without its control characters.
func (p plain) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, harmless(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

func harmless(s string) string {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			out.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}

// oneLine is a text of others on one line, cut to a length in characters.
func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-3]) + "..."
	}
	return harmless(s)
}
