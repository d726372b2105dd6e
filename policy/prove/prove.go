// Package prove reads the final text again, as DuckDB reads it, and accepts it
// only if every rule holds. It shares no code with policy/rewrite.
//
// Only Check makes a Proved, and engine/duck runs nothing else: skipping the
// proof does not compile.
package prove

import "context"

// Proved is the ticket: a text that passed Check. The zero value carries no
// text and duck.Run refuses it.
type Proved struct{ text string }

// Text is the proved SQL; "" for the zero value.
func (p Proved) Text() string { return p.text }

// Planner reads texts as DuckDB does, on empty typed twins of the storage.
// engine/duck satisfies it.
type Planner interface {
	Check(ctx context.Context, texts []string) ([]Checked, error)
}

// Checked is DuckDB's reading of one text: its tree (json_serialize_sql), its
// bound, unoptimised plan (json_serialize_plan), and its result columns.
// OK is false when the text does not parse or bind; the other fields are then nil.
type Checked struct {
	OK      bool     `json:"ok"`
	Tree    []byte   `json:"tree"`
	Plan    []byte   `json:"plan"`
	Columns []Column `json:"columns"`
	Error   string   `json:"error"` // the engine's raw text, for the audit record only
}

// Column is a result column with DuckDB's type name.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}
