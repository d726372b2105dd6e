package opa

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

const sampleRego = "../../rego"

var (
	testKey = []byte("0123456789abcdef0123456789abcdef")
	testNow = time.Date(2026, time.May, 4, 3, 2, 1, 0, time.UTC)
)

// base is the smallest bundle: everyone sees every entity with every column.
// Tests add rows rules, or replace a file.
var base = map[string]string{
	"base.rego": `package plumbline.access

visible.all if true
columns.all[field.name] := field.class if some field in input.entity.fields
`,
	"rows.rego":     "package plumbline.access\n\nrows.none if input.row.id == 0\n",
	"question.rego": "package plumbline.question\n\nallow.all if true\n",
	"verify.rego":   "package plumbline.verify\n\nallow.all if true\n",
}

// writeBundle writes base with the given files over it into a folder named rego.
func writeBundle(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rego")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, set := range []map[string]string{base, files} {
		for name, text := range set {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	return dir
}

func openText(t testing.TB, files map[string]string) *Policy {
	t.Helper()
	p, err := Open(writeBundle(t, files), Options{MaskKey: testKey, Timeout: 5 * time.Second})
	require.NoError(t, err)
	return p
}

// openRows opens base with one rows rule of the given body.
func openRows(t testing.TB, body string) *Policy {
	t.Helper()
	return openText(t, map[string]string{"rows.rego": "package plumbline.access\n\nrows.test if {\n" + body + "\n}\n"})
}

// people are the subjects of the goldens.
var people = map[string]policy.Subject{
	"ana":      {ID: "ana", Roles: []string{"analyst"}, Claims: map[string]any{"tenant": "acme", "level": 3, "regions": []string{"eu", "us"}, "none": []string{}}},
	"sam":      {ID: "sam", Roles: []string{"support"}, Claims: map[string]any{"tenant": "acme"}},
	"op":       {ID: "op", Roles: []string{"operator"}},
	"stranger": {ID: "stranger"},
}

func accessText(e *semantic.Entity, a policy.EntityAccess, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "visible: %v%s\n", a.Visible, ids(a.Rules))
	for _, f := range e.Fields {
		c, ok := a.Columns[f.Name.Key()]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "  %s: %s", f.Name, c.Class)
		if c.Mask != nil {
			fmt.Fprintf(&b, ", mask %s (filterable: %v) %s%s", c.Mask.Kind, c.Mask.Filterable, c.Mask.SQL, ids([]policy.RuleRef{c.Mask.Rule}))
		}
		b.WriteByte('\n')
	}
	b.WriteString(predicateText(a.Rows))
	return b.String()
}

func predicateText(p policy.Predicate) string {
	word := map[policy.Truth]string{policy.Never: "never", policy.Always: "always", policy.When: "when " + p.SQL}[p.Truth]
	out := "rows: " + word + ids(p.Rules) + "\n"
	if len(p.Reads) > 0 {
		out += fmt.Sprintf("reads: %v\n", p.Reads)
	}
	if len(p.Through) > 0 {
		out += fmt.Sprintf("through: %v\n", p.Through)
	}
	return out
}

func ids(rules []policy.RuleRef) string {
	out := ""
	for _, r := range rules {
		out += fmt.Sprintf(" [%s %s:%d]", r.ID, r.File, r.Line)
	}
	return out
}

// TestAccess walks the people over the sample policies.
func TestAccess(t *testing.T) {
	p, err := Open(sampleRego, Options{MaskKey: testKey, Timeout: time.Second})
	require.NoError(t, err)
	shop := semantictest.Shop()
	datadriven.RunTest(t, "testdata/access.txt", func(t *testing.T, d *datadriven.TestData) string {
		var who, entity string
		d.ScanArgs(t, "subject", &who)
		d.ScanArgs(t, "entity", &entity)
		e := shop.Entity(semantic.Name(entity))
		a, err := p.Entity(context.Background(), people[who], testNow, e)
		return accessText(e, a, err)
	})
}

// territories are the policy's data in tests.
var territories = `
by_subject:
  ana: [eu, us]
by_region:
  eu: {floor: 10, since: "2026-01-01"}
many: [` + strings.Repeat("x, ", 1000) + `y]
numbers: {1: [1.5, 12345678901234567890]}
`

// sampleLib is the library of the sample policies.
func sampleLib(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sampleRego, "lib.rego"))
	require.NoError(t, err)
	return string(text)
}

// TestPredicate prints the rows rule given as input, for ana over the entity.
func TestPredicate(t *testing.T) {
	shop := relatedShop()
	datadriven.Walk(t, "testdata/predicate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			entity := "orders"
			d.MaybeScanArgs(t, "entity", &entity)
			text := "package plumbline.access\n\nrows.test if {\n" + d.Input + "\n}\n"
			if d.Cmd == "rules" {
				text = "package plumbline.access\n\n" + d.Input + "\n"
			}
			files := map[string]string{"rows.rego": text, "territories/data.yaml": territories}
			if strings.Contains(text, "lib.") {
				files["rows.rego"] = strings.Replace(text, "\n\n", "\n\nimport data.plumbline.lib\n", 1)
				files["lib.rego"] = sampleLib(t)
			}
			p, err := Open(writeBundle(t, files), Options{Timeout: 5 * time.Second, Catalog: shop})
			if err != nil {
				return err.Error() + "\n"
			}
			a, err := p.decideEntity(context.Background(), people["ana"], testNow, shop.Entity(semantic.Name(entity)))
			if err != nil {
				return err.Error() + "\n"
			}
			return predicateText(a.Rows)
		})
	})
}

func requireCode(t testing.TB, code diag.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, diag.CodeOf(err), "%v", err)
}
