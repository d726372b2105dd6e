package test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

// checkComments wants a comment on every package and on every exported name
// outside tests. A comment on a group of constants or variables counts for each.
func checkComments(t tree) []string {
	var out []string
	commented := map[string]bool{}
	for _, file := range t.goFiles() {
		if isTest(file) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, t[file], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		commented[path.Dir(file)] = commented[path.Dir(file)] || parsed.Doc != nil
		for _, d := range parsed.Decls {
			for _, name := range bare(d) {
				out = append(out, fmt.Sprintf("%s:%d: %s has no comment", file, set.Position(name.Pos()).Line, name.Name))
			}
		}
	}
	for folder, ok := range commented {
		if !ok {
			out = append(out, folder+": the package has no comment")
		}
	}
	slices.Sort(out)
	return out
}

// bare gives the exported names of a declaration that have no comment.
func bare(d ast.Decl) []*ast.Ident {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil && (d.Tok != token.TYPE || !d.Lparen.IsValid()) {
			return nil
		}
		var out []*ast.Ident
		for _, s := range d.Specs {
			out = append(out, bareSpec(s)...)
		}
		return out
	}
	return nil
}

func bareSpec(s ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil {
			names = []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil {
			names = s.Names
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n *ast.Ident) bool { return !n.IsExported() })
}

// exportedReceiver says whether a function is none of a hidden type's methods.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	kind := d.Recv.List[0].Type
	for {
		switch k := kind.(type) {
		case *ast.StarExpr:
			kind = k.X
		case *ast.IndexExpr:
			kind = k.X
		case *ast.Ident:
			return k.IsExported()
		default:
			return true
		}
	}
}

var (
	decisionName = regexp.MustCompile(`^docs/decisions/(\d{4})-[a-z0-9-]+\.md$`)
	decisionPart = []string{"**Question.**", "**Choice.**", "**Given up.**", "**Would change our mind.**"}
)

// checkDecisions wants records numbered without a gap, each with its four parts.
func checkDecisions(t tree) []string {
	var out []string
	next := 1
	for _, file := range t.paths(".md") {
		if path.Dir(file) != "docs/decisions" {
			continue
		}
		m := decisionName.FindStringSubmatch(file)
		if m == nil {
			out = append(out, file+": a decision is named NNNN-title.md")
			continue
		}
		if want := fmt.Sprintf("%04d", next); m[1] != want {
			out = append(out, fmt.Sprintf("%s: the next number is %s", file, want))
		}
		next++
		for _, part := range decisionPart {
			if !strings.Contains(string(t[file]), part) {
				out = append(out, fmt.Sprintf("%s: has no %s", file, part))
			}
		}
	}
	return out
}

var (
	changeTyped = regexp.MustCompile(`^- \[(FEATURE|FIX|SECURITY|CHANGE)\] \S`)
	changeSides = regexp.MustCompile(`(?i)\bbefore\b.*\bnow\b|\bnow\b.*\bbefore\b`)
)

// checkChangelog wants every line of CHANGELOG.md to have a type, and a [CHANGE]
// to say what was before and what is now.
func checkChangelog(t tree) []string {
	var out []string
	for n, line := range strings.Split(string(t["CHANGELOG.md"]), "\n") {
		switch {
		case !strings.HasPrefix(line, "-"):
		case !changeTyped.MatchString(line):
			out = append(out, fmt.Sprintf("CHANGELOG.md:%d: a line begins with its type", n+1))
		case strings.HasPrefix(line, "- [CHANGE]") && !changeSides.MatchString(line):
			out = append(out, fmt.Sprintf("CHANGELOG.md:%d: a [CHANGE] says what was before and what is now", n+1))
		}
	}
	return out
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// named are documents that other texts name.
var named = regexp.MustCompile(`\bdocs/[a-z0-9_./-]+\.md\b`)

// checkLinks wants every relative link in Markdown to lead to a file, or to a
// folder with files, and every document that code names to exist.
func checkLinks(t tree) []string {
	var out []string
	for _, file := range t.paths("") {
		if path.Ext(file) == ".md" || within(file, "test") {
			continue
		}
		for _, m := range slices.Compact(named.FindAllString(string(t[file]), -1)) {
			if !t.exists(m) {
				out = append(out, fmt.Sprintf("%s: names %s, which does not exist", file, m))
			}
		}
	}
	for _, file := range t.paths(".md") {
		for _, m := range link.FindAllStringSubmatch(string(t[file]), -1) {
			target, err := url.Parse(m[1])
			if err != nil {
				out = append(out, fmt.Sprintf("%s: the link %q is malformed", file, m[1]))
				continue
			}
			if target.Scheme != "" || target.Path == "" {
				continue
			}
			if !t.exists(path.Join(path.Dir(file), target.Path)) {
				out = append(out, fmt.Sprintf("%s: the link %q leads nowhere", file, m[1]))
			}
		}
	}
	return out
}

func (t tree) exists(p string) bool {
	if _, ok := t[p]; ok {
		return true
	}
	return slices.ContainsFunc(t.paths(""), func(f string) bool { return strings.HasPrefix(f, p+"/") })
}

var (
	makeCommand = regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z-]*)")
	makeTarget  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	makeHelp    = regexp.MustCompile(`(?m)^([a-z][a-z-]*):.*## \S`)
)

