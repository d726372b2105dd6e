package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/sources/files"
)

// The directive is
//
//	relation format=csv path=(people.csv) [hive] fields=(id:bigint name:varchar)
//
// with a txtar archive of the source's folder as input. A file x.parquet.sql
// becomes x.parquet with the rows of its query; a file that begins with LINK is
// a symbolic link; OUTSIDE is a file beside the folder. The output is the
// expression and its rows as DuckDB reads them, or the error.
func TestRelation(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			root := folder(t, d.Input)
			e := entity(t, d)
			st, err := files.Relation(semantic.SourceSpec{Name: "shop", Kind: "files", Root: root}, e)
			if err != nil {
				for _, one := range diag.All(err) {
					require.True(t, strings.HasPrefix(string(one.Code), "source."), "%s", one)
				}
				return err.Error() + "\n"
			}
			for _, f := range st.Files {
				require.Contains(t, st.From, semantic.QuoteText(f))
			}
			return strings.ReplaceAll(st.From+"\n"+rows(t, st), root, "$ROOT")
		})
	})
}

func folder(t *testing.T, archive string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(dir, "root")
	require.NoError(t, os.Mkdir(root, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "outside.csv"), []byte("id\n7\n"), 0o600))
	db := ducktest.Open(t, nil)
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(root, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		text := strings.NewReplacer(`\r`, "\r", `\ufeff`, "\ufeff").Replace(string(f.Data))
		switch {
		case strings.HasPrefix(text, "LINK "):
			require.NoError(t, os.Symlink(strings.TrimSpace(text[5:]), name))
		case strings.HasSuffix(name, ".sql"):
			db.Exec(t, "COPY ("+text+") TO '"+strings.TrimSuffix(name, ".sql")+"' (FORMAT parquet)")
		default:
			require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		}
	}
	return root
}

func entity(t *testing.T, d *datadriven.TestData) *semantic.Entity {
	t.Helper()
	e := &semantic.Entity{Name: "things", Pos: diag.Pos{File: "things.cue", Line: 1}}
	d.ScanArgs(t, "format", &e.Source.Format)
	d.ScanArgs(t, "path", &e.Source.Path)
	e.Source.Hive = d.HasArg("hive")
	for _, a := range d.CmdArgs {
		if a.Key != "fields" {
			continue
		}
		for i, v := range a.Vals {
			col, typ, _ := strings.Cut(strings.ReplaceAll(v, `;`, `,`), ":")
			e.Fields = append(e.Fields, &semantic.Field{Name: semantic.Name("f_" + col), Column: col, Type: semantic.Type(typ), Pos: diag.Pos{File: "things.cue", Line: 2 + i}})
		}
	}
	return e
}

func rows(t *testing.T, st semantic.Storage) string {
	t.Helper()
	db := ducktest.Open(t, nil)
	cols := make([]string, len(st.Entity.Fields))
	for i, f := range st.Entity.Fields {
		cols[i] = fmt.Sprintf("CASE WHEN %[1]s IS NULL THEN 'NULL' ELSE '''' || %[1]s || '''' END", semantic.Quote(f.Column))
	}
	r, err := db.Query("SELECT concat_ws(' ', " + strings.Join(cols, ", ") + ") FROM " + st.From)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return "engine: " + line + "\n"
	}
	defer r.Close()
	var b strings.Builder
	for r.Next() {
		var line string
		require.NoError(t, r.Scan(&line))
		b.WriteString(line + "\n")
	}
	require.NoError(t, r.Err())
	return b.String()
}
