package rewrite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// bind makes the facts that rewrite needs, without the rest of resolve: every
// reference to an entity of the shop offers the columns asked for (all of the
// subject's when none are), stars are spelled out, and items with queries inside
// get their name.
func bind(t testing.TB, st *sqlast.Statement, d policy.Decision, columns []string) *resolve.Bound {
	shop := semantictest.Shop()
	b := &resolve.Bound{Statement: st}
	cte := map[string]bool{}
	sqlast.Walk(st.Root, func(n any) bool {
		if q, ok := n.(sqlast.Query); ok {
			for _, c := range sqlast.Base(q).CTEs {
				cte[c.Name] = true
			}
		}
		return true
	})
	sqlast.Walk(st.Root, func(n any) bool {
		switch n := n.(type) {
		case *sqlast.BaseTable:
			if e := shop.Entity(semantic.Name(n.Table)); e != nil && !cte[n.Table] {
				b.Refs = append(b.Refs, ref(t, st.Text, n, e, d, columns))
			}
		case *sqlast.SelectNode:
			b.Names = append(b.Names, names(t, st.Text, n)...)
			if s := star(t, st.Text, n, shop, d, columns); s != nil {
				b.Stars = append(b.Stars, *s)
			}
		}
		return true
	})
	return b
}

func ref(t testing.TB, text string, n *sqlast.BaseTable, e *semantic.Entity, d policy.Decision, columns []string) resolve.Ref {
	start, end, parts, err := sqlast.NamePath(text, n.At)
	require.NoError(t, err)
	r := resolve.Ref{Node: n, Entity: e, Name: resolve.Span{Start: start, End: end}, Alias: n.Alias, AddAlias: n.Alias == ""}
	if r.AddAlias {
		r.Alias = parts[len(parts)-1]
	}
	r.Columns = offered(e, d, columns)
	return r
}

func offered(e *semantic.Entity, d policy.Decision, columns []string) []semantic.Name {
	var out []semantic.Name
	for _, f := range e.Fields {
		if _, ok := d.Entities[e.Name.Key()].Columns[f.Name.Key()]; ok && columns == nil {
			out = append(out, f.Name)
		}
	}
	for _, c := range columns {
		if c != "-" && (e.Field(semantic.Name(c)) != nil || e.Dimension(semantic.Name(c)) != nil) {
			out = append(out, semantic.Name(c))
		}
	}
	return out
}

func star(t testing.TB, text string, q *sqlast.SelectNode, shop *semantic.Catalog, d policy.Decision, columns []string) *resolve.StarSplice {
	b, ok := q.From.(*sqlast.BaseTable)
	s, isStar := q.Select[0].(*sqlast.Star)
	if !ok || !isStar || shop.Entity(semantic.Name(b.Table)) == nil {
		return nil
	}
	start, end, err := sqlast.StarSpan(text, s.At)
	require.NoError(t, err)
	alias := b.Alias
	if alias == "" {
		alias = b.Table
	}
	var list []string
	for _, c := range offered(shop.Entity(semantic.Name(b.Table)), d, columns) {
		if f := shop.Entity(semantic.Name(b.Table)).Field(c); f != nil && f.Visibility < semantic.Output {
			continue // as no star shows it
		}
		list = append(list, semantic.Quote(alias)+"."+semantic.Quote(string(c)))
	}
	out := &resolve.StarSplice{Span: resolve.Span{Start: start, End: end}, SQL: strings.Join(list, ", ")}
	if start == end {
		out.SQL = "SELECT " + out.SQL + " "
	}
	return out
}

// names labels the unnamed items that hold a query.
func names(t testing.TB, text string, q *sqlast.SelectNode) []resolve.NameSplice {
	var out []resolve.NameSplice
	for i, e := range q.Select {
		if s, ok := e.(*sqlast.Subquery); ok && s.Alias == "" {
			end, err := sqlast.ItemEnd(text, s.At)
			require.NoError(t, err)
			out = append(out, resolve.NameSplice{At: end, Label: fmt.Sprintf("item %d", i)})
		}
	}
	return out
}

// people are the decisions of the goldens: admin sees all; analyst the rows of
// one tenant, without phone and risk_score; masked the same with masks; stranger
// no row; outsider nothing.
func people() map[string]policy.Decision {
	everyone := func(rows policy.Predicate, change func(entity, field string, c *policy.ColumnAccess) bool) policy.Decision {
		d := policy.Decision{Verdict: policy.Allow, Entities: map[string]policy.EntityAccess{}}
		for _, e := range semantictest.Shop().Entities {
			a := policy.EntityAccess{Visible: true, Rows: rows, Columns: map[string]policy.ColumnAccess{}}
			if e.Field("tenant") == nil {
				a.Rows = policy.Predicate{Truth: policy.Always}
			}
			for _, f := range e.Fields {
				c := policy.ColumnAccess{Class: f.Visibility}
				if change(string(e.Name), f.Name.Key(), &c) {
					a.Columns[f.Name.Key()] = c
				}
			}
			d.Entities[e.Name.Key()] = a
		}
		return d
	}
	all := func(string, string, *policy.ColumnAccess) bool { return true }
	few := func(_, field string, _ *policy.ColumnAccess) bool { return field != "phone" && field != "risk_score" }
	masked := func(_, field string, c *policy.ColumnAccess) bool {
		switch field {
		case "email":
			c.Mask = &policy.Mask{Kind: "null", SQL: "CAST(NULL AS VARCHAR)"}
		case "region":
			c.Mask = &policy.Mask{Kind: "redact", SQL: `CASE WHEN "region" IS NULL THEN NULL ELSE 'x' END`}
		case "tenant":
			c.Mask = &policy.Mask{Kind: "first", SQL: `left("tenant", 1)`}
		}
		return field != "phone"
	}
	grouped := func(d policy.Decision, entities ...string) policy.Decision {
		for _, e := range entities {
			a := d.Entities[e]
			a.MinGroup.Size = 2
			d.Entities[e] = a
		}
		return d
	}
	acme := policy.Predicate{Truth: policy.When, SQL: `"tenant" = 'acme'`, Reads: []semantic.Name{"tenant"}}
	return map[string]policy.Decision{
		"admin":       everyone(policy.Predicate{Truth: policy.Always}, all),
		"adminmasked": everyone(policy.Predicate{Truth: policy.Always}, masked),
		"analyst":     everyone(acme, few),
		"either":      everyone(policy.Predicate{Truth: policy.When, SQL: `"tenant" = 'acme' OR "tenant" IS NULL`}, few),
		"masked":      everyone(acme, masked),
		"grouped":     grouped(everyone(acme, few), "orders", "order_items"),
		"guest":       grouped(everyone(policy.Predicate{Truth: policy.Always}, few), "customers"),
		"stranger":    everyone(policy.Predicate{}, few),
		"outsider":    {Verdict: policy.Allow},
		"unsayable":   everyone(policy.Predicate{Truth: policy.When, SQL: " "}, all),
		"escape":      everyone(policy.Predicate{Truth: policy.When, SQL: `true) OFFSET 0), (SELECT 1 WHERE (true`}, all),
		"comment":     everyone(policy.Predicate{Truth: policy.When, SQL: "true) -- "}, all),
		"denied":      {Reasons: []policy.Reason{{Text: "not today"}, {Text: "not you"}}},
		"zero":        {},
	}
}
