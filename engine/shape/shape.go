// Package shape turns rows as the worker gives them (Arrow) into the answer a
// caller sees: JSON-safe values, row and byte caps, CSV text.
//
// Deliberate differences from DuckDB's own rendering:
//   - DECIMAL, HUGEINT and integers beyond 2^53 travel as strings, since a JSON
//     reader would round them;
//   - a struct without names, such as row(1, 2), is a list;
//   - NaN and infinities become null and are counted in Table.NonFinite;
//   - times are written by the column's SQL type, never by the Go type: a DATE
//     has no clock, a TIMESTAMP has no zone, a TIMESTAMPTZ ends in Z.
package shape

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"plumbline/semantic/diag"
)

// Column describes one column of an answer. Kind is dimension, metric or column.
type Column struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Kind   string `json:"kind,omitempty"`
	Grain  string `json:"grain,omitempty"`
	Unit   string `json:"unit,omitempty"`
	Format string `json:"format,omitempty"`
	// Instant marks a TIMESTAMP that counts in UTC, as a bucket of a part of a day does: its values end in Z.
	Instant bool `json:"-"`
	// Additive is false for a metric whose groups do not add up to their total; nil for all else.
	Additive *bool `json:"additive,omitempty"`
}

// Table is a finished answer's rows. Values are nil, bool, string, json.Number,
// []any or ordered structs (Struct).
type Table struct {
	Columns   []Column
	Rows      [][]any
	Truncated bool   // more rows exist than are given
	Limit     int    // the row limit that was in force
	CutBy     string // what cut the rows: "", "rows" or "bytes"
	Bytes     int    // of Rows as JSON
	NonFinite int    // NaN and infinities that became null
}

// Limits bound a table. Rows and Bytes must be positive.
type Limits struct {
	Rows  int
	Bytes int
}

// Rows shapes record batches whose schema has as many fields as columns.
// It gives at most limits.Rows rows and about limits.Bytes bytes of JSON; a first
// row that is larger than the byte limit alone is limit.bytes.
func Rows(columns []Column, batches []arrow.RecordBatch, limits Limits) (*Table, error) {
	t := &Table{Columns: columns, Rows: [][]any{}, Limit: limits.Rows}
	s := shaper{table: t}
	for _, b := range batches {
		if int(b.NumCols()) != len(columns) {
			return nil, diag.New(diag.BugInternal, "the answer has %d columns where %d were proved", b.NumCols(), len(columns))
		}
		for r := range int(b.NumRows()) {
			if len(t.Rows) == limits.Rows {
				t.Truncated, t.CutBy = true, "rows"
				return t, nil
			}
			row := make([]any, len(columns))
			for c := range columns {
				v, err := s.value(b.Column(c), r)
				if err != nil {
					return nil, err
				}
				if s, ok := v.(string); ok && columns[c].Instant && !strings.HasSuffix(s, "Z") {
					v = s + "Z"
				}
				row[c] = v
			}
			if t.Bytes += size(row); t.Bytes > limits.Bytes {
				if len(t.Rows) == 0 {
					return nil, diag.New(diag.LimitBytes, "one row of the answer is larger than the limit of %d bytes", limits.Bytes).
						WithHint("select fewer or shorter columns")
				}
				t.Truncated, t.CutBy = true, "bytes"
				return t, nil
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t, nil
}

// size estimates the JSON of a row without building it; it never gives less
// than the text lengths.
func size(v any) int {
	switch v := v.(type) {
	case nil, bool:
		return 5
	case string:
		return len(v) + 3
	case json.Number:
		return len(v) + 1
	case []any:
		n := 2
		for _, e := range v {
			n += size(e)
		}
		return n
	case Struct:
		n := 2
		for _, f := range v {
			n += len(f.Name) + 4 + size(f.Value)
		}
		return n
	}
	return 16
}

// Struct is a STRUCT value in declared order; MAP values are lists of key and value.
type Struct []StructField

// StructField is one field of a Struct.
type StructField struct {
	Name  string
	Value any
}

// MarshalJSON keeps the declared order.
func (s Struct) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, f := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// CSV writes a header and the rows. A null is an empty cell, an empty text "",
// so that the two stay apart (a null in a one-column table is a blank line); other cells are quoted only where CSV needs it.
func (t *Table) CSV() string {
	var b strings.Builder
	for i, c := range t.Columns {
		cell(&b, i, c.Name)
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		for i, v := range row {
			if v == nil {
				if i > 0 {
					b.WriteByte(',')
				}
				continue
			}
			cell(&b, i, text(v))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func cell(b *strings.Builder, i int, s string) {
	if i > 0 {
		b.WriteByte(',')
	}
	if s == "" {
		b.WriteString(`""`)
		return
	}
	if !strings.ContainsAny(s, ",\"\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' {
		b.WriteString(s)
		return
	}
	b.WriteString(`"` + strings.ReplaceAll(s, `"`, `""`) + `"`)
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	j, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(j)
}
