package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plumbline/engine/duck"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
	"plumbline/sources/files"
)

// WithModels opens an engine that reads the models of the workspace in root in
// place of this one's; sources, policies, limits and the audit log stay. That each
// rule of the policies holds for some entity is not asked: rules may be newer than
// these models. The caller closes the engine before this one.
func (e *Engine) WithModels(ctx context.Context, root string) (*Engine, error) {
	_, catalog, err := load.Dir(root)
	if err != nil {
		return nil, err
	}
	w := e.current.Load()
	next, err := e.furnish(ctx, w.ws, catalog, w.policy)
	if err != nil {
		return nil, err
	}
	return e.beside(next), nil
}

// WithPolicy opens an engine that decides by the policies in a folder in place of this
// one's, and reads the models of the workspace in models, or this one's when that is
// "". Sources, limits and the audit log stay. The caller closes the engine before
// this one.
func (e *Engine) WithPolicy(ctx context.Context, policies, models string) (*Engine, error) {
	w := e.current.Load()
	catalog := w.catalog
	if models != "" {
		var err error
		if _, catalog, err = load.Dir(models); err != nil {
			return nil, err
		}
	}
	next, err := e.under(ctx, w.ws, catalog, policies)
	if err != nil {
		return nil, err
	}
	return e.beside(next), nil
}

// withRows opens an engine whose entities hold the given rows and no others. All
// else is this engine's: models, policies, limits and the audit log. The rows
// are written as files and read through the source that live files are read by.
// The caller closes it before this one.
func (e *Engine) withRows(ctx context.Context, rows []semantic.TestRows) (_ *Engine, err error) {
	w := e.current.Load()
	folder, err := rowsFolder(e.opts.temp())
	if err != nil {
		return nil, diag.Wrap(err, diag.ConfigInvalid, "the folder for temporary files cannot be used")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(folder))
		}
	}()
	relations, err := inline(folder, w.catalog, rows)
	if err != nil {
		return nil, err
	}
	ws := *w.ws
	ws.Limits.Workers = 1
	pool, err := openPool(ctx, &ws, relations, e.opts)
	if err != nil {
		return nil, err
	}
	return e.beside(&world{ws: &ws, catalog: w.catalog, expressions: w.expressions, policy: w.policy, pool: pool, functions: w.functions, aggregates: w.aggregates, rows: folder}), nil
}

// beside makes an engine over another world, with the audit log of e.
func (e *Engine) beside(w *world) *Engine {
	out := &Engine{root: e.root, opts: e.opts, audit: e.audit, now: e.now, quota: e.quota, drawn: e.drawn, guest: true}
	out.current.Store(w)
	return out
}

// rowsFolder makes a folder that the next pool removes, should this process die.
func rowsFolder(parent string) (string, error) {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, fmt.Sprintf(duck.FolderPattern, os.Getpid()))
}

// inline writes one file of rows per entity; those that rows leave out have none.
func inline(folder string, catalog *semantic.Catalog, rows []semantic.TestRows) ([]semantic.Storage, error) {
	given := map[string][]map[string]any{}
	var errs diag.List
	for _, r := range rows {
		if catalog.Entity(r.Entity) == nil {
			errs = append(errs, diag.New(diag.ModelUnknown, "no entity %q, for which rows are given", r.Entity).Suggest(semantic.Nearest(string(r.Entity), entityNames(catalog))...))
			continue
		}
		given[r.Entity.Key()] = append(given[r.Entity.Key()], r.Rows...)
	}
	var out []semantic.Storage
	for i, e := range catalog.Entities {
		text, mistakes := lines(e, given[e.Name.Key()])
		if errs = append(errs, mistakes...); len(errs) > 0 {
			continue
		}
		name := fmt.Sprintf("%d.csv", i)
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return nil, diag.Wrap(err, diag.ConfigInvalid, "the rows of %q cannot be written", e.Name)
		}
		read := *e
		read.Source = semantic.SourceRef{Source: "inline", Path: name, Format: "csv"}
		storage, err := files.Relation(semantic.SourceSpec{Name: "inline", Kind: "files", Root: folder}, &read)
		if err != nil {
			errs = append(errs, diag.All(err)...)
			continue
		}
		storage.Entity = e
		out = append(out, storage)
	}
	return out, errs.Err()
}

// lines gives rows as the text of a CSV file, with every field's column. One
// more column keeps a row of NULLs from being a blank line, which is no row.
func lines(e *semantic.Entity, rows []map[string]any) ([]byte, diag.List) {
	header := []string{"row"}
	for _, f := range e.Fields {
		if !slices.Contains(header[1:], f.Column) {
			header = append(header, f.Column)
		}
	}
	for slices.ContainsFunc(header[1:], func(c string) bool { return semantic.Name(c).Key() == header[0] }) {
		header[0] += "_"
	}
	var out bytes.Buffer
	for i, c := range header {
		separate(&out, i)
		out.WriteString(quotedCell(c))
	}
	var errs diag.List
	for n, row := range rows {
		out.WriteByte('\n')
		cells := map[string]string{header[0]: fmt.Sprint(n)}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			f := e.Field(semantic.Name(name))
			if f == nil {
				errs = append(errs, diag.New(diag.ModelUnknown, "no field %q of %q, for which a row has a value", name, e.Name).Suggest(semantic.Nearest(name, fieldNames(e))...))
				continue
			}
			v, ok := cell(row[name])
			if !ok {
				errs = append(errs, diag.New(diag.ModelInvalid, "a value of a row is text, a number, true, false or null, and one of %q of %q is not", name, e.Name))
			}
			cells[f.Column] = v
		}
		for i, c := range header {
			separate(&out, i)
			out.WriteString(cells[c])
		}
	}
	out.WriteByte('\n')
	return out.Bytes(), errs
}

func separate(out *bytes.Buffer, column int) {
	if column > 0 {
		out.WriteByte(',')
	}
}

// cell is a value as the source reads it exactly: NULL is nothing between two
// commas, an empty text is two quotes.
func cell(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case bool:
		return fmt.Sprint(v), true
	case string:
		return quotedCell(v), true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

func quotedCell(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

func entityNames(c *semantic.Catalog) []string {
	var out []string
	for _, e := range c.Entities {
		out = append(out, string(e.Name))
	}
	return out
}

func fieldNames(e *semantic.Entity) []string {
	var out []string
	for _, f := range e.Fields {
		out = append(out, string(f.Name))
	}
	return out
}
