// Package sample writes the data of the demo workspace: a small shop with three
// tenants, in CSV, NDJSON and Parquet, made of a fixed seed and never downloaded.
//
// It stands beside cmd/plumbline and knows no floor but the error type. Two runs
// of one version write the same bytes. The data is meant to be awkward where
// real data is: null and orphaned keys, null tenants, names with quotes, commas,
// line breaks and emoji, reserved words as values and column names, and events in
// the nights in which Europe changes its clocks.
//
// Words: a tenant is one customer company of ours, and a row rule usually keeps
// tenants apart; a customer belongs to one tenant and so do its orders.
package sample

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"plumbline/semantic/diag"
)

// version changes whenever the bytes change.
const version = 2

// stampName is the file that marks a folder as written by this package.
const stampName = ".sample"

// entries are the names that Write puts into a folder, and all that it replaces.
var entries = []string{
	stampName, "customers.csv", "products.csv", "orders", "order_items.parquet", "support_tickets.ndjson", "account_balances.parquet",
	"plan_history.parquet", "exchange_rates.csv", "purchases.csv", "calendar.csv", "sales_reps.csv", "account_owners.csv",
	"labels.csv", "product_labels.csv", "web_visits.parquet",
}

// Options size the data. The zero value is refused; Full is what the demo uses.
type Options struct {
	Scale float64 // 1 is 20,000 customers and 500,000 orders
}

// Full is the demo's own size.
var Full = Options{Scale: 1}

// Write makes the demo's data in dir at its full size; see Options.Write.
func Write(ctx context.Context, dir string) error { return Full.Write(ctx, dir) }

// Write makes the data in dir, or leaves dir as it was: everything is written
// beside dir and renamed into place. A folder that already holds this version at
// this scale is left alone; one that holds another is replaced; one that holds
// anything else is refused with config.folder. A cancelled ctx leaves nothing
// behind and gives request.cancelled.
func (o Options) Write(ctx context.Context, dir string) (err error) {
	if o.Scale <= 0 || o.Scale > 10 {
		return diag.New(diag.RequestMalformed, "the scale of the sample data is above 0 and at most 10")
	}
	stamp := fmt.Sprintf("plumbline sample data, version %d, scale %g\n", version, o.Scale)
	current, err := inspect(dir, stamp)
	if err != nil || current {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return folderError(err, "the sample data has a parent folder that can be made")
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".sample-*")
	if err != nil {
		return folderError(err, "the sample data is written beside its folder first")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	made := filepath.Join(temp, "new")
	if err := writeAll(ctx, made, o.Scale, stamp); err != nil {
		if ctx.Err() != nil {
			return diag.Wrap(err, diag.RequestCancelled, "writing the sample data was cancelled")
		}
		return folderError(err, "the sample data can be written")
	}
	return publish(made, dir, filepath.Join(temp, "old"))
}

// inspect says whether dir already holds what stamp promises, and refuses a
// folder with entries that Write did not make.
func inspect(dir, stamp string) (current bool, err error) {
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, folderError(err, "the sample data needs a folder of its own")
	}
	if len(found) == 0 {
		return false, nil
	}
	have, err := os.ReadFile(filepath.Join(dir, stampName))
	foreign := slices.ContainsFunc(found, func(e fs.DirEntry) bool { return !slices.Contains(entries, e.Name()) })
	if err != nil || foreign {
		return false, folderError(err, "the folder %q holds files that are not sample data", dir)
	}
	return string(have) == stamp && len(found) == len(entries), nil
}

// publish puts made in the place of dir; what stood there goes to old.
func publish(made, dir, old string) error {
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folderError(err, "the folder %q can be replaced", dir)
	}
	moved := err == nil
	if err := os.Rename(made, dir); err != nil {
		if moved {
			err = errors.Join(err, os.Rename(old, dir))
		}
		return folderError(err, "the folder %q can be replaced", dir)
	}
	return nil
}

func folderError(cause error, format string, args ...any) error {
	return diag.Wrap(cause, diag.ConfigFolder, format, args...).WithHint("name an empty folder that you may write to")
}

// writeAll writes every table below dir, the stamp last.
func writeAll(ctx context.Context, dir string, scale float64, stamp string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	w := newWorld(scale)
	for _, table := range []func(context.Context, string) error{
		w.writeProducts, w.writeCustomers, w.writeOrders, w.writeTickets, w.writeBalances,
		w.writePlans, w.writeRates, w.writePurchases, w.writeCalendar, w.writeReps, w.writeOwners, w.writeLabels, w.writeVisits,
	} {
		if err := table(ctx, dir); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, stampName), []byte(stamp), 0o644)
}
