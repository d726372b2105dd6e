package emit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// TestGoldens walks questions and traps. Every file starts with the shop's catalog and no rows.
//
//	model             replaces the catalog by a tiny one (see modelOf)
//	rows <entity>     inserts rows, written as SQL values or as a SELECT
//	ask [flags]       answers a question: its rows, or its refusal
//	sql [flags]       shows its text, the model's ranges in «», and what was applied
//	list [flags]      shows what list_metrics would
//
// Flags: hide=(entity, entity.field), mask=(entity.field), select_only=(entity.field): masked
// and only to be selected, complete: the subject sees all rows, limit=N: the server's own limit,
// now=(RFC 3339) in place of 2024-05-15T12:00:00Z.
func TestGoldens(t *testing.T) {
	for _, dir := range []string{"testdata/questions", "testdata/traps", "testdata/kinds"} {
		datadriven.Walk(t, dir, func(t *testing.T, path string) {
			w := newWorld(t, semantictest.Shop())
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.run(t, d) })
		})
	}
}

type world struct {
	catalog *semantic.Catalog
	db      *ducktest.DB
	exprs   *resolve.Expressions
}

func newWorld(t testing.TB, c *semantic.Catalog) *world {
	db := open(t, c)
	exprs, err := resolve.CheckModel(context.Background(), db, c)
	require.NoError(t, err)
	return &world{c, db, exprs}
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "model":
		*w = *newWorld(t, modelOf(t, d.Input))
		return ""
	case "rows":
		rows := d.Input
		if !strings.HasPrefix(rows, "SELECT ") {
			rows = "VALUES " + rows
		}
		w.db.Exec(t, "INSERT INTO "+semantic.StorageName(semantic.Name(d.CmdArgs[0].Key))+" "+rows)
		return ""
	case "list":
		return list(t, w.view(d), w)
	}
	text, plan, err := w.compile(d.Input, w.view(d), w.options(t, d))
	if err != nil {
		return err.Error() + "\n"
	}
	resolves(t, w, w.view(d), text)
	if d.Cmd == "sql" {
		return marked(text) + "\n" + applied(plan)
	}
	return answer(t, w.db, text)
}

func (w *world) view(d *datadriven.TestData) view {
	v := view{w.catalog, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, arg := range d.CmdArgs {
		for _, name := range arg.Vals {
			switch arg.Key {
			case "hide":
				v.hidden[name] = true
			case "mask":
				v.masked[name] = true
			case "select_only":
				v.masked[name], v.selectOnly[name] = true, true
			}
		}
	}
	return v
}

func (w *world) options(t *testing.T, d *datadriven.TestData) metric.Options {
	opts := metric.Options{Now: time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC), Expressions: w.exprs}
	if d.HasArg("complete") {
		opts.AllRows = func(semantic.Name) bool { return true }
	}
	d.MaybeScanArgs(t, "limit", &opts.DefaultLimit)
	var now string
	if d.MaybeScanArgs(t, "now", &now); now != "" {
		at, err := time.Parse(time.RFC3339, now)
		require.NoError(t, err)
		opts.Now = at
	}
	return opts
}

func (w *world) compile(question string, v view, opts metric.Options) (emit.Text, *metric.Plan, error) {
	q, err := metric.Decode([]byte(question))
	if err != nil {
		return emit.Text{}, nil, err
	}
	plan, err := metric.Build(v, w.catalog, q, opts)
	if err != nil {
		return emit.Text{}, nil, err
	}
	text, err := emit.SQL(plan)
	return text, plan, err
}

// answer gives the rows under their column names.
func answer(t *testing.T, db *ducktest.DB, text emit.Text) string {
	var b strings.Builder
	for i, c := range text.Columns {
		b.WriteString(strings.Repeat(" | ", min(i, 1)) + c.Name)
	}
	b.WriteString("\n")
	for _, row := range db.Rows(t, text.SQL) {
		row = strings.NewReplacer("<nil>", "NULL", " 00:00:00 +0000 UTC", "", " +0000 UTC", "", "\t", " | ").Replace(row)
		b.WriteString(row + "\n")
	}
	return b.String()
}

// marked shows the ranges that the model wrote.
func marked(text emit.Text) string {
	var b strings.Builder
	at := 0
	for _, s := range text.Model {
		b.WriteString(text.SQL[at:s.Start] + "«" + text.SQL[s.Start:s.End] + "»")
		at = s.End
	}
	return b.String() + text.SQL[at:]
}

func applied(p *metric.Plan) string {
	var b strings.Builder
	for _, a := range p.Applied {
		over := ""
		if a.Overridden {
			over = " (overridden)"
		}
		fmt.Fprintf(&b, "-- %s %s: %s%s\n", a.Origin, a.Entity, a.Text, over)
	}
	for _, w := range p.Warnings {
		b.WriteString("-- warning: " + w + "\n")
	}
	return b.String()
}
