package engine_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

// TestMaskedFieldsMakeNoNumbers masks a join key, and a field that measures read.
func TestMaskedFieldsMakeNoNumbers(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", "", `
masks.keys[field.name] := {"kind": "null", "filterable": true} if {
	lib.role("analyst")
	input.entity.name == "customers"
	some field in input.entity.fields
	field.name == "id"
}

masks.totals[field.name] := {"kind": "null", "filterable": true} if {
	lib.role("analyst")
	input.entity.name == "orders"
	some field in input.entity.fields
	field.name == "total_cents"
}
`}))
	_, err := h.metric("ana", `{"metrics": ["order_count"], "dimensions": ["plan"]}`)
	h.code(diag.MetricDimension, err)
	_, err = h.metric("ana", `{"metrics": ["revenue"]}`)
	h.code(diag.PolicyColumn, err)
	_, err = h.metric("ana", `{"metrics": ["order_count"]}`)
	require.NoError(t, err)

	list, err := h.Metrics(t.Context(), engine.Describing{Tool: engine.ToolList, Subject: h.subject("ana")})
	require.NoError(t, err)
	for _, m := range list {
		require.NotEqual(t, "revenue", m.Name)
		if m.Name == "order_count" {
			for _, d := range m.Dimensions {
				require.NotEqual(t, "plan", d.Name)
			}
		}
	}
}

// TestTokensJoinAndGroup: tokens of one purpose, scope and join domain join, group
// and count as the values do; those of another do not, and no token is a value.
func TestTokensJoinAndGroup(t *testing.T) {
	token := func(id, entity, purpose string) string {
		return `
masks.` + id + `["tenant"] := {"kind": "token", "purpose": "` + purpose + `", "scope": "audit"} if {
	lib.role("operator")
	input.entity.name == "` + entity + `"
}
`
	}
	edits := [][3]string{{"rego/access.rego", "", token("a", "customers", "tenant") + token("b", "support_tickets", "tenant") + token("c", "orders", "other")}}
	for _, e := range [][2]string{{"customers", "whose customer this is"}, {"support_tickets", "whose customer asked"}, {"orders", "that sold"}} {
		was := `tenant: {type: "varchar", description: "company ` + e[1] + `"`
		edits = append(edits, [3]string{"models/" + e[0] + ".cue", was, was + `, join_domain: "tenant"`})
	}
	h, plain := open(t, workspace(t, edits...)), shop(t)
	const joined = "SELECT count(*) AS n FROM customers c JOIN support_tickets s ON c.tenant = s.tenant"
	require.Equal(t, plain.rows("operator", joined), h.rows("operator", joined))
	const groups = "SELECT count(*) AS n FROM customers GROUP BY tenant ORDER BY n"
	require.Equal(t, plain.rows("operator", groups), h.rows("operator", groups))
	require.Equal(t, plain.rows("operator", "SELECT count(DISTINCT tenant) AS n FROM customers"), h.rows("operator", "SELECT count(DISTINCT tenant) AS n FROM customers"))
	tokens := h.rows("operator", "SELECT DISTINCT tenant FROM customers ORDER BY tenant")
	require.Equal(t, tokens, h.rows("operator", "SELECT DISTINCT tenant FROM support_tickets ORDER BY tenant"))
	require.Regexp(t, "^([0-9a-f]{32}\n){3}$", tokens)
	require.NotEqual(t, tokens, h.rows("operator", "SELECT DISTINCT tenant FROM orders ORDER BY tenant"))

	for _, on := range []string{"c.tenant = o.tenant", "c.tenant = o.status", "c.tenant = 'acme' AND c.tenant = o.tenant"} {
		_, err := h.sql("operator", "SELECT count(*) AS n FROM customers c JOIN orders o ON "+on)
		h.code(diag.PolicyColumn, err)
	}
	_, err := h.sql("operator", "SELECT count(*) AS n FROM customers JOIN support_tickets USING (tenant)")
	h.code(diag.PolicyColumn, err)

	ans, err := h.metric("operator", `{"metrics": ["customer_count"], "dimensions": ["tenant"]}`)
	require.NoError(t, err)
	require.Len(t, ans.Table.Rows, 3)
	require.Contains(t, strings.Join(ans.Warnings, "\n"), "tenant is masked for you")
}

// TestMasksOfTheModel hold for every subject, under a policy's mask too, in SQL and
// in metric questions, and are told by the tools that describe.
func TestMasksOfTheModel(t *testing.T) {
	mask := func(field, mask string) [3]string {
		return [3]string{"models/customers.cue", field + ": {type: ", field + ": {mask: {" + mask + "}, type: "}
	}
	h := open(t, workspace(t,
		mask("signed_up", `kind: "range", width: "1 quarter", filterable: true`),
		mask("risk_score", `kind: "range", width: 0.25`),
		mask("name", `kind: "expression", expr: "left(name, 4) || '...'", filterable: true`),
		mask("email", `kind: "first", n: 3`),
	))
	shown := h.rows("operator", "SELECT id, name, email, signed_up FROM customers WHERE id <= 2 ORDER BY id")
	require.Regexp(t, `^1,\S{4}\.\.\.,\S{3}\*\*\*,20\d\d-(01|04|07|10)-01\n2,`, shown)
	// Support's own masks stand on the model's: two characters of the name, a hash of three of the mail.
	require.Regexp(t, `^1,\S\S\*\*\*,[0-9a-f]{32}\n`, h.rows("sam", "SELECT id, name, email FROM customers WHERE id = 1"))
	require.Equal(t, shop(t).rows("sam", "SELECT count(DISTINCT email) > 60 AS many FROM customers"), h.rows("operator", "SELECT true AS many"))
	_, err := h.sql("sam", "SELECT count(DISTINCT email) AS n FROM customers")
	h.code(diag.PolicyColumn, err) // the model does not let it be filtered, so a policy cannot
	require.Equal(t, "0\n", h.rows("operator", "SELECT count(*) AS n FROM customers WHERE signed_up <> date_trunc('quarter', signed_up)"))

	ans, err := h.metric("operator", `{"metrics": ["customer_count"], "dimensions": ["signed_up"]}`)
	require.NoError(t, err)
	require.Contains(t, strings.Join(ans.Warnings, "\n"), "signed_up is masked for you")
	_, err = h.metric("operator", `{"metrics": ["avg_risk"]}`)
	h.code(diag.PolicyColumn, err)

	table, err := h.Table(t.Context(), engine.Describing{Tool: engine.ToolDescribe, Subject: h.subject("operator"), Table: "customers"})
	require.NoError(t, err)
	kinds := map[string]string{}
	for _, c := range table.Columns {
		if c.Mask != "" {
			kinds[c.Name] = c.Mask
		}
	}
	require.Equal(t, map[string]string{"signed_up": "range", "name": "expression", "email": "first"}, kinds)

	x, err := h.explain("operator", "SELECT name FROM customers")
	require.NoError(t, err)
	require.Contains(t, x.Explain.Text(), "rule model at models/customers.cue:")
}

// TestMasksOfTheModelThatDoNotFit are mistakes of the model, with their places.
func TestMasksOfTheModelThatDoNotFit(t *testing.T) {
	for mask, want := range map[string]string{
		`signed_up: {mask: {kind: "range", width: 10}, type: `:             `models/customers.cue:\d+: model.invalid: the width of a band fits the column; that of the model does not`,
		`signed_up: {mask: {kind: "range", width: "3 fortnights"}, type: `: `period must be`,
		`plan: {mask: {kind: "year"}, type: `:                              `models/customers.cue:.*model.invalid: a mask of kind year`,
		`plan: {mask: {kind: "rot13"}, type: `:                             `kind must be one of`,
		`plan: {mask: {kind: "expression", expr: "upper(name)"}, type: `:   `models/customers.cue:.*model.sql: mask: .*name`,
		`id: {mask: {kind: "null"}, type: `:                                `a key has none; field "id" is part of the primary key`,
	} {
		field, _, _ := strings.Cut(mask, ":")
		root := workspace(t, [3]string{"models/customers.cue", "\t" + field + ": {type: ", "\t" + mask})
		_, err := engine.Open(t.Context(), root, engine.Options{Now: clock, Temp: t.TempDir(), AuditTo: root + ".jsonl"})
		require.Error(t, err, mask)
		require.Regexp(t, want, err.Error(), mask)
	}
}

// TestBandsAreProved: bands of every type pass the proof, and are what arithmetic says.
func TestBandsAreProved(t *testing.T) {
	h, plain := open(t, workspace(t, [3]string{"rego/access.rego", "", `
masks.bands := {
	"total_cents": {"kind": "range", "width": 1000, "filterable": true},
	"discount": {"kind": "range", "width": 0.5},
	"placed_at": {"kind": "year"},
	"order_date": {"kind": "range", "width": "1 month", "filterable": true},
	"month": {"kind": "expression", "expr": "left(month, 4)"},
} if {
	input.entity.name == "orders"
}
`})), shop(t)
	require.Equal(t,
		plain.rows("ana", "SELECT id, CAST(total_cents - total_cents % 1000 AS BIGINT) AS a, CAST(discount - discount % 0.5 AS DECIMAL(12,2)) AS b, CAST(date_trunc('year', placed_at) AS TIMESTAMP) AS c, CAST(date_trunc('month', order_date) AS DATE) AS d, left(month, 4) AS e FROM orders ORDER BY id LIMIT 50"),
		h.rows("ana", "SELECT id, total_cents AS a, discount AS b, placed_at AS c, order_date AS d, month AS e FROM orders ORDER BY id LIMIT 50"))
	const by = `{"metrics": ["order_count"], "dimensions": ["order_date"], "order": [{"by": "order_date"}]}`
	ans, err := h.metric("ana", by)
	require.NoError(t, err)
	want := plain.rows("ana", "SELECT date_trunc('month', order_date) AS m, count(*) AS n FROM orders GROUP BY m ORDER BY m")
	require.Len(t, ans.Table.Rows, strings.Count(want, "\n"))
	_, err = h.sql("ana", "SELECT count(*) AS n FROM orders WHERE discount > 1")
	h.code(diag.PolicyColumn, err)
}

// TestMaskedValuesChangeNothing asks the same in two worlds whose masks show the
// same over other values: every answer and every error is the same.
func TestMaskedValuesChangeNothing(t *testing.T) {
	masks := [3]string{"rego/access.rego", "", `
masks.twins := {
	"name": {"kind": "expression", "expr": "left(name, 3)", "filterable": true},
	"signed_up": {"kind": "range", "width": "1 quarter", "filterable": true},
	"region": {"kind": "expression", "expr": "CASE WHEN region IN ('eu', 'us') THEN 'west' ELSE 'east' END", "filterable": true},
	"plan": {"kind": "redact", "filterable": true},
	"id": {"kind": "range", "width": 1000000000, "filterable": true},
} if {
	lib.role("analyst")
	input.entity.name == "customers"
}
`}
	one := workspace(t, masks)
	other := workspace(t, masks)
	file := filepath.Join(other, "data", "customers.csv")
	f, err := os.Open(file)
	require.NoError(t, err)
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	at := func(name string) int { return slices.Index(rows[0], name) }
	for _, row := range rows[1:] {
		row[at("id")] = "77" + row[at("id")]
		row[at("name")] = string([]rune(row[at("name")])[:3]) + "?"
		row[at("signed_up")] = row[at("signed_up")][:8] + "02"
		row[at("region")] = map[string]string{"eu": "us", "us": "eu"}[row[at("region")]]
		row[at("plan")] = "5"
	}
	var text strings.Builder
	require.NoError(t, csv.NewWriter(&text).WriteAll(rows))
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))

	a, b, answered := open(t, one), open(t, other), 0
	for _, q := range []string{
		"SELECT id, name, signed_up, region, plan FROM customers ORDER BY ALL",
		"SELECT region, plan, count(*) AS n, count(DISTINCT name) AS names, min(signed_up) AS low, max(signed_up) AS high FROM customers GROUP BY ALL ORDER BY ALL",
		"SELECT count(*) AS n FROM customers WHERE region = 'eu' OR plan = 'free' OR name LIKE '%?' OR length(name) <> 3 OR day(signed_up) = 2 OR id > 70",
		"SELECT CAST(name AS INTEGER) AS n FROM customers WHERE plan <> '***'",
		"SELECT CAST(plan AS INTEGER) AS n FROM customers",
		"SELECT 1 // id AS n FROM customers WHERE id <> 0",
		"SELECT signed_up, rank() OVER (ORDER BY signed_up, name) AS r FROM customers ORDER BY ALL",
		"SELECT c.name, count(*) AS n FROM customers c JOIN customers d ON c.name = d.name GROUP BY ALL ORDER BY ALL",
		"SELECT approx_count_distinct(id) AS n, string_agg(region, '' ORDER BY region) AS r FROM customers",
		"SELECT name FROM customers ORDER BY plan, id, signed_up, name LIMIT 5",
		"SELECT regexp_extract(name, '(.*)?', 1) AS x, md5(region) AS y FROM customers GROUP BY ALL ORDER BY ALL",
	} {
		got := write(a.sql("ana", q))
		require.Equal(t, got, write(b.sql("ana", q)), q)
		if !strings.HasPrefix(got, "refused") {
			answered++
		}
	}
	require.Equal(t, 10, answered, "only the cast of plans fails")
	for _, q := range []string{
		`{"metrics": ["customer_count"], "dimensions": ["region", "signed_up"], "order": [{"by": "region"}]}`,
		`{"metrics": ["customer_count"], "filters": [{"field": "region", "op": "=", "values": ["west"]}]}`,
		`{"metrics": ["customer_count"], "dimensions": ["paying"]}`,
		`{"metrics": ["revenue"], "dimensions": ["plan"]}`,
	} {
		require.Equal(t, write(a.metric("ana", q)), write(b.metric("ana", q)), q)
	}
}
