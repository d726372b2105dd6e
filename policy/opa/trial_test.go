package opa

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// tried is a bundle in which rules of every document are written once in force and
// once on trial, by mode: the annotation, or nothing.
func tried(t *testing.T, mode string) *Policy {
	return openText(t, map[string]string{
		"base.rego": "package plumbline.access\n\nvisible.some if input.entity.name != \"products\"\n\ncolumns.some[field.name] := field.class if {\n\tsome field in input.entity.fields\n\tfield.name != \"status\"\n}\n",
		"rows.rego": "package plumbline.access\n\nrows.own if input.row.id == 1\n",
		"question.rego": "package plumbline.question\n\nallow.all if \"analyst\" in input.subject.roles\n\n" +
			mode + "deny.none := \"not today\" if true\n\n" + mode + "allow.everyone if true\n",
		"limits.rego": "package plumbline.limits\n\n" + mode + "lower.few := {\"rows\": 5}\n",
		"verify.rego": "package plumbline.verify\n\nallow.all if true\n\n" + mode + "deny.none := \"not this text\" if true\n",
		"tried.rego": "package plumbline.access\n\n" + mode + "visible.more if true\n\n" +
			mode + "columns.more[field.name] := field.class if {\n\tsome field in input.entity.fields\n\tfield.name == \"status\"\n}\n\n" +
			mode + "masks.more := {\"tenant\": {\"kind\": \"redact\"}} if input.entity.name == \"orders\"\n\n" +
			mode + "all_rows.more if input.subject.id == \"op\"\n\n" +
			mode + "rows.more if input.row.id == 2\n\n" +
			mode + "min_group.more := {\"size\": 3} if input.subject.id == \"op\"\n",
	})
}

const logOnly = "# METADATA\n# custom:\n#   mode: log\n"

// withoutTrials leaves out what was only told.
func withoutTrials(a policy.EntityAccess) policy.EntityAccess {
	a.Logged = nil
	return a
}

// TestTrials: a rule on trial of any document changes nothing and is told where it
// would have spoken; without the annotation it decides.
func TestTrials(t *testing.T) {
	ctx := context.Background()
	force, log := tried(t, ""), tried(t, logOnly)
	e := orders()
	before := openText(t, map[string]string{
		"base.rego":     "package plumbline.access\n\nvisible.some if input.entity.name != \"products\"\n\ncolumns.some[field.name] := field.class if {\n\tsome field in input.entity.fields\n\tfield.name != \"status\"\n}\n",
		"rows.rego":     "package plumbline.access\n\nrows.own if input.row.id == 1\n",
		"question.rego": "package plumbline.question\n\nallow.all if \"analyst\" in input.subject.roles\n",
	})
	for _, who := range []string{"ana", "op"} {
		want, err := before.Entity(ctx, people[who], testNow, e)
		require.NoError(t, err)
		got, err := log.Entity(ctx, people[who], testNow, e)
		require.NoError(t, err)
		require.Equal(t, want, withoutTrials(got), who)
		decided, err := force.Entity(ctx, people[who], testNow, e)
		require.NoError(t, err)
		require.NotEqual(t, want, withoutTrials(decided), who)
		require.Empty(t, decided.Logged)
		require.Equal(t, "***", strings.Trim(decided.Columns["tenant"].Mask.SQL, "'"))
	}
	told := func(list []policy.Logged) string {
		var b strings.Builder
		for _, l := range list {
			require.Contains(t, []string{"rego/tried.rego", "rego/question.rego", "rego/limits.rego", "rego/verify.rego"}, l.Rule.File)
			require.NotZero(t, l.Rule.Line)
			fmt.Fprintf(&b, "%s.%s would %s\n", l.Document, l.Rule.ID, l.Would)
		}
		return b.String()
	}
	ana, err := log.Entity(ctx, people["ana"], testNow, e)
	require.NoError(t, err)
	require.Equal(t, `columns.more would give orders.status as output
masks.more would mask orders.tenant as redact
visible.more would make orders visible
rows.more would show rows of orders where "id" = 2
`, told(ana.Logged))
	op, err := log.Entity(ctx, people["op"], testNow, e)
	require.NoError(t, err)
	require.Contains(t, told(op.Logged), "all_rows.more would show every row of orders\n")
	require.Contains(t, told(op.Logged), `min_group.more would say of orders: min_group {"size":3}`+"\n")

	products := semantictest.Shop().Entity("products")
	closed, err := log.Entity(ctx, people["ana"], testNow, products)
	require.NoError(t, err)
	require.Equal(t, policy.EntityAccess{}, withoutTrials(closed))
	require.Contains(t, told(closed.Logged), "visible.more would make products visible\n")

	for who, verdict := range map[string]policy.Verdict{"ana": policy.Allow, "sam": policy.Deny} {
		facts := policy.Facts{Subject: people[who], Tool: "query_sql", Now: testNow, Limits: policy.Limits{TimeMS: 1000, Rows: 1000, Bytes: 1000}}
		d, err := log.Decide(ctx, facts, nil)
		require.NoError(t, err)
		require.Equal(t, verdict, d.Verdict)
		require.Equal(t, int64(1000), d.Limits.Rows)
		require.Equal(t, "allow.everyone would allow it\ndeny.none would deny it: not today\nlower.few would lower {\"rows\":5}\n", told(d.Logged))
		d, err = force.Decide(ctx, facts, nil)
		require.NoError(t, err)
		require.Equal(t, policy.Deny, d.Verdict)
		require.Equal(t, int64(5), d.Limits.Rows)
		require.Empty(t, d.Logged)
	}
	reasons, logged, err := log.Verify(ctx, policy.Summary{Subject: people["ana"]})
	require.NoError(t, err)
	require.Empty(t, reasons)
	require.Equal(t, "deny.none would deny it: not this text\n", told(logged))
	reasons, logged, err = force.Verify(ctx, policy.Summary{Subject: people["ana"]})
	require.NoError(t, err)
	require.Len(t, reasons, 1)
	require.Empty(t, logged)
}

