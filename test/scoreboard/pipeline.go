package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"plumbline/compiler/emit"
	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
	"plumbline/policy/prove"
	"plumbline/policy/rewrite"
	"plumbline/semantic"
)

// rowCap is more than any case has rows.
const rowCap = 100_000

// pipeline is a catalog with rows, asked as the server is: compiled, resolved,
// fenced, proved, run. Whoever asks may see everything.
type pipeline struct {
	catalog    *semantic.Catalog
	db         *ducktest.DB
	exprs      *resolve.Expressions
	access     map[string]policy.EntityAccess
	functions  map[string]bool
	aggregates map[string]bool
	memo       prove.Memo
	// sparing proves every tenth text only: random questions are many.
	sparing bool
	texts   int
}

// answer is a table whose cells are text; NULL is nil.
type answer struct {
	columns []string
	types   []string // as the engine names them
	rows    [][]any
	sql     string // over entities, for people
}

// openPipeline checks the catalog's SQL and makes its tables. Its refusals are the model's.
func openPipeline(ctx context.Context, c *semantic.Catalog) (*pipeline, error) {
	db, err := ducktest.New(c)
	if err != nil {
		return nil, err
	}
	p := &pipeline{catalog: c, db: db, access: map[string]policy.EntityAccess{}, functions: map[string]bool{}, aggregates: map[string]bool{}}
	if p.exprs, err = resolve.CheckModel(ctx, db, c); err == nil {
		err = resolve.CheckTypes(ctx, p, c)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	for _, e := range c.Entities {
		a := policy.EntityAccess{Visible: true, Columns: map[string]policy.ColumnAccess{}, Rows: policy.Predicate{Truth: policy.Always}}
		for _, f := range e.Fields {
			a.Columns[f.Name.Key()] = policy.ColumnAccess{Class: f.Visibility}
		}
		p.access[e.Name.Key()] = a
	}
	for _, f := range resolve.Functions() {
		p.functions[f.Name] = true
		p.aggregates[f.Name] = p.aggregates[f.Name] || f.Kind == resolve.Aggregate
	}
	return p, nil
}

func (p *pipeline) close() { p.db.Close() }

// Types satisfies resolve.Typer.
func (p *pipeline) Types(ctx context.Context, texts []string) ([]resolve.Typed, error) {
	checked, err := p.db.Check(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := make([]resolve.Typed, len(checked))
	for i, c := range checked {
		out[i] = resolve.Typed{OK: c.OK, Plan: c.Plan}
		for _, column := range c.Columns {
			out[i].Columns = append(out[i].Columns, column.Type)
		}
	}
	return out, nil
}

// Entity satisfies resolve.View.
func (p *pipeline) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := p.catalog.Entity(n)
	if e == nil {
		return nil, nil
	}
	v := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}, SelectOnly: map[string]bool{}}
	for _, f := range e.Fields {
		v.Fields[f.Name.Key()] = f.Visibility
	}
	return v, nil
}

// Names satisfies resolve.View.
func (p *pipeline) Names() []string {
	var out []string
	for _, e := range p.catalog.Entities {
		out = append(out, string(e.Name))
	}
	return out
}

// fill puts rows into the tables in place of what they held. Values are written
// as SQL literals by literal.
func (p *pipeline) fill(ctx context.Context, rows []semantic.TestRows) error {
	for _, e := range p.catalog.Entities {
		if _, err := p.db.ExecContext(ctx, "DELETE FROM "+semantic.StorageName(e.Name)); err != nil {
			return err
		}
	}
	for _, t := range rows {
		e := p.catalog.Entity(t.Entity)
		if e == nil {
			return fmt.Errorf("rows: no entity %q", t.Entity)
		}
		if err := p.insert(ctx, e, t.Rows); err != nil {
			return err
		}
	}
	return nil
}

func (p *pipeline) insert(ctx context.Context, e *semantic.Entity, rows []map[string]any) error {
	if len(rows) == 0 {
		return nil
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		for name := range r {
			if e.Field(semantic.Name(name)) == nil {
				return fmt.Errorf("rows: %s has no field %q", e.Name, name)
			}
		}
		cells := make([]string, len(e.Fields))
		for j, f := range e.Fields {
			cells[j] = literal(r[string(f.Name)]) + "::" + f.Type.SQL()
		}
		lines[i] = "(" + strings.Join(cells, ", ") + ")"
	}
	_, err := p.db.ExecContext(ctx, "INSERT INTO "+semantic.StorageName(e.Name)+" VALUES "+strings.Join(lines, ", "))
	return err
}

func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return semantic.QuoteText(v)
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02 15:04:05.999999") + "'"
	}
	return fmt.Sprint(v)
}

