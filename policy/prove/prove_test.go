package prove_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// shopRules is the decision of these tests: an equality, a list, a disjunction,
// always and never, with a null and a computed mask.
func shopRules() policy.Decision {
	d := policy.Decision{Verdict: policy.Allow, Entities: map[string]policy.EntityAccess{}}
	for _, e := range semantictest.Shop().Entities {
		a := policy.EntityAccess{Visible: true, Columns: map[string]policy.ColumnAccess{}}
		for _, f := range e.Fields {
			a.Columns[f.Name.Key()] = policy.ColumnAccess{Class: f.Visibility}
		}
		d.Entities[e.Name.Key()] = a
	}
	rows := func(entity string, p policy.Predicate) {
		a := d.Entities[entity]
		a.Rows = p
		d.Entities[entity] = a
	}
	rows("orders", policy.Predicate{Truth: policy.When, SQL: `"tenant" = 'acme'`})
	rows("customers", policy.Predicate{Truth: policy.When, SQL: `"tenant" IN ('acme', 'initech')`})
	rows("support_tickets", policy.Predicate{Truth: policy.When, SQL: `"tenant" = 'acme' OR "priority" = 'low'`})
	rows("products", policy.Predicate{Truth: policy.Always})
	customers := d.Entities["customers"].Columns
	customers["email"] = policy.ColumnAccess{Class: semantic.Output, Mask: &policy.Mask{Kind: "null", SQL: `NULL`}}
	customers["name"] = policy.ColumnAccess{Class: semantic.Output, Mask: &policy.Mask{Kind: "first", SQL: `left("name", 1) || '***'`}}
	delete(customers, "plan") // hidden by the policy
	return d
}

// relatedRules is shopRules with a rule of order_items that asks for related
// rows, over a key, negated, two relationships away, and over two fields.
func relatedRules() policy.Decision {
	d := shopRules()
	items := d.Entities["order_items"]
	items.Rows = policy.Predicate{Truth: policy.When, Through: []semantic.Name{"customers", "orders", "products"},
		SQL: `"order_id" IN (SELECT "id" FROM "plumbline"."base"."orders" WHERE "status" = 'paid' AND "customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers" WHERE "tenant" IS NOT NULL)) ` +
			`AND ("product_id" IN (SELECT "id" FROM "plumbline"."base"."products" WHERE "label" = 'gone')) IS NOT TRUE ` +
			`AND ("order_id", "tenant") IN (SELECT "id", "tenant" FROM "plumbline"."base"."orders")`}
	d.Entities["order_items"] = items
	return d
}

// fences writes [[entity: columns | condition | condition]] as a well-formed
// fence, so that the corpora show the query and not its fences.
var fences = regexp.MustCompile(`\[\[(\w+):([^|\]]*)((?:\|[^|\]]*)*)\]\]`)

func fenced(text string, d policy.Decision) string {
	return fences.ReplaceAllStringFunc(text, func(m string) string {
		parts := fences.FindStringSubmatch(m)
		a := d.Entities[parts[1]]
		var items, where []string
		for _, c := range strings.Fields(strings.ReplaceAll(parts[2], ",", " ")) {
			c, as, limited := strings.Cut(c, "=")
			item, name := semantic.Quote(c), c
			if mask := a.Columns[c].Mask; mask != nil {
				item = mask.SQL
			}
			if a.Rows.Truth != policy.Always {
				item = "COALESCE(" + item + ", NULL)"
			}
			if limited {
				name = as
			}
			if item != semantic.Quote(name) {
				item += " AS " + semantic.Quote(name)
			}
			items = append(items, item)
		}
		switch a.Rows.Truth {
		case policy.When:
			where = append(where, "("+a.Rows.SQL+")")
		case policy.Never:
			where = append(where, "false")
		}
		for _, c := range strings.Split(parts[3], "|") {
			if c = strings.TrimSpace(c); c != "" {
				where = append(where, c)
			}
		}
		out := "(SELECT " + strings.Join(items, ", ") + " FROM " + semantic.StorageName(semantic.Name(parts[1]))
		if len(where) > 0 {
			out += " WHERE " + strings.Join(where, " AND ")
		}
		if a.Rows.Truth != policy.Always {
			out += " OFFSET 0"
		}
		return out + ")"
	})
}

func functions() map[string]bool {
	out := map[string]bool{}
	for _, f := range strings.Fields(`count count_star sum max min avg lag row_number abs upper lower length date_trunc date_part
		+ - * / || ~~ range generate_series unnest list_value struct_pack row list_transform list_apply list_filter struct_extract coalesce rank nullif round list mode`) {
		out[f] = true
	}
	return out
}

// limited adds the LIMIT that the rewrite adds.
func limited(text string) string {
	if strings.Contains(text, "LIMIT") && !strings.Contains(text, "LIMIT 10 OFFSET 0") {
		return text
	}
	return text + "\nLIMIT 1000"
}

func input(db *ducktest.DB, text string) prove.Input { return under(db, text, shopRules()) }

func under(db *ducktest.DB, text string, rules policy.Decision) prove.Input {
	in := prove.Input{Text: text, Catalog: semantictest.Shop(), Decision: rules, Functions: functions(), Aggregates: reviewed(resolve.Aggregate), RowCap: 1000}
	if got, err := db.Check(context.Background(), []string{text}); err == nil && got[0].OK {
		for _, c := range got[0].Columns {
			in.Names = append(in.Names, c.Name)
		}
	}
	return in
}

// swapped is DuckDB, except that it gives the plan of another text for one.
type swapped struct {
	*ducktest.DB
	text, instead string
}