// checkTargets wants every "make x" of the documents to be a target, and every
// target to have the description that a bare make prints.
func checkTargets(t tree) []string {
	var out []string
	targets, described := map[string]bool{}, map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(string(t["Makefile"]), -1) {
		targets[m[1]] = true
	}
	for _, m := range makeHelp.FindAllStringSubmatch(string(t["Makefile"]), -1) {
		described[m[1]] = true
	}
	for target := range targets {
		if !described[target] {
			out = append(out, fmt.Sprintf("Makefile: the target %q has no description", target))
		}
	}
	for _, file := range append(t.paths(".md"), ".ci/run") {
		for _, m := range makeCommand.FindAllStringSubmatch(string(t[file]), -1) {
			if !targets[m[1]] {
				out = append(out, fmt.Sprintf("%s: the Makefile has no target %q", file, m[1]))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	commandUse  = regexp.MustCompile("(?:bin/|`)plumbline +([a-z]+)")
	commandName = regexp.MustCompile(`\bname:"([a-z]+)"`)
)

// checkCommands wants every command that a document shows to be one of the
// command line: a field with the tag cmd in cmd/plumbline.
func checkCommands(t tree) []string {
	known := map[string]bool{"help": true}
	for _, file := range t.goFiles() {
		if path.Dir(file) != "cmd/plumbline" || isTest(file) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, t[file], parser.SkipObjectResolution)
		if err != nil {
			return []string{err.Error()}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil && strings.Contains(f.Tag.Value, `cmd:""`) {
				name := strings.ToLower(f.Names[0].Name)
				if m := commandName.FindStringSubmatch(f.Tag.Value); m != nil {
					name = m[1]
				}
				known[name] = true
			}
			return true
		})
	}
	var out []string
	for _, file := range append(t.paths(".md"), "Makefile") {
		for _, m := range commandUse.FindAllStringSubmatch(string(t[file]), -1) {
			if !known[m[1]] {
				out = append(out, fmt.Sprintf("%s: plumbline has no command %q", file, m[1]))
			}
		}
	}
	return out
}

var testName = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)`")

// checkTests wants every test that a document names, as `folder.TestName`, to exist.
func checkTests(t tree) []string {
	var out []string
	for _, file := range t.paths(".md") {
		for _, m := range testName.FindAllStringSubmatch(string(t[file]), -1) {
			declared := []byte("\nfunc " + m[2] + "(")
			if !slices.ContainsFunc(t.goFiles(), func(f string) bool { return path.Dir(f) == m[1] && isTest(f) && bytes.Contains(t[f], declared) }) {
				out = append(out, fmt.Sprintf("%s: there is no %s in %s", file, m[2], m[1]))
			}
		}
	}
	return out
}

var snippet = regexp.MustCompile("(?s)<!-- from ([^ ]+) -->\\s*```[a-z]*\n(.*?)```")

// checkSnippets wants a fenced block that follows <!-- from FILE --> to stand in
// that file, word for word.
func checkSnippets(t tree) []string {
	var out []string
	for _, file := range t.paths(".md") {
		for _, m := range snippet.FindAllStringSubmatch(string(t[file]), -1) {
			source, ok := t[m[1]]
			switch {
			case !ok:
				out = append(out, fmt.Sprintf("%s: a snippet comes from %s, which does not exist", file, m[1]))
			case !strings.Contains(string(source), m[2]):
				out = append(out, fmt.Sprintf("%s: a snippet does not stand in %s", file, m[1]))
			}
		}
		if marked, found := strings.Count(string(t[file]), "<!-- from "), len(snippet.FindAllString(string(t[file]), -1)); marked != found {
			out = append(out, fmt.Sprintf("%s: %d snippets are marked and %d are followed by a block", file, marked, found))
		}
	}
	return out
}

// TestRegistry wants codes to be unique and of a known family, and pages to be
// written in sentences.
func TestRegistry(t *testing.T) {
	families := []string{"request", "parse", "resolve", "metric", "policy", "source", "execute", "limit", "model", "config", "unsupported", "bug"}
	seen := map[diag.Code]bool{}
	for _, i := range diag.Registry() {
		require.False(t, seen[i.Code], "%s stands twice in the registry", i.Code)
		seen[i.Code] = true
		require.Regexp(t, `^[a-z]+\.[a-z_]+$`, string(i.Code))
		family, _, _ := strings.Cut(string(i.Code), ".")
		require.Contains(t, families, family)
		for _, s := range []string{i.Rule, i.Means, i.WayOut} {
			require.Regexp(t, `^[A-Za-z].*\.$`, s, "%s: a page is written in sentences", i.Code)
		}
	}
}
