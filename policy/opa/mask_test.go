package opa

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// typer binds on a DuckDB of the test's process.
type typer struct{ db *ducktest.DB }

func (t typer) Types(ctx context.Context, texts []string) ([]resolve.Typed, error) {
	checked, err := t.db.Check(ctx, texts)
	out := make([]resolve.Typed, len(checked))
	for i, c := range checked {
		out[i] = resolve.Typed{OK: c.OK, Plan: c.Plan}
		for _, column := range c.Columns {
			out[i].Columns = append(out[i].Columns, column.Type)
		}
	}
	return out, err
}

func expressions(db *ducktest.DB) ExpressionCheck {
	return func(ctx context.Context, f *semantic.Field, expr string) ([]resolve.Span, error) {
		return resolve.CheckMask(ctx, db, typer{db}, f, expr)
	}
}

// masker prints the masks of one column named so that quoting matters.
type masker struct {
	db *ducktest.DB
	p  *Policy
}

func newMasker(t *testing.T) masker {
	db := ducktest.Open(t, nil)
	return masker{db, &Policy{options: Options{MaskKey: testKey, Expression: expressions(db)}}}
}

const maskedColumn = `Größe "x"`

func (m masker) mask(t semantic.Type, spec semantic.Mask, under *policy.Mask) (*policy.Mask, error) {
	f := &semantic.Field{Name: maskedColumn, Type: t}
	return m.p.maskOf(context.Background(), spec, &semantic.Entity{Name: "t"}, f, policy.RuleRef{ID: "m", File: "m.rego", Line: 3}, under)
}

// over is the rows of values that a mask reads.
func over(t semantic.Type, values []string) string {
	return fmt.Sprintf(`(SELECT CAST(v AS %s) AS %s FROM (VALUES (%s)) AS l(v))`, t.SQL(), semantic.Quote(maskedColumn), strings.Join(values, "), ("))
}