func (s swapped) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	out, err := s.DB.Check(ctx, texts)
	if err != nil || texts[0] != s.text {
		return out, err
	}
	other, err := s.DB.Check(ctx, []string{s.instead})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.instead, err)
	}
	if !other[0].OK {
		return nil, fmt.Errorf("%s: %s", s.instead, other[0].Error)
	}
	out[0].Plan = other[0].Plan
	return out, nil
}

// openShop holds relations outside storage, too, under names that a text might reach.
func openShop(t testing.TB) *ducktest.DB {
	db := ducktest.Open(t, semantictest.Shop())
	db.Exec(t, "CREATE TABLE products (id BIGINT, label VARCHAR)")
	db.Exec(t, "CREATE SCHEMA base")
	db.Exec(t, "CREATE TABLE base.products (id BIGINT, label VARCHAR)")
	return db
}

// TestCorpus proves the texts of testdata: accepted ones print what they read,
// refused ones each reason. A text in refused.txt that is proved fails the test
// whatever its golden says, and the other way round. The directive plan gives a
// text whose plan is that of the text after "instead".
func TestCorpus(t *testing.T) {
	db := openShop(t)
	for _, file := range []string{"accepted", "refused", "related_accepted", "related_refused"} {
		rules := shopRules()
		if strings.HasPrefix(file, "related") {
			rules = relatedRules()
		}
		datadriven.RunTest(t, "testdata/"+file+".txt", func(t *testing.T, td *datadriven.TestData) string {
			text, instead, isPlan := strings.Cut(fenced(td.Input, rules), "\ninstead\n")
			if !td.HasArg("unlimited") {
				text, instead = limited(text), limited(instead)
			}
			require.Equal(t, isPlan, td.Cmd == "plan")
			in, planner := under(db, text, rules), prove.Planner(db)
			if isPlan {
				planner = swapped{db, text, instead}
			}
			if td.HasArg("private") {
				in.Private = map[string][]semantic.Name{"customers": {"risk_score"}}
				in.Model = []resolve.Span{{End: len(text)}}
			}
			if td.HasArg("names") {
				in.Names = nil
				for _, a := range td.CmdArgs {
					if a.Key == "names" {
						in.Names = a.Vals
					}
				}
			}
			if td.HasArg("deny") {
				in.Decision.Verdict = policy.Deny
			}
			got, evidence, err := prove.Check(context.Background(), planner, in)
			require.Equal(t, strings.HasSuffix(file, "accepted"), err == nil, "%s: %v", td.Pos, errors.Unwrap(err))
			if err != nil {
				require.Empty(t, got.Text())
				code := diag.BugProve
				if cause := errors.Unwrap(err).Error(); strings.HasPrefix(cause, "DuckDB does not bind") || strings.HasPrefix(cause, "the plan does not scan") {
					code = diag.ResolveShape
				}
				require.Equal(t, code, diag.CodeOf(err))
				require.NotContains(t, err.Error(), "acme")
				require.NotContains(t, err.Error(), "plumbline")
				return firstLines(errors.Unwrap(err))
			}
			require.Equal(t, in.Text, got.Text())
			return account(evidence)
		})
	}
}

// firstLines drops DuckDB's own text from a reason: an upgrade may reword it.
func firstLines(err error) string {
	out := err.Error()
	if strings.HasPrefix(out, "DuckDB does not bind") {
		out = "DuckDB does not bind"
	}
	return out
}

func account(e *prove.Evidence) string {
	var b strings.Builder
	for _, r := range e.Summary.Relations {
		fmt.Fprintf(&b, "%s %v", r.Entity, r.Columns)
		if len(r.Masked) > 0 {
			fmt.Fprintf(&b, " masked %v", r.Masked)
		}
		fmt.Fprintf(&b, " rows %s fenced %t\n", r.Predicate, r.Fenced)
	}
	fmt.Fprintf(&b, "scans %v functions %v nodes %v", e.Summary.Scans, e.Summary.Functions, e.Summary.Nodes)
	return b.String()
}

// TestThroughIsExact refuses a rule that reads another entity than its decision
// says, or one less.
func TestThroughIsExact(t *testing.T) {
	db := openShop(t)
	for _, c := range []struct {
		name, sql string
		through   []semantic.Name
		ok        bool
	}{
		{"as said", `"customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers")`, []semantic.Name{"Customers"}, true},
		{"unsaid", `"customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers")`, nil, false},
		{"another", `"customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers")`, []semantic.Name{"products"}, false},
		{"one of two", `"customer_id" IN (SELECT "id" FROM "plumbline"."base"."customers")`, []semantic.Name{"customers", "products"}, false},
		{"none", `"tenant" = 'acme'`, []semantic.Name{"customers"}, false},
		{"no storage", `"customer_id" IN (SELECT "id" FROM products)`, []semantic.Name{"products"}, false},
		{"a row of its own", `EXISTS (SELECT 1 FROM "plumbline"."base"."customers" AS c WHERE c.id = "customer_id")`, []semantic.Name{"customers"}, false},
		{"a scalar", `(SELECT max("id") FROM "plumbline"."base"."customers") > 1`, []semantic.Name{"customers"}, false},
		{"two fields", `("tenant", "customer_id") IN (SELECT "tenant", "id" FROM "plumbline"."base"."customers")`, []semantic.Name{"customers"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := shopRules()
			orders := rules.Entities["orders"]
			orders.Rows = policy.Predicate{Truth: policy.When, SQL: c.sql, Through: c.through}
			rules.Entities["orders"] = orders
			in := under(db, limited(fenced(`SELECT o.id FROM [[orders: id]] AS o`, rules)), rules)
			_, evidence, err := prove.Check(context.Background(), db, in)
			if !c.ok {
				require.Equal(t, diag.BugProve, diag.CodeOf(err), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"orders", "customers"}, evidence.Summary.Scans)
		})
	}
}
