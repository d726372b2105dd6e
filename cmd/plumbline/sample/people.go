package sample

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// rep is one row of sales_reps.csv.
type rep struct {
	id                             int64
	name, team, department, tenant string
}

// reps are eight people in each tenant, in four teams of two departments.
func reps() []rep {
	names := []string{"Zoe", "adam", "Äsa", "Bruno", "Özil", "claire", "Émile", "Olga"}
	var out []rep
	for _, tenant := range []string{"acme", "globex", "initech"} {
		for i, name := range names {
			out = append(out, rep{
				id: int64(len(out) + 1), name: name + " of " + tenant, tenant: tenant,
				team: []string{"north", "south", "web", "phone"}[i/2], department: []string{"field", "inside"}[i/4],
			})
		}
	}
	return out
}

// writeReps writes the people who sell.
func (w *world) writeReps(ctx context.Context, dir string) error {
	all := reps()
	return writeCSV(ctx, filepath.Join(dir, "sales_reps.csv"), []string{"id", "name", "team", "department", "tenant"}, len(all), func(i int) []string {
		return []string{fmt.Sprint(all[i].id), all[i].name, all[i].team, all[i].department, all[i].tenant}
	})
}

// writeOwners writes which people look after a paying customer, and for what part
// of it: one, two or three of its tenant, whose parts make one.
func (w *world) writeOwners(ctx context.Context, dir string) (err error) {
	r, all := newRand(seedOwners), reps()
	parts := [][]string{{"1.0000"}, {"0.6000", "0.4000"}, {"0.5000", "0.3000", "0.2000"}}
	var rows [][]string
	for _, c := range w.customers {
		if c.plan == "free" {
			continue
		}
		base := map[string]int{"acme": 0, "globex": 8, "initech": 16}[c.tenant]
		first, step := r.IntN(8), 1+r.IntN(2)
		for i, part := range parts[r.IntN(len(parts))] {
			rows = append(rows, []string{fmt.Sprint(c.id), fmt.Sprint(all[base+(first+i*step)%8].id), part, c.tenant})
		}
	}
	return writeCSV(ctx, filepath.Join(dir, "account_owners.csv"), []string{"customer_id", "rep_id", "part", "tenant"}, len(rows), func(i int) []string { return rows[i] })
}

// labels are what is stuck on products, each of one family.
var labels = [][]string{{"organic", "green"}, {"recycled", "green"}, {"fair trade", "green"}, {"sale", "price"}, {"clearance", "price"}, {"new", "news"}}

// writeLabels writes the labels and which products bear them, none to three each.
func (w *world) writeLabels(ctx context.Context, dir string) error {
	r := newRand(seedLabels)
	var rows [][]string
	for _, p := range w.products {
		first := r.IntN(len(labels))
		for i := range r.IntN(4) {
			rows = append(rows, []string{fmt.Sprint(p.id), labels[(first+i)%len(labels)][0]})
		}
	}
	if err := writeCSV(ctx, filepath.Join(dir, "labels.csv"), []string{"name", "family"}, len(labels), func(i int) []string { return labels[i] }); err != nil {
		return err
	}
	return writeCSV(ctx, filepath.Join(dir, "product_labels.csv"), []string{"product_id", "label"}, len(rows), func(i int) []string { return rows[i] })
}

// writeVisits writes visits of the shop's pages. A third is of nobody known, and
// some stayed for no known time.
func (w *world) writeVisits(ctx context.Context, dir string) (err error) {
	t, err := newParquet(ctx, filepath.Join(dir, "web_visits.parquet"), []arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "customer_id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "visited_on", Type: arrow.FixedWidthTypes.Date32},
		{Name: "visited_at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Name: "channel", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "seconds", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "tenant", Type: arrow.BinaryTypes.String},
	})
	if err != nil {
		return err
	}
	defer func() { err = t.close(err) }()
	id, who := column[*array.Int64Builder](t, 0), column[*array.Int64Builder](t, 1)
	on, at := column[*array.Date32Builder](t, 2), column[*array.TimestampBuilder](t, 3)
	channel, seconds := column[*array.StringBuilder](t, 4), column[*array.Int32Builder](t, 5)
	tenant := column[*array.StringBuilder](t, 6)
	r := newRand(seedVisits)
	for i := range w.visits {
		when := moment(r, time.Second)
		day := when.Truncate(24 * time.Hour)
		c := w.draw(r, day, func(c *customer) float64 { return c.buys })
		id.Append(int64(i + 1))
		if r.IntN(3) == 0 {
			who.AppendNull()
		} else {
			who.Append(c.id)
		}
		on.Append(arrow.Date32FromTime(day))
		at.Append(arrow.Timestamp(when.UnixMicro()))
		text(channel, pick(r, "search", 40, "mail", 25, "social", 20, "direct", 12, "", 3))
		if r.IntN(20) == 0 {
			seconds.AppendNull()
		} else {
			seconds.Append(int32(5 + skewed(r, 1800)))
		}
		tenant.Append(c.tenant)
		if err := t.next(); err != nil {
			return err
		}
	}
	return nil
}
