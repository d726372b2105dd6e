package load_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
	"plumbline/semantic/load"
	"plumbline/semantic/schema"
)

// touch changes one description, so that each generation has its own revision
// and says its number in two files.
func touch(t *testing.T, root string, n int) {
	t.Helper()
	for name, text := range shop(t) {
		if !strings.HasPrefix(name, "models/") {
			continue
		}
		text = strings.NewReplacer("people that buy", fmt.Sprintf("people %05d", n), "orders placed", fmt.Sprintf("orders %05d", n)).Replace(text)
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
}

func spoil(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(root, "models", "orders.cue"), []byte("package models\n\nmodel: oops: 1\n"), 0o600))
}

// A catalog never changes: a later load of other files makes another.
func TestLoadsAreApart(t *testing.T) {
	root := write(t, shop(t))
	_, first, err := load.Dir(root)
	require.NoError(t, err)

	spoil(t, root)
	_, _, err = load.Dir(root)
	require.Equal(t, diag.ModelInvalid, diag.CodeOf(err))

	touch(t, root, 2)
	_, second, err := load.Dir(root)
	require.NoError(t, err)
	require.NotEqual(t, first.Revision, second.Revision)
	require.Equal(t, "people that buy", first.Entity("customers").Description)
}

// Twenty loads keep no memory: each has a context of its own.
func TestLoadsLeakNothing(t *testing.T) {
	root := write(t, shop(t))
	var before uint64
	for n := 1; n <= 23; n++ {
		touch(t, root, n)
		_, _, err := load.Dir(root)
		require.NoError(t, err)
		if n == 3 {
			before = heap()
		}
	}
	require.Less(t, heap(), before+4<<20, "memory after 20 loads")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A workspace's own copy of the schema may be old, open or gone: the server's counts.
func TestStaleSchema(t *testing.T) {
	files := shop(t)
	root := write(t, files)
	copied := filepath.Join(root, filepath.FromSlash(schema.Dir))
	for _, name := range []string{"model.cue", "old.cue"} {
		require.NoError(t, os.WriteFile(filepath.Join(copied, name), []byte("package plumbline\n\n#Model: {...}\n#Measure: agg: \"count\"\n"), 0o600))
	}
	_, with, err := load.Dir(root)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(root, "cue.mod")))
	_, without, err := load.Dir(root)
	require.NoError(t, err)
	require.Equal(t, with.Revision, without.Revision)
	spoil(t, root)
	_, _, err = load.Dir(root)
	require.Error(t, err)
}

func TestRevision(t *testing.T) {
	revision := func(change func(map[string]string)) string {
		files := shop(t)
		change(files)
		_, c, err := load.Dir(write(t, files))
		require.NoError(t, err)
		return c.Revision
	}
	base := revision(func(map[string]string) {})
	require.Len(t, base, 64)
	require.Equal(t, base, revision(func(map[string]string) {}), "the same text anywhere")
	require.Equal(t, base, revision(func(f map[string]string) { f["plumbline.cue"] += "\n" }), "the configuration is no model")
	require.NotEqual(t, base, revision(func(f map[string]string) { f["models/orders.cue"] += "\n" }))
	require.NotEqual(t, base, revision(func(f map[string]string) { f["models/more.cue"] = "package models\n" }))
}

// A package of the workspace that models import counts as model text.
func TestRevisionOfImports(t *testing.T) {
	files := shop(t)
	files["units/units.cue"] = "package units\n\nMoney: \"cents\"\n"
	files["models/orders.cue"] = strings.NewReplacer(
		`import "plumbline.dev/schema:plumbline"`, "import (\n\t\"plumbline.dev/schema:plumbline\"\n\t\"plumbline.example/workspace/units\"\n)",
		`fill: 0,`, `fill: 0, unit: units.Money,`).Replace(files["models/orders.cue"])
	root := write(t, files)
	_, first, err := load.Dir(root)
	require.NoError(t, err)
	require.Equal(t, "cents", first.Metric("revenue").Unit)
	require.NoError(t, os.WriteFile(filepath.Join(root, "units", "units.cue"), []byte("package units\n\nMoney: \"euro\"\n"), 0o600))
	_, second, err := load.Dir(root)
	require.NoError(t, err)
	require.NotEqual(t, first.Revision, second.Revision)
}

