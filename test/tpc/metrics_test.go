package tpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/shape"
	"plumbline/policy"
)

// asked is a query of TPC-H as a metric question. As names, for each column of
// the query, the column of our answer that is the same.
type asked struct {
	question string
	as       []string
}

// questions are the queries that the metric language can ask, by number.
var questions = map[int]asked{
	1: {`{"metrics": ["sum_qty", "sum_base_price", "revenue", "sum_charge", "avg_qty", "avg_price", "avg_disc", "count_order"], "dimensions": ["l_returnflag", "l_linestatus"],
		"filters": [{"field": "l_shipdate", "op": "<=", "values": ["1998-09-02"]}]}`,
		[]string{"l_returnflag", "l_linestatus", "sum_qty", "sum_base_price", "revenue", "sum_charge", "avg_qty", "avg_price", "avg_disc", "count_order"}},
	3: {`{"metrics": ["revenue"], "dimensions": ["l_orderkey", "o_orderdate", "o_shippriority"],
		"filters": [{"field": "c_mktsegment", "op": "=", "values": ["BUILDING"]}, {"field": "o_orderdate", "op": "<", "values": ["1995-03-15"]}, {"field": "l_shipdate", "op": ">", "values": ["1995-03-15"]}],
		"order": [{"by": "revenue", "desc": true}, {"by": "o_orderdate"}], "limit": 10}`,
		[]string{"l_orderkey", "revenue", "o_orderdate", "o_shippriority"}},
	4: {`{"metrics": ["orders_count"], "dimensions": ["o_orderpriority"], "time": [{"field": "o_orderdate", "from": "1993-07-01", "to": "1993-09-30"}],
		"filters": [{"field": "late_line_count", "op": ">", "values": [0]}]}`,
		[]string{"o_orderpriority", "orders_count"}},
	6: {`{"metrics": ["sum_discount"], "time": [{"field": "l_shipdate", "from": "1994-01-01", "to": "1994-12-31"}],
		"filters": [{"field": "l_discount", "op": "between", "values": [0.05, 0.07]}, {"field": "l_quantity", "op": "<", "values": [24]}]}`,
		[]string{"sum_discount"}},
	7: {`{"metrics": ["revenue"], "dimensions": ["supplier.nation.n_name", "order.customer.nation.n_name", "l_year"], "time": [{"field": "l_shipdate", "from": "1995-01-01", "to": "1996-12-31"}],
		"filters": [{"any": [
			{"all": [{"field": "supplier.nation.n_name", "op": "=", "values": ["FRANCE"]}, {"field": "order.customer.nation.n_name", "op": "=", "values": ["GERMANY"]}]},
			{"all": [{"field": "supplier.nation.n_name", "op": "=", "values": ["GERMANY"]}, {"field": "order.customer.nation.n_name", "op": "=", "values": ["FRANCE"]}]}]}]}`,
		[]string{"supplier.nation.n_name", "order.customer.nation.n_name", "l_year", "revenue"}},
	8: {`{"metrics": ["market_share"], "dimensions": ["o_year"], "time": [{"field": "o_orderdate", "from": "1995-01-01", "to": "1996-12-31"}],
		"filters": [{"field": "order.customer.nation.region.r_name", "op": "=", "values": ["AMERICA"]}, {"field": "p_type", "op": "=", "values": ["ECONOMY ANODIZED STEEL"]}]}`,
		[]string{"o_year", "market_share"}},
	10: {`{"metrics": ["revenue"], "dimensions": ["c_custkey", "c_name", "c_acctbal", "order.customer.nation.n_name", "c_address", "c_phone", "c_comment"],
		"time": [{"field": "o_orderdate", "from": "1993-10-01", "to": "1993-12-31"}], "filters": [{"field": "l_returnflag", "op": "=", "values": ["R"]}],
		"order": [{"by": "revenue", "desc": true}], "limit": 20}`,
		[]string{"c_custkey", "c_name", "revenue", "c_acctbal", "order.customer.nation.n_name", "c_address", "c_phone", "c_comment"}},
	11: {`{"metrics": ["stock_value_sum", "stock_share"], "dimensions": ["ps_partkey"], "filters": [{"field": "n_name", "op": "=", "values": ["GERMANY"]}, {"field": "stock_share", "op": ">", "values": [0.0001]}],
		"order": [{"by": "stock_value_sum", "desc": true}]}`,
		[]string{"ps_partkey", "stock_value_sum"}},
	12: {`{"metrics": ["high_line_count", "low_line_count"], "dimensions": ["l_shipmode"], "segments": ["in_time_order"], "time": [{"field": "l_receiptdate", "from": "1994-01-01", "to": "1994-12-31"}],
		"filters": [{"field": "l_shipmode", "op": "in", "values": ["MAIL", "SHIP"]}]}`,
		[]string{"l_shipmode", "high_line_count", "low_line_count"}},
	13: {`{"metrics": ["custdist"], "dimensions": ["order_count"], "order": [{"by": "custdist", "desc": true}, {"by": "order_count", "desc": true}]}`,
		[]string{"order_count", "custdist"}},
	14: {`{"metrics": ["promo_percent"], "time": [{"field": "l_shipdate", "from": "1995-09-01", "to": "1995-09-30"}]}`,
		[]string{"promo_percent"}},
	15: {`{"metrics": ["revenue", "revenue_rank"], "dimensions": ["s_suppkey", "s_name", "s_address", "s_phone"], "time": [{"field": "l_shipdate", "from": "1996-01-01", "to": "1996-03-31"}],
		"filters": [{"field": "revenue_rank", "op": "=", "values": [1]}]}`,
		[]string{"s_suppkey", "s_name", "s_address", "s_phone", "revenue"}},
	16: {`{"metrics": ["supplier_cnt"], "dimensions": ["p_brand", "p_type", "p_size"],
		"filters": [{"field": "p_brand", "op": "!=", "values": ["Brand#45"]}, {"field": "complained_of", "op": "=", "values": [false]}, {"field": "p_size", "op": "in", "values": [49, 14, 23, 45, 19, 3, 36, 9]},
			{"field": "not_medium_polished", "op": "=", "values": [true]}],
		"order": [{"by": "supplier_cnt", "desc": true}]}`,
		[]string{"p_brand", "p_type", "p_size", "supplier_cnt"}},
	18: {`{"metrics": ["sum_qty"], "dimensions": ["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"], "filters": [{"field": "sum_qty", "op": ">", "values": [300]}],
		"order": [{"by": "o_totalprice", "desc": true}, {"by": "o_orderdate"}], "limit": 100}`,
		[]string{"c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty"}},
	19: {`{"metrics": ["revenue"], "filters": [{"field": "l_shipmode", "op": "in", "values": ["AIR", "AIR REG"]}, {"field": "l_shipinstruct", "op": "=", "values": ["DELIVER IN PERSON"]}, {"any": [
			{"all": [{"field": "p_brand", "op": "=", "values": ["Brand#12"]}, {"field": "p_container", "op": "in", "values": ["SM CASE", "SM BOX", "SM PACK", "SM PKG"]}, {"field": "l_quantity", "op": "between", "values": [1, 11]}, {"field": "p_size", "op": "between", "values": [1, 5]}]},
			{"all": [{"field": "p_brand", "op": "=", "values": ["Brand#23"]}, {"field": "p_container", "op": "in", "values": ["MED BAG", "MED BOX", "MED PKG", "MED PACK"]}, {"field": "l_quantity", "op": "between", "values": [10, 20]}, {"field": "p_size", "op": "between", "values": [1, 10]}]},
			{"all": [{"field": "p_brand", "op": "=", "values": ["Brand#34"]}, {"field": "p_container", "op": "in", "values": ["LG CASE", "LG BOX", "LG PACK", "LG PKG"]}, {"field": "l_quantity", "op": "between", "values": [20, 30]}, {"field": "p_size", "op": "between", "values": [1, 15]}]}]}]}`,
		[]string{"revenue"}},
}

