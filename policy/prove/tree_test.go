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
	storage := &sqlast.BaseTable{Catalog: "plumbline", Schema: "base", Table: "orders"}
	for want, q := range map[string]sqlast.Query{
		"query node *prove.strange":               &strange{},
		"table reference *sqlast.ShowRef":         from(&sqlast.ShowRef{}),
		"expression *sqlast.Parameter":            item(&sqlast.Parameter{}),
		"expression *sqlast.Default":              item(&sqlast.Default{}),
		`a pivot by the enum "e"`:                 from(&sqlast.PivotRef{Source: &sqlast.EmptyRef{}, Pivots: []sqlast.PivotColumn{{Enum: "e"}}}),
		`time travel on "t"`:                      from(&sqlast.BaseTable{Table: "t", AtClause: []byte("{}")}),
		`"t" is no CTE in scope`:                  from(&sqlast.BaseTable{Table: "t"}),
		`"orders" is not visible by the decision`: from(&sqlast.SubqueryRef{Query: from(storage)}),
	} {
		r := readTree(Input{Catalog: semantictest.Shop(), Decision: policy.Decision{}}, nil, q)
		require.ErrorContains(t, r.failed(), want)
	}
}

// strange is a query node that no one knows.
type strange struct{ sqlast.SelectNode }
