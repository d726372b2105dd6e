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

	"plumbline/engine/duck"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
	"plumbline/sources/files"
)

// WithModels opens an engine that reads the models of the workspace in root in
// place of this one's; sources, policies, limits and the audit log stay. The
// caller closes it before this one.
func (e *Engine) WithModels(ctx context.Context, root string) (*Engine, error) {
	_, catalog, err := load.Dir(root)
	if err != nil {
		return nil, err
	}
	w := e.current.Load()
	if err := w.policy.CheckSamples(ctx, sampleSubjects(w.ws), catalog); err != nil {
		return nil, err
	}
	next, err := e.furnish(ctx, w.ws, catalog, w.policy)
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
	return e.beside(&world{ws: &ws, catalog: w.catalog, expressions: w.expressions, policy: w.policy, pool: pool, functions: w.functions, rows: folder}), nil
}

// beside makes an engine over another world, with the audit log of e.
func (e *Engine) beside(w *world) *Engine {
	out := &Engine{root: e.root, opts: e.opts, audit: e.audit, now: e.now, drawn: e.drawn, guest: true}
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
		name := fmt.Sprintf("%d.ndjson", i)
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return nil, diag.Wrap(err, diag.ConfigInvalid, "the rows of %q cannot be written", e.Name)
		}
		read := *e
		read.Source = semantic.SourceRef{Source: "inline", Path: name, Format: "ndjson"}
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

// lines gives rows as the text of an NDJSON file, with every field's column.
func lines(e *semantic.Entity, rows []map[string]any) ([]byte, diag.List) {
	var out bytes.Buffer
	var errs diag.List
	for _, row := range rows {
		object := make(map[string]any, len(e.Fields))
		for _, f := range e.Fields {
			object[f.Column] = nil
		}
		for _, name := range slices.Sorted(maps.Keys(row)) {
			f := e.Field(semantic.Name(name))
			if f == nil {
				errs = append(errs, diag.New(diag.ModelUnknown, "no field %q of %q, for which a row has a value", name, e.Name).Suggest(semantic.Nearest(name, fieldNames(e))...))
				continue
			}
			v, ok := cell(f, row[name])
			if !ok {
				errs = append(errs, diag.New(diag.ModelInvalid, "a value of a row is text, a number, true, false or null, and one of %q of %q is not", name, e.Name))
			}
			object[f.Column] = v
		}
		line, err := json.Marshal(object)
		if err != nil {
			errs = append(errs, diag.Wrap(err, diag.ModelInvalid, "a row of %q cannot be written as JSON", e.Name))
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), errs
}

// cell is a value as the source reads it exactly: numbers of exact types as
// text, since a JSON number with a fraction passes through a double there.
func cell(f *semantic.Field, v any) (any, bool) {
	switch v := v.(type) {
	case nil, bool, string:
		return v, true
	case json.Number:
		if f.Type == "double" || f.Type == "float" {
			return v, true
		}
		return v.String(), true
	}
	return nil, false
}

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
