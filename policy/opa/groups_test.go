package opa

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// Of several minimum groups the largest holds, and the fewest filter sets.
func TestMinGroup(t *testing.T) {
	p := openText(t, map[string]string{"group.rego": `package plumbline.access

min_group.some := {"size": 5, "filter_sets": 20} if input.entity.name == "orders"

min_group.more := {"size": 10, "filter_sets": 30} if input.entity.name == "orders"

min_group.others := {"size": 7} if input.entity.name == "order_items"
`})
	group := func(entity semantic.Name) policy.EntityAccess {
		a, err := p.Entity(context.Background(), people["ana"], testNow, semantictest.Shop().Entity(entity))
		require.NoError(t, err)
		return a
	}
	a := group("orders")
	require.Equal(t, policy.MinGroup{Size: 10, FilterSets: 20, Rule: policy.RuleRef{ID: "more", File: "rego/group.rego", Line: 5}}, a.MinGroup)
	require.Contains(t, a.Rules, policy.RuleRef{ID: "some", File: "rego/group.rego", Line: 3})
	require.Zero(t, group("products").MinGroup)
	_, err := p.Entity(context.Background(), people["ana"], testNow, semantictest.Shop().Entity("order_items"))
	require.Equal(t, diag.PolicyUnsay, diag.CodeOf(err), "the test's bundle grants the key of orders alone: %v", err)
}

// A key that cannot be counted is found when the policies are loaded, with its place.
func TestMinGroupIsCheckedAtLoad(t *testing.T) {
	shop := semantictest.Shop()
	shop.Entity("orders").PrimaryKey = nil
	p := openText(t, map[string]string{"group.rego": "package plumbline.access\n\nmin_group.x := {\"size\": 5} if input.entity.name == \"orders\"\n"})
	err := p.CheckSamples(context.Background(), []policy.Subject{people["ana"]}, shop)
	require.ErrorContains(t, err, `rego/group.rego:3`)
	require.ErrorContains(t, err, `a minimum group counts rows by their primary key, and "orders" has none`)
}
