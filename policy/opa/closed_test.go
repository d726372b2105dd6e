package opa

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

func orders() *semantic.Entity { return semantictest.Shop().Entity("orders") }

// TestOpenRefuses holds bundles that must not load to their first error.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"network":          {map[string]string{"x.rego": "package x\n\na if http.send({\"method\": \"get\", \"url\": \"http://a\"})\n"}, "rego/x.rego:3:6: config.policy: undefined function http.send"},
		"name lookup":      {map[string]string{"x.rego": "package x\n\na if net.lookup_ip_addr(\"a\")\n"}, "undefined function net.lookup_ip_addr"},
		"environment":      {map[string]string{"x.rego": "package x\n\na if opa.runtime().env.HOME\n"}, "undefined function opa.runtime"},
		"clock":            {map[string]string{"x.rego": "package x\n\na if time.now_ns() > 5\n"}, "undefined function time.now_ns"},
		"randomness":       {map[string]string{"x.rego": "package x\n\na if rand.intn(\"a\", 5) > 1\n"}, "undefined function rand.intn"},
		"uuid":             {map[string]string{"x.rego": "package x\n\na if uuid.rfc4122(\"a\") != \"\"\n"}, "undefined function uuid.rfc4122"},
		"big values":       {map[string]string{"x.rego": "package x\n\na if numbers.range(1, 1000000000)\n"}, "undefined function numbers.range"},
		"syntax":           {map[string]string{"x.rego": "package x\n\na if if\n"}, "rego/x.rego:3:6: config.policy"},
		"empty":            {map[string]string{"x.rego": "# nothing\n"}, "config.policy"},
		"strict":           {map[string]string{"x.rego": "package x\n\na if {\n\tb := 1\n}\n"}, "rego/x.rego:4:2: config.policy"},
		"old language":     {map[string]string{"x.rego": "package x\n\na { true }\n"}, "rego/x.rego:3:1: config.policy"},
		"no question":      {map[string]string{"question.rego": "package plumbline.question\n"}, "package plumbline.question has no rule allow.ID"},
		"no rows":          {map[string]string{"rows.rego": "package plumbline.access\n"}, "neither rows.ID nor all_rows.ID"},
		"no verify":        {map[string]string{"verify.rego": "package plumbline.verify\n"}, "package plumbline.verify has no rule allow.ID"},
		"default allow":    {map[string]string{"question.rego": "package plumbline.question\n\ndefault allow.all := true\n"}, "rego/question.rego:3:1: config.policy: a rule that decides has no default"},
		"deny as a set":    {map[string]string{"question.rego": "package plumbline.question\n\nallow.all if true\n\ndeny contains \"x\"\n"}, `names its id; "deny" has none; write deny.some_id`},
		"misspelt head":    {map[string]string{"x.rego": "package plumbline.access\n\nvisibel.analyst if true\n"}, `rego/x.rego:3:1: config.policy: the rule visibel.analyst decides nothing, and no rule uses it; package plumbline.access decides by: visible, columns, masks, all_rows, rows, min_group; remove`},
		"strange head":     {map[string]string{"x.rego": "package plumbline.question\n\nforbid[\"x\"] := 1\n"}, `package plumbline.question decides by: allow, deny`},
		"lonely helper":    {map[string]string{"x.rego": "package plumbline.limits\n\nhelper if true\n"}, `rego/x.rego:3:1: config.policy: the rule helper decides nothing`},
		"misspelt set":     {map[string]string{"x.rego": "package plumbline.verify\n\ndenny contains \"x\"\n"}, `package plumbline.verify decides by: allow, deny`},
		"misspelt package": {map[string]string{"x.rego": "package plumbline.acces\n\nmasks.x := {}\n"}, `rules of that name decide in package plumbline.access`},
		"limit below zero": {map[string]string{"x.rego": "package plumbline.limits\n\nlower.z := {\"rows\": -1}\n"}, `rego/x.rego:3:1: config.policy: a limit is a whole number and not below zero; "rows" is -1`},
		"unknown limit":    {map[string]string{"x.rego": "package plumbline.limits\n\nlower.z := {\"row\": 5} if input.tool == \"x\"\n"}, `there is no "row"`},
		"limit of text":    {map[string]string{"x.rego": "package plumbline.limits\n\nlower.z := {\"bytes\": \"5\"}\n"}, `"bytes" is "5"`},
		"half a row":       {map[string]string{"x.rego": "package plumbline.limits\n\nlower.z := {\"rows\": 1.5}\n"}, `"rows" is 1.5`},
		"group of text":    {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := \"5\"\n"}, `rego/x.rego:3:1: config.policy: a minimum group is an object such as {"size": 5}; this is "5"`},
		"group misspelt":   {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := {\"size\": 5, \"sets\": 3}\n"}, `rego/x.rego:3:1: config.policy: a minimum group has size and filter_sets; there is no "sets"`},
		"group too small":  {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := {\"size\": 2}\n"}, `the size of a minimum group is a number from 3 to 1000000`},
		"group's size":     {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := {\"filter_sets\": 2}\n"}, `the size of a minimum group is a number`},
		"half a group":     {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := {\"size\": 5.5}\n"}, `"size" of a minimum group is a whole number; this is 5.5`},
		"no filter sets":   {map[string]string{"x.rego": "package plumbline.access\n\nmin_group.z := {\"size\": 5, \"filter_sets\": 0}\n"}, `filter_sets is a number from 1 to 10000, or left out`},
		"group misnamed":   {map[string]string{"x.rego": "package plumbline.access\n\nmin_groups.z := {\"size\": 5}\n"}, `package plumbline.access decides by: visible, columns, masks, all_rows, rows, min_group; remove`},
		"sample's type":    {map[string]string{"subjects.json": "{\"sample_subjects\": [\n{\"id\": \"a\",\n\"roles\": \"b\"}]}"}, `rego/subjects.json:3: config.policy: the file is JSON of the documented shape; sample_subjects`},
		"sample's member":  {map[string]string{"subjects.json": "{\"sample_subjects\": [\n{\"id\": \"a\",\n\"role\": [\"b\"]}]}"}, `rego/subjects.json:3: config.policy: the file is JSON of the documented shape; it has no member "role"`},
		"sample's comma":   {map[string]string{"subjects.json": "{\"sample_subjects\": [\n{\"id\": \"a\"},]}"}, `rego/subjects.json:2: config.policy: the file is JSON, and this is not`},
		"samples twice":    {map[string]string{"subjects.json": "{}\n{}"}, `rego/subjects.json:`},
		"samples":          {map[string]string{"subjects.json": `{"sample_subject": []}`}, "rego/subjects.json:1: config.policy"},
		"data":             {map[string]string{"data.json": `[1`}, "rego/data.json:1: config.policy"},
		"data that grants": {map[string]string{"data.json": `{"plumbline": {"access": {"visible": {"x": true}}}}`}, "rego/data.json:1: config.policy: data.plumbline is the policies' own"},
		"a folder grants":  {map[string]string{"plumbline/access/data.yaml": "visible:\n  x: true\n"}, "rego/plumbline/access/data.yaml:1: config.policy: data.plumbline is"},
		"data twice":       {map[string]string{"data.json": `{"a": {"b": 1}}`, "a/data.yaml": "b: 1\n"}, `data has one value for each name; "a.b" stands in two files`},
		"data of YAML":     {map[string]string{"data.yaml": "a: 1\nb: [\n"}, `rego/data.yaml:`},
		"data of a list":   {map[string]string{"data.yaml": "- 1\n"}, `the file is YAML with names at its top`},
		"data too large":   {map[string]string{"data.json": `{"a": "` + strings.Repeat("x", 9<<20) + `"}`}, `at most 8 MiB`},
		"schema mismatch":  {map[string]string{"schemas/a/input.json": `{"type": "object", "properties": {"user": {"type": "string"}}, "additionalProperties": false}`, "x.rego": "# METADATA\n# schemas:\n#   - input: schema.a.input\npackage x\n\na if input.usr == \"x\"\n"}, "rego/x.rego:6:6: config.policy: undefined ref: input.usr"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeBundle(t, map[string]string{})
			for file, text := range c.files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			_, err := Open(dir, Options{})
			requireCode(t, diag.ConfigRego, err)
			require.Contains(t, err.Error(), c.want)
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), Options{})
	requireCode(t, diag.ConfigRego, err)
	_, err = Open(t.TempDir(), Options{})
	requireCode(t, diag.ConfigRego, err)
}

