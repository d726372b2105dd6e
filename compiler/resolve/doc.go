// Package resolve binds the names of a statement to the catalog a subject may
// see, scope by scope, and keeps what it learns beside the tree: every reference
// to an entity, every use of a column by clause, the lineage of every output.
//
// It never asks the engine: storage schemas, system schemas, files, rowid and
// catalog functions do not exist. What it cannot resolve it refuses, with all
// refusals of a statement at once. It does not decide who may use what (policy)
// and does not change the text (policy/rewrite).
package resolve