// question asks in JSON, as a caller does. A panic is an error without a code,
// so that one case does not end the run.
func (p *pipeline) question(ctx context.Context, raw []byte, now time.Time) (out *answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	q, err := metric.Decode(raw)
	if err != nil {
		return nil, err
	}
	plan, err := metric.Build(p, p.catalog, q, metric.Options{Now: now, Expressions: p.exprs, AllRows: func(semantic.Name) bool { return true }})
	if err != nil {
		return nil, err
	}
	text, err := emit.SQL(plan)
	if err != nil {
		return nil, err
	}
	if out, err = p.run(ctx, text.SQL, text.Model); err != nil {
		return out, err
	}
	if q.Limit != nil && len(out.rows) > *q.Limit {
		out.rows = out.rows[:*q.Limit] // the text fetches one more, to know whether rows are cut
	}
	return out, nil
}

// sql asks in SQL. A panic is an error without a code.
func (p *pipeline) sql(ctx context.Context, text string) (out *answer, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	written, err := measure.Write(ctx, text, measure.Input{Parser: p.db, View: p, Catalog: p.catalog, Options: metric.Options{Expressions: p.exprs}})
	if err != nil {
		return nil, err
	}
	if written == nil {
		return p.run(ctx, text, nil)
	}
	out, err = p.run(ctx, written.SQL, written.Model)
	return out, written.Explain(err)
}

func (p *pipeline) run(ctx context.Context, text string, model []resolve.Span) (*answer, error) {
	final, err := p.proved(ctx, text, model)
	if err != nil {
		return &answer{sql: text}, err
	}
	out, err := p.fetch(ctx, final)
	if out != nil {
		out.sql = text
	}
	return out, err
}

// proved takes a text over entities through the stages that every text passes.
func (p *pipeline) proved(ctx context.Context, text string, model []resolve.Span) (string, error) {
	stmt, err := sqlast.Parse(ctx, p.db, text)
	if err != nil {
		return "", err
	}
	bound, err := resolve.Resolve(ctx, stmt, p, resolve.Options{ModelSpans: model})
	if err != nil {
		return "", err
	}
	if err := policy.CheckUses(bound, p.access); err != nil {
		return "", err
	}
	decision := policy.Decision{Verdict: policy.Allow, Entities: p.access}
	out, err := rewrite.Apply(ctx, p.db, bound, decision, rewrite.Options{RowCap: rowCap, Model: model})
	if err != nil {
		return "", err
	}
	if p.texts++; p.sparing && p.texts%10 != 0 {
		return out.Text, nil
	}
	in := prove.Input{Text: out.Text, Catalog: p.catalog, Decision: decision, RowCap: rowCap, Functions: p.functions, Aggregates: p.aggregates, Model: out.Model, Memo: &p.memo, Private: map[string][]semantic.Name{}}
	for _, o := range bound.Outputs {
		in.Names = append(in.Names, o.Name)
	}
	for _, u := range bound.Uses {
		r := bound.Refs[u.Ref]
		if u.Origin == resolve.Model && p.access[r.Entity.Name.Key()].Columns[u.Column.Key()].Class == semantic.Private {
			in.Private[r.Entity.Name.Key()] = append(in.Private[r.Entity.Name.Key()], u.Column)
		}
	}
	proof, _, err := prove.Check(ctx, p.db, in)
	return proof.Text(), err
}

func (p *pipeline) fetch(ctx context.Context, text string) (*answer, error) {
	rows, err := p.db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	out := &answer{}
	for _, t := range types {
		out.columns = append(out.columns, t.Name())
		out.types = append(out.types, t.DatabaseTypeName())
	}
	for rows.Next() {
		cells, at := make([]any, len(types)), make([]any, len(types))
		for i := range cells {
			at[i] = &cells[i]
		}
		if err := rows.Scan(at...); err != nil {
			return nil, err
		}
		for i := range cells {
			cells[i] = shown(cells[i], out.types[i])
		}
		out.rows = append(out.rows, cells)
	}
	return out, rows.Err()
}

// shown writes a value of the driver as text; nil stays nil, lists stay lists.
func shown(v any, typ string) any {
	switch v := v.(type) {
	case nil:
		return nil
	case time.Time:
		switch {
		case strings.HasPrefix(typ, "DATE"):
			return v.UTC().Format(time.DateOnly)
		case strings.HasPrefix(typ, "TIMESTAMP"):
			return v.UTC().Format("2006-01-02 15:04:05.999999")
		}
		return v.UTC().Format("15:04:05.999999")
	case duckdb.Decimal:
		return v.String()
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = shown(out[i], strings.TrimSuffix(typ, "[]"))
		}
		return out
	}
	return fmt.Sprint(v)
}