// TestEntityCloses holds each way in which an access evaluation goes wrong to a
// closed entity and a code, never to more rows or columns.
func TestEntityCloses(t *testing.T) {
	access := "package plumbline.access\n\n"
	for name, c := range map[string]struct {
		files map[string]string
		code  diag.Code // "" when the entity is only invisible or without rows
	}{
		"invisible":            {map[string]string{"base.rego": access + "visible.x if input.subject.claims.missing\n\ncolumns.x := {\"id\": \"output\"}\n"}, ""},
		"visible says false":   {map[string]string{"base.rego": access + "visible.x := false\n\ncolumns.x := {\"id\": \"output\"}\n"}, ""},
		"visible says text":    {map[string]string{"base.rego": access + "visible.x := \"yes\"\n\ncolumns.x := {\"id\": \"output\"}\n"}, diag.PolicyDenied},
		"conflict":             {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x[name] := class if {\n\tsome class in [\"output\", \"filter\"]\n\tname := \"id\"\n}\n"}, diag.PolicyDenied},
		"error in a rule":      {map[string]string{"base.rego": access + "visible.x if not upper(input.subject.id) == lower(input.subject.claims.level)\n\ncolumns.x := {\"id\": \"output\"}\n"}, diag.PolicyDenied},
		"error in a rows rule": {map[string]string{"rows.rego": access + "rows.x if {\n\tinput.row.id == 1\n\tnot upper(input.subject.claims.level) == \"X\"\n}\n"}, diag.PolicyDenied},
		"unknown column":       {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x := {\"nope\": \"output\"}\n"}, diag.PolicyUnsay},
		"other case":           {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x := {\"ID\": \"output\"}\n"}, diag.PolicyUnsay},
		"unknown class":        {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x := {\"id\": \"public\"}\n"}, diag.PolicyUnsay},
		"unknown mask":         {map[string]string{"mask.rego": access + "masks.x := {\"status\": {\"kind\": \"blur\"}}\n"}, diag.PolicyUnsay},
		"mask with a typo":     {map[string]string{"mask.rego": access + "masks.x := {\"status\": {\"kind\": \"null\", \"filtrable\": true}}\n"}, diag.PolicyDenied},
		"mask of another type": {map[string]string{"mask.rego": access + "masks.x := {\"id\": {\"kind\": \"hash\"}}\n"}, diag.PolicyUnsay},
		"mask without n":       {map[string]string{"mask.rego": access + "masks.x := {\"status\": {\"kind\": \"first\"}}\n"}, diag.PolicyUnsay},
		"two masks":            {map[string]string{"mask.rego": access + "masks.x := {\"status\": {\"kind\": \"null\"}}\n\nmasks.y := {\"status\": {\"kind\": \"redact\"}}\n"}, diag.PolicyUnsay},
		"group of a word":      {map[string]string{"group.rego": access + "min_group.x := {\"size\": n} if some n in [\"5\"]\n"}, diag.PolicyDenied},
		"group with a typo":    {map[string]string{"group.rego": access + "min_group.x := {name: 5} if some name in [\"sise\"]\n"}, diag.PolicyDenied},
		"group below three":    {map[string]string{"group.rego": access + "min_group.x := {\"size\": n} if some n in [2]\n"}, diag.PolicyUnsay},
		"group, hidden key":    {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x := {\"status\": \"output\"}\n", "group.rego": access + "min_group.x := {\"size\": 5}\n"}, diag.PolicyUnsay},
		"group, closed key":    {map[string]string{"base.rego": access + "visible.x if true\n\ncolumns.x := {\"id\": \"join\"}\n", "group.rego": access + "min_group.x := {\"size\": 5}\n"}, diag.PolicyUnsay},
		"group, masked key":    {map[string]string{"group.rego": access + "masks.x := {\"id\": {\"kind\": \"null\", \"filterable\": true}}\n\nmin_group.x := {\"size\": 5}\n"}, diag.PolicyUnsay},
		"package that grants":  {map[string]string{"x.rego": "package plumbline.access.all_rows\n\nx := true\n", "base.rego": access + "visible.y if true\n\ncolumns.x := {\"id\": \"output\"}\n"}, ""},
		"runaway":              {map[string]string{"base.rego": access + "visible.x if count([1 | some a in big; some b in big; some c in big; some d in big; concat(a, [b, c, d]) != \"\"]) > 1\n\nbig := split(replace(replace(\"aaaaaaaaaaaaaaaaaaaa\", \"a\", \"bbbbbbbbbbbbbbbbbbbb\"), \"b\", \"c,\"), \",\")\n\ncolumns.x := {\"id\": \"output\"}\n"}, diag.PolicyDenied},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Open(writeBundle(t, c.files), Options{MaskKey: testKey})
			require.NoError(t, err)
			a, err := p.Entity(context.Background(), people["ana"], testNow, orders())
			if c.code != "" {
				requireCode(t, c.code, err)
				require.Zero(t, a)
				return
			}
			require.NoError(t, err)
			require.NotEqual(t, policy.Always, a.Rows.Truth)
			require.Equal(t, a.Visible, a.Rows.Truth != policy.Never)
		})
	}
}

