package files

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// readCSV reads columns by place, so the header of every file is checked first.
func readCSV(e *semantic.Entity, found []file, parts []string) (string, error) {
	var first []string
	for i, f := range found {
		header, err := readHeader(f.path)
		if err != nil {
			return "", diag.Wrap(err, diag.SourceCorrupt, "the header of %q, a file of entity %q, cannot be read", f.name, e.Name).At(e.Pos)
		}
		if i > 0 && !slices.Equal(header, first) {
			return "", diag.New(diag.SourceCorrupt, "%q has another header than %q, and entity %q reads both", f.name, found[0].name, e.Name).At(e.Pos)
		}
		first = header
	}
	if err := hasColumns(e, append(slices.Clone(parts), first...), found[0].name); err != nil {
		return "", err
	}
	cols := make([]string, len(first))
	for i, c := range first {
		cols[i] = semantic.QuoteText(c) + ": " + semantic.QuoteText(textOf(e, c))
	}
	return guarded(e, found, fmt.Sprintf(`read_csv(%s, auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', comment = '', skip = 0, `+
		`buffer_size = 8388608, nullstr = '', allow_quoted_nulls = false, null_padding = false, ignore_errors = false, strict_mode = true, compression = 'none', encoding = 'utf-8', `+
		`union_by_name = false, %s, columns = {%s})`, list(found), hive(e, parts, textOf), strings.Join(cols, ", "))), nil
}

// readHeader gives the first record; a byte order mark is no part of it.
func readHeader(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3) // cannot fail: Peek has read them
	}
	r := csv.NewReader(in)
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	return header, err
}

// hasColumns reports every declared column that the files lack, and names that
// DuckDB would take for one.
func hasColumns(e *semantic.Entity, have []string, name string) error {
	var errs diag.List
	seen := map[string]bool{}
	for _, c := range have {
		if k := semantic.Name(c).Key(); c == "" || seen[k] {
			errs = append(errs, diag.New(diag.SourceCorrupt, "%q has the column %q twice or a column without a name", name, c).At(e.Pos))
		} else {
			seen[k] = true
		}
	}
	for _, f := range e.Fields {
		if !slices.Contains(have, f.Column) {
			errs = append(errs, missing(e, f, name))
		}
	}
	return errs.Err()
}

// readNDJSON reads keys by name; a key that no object of a file has would read
// as NULL in silence, so it is refused.
func readNDJSON(e *semantic.Entity, found []file, parts []string) (string, error) {
	var cols []string
	wanted := map[string]*semantic.Field{}
	for _, f := range e.Fields {
		if !slices.Contains(parts, f.Column) {
			wanted[f.Column] = f
			cols = append(cols, semantic.QuoteText(f.Column)+": "+semantic.QuoteText(textOf(e, f.Column)))
		}
	}
	for _, f := range found {
		absent, err := absentKeys(f.path, wanted)
		if err != nil {
			return "", diag.Wrap(err, diag.SourceCorrupt, "%q, a file of entity %q, is not one JSON object per line", f.name, e.Name).At(e.Pos)
		}
		var errs diag.List
		for _, field := range absent {
			errs = append(errs, missing(e, field, f.name))
		}
		if err := errs.Err(); err != nil {
			return "", err
		}
	}
	return guarded(e, found, fmt.Sprintf("read_json(%s, format = 'newline_delimited', auto_detect = false, ignore_errors = false, maximum_object_size = 4194304, compression = 'uncompressed', union_by_name = false, %s, columns = {%s})",
		list(found), hive(e, parts, textOf), strings.Join(cols, ", "))), nil
}

// absentKeys gives the wanted fields whose key stands in no object of a file
// that has objects. It stops reading when it has seen them all.
func absentKeys(name string, wanted map[string]*semantic.Field) ([]*semantic.Field, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	absent := make(map[string]*semantic.Field, len(wanted))
	for k, v := range wanted {
		absent[k] = v
	}
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<16))
	objects := 0
	for len(absent) > 0 {
		var object map[string]json.RawMessage
		if err := dec.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		objects++
		for k := range object {
			delete(absent, k)
		}
	}
	if objects == 0 {
		return nil, nil
	}
	var out []*semantic.Field
	for _, f := range absent {
		out = append(out, f)
	}
	return out, nil
}
