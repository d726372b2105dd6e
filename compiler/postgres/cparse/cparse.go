// Package cparse is PostgreSQL's own parser, which is C. It is the one home of
// pg_query_go, and only the files of engine/duck that run in a worker process may
// import it: the server reads the JSON that a worker makes here.
package cparse

import (
	"encoding/json"
	"errors"

	"github.com/pganalyze/pg_query_go/v6/parser"
)

// Failure is what Parse gives, as JSON, for a text that is not PostgreSQL.
type Failure struct {
	Error    bool   `json:"error"` // always true
	Message  string `json:"message"`
	Position int    `json:"position"` // of a character, counted from 1; 0 when unknown
}

// Parse gives PostgreSQL's tree of a text as JSON, or the JSON of a Failure.
func Parse(text string) []byte {
	tree, err := parser.ParseToJSON(text)
	if err == nil {
		return []byte(tree)
	}
	f := Failure{Error: true, Message: err.Error()}
	var at *parser.Error
	if errors.As(err, &at) {
		f.Position = at.Cursorpos
	}
	out, _ := json.Marshal(f) // a struct of plain values is always JSON
	return out
}