// TestRunawayIsCut holds an evaluation to its time, also under "not", where OPA
// would take a cancelled condition for one that does not hold.
func TestRunawayIsCut(t *testing.T) {
	loop := "count([1 | some a in big; some b in big; some c in big; some d in big; some e in big; concat(a, [b, c, d, e]) != \"\"]) > 1"
	big := "\n\nbig := split(\"" + strings.Repeat("a,", 200) + "\", \",\")\n"
	access := "package plumbline.access\n\n"
	for name, rows := range map[string]string{
		"rows":     access + "rows.x if {\n\tinput.row.id == 1\n\t" + loop + "\n}" + big,
		"rows not": access + "rows.x if {\n\tinput.row.id == 1\n\tnot slow\n}\n\nslow if {\n\tinput.row.id == 2\n\t" + loop + "\n}" + big,
		"visible":  access + "rows.x if input.row.id == 1\n\nvisible.y if not slow\n\nslow if " + loop + big,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Open(writeBundle(t, map[string]string{"rows.rego": rows}), Options{})
			require.NoError(t, err)
			begin := time.Now()
			a, err := p.Entity(context.Background(), people["ana"], testNow, orders())
			requireCode(t, diag.PolicyDenied, err)
			require.Zero(t, a)
			require.Less(t, time.Since(begin), 3*time.Second)

			gone, cancel := context.WithCancel(context.Background())
			cancel()
			_, err = p.Entity(gone, people["ana"], testNow, orders())
			requireCode(t, diag.RequestCancelled, err)
		})
	}
}

