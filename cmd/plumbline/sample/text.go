package sample

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// create opens a file for write and reports every failure, also of the last
// buffered bytes. Cancelling ctx stops it at the next write.
func create(ctx context.Context, path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(stopper{ctx, f}, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

// stopper refuses to write once its context has ended.
type stopper struct {
	ctx context.Context
	w   io.Writer
}

func (s stopper) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

func writeCSV(ctx context.Context, path string, header []string, n int, row func(int) []string) error {
	return create(ctx, path, func(w io.Writer) error {
		c := csv.NewWriter(w)
		if err := c.Write(header); err != nil {
			return err
		}
		for i := range n {
			if err := c.Write(row(i)); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	})
}

func (w *world) writeCustomers(ctx context.Context, dir string) error {
	header := []string{"id", "name", "email", "phone", "ssn", "region", "plan", "tenant", "signed_up", "risk_score"}
	return writeCSV(ctx, filepath.Join(dir, "customers.csv"), header, len(w.customers), func(i int) []string {
		c := w.customers[i]
		risk := ""
		if c.risk >= 0 {
			risk = strconv.FormatFloat(c.risk, 'f', -1, 64)
		}
		return []string{fmt.Sprint(c.id), c.name, c.email, c.phone, c.ssn, c.region, c.plan, c.tenant, c.signedUp.Format(time.DateOnly), risk}
	})
}

func (w *world) writeProducts(ctx context.Context, dir string) error {
	header := []string{"id", "name", "category", "price_cents", "order", "größe", "active"}
	return writeCSV(ctx, filepath.Join(dir, "products.csv"), header, len(w.products), func(i int) []string {
		p := w.products[i]
		return []string{fmt.Sprint(p.id), p.name, p.category, fmt.Sprint(p.price), fmt.Sprint(i % 40), p.size, strconv.FormatBool(p.active)}
	})
}

// ticket is one line of support_tickets.ndjson; a nil pointer is null.
type ticket struct {
	ID         int64   `json:"id"`
	CustomerID *int64  `json:"customer_id"`
	CreatedAt  string  `json:"created_at"`
	Priority   *string `json:"priority"`
	Status     *string `json:"status"`
	Subject    string  `json:"subject"`
	Tenant     string  `json:"tenant"`
}

func (w *world) writeTickets(ctx context.Context, dir string) error {
	r := newRand(seedTickets)
	moments := make([]time.Time, 0, w.tickets)
	moments = append(moments, clockChanges()...)
	for len(moments) < w.tickets {
		moments = append(moments, moment(r, time.Second))
	}
	slices.SortFunc(moments, time.Time.Compare)
	subjects := []string{"cannot log in", "refund, please", `says "error 42"`, "Rechnung fehlt", "两次扣款", "slow\tpage", "select * from orders", "👍 thanks", "line\nbreak"}
	return create(ctx, filepath.Join(dir, "support_tickets.ndjson"), func(out io.Writer) error {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		for i, at := range moments {
			c := w.draw(r, at.Truncate(24*time.Hour), func(c *customer) float64 { return c.worries })
			t := ticket{
				ID: int64(i + 1), CustomerID: &c.id, CreatedAt: at.Format(time.DateTime), Tenant: c.tenant,
				Priority: orNull(pick(r, "low", 30, "normal", 45, "high", 18, "urgent", 5, "", 2)),
				Status:   orNull(pick(r, "open", 20, "pending", 15, "solved", 62, "", 3)),
				Subject:  subjects[r.IntN(len(subjects))],
			}
			switch r.IntN(100) {
			case 0:
				t.CustomerID = nil
			case 1:
				t.CustomerID = w.orphan(r)
			}
			if err := enc.Encode(t); err != nil {
				return err
			}
		}
		return nil
	})
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orphan is a customer id that no customer has.
func (w *world) orphan(r *rand.Rand) *int64 {
	id := int64(len(w.customers) + 1 + r.IntN(500))
	return &id
}