// beyond are the queries that are no metric questions, with the reason. Each can
// be asked in SQL (TestQueriesAnswerAsBareDuckDB).
var beyond = map[int]string{
	2:  "it keeps, for each part, the rows with the least cost of that part: a row is compared with an aggregate of its own group",
	5:  "it compares the nation of the customer with that of the supplier: a condition between two joined entities",
	9:  "its profit takes a price of the line and a cost of the part's supplier: a measure reads the fields of one entity",
	17: "it compares the quantity of a line with a fifth of the mean of its part: a condition between two entities",
	20: "it compares stock with half of what was shipped of the same part and supplier: a condition between two entities",
	21: "it asks whether other lines of the same order exist, and whether others were late",
	22: "it compares a balance with the mean of all positive balances: a row is compared with an aggregate",
}

// TestMetricQuestionsAnswerAsTheQueries asks TPC-H's queries as metric questions
// of a model, and compares with bare DuckDB's answers to the queries themselves.
func TestMetricQuestionsAnswerAsTheQueries(t *testing.T) {
	data := filepath.Join(files(t), "tpch")
	require.Equal(t, 22, len(questions)+len(beyond))
	root := workspace(t, data)
	text, err := os.ReadFile("testdata/tpch.cue")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "models", "tables.cue"), text, 0o600))
	eng, err := engine.Open(context.Background(), root, engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	subject, ok := eng.Subject("all")
	require.True(t, ok)
	bare := bareTables(t, data)

	right := 0
	for n := 1; n <= 22; n++ {
		q, ok := questions[n]
		if !ok {
			require.NotEmpty(t, beyond[n], "q%02d", n)
			continue
		}
		t.Run(fmt.Sprintf("q%02d", n), func(t *testing.T) {
			original, err := os.ReadFile(filepath.Join(data, fmt.Sprintf("q%02d.sql", n)))
			require.NoError(t, err)
			_, want := bareRows(t, bare, string(original))
			got, err := q.ask(eng, subject)
			require.NoError(t, err, "raw cause: %v", errors.Unwrap(err))
			sameTables(t, got, want)
			right++
		})
	}
	t.Logf("%d right, %d beyond the language", right, len(beyond))
}

// ask gives the answer with its columns in the order of the query.
func (q asked) ask(eng *engine.Engine, s policy.Subject) ([][]string, error) {
	question, err := metric.Decode([]byte(q.question))
	if err != nil {
		return nil, err
	}
	ans, err := eng.Answer(context.Background(), engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: &question})
	if err != nil {
		return nil, err
	}
	got := cells(ans.Table)
	for i, row := range got {
		got[i] = nil
		for _, name := range q.as {
			at := slices.IndexFunc(ans.Table.Columns, func(c shape.Column) bool { return c.Name == name })
			if at < 0 {
				return nil, fmt.Errorf("the answer has no column %q", name)
			}
			got[i] = append(got[i], row[at])
		}
	}
	return got, nil
}
