package prove

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
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
	starred := func(ref sqlast.TableRef, star sqlast.Star) sqlast.Query {
		return &sqlast.SelectNode{Select: []sqlast.Expr{&star}, From: ref}
	}
	join := &sqlast.JoinRef{Left: &sqlast.EmptyRef{}, Right: &sqlast.EmptyRef{}}
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
		{`"c".""."t" is named outside a fence`, from(&sqlast.BaseTable{Catalog: "c", Table: "t"})},
		{`the text calls "getenv"`, item(&sqlast.Function{IsOperator: true, Name: "getenv"})},
		{`the text calls "getenv"`, item(&sqlast.Function{ExprBase: sqlast.ExprBase{At: sqlast.NoOffset}, Name: "getenv"})},
		{"a star is left in the text", starred(&sqlast.ValuesRef{}, sqlast.Star{Relation: "t"})},
		{"a star is left in the text", starred(&sqlast.ValuesRef{}, sqlast.Star{Exclude: []string{"a"}})},
		{"a star is left in the text", starred(&sqlast.ValuesRef{}, sqlast.Star{Expr: one})},
		{"a star is left in the text", starred(&sqlast.ValuesRef{}, sqlast.Star{Columns: true})},
		{"a star is left in the text", starred(join, sqlast.Star{ExprBase: sqlast.ExprBase{At: sqlast.NoOffset}, Columns: true})},
		{"a star is left in the text", starred(join, sqlast.Star{})},
		{`"memory"."base"."orders" is not storage`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "memory", Schema: "base", Table: "orders"})})},
		{`"plumbline"."main"."orders" is not storage`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "plumbline", Schema: "main", Table: "orders"})})},
		{`"nothing" is the storage of no entity`, from(&sqlast.SubqueryRef{Query: from(&sqlast.BaseTable{Catalog: "plumbline", Schema: "base", Table: "nothing"})})},
	} {
		r := readTree(Input{Catalog: semantictest.Shop(), Decision: policy.Decision{}, RowCap: 1000, Functions: map[string]bool{"count": true}}, nil, c.q)
		require.ErrorContains(t, r.failed(), c.want)
	}
}

// TestFenceNeedsItsDecision gives the reader fences whose decision, rule or mask is
// missing, and one of masks that has no end.
func TestFenceNeedsItsDecision(t *testing.T) {
	column := func(name string) sqlast.Expr { return &sqlast.ColumnRef{Names: []string{name}} }
	mask := &sqlast.Constant{ExprBase: sqlast.ExprBase{Alias: "category"}, Value: sqlast.Value{IsNull: true}}
	read := func(access policy.EntityAccess, r *rule, private []semantic.Name, items ...sqlast.Expr) error {
		access.Rows.Truth = policy.Always
		in := Input{Catalog: semantictest.Shop(), RowCap: 9, Decision: policy.Decision{Entities: map[string]policy.EntityAccess{"products": access, "customers": access}},
			Private: map[string][]semantic.Name{"customers": private}, Model: []resolve.Span{{End: 9}}}
		table := "products"
		if private != nil {
			table = "customers"
		}
		fence := &sqlast.SelectNode{Select: items, From: storageOf(table), Aggregates: plainAggregates}
		ten := &sqlast.Limit{Limit: &sqlast.Constant{Value: sqlast.Value{Raw: "9"}}}
		rules := map[string]*rule{}
		if r != nil {
			rules["products"], rules["customers"] = r, r
		}
		return readTree(in, rules, &sqlast.SelectNode{QueryBase: sqlast.QueryBase{Modifiers: []sqlast.Modifier{ten}}, Select: []sqlast.Expr{mask},
			From: &sqlast.SubqueryRef{RefBase: sqlast.RefBase{Alias: "p"}, Query: fence}}).failed()
	}
	columns := map[string]policy.ColumnAccess{"id": {Class: semantic.Output}, "category": {Class: semantic.Output, Mask: &policy.Mask{}}, "risk_score": {Class: semantic.Private}}
	seen := policy.EntityAccess{Visible: true, Columns: columns}
	masked := &rule{masks: map[string]sqlast.Expr{"category": mask}}
	require.NoError(t, read(seen, masked, nil, column("id")))
	require.ErrorContains(t, read(seen, nil, nil, column("id")), "not visible by the decision")
	require.ErrorContains(t, read(policy.EntityAccess{Columns: columns}, masked, nil, column("id")), "not visible by the decision")
	require.ErrorContains(t, read(seen, masked, nil, mask), "has no end")
	require.ErrorContains(t, read(seen, &rule{}, nil, mask), "does not mask")
	score := &sqlast.ColumnRef{ExprBase: sqlast.ExprBase{Alias: "only_1"}, Names: []string{"risk_score"}}
	require.NoError(t, read(seen, &rule{}, []semantic.Name{"risk_score"}, score))
	require.ErrorContains(t, read(seen, &rule{}, []semantic.Name{"ssn"}, score), "which the subject does not have")
}

// TestSameTellsKindsApart compares what has no fields in common, or none at all.
func TestSameTellsKindsApart(t *testing.T) {
	require.True(t, same(nil, nil))
	require.False(t, same(nil, &sqlast.Default{}))
	require.False(t, sameExpr(&sqlast.Default{}, &sqlast.ColumnRef{Names: []string{"a"}}))
}

// strange is a query node that no one knows.
type strange struct{ sqlast.SelectNode }