// TestMasksInDuckDB runs every mask over values.
func TestMasksInDuckDB(t *testing.T) {
	m := newMasker(t)
	for _, c := range []struct {
		kind   semantic.Type
		mask   semantic.Mask
		values string // separated by semicolons
		want   string
	}{
		{"varchar", semantic.Mask{Kind: "null"}, "'secret'; NULL", "NULL; NULL"},
		{"bigint", semantic.Mask{Kind: "null"}, "5", "NULL"},
		{"decimal(12,2)", semantic.Mask{Kind: "null"}, "5.25", "NULL"},
		{"varchar", semantic.Mask{Kind: "redact"}, "'secret'; ''; NULL", "***; ***; ***"},
		{"varchar", semantic.Mask{Kind: "first", N: 2}, "'secret'; 'se'; 'äöü'; ''; NULL", "se***; ***; äö***; ***; ***"},
		{"varchar", semantic.Mask{Kind: "last", N: 2}, "'secret'; 'et'; NULL", "***et; ***; ***"},
		{"date", semantic.Mask{Kind: "year"}, "'2026-05-04'; 'infinity'; '5000-12-31 (BC)'; NULL", "2026-01-01; NULL; NULL; NULL"},
		{"timestamp", semantic.Mask{Kind: "year"}, "'2026-05-04 03:02:01'; '-infinity'; NULL", "2026-01-01 00:00:00; NULL; NULL"},
		{"tinyint", semantic.Mask{Kind: "range", Width: "10"}, "0; 9; 10; 127; -1; -10; -11; -120; -121; -128; NULL", "0; 0; 10; 120; -10; -10; -20; -120; -128; -128; NULL"},
		{"bigint", semantic.Mask{Kind: "range", Width: "1000"}, "999; 1000; -1; 9223372036854775807; -9223372036854775808", "0; 1000; -1000; 9223372036854775000; -9223372036854775808"},
		{"hugeint", semantic.Mask{Kind: "range", Width: "7"}, "'170141183460469231731687303715884105727'; '-170141183460469231731687303715884105728'; '-8'", "170141183460469231731687303715884105726; -170141183460469231731687303715884105728; -14"},
		{"decimal(5,2)", semantic.Mask{Kind: "range", Width: "2.5"}, "0.00; 2.49; 2.50; 999.99; -0.01; -999.99; NULL", "0.00; 0.00; 2.50; 997.50; -2.50; -999.99; NULL"},
		{"decimal(38,0)", semantic.Mask{Kind: "range", Width: "10"}, "'99999999999999999999999999999999999999'; '-99999999999999999999999999999999999999'; '-1'", "99999999999999999999999999999999999990; -99999999999999999999999999999999999999; -10"},
		{"double", semantic.Mask{Kind: "range", Width: "10"}, "0; 9.99; 10; -0.1; 'nan'; 'inf'; '-inf'; 1e300; NULL", "0.0; 0.0; 10.0; -10.0; NULL; NULL; NULL; NULL; NULL"},
		{"float", semantic.Mask{Kind: "range", Width: "0.5"}, "1.25; -1.25; 'nan'; 3e38", "1.0; -1.5; NULL; NULL"},
		{"date", semantic.Mask{Kind: "range", Width: "1 quarter"}, "'2026-05-04'; '2026-04-01'; '1999-12-31'; '0001-01-01'; '5877642-06-25 (BC)'; '5881580-07-10'; 'infinity'; NULL", "2026-04-01; 2026-04-01; 1999-10-01; 0001-01-01; NULL; NULL; NULL; NULL"},
		{"date", semantic.Mask{Kind: "range", Width: "2 weeks"}, "'2000-01-03'; '2000-01-16'; '2000-01-17'; '2000-01-02'", "2000-01-03; 2000-01-03; 2000-01-17; 1999-12-20"},
		{"timestamp", semantic.Mask{Kind: "range", Width: "10 years"}, "'2026-05-04 03:02:01'; '290309-12-22 (BC) 00:00:00'; '294247-01-10 04:00:54.775806'; '-infinity'; '9999-12-31 23:59:59.999999'", "2020-01-01 00:00:00; NULL; NULL; NULL; 9990-01-01 00:00:00"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: `split_part("Größe ""x""", '@', 2)`}, "'a@b.example'; ''; NULL", "b.example; ; NULL"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: `CASE WHEN length("Größe ""x""") > 3 THEN 'long' ELSE 'short' END -- kept`}, "'secret'; 'a'; NULL", "long; short; short"},
		{"bigint", semantic.Mask{Kind: "expression", Expr: `TRY_CAST(round(TRY_CAST("Größe ""x""" AS DOUBLE), -2) AS BIGINT)`}, "149; 9223372036854775807; NULL", "100; NULL; NULL"},
	} {
		got, err := m.mask(c.kind, c.mask, nil)
		require.NoError(t, err, "%+v", c.mask)
		from := over(c.kind, strings.Split(c.values, "; "))
		require.Equal(t, strings.Split(c.want, "; "), m.db.Rows(t, "SELECT coalesce(CAST(("+got.SQL+") AS VARCHAR), 'NULL') FROM "+from), "%s of %s", c.mask.Kind, c.kind)
	}
}

// edges are values at the ends of each type, and in the middle.
var edges = map[semantic.Type][]string{
	"tinyint": {"'-128'", "'127'", "'0'"}, "smallint": {"'-32768'", "'32767'", "'-1'"}, "integer": {"'-2147483648'", "'2147483647'", "'1'"},
	"bigint":        {"'-9223372036854775808'", "'9223372036854775807'", "'42'"},
	"hugeint":       {"'-170141183460469231731687303715884105728'", "'170141183460469231731687303715884105727'", "'0'"},
	"decimal(9,4)":  {"'-99999.9999'", "'99999.9999'", "'0'"},
	"decimal(38,0)": {"'-99999999999999999999999999999999999999'", "'99999999999999999999999999999999999999'"},
	"decimal(38,38)": {"'-0.99999999999999999999999999999999999999'",
		"'0.99999999999999999999999999999999999999'"},
	"float":       {"'-3.4028235e38'", "'3.4028235e38'", "'nan'", "'inf'", "'-inf'", "'1e-45'", "'-0'"},
	"double":      {"'-1.7976931348623157e308'", "'1.7976931348623157e308'", "'nan'", "'inf'", "'-inf'", "'5e-324'", "'-0'"},
	"date":        {"'5877642-06-25 (BC)'", "'5881580-07-10'", "'0001-01-01'", "'9999-12-31'", "'infinity'", "'-infinity'"},
	"timestamp":   {"'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'", "'-infinity'", "'9999-12-31 23:59:59.999999'"},
	"timestamptz": {"'infinity'", "'2026-05-04 03:02:01+00'"},
	"varchar":     {"''", "'äöü'", "'\U0001F469\u200D\U0001F4BB'", "repeat('x', 1000000)", "chr(0)"},
	"boolean":     {"true", "false"}, "blob": {"'\\x00'"}, "uuid": {"'00000000-0000-0000-0000-000000000000'"}, "json": {"'{}'"}, "time": {"'23:59:59'"},
	"interval": {"'1 day'"},
}

