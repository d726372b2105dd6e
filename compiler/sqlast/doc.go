// Package sqlast is the SQL tree of plumbline, strictly decoded from what
// DuckDB's own json_serialize_sql says of a text. It knows nothing about
// meaning: names are resolved by compiler/resolve.
//
// It promises: an unknown node, field or enum value is a refusal, never skipped;
// text, node count, depth and list widths are capped; Equal compares trees
// without their places; SQL is never printed from a tree, so there is no printer.
package sqlast

import "context"

// Parser turns one text into DuckDB's JSON (json_serialize_sql with
// storage_compatibility_version=latest). engine/duck satisfies it.
type Parser interface {
	// Serialize gives the raw JSON, also when it is DuckDB's error form.
	Serialize(ctx context.Context, text string) ([]byte, error)
}