// TestClaims: a claim outside the kinds that Rego rules may expect denies, by name
// and without its value.
func TestClaims(t *testing.T) {
	ctx := context.Background()
	p := openRows(t, "\tinput.row.tenant == input.subject.claims.tenant")
	for _, bad := range []any{nil, map[string]any{"a": 1}, []any{"acme", nil}, []any{[]any{}}, []int{1}, time.Second, &p} {
		s := policy.Subject{ID: "x", Claims: map[string]any{"tenant": bad}}
		_, err := p.Entity(ctx, s, testNow, orders())
		requireCode(t, diag.PolicyDenied, err)
		require.NotContains(t, err.Error(), "acme")
		f := facts()
		f.Subject = s
		d, err := p.Decide(ctx, f, seen)
		requireCode(t, diag.PolicyDenied, err)
		require.Equal(t, policy.Deny, d.Verdict)
		_, _, err = p.Verify(ctx, policy.Summary{Subject: s})
		requireCode(t, diag.PolicyDenied, err)
	}
	for claim, want := range map[any]string{"acme": `"tenant" = 'acme'`, "": `"tenant" = ''`} {
		a, err := p.Entity(ctx, policy.Subject{Claims: map[string]any{"tenant": claim}}, testNow, orders())
		require.NoError(t, err)
		require.Equal(t, want, a.Rows.SQL)
	}
	a, err := p.Entity(ctx, policy.Subject{ID: "none"}, testNow, orders())
	require.NoError(t, err)
	require.Equal(t, policy.Never, a.Rows.Truth, "a missing claim gives no row")
}

