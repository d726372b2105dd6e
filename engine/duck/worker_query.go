package duck

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"plumbline/policy/prove"
)

// parse gives DuckDB's tree of a text, or its report of why there is none; both
// are JSON.
func (w *worker) parse(ctx context.Context, text string) (reply, []byte) {
	defer interruptOn(ctx, w.twins.conn)()
	tree, err := w.twins.value(w.twins.serialize, text)
	if err != nil {
		return failed(kindOf(ctx, err.Error()), err.Error()), nil
	}
	return reply{}, tree
}

// check reads texts on the twins: tree, bound plan, names and types of results.
func (w *worker) check(ctx context.Context, texts [][]byte) (reply, []byte) {
	defer interruptOn(ctx, w.twins.conn)()
	var rep reply
	var payload []byte
	for _, t := range texts {
		text := string(t)
		item, tree, plan := checkedItem{}, []byte(nil), []byte(nil)
		err := w.reading(text, &item, &tree, &plan)
		if ctx.Err() != nil {
			return failed(failStopped, ""), nil
		}
		if err != nil {
			if kind := kindOf(ctx, err.Error()); kind == failMemory {
				return failed(kind, err.Error()), nil
			}
			item, tree, plan = checkedItem{Error: err.Error()}, nil, nil
		}
		rep.Items = append(rep.Items, item)
		rep.Lens = append(rep.Lens, len(tree), len(plan))
		payload = append(append(payload, tree...), plan...)
	}
	return rep, payload
}

func (w *worker) reading(text string, item *checkedItem, tree, plan *[]byte) (err error) {
	if *tree, err = w.twins.value(w.twins.serialize, text); err != nil {
		return err
	}
	if *plan, err = w.twins.value(w.twins.plan, text); err != nil {
		return err
	}
	for _, j := range [][]byte{*tree, *plan} {
		if bytes.HasPrefix(j, []byte(`{"error":true`)) {
			return errors.New(string(j))
		}
	}
	stmt, fail := prepareSelect(w.twins.conn, text)
	if fail != nil {
		return errors.New(fail.Raw)
	}
	defer mapping.DestroyPrepare(&stmt)
	item.OK = true
	for i := range mapping.PreparedStatementColumnCount(stmt) {
		t := mapping.PreparedStatementColumnLogicalType(stmt, i)
		item.Columns = append(item.Columns, prove.Column{Name: mapping.PreparedStatementColumnName(stmt, i), Type: typeName(t)})
		mapping.DestroyLogicalType(&t)
	}
	return nil
}

// value runs one of our own statements with a text bound to it. The text is
// never part of the statement.
func (in *instance) value(stmt mapping.PreparedStatement, text string) ([]byte, error) {
	if mapping.BindVarchar(stmt, 1, text) == mapping.StateError {
		return nil, errors.New(mapping.PrepareError(stmt))
	}
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if mapping.ExecutePrepared(stmt, &res) == mapping.StateError {
		return nil, errors.New(mapping.ResultError(&res))
	}
	chunk := mapping.FetchChunk(res)
	if chunk.Ptr == nil {
		return nil, errors.New("no row")
	}
	defer mapping.DestroyDataChunk(&chunk)
	v := mapping.DataChunkGetVector(chunk, 0)
	valid := mapping.VectorGetValidity(v) // nil when no value is NULL
	if mapping.DataChunkGetSize(chunk) != 1 || valid != nil && !mapping.ValidityMaskValueIsValid(valid, 0) {
		return nil, errors.New("no value")
	}
	str := (*mapping.StringT)(mapping.VectorGetData(v))
	return []byte(mapping.StringTData(str)), nil
}

// prepareSelect prepares a text that must be exactly one SELECT without
// parameters. The proof says so already; the worker looks again. The caller
// destroys the statement when there is no failure.
func prepareSelect(conn mapping.Connection, text string) (stmt mapping.PreparedStatement, fail *failure) {
	var all mapping.ExtractedStatements
	n := mapping.ExtractStatements(conn, text, &all)
	defer mapping.DestroyExtracted(&all)
	if n != 1 {
		return stmt, &failure{Kind: failStatement, Raw: "not one statement: " + mapping.ExtractStatementsError(all)}
	}
	if mapping.PrepareExtractedStatement(conn, all, 0, &stmt) == mapping.StateError {
		msg := mapping.PrepareError(stmt)
		mapping.DestroyPrepare(&stmt)
		return stmt, &failure{Kind: failQuery, Raw: msg}
	}
	if kind := mapping.PreparedStatementType(stmt); kind != mapping.StatementTypeSelect || mapping.NParams(stmt) != 0 {
		mapping.DestroyPrepare(&stmt)
		return stmt, &failure{Kind: failStatement, Raw: "not a SELECT without parameters"}
	}
	return stmt, nil
}

// run streams one SELECT over the views into Arrow IPC, up to rows and size.
// Each run has a connection of its own, since temporary objects live as long as
// their connection.
func (w *worker) run(ctx context.Context, text string, rows int, size int64) (reply, []byte) {
	var conn mapping.Connection
	if mapping.Connect(w.main.db, &conn) == mapping.StateError {
		return failed(failSetup, "connect"), nil
	}
	defer mapping.Disconnect(&conn)
	defer interruptOn(ctx, conn)()
	stmt, fail := prepareSelect(conn, text)
	if fail != nil {
		if fail.Kind == failQuery {
			fail.Kind = kindOf(ctx, fail.Raw)
		}
		return reply{Fail: fail}, nil
	}
	defer mapping.DestroyPrepare(&stmt)
	var res mapping.Result
	defer mapping.DestroyResult(&res)
	if msg := stream(stmt, &res); msg != "" {
		return failed(kindOf(ctx, msg), msg), nil
	}
	return fetch(ctx, &res, rows, size)
}

