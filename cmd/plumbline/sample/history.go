package sample

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// fees are what a month of each plan costs, in cents.
var fees = map[string]int64{"free": 0, "pro": 2_900, "enterprise": 19_900}

// writePlans writes what each customer had subscribed to and when: [valid_from,
// valid_to), the last one being the customer's plan. One customer in a hundred
// has no history, and one change in twenty comes after a month of nothing.
func (w *world) writePlans(ctx context.Context, dir string) (err error) {
	t, err := newParquet(ctx, filepath.Join(dir, "plan_history.parquet"), []arrow.Field{
		{Name: "customer_id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "plan", Type: arrow.BinaryTypes.String},
		{Name: "fee_cents", Type: arrow.PrimitiveTypes.Int64},
		{Name: "valid_from", Type: arrow.FixedWidthTypes.Date32},
		{Name: "valid_to", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "tenant", Type: arrow.BinaryTypes.String},
	})
	if err != nil {
		return err
	}
	defer func() { err = t.close(err) }()
	id, plan, fee := column[*array.Int64Builder](t, 0), column[*array.StringBuilder](t, 1), column[*array.Int64Builder](t, 2)
	from, to, tenant := column[*array.Date32Builder](t, 3), column[*array.Date32Builder](t, 4), column[*array.StringBuilder](t, 5)
	r := newRand(seedPlans)
	for _, c := range w.customers {
		if r.IntN(100) == 0 {
			continue
		}
		for _, v := range subscriptions(r, c) {
			id.Append(c.id)
			plan.Append(v.plan)
			fee.Append(fees[v.plan])
			from.Append(arrow.Date32FromTime(v.from))
			if v.to.IsZero() {
				to.AppendNull()
			} else {
				to.Append(arrow.Date32FromTime(v.to))
			}
			tenant.Append(c.tenant)
			if err := t.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// subscription is a plan and when it held; a zero to has no end.
type subscription struct {
	plan     string
	from, to time.Time
}

func subscriptions(r *rand.Rand, c customer) []subscription {
	var out []subscription
	start := c.signedUp
	for n := pick(r, "", 60, "1", 30, "12", 10); len(out) < len(n); {
		end := start.AddDate(0, 0, 30+r.IntN(200))
		if end.After(lastDay) {
			break
		}
		out = append(out, subscription{pick(r, "free", 60, "pro", 32, "enterprise", 8), start, end})
		if start = end; r.IntN(20) == 0 {
			start = start.AddDate(0, 1, 0)
		}
	}
	return append(out, subscription{plan: c.plan, from: start})
}

// writeRates writes the daily fixing of three currencies, on the days from Monday
// to Friday, from the second day on.
func (w *world) writeRates(ctx context.Context, dir string) error {
	r := newRand(seedRates)
	var rows [][]string
	for _, c := range []struct {
		name string
		rate int // millionths
	}{{"eur", 1_082_000}, {"gbp", 1_265_000}, {"usd", 1_000_000}} {
		for day := firstDay.AddDate(0, 0, 1); !day.After(lastDay); day = day.AddDate(0, 0, 1) {
			if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
				continue
			}
			if c.name != "usd" {
				c.rate += r.IntN(12_001) - 6_000
			}
			rows = append(rows, []string{c.name, day.Format(time.DateOnly) + " 15:00:00", fmt.Sprintf("%d.%06d", c.rate/1_000_000, c.rate%1_000_000)})
		}
	}
	return writeCSV(ctx, filepath.Join(dir, "exchange_rates.csv"), []string{"currency", "quoted_at", "rate"}, len(rows), func(i int) []string { return rows[i] })
}

// writePurchases writes what the shop bought, at the clock on its wall in
// Copenhagen. Francs have no rate.
func (w *world) writePurchases(ctx context.Context, dir string) error {
	r := newRand(seedPurchases)
	days := int(span / (24 * time.Hour))
	header := []string{"id", "product_id", "bought_at", "currency", "amount", "tenant"}
	return writeCSV(ctx, filepath.Join(dir, "purchases.csv"), header, 4*days, func(i int) []string {
		at := firstDay.AddDate(0, 0, i/4).Add(time.Duration(6+4*(i%4))*time.Hour + time.Duration(r.IntN(4*3600))*time.Second)
		cents := 10_000 + skewed(r, 900_000)
		return []string{
			fmt.Sprint(i + 1), fmt.Sprint(w.products[r.IntN(len(w.products))].id), at.Format(time.DateTime),
			pick(r, "usd", 45, "eur", 30, "gbp", 20, "chf", 5), fmt.Sprintf("%d.%02d", cents/100, cents%100),
			pick(r, "acme", 45, "globex", 35, "initech", 20),
		}
	})
}

// The retail calendar: years of 52 weeks that begin on the Sunday nearest to the
// first of February, quarters of four, five and four weeks.
var (
	retailStart = time.Date(2024, 2, 4, 0, 0, 0, 0, time.UTC)
	retailWeeks = [12]int{4, 5, 4, 4, 5, 4, 4, 5, 4, 4, 5, 4}
)

// writeCalendar writes three retail years of days.
func (w *world) writeCalendar(ctx context.Context, dir string) error {
	const year = 52 * 7
	var months []int // of each day of a year, the day its month begins
	for begin, m := 0, 0; m < len(retailWeeks); m++ {
		for range retailWeeks[m] * 7 {
			months = append(months, begin)
		}
		begin += retailWeeks[m] * 7
	}
	header := []string{"day", "retail_week", "retail_month", "retail_year", "week_number"}
	return writeCSV(ctx, filepath.Join(dir, "calendar.csv"), header, 3*year, func(i int) []string {
		start, n := i/year*year, i%year
		day := func(n int) string { return retailStart.AddDate(0, 0, n).Format(time.DateOnly) }
		return []string{day(i), day(start + n/7*7), day(start + months[n]), day(start), strconv.Itoa(n/7 + 1)}
	})
}
