// Package ducktest gives tests of the compiler and of policy DuckDB's own
// reading of a text, in the test's process. The server never does this: it
// talks to worker processes (engine/duck).
package ducktest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2" // the engine under test

	"plumbline/policy/prove"
	"plumbline/semantic"
)

// DB is one in-memory DuckDB whose catalog is named as the storage is. Its base
// schema holds an empty typed table per entity, so that texts parse and plan as
// they do on the twins; tests may insert rows.
type DB struct{ *sql.DB }

// Open makes a DB with a table for each entity of c (c may be nil).
// It is closed when the test ends.
func Open(t testing.TB, c *semantic.Catalog) *DB {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// New is Open for commands: whoever asks for the DB closes it.
func New(c *semantic.Catalog) (*DB, error) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, stmt := range setUp(c) {
		if _, err := db.Exec(stmt); err != nil {
			db.Close()
			return nil, fmt.Errorf("%s: %w", stmt, err)
		}
	}
	return &DB{db}, nil
}

func setUp(c *semantic.Catalog) []string {
	out := []string{
		`ATTACH ':memory:' AS "` + semantic.StorageCatalog + `"`,
		`SET storage_compatibility_version='latest'`,
		`CREATE SCHEMA "` + semantic.StorageCatalog + `"."` + semantic.StorageSchema + `"`,
	}
	if c == nil {
		return out
	}
	for _, e := range c.Entities {
		cols := make([]string, len(e.Fields))
		for i, f := range e.Fields {
			cols[i] = semantic.Quote(string(f.Name)) + " " + f.Type.SQL()
		}
		out = append(out, "CREATE TABLE "+semantic.StorageName(e.Name)+" ("+strings.Join(cols, ", ")+")")
	}
	return out
}

// Exec runs one statement and fails the test on an error.
func (d *DB) Exec(t testing.TB, stmt string) {
	t.Helper()
	if _, err := d.DB.Exec(stmt); err != nil {
		t.Fatalf("%s: %v", stmt, err)
	}
}

// Serialize satisfies sqlast.Parser.
func (d *DB) Serialize(ctx context.Context, text string) ([]byte, error) {
	return d.one(ctx, "SELECT json_serialize_sql(?::VARCHAR, skip_null := false, skip_empty := false)::VARCHAR", text)
}

func (d *DB) one(ctx context.Context, q, text string) ([]byte, error) {
	var out string
	if err := d.QueryRowContext(ctx, q, text).Scan(&out); err != nil {
		return nil, err
	}
	return []byte(out), nil
}

// Check satisfies prove.Planner.
func (d *DB) Check(ctx context.Context, texts []string) ([]prove.Checked, error) {
	out := make([]prove.Checked, len(texts))
	for i, text := range texts {
		out[i] = d.check(ctx, text)
	}
	return out, nil
}

func (d *DB) check(ctx context.Context, text string) prove.Checked {
	tree, err := d.Serialize(ctx, text)
	if err != nil {
		return prove.Checked{Error: err.Error()}
	}
	plan, err := d.one(ctx, "SELECT json_serialize_plan(?::VARCHAR, skip_null := false, skip_empty := false, optimize := false)::VARCHAR", text)
	if err != nil {
		return prove.Checked{Error: err.Error()}
	}
	for _, reading := range [][]byte{tree, plan} { // also of what is no SELECT, which must not run here
		if strings.HasPrefix(string(reading), `{"error":true`) {
			return prove.Checked{Error: string(reading)}
		}
	}
	rows, err := d.QueryContext(ctx, text) // the twins are empty; a wrapping query would rename repeated columns
	if err != nil {
		return prove.Checked{Error: err.Error()}
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err := errors.Join(err, rows.Err()); err != nil {
		return prove.Checked{Error: err.Error()}
	}
	c := prove.Checked{OK: true, Tree: tree, Plan: plan}
	for _, ct := range types {
		c.Columns = append(c.Columns, prove.Column{Name: ct.Name(), Type: ct.DatabaseTypeName()})
	}
	return c
}

// Rows runs a text and gives each row as one tab-separated line.
func (d *DB) Rows(t testing.TB, text string) []string {
	t.Helper()
	rows, err := d.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	var out []string
	for rows.Next() {
		vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		cells := make([]string, len(cols))
		for i, v := range vals {
			cells[i] = fmt.Sprint(v)
		}
		out = append(out, strings.Join(cells, "\t"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
