package measure_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// TestGoldens walks testdata. Every file starts with the shop's catalog, one view
// sales over orders, and no rows.
//
//	model           adds to the shop: filter lines and view lines (see change)
//	rows <entity>   inserts rows, written as SQL values
//	ask [flags]     answers SQL: its rows, or its refusal
//	sql [flags]     shows what the SQL becomes, the model's ranges in «»
//
// Flags: hide=(entity, entity.field), mask=(entity.field), private=(entity.field).
func TestGoldens(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t, shop())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.run(t, d) })
	})
}

// shop is the shared catalog with one view.
func shop() *semantic.Catalog {
	return change(nil, semantictest.Shop(), "view sales orders: status, day=order_date, region=customers.region, big=customers.big_region")
}

type world struct {
	catalog *semantic.Catalog
	db      *ducktest.DB
	exprs   *resolve.Expressions
}

func newWorld(t testing.TB, c *semantic.Catalog) *world {
	db := ducktest.Open(t, c)
	for _, e := range c.Entities {
		cols := "*"
		for _, d := range e.Dimensions {
			if d.Expr != "" {
				cols += ", (" + d.Expr + ") AS " + semantic.Quote(string(d.Name))
			}
		}
		db.Exec(t, "CREATE VIEW "+semantic.Quote(string(e.Name))+" AS SELECT "+cols+" FROM "+semantic.StorageName(e.Name))
	}
	exprs, err := resolve.CheckModel(context.Background(), db, c)
	require.NoError(t, err)
	return &world{c, db, exprs}
}

var (
	filterLine = regexp.MustCompile(`^filter (\w+) (\w+) (\w+)(?: on (\w+))?: *(.*)$`)
	viewLine   = regexp.MustCompile(`^view (\S+) (\w+)(?: measures (\S+))?: (.*)$`)
	fieldLine  = regexp.MustCompile(`^measure (\w+) (\w+) = (\w+)\((.*?)\)(?: by (\w+))?(?: over (\w+) (\w+)(?: per (\w+))?)?(?: fill (\d+))?$`)
)

// change gives a catalog with a few things more:
//
//	filter orders fixed live: status <> 'void'
//	filter orders default recent on status: status = 'paid'
//	filter orders required day on order_date:
//	view sales orders measures revenue: status, area=customers.region
//	measure orders level = sum(total_cents) over order_date last per customer_id fill 0
//	measure orders newest = last(status) by order_date
func change(t testing.TB, c *semantic.Catalog, lines string) *semantic.Catalog {
	for _, line := range strings.Split(lines, "\n") {
		if f := filterLine.FindStringSubmatch(line); f != nil {
			e := c.Entity(semantic.Name(f[1]))
			e.Filters = append(e.Filters, &semantic.Filter{Kind: semantic.FilterKind(f[2]), Name: semantic.Name(f[3]), Field: semantic.Name(f[4]), Expr: f[5]})
		} else if v := viewLine.FindStringSubmatch(line); v != nil {
			view := &semantic.View{Name: semantic.Name(v[1]), Entity: semantic.Name(v[2])}
			for _, name := range strings.Split(v[3], ",") {
				if name != "" {
					view.Measures = append(view.Measures, semantic.Name(name))
				}
			}
			for _, col := range strings.Split(v[4], ", ") {
				name, path, ok := strings.Cut(col, "=")
				if !ok {
					path = name
				}
				view.Columns = append(view.Columns, semantic.ViewColumn{Name: semantic.Name(name), Path: path})
			}
			c.Views = append(c.Views, view)
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			e := c.Entity(semantic.Name(m[1]))
			out := &semantic.Measure{Name: semantic.Name(m[2]), Agg: semantic.Agg(m[3]), By: semantic.Name(m[5])}
			if out.Field = semantic.Name(m[4]); out.Agg == semantic.Custom || strings.Contains(m[4], " ") {
				out.Field, out.Expr = "", m[4]
			}
			if out.Agg == semantic.Percentile {
				out.Quantile = "0.5"
			}
			if m[6] != "" {
				out.Semi = &semantic.SemiAdditive{Over: semantic.Name(m[6]), Pick: semantic.Agg(m[7])}
				if m[8] != "" {
					out.Semi.Per = []semantic.Name{semantic.Name(m[8])}
				}
			}
			if m[9] != "" {
				n := int(m[9][0] - '0')
				out.Fill = &n
			}
			e.Measures = append(e.Measures, out)
		} else {
			require.Fail(t, "model", line)
		}
	}
	return semantic.NewCatalog(*c)
}

