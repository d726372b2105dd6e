package semantic

// Storage says how a worker reads the rows of one entity: a table expression
// over files. A source makes it, engine/duck builds the view and the twin of
// the entity from it, with the entity's fields in declared order.
type Storage struct {
	Entity *Entity
	From   string   // DuckDB table expression whose columns carry the names of Field.Column
	Files  []string // absolute real paths, sorted: exactly what From reads
}
