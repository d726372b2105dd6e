package sample

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// clockChanges are moments around the hours that Europe skips or repeats, and
// around the ends of quarters and of the data.
func clockChanges() []time.Time {
	var out []time.Time
	for _, s := range []string{
		"2025-10-25 23:59:59", "2025-10-26 00:00:00", "2025-10-26 00:30:00", "2025-10-26 00:59:59", "2025-10-26 01:00:00", "2025-10-26 01:30:00",
		"2026-03-28 23:00:00", "2026-03-29 00:30:00", "2026-03-29 00:59:59", "2026-03-29 01:00:00", "2026-03-29 01:30:00", "2026-03-29 02:30:00",
		"2025-01-01 00:00:00", "2025-12-31 23:59:59", "2026-01-01 00:00:00", "2026-03-31 23:59:59", "2026-04-01 00:00:00", "2026-06-30 23:59:59",
	} {
		t, err := time.Parse(time.DateTime, s)
		if err != nil {
			panic("sample: " + s) // a constant of this file
		}
		out = append(out, t)
	}
	return out
}

// moment draws an instant of the data's time, to the unit.
func moment(r *rand.Rand, unit time.Duration) time.Time {
	return firstDay.Add(time.Duration(r.Int64N(int64(span/unit))) * unit)
}

// ordersTable is one file of orders.
type ordersTable struct {
	*parquetTable
	id, customer, total *array.Int64Builder
	date                *array.Date32Builder
	placed              *array.TimestampBuilder
	status, tenant      *array.StringBuilder
	discount            *array.Decimal128Builder
}

func newOrders(ctx context.Context, path string) (*ordersTable, error) {
	t, err := newParquet(ctx, path, []arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "customer_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "order_date", Type: arrow.FixedWidthTypes.Date32},
		{Name: "placed_at", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "total_cents", Type: arrow.PrimitiveTypes.Int64},
		{Name: "discount", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}, Nullable: true},
		{Name: "tenant", Type: arrow.BinaryTypes.String, Nullable: true},
	})
	if err != nil {
		return nil, err
	}
	return &ordersTable{
		parquetTable: t, id: column[*array.Int64Builder](t, 0), customer: column[*array.Int64Builder](t, 1),
		date: column[*array.Date32Builder](t, 2), placed: column[*array.TimestampBuilder](t, 3),
		status: column[*array.StringBuilder](t, 4), total: column[*array.Int64Builder](t, 5),
		discount: column[*array.Decimal128Builder](t, 6), tenant: column[*array.StringBuilder](t, 7),
	}, nil
}

// itemsTable is the file of order lines.
type itemsTable struct {
	*parquetTable
	order, product, price *array.Int64Builder
	line, qty             *array.Int32Builder
	tenant                *array.StringBuilder
}