// TestErrorsNameNoField: a rule may read a field that the subject may not see, so
// the asker learns the place and not the name; the author's cause has both.
func TestErrorsNameNoField(t *testing.T) {
	p := openRows(t, "\tinput.row.tenant == 5")
	_, err := p.Entity(context.Background(), people["ana"], testNow, orders())
	requireCode(t, diag.PolicyUnsay, err)
	require.NotContains(t, err.Error(), "tenant")
	require.Contains(t, err.Error(), "rego/rows.rego:4:2")
	require.Contains(t, diag.All(err)[0].Err.Error(), `"tenant" is varchar`)
}

// TestNeverWiderThanTheModel: a policy that grants output on everything leaves the
// model's classes as they are.
func TestNeverWiderThanTheModel(t *testing.T) {
	p := openText(t, map[string]string{"base.rego": "package plumbline.access\n\nvisible.x if true\n\ncolumns.x[field.name] := \"output\" if some field in input.entity.fields\n"})
	e := semantictest.Shop().Entity("customers")
	a, err := p.Entity(context.Background(), people["ana"], testNow, e)
	require.NoError(t, err)
	require.Len(t, a.Columns, len(e.Fields))
	for _, f := range e.Fields {
		require.Equal(t, f.Visibility, a.Columns[f.Name.Key()].Class, f.Name)
	}
}

// TestMaskKey: without a key a hash mask closes the entity; with one the key does
// not stand in the SQL, and another deployment hashes otherwise.
func TestMaskKey(t *testing.T) {
	dir := writeBundle(t, map[string]string{"mask.rego": "package plumbline.access\n\nmasks.x := {\"status\": {\"kind\": \"hash\"}, \"tenant\": {\"kind\": \"hash\"}}\n"})
	seen := map[string]bool{}
	for _, key := range []string{"", "short", "0123456789abcdef", "0123456789abcdeg"} {
		p, err := Open(dir, Options{MaskKey: []byte(key)})
		require.NoError(t, err)
		a, err := p.Entity(context.Background(), people["ana"], testNow, orders())
		if len(key) < minMaskKey {
			requireCode(t, diag.PolicyUnsay, err)
			continue
		}
		require.NoError(t, err)
		for _, column := range []string{"status", "tenant"} {
			sql := a.Columns[column].Mask.SQL
			require.NotContains(t, sql, key)
			require.False(t, seen[sql[:80]], "each column and deployment has its own hash")
			seen[sql[:80]] = true
		}
	}
}

// TestNowIsPartOfTheKey: a cached access is used again only at the same moment
// when a rule reads the time.
func TestNowIsPartOfTheKey(t *testing.T) {
	p := openRows(t, "\tinput.row.id == 1\n\tinput.now < \"2026-06\"")
	require.True(t, p.readsNow)
	e := orders()
	before, err := p.Entity(context.Background(), people["ana"], testNow, e)
	require.NoError(t, err)
	require.Equal(t, policy.When, before.Rows.Truth)
	after, err := p.Entity(context.Background(), people["ana"], testNow.AddDate(0, 2, 0), e)
	require.NoError(t, err)
	require.Equal(t, policy.Never, after.Rows.Truth)

	sample, err := Open(sampleRego, Options{MaskKey: testKey})
	require.NoError(t, err)
	require.False(t, sample.readsNow)
}