// TestMasksRaiseNothing: whatever the value, a mask that is taken keeps the type
// and raises no error; what is not taken is refused when it is printed.
func TestMasksRaiseNothing(t *testing.T) {
	m := newMasker(t)
	taken := 0
	for typ, values := range edges {
		values = append(values, "NULL")
		for _, spec := range []semantic.Mask{
			{Kind: "null"}, {Kind: "redact"}, {Kind: "first", N: 1}, {Kind: "first", N: 64}, {Kind: "last", N: 1}, {Kind: "hash"}, {Kind: "year"},
			{Kind: "token", Purpose: "p"},
			{Kind: "range", Width: "1"}, {Kind: "range", Width: "0.0001"}, {Kind: "range", Width: "3"}, {Kind: "range", Width: "127"},
			{Kind: "range", Width: "1000000000000000"}, {Kind: "range", Width: "99999999999999999999999999999999999998"},
			{Kind: "range", Width: "0.00000000000000000000000000000000000003"},
			{Kind: "range", Width: "1 day"}, {Kind: "range", Width: "9999 weeks"}, {Kind: "range", Width: "1 month"}, {Kind: "range", Width: "9999 years"},
			{Kind: "expression", Expr: `"Größe ""x"""`}, {Kind: "expression", Expr: `nullif("Größe ""x""", "Größe ""x""")`},
		} {
			mask, err := m.mask(typ, spec, nil)
			if err != nil {
				requireCode(t, diag.PolicyUnsay, err)
				continue
			}
			taken++
			for _, by := range []*policy.Mask{nil, mask} { // alone, and over itself
				if by != nil {
					if mask, err = m.mask(typ, spec, by); err != nil {
						t.Fatal(err)
					}
				}
				found := m.db.Rows(t, "SELECT DISTINCT typeof("+mask.SQL+") FROM "+over(typ, values))
				require.Equal(t, []string{typ.SQL()}, found, "%+v on %s", spec, typ)
				m.db.Rows(t, "SELECT max(CAST(("+mask.SQL+") AS VARCHAR)) FROM "+over(typ, values))
			}
		}
	}
	require.Greater(t, taken, 100)
}

// TestKeyedMasks: equal values hash alike, different ones do not, null stays null,
// and no hash or token is another's.
func TestKeyedMasks(t *testing.T) {
	m := newMasker(t)
	e := &semantic.Entity{Name: "t"}
	sql := func(key string, spec semantic.Mask, entity, field semantic.Name, domain string) string {
		p := &Policy{options: Options{MaskKey: []byte(key)}}
		mask, err := p.maskOf(context.Background(), spec, &semantic.Entity{Name: entity}, &semantic.Field{Name: field, Type: "varchar", JoinDomain: domain}, policy.RuleRef{}, nil)
		require.NoError(t, err)
		require.NotContains(t, mask.SQL, key)
		return mask.SQL
	}
	hash := semantic.Mask{Kind: "hash"}
	token := semantic.Mask{Kind: "token", Purpose: "person", Scope: "acme"}
	key := string(testKey)
	for _, x := range []string{sql(key, hash, e.Name, "v", ""), sql(key, token, e.Name, "v", "d")} {
		require.Equal(t, []string{"4\t2\t32\t32"}, m.db.Rows(t,
			"SELECT count(*), count(DISTINCT "+x+"), min(length("+x+")), max(length("+x+")) FROM (VALUES ('a'), ('a'), ('b'), (NULL)) AS l(v)"))
	}
	value := func(sql string) string { return m.db.Rows(t, "SELECT "+sql+" FROM (SELECT 'a' AS v, 'a' AS w)")[0] }
	require.Equal(t, value(sql(key, token, "t", "v", "d")), value(sql(key, token, "other", "w", "d")), "one purpose, scope and join domain")
	seen := map[string]string{}
	for name, x := range map[string]string{
		"hash": sql(key, hash, "t", "v", "d"), "hash of another column": sql(key, hash, "t", "w", "d"),
		"token": sql(key, token, "t", "v", "d"), "another deployment": sql(key+"x", token, "t", "v", "d"),
		"another purpose": sql(key, semantic.Mask{Kind: "token", Purpose: "mail", Scope: "acme"}, "t", "v", "d"),
		"another scope":   sql(key, semantic.Mask{Kind: "token", Purpose: "person", Scope: "globex"}, "t", "v", "d"),
		"no scope":        sql(key, semantic.Mask{Kind: "token", Purpose: "person"}, "t", "v", "d"),
		"another domain":  sql(key, token, "t", "v", "d2"), "no domain": sql(key, token, "t", "v", ""), "no domain, another column": sql(key, token, "t", "w", ""),
	} {
		require.Empty(t, seen[value(x)], name)
		seen[value(x)] = name
	}
}