func newItems(ctx context.Context, path string) (*itemsTable, error) {
	t, err := newParquet(ctx, path, []arrow.Field{
		{Name: "order_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "line", Type: arrow.PrimitiveTypes.Int32},
		{Name: "product_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "qty", Type: arrow.PrimitiveTypes.Int32},
		{Name: "price_cents", Type: arrow.PrimitiveTypes.Int64},
		{Name: "tenant", Type: arrow.BinaryTypes.String, Nullable: true},
	})
	if err != nil {
		return nil, err
	}
	return &itemsTable{
		parquetTable: t, order: column[*array.Int64Builder](t, 0), line: column[*array.Int32Builder](t, 1),
		product: column[*array.Int64Builder](t, 2), qty: column[*array.Int32Builder](t, 3),
		price: column[*array.Int64Builder](t, 4), tenant: column[*array.StringBuilder](t, 5),
	}, nil
}

// writeOrders writes orders by month and their lines. An order's total is the
// sum of its lines less its discount; one order in a hundred has no line.
func (w *world) writeOrders(ctx context.Context, dir string) (err error) {
	items, err := newItems(ctx, filepath.Join(dir, "order_items.parquet"))
	if err != nil {
		return err
	}
	defer func() { err = items.close(err) }()
	g := &orderWriter{world: w, r: newRand(seedOrders), items: items}
	g.plan()
	for month := firstDay; month.Before(lastDay); month = month.AddDate(0, 1, 0) {
		if err := g.month(ctx, filepath.Join(dir, "orders", "month="+month.Format("2006-01")), month); err != nil {
			return err
		}
	}
	return nil
}

// orderWriter holds what goes on from one month to the next.
type orderWriter struct {
	*world
	r      *rand.Rand
	items  *itemsTable
	orders *ordersTable // of the current month
	left   []time.Time  // moments not yet written, in order
	id     int64
}

// plan draws the moments of all orders: a shop that grows by half over the time.
func (g *orderWriter) plan() {
	g.left = append(make([]time.Time, 0, g.world.orders), clockChanges()...)
	for len(g.left) < g.world.orders {
		at := moment(g.r, time.Microsecond)
		if g.r.Int64N(int64(3*span)) < int64(2*span+at.Sub(firstDay)) {
			g.left = append(g.left, at)
		}
	}
	slices.SortFunc(g.left, time.Time.Compare)
}

func (g *orderWriter) month(ctx context.Context, dir string, month time.Time) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if g.orders, err = newOrders(ctx, filepath.Join(dir, "part-0.parquet")); err != nil {
		return err
	}
	defer func() { err = g.orders.close(err) }()
	for end := month.AddDate(0, 1, 0); len(g.left) > 0 && g.left[0].Before(end); g.left = g.left[1:] {
		if err := g.order(g.left[0]); err != nil {
			return err
		}
	}
	return nil
}

func (g *orderWriter) order(at time.Time) error {
	day := at.Truncate(24 * time.Hour)
	c := g.draw(g.r, day, func(c *customer) float64 {
		if day.Before(fade) {
			return c.buys
		}
		return c.buysLately
	})
	g.id++
	o, tenant := g.orders, c.tenant
	o.id.Append(g.id)
	switch g.r.IntN(200) {
	case 0: // nobody's order, sometimes of no tenant
		o.customer.AppendNull()
		tenant = drop(g.r, 25, tenant)
	case 1: // an order whose customer is gone
		o.customer.Append(*g.orphan(g.r))
	default:
		o.customer.Append(c.id)
	}
	o.date.Append(arrow.Date32FromTime(day))
	o.placed.Append(arrow.Timestamp(at.UnixMicro()))
	text(o.status, pick(g.r, "paid", 72, "open", 18, "cancelled", 6, "refunded", 3, "", 1))
	text(o.tenant, tenant)
	total, err := g.lines(tenant)
	if err != nil {
		return err
	}
	switch g.r.IntN(4) {
	case 0:
		o.discount.AppendNull()
	case 1:
		off := total * int64(g.r.IntN(20)) / 100
		total -= off
		o.discount.Append(decimal128.FromI64(off))
	default:
		o.discount.Append(decimal128.FromI64(0))
	}
	o.total.Append(total)
	return o.next()
}

// lines writes an order's lines and gives their sum.
func (g *orderWriter) lines(tenant string) (total int64, err error) {
	n := 1 + g.r.IntN(4)*g.r.IntN(3)
	if g.r.IntN(100) == 0 {
		return 500 + g.r.Int64N(10_000), nil
	}
	for line := range n {
		p := g.products[g.r.IntN(len(g.products))]
		qty := int64(1 + g.r.IntN(3)*g.r.IntN(3))
		if g.r.IntN(200) == 0 {
			qty = 0 // a line that corrects another
		}
		g.items.order.Append(g.id)
		g.items.line.Append(int32(line + 1))
		g.items.product.Append(p.id)
		g.items.qty.Append(int32(qty))
		g.items.price.Append(p.price)
		text(g.items.tenant, tenant)
		total += qty * p.price
		if err := g.items.next(); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// writeBalances writes one balance per paying customer and month since it signed
// up, with gaps, some negative ones, and some of customers that are gone.
func (w *world) writeBalances(ctx context.Context, dir string) (err error) {
	t, err := newParquet(ctx, filepath.Join(dir, "account_balances.parquet"), []arrow.Field{
		{Name: "customer_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "month", Type: arrow.FixedWidthTypes.Date32},
		{Name: "balance_cents", Type: arrow.PrimitiveTypes.Int64},
		{Name: "tenant", Type: arrow.BinaryTypes.String, Nullable: true},
	})
	if err != nil {
		return err
	}
	defer func() { err = t.close(err) }()
	id, month := column[*array.Int64Builder](t, 0), column[*array.Date32Builder](t, 1)
	balance, tenant := column[*array.Int64Builder](t, 2), column[*array.StringBuilder](t, 3)
	r := newRand(seedBalances)
	for _, c := range w.customers {
		if c.plan == "free" {
			continue
		}
		who, amount := c.id, r.Int64N(2_000_000)-100_000
		if r.IntN(100) == 0 {
			who += 1_000_000 // unknown, and still unique
		}
		start := time.Date(c.signedUp.Year(), c.signedUp.Month(), 1, 0, 0, 0, 0, time.UTC)
		for m := start; m.Before(lastDay); m = m.AddDate(0, 1, 0) {
			amount += r.Int64N(200_000) - 95_000
			if r.IntN(50) == 0 {
				continue
			}
			id.Append(who)
			month.Append(arrow.Date32FromTime(m))
			balance.Append(amount)
			text(tenant, c.tenant)
			if err := t.next(); err != nil {
				return err
			}
		}
	}
	return nil
}