// SQL begins where the first byte of its text stands, however it is quoted.
func TestExpressionPlaces(t *testing.T) {
	files := shop(t)
	files["models/visits.cue"] = `package models

import "plumbline.dev/schema:plumbline"

model: plumbline.#Model & {
	entities: visits: {
		description: "visits to the shop"
		grain: "one visit"
		source: {source: "files", path: "visits.csv"}
		fields: day: {type: "date", description: "day of the visit"}
		dimensions: {
			plain: {type: "boolean", description: "in plain quotes", expr: "day IS NULL"}
			raw: {type: "boolean", description: "in raw quotes", expr: #"day IS NULL"#}
			lines: {
				type: "boolean"
				description: "over several lines"
				expr: """
					day IS NULL
					OR day > '2025-01-01'
					"""
			}
			made: {type: "boolean", description: "from a reference", expr: _shared}
		}
		measures: n: {agg: "count", expr: "day", filter: "day IS NOT NULL", description: "days known"}
		filters: f: {kind: "fixed", expr: "day IS NOT NULL", description: "days known"}
	}
	metrics: n: {entity: "visits", measure: "n", filter: "day > '2025-01-01'", description: "days known"}
}

_shared: "day IS NULL"
`
	_, c, err := load.Dir(write(t, files))
	require.NoError(t, err)
	lines := strings.Split(files["models/visits.cue"], "\n")
	at := func(pos diag.Pos, text string) {
		t.Helper()
		require.Equal(t, "models/visits.cue", pos.File)
		require.True(t, strings.HasPrefix(lines[pos.Line-1][pos.Col-1:], text), "%s points at %q", pos, lines[pos.Line-1][pos.Col-1:])
	}
	e := c.Entity("visits")
	at(e.Dimension("plain").ExprPos, "day IS NULL")
	at(e.Dimension("raw").ExprPos, "day IS NULL")
	at(e.Dimension("lines").ExprPos, "day IS NULL")
	at(e.Dimension("made").ExprPos, "_shared")
	at(e.Measure("n").ExprPos, `day"`)
	at(e.Measure("n").FilterPos, "day IS NOT NULL")
	at(e.Filters[0].ExprPos, "day IS NOT NULL")
	at(c.Metric("n").FilterPos, "day > '2025-01-01'")
	at(e.Dimension("lines").Pos, "lines: {")
}

// BenchmarkDir is the budget of model loading: 1,000 entities of 20 fields in 2.5 s.
func BenchmarkDir(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			root := b.TempDir()
			require.NoError(b, os.MkdirAll(filepath.Join(root, "models"), 0o755))
			require.NoError(b, os.WriteFile(filepath.Join(root, load.ConfigFile), []byte(shopConfig), 0o600))
			for i := range n {
				require.NoError(b, os.WriteFile(filepath.Join(root, "models", fmt.Sprintf("e%04d.cue", i)), []byte(wide(i)), 0o600))
			}
			for b.Loop() {
				_, c, err := load.Dir(root)
				require.NoError(b, err)
				require.Len(b, c.Entities, n)
			}
		})
	}
}

const shopConfig = `package workspace

import "plumbline.dev/schema:plumbline"

workspace: plumbline.#Workspace & {sources: files: {kind: "files", root: "data"}}
`

// wide is an entity of 20 fields with a measure, a metric and a relationship.
func wide(i int) string {
	var fields strings.Builder
	for j := range 20 {
		fmt.Fprintf(&fields, "\t\t\tf%02d: {type: \"bigint\", description: \"field number %d\"}\n", j, j)
	}
	return fmt.Sprintf(`package models

import "plumbline.dev/schema:plumbline"

model: plumbline.#Model & {
	entities: e%[1]d: {
		description: "entity number %[1]d"
		grain: "one row"
		source: {source: "files", path: "e.csv"}
		primary_key: ["f00"]
		fields: {
%[3]s		}
		measures: total: {agg: "sum", field: "f01", description: "sum of f01"}
		relationships: before: {to: "e%[2]d", kind: "many_to_one", on: [{from: "f03", to: "f00"}]}
	}
	metrics: total%[1]d: {entity: "e%[1]d", measure: "total", description: "sum of f01"}
}
`, i, max(0, i-1), fields.String())
}