// stream starts a statement whose rows are made as they are fetched; it gives
// the engine's error, "" when there is none.
func stream(stmt mapping.PreparedStatement, res *mapping.Result) string {
	var pending mapping.PendingResult
	defer mapping.DestroyPending(&pending)
	if bindings.PendingPreparedStreaming(stmt, &pending) == mapping.StateError {
		return mapping.PendingError(pending)
	}
	if mapping.ExecutePending(pending, res) == mapping.StateError {
		return mapping.ResultError(res)
	}
	return ""
}

// fetch reads the stream. The end of a stream and a failed read look alike, so
// that the result's error is asked for at the end of every one.
func fetch(ctx context.Context, res *mapping.Result, rows int, size int64) (reply, []byte) {
	schema, columns, options, err := describe(res)
	if err != nil {
		return failed(failQuery, err.Error()), nil
	}
	defer arrowmapping.DestroyArrowOptions(&options)
	out := newAnswer(schema, rows, size)
	for !out.full {
		chunk := mapping.FetchChunk(*res)
		if chunk.Ptr == nil {
			break
		}
		batch, ed := arrowmapping.DataChunkToArrowArray(options, schema, chunk)
		mapping.DestroyDataChunk(&chunk)
		if err := dataError(ed); err != nil {
			return failed(kindOf(ctx, err.Error()), err.Error()), nil
		}
		err := out.add(batch)
		batch.Release()
		if err != nil {
			return failed(failQuery, err.Error()), nil
		}
	}
	if msg := mapping.ResultError(res); msg != "" {
		return failed(kindOf(ctx, msg), msg), nil
	}
	if ctx.Err() != nil {
		return failed(failStopped, ""), nil
	}
	if out.rows == 0 && out.full && rows > 0 {
		return failed(failBytes, ""), nil
	}
	payload, err := out.finish()
	if err != nil {
		return failed(failQuery, err.Error()), nil
	}
	return reply{Columns: columns, Rows: out.rows, Truncated: out.full}, payload
}

func describe(res *mapping.Result) (*arrow.Schema, []prove.Column, arrowmapping.ArrowOptions, error) {
	n := mapping.ColumnCount(res)
	columns, names, types := make([]prove.Column, n), make([]string, n), make([]mapping.LogicalType, n)
	for i := range n {
		names[i], types[i] = mapping.ColumnName(res, i), mapping.ColumnLogicalType(res, i)
		columns[i] = prove.Column{Name: names[i], Type: typeName(types[i])}
	}
	defer func() {
		for i := range types {
			mapping.DestroyLogicalType(&types[i])
		}
	}()
	options := arrowmapping.ResultGetArrowOptions(res)
	schema, ed := arrowmapping.NewArrowSchema(options, types, names)
	if err := dataError(ed); err != nil {
		arrowmapping.DestroyArrowOptions(&options)
		return nil, nil, options, err
	}
	return schema, columns, options, nil
}

func dataError(ed mapping.ErrorData) error {
	defer mapping.DestroyErrorData(&ed)
	if mapping.ErrorDataHasError(ed) {
		return errors.New(mapping.ErrorDataMessage(ed))
	}
	return nil
}

// answer collects batches as Arrow IPC until it is full: one row more than
// wanted was seen, or the next row would pass the size.
type answer struct {
	schema *arrow.Schema
	buf    bytes.Buffer
	w      *ipc.Writer
	want   int
	size   int
	rows   int
	dicts  bool // a dictionary once written cannot be taken back
	full   bool
}

func newAnswer(schema *arrow.Schema, rows int, size int64) *answer {
	a := &answer{schema: schema, want: rows, size: int(size)}
	for _, f := range schema.Fields() {
		a.dicts = a.dicts || strings.Contains(f.Type.String(), "dictionary<")
	}
	a.w = ipc.NewWriter(&a.buf, ipc.WithSchema(schema))
	return a
}

// add takes as many rows of the batch as fit. What does not fit is written and
// taken back, since only writing tells the size.
func (a *answer) add(batch arrow.RecordBatch) error {
	n := int(batch.NumRows())
	if a.rows+n > a.want {
		n, a.full = a.want-a.rows, true
	}
	for n > 0 {
		before := a.buf.Len()
		part := batch.NewSlice(0, int64(n))
		err := a.w.Write(part)
		part.Release()
		if err != nil {
			return err
		}
		if a.buf.Len() <= a.size {
			a.rows += n
			return nil
		}
		a.full = true
		a.buf.Truncate(before)
		if before == 0 { // the schema stood before the first batch
			a.w = ipc.NewWriter(&a.buf, ipc.WithSchema(a.schema))
		}
		if a.dicts {
			return nil
		}
		n /= 2
	}
	return nil
}

func (a *answer) finish() ([]byte, error) {
	err := a.w.Close()
	return a.buf.Bytes(), err
}

// kindOf sorts the engine's error by its first words, which are its type. What
// is in the rest may quote values and is only looked at for the two words of
// a failed allocation.
func kindOf(ctx context.Context, raw string) string {
	switch {
	case ctx.Err() != nil, strings.HasPrefix(raw, "INTERRUPT Error"):
		return failStopped
	case strings.HasPrefix(raw, "Out of Memory Error"), strings.Contains(raw, "std::bad_alloc"):
		return failMemory
	}
	return failQuery
}
