package prove

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic/semantictest"
)

// TestUnknownNodesAreRefused gives the reader trees that DuckDB's planner would
// not let through today, so that it does not depend on the planner.
func TestUnknownNodesAreRefused(t *testing.T) {
	from := func(ref sqlast.TableRef) sqlast.Query {
		return &sqlast.SelectNode{Select: []sqlast.Expr{&sqlast.Constant{}}, From: ref}
	}
	item := func(e sqlast.Expr) sqlast.Query {
		return &sqlast.SelectNode{Select: []sqlast.Expr{e}, From: &sqlast.EmptyRef{}}
	}
	with := func(edit func(*sqlast.SelectNode)) sqlast.Query {
		s := from(&sqlast.EmptyRef{}).(*sqlast.SelectNode)
		edit(s)
		return s
	}
	one := &sqlast.Constant{Value: sqlast.Value{Raw: "1"}}
	lambda := func(params sqlast.Expr) sqlast.Query {
		return item(&sqlast.Lambda{Syntax: "LAMBDA_KEYWORD", Params: params, Body: one})
	}
	storage := &sqlast.BaseTable{Catalog: "plumbline", Schema: "base", Table: "orders"}
	for _, c := range []struct {
		want string
		q    sqlast.Query
	}{
		{"query node *prove.strange", &strange{}},
		{"table reference *sqlast.ShowRef", from(&sqlast.ShowRef{})},
		{"expression *sqlast.Parameter", item(&sqlast.Parameter{})},
		{"expression *sqlast.Default", item(&sqlast.Default{})},
		{`a pivot by the enum "e"`, from(&sqlast.PivotRef{Source: &sqlast.EmptyRef{}, Pivots: []sqlast.PivotColumn{{Enum: "e"}}})},
		{`time travel on "t"`, from(&sqlast.BaseTable{Table: "t", AtClause: []byte("{}")})},
		{`"t" is no CTE in scope`, from(&sqlast.BaseTable{Table: "t"})},
		{`"orders" is not visible by the decision`, from(&sqlast.SubqueryRef{Query: from(storage)})},
		{"modifier <nil>", with(func(s *sqlast.SelectNode) { s.Modifiers = []sqlast.Modifier{nil} })},
		{"a sample that is not repeatable", with(func(s *sqlast.SelectNode) { s.Sample = &sqlast.Sample{} })},
		{"a sample that is not repeatable", with(func(s *sqlast.SelectNode) { s.Sample = &sqlast.Sample{Seed: "-1"} })},
		{"a sample that is not repeatable", from(&sqlast.EmptyRef{RefBase: sqlast.RefBase{Sample: &sqlast.Sample{}}})},
		{"the outermost LIMIT is no number", with(func(s *sqlast.SelectNode) {
			s.Modifiers = []sqlast.Modifier{&sqlast.Limit{Limit: &sqlast.Constant{Value: sqlast.Value{Raw: "-1"}}}}
		})},
		{"the outermost LIMIT is no number", with(func(s *sqlast.SelectNode) {
			s.Modifiers = []sqlast.Modifier{&sqlast.Limit{Limit: &sqlast.Constant{Value: sqlast.Value{Raw: "1.5"}}}}
		})},
		{"the outermost LIMIT is no number", with(func(s *sqlast.SelectNode) {
			s.Modifiers = []sqlast.Modifier{&sqlast.Limit{Limit: &sqlast.Constant{Value: sqlast.Value{Raw: "1", IsNull: true}}}}
		})},
		{"the outermost LIMIT is no number", with(func(s *sqlast.SelectNode) { s.Modifiers = []sqlast.Modifier{&sqlast.Limit{Limit: one, Percent: true}} })},
		{"a lambda's parameter is no name", lambda(one)},
		{"a lambda's parameter is no name", lambda(&sqlast.ColumnRef{Names: []string{"a", "b"}})},
		{"a star is left in the text", item(&sqlast.Star{Columns: true})},
		{"a star is left in the text", item(&sqlast.Star{ExprBase: sqlast.ExprBase{At: sqlast.NoOffset}})},
		{`"c"."s"."t" is named outside a fence`, from(&sqlast.BaseTable{Catalog: "c", Schema: "s", Table: "t"})},
		{`the text calls ""."s"."count"`, item(&sqlast.Function{Schema: "s", Name: "count"})},
		{`the text calls "->"`, item(&sqlast.Function{Name: "->"})},
		{`"memory"."base"."orders" is not storage`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "memory", Schema: "base", Table: "orders"})})},
		{`"plumbline"."main"."orders" is not storage`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "plumbline", Schema: "main", Table: "orders"})})},
		{`"nothing" is the storage of no entity`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "plumbline", Schema: "base", Table: "nothing"})})},
	} {
		r := readTree(Input{Catalog: semantictest.Shop(), Decision: policy.Decision{}, RowCap: 1000, Functions: map[string]bool{"count": true}}, nil, c.q)
		require.ErrorContains(t, r.failed(), c.want)
	}
}

// strange is a query node that no one knows.
type strange struct{ sqlast.SelectNode }
