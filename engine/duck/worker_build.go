package duck

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"plumbline/semantic"
)

// build makes the two database files that every other worker opens read-only.
// It looks at each relation's files first, so that a missing column or a type
// that would lose something is a refusal with a name, and reports all of them.
func (w *worker) build(s *setup) reply {
	if _, err := w.confine(s, s.Temp, s.Dir); err != nil {
		return failed(failSetup, err.Error())
	}
	broken, err := buildViews(s)
	if err != nil {
		return failed(failSetup, err.Error())
	}
	if len(broken) > 0 {
		return reply{Broken: broken}
	}
	if err := buildTwins(s); err != nil {
		return failed(failSetup, err.Error())
	}
	return reply{}
}

func buildViews(s *setup) ([]failure, error) {
	path := filepath.Join(s.Dir, viewsFile)
	in, err := openDatabase(path, "READ_WRITE", engineMemory(s), s.Threads)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if err := in.exec("CREATE SCHEMA " + semantic.Quote(semantic.StorageSchema)); err != nil {
		return nil, err
	}
	if err := in.lock(s, append([]string{path, path + ".wal"}, s.Files...)); err != nil {
		return nil, err
	}
	var broken []failure
	for _, r := range s.Relations {
		broken = append(broken, in.inspect(r)...)
	}
	if len(broken) > 0 {
		return broken, nil
	}
	if err := in.exec("BEGIN"); err != nil { // one transaction: a write to disk each is 10 ms
		return nil, err
	}
	for _, r := range s.Relations {
		if err := in.exec("CREATE VIEW " + storageName(r) + " AS " + selectOf(r)); err != nil {
			return []failure{{Kind: failCorrupt, Entity: r.Entity, Raw: err.Error()}}, nil
		}
	}
	return nil, in.exec("COMMIT", "CHECKPOINT")
}

// inspect compares what the files have with what is declared.
func (in *instance) inspect(r relation) []failure {
	have, err := in.columns("SELECT * FROM " + r.From)
	if err != nil {
		return []failure{{Kind: failCorrupt, Entity: r.Entity, Raw: err.Error()}}
	}
	var out []failure
	for _, c := range r.Columns {
		switch t, ok := have[c.Source]; {
		case !ok:
			out = append(out, failure{Kind: failColumn, Entity: r.Entity, Column: c.Name, Have: c.Source})
		case !widens(t, c.Type):
			out = append(out, failure{Kind: failType, Entity: r.Entity, Column: c.Name, Have: t})
		}
	}
	return out
}

// columns gives the result columns of a text by name, without running it.
func (in *instance) columns(text string) (map[string]string, error) {
	stmt, fail := prepareSelect(in.conn, text)
	if fail != nil {
		return nil, errors.New(fail.Raw)
	}
	defer mapping.DestroyPrepare(&stmt)
	out := map[string]string{}
	for i := range mapping.PreparedStatementColumnCount(stmt) {
		t := mapping.PreparedStatementColumnLogicalType(stmt, i)
		out[mapping.PreparedStatementColumnName(stmt, i)] = typeName(t)
		mapping.DestroyLogicalType(&t)
	}
	return out, nil
}

func storageName(r relation) string { return semantic.StorageName(semantic.Name(r.Entity)) }

// selectOf gives the declared columns in declared order, names and types.
func selectOf(r relation) string {
	cols := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		cols[i] = "CAST(" + semantic.Quote(c.Source) + " AS " + c.Type + ") AS " + semantic.Quote(c.Name)
	}
	return "SELECT " + strings.Join(cols, ", ") + " FROM " + r.From
}

func buildTwins(s *setup) error {
	path := filepath.Join(s.Dir, twinsFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	in, err := openDatabase(path, "READ_WRITE", engineMemory(s), 1)
	if err != nil {
		return err
	}
	defer in.close()
	stmts := []string{"CREATE SCHEMA " + semantic.Quote(semantic.StorageSchema)}
	for _, r := range s.Relations {
		cols := make([]string, len(r.Columns))
		for i, c := range r.Columns {
			cols[i] = semantic.Quote(c.Name) + " " + c.Type
		}
		stmts = append(stmts, "CREATE TABLE "+storageName(r)+" ("+strings.Join(cols, ", ")+")")
	}
	return in.exec(append(append([]string{"BEGIN"}, stmts...), "COMMIT", "CHECKPOINT")...)
}
