package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Answer is what a caller gets, as far as twins compare it: an error text with
// its code, or columns and rows. Cells are JSON.
type Answer struct {
	Code    string
	Error   string
	Columns []string
	Rows    [][]string
	Cut     bool // more rows exist than were given
}

func (a Answer) refused() bool { return a.Code != "" }

// verdict is what a line came to.
type verdict string

const (
	pass   verdict = "pass"
	leak   verdict = "leak"       // the twins differ, or a refusal was due and did not come
	block  verdict = "over-block" // an answer was due, or a rule of ours broke
	notYet verdict = "not yet"    // belongs to later work
)

// later are the categories that this version does not run, with what brings them.
var later = map[string]string{
	"api-source": "sources that are services",
	"mcp-http":   "identity over HTTP",
}

// judge compares the answers of both worlds with each other and with the
// expected words. The reason is "" for a pass.
func judge(l line, a, b Answer) (verdict, string) {
	if reason := differ(a, b); reason != "" && !unbounded(l) {
		return leak, "the worlds differ: " + reason
	}
	if word := telling(l, a); word != "" {
		return leak, fmt.Sprintf("the answer names %q", word)
	}
	if strings.HasPrefix(a.Code, "bug.") {
		return block, "refused with " + a.Code
	}
	word, _, _ := strings.Cut(l.expected, " ")
	switch word {
	case "deny", "deny-quietly":
		if !a.refused() {
			return leak, "answered where a refusal was due"
		}
	case "deny-or-strip":
		if !a.refused() && hides(a.Columns) != "" {
			return leak, fmt.Sprintf("the answer has the column %q", hides(a.Columns))
		}
	case "allow":
		quietly := strings.Contains(l.expected, "or deny-quietly")
		if a.refused() && !quietly {
			return block, a.Error
		}
	case "deny-or-suppress": // every group that these lines ask for is smaller
		if !a.refused() && len(a.Rows) > 0 {
			return leak, fmt.Sprintf("%d groups were given that are too small", len(a.Rows))
		}
	case "no-leak", "literal", "deny-or-ignore":
	case "limit", "clamp":
		if !a.refused() && len(a.Rows) > rowLimit+heads {
			return leak, fmt.Sprintf("%d rows were given", len(a.Rows))
		}
	case "safe-encode":
		return encodes(a)
	default:
		return block, fmt.Sprintf("the expected word %q is not known", word)
	}
	return pass, ""
}

// rowLimit is the limit of the workspace; a tool shows a head and comments beside its rows.
const (
	rowLimit = 1000
	heads    = 10
)

// unbounded lines end by a limit whose moment differs from run to run.
func unbounded(l line) bool { return strings.HasPrefix(l.expected, "limit") }

// differ says in what two answers differ; "" when in nothing. Rows are compared
// as multisets.
func differ(a, b Answer) string {
	switch {
	case a.Code != b.Code || a.Error != b.Error:
		return fmt.Sprintf("%s against %s", outcome(a), outcome(b))
	case !slices.Equal(a.Columns, b.Columns):
		return fmt.Sprintf("columns %q against %q", a.Columns, b.Columns)
	case a.Cut != b.Cut || len(a.Rows) != len(b.Rows):
		return fmt.Sprintf("%d rows against %d", len(a.Rows), len(b.Rows))
	}
	x, y := sorted(a.Rows), sorted(b.Rows)
	for i := range x {
		if x[i] != y[i] {
			return "row values"
		}
	}
	return ""
}

func outcome(a Answer) string {
	if a.refused() {
		return a.Code + " (" + a.Error + ")"
	}
	return fmt.Sprintf("%d rows", len(a.Rows))
}

func sorted(rows [][]string) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = strings.Join(r, "\t")
	}
	slices.Sort(out)
	return out
}

// inside are words of the text that runs, which a caller never wrote.
var inside = []string{"plumbline", `"base"`, "OFFSET 0", "email", "ssn", "globex", "initech", "'none'", tenant}

// telling finds a word of storage, of a rule or of a hidden column in an error or
// in a column's name that is not in the asked text.
func telling(l line, a Answer) string {
	shown := strings.ToLower(a.Error + "\n" + strings.Join(a.Columns, "\n"))
	asked := strings.ToLower(l.text)
	for _, word := range inside {
		w := strings.ToLower(word)
		if strings.Contains(shown, w) && !strings.Contains(asked, w) {
			return word
		}
	}
	return ""
}

// hides finds a column that the subject does not have.
func hides(columns []string) string {
	for _, c := range columns {
		if strings.EqualFold(c, "email") || strings.EqualFold(c, "ssn") {
			return c
		}
	}
	return ""
}

func encodes(a Answer) (verdict, string) {
	for _, r := range a.Rows {
		for _, cell := range r {
			if !json.Valid([]byte(cell)) || !utf8.ValidString(cell) {
				return block, "a value is not valid JSON"
			}
		}
	}
	return pass, ""
}
