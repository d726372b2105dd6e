package engine

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/semantic"
)

func TestValuesAreCounted(t *testing.T) {
	table := func(typ string, rows ...[]any) *shape.Table {
		return &shape.Table{Columns: []shape.Column{{Name: "plan", Type: "VARCHAR"}, {Name: "m", Type: typ}}, Rows: rows}
	}
	old := table("DECIMAL(12,2)", []any{"free", "1.00"}, []any{nil, "4.00"}, []any{"pro", "0.00"}, []any{"gone", "1.00"}, []any{"null", nil})
	for _, c := range []struct {
		name    string
		now     *shape.Table
		want    Values
		largest string
	}{
		{"the same, in another order and type", table("BIGINT", []any{"null", nil}, []any{nil, num("4")}, []any{"free", num("1")}, []any{"pro", num("0")}, []any{"gone", num("1")}), Values{By: "plan", Groups: 5}, "<nil>"},
		{"as doubles", table("DOUBLE", []any{"null", nil}, []any{nil, num("4.000000000001")}, []any{"free", num("1")}, []any{"pro", num("0")}, []any{"gone", num("1")}), Values{By: "plan", Groups: 5}, "<nil>"},
		{"a fall is larger than a rise", table("BIGINT", []any{"null", nil}, []any{nil, num("1")}, []any{"free", num("1.5")}, []any{"pro", num("0")}, []any{"gone", num("1")}), Values{By: "plan", Groups: 5, Differ: 2}, "3/4"},
		{"from 0 and from nothing there is no part", table("BIGINT", []any{"null", num("1")}, []any{nil, num("4")}, []any{"free", num("1")}, []any{"pro", num("7")}, []any{"gone", nil}), Values{By: "plan", Groups: 5, Differ: 3}, "<nil>"},
		{"groups come and go", table("BIGINT", []any{"null", nil}, []any{nil, num("4")}, []any{"free", num("1")}, []any{"pro", num("0")}, []any{"new", num("0")}, []any{"newer", num("0")}), Values{By: "plan", Groups: 7, Gone: 1, New: 2}, "<nil>"},
		{"another type", table("VARCHAR", []any{"null", nil}, []any{nil, "4.00"}, []any{"free", "1.00"}, []any{"pro", "0"}, []any{"gone", "1.00"}), Values{By: "plan", Groups: 5, Differ: 1}, "<nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Values{By: "plan"}
			got.count(old, c.now)
			require.Equal(t, c.largest, fmt.Sprint(got.Largest))
			got.Largest = nil
			require.Equal(t, c.want, got)
		})
	}
	total := Values{}
	total.count(&shape.Table{Columns: old.Columns[1:], Rows: [][]any{{"4.00"}}}, &shape.Table{Columns: old.Columns[1:], Rows: [][]any{{"1.00"}}})
	require.Equal(t, "-3/4", total.Largest.String(), "a total keeps its sign")
}

// What only one revision refuses is told; what both refuse alike is no difference.
func TestValuesOfRefusedQuestions(t *testing.T) {
	e, _ := small(t)
	s := policy.Subject{ID: "operator", Roles: []string{"operator"}, Claims: map[string]any{}}
	values, err := e.CompareValues(t.Context(), e, s, []Compared{{Old: "balance", New: "balance"}, {Old: "revenue", New: "balance"}, {Old: "revenue", New: "revenue", First: []semantic.Name{"Plan", "tenant"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"policy.required_filter", "policy.required_filter"}, values[0][0].Refused)
	require.True(t, values[0][0].Equal())
	require.Equal(t, []string{"", "policy.required_filter"}, values[1][0].Refused)
	require.False(t, values[1][0].Equal())
	var by []string
	for _, v := range values[2] {
		require.True(t, v.Equal(), v.By)
		by = append(by, v.By)
	}
	text, _ := json.Marshal(by)
	require.Equal(t, `["","metric_time:month","orders.tenant","plan","customers.tenant"]`, string(text))
}