// TestMaskOverMask: a policy's mask stands on what the model's mask shows, and is
// filterable only where both are.
func TestMaskOverMask(t *testing.T) {
	m := newMasker(t)
	for _, c := range []struct {
		kind         semantic.Type
		model, rules semantic.Mask
		values, want string
	}{
		{"varchar", semantic.Mask{Kind: "first", N: 3}, semantic.Mask{Kind: "first", N: 5}, "'secret'; 'ab'", "sec*****; ***"},
		{"varchar", semantic.Mask{Kind: "redact"}, semantic.Mask{Kind: "expression", Expr: `coalesce("Größe ""x""", '') || '!'`}, "'secret'; NULL", "***!; ***!"},
		{"varchar", semantic.Mask{Kind: "null"}, semantic.Mask{Kind: "last", N: 3}, "'secret'", "***"},
		{"integer", semantic.Mask{Kind: "range", Width: "10"}, semantic.Mask{Kind: "range", Width: "1"}, "17; -1", "10; -10"},
		{"date", semantic.Mask{Kind: "year"}, semantic.Mask{Kind: "range", Width: "1 day"}, "'2026-05-04'", "2025-12-29"},
	} {
		if c.kind == "date" {
			c.rules.Width, c.want = "10 years", "2020-01-01"
		}
		under, err := m.mask(c.kind, c.model, nil)
		require.NoError(t, err)
		got, err := m.mask(c.kind, c.rules, under)
		require.NoError(t, err)
		require.Equal(t, strings.Split(c.want, "; "), m.db.Rows(t, "SELECT coalesce(CAST(("+got.SQL+") AS VARCHAR), 'NULL') FROM "+over(c.kind, strings.Split(c.values, "; "))))
	}
	for _, c := range []struct{ model, rules, want bool }{{true, true, true}, {true, false, false}, {false, true, false}} {
		under, err := m.mask("varchar", semantic.Mask{Kind: "redact", Filterable: c.model}, nil)
		require.NoError(t, err)
		got, err := m.mask("varchar", semantic.Mask{Kind: "null", Filterable: c.rules}, under)
		require.NoError(t, err)
		require.Equal(t, c.want, got.Filterable)
	}
	hash, err := m.mask("varchar", semantic.Mask{Kind: "hash"}, nil)
	require.NoError(t, err)
	over, err := m.mask("varchar", semantic.Mask{Kind: "token", Purpose: "p"}, hash)
	require.NoError(t, err)
	require.False(t, over.Filterable)
	require.Contains(t, over.Space, `column "t"`, "hashes of two columns differ, so their tokens match nothing")
}

