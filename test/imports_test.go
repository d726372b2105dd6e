package test

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "plumbline"

// arrow forbids imports from a folder, and all below it, to others. "." behind a
// name means that folder alone, without what is below it.
type arrow struct {
	from   string
	to     string // several, separated by spaces
	reason string
}

// forbidden is the table of the house: everything that would point up, or across
// a wall. What it does not name is allowed.
var forbidden = []arrow{
	{"semantic", "compiler policy sources engine mcp cmd", "the nouns are below everyone and know nobody"},
	{"semantic/diag", "semantic", "an error must be able to leave every floor, so it knows none"},
	{"semantic.", "semantic/load semantic/schema", "the nouns do not know in which language they were written"},
	{"semantic/schema", "semantic", "the definitions are data for the stock cue command, not code"},
	{"compiler", "policy sources engine mcp cmd", "a question is compiled without knowing who asks or where rows come from"},
	{"compiler", "semantic/load semantic/schema", "the compiler reads the catalog, never the models' text"},
	{"compiler/sqlast", "compiler/resolve compiler/metric compiler/emit compiler/measure compiler/postgres", "the tree knows nothing about meaning"},
	{"compiler/resolve", "compiler/metric compiler/emit compiler/measure compiler/postgres", "a text is bound without knowing how it was made, so both doors share one path"},
	{"compiler/metric", "compiler/emit compiler/measure", "a plan is made without knowing how it is printed"},
	{"compiler/emit", "compiler/measure", "a plan is printed in the same way whoever asks"},
	{"compiler/postgres.", "compiler/metric compiler/emit compiler/measure", "a dialect is a way to write a query, not a kind of question"},
	{"compiler", "compiler/postgres/cparse", "PostgreSQL's parser is C and runs in workers; the compiler reads the JSON that they make"},
	{"engine.", "compiler/postgres/cparse", "the server runs no C over a caller's text"},
	{"cmd", "compiler/postgres/cparse", "the server runs no C over a caller's text"},
	{"policy", "compiler/postgres", "a decision does not depend on the dialect of the text"},
	{"policy", "sources engine mcp cmd", "a decision does not depend on how rows are fetched or shown"},
	{"policy", "semantic/load semantic/schema", "a decision reads the catalog, never the models' text"},
	{"policy.", "policy/opa policy/rewrite policy/prove", "the vocabulary does not know who speaks it"},
	{"policy/rewrite", "policy/prove policy/opa", "a rewrite that knows its checker can please it; it applies a decision and does not make one"},
	{"policy/prove", "policy/rewrite policy/opa", "a check that shares code with what it checks proves nothing"},
	{"policy/opa", "policy/rewrite policy/prove", "the decider says what holds, not how it is applied or checked"},
	{"sources", "compiler policy engine mcp cmd semantic/load semantic/schema", "an adapter sees a scan and nothing else"},
	{"engine", "mcp cmd", "the engine answers whoever asks"},
	{"engine/duck", "engine. engine/shape engine/audit policy/opa policy/rewrite semantic/load", "the wall takes a proved text and gives rows; all else is above it"},
	{"engine/shape", "engine. engine/duck engine/audit", "rows are presented without knowing how they were got"},
	{"engine/audit", "engine. engine/duck engine/shape", "a record is stored whatever made it"},
	{"mcp", "cmd sources compiler/sqlast compiler/resolve compiler/emit compiler/measure compiler/postgres policy/opa policy/rewrite policy/prove engine/duck semantic/load", "the tools ask the engine and nothing below it, so there is one pipeline"},
	{"cmd/plumbline/sample", "semantic. semantic/load compiler policy sources engine mcp", "the demo's data is made without the program it shows"},
}

// home says where a foreign library may be imported. tests is for files that end
// in _test.go and for packages whose name ends in test.
type home struct {
	lib     string
	folders string
	reason  string
}

const tests = "tests"

