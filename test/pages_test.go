package test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/semantic/diag"
)

// Documents that are made from lists in the code.
const (
	errorPages   = "docs/errors"
	functionPage = "docs/functions.md"
)

// checkPages wants the made documents to be what their lists say: one page for
// each code, an index, the reviewed functions, and nothing else beside them.
func checkPages(t tree) []string {
	var out []string
	want := renderPages()
	for _, file := range t.paths("") {
		if _, ok := want[file]; !ok && within(file, errorPages) {
			out = append(out, file+": no code has this page")
		}
	}
	for _, file := range want.paths("") {
		if string(t[file]) != string(want[file]) {
			return append(out, file+": is the first page that does not say what the code says; make golden writes them")
		}
	}
	return out
}

// writePages brings the made documents up to date on disk and in the tree.
func writePages(t *testing.T, repo tree) {
	want := renderPages()
	for file := range repo {
		if within(file, errorPages) && want[file] == nil {
			require.NoError(t, os.Remove(filepath.Join(root, file)))
			delete(repo, file)
		}
	}
	require.NoError(t, os.MkdirAll(filepath.Join(root, errorPages), 0o755))
	for file, text := range want {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), text, 0o644))
		repo[file] = text
	}
}

func renderPages() tree {
	out := renderErrors(diag.Registry())
	out[functionPage] = renderFunctions(resolve.Functions())
	return out
}

func renderErrors(registry []diag.Info) tree {
	out := tree{}
	var index strings.Builder
	index.WriteString("# Codes\n\nEvery refusal and every failure carries one of these codes. The list is closed; `make golden` makes these pages from `semantic/diag/registry.go`.\n\n| code | rule |\n|---|---|\n")
	for _, i := range registry {
		fmt.Fprintf(&index, "| [%s](%s.md) | %s |\n", i.Code, i.Code, i.Rule)
		out[fmt.Sprintf("%s/%s.md", errorPages, i.Code)] = fmt.Appendf(nil, "# %s\n\n**Rule.** %s\n\n**What happened.** %s\n\n**Way out.** %s\n", i.Code, i.Rule, i.Means, i.WayOut)
	}
	out[errorPages+"/README.md"] = []byte(index.String())
	return out
}

func renderFunctions(functions []resolve.Function) []byte {
	byKind := map[resolve.FunctionKind][]string{}
	var bounded []string
	for _, f := range functions {
		byKind[f.Kind] = append(byKind[f.Kind], "`"+f.Name+"`")
		if f.Size != "" && f.Kind == resolve.Scalar {
			bounded = append(bounded, "`"+f.Name+"`")
		}
	}
	var b strings.Builder
	b.WriteString("# Functions that run\n\nA function runs when it has been reviewed; what is not here is refused with [resolve.function](errors/resolve.function.md). `make golden` makes this page from `compiler/resolve/functions.go`.\n")
	for _, section := range []struct {
		kind  resolve.FunctionKind
		title string
	}{{resolve.Aggregate, "Aggregates"}, {resolve.WindowOnly, "Window functions"}, {resolve.TableFunction, "Table functions"}, {resolve.Scalar, "Scalar functions and operators"}} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", section.title, strings.Join(byKind[section.kind], " "))
	}
	fmt.Fprintf(&b, "\n## Bounded by literals\n\nThese make results as large as an argument says, so that argument must be a literal within bounds: %s.\n", strings.Join(bounded, " "))
	renderRaises(&b, functions)
	return []byte(b.String())
}

// renderRaises writes what may fail, what depends on the moment, and what is refused.
func renderRaises(b *strings.Builder, functions []resolve.Function) {
	var raising, clocks []string
	for _, f := range functions {
		if f.Raises && !slices.Contains(raising, "`"+f.Name+"`") {
			raising = append(raising, "`"+f.Name+"`")
		}
		if f.Clock {
			clocks = append(clocks, "`"+f.Name+"`")
		}
	}
	fmt.Fprintf(b, "\n## May fail\n\nThese fail on some values; then the whole question is refused. They never see a row outside the rules. %s.\n", strings.Join(raising, " "))
	fmt.Fprintf(b, "\nSo do casts of some values of the left type to the types on the right, where `TRY_CAST` gives NULL:\n\n| from | to |\n|---|---|\n")
	casts := resolve.FailingCasts()
	for _, from := range slices.Sorted(maps.Keys(casts)) {
		fmt.Fprintf(b, "| %s | %s |\n", from, strings.Join(casts[from], ", "))
	}
	fmt.Fprintf(b, "\n## Depend on the moment\n\n%s; `age` and `ago` do when they are given one date. All others depend on their arguments alone.\n", strings.Join(clocks, " "))
	fmt.Fprintf(b, "\n## Refused\n\nEvery other function of DuckDB, by the reason.\n")
	class := ""
	for _, r := range resolve.Refusals() {
		if r.Class != class {
			class = r.Class
			fmt.Fprintf(b, "\n**%s**: it %s.\n\n", strings.ToUpper(class[:1])+class[1:], r.Why)
		}
		fmt.Fprintf(b, "`%s` ", r.Name)
	}
	b.WriteString("\n")
}
