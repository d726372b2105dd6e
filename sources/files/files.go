// Package files reads entities from CSV, NDJSON and Parquet files below a
// source's folder. It opens no rows itself: Relation finds the files, holds them
// against the model, and writes the table expression that a worker reads.
//
// It promises that the expression reads exactly the files that were checked, in
// sorted order, all inside the source's folder, also through symbolic links. A
// file that appears later is read after the next reload; one that vanishes is an
// error, never fewer rows.
//
// It leaves to engine/duck what only DuckDB knows: whether Parquet files have
// the declared columns, and whether their types keep every value.
//
// Deliberate differences from DuckDB's readers:
//   - nothing is guessed: no types, no header, no dialect;
//   - a text that its declared type cannot hold exactly is an error (guard.go);
//   - CSV is UTF-8 with a header, commas and double quotes; nothing between two
//     commas is NULL, two quotes are an empty text;
//   - all CSV files of an entity have the same header;
//   - a declared key must occur in every NDJSON file that has objects, since a
//     renamed key would read as NULL;
//   - compressed files are read only inside Parquet.
package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Relation makes the storage of an entity from the files that its path names.
// Codes: source.missing, source.corrupt, both at the entity or field.
func Relation(spec semantic.SourceSpec, e *semantic.Entity) (semantic.Storage, error) {
	found, err := find(spec, e)
	if err != nil {
		return semantic.Storage{}, err
	}
	var parts []string
	if e.Source.Hive {
		if parts, err = partitions(e, found); err != nil {
			return semantic.Storage{}, err
		}
	}
	reader, ok := map[string]func(*semantic.Entity, []file, []string) (string, error){
		"csv": readCSV, "ndjson": readNDJSON, "parquet": readParquet,
	}[e.Source.Format]
	if !ok {
		return semantic.Storage{}, diag.New(diag.SourceCorrupt, "entity %q has the format %q, which is not csv, ndjson or parquet", e.Name, e.Source.Format).At(e.Pos)
	}
	from, err := reader(e, found, parts)
	if err != nil {
		return semantic.Storage{}, err
	}
	out := semantic.Storage{Entity: e, From: from}
	for _, f := range found {
		out.Files = append(out.Files, f.path)
	}
	return out, nil
}

// file is one file: its real absolute path, and its path below the source's
// folder as the model's pattern matched it.
type file struct{ path, name string }

// find gives the regular files that match the entity's path, sorted by name.
func find(spec semantic.SourceSpec, e *semantic.Entity) ([]file, error) {
	pattern := path.Clean(e.Source.Path)
	if e.Source.Path == "" || !filepath.IsLocal(pattern) || strings.Contains(pattern, "**") {
		return nil, diag.New(diag.SourceMissing, "the path of entity %q must be a file or a pattern inside the folder of source %q", e.Name, spec.Name).
			At(e.Pos).WithHint("write a relative path without ..; each * stands for one folder or file name")
	}
	root, err := os.OpenRoot(spec.Root)
	if err != nil {
		return nil, diag.Wrap(err, diag.SourceMissing, "the folder of source %q cannot be opened", spec.Name).At(e.Pos)
	}
	defer root.Close()
	real, err := filepath.EvalSymlinks(spec.Root)
	if err != nil {
		return nil, diag.Wrap(err, diag.SourceMissing, "the folder of source %q cannot be opened", spec.Name).At(e.Pos)
	}
	names, err := fs.Glob(root.FS(), pattern)
	if err != nil {
		return nil, diag.Wrap(err, diag.SourceMissing, "the path of entity %q is not a pattern", e.Name).At(e.Pos)
	}
	slices.Sort(names)
	var out []file
	for _, n := range names {
		f, err := open(root, real, n)
		if err != nil {
			return nil, diag.Wrap(err, diag.SourceMissing, "%q, which entity %q names, is no readable file inside the folder of source %q", n, e.Name, spec.Name).At(e.Pos)
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, diag.New(diag.SourceMissing, "no file of source %q matches %q, the path of entity %q", spec.Name, e.Source.Path, e.Name).At(e.Pos)
	}
	return out, nil
}

var errOutside = errors.New("outside the source's folder, or not a regular file")

// open follows symbolic links the way the operating system does, inside root
// only, and gives the place where they end.
func open(root *os.Root, real, name string) (file, error) {
	info, err := root.Stat(name) // refuses a link that leaves root
	if err != nil {
		return file{}, err
	}
	end, err := filepath.EvalSymlinks(filepath.Join(real, filepath.FromSlash(name)))
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(real, end)
	if err != nil || !filepath.IsLocal(rel) || !info.Mode().IsRegular() {
		return file{}, errOutside
	}
	return file{path: end, name: name}, nil
}

// partitions gives the keys of the key=value folders on the real path, as DuckDB
// sees them. All files of an entity must share them.
func partitions(e *semantic.Entity, found []file) ([]string, error) {
	var keys []string
	for i, f := range found {
		var own []string
		for _, dir := range strings.Split(filepath.ToSlash(filepath.Dir(f.path)), "/") {
			if key, _, ok := strings.Cut(dir, "="); ok {
				own = append(own, key)
			}
		}
		if i > 0 && !slices.Equal(keys, own) {
			return nil, diag.New(diag.SourceCorrupt, "%q has other partition folders than the files of entity %q before it", f.name, e.Name).At(e.Pos)
		}
		keys = own
	}
	return keys, nil
}

// list prints the files as a DuckDB list.
func list(found []file) string {
	quoted := make([]string, len(found))
	for i, f := range found {
		quoted[i] = semantic.QuoteText(f.path)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// hive prints the options for partition folders; none means that a folder
// called key=value is only a folder.
func hive(e *semantic.Entity, parts []string, typed func(*semantic.Entity, string) string) string {
	if len(parts) == 0 {
		return "hive_partitioning = false"
	}
	types := make([]string, len(parts))
	for i, k := range parts {
		types[i] = semantic.QuoteText(k) + ": " + semantic.QuoteText(typed(e, k))
	}
	return "hive_partitioning = true, hive_types_autocast = false, hive_types = {" + strings.Join(types, ", ") + "}"
}

func readParquet(e *semantic.Entity, found []file, parts []string) (string, error) {
	return fmt.Sprintf("read_parquet(%s, union_by_name = false, %s)", list(found), hive(e, parts, declared)), nil
}

// declared is the type of a partition column; text when no field names it.
func declared(e *semantic.Entity, col string) string {
	if f := fieldOf(e, col); f != nil {
		return f.Type.SQL()
	}
	return "VARCHAR"
}

func missing(e *semantic.Entity, f *semantic.Field, name string) *diag.Error {
	return diag.New(diag.SourceCorrupt, "%q has no column %q, which field %q of entity %q declares", name, f.Column, f.Name, e.Name).At(f.Pos)
}
