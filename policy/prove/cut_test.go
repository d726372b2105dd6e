package prove

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnclosingSkipsWhatIsNoBracket(t *testing.T) {
	for text, want := range map[string]string{
		`SELECT (a @)`:                          `a @`,
		`(a (b) @ (c))`:                         `a (b) @ (c)`,
		`(a ')' @)`:                             `a ')' @`,
		`(a 'it''s )' @)`:                       `a 'it''s )' @`,
		`(a E'\') ' @)`:                         `a E'\') ' @`,
		`(a e'\') ' @)`:                         `a e'\') ' @`,
		`(type'\' @)`:                           `type'\' @`,
		`(a ")""" @)`:                           `a ")""" @`,
		`(a $$ ) $$ @)`:                         `a $$ ) $$ @`,
		`(a $q$ ) $$ ) $q$ @)`:                  `a $q$ ) $$ ) $q$ @`,
		`(a $1 @ $2)`:                           `a $1 @ $2`,
		"(a -- )\n @)":                          "a -- )\n @",
		`(a /* ) /* ) */ ) */ @)`:               `a /* ) /* ) */ ) */ @`,
		`@ (a)`:                                 ``,
		`(a) @`:                                 ``,
		`(@`:                                    ``,
		`) @ (`:                                 ``,
		`(SELECT 1 FROM x WHERE y IN (1, 2) @)`: `SELECT 1 FROM x WHERE y IN (1, 2) @`,
	} {
		require.Equal(t, want, enclosing(text, strings.IndexByte(text, '@')), text)
	}
}

// TestDollarsBehindWords: a dollar that follows a letter, a digit or _ belongs to a
// name; behind any other sign it begins a literal.
func TestDollarsBehindWords(t *testing.T) {
	for _, sign := range []string{":", "[", "{", "~", "/", "@", "`", " "} {
		inner := "a" + sign + "$$)$$ b"
		require.Equal(t, inner, enclosing("("+inner+")", 1), sign)
	}
	for _, word := range []string{"0", "9", "a", "z", "A", "Z", "_", "ä"} {
		require.Equal(t, "a"+word+"$$", enclosing("(a"+word+"$$)$$ b)", 1), word)
	}
}
