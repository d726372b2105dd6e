// Command gen writes the TPC-H and TPC-DS queries and a small data set of each as
// Parquet, from the generators that are built into DuckDB 2.0. It is a module of
// its own, since one program holds one version of DuckDB and the product's is
// another.
//
//	go run . FOLDER
//
// gives FOLDER/tpch and FOLDER/tpcds, each with <table>.parquet, schema.tsv
// (table, column, type) and q01.sql and so on. The folder appears whole or not at all.
package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // the generators
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	temp := folder + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	for _, s := range []struct{ name, generate string }{
		{"tpch", "CALL dbgen(sf=0.01)"},
		{"tpcds", "CALL dsdgen(sf=0.01)"},
	} {
		if err := suite(filepath.Join(temp, s.name), s.name, s.generate); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.Rename(temp, folder)
}

func suite(dir, name, generate string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{"LOAD " + name, generate} {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	tables, err := pairs(db, `SELECT DISTINCT table_name, '' FROM duckdb_columns() WHERE NOT internal ORDER BY 1`)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := db.Exec(fmt.Sprintf(`COPY %q TO '%s' (FORMAT parquet)`, t[0], filepath.Join(dir, t[0]+".parquet"))); err != nil {
			return err
		}
	}
	columns, err := pairs(db, `SELECT table_name || chr(9) || column_name, lower(data_type) FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index`)
	if err != nil {
		return err
	}
	var schema strings.Builder
	for _, c := range columns {
		schema.WriteString(c[0] + "\t" + c[1] + "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.tsv"), []byte(schema.String()), 0o644); err != nil {
		return err
	}
	queries, err := pairs(db, `SELECT printf('q%02d.sql', query_nr), query FROM `+name+`_queries() ORDER BY 1`)
	if err != nil {
		return err
	}
	for _, q := range queries {
		if err := os.WriteFile(filepath.Join(dir, q[0]), []byte(q[1]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pairs reads two text columns.
func pairs(db *sql.DB, query string) ([][2]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	var out [][2]string
	for rows.Next() {
		var r [2]string
		if err := rows.Scan(&r[0], &r[1]); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