func (w *world) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "model":
		*w = *newWorld(t, change(t, shop(), d.Input))
		return ""
	case "rows":
		w.db.Exec(t, "INSERT INTO "+semantic.StorageName(semantic.Name(d.CmdArgs[0].Key))+" VALUES "+d.Input)
		return ""
	}
	v := w.view(d)
	text, err := w.write(v, d.Input)
	if err != nil {
		return err.Error() + "\n"
	}
	bound, err := w.bind(v, text)
	if err != nil {
		return text.Explain(err).Error() + "\n"
	}
	if d.Cmd == "sql" {
		return marked(text) + "\n"
	}
	return w.answer(t, text.SQL, bound)
}

func (w *world) write(v view, sql string) (*measure.Text, error) {
	text, err := measure.Write(context.Background(), sql, measure.Input{Parser: w.db, View: v, Catalog: w.catalog, Options: metric.Options{Expressions: w.exprs}})
	if text == nil && err == nil {
		stmt, err := sqlast.Parse(context.Background(), w.db, sql) // it goes on as it is
		if err == nil {
			_, err = resolve.Resolve(context.Background(), stmt, v, resolve.Options{})
		}
		return &measure.Text{SQL: sql}, err
	}
	return text, err
}

// bind resolves the written text as the pipeline does, and judges what the caller
// uses by its class.
func (w *world) bind(v view, text *measure.Text) (*resolve.Bound, error) {
	stmt, err := sqlast.Parse(context.Background(), w.db, text.SQL)
	if err != nil {
		return nil, err
	}
	return resolve.Resolve(context.Background(), stmt, v, resolve.Options{ModelSpans: text.Model})
}

func (w *world) answer(t testing.TB, sql string, bound *resolve.Bound) string {
	var b strings.Builder
	for i, o := range bound.Outputs {
		b.WriteString(strings.Repeat(" | ", min(i, 1)) + o.Name)
	}
	b.WriteString("\n")
	for _, row := range w.db.Rows(t, sql) {
		b.WriteString(strings.NewReplacer("<nil>", "NULL", " 00:00:00 +0000 UTC", "", " +0000 UTC", "", "\t", " | ").Replace(row) + "\n")
	}
	return b.String()
}

func marked(text *measure.Text) string {
	var b strings.Builder
	at := 0
	for _, s := range text.Model {
		b.WriteString(text.SQL[at:s.Start] + "«" + text.SQL[s.Start:s.End] + "»")
		at = s.End
	}
	b.WriteString(text.SQL[at:])
	for _, a := range text.Applied {
		fmt.Fprintf(&b, "\n-- %s %s: %s %v", a.Origin, a.Entity, a.Text, a.Overridden)
	}
	return b.String()
}

// view shows a catalog except what hidden names: entity or entity.field.
type view struct {
	catalog                 *semantic.Catalog
	hidden, masked, private map[string]bool
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
			case "private":
				v.private[name] = true
			}
		}
	}
	return v
}

func (v view) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := v.catalog.Entity(n)
	if e == nil || v.hidden[e.Name.Key()] {
		return nil, nil
	}
	vis := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}, SelectOnly: map[string]bool{}}
	for _, f := range e.Fields {
		key := e.Name.Key() + "." + f.Name.Key()
		if v.hidden[key] {
			continue
		}
		vis.Fields[f.Name.Key()] = f.Visibility
		if v.private[key] {
			vis.Fields[f.Name.Key()] = semantic.Private
		}
		if v.masked[key] {
			vis.Masked[f.Name.Key()] = true
		}
	}
	return vis, nil
}

func (v view) Names() []string {
	var out []string
	for _, e := range v.catalog.Entities {
		if !v.hidden[e.Name.Key()] {
			out = append(out, string(e.Name))
		}
	}
	return out
}