// TestMasksThatAreRefused: each refusal says what is wrong.
func TestMasksThatAreRefused(t *testing.T) {
	m := newMasker(t)
	x := `"Größe ""x"""`
	for _, c := range []struct {
		kind semantic.Type
		mask semantic.Mask
		want string
	}{
		{"varchar", semantic.Mask{}, "kind is null, hash"},
		{"varchar", semantic.Mask{Kind: "rot13"}, "kind is null, hash"},
		{"varchar", semantic.Mask{Kind: "first"}, "has n"},
		{"varchar", semantic.Mask{Kind: "first", N: 65}, "from 1 to 64"},
		{"varchar", semantic.Mask{Kind: "last", N: -1}, "from 1 to 64"},
		{"varchar", semantic.Mask{Kind: "redact", N: 2}, "has no n"},
		{"bigint", semantic.Mask{Kind: "redact"}, "is on text"},
		{"bigint", semantic.Mask{Kind: "hash"}, "is on text"},
		{"bigint", semantic.Mask{Kind: "token", Purpose: "p"}, "is on text"},
		{"varchar", semantic.Mask{Kind: "token"}, "has purpose"},
		{"varchar", semantic.Mask{Kind: "hash", Scope: "acme"}, "has no scope"},
		{"varchar", semantic.Mask{Kind: "range", Width: "10"}, "number, date or timestamp"},
		{"timestamptz", semantic.Mask{Kind: "range", Width: "1 day"}, "number, date or timestamp"},
		{"varchar", semantic.Mask{Kind: "year"}, "number, date or timestamp"},
		{"bigint", semantic.Mask{Kind: "year"}, "date or timestamp"},
		{"bigint", semantic.Mask{Kind: "range"}, "has width"},
		{"bigint", semantic.Mask{Kind: "range", Width: "0"}, "fits the column"},
		{"bigint", semantic.Mask{Kind: "range", Width: "-5"}, "fits the column"},
		{"bigint", semantic.Mask{Kind: "range", Width: "0.5"}, "fits the column"},
		{"bigint", semantic.Mask{Kind: "range", Width: "1e3"}, "fits the column"},
		{"bigint", semantic.Mask{Kind: "range", Width: "7 days"}, "fits the column"},
		{"tinyint", semantic.Mask{Kind: "range", Width: "128"}, "fits the column"},
		{"decimal(5,2)", semantic.Mask{Kind: "range", Width: "0.001"}, "fits the column"},
		{"decimal(5,2)", semantic.Mask{Kind: "range", Width: "1000"}, "fits the column"},
		{"double", semantic.Mask{Kind: "range", Width: "0.0000001"}, "fits the column"},
		{"date", semantic.Mask{Kind: "range", Width: "10"}, "fits the column"},
		{"date", semantic.Mask{Kind: "range", Width: "0 days"}, "fits the column"},
		{"date", semantic.Mask{Kind: "range", Width: "1 fortnight"}, "fits the column"},
		{"varchar", semantic.Mask{Kind: "expression"}, "has expr"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "upper(name)"}, "name"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "'a', 'b'"}, ""},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "CAST(" + x + " AS BIGINT)"}, "a cast that may fail"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "TRY_CAST(" + x + " AS BIGINT)"}, "keeps the type"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "CASE WHEN " + x + " = 5 THEN 'a' END"}, "DuckDB casts a value"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "repeat(" + x + ", 3)"}, "repeat"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "replace(" + x + ", 'a', 'b')"}, "replace"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "CAST(today() AS VARCHAR)"}, "today"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "CAST(current_date AS VARCHAR)"}, ""},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "CAST(random() AS VARCHAR)"}, "random"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "max(" + x + ")"}, "max"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "(SELECT " + x + ")"}, "query"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "$p"}, "parameter"},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "list_transform([" + x + "], lambda y: y)[1]"}, ""},
		{"bigint", semantic.Mask{Kind: "expression", Expr: x + " + 1"}, "+"},
		{"date", semantic.Mask{Kind: "expression", Expr: "CASE WHEN " + x + " > TIMESTAMP '2026-01-01 00:00:00' THEN " + x + " END"}, "DuckDB casts a value"},
		{"date", semantic.Mask{Kind: "expression", Expr: "DATE '2026-13-01'"}, ""},
		{"varchar", semantic.Mask{Kind: "expression", Expr: "'" + strings.Repeat("a", 1000) + "'"}, "1000 bytes"},
	} {
		_, err := m.mask(c.kind, c.mask, nil)
		require.Error(t, err, "%+v", c.mask)
		requireCode(t, diag.PolicyUnsay, err)
		require.Contains(t, err.Error(), "m.rego:3", "%+v", c.mask)
		require.Contains(t, err.Error(), c.want, "%+v", c.mask)
	}
	_, err := (&Policy{}).maskOf(context.Background(), semantic.Mask{Kind: "expression", Expr: "''"}, &semantic.Entity{}, &semantic.Field{Type: "varchar"}, policy.RuleRef{}, nil)
	requireCode(t, diag.PolicyUnsay, err)
}

// TestMaskSpec: a width is a number or a text.
func TestMaskSpec(t *testing.T) {
	for text, want := range map[string]string{`{"kind": "range", "width": 10}`: "10", `{"kind": "range", "width": 0.5}`: "0.5", `{"kind": "range", "width": "7 days"}`: "7 days", `{"kind": "null"}`: ""} {
		var spec maskSpec
		require.NoError(t, json.Unmarshal([]byte(text), &spec))
		require.Equal(t, want, spec.mask().Width)
	}
}
