package duck

import "plumbline/compiler/postgres/cparse"

// parsePostgres reads a text with PostgreSQL's parser, which is C as DuckDB is,
// under the same limits and in the same sandbox. It touches no data. What is nested
// deeper than its stack bears ends the worker, as a crash of DuckDB would; the cap
// on a text keeps most of it out.
func (w *worker) parsePostgres(text string) (reply, []byte) {
	return reply{}, cparse.Parse(text)
}
