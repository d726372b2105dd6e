package opa

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/semantic"
)

// TestMasksInDuckDB runs every mask over values: the type stays, nothing raises,
// and no masked value lets the secret part through.
func TestMasksInDuckDB(t *testing.T) {
	db := ducktest.Open(t, nil)
	p := &Policy{options: Options{MaskKey: testKey}}
	e := &semantic.Entity{Name: "t"}
	for _, c := range []struct {
		kind semantic.Type
		mask maskSpec
		sql  []string // values
		want []string
	}{
		{"varchar", maskSpec{Kind: "null"}, []string{"'secret'", "NULL"}, []string{"<nil>", "<nil>"}},
		{"bigint", maskSpec{Kind: "null"}, []string{"5"}, []string{"<nil>"}},
		{"timestamptz", maskSpec{Kind: "null"}, []string{"now()"}, []string{"<nil>"}},
		{"decimal(12,2)", maskSpec{Kind: "null"}, []string{"5.25"}, []string{"<nil>"}},
		{"varchar", maskSpec{Kind: "redact"}, []string{"'secret'", "''", "NULL"}, []string{"***", "***", "***"}},
		{"varchar", maskSpec{Kind: "first", N: 2}, []string{"'secret'", "'se'", "'äöü'", "''", "NULL"}, []string{"se***", "***", "äö***", "***", "***"}},
		{"varchar", maskSpec{Kind: "last", N: 2}, []string{"'secret'", "'et'", "NULL"}, []string{"***et", "***", "***"}},
		{"date", maskSpec{Kind: "year"}, []string{"DATE '2026-05-04'", "'infinity'", "DATE '5000-12-31 (BC)'", "NULL"}, nil},
		{"timestamp", maskSpec{Kind: "year"}, []string{"TIMESTAMP '2026-05-04 03:02:01'", "'-infinity'", "NULL"}, nil},
		{"varchar", maskSpec{Kind: "hash"}, []string{"'secret'", "''", "NULL"}, nil},
	} {
		f := &semantic.Field{Name: "Größe \"x\"", Type: c.kind}
		m, err := p.maskOf(c.mask, e, f, policy.RuleRef{ID: "m"})
		require.NoError(t, err)
		from := fmt.Sprintf(`(SELECT CAST(v AS %s) AS %s FROM (VALUES (%s)) AS l(v))`, c.kind.SQL(), semantic.Quote(string(f.Name)), strings.Join(c.sql, "), ("))
		got := db.Rows(t, "SELECT "+m.SQL+" FROM "+from)
		if c.want != nil {
			require.Equal(t, c.want, got, c.mask.Kind)
		}
		for _, line := range got {
			require.NotContains(t, line, "secret")
			require.NotContains(t, line, "-05-04")
		}
		require.Equal(t, []string{"true"}, db.Rows(t, "SELECT DISTINCT typeof("+m.SQL+") = '"+c.kind.SQL()+"' FROM "+from), "%s keeps %s", c.mask.Kind, c.kind)
	}
}

// TestHashGroupsEqualValues: equal values hash alike, different ones do not, null
// stays null.
func TestHashGroupsEqualValues(t *testing.T) {
	db := ducktest.Open(t, nil)
	p := &Policy{options: Options{MaskKey: testKey}}
	m, err := p.maskOf(maskSpec{Kind: "hash"}, &semantic.Entity{Name: "t"}, &semantic.Field{Name: "v", Type: "varchar"}, policy.RuleRef{})
	require.NoError(t, err)
	require.Equal(t, []string{"4\t2\t32\t32"}, db.Rows(t,
		"SELECT count(*), count(DISTINCT "+m.SQL+"), min(length("+m.SQL+")), max(length("+m.SQL+")) FROM (VALUES ('a'), ('a'), ('b'), (NULL)) AS l(v)"))
}
