package sample

import (
	"bufio"
	"context"
	"errors"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// groupRows is how many rows a row group holds, DuckDB's own default.
const groupRows = 122_880

// parquetTable writes one Parquet file. Columns are filled through their
// builders; next ends a row.
type parquetTable struct {
	file     *os.File
	buffered *bufio.Writer
	writer   *pqarrow.FileWriter
	rows     *array.RecordBuilder
	n        int
}

func newParquet(ctx context.Context, path string, fields []arrow.Field) (*parquetTable, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	// The Parquet writer forgets an error of its last write; the buffer keeps it.
	buffered := bufio.NewWriterSize(stopper{ctx, f}, 1<<16)
	schema := arrow.NewSchema(fields, nil)
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCreatedBy("plumbline sample"))
	w, err := pqarrow.NewFileWriter(schema, buffered, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &parquetTable{file: f, buffered: buffered, writer: w, rows: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

// column gives the builder of a column; the caller names the type its schema has.
func column[B array.Builder](t *parquetTable, i int) B { return t.rows.Field(i).(B) }

// text appends a value, or null for "".
func text(b *array.StringBuilder, s string) {
	if s == "" {
		b.AppendNull()
		return
	}
	b.Append(s)
}

// next ends a row and writes a row group when it is full.
func (t *parquetTable) next() error {
	if t.n++; t.n < groupRows {
		return nil
	}
	return t.flush()
}

func (t *parquetTable) flush() error {
	if t.n == 0 {
		return nil
	}
	t.n = 0
	batch := t.rows.NewRecordBatch()
	defer batch.Release()
	return t.writer.Write(batch)
}

// close ends the file. After a failure (cause) it only gives back what it holds.
func (t *parquetTable) close(cause error) error {
	defer t.rows.Release()
	if cause != nil {
		return errors.Join(cause, t.file.Close())
	}
	return errors.Join(t.flush(), t.writer.Close(), t.buffered.Flush(), t.file.Close())
}
