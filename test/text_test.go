package test

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxLines is the length past which a file holds two ideas.
const maxLines = 600

func checkLengths(t tree) []string {
	var out []string
	for _, file := range t.goFiles() {
		if n := bytes.Count(t[file], []byte("\n")); !isTest(file) && n > maxLines {
			out = append(out, fmt.Sprintf("%s: %d lines; past %d ask whether two ideas live there", file, n, maxLines))
		}
	}
	return out
}

// word is text that may not stand in files of some kind. Patterns are put
// together here so that this file does not hold what it forbids.
type word struct {
	pattern *regexp.Regexp
	kinds   []string // extensions; nil means every text file
	reason  string
	inTests bool   // tests may hold it
	home    string // the folder that may hold it; "" is none
}

var words = []word{
	{regexp.MustCompile(`json_` + `deserialize_sql|json_` + `execute_serialized`), []string{".go"}, "SQL is never printed from a tree", true, "compiler/resolve"},
	{regexp.MustCompile(`TO` + `DO|FIX` + `ME|XX` + `X`), []string{".go", ".cue", ".rego"}, "what is left open is an issue", false, ""},
	{regexp.MustCompile(`\bt\.Sk` + `ip|testing\.Sho` + `rt\(`), []string{".go"}, "a test that can be passed over proves nothing", false, ""},
	{regexp.MustCompile(`(?:^|[\s"'=(])/(?:ho` + `me|Us` + `ers)/[a-z]|/ro` + `ot/go|/wo` + `rk/[a-z]`), nil, "a path of one machine", false, ""},
	{regexp.MustCompile(`//nolint(?:\s|$)`), []string{".go"}, "a nolint names its linter and its reason", false, ""},
	{regexp.MustCompile(`\w+\.ForTest\b`), []string{".go"}, "outside tests only prove.Check makes a ticket", true, "policy/prove"},
}

// checkWords looks for forbidden text. Planted trees are left out.
func checkWords(t tree) []string {
	var out []string
	for _, file := range t.paths("") {
		if within(file, "test/testdata/planted") || !utf8.Valid(t[file]) {
			continue
		}
		for _, w := range words {
			switch {
			case w.kinds != nil && !slices.Contains(w.kinds, path.Ext(file)):
				continue
			case w.inTests && isTest(file), w.home != "" && path.Dir(file) == w.home:
				continue
			}
			for n, line := range strings.Split(string(t[file]), "\n") {
				if found := w.pattern.FindString(line); found != "" {
					out = append(out, fmt.Sprintf("%s:%d: %q: %s", file, n+1, strings.TrimSpace(found), w.reason))
				}
			}
		}
	}
	return out
}

var placeless = regexp.MustCompile(`(?i)^(utils?|helpers?|common|misc|shared|types|managers?)$`)

// checkNames wants folders and files named after their place in the flow.
func checkNames(t tree) []string {
	var out []string
	for _, file := range t.paths("") {
		for part := range strings.SplitSeq(file, "/") {
			base := strings.TrimSuffix(strings.TrimSuffix(part, path.Ext(part)), "_test")
			if placeless.MatchString(base) {
				out = append(out, fmt.Sprintf("%s: %q names no place in the flow", file, base))
			}
		}
	}
	return out
}

const maxBytes = 1_000_000

// checkSizes wants no file that is large, and no binary outside testdata.
func checkSizes(t tree) []string {
	var out []string
	for _, file := range t.paths("") {
		if n := len(t[file]); n > maxBytes {
			out = append(out, fmt.Sprintf("%s: %d bytes; large files are generated, not kept", file, n))
		}
		if bytes.IndexByte(t[file], 0) >= 0 && !strings.Contains(file, "testdata/") {
			out = append(out, file+": a binary; what is built is not kept")
		}
	}
	return out
}

var repeated = regexp.MustCompile(`(?m)^@(lines|bytes|zero) (\d+)\n`)

// expand turns the shorthands of planted trees into text.
func expand(text string) []byte {
	return repeated.ReplaceAllFunc([]byte(text), func(m []byte) []byte {
		parts := repeated.FindSubmatch(m)
		n, _ := strconv.Atoi(string(parts[2]))
		return bytes.Repeat(map[string][]byte{"lines": []byte("//\n"), "bytes": []byte("x"), "zero": {0}}[string(parts[1])], n)
	})
}