// TestCacheTellsSubjectsApart: each part of a subject that a rule can read is part
// of the key.
func TestCacheTellsSubjectsApart(t *testing.T) {
	p := openText(t, map[string]string{"rows.rego": "package plumbline.access\n\nrows.claim if input.row.tenant == input.subject.claims.tenant\n\nrows.id if input.row.status == input.subject.id\n\nrows.role if {\n\tsome r in input.subject.roles\n\tinput.row.order == r\n}\n"})
	e, seen := orders(), map[string]bool{}
	for _, s := range []policy.Subject{
		{ID: "a", Roles: []string{"x"}, Claims: map[string]any{"tenant": "acme"}},
		{ID: "b", Roles: []string{"x"}, Claims: map[string]any{"tenant": "acme"}},
		{ID: "a", Roles: []string{"y"}, Claims: map[string]any{"tenant": "acme"}},
		{ID: "a", Roles: []string{"x"}, Claims: map[string]any{"tenant": "globex"}},
	} {
		for range 2 {
			a, err := p.Entity(context.Background(), s, testNow, e)
			require.NoError(t, err)
			seen[a.Rows.SQL] = true
		}
	}
	require.Len(t, seen, 4)
}

func TestCacheIsBounded(t *testing.T) {
	var c accessCache
	for i := range maxCached + 10 {
		c.put(cacheKey{subject: string(rune(i + 1))}, policy.EntityAccess{})
	}
	require.LessOrEqual(t, len(c.known), maxCached)
}

// TestRevision: the hash follows policies and data, not tests.
func TestRevision(t *testing.T) {
	plain := openText(t, nil).Revision()
	require.Equal(t, plain, openText(t, map[string]string{"x_test.rego": "package x\n"}).Revision())
	require.NotEqual(t, plain, openText(t, map[string]string{"data.json": `{"a": 1}`}).Revision())
	require.NotEqual(t, plain, openRows(t, "input.row.id == 3").Revision())
}

// TestCheckSamples: a rule that cannot be said stops the load, with its place.
func TestCheckSamples(t *testing.T) {
	ctx, shop := context.Background(), semantictest.Shop()
	sample, err := Open(sampleRego, Options{MaskKey: testKey, Timeout: time.Second})
	require.NoError(t, err)
	require.Len(t, sample.Samples(), 4)
	require.NoError(t, sample.CheckSamples(ctx, sample.Samples(), shop))
	require.NoError(t, sample.CheckSamples(ctx, nil, shop), "the bundle has its own")
	requireCode(t, diag.ConfigRego, openText(t, nil).CheckSamples(ctx, nil, shop))

	bad := openRows(t, "\tinput.row.tenant == input.subject.claims.level")
	err = bad.CheckSamples(ctx, []policy.Subject{people["ana"], people["op"]}, shop)
	requireCode(t, diag.ConfigRego, err)
	require.Contains(t, err.Error(), `rego/rows.rego:4:2: config.policy: for sample subject "ana" and entity`)
	require.NotContains(t, err.Error(), "policy.unsayable")

	// A rule that no sample makes speak was not checked; everything in sight of
	// all_rows was.
	one := semantic.NewCatalog(semantic.Catalog{Revision: "one", Entities: []*semantic.Entity{orders()}})
	silent := openText(t, map[string]string{"more.rego": "package plumbline.access\n\nrows.auditor if {\n\t\"auditor\" in input.subject.roles\n\tround(input.row.id) == 1\n}\n"})
	err = silent.CheckSamples(ctx, []policy.Subject{people["ana"]}, one)
	requireCode(t, diag.ConfigRego, err)
	require.Contains(t, err.Error(), "rego/more.rego:3: config.policy: rows.auditor holds for no sample subject")
	all := openText(t, map[string]string{"more.rego": "package plumbline.access\n\nall_rows.x if true\n"})
	require.NoError(t, all.CheckSamples(ctx, []policy.Subject{people["ana"]}, one))

	limits := openText(t, map[string]string{"limits.rego": "package plumbline.limits\n\nlower.x := {\"rows\": n} if some n in [-5]\n"})
	err = limits.CheckSamples(ctx, []policy.Subject{people["ana"]}, one)
	requireCode(t, diag.ConfigRego, err)
	require.Contains(t, err.Error(), `rego/limits.rego:3: config.policy: for sample subject "ana"`)
}