// TestTrialsThatFail change nothing and are told.
func TestTrialsThatFail(t *testing.T) {
	ctx := context.Background()
	conflict := logOnly + "masks.x[\"status\"] := {\"kind\": \"null\"} if true\n\n" + logOnly + "masks.x[\"status\"] := {\"kind\": \"redact\"} if input.subject.id != \"\"\n"
	p := openText(t, map[string]string{"x.rego": "package plumbline.access\n\n" + conflict,
		"question.rego": "package plumbline.question\n\nallow.all if true\n\n" + logOnly + "deny.x := 1 / 0 if true\n"})
	a, err := p.Entity(ctx, people["ana"], testNow, orders())
	require.NoError(t, err)
	require.Nil(t, a.Columns["status"].Mask)
	require.Len(t, a.Logged, 1)
	require.Contains(t, a.Logged[0].Would, "fail, so that")
	d, err := p.Decide(ctx, policy.Facts{Subject: people["ana"]}, nil)
	require.NoError(t, err)
	require.Equal(t, policy.Allow, d.Verdict)
	require.Len(t, d.Logged, 1)
	require.Contains(t, d.Logged[0].Would, "fail")

	err = p.CheckSamples(ctx, []policy.Subject{people["ana"]}, semantic.NewCatalog(semantic.Catalog{}))
	requireCode(t, diag.ConfigRego, err)

	// At load they are mistakes, and so is a rows rule that cannot be said or never speaks.
	for text, want := range map[string]string{
		conflict: "a policy rule failed",
		logOnly + "masks.x := {\"status\": {\"kind\": \"rot13\"}}\n": "a mask's kind",
		logOnly + "rows.x if count(input.row.status) > 2\n":          "a condition on the row has",
		logOnly + "rows.x if {\n\tfalse\n\tinput.row.id == 1\n}\n":   "rows.x holds for no sample subject",
		logOnly + "columns.x := {\"status\": \"anything\"}\n":        "a column's class",
		logOnly + "visible.x := \"yes\"\n":                           "another shape",
	} {
		p := openText(t, map[string]string{"x.rego": "package plumbline.access\n\n" + text})
		err := p.CheckSamples(ctx, []policy.Subject{people["ana"]}, semantic.NewCatalog(semantic.Catalog{Entities: []*semantic.Entity{orders()}}))
		require.ErrorContains(t, err, want, text)
		requireCode(t, diag.ConfigRego, err)
	}
}

// TestTrialModes: an annotation that would not do what it says stops the load.
func TestTrialModes(t *testing.T) {
	for text, want := range map[string]string{
		"package plumbline.access\n\n# METADATA\n# custom:\n#   mode: off\nvisible.x if true\n":                    "custom.mode is log",
		"# METADATA\n# scope: package\n# custom:\n#   mode: log\npackage plumbline.access\n\nvisible.x if true\n":  "custom.mode is of one rule",
		"package plumbline.access\n\n" + logOnly + "visible.x if true\n\nvisible.x if input.subject.id == \"a\"\n": "all bodies of a rule are in one mode",
		"package plumbline.access\n\nvisible.x if helper\n\n" + logOnly + "helper if true\n":                       "decides nothing by itself",
	} {
		_, err := Open(writeBundle(t, map[string]string{"x.rego": text}), Options{})
		require.ErrorContains(t, err, want, text)
		requireCode(t, diag.ConfigRego, err)
	}
	p := openText(t, map[string]string{"x.rego": "package plumbline.access\n\n# METADATA\n# scope: document\n# custom:\n#   mode: log\nmasks.x[name] := {\"kind\": \"null\"} if some name in [\"status\"]\n\nmasks.x[name] := {\"kind\": \"null\"} if some name in [\"tenant\"]\n"})
	a, err := p.Entity(context.Background(), people["ana"], testNow, orders())
	require.NoError(t, err)
	require.Nil(t, a.Columns["status"].Mask)
	require.Equal(t, "mask orders.status as null, orders.tenant as null", a.Logged[0].Would)
}