// homes is closed: a library that is not here has no home yet.
var homes = []home{
	{"cuelang.org/go", "semantic/load semantic/schema", "models become a catalog in one place"},
	{"github.com/open-policy-agent/opa", "policy/opa", "policies are evaluated in one place"},
	{"github.com/duckdb/duckdb-go", "engine/duck test", "C stands behind the wall of the worker processes"},
	{"github.com/duckdb/duckdb-go-bindings", "engine/duck", "what the driver does not reach is reached behind the same wall"},
	{"github.com/pganalyze/pg_query_go", "compiler/postgres/cparse", "PostgreSQL's parser is C: one package holds it, and only workers import that"},
	{"github.com/landlock-lsm/go-landlock", "engine/duck", "workers are confined by the wall"},
	{"github.com/apache/arrow-go", "engine cmd/plumbline/sample", "rows travel as Arrow between the worker and the answer, and nowhere else"},
	{"github.com/modelcontextprotocol/go-sdk", "mcp cmd test", "the engine does not know its transport"},
	{"github.com/alecthomas/kong", "cmd", "flags are wiring"},
	{"github.com/fsnotify/fsnotify", "cmd", "watching for changes is wiring"},
	{"github.com/agnivade/levenshtein", "semantic compiler engine mcp", "nearest names are offered where names are looked up"},
	{"golang.org/x/sys", "engine/duck", "limits of a process are set by the wall"},
	{"golang.org/x/text", "semantic compiler", "names are folded where they are defined and read"},
	{"github.com/stretchr/testify", tests, "assertions are for tests"},
	{"github.com/cockroachdb/datadriven", tests, "goldens are for tests"},
	{"github.com/rogpeppe/go-internal", tests, "scripts are for tests"},
	{"pgregory.net/rapid", tests, "properties are for tests"},
	{"golang.org/x/tools", tests, "archives of files are for tests"},
}

// nowhere are packages that no file may import.
var nowhere = map[string]string{
	"C":                "the server process is Go alone; C comes in with DuckDB's driver, in workers",
	"plugin":           "everything is linked",
	"net/http/pprof":   "it registers itself on the default server",
	"math/rand":        "math/rand/v2 has seeded sources of its own",
	"io/ioutil":        "os and io have the same functions",
	"encoding/gob":     "wire formats are closed structs",
	"html/template":    "answers are data",
	"text/template":    "texts are built where they are checked",
	"golang.org/x/exp": "what is experimental changes under us",
}

func checkImports(t tree) []string {
	var out []string
	for _, file := range t.goFiles() {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, t[file], parser.ImportsOnly)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		for _, spec := range parsed.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if complaint := judge(file, imported); complaint != "" {
				out = append(out, fmt.Sprintf("%s imports %s: %s", file, imported, complaint))
			}
		}
	}
	return out
}

// judge gives the reason against one import, or "".
func judge(file, imported string) string {
	for _, p := range slices.Sorted(maps.Keys(nowhere)) {
		if imported == p {
			return nowhere[p]
		}
	}
	if folder := path.Dir(file); imported == module && !isTest(file) && !within(folder, "cmd") && !within(folder, "test") {
		return "the embedded samples are for the commands"
	}
	if inner, ok := strings.CutPrefix(imported, module+"/"); ok {
		return judgeArrow(file, inner)
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		return judgeHome(file, imported)
	}
	return ""
}

func judgeArrow(file, imported string) string {
	folder := path.Dir(file)
	forTests := isTest(file) || testOnly(folder) || within(folder, "test")
	switch {
	case within(imported, "test") && !within(folder, "test"):
		return "nothing stands on the tests"
	case testOnly(imported) && !forTests:
		return "a package for tests is imported by tests only"
	case forTests && imported == "cmd/plumbline/sample":
		return ""
	case within(imported, "cmd") && !within(folder, "cmd") && !within(folder, "test"):
		return "the wiring is on top"
	case forTests:
		// Tests may reach across: they check one floor by another's reading.
		return ""
	}
	for _, a := range forbidden {
		if !matches(folder, a.from) {
			continue
		}
		for to := range strings.FieldsSeq(a.to) {
			// A folder that forbids its own parent means what is beside it.
			if matches(imported, to) && imported != folder {
				return a.reason
			}
		}
	}
	if within(folder, "sources") && within(imported, "sources") && folder != "sources" && imported != "sources" {
		return "adapters never see each other"
	}
	return ""
}

func judgeHome(file, imported string) string {
	folder := path.Dir(file)
	for _, h := range homes {
		if !within(imported, h.lib) {
			continue
		}
		if h.folders == tests {
			if isTest(file) || testOnly(folder) || within(folder, "test") {
				return ""
			}
			return h.reason
		}
		for home := range strings.FieldsSeq(h.folders) {
			if within(folder, home) {
				return ""
			}
		}
		return h.reason
	}
	return "this library has no home; give it one in test/imports_test.go, with a reason"
}

// matches says whether folder is named by pattern: itself or below, or with a
// dot behind it itself alone.
func matches(folder, pattern string) bool {
	if alone, ok := strings.CutSuffix(pattern, "."); ok {
		return folder == alone
	}
	return within(folder, pattern)
}

func within(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

// testOnly says whether a package exists for tests: its name ends in test.
func testOnly(folder string) bool {
	return strings.HasSuffix(path.Base(folder), "test") && folder != "test"
}
