package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Entry is one line of an audit file.
type Entry struct {
	Record Record
	Line   json.RawMessage // as it stands in the file
	Where  string          // file:line
	Err    error           // why the line is no record; nil when it is one
}

// Reader reads records in the order in which they were written, through the files
// that were rotated away. It may be asked again for what came since. The zero value
// is of no use; it lives in one goroutine.
type Reader struct {
	path string
	file *os.File // being read; nil before the first Read
	in   *bufio.Reader
	name string
	line int
	rest []byte // the start of a line whose end is not written yet
}

// NewReader makes a reader of the audit file at path and of path.1, path.2 and so on.
func NewReader(path string) *Reader { return &Reader{path: path} }

// Close ends reading.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Read gives every line since the last Read, oldest first. A line that is no record
// is given with its error, and reading goes on. A last line without its end is kept
// for the next Read. The error is one of the files, or give's.
func (r *Reader) Read(give func(Entry) error) error {
	files, err := r.newer()
	if err != nil {
		return err
	}
	if r.file != nil { // nobody writes to it any more once another file has its name
		if err := r.drain(give); err != nil {
			closeAll(files)
			return err
		}
	}
	for i, f := range files {
		if err := r.finish(give); err != nil {
			closeAll(files[i:])
			return err
		}
		r.file, r.in, r.name, r.line = f, bufio.NewReader(f), filepath.Base(f.Name()), 0
		if err := r.drain(give); err != nil {
			closeAll(files[i+1:])
			return err
		}
	}
	return nil
}

// Unfinished gives the start of a last line whose end was never written; false when
// there is none.
func (r *Reader) Unfinished() (Entry, bool) {
	if len(r.rest) == 0 {
		return Entry{}, false
	}
	return entry(r.rest, fmt.Sprintf("%s:%d", r.name, r.line+1)), true
}

// newer opens the files that were written after the one being read, oldest first. It
// begins at the newest: a file that is rotated meanwhile is met once more under its
// next name, and none is missed.
func (r *Reader) newer() ([]*os.File, error) {
	var out []*os.File
	for i := 0; ; i++ {
		name := r.path
		if i > 0 {
			name = fmt.Sprintf("%s.%d", r.path, i)
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			break
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // between two files, or before the first record
		}
		if err != nil {
			closeAll(out)
			return nil, err
		}
		same, err := sameFile(f, r.file)
		if err == nil && same {
			err = f.Close()
			if err == nil {
				break
			}
		}
		if err != nil {
			closeAll(append(out, f))
			return nil, err
		}
		if len(out) > 0 {
			if again, err := sameFile(f, out[len(out)-1]); err == nil && again { // rotated meanwhile
				_ = f.Close() // it was not read
				continue
			}
		}
		out = append(out, f)
	}
	slices.Reverse(out)
	return out, nil
}

func sameFile(a, b *os.File) (bool, error) {
	if b == nil {
		return false, nil
	}
	x, err := a.Stat()
	if err != nil {
		return false, err
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y), err
}

// drain gives the whole lines of the file being read.
func (r *Reader) drain(give func(Entry) error) error {
	for {
		part, err := r.in.ReadBytes('\n')
		r.rest = append(r.rest, part...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.line++
		line := bytes.TrimSuffix(r.rest, []byte("\n"))
		r.rest = nil
		if err := give(entry(line, fmt.Sprintf("%s:%d", r.name, r.line))); err != nil {
			return err
		}
	}
}

// finish leaves the file being read; what stands there without an end is a broken line.
func (r *Reader) finish(give func(Entry) error) error {
	if r.file == nil {
		return nil
	}
	if e, ok := r.Unfinished(); ok {
		r.rest = nil
		if err := give(e); err != nil {
			return err
		}
	}
	return r.file.Close()
}

var errShape = errors.New("a record has an id and a time")

// entry decodes a line. Numbers of claims stay as they were written.
func entry(line []byte, where string) Entry {
	e := Entry{Line: line, Where: where}
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	e.Err = d.Decode(&e.Record)
	if e.Err == nil && d.More() {
		e.Err = errors.New("more than one JSON value")
	}
	if e.Err == nil && (e.Record.ID == "" || e.Record.Time.IsZero()) {
		e.Err = errShape
	}
	return e
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // nothing was written to it
	}
}
