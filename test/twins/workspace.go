package main

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // writes Parquet
)

//go:embed testdata/workspace testdata/rules
var templates embed.FS

// setting is one way in which the same world is held and ruled.
type setting struct {
	storage string // csv, parquet, or native: tables instead of views over files
	rule    string // equal, in
}

func (s setting) String() string { return s.storage + "/" + s.rule }

// format is the files' ending; native tables are filled from CSV.
func (s setting) format() string {
	if s.storage == "native" {
		return "csv"
	}
	return s.storage
}

// settings are all of them.
var settings = []setting{
	{"parquet", "equal"}, {"parquet", "in"}, {"csv", "equal"}, {"csv", "in"}, {"native", "equal"}, {"native", "in"},
}

// writeWorkspace writes a workspace with the given rows into dir.
func writeWorkspace(ctx context.Context, dir string, s setting, tables []table) error {
	if err := copyTree("testdata/workspace", dir, func(text string) string {
		return strings.ReplaceAll(text, ".FORMAT", "."+s.format())
	}); err != nil {
		return err
	}
	same := func(text string) string { return text }
	for _, name := range []string{"columns", "groups", "question", "verify", s.rule} {
		if err := copyFile("testdata/rules/"+name+".rego", filepath.Join(dir, "rego", name+".rego"), same); err != nil {
			return err
		}
	}
	data := filepath.Join(dir, "data")
	if err := writeCSV(data, tables); err != nil {
		return err
	}
	if s.storage != "parquet" {
		return nil
	}
	return toParquet(ctx, data, tables)
}

func copyTree(from, to string, edit func(string) string) error {
	return fs.WalkDir(templates, from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return copyFile(p, filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(p, from))), edit)
	})
}

func copyFile(from, to string, edit func(string) string) error {
	raw, err := templates.ReadFile(path.Clean(from))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(edit(string(raw))), 0o600)
}

// types are the models' types of the columns that are not text.
var types = map[string]string{
	"id": "BIGINT", "customer_id": "BIGINT", "total_cents": "BIGINT", "order_date": "DATE", "created_at": "TIMESTAMP",
	// of the random worlds
	"buyer": "BIGINT", "amount": "BIGINT", "price": "DECIMAL(12,2)", "ratio": "DOUBLE", "n": "INTEGER", "paid": "BOOLEAN", "day": "DATE",
	"at": "TIMESTAMP", "risk": "INTEGER", "born": "DATE", "joined": "TIMESTAMP", "salary": "BIGINT", "opened": "TIMESTAMP", "dropped": "DATE",
	"order_id": "BIGINT", "qty": "INTEGER", "points": "BIGINT", "b1": "BIGINT", "b2": "BIGINT", "i1": "INTEGER", "i2": "INTEGER", "d1": "DOUBLE",
	"d2": "DOUBLE", "c1": "DECIMAL(18,3)", "c2": "DECIMAL(18,3)", "y1": "DATE", "y2": "DATE", "s1": "TIMESTAMP", "s2": "TIMESTAMP",
}

// columnsOf spells the columns of a CSV file for read_csv.
func columnsOf(t table) string {
	out := make([]string, len(t.columns))
	for i, c := range t.columns {
		typ := types[c]
		if typ == "" {
			typ = "VARCHAR"
		}
		out[i] = "'" + c + "': '" + typ + "'"
	}
	return "{" + strings.Join(out, ", ") + "}"
}

// toParquet turns the CSV files of a folder into Parquet, row by row.
func toParquet(ctx context.Context, data string, tables []table) error {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	for _, t := range tables {
		file := filepath.Join(data, t.name)
		stmt := "COPY (FROM read_csv('" + file + ".csv', header = true, columns = " + columnsOf(t) + ")) TO '" + file + ".parquet' (FORMAT parquet)"
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return err
		}
		if err := os.Remove(file + ".csv"); err != nil {
			return err
		}
	}
	return nil
}