func facts() policy.Facts {
	return policy.Facts{Subject: people["ana"], Tool: "query_sql", Now: testNow, Limits: policy.Limits{TimeMS: 1000, Rows: 1000, Bytes: 1000},
		Entities: []policy.EntityFact{{Name: "orders", Columns: []policy.ColumnFact{{Name: "id", Class: "output", Clause: "output", Origin: "caller"}}}}}
}

var seen = map[string]policy.EntityAccess{"orders": {Visible: true}}

func TestDecide(t *testing.T) {
	ctx := context.Background()
	p, err := Open(sampleRego, Options{MaskKey: testKey, Timeout: time.Second})
	require.NoError(t, err)

	d, err := p.Decide(ctx, facts(), seen)
	require.NoError(t, err)
	require.Equal(t, policy.Allow, d.Verdict)
	require.Empty(t, d.Reasons)
	require.Equal(t, p.Revision(), d.Revision)
	require.Equal(t, facts().Limits, d.Limits)
	require.Equal(t, "known_role", d.Rules[0].ID)

	f := facts()
	f.Subject, f.Entities[0].Name = people["sam"], "account_balances"
	d, err = p.Decide(ctx, f, map[string]policy.EntityAccess{"account_balances": {Visible: true}})
	require.NoError(t, err)
	require.Equal(t, policy.Deny, d.Verdict)
	require.Len(t, d.Reasons, 1)
	require.Equal(t, "support may not ask for account_balances; ask an analyst", d.Reasons[0].Text)
	require.Equal(t, "support_balances", d.Reasons[0].Rule.ID)
	require.Equal(t, "rego/question.rego", d.Reasons[0].Rule.File)
	require.Positive(t, d.Reasons[0].Rule.Line)
	require.Equal(t, int64(500), d.Limits.Rows)

	f = facts()
	f.Subject = people["stranger"]
	d, err = p.Decide(ctx, f, seen)
	require.NoError(t, err)
	require.Equal(t, policy.Deny, d.Verdict)
	require.Equal(t, "no rule allows this", d.Reasons[0].Text)

	d, err = p.Decide(ctx, facts(), nil)
	require.NoError(t, err)
	require.Equal(t, policy.Deny, d.Verdict, "an entity without access denies")
}

// TestDecideCloses holds each bad answer of a question package to the zero
// decision, which is Deny.
func TestDecideCloses(t *testing.T) {
	question := "package plumbline.question\n\n"
	for name, files := range map[string]map[string]string{
		"text for true":    {"question.rego": question + "allow.x := \"yes\"\n"},
		"number as reason": {"question.rego": question + "allow.x if true\n\ndeny.x := 5\n"},
		"error":            {"question.rego": question + "allow.x if not upper(input.limits.rows) == \"A\"\n"},
		"conflict":         {"question.rego": question + "allow.x if true\n\ndeny.x := y if some y in [\"a\", \"b\"]\n"},
		"unknown limit":    {"limits.rego": "package plumbline.limits\n\nlower.x := {name: 5} if some name in [\"row\"]\n"},
		"limit below zero": {"limits.rego": "package plumbline.limits\n\nlower.x := {\"rows\": n} if some n in [-5]\n"},
		"limit is text":    {"limits.rego": "package plumbline.limits\n\nlower.x := {\"rows\": n} if some n in [\"5\"]\n"},
		"limit conflicts":  {"limits.rego": "package plumbline.limits\n\nlower.x := {\"rows\": n} if some n in [1, 2]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openText(t, files)
			d, err := p.Decide(context.Background(), facts(), seen)
			requireCode(t, diag.PolicyDenied, err)
			require.Zero(t, d)
		})
	}
	raise := openText(t, map[string]string{"limits.rego": "package plumbline.limits\n\nlower.x := {\"rows\": 999999, \"bytes\": 7}\n"})
	d, err := raise.Decide(context.Background(), facts(), seen)
	require.NoError(t, err)
	require.Equal(t, policy.Limits{TimeMS: 1000, Rows: 1000, Bytes: 7}, d.Limits)
}

