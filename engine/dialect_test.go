package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine"
	"plumbline/semantic/diag"
)

func (h house) postgres(id, text string) (*engine.Answer, error) {
	return h.Answer(h.t.Context(), engine.Request{Tool: engine.ToolSQL, Subject: h.subject(id), SQL: text, Dialect: engine.DialectPostgres, Asked: json.RawMessage(`{}`)})
}

// A dialect loosens no rule: whoever asks gets the same rows, filters and refusals
// as for the same text in DuckDB's, and every text leaves a record.
func TestDialectUnderTheSameRules(t *testing.T) {
	h := shop(t)
	texts := []string{
		"SELECT count(*) AS n, sum(total_cents) AS total FROM orders",
		"SELECT * FROM customers ORDER BY id LIMIT 5",
		"SELECT c.plan, count(o.id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.plan ORDER BY c.plan",
		"SELECT count(*) AS n FROM orders WHERE tenant = 'globex'",
		"SELECT balance_cents FROM account_balances",
		"SELECT nothing FROM orders",
		"SELECT id FROM nothing",
	}
	for _, column := range []string{"email", "phone", "risk_score", "tenant", "name", "birth_date", "ssn"} {
		texts = append(texts, "SELECT "+column+" AS c FROM customers ORDER BY id LIMIT 3", "SELECT count(*) AS n FROM customers WHERE "+column+" IS NOT NULL",
			"SELECT "+column+" AS c, count(*) AS n FROM customers GROUP BY "+column+" ORDER BY n DESC, c LIMIT 3")
	}
	answered, refused := 0, 0
	for _, who := range []string{"ana", "greta", "sam", "operator"} {
		for _, text := range texts {
			want, wantErr := h.sql(who, text)
			got, err := h.postgres(who, text)
			if diag.CodeOf(err) == diag.UnsupportedPostgres {
				require.Error(t, h.masked(want, wantErr), "%s: %s: %v", who, text, err)
				continue
			}
			record, _ := h.last()
			require.Equal(t, engine.ToolSQL, record.Tool)
			if wantErr != nil {
				require.Equal(t, diag.CodeOf(wantErr), diag.CodeOf(err), "%s: %s", who, text)
				require.Equal(t, diag.All(wantErr)[0].Error(), diag.All(err)[0].Error(), "%s: %s: the first of its refusals", who, text)
				refused++
				continue
			}
			require.NoError(t, err, "%s: %s", who, text)
			require.Equal(t, want.Table.Rows, got.Table.Rows, "%s: %s", who, text)
			require.Equal(t, want.Applied, got.Applied, "%s: %s", who, text)
			answered++
		}
	}
	require.Greater(t, answered, 20)
	require.Greater(t, refused, 10)
	_, err := h.Answer(t.Context(), engine.Request{Tool: engine.ToolSQL, Subject: h.subject("ana"), SQL: "SELECT 1", Dialect: "oracle", Asked: json.RawMessage(`{}`)})
	h.code(diag.RequestMalformed, err)
}

// masked gives an error where a text reads masked values, which the dialect shows
// and does not compute with.
func (h house) masked(ans *engine.Answer, err error) error {
	if err != nil {
		return err
	}
	for _, w := range ans.Warnings {
		if len(w) > 0 {
			return diag.New(diag.PolicyColumn, "%s", w)
		}
	}
	return nil
}
