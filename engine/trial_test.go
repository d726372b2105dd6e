package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

const logOnly = "\n# METADATA\n# custom:\n#   mode: log\n"

// TestTrialsAreRecorded: what rules in log-only mode would have done stands in the
// record of each question, answered or refused, and in an operator's explanation;
// the answer is as without them.
func TestTrialsAreRecorded(t *testing.T) {
	h := open(t, workspace(t,
		[3]string{"rego/access.rego", "", logOnly + "visible.tickets if {\n\tlib.role(\"analyst\")\n\tinput.entity.name == \"web_visits\"\n}\n" +
			logOnly + "masks.plans := {\"plan\": {\"kind\": \"redact\"}} if input.entity.name == \"customers\"\n" +
			logOnly + "rows.open if {\n\tlib.role(\"analyst\")\n\tinput.entity.name == \"orders\"\n\tinput.row.status == \"open\"\n}\n"},
		[3]string{"rego/question.rego", "", logOnly + "deny.customers := \"ask less\" if {\n\tsome entity in input.entities\n\tentity.name == \"customers\"\n}\n"},
		[3]string{"rego/verify.rego", "", logOnly + "deny.text := \"not this text\" if count(input.relations) > 0\n"},
	))
	const q = "SELECT plan, count(*) AS n FROM customers GROUP BY plan ORDER BY plan"
	require.Equal(t, shop(t).rows("ana", q), h.rows("ana", q))
	told := func() []string {
		r, keys := h.last()
		require.Contains(t, keys, "logged")
		var out []string
		for _, l := range r.Logged {
			require.NotZero(t, l.Rule.Line)
			out = append(out, l.Document+"."+l.Rule.ID+" would "+l.Would)
		}
		return out
	}
	require.Equal(t, []string{"deny.customers would deny it: ask less", "deny.text would deny it: not this text", "masks.plans would mask customers.plan as redact"}, told())

	_, err := h.sql("ana", "SELECT count(*) AS n FROM orders")
	require.NoError(t, err)
	require.Equal(t, []string{"deny.text would deny it: not this text", `rows.open would show rows of orders where "status" = 'open'`}, told())

	_, err = h.sql("sam", "SELECT count(*) AS n FROM web_visits")
	h.code(diag.ResolveUnknown, err)
	require.Empty(t, told())

	ans, err := h.explain("operator", q)
	require.NoError(t, err)
	require.Contains(t, ans.Explain.Text(), "log only\n  deny.customers at rego/question.rego:")
	ans, err = h.explain("ana", q)
	require.NoError(t, err)
	require.Empty(t, ans.Explain.Logged)
	require.NotContains(t, ans.Explain.Text(), "log only")
}

// TestTriedEntityIsRecorded: a question refused because its entity is hidden tells
// of the rule that would have shown it, and of no other entity's.
func TestTriedEntityIsRecorded(t *testing.T) {
	h := open(t, workspace(t, [3]string{"rego/access.rego", "", logOnly + "visible.everything if lib.role(\"support\")\n"}))
	_, err := h.sql("sam", "SELECT count(*) AS n FROM orders")
	h.code(diag.ResolveUnknown, err)
	r, _ := h.last()
	require.Len(t, r.Logged, 1)
	require.Equal(t, "make orders visible", r.Logged[0].Would)
}