// TestInputIsComplete: facts with nothing in them reach Rego with every field and
// list present and nothing null, and full ones as their JSON says.
func TestInputIsComplete(t *testing.T) {
	empty, err := inputValue(policy.Facts{Entities: []policy.EntityFact{{Columns: []policy.ColumnFact{{}}}}})
	require.NoError(t, err)
	require.NotContains(t, empty.String(), "null")
	require.Contains(t, empty.String(), `"claims": {}`)
	require.Contains(t, empty.String(), `"filters_met": []`)

	full := policy.Facts{Subject: people["ana"], Tool: "t", Now: testNow, Metrics: []string{"m"}, Functions: []string{"f"}, Nodes: []string{"n"},
		Entities: []policy.EntityFact{{Name: "e", Tags: []string{"a"}, FiltersMet: []string{"w"}, Columns: []policy.ColumnFact{{Name: "c", Masked: true, Tags: []string{"pii"}}}}},
		Limits:   policy.Limits{TimeMS: 1, Rows: 2, Bytes: 3}}
	got, err := inputValue(full)
	require.NoError(t, err)
	want, err := ast.InterfaceToValue(full)
	require.NoError(t, err)
	require.Zero(t, got.Compare(want), "%s\n%s", got, want)
	for _, typ := range []reflect.Type{reflect.TypeFor[policy.Facts](), reflect.TypeFor[policy.Summary](), reflect.TypeFor[accessInput]()} {
		requireNoOmitempty(t, typ)
	}
}

func requireNoOmitempty(t *testing.T, typ reflect.Type) {
	t.Helper()
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range typ.NumField() {
		require.NotEmpty(t, typ.Field(i).Tag.Get("json"), typ.Field(i).Name)
		require.NotContains(t, typ.Field(i).Tag.Get("json"), ",", typ.Field(i).Name)
		requireNoOmitempty(t, typ.Field(i).Type)
	}
}

func TestVerify(t *testing.T) {
	ctx := context.Background()
	p, err := Open(sampleRego, Options{MaskKey: testKey, Timeout: time.Second})
	require.NoError(t, err)
	s := policy.Summary{Subject: people["ana"], Relations: []policy.SummaryRelation{{Entity: "orders", Predicate: `"tenant" = 'acme'`, Fenced: true}}}
	reasons, _, err := p.Verify(ctx, s)
	require.NoError(t, err)
	require.Empty(t, reasons)

	s.Relations[0].Fenced = false
	reasons, _, err = p.Verify(ctx, s)
	require.NoError(t, err)
	require.Equal(t, "unguarded", reasons[0].Rule.ID)
	require.Equal(t, "rego/verify.rego", reasons[0].Rule.File)

	silent := openText(t, map[string]string{"verify.rego": "package plumbline.verify\n\nallow.x if input.nothing\n"})
	reasons, _, err = silent.Verify(ctx, s)
	require.NoError(t, err)
	require.NotEmpty(t, reasons, "undefined does not pass")

	broken := openText(t, map[string]string{"verify.rego": "package plumbline.verify\n\nallow.x := 5\n"})
	_, _, err = broken.Verify(ctx, s)
	requireCode(t, diag.PolicyDenied, err)
}
