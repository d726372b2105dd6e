// Package postgres reads PostgreSQL's dialect into our pipeline: text as
// PostgreSQL parses it becomes text over the same entities that DuckDB answers
// alike, and goes on through every stage as if the caller had written it.
//
// It goes from tree to tree. PostgreSQL's parser (package cparse, in a worker)
// gives a tree, which is decoded strictly; every expression of it gets the type
// that PostgreSQL gives it, from the catalog upwards; for each operator, function
// and cast on those types there is one reviewed way to say it to DuckDB, or a
// refusal (unsupported.postgres). The tree that is meant is then printed, and
// DuckDB's own reading of the print must equal it to the last leaf.
//
// What a type cannot tell is asked at run time: an expression on which PostgreSQL
// fails (a division by zero, a text that is no number) fails here too.
//
// Differences that remain, on purpose:
//   - names of entities and columns written in lower case are found in any case,
//     as everywhere in plumbline; PostgreSQL would want capitals quoted
//   - numeric quotients and means that are not rounded are of double precision
package postgres
