// Package duck is the wall: a pool of worker processes that hold DuckDB. It
// parses, plans and runs, and it runs nothing that is not proved.
//
// The server process never calls DuckDB. Files named worker_*.go run only in a
// worker (the same binary, re-executed, see WorkerMain) and alone import
// DuckDB; the others run in the server and speak a framed protocol over two
// pipes (frame.go, protocol.go). A test reads the tree and holds that line.
//
// Open first runs a builder process, which makes two small database files in
// the pool's private folder: plumbline.duckdb with one view per entity over its
// files, and twins/plumbline.duckdb with one empty typed table per entity.
// Workers open both read-only, are locked down before they read their first
// question (worker_db.go, sandbox_linux.go), and answer three calls: Serialize,
// Check (on the twins) and Run (on the views).
//
// A worker that does not stop in its grace, grows too large, or crashes is
// replaced, and costs only the question that it held; one that is merely worn by
// earlier questions costs none. There is one process more than questions may run
// at once: it parses and checks, and it is the warm
// spare that takes over when another dies.
//
// Deliberate differences from DuckDB:
//   - results are streamed and cut at the row and byte limits, so a question for
//     too many rows ends early instead of filling memory;
//   - a text with a NUL byte or broken UTF-8 is refused, since C would read
//     another text than Go;
//   - two quotes in a CSV file are an empty text, nothing between commas is NULL.
//
// Words: a relation is the storage of one entity; a twin its empty copy; a
// grace is how long an interrupted worker may take before it is killed.
package duck
