package sqlast_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
)

// tpchLike has the size of a common question: three relations, some filters and sums.
const tpchLike = `SELECT c.region, o.status, date_trunc('month', o.order_date) AS month,
  sum(o.total_cents) AS revenue, count(DISTINCT o.customer_id) FILTER (WHERE o.status <> 'void') AS buyers
FROM orders o JOIN customers c ON o.customer_id = c.id LEFT JOIN support_tickets t ON t.customer_id = c.id
WHERE o.order_date BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' AND o.status IN ('paid', 'open')
  AND c.plan = 'pro' AND (t.priority = 'high' OR t.priority IS NULL)
GROUP BY ALL HAVING sum(o.total_cents) > 1000 ORDER BY revenue DESC LIMIT 20`

func BenchmarkDecode(b *testing.B) {
	raw, err := ducktest.Open(b, nil).Serialize(context.Background(), tpchLike)
	require.NoError(b, err)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := sqlast.Decode(tpchLike, raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	raw, err := ducktest.Open(b, nil).Serialize(context.Background(), tpchLike)
	require.NoError(b, err)
	x, err := sqlast.Decode(tpchLike, raw)
	require.NoError(b, err)
	y, err := sqlast.Decode(tpchLike, raw)
	require.NoError(b, err)
	for b.Loop() {
		if !sqlast.Equal(x.Root, y.Root) {
			b.Fatal("unequal")
		}
	}
}
