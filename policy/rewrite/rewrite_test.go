package rewrite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// open gives a database with a few rows of two tenants.
func open(t testing.TB) *ducktest.DB {
	db := ducktest.Open(t, semantictest.Shop())
	db.Exec(t, `INSERT INTO "plumbline"."base"."customers" (id, name, email, phone, ssn, region, plan, tenant) VALUES
		(1, 'Ann', 'ann@a', '1', 's1', 'eu', 'pro', 'acme'), (2, 'Bob', 'bob@a', '2', 's2', 'asia', 'free', 'acme'),
		(3, 'Cy', 'cy@g', '3', 's3', 'us', 'pro', 'globex'), (4, 'Di', 'di@n', '4', 's4', 'us', 'pro', NULL)`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."orders" (id, customer_id, status, total_cents, tenant, "order", "größe") VALUES
		(10, 1, 'paid', 100, 'acme', 'a', 'S'), (11, 1, 'open', 200, 'acme', 'b', 'M'), (12, 3, 'paid', 400, 'globex', 'c', 'L')`)
	db.Exec(t, `INSERT INTO "plumbline"."base"."products" (id, category, label) VALUES (7, 'toys', 'ball')`)
	return db
}

// TestStages runs the goldens: who asks what becomes which text, and which rows.
func TestStages(t *testing.T) {
	db := open(t)
	datadriven.Walk(t, "testdata/stages", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			var who, columns string
			rowCap := 100
			td.ScanArgs(t, "as", &who)
			td.MaybeScanArgs(t, "columns", &columns)
			td.MaybeScanArgs(t, "cap", &rowCap)
			d, ok := people()[who]
			require.True(t, ok, "no person %q", who)
			st, err := sqlast.Parse(context.Background(), db, td.Input)
			require.NoError(t, err)
			var list []string
			if columns != "" {
				list = strings.Split(columns, "+")
			}
			b := bind(t, st, d, list)
			if td.Cmd == "resolve" { // with resolve's facts in place of the test's own
				if b, err = resolve.Resolve(context.Background(), st, view{d}, resolve.Options{}); err != nil {
					return err.Error()
				}
			}
			for _, arg := range td.CmdArgs {
				if arg.Key == "conjunct" {
					c := resolve.Conjunct{Column: semantic.Name(arg.Vals[0]), SQL: semantic.Quote(arg.Vals[0]) + " = 'paid'"}
					b.Refs[0].Conjuncts = append(b.Refs[0].Conjuncts, c)
				}
			}
			opts := rewrite.Options{RowCap: rowCap}
			if td.HasArg("model") { // wrote it all
				opts.Model = []resolve.Span{{End: len(td.Input)}}
			}
			r, err := rewrite.Apply(context.Background(), db, b, d, opts)
			if err != nil {
				return err.Error()
			}
			out := r.Text
			if !td.HasArg("norun") {
				out += "\n-> " + strings.Join(db.Rows(t, r.Text), "\n-> ")
			}
			return out
		})
	})
}

func apply(t testing.TB, db *ducktest.DB, sql string, d policy.Decision, change func(*resolve.Bound)) (*rewrite.Rewritten, error) {
	st, err := sqlast.Parse(context.Background(), db, sql)
	require.NoError(t, err)
	b := bind(t, st, d, nil)
	change(b)
	return rewrite.Apply(context.Background(), db, b, d, rewrite.Options{RowCap: 100})
}

// TestWrongFactsAreNotSpliced gives Apply facts that do not fit the text.
func TestWrongFactsAreNotSpliced(t *testing.T) {
	db := open(t)
	const sql = "SELECT *, (SELECT 1) FROM orders o JOIN customers ON o.customer_id = customers.id"
	for name, c := range map[string]struct {
		code   diag.Code
		change func(*resolve.Bound)
	}{
		"as it is":        {"", func(*resolve.Bound) {}},
		"span too long":   {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Name.End += 2 }},
		"span too short":  {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Name.End-- }},
		"span elsewhere":  {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Name = resolve.Span{Start: 0, End: 6} }},
		"span outside":    {diag.BugSplice, func(b *resolve.Bound) { b.Refs[1].Name.End = 1000 }},
		"span backwards":  {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Name.End = b.Refs[0].Name.Start - 1 }},
		"same span twice": {diag.BugSplice, func(b *resolve.Bound) { b.Refs[1].Name = b.Refs[0].Name }},
		"spans swapped":   {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Name, b.Refs[1].Name = b.Refs[1].Name, b.Refs[0].Name }},
		"another alias":   {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].AddAlias = true }},
		"alias left out":  {diag.BugSplice, func(b *resolve.Bound) { b.Refs[1].AddAlias = false }},
		"another node":    {diag.BugSplice, func(b *resolve.Bound) { b.Refs[0].Node = &sqlast.BaseTable{RefBase: sqlast.RefBase{Alias: "o"}} }},
		"no such column":  {diag.BugInternal, func(b *resolve.Bound) { b.Refs[0].Columns = []semantic.Name{"nothing"} }},
		"star elsewhere": {diag.BugSplice, func(b *resolve.Bound) {
			b.Stars = []resolve.StarSplice{{Span: resolve.Span{Start: 10, End: 11}, SQL: `"id"`}}
		}},
		"star escapes": {diag.BugSplice, func(b *resolve.Bound) {
			b.Stars = []resolve.StarSplice{{Span: resolve.Span{Start: 7, End: 8}, SQL: `1) x, (SELECT 2`}}
		}},
		"star has FROM": {diag.BugSplice, func(b *resolve.Bound) {
			b.Stars = []resolve.StarSplice{{Span: resolve.Span{Start: 7, End: 8}, SQL: `1 FROM orders --`}}
		}},
		"star is no list": {diag.BugSplice, func(b *resolve.Bound) {
			b.Stars = []resolve.StarSplice{{Span: resolve.Span{Start: 7, End: 8}, SQL: `1 UNION SELECT 2`}}
		}},
		"name elsewhere": {diag.BugSplice, func(b *resolve.Bound) { b.Names[0].At = 3 }},
		"name too late":  {diag.BugSplice, func(b *resolve.Bound) { b.Names[0].At++ }},
		"conjunct escapes": {diag.BugSplice, func(b *resolve.Bound) {
			b.Refs[0].Conjuncts = []resolve.Conjunct{{Column: "status", SQL: `true) OR (true`}}
			b.Refs[0].Conjuncts = append(b.Refs[0].Conjuncts, resolve.Conjunct{Column: "status", SQL: `true)), (SELECT ((1`})
		}},
	} {
		r, err := apply(t, db, sql, people()["analyst"], c.change)
		require.Equal(t, c.code, diag.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, c.code == "", r != nil, name)
	}
}

// TestOverlapsAreToldAsSuch: replacements that do not fit side by side are refused
// before the text is made.
func TestOverlapsAreToldAsSuch(t *testing.T) {
	db := open(t)
	for _, change := range []func(*resolve.Ref){
		func(r *resolve.Ref) { r.Name.End = 1000 },
		func(r *resolve.Ref) { r.Name.End = r.Name.Start - 1 },
	} {
		_, err := apply(t, db, "SELECT id FROM orders o LIMIT 5", people()["analyst"], func(b *resolve.Bound) { change(&b.Refs[0]) })
		require.ErrorContains(t, err, "two replacements of the text overlap")
	}
}

// TestDecisionsThatDoNotCover: what a dimension reads must be covered, too, and a
// rule without a condition is no rule.
func TestDecisionsThatDoNotCover(t *testing.T) {
	db := open(t)
	big := func(b *resolve.Bound) { b.Refs[0].Columns = []semantic.Name{"big_region"} }
	d := people()["analyst"]
	delete(d.Entities["customers"].Columns, "region")
	_, err := apply(t, db, "SELECT big_region FROM customers", d, big)
	require.Equal(t, diag.PolicyColumn, diag.CodeOf(err))
	d = people()["analyst"]
	a := d.Entities["customers"]
	a.Rows.SQL = " "
	d.Entities["customers"] = a
	_, err = apply(t, db, "SELECT big_region FROM customers", d, big)
	require.Equal(t, diag.PolicyUnsay, diag.CodeOf(err))
}

// TestUsesAreNamesOfColumns gives Apply places of limited columns that hold something else.
func TestUsesAreNamesOfColumns(t *testing.T) {
	db := open(t)
	d := people()["analyst"]
	const sql = "SELECT c.id FROM customers c JOIN customers e ON c.ssn = e.ssn"
	for name, change := range map[string]func([]resolve.Use) []resolve.Use{
		"":                func(u []resolve.Use) []resolve.Use { return u },
		"another column":  func(u []resolve.Use) []resolve.Use { u[1].At = u[0].At; return u },
		"no column":       func(u []resolve.Use) []resolve.Use { u[1].At = 0; return u },
		"outside":         func(u []resolve.Use) []resolve.Use { u[1].At = 1000; return u },
		"of two":          func(u []resolve.Use) []resolve.Use { u[2].At = u[1].At; return u },
		"less than found": func(u []resolve.Use) []resolve.Use { return u[:2] },
	} {
		st, err := sqlast.Parse(context.Background(), db, sql)
		require.NoError(t, err)
		b, err := resolve.Resolve(context.Background(), st, view{d}, resolve.Options{})
		require.NoError(t, err)
		require.Len(t, b.Uses, 3)
		b.Uses = change(b.Uses)
		_, err = rewrite.Apply(context.Background(), db, b, d, rewrite.Options{RowCap: 9})
		require.Equal(t, name == "" || name == "less than found", err == nil, "%s: %v", name, err)
	}
}

// TestParserThatFails: whichever call of the parser fails, what it says comes back.
func TestParserThatFails(t *testing.T) {
	db := open(t)
	d := people()["grouped"]
	st, err := sqlast.Parse(context.Background(), db, "SELECT sum(total_cents) AS s FROM orders")
	require.NoError(t, err)
	b, err := resolve.Resolve(context.Background(), st, view{d}, resolve.Options{})
	require.NoError(t, err)
	calls := 0
	for ; ; calls++ {
		p := &flaky{DB: db, left: calls, last: diag.New(diag.ExecuteCrashed, "gone")}
		_, err := rewrite.Apply(context.Background(), p, b, d, rewrite.Options{RowCap: 9})
		if p.left >= 0 {
			require.NoError(t, err)
			break
		}
		require.Equal(t, diag.ExecuteCrashed, diag.CodeOf(err), "call %d", calls)
	}
	require.Equal(t, 3, calls)
}

func TestApplyNeverChangesTheStatement(t *testing.T) {
	db := open(t)
	const sql = "FROM orders ORDER BY id"
	st, err := sqlast.Parse(context.Background(), db, sql)
	require.NoError(t, err)
	again, err := sqlast.Parse(context.Background(), db, sql)
	require.NoError(t, err)
	d := people()["masked"]
	b := bind(t, st, d, nil)
	before := fmt.Sprintf("%+v", *b)
	first, err := rewrite.Apply(context.Background(), db, b, d, rewrite.Options{RowCap: 5})
	require.NoError(t, err)
	second, err := rewrite.Apply(context.Background(), db, b, d, rewrite.Options{RowCap: 5})
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, before, fmt.Sprintf("%+v", *b))
	require.True(t, sqlast.Equal(st.Root, again.Root))
}

func TestNoRowsLeft(t *testing.T) {
	db := open(t)
	st, err := sqlast.Parse(context.Background(), db, "SELECT 1")
	require.NoError(t, err)
	_, err = rewrite.Apply(context.Background(), db, &resolve.Bound{Statement: st}, people()["admin"], rewrite.Options{})
	require.Equal(t, diag.LimitRows, diag.CodeOf(err))
}

// flaky answers as DuckDB does until its last call.
type flaky struct {
	*ducktest.DB
	left int
	last error
	text string
}

func (f *flaky) Serialize(ctx context.Context, text string) ([]byte, error) {
	if f.left--; f.left < 0 && f.last != nil {
		return nil, f.last
	}
	if f.left < 0 {
		text = f.text
	}
	return f.DB.Serialize(ctx, text)
}

// TestParserOfTheResult: a worker that is gone is no bug of the rewrite, but a
// result that reads as another query is.
func TestParserOfTheResult(t *testing.T) {
	db := open(t)
	ctx := context.Background()
	st, err := sqlast.Parse(ctx, db, "SELECT id FROM orders")
	require.NoError(t, err)
	d := people()["analyst"]
	b := bind(t, st, d, []string{"id"})
	r, err := rewrite.Apply(ctx, db, b, d, rewrite.Options{RowCap: 9})
	require.NoError(t, err)
	for _, c := range []struct {
		p    *flaky
		code diag.Code
	}{
		{&flaky{left: 0, last: diag.New(diag.ExecuteCrashed, "gone")}, diag.ExecuteCrashed},
		{&flaky{left: 1, last: diag.New(diag.LimitText, "long")}, diag.LimitText},
		{&flaky{left: 1, text: r.Text}, ""},
		{&flaky{left: 1, text: "SELECT ("}, diag.BugSplice},
		{&flaky{left: 1, text: "SELECT 1e1000"}, diag.BugSplice},
		{&flaky{left: 1, text: strings.Replace(r.Text, "'acme'", "'globex'", 1)}, diag.BugSplice},
		{&flaky{left: 1, text: strings.Replace(r.Text, "OFFSET 0", "OFFSET 1", 1)}, diag.BugSplice},
		{&flaky{left: 1, text: strings.Replace(r.Text, "LIMIT 9", "LIMIT 8", 1)}, diag.BugSplice},
		{&flaky{left: 0, text: "SELECT 1"}, diag.BugSplice},
		{&flaky{left: 0, text: "SELECT 1 UNION SELECT 2"}, diag.BugSplice},
		{&flaky{left: 0, text: "SELECT 1 FROM (SELECT 1) AS q1"}, diag.BugSplice},
	} {
		c.p.DB = db
		_, err := rewrite.Apply(ctx, c.p, b, d, rewrite.Options{RowCap: 9})
		require.Equal(t, c.code, diag.CodeOf(err), "%s: %v", c.p.text, err)
	}
}

// TestManyReferences needs more than one text for its fences.
func TestManyReferences(t *testing.T) {
	db := open(t)
	var parts []string
	for i := range 30 {
		parts = append(parts, fmt.Sprintf("(SELECT count(*) FROM orders AS o%d WHERE o%d.id > %d)", i, i, i))
	}
	d := people()["analyst"]
	for e, a := range d.Entities {
		a.Rows.SQL += " AND 1 < 2"
		d.Entities[e] = a
	}
	r, err := apply(t, db, "SELECT "+strings.Join(parts, " + ")+" AS n FROM customers, (SELECT * FROM orders)", d, func(b *resolve.Bound) {
		for i := range b.Refs { // each fence another one
			b.Refs[i].Columns = b.Refs[i].Columns[:1+i%5]
			b.Refs[i].Conjuncts = []resolve.Conjunct{{Column: "id", SQL: fmt.Sprintf(`"id" <> %d`, -i)}}
		}
		b.Stars[0].SQL = `"orders"."id"`
	})
	require.NoError(t, err)
	require.Len(t, r.Fences, 32)
	// orders 10 and 11 are seen; ten sub-queries count both, one counts one.
	require.Equal(t, []string{"21", "21", "21", "21"}, db.Rows(t, r.Text))
}

// A comment at the end of the model's expression swallows nothing behind it.
func TestCommentInAnExpression(t *testing.T) {
	db := open(t)
	r, err := apply(t, db, "SELECT big_region FROM customers", people()["analyst"], func(b *resolve.Bound) {
		b.Refs[0].Columns = []semantic.Name{"big_region"}
		b.Refs[0].Entity.Dimension("big_region").Expr += " -- two groups"
	})
	require.NoError(t, err)
	require.Contains(t, r.Text, "-- two groups\n)")
}
