package sqlast

import "encoding/json"

// Statement is one SELECT statement: the caller's exact text and its tree.
// It is never changed after Parse; facts about it are kept beside it.
type Statement struct {
	Text string
	Root Query
}

// Offset is the byte offset of a node's first token in Statement.Text.
// NoOffset means that DuckDB did not say.
type Offset int

// NoOffset is DuckDB's 18446744073709551615.
const NoOffset Offset = -1

// Query is SelectNode, SetOperation or RecursiveCTE.
type Query interface{ queryBase() *QueryBase }

// QueryBase is what all query nodes share.
type QueryBase struct {
	CTEs      []CTE
	Modifiers []Modifier
}

func (q *QueryBase) queryBase() *QueryBase { return q }

// Base gives the CTEs and modifiers of any query node.
func Base(q Query) *QueryBase { return q.queryBase() }

// CTE is one WITH item.
type CTE struct {
	Name         string
	Aliases      []string
	Materialized string // CTE_MATERIALIZE_DEFAULT, _ALWAYS, _NEVER
	KeyTargets   []Expr // USING KEY; recursive only
	Query        Query
}

// SelectNode is SELECT ... FROM ... .
type SelectNode struct {
	QueryBase
	Select     []Expr
	From       TableRef // *EmptyRef when absent
	Where      Expr     // nil when absent
	Groups     []Expr
	GroupSets  [][]int // indexes into Groups
	Having     Expr
	Qualify    Expr
	Sample     *Sample
	Aggregates string // STANDARD_HANDLING, or FORCE_AGGREGATES for GROUP BY ALL
}

// SetOperation is UNION, EXCEPT, INTERSECT or UNION_BY_NAME over two or more children.
type SetOperation struct {
	QueryBase
	Op       string // UNION, EXCEPT, INTERSECT, UNION_BY_NAME
	All      bool
	Children []Query
}

// RecursiveCTE is the body of a recursive CTE.
type RecursiveCTE struct {
	QueryBase
	Name       string
	UnionAll   bool
	Left       Query
	Right      Query
	Aliases    []string
	KeyTargets []Expr
}

// Sample is TABLESAMPLE or USING SAMPLE.
type Sample struct {
	Size         Value
	IsPercentage bool
	Method       string
	Seed         json.Number // "" or "-1" when none
}

// TableRef is one item of FROM.
type TableRef interface{ refBase() *RefBase }

// RefBase is what all table references share.
type RefBase struct {
	Alias  string
	Sample *Sample
	At     Offset
}

func (r *RefBase) refBase() *RefBase { return r }

// Ref gives the alias, sample and place of any table reference.
func Ref(t TableRef) *RefBase { return t.refBase() }

// The table references.
type (
	// EmptyRef is no FROM at all.
	EmptyRef struct{ RefBase }
	// BaseTable names an entity or a CTE; which one, resolve decides.
	BaseTable struct {
		RefBase
		Catalog, Schema, Table string
		ColumnAliases          []string
		AtClause               json.RawMessage // time travel; nil when absent, refused otherwise
	}
	// JoinRef joins two references.
	JoinRef struct {
		RefBase
		Left, Right TableRef
		Type        string // INNER, LEFT, RIGHT, FULL, SEMI, ANTI
		Kind        string // REGULAR, CROSS, NATURAL, ASOF, POSITIONAL
		Condition   Expr   // nil when absent
		Using       []string
		Implicit    bool // a comma
	}
	// SubqueryRef is a derived table.
	SubqueryRef struct {
		RefBase
		Query         Query
		ColumnAliases []string
	}
	// TableFunction is f(...) in FROM.
	TableFunction struct {
		RefBase
		Function       *Function
		ColumnAliases  []string
		WithOrdinality bool
	}
	// ValuesRef is VALUES in FROM.
	ValuesRef struct {
		RefBase
		Rows          [][]Expr
		ExpectedNames []string
	}
	// PivotRef is PIVOT or UNPIVOT with spelled-out values.
	PivotRef struct {
		RefBase
		Source        TableRef
		Aggregates    []Expr
		UnpivotNames  []string
		Pivots        []PivotColumn
		Groups        []string
		ColumnAliases []string
		IncludeNulls  bool
	}
	// ShowRef is DESCRIBE, SHOW or SUMMARIZE. It is decoded so that the refusal
	// can name it; no stage accepts it.
	ShowRef struct {
		RefBase
		ShowType string
		Table    string
	}
)

// PivotColumn is one ON item of a pivot.
type PivotColumn struct {
	Exprs        []Expr
	UnpivotNames []string
	Entries      []PivotEntry
	Enum         string // refused when set
}

// PivotEntry is one value of a pivot column.
type PivotEntry struct {
	Values []Value
	Star   Expr // nil when absent
	Alias  string
}

// Modifier is a result modifier of a query node.
type Modifier interface{ modifier() }

// The modifiers.
type (
	// OrderBy is ORDER BY. An empty list is no modifier.
	OrderBy struct{ Orders []Order }
	// Limit is LIMIT and OFFSET; either may be nil. Percent marks LIMIT n%.
	Limit struct {
		Limit, Offset Expr
		Percent       bool
	}
	// Distinct is DISTINCT, or DISTINCT ON when On is not empty.
	Distinct struct{ On []Expr }
)

func (*OrderBy) modifier()  {}
func (*Limit) modifier()    {}
func (*Distinct) modifier() {}

// Order is one ORDER BY term.
type Order struct {
	Expr  Expr
	Dir   string // ORDER_DEFAULT, ASCENDING, DESCENDING
	Nulls string // ORDER_DEFAULT, NULLS FIRST, NULLS LAST
}

// Expr is an expression.
type Expr interface{ exprBase() *ExprBase }

// ExprBase is what all expressions share. Alias is set on select items.
type ExprBase struct {
	Alias string
	At    Offset
}

func (e *ExprBase) exprBase() *ExprBase { return e }

// Meta gives the alias and place of any expression.
func Meta(e Expr) *ExprBase { return e.exprBase() }

// The expressions. Op and Kind fields hold DuckDB's own type words.
type (
	// ColumnRef is a possibly qualified column name: Names has one to four parts.
	ColumnRef struct {
		ExprBase
		Names []string
	}
	// Constant is a literal.
	Constant struct {
		ExprBase
		Value Value
	}
	// Function is a scalar or aggregate call, or an operator (IsOperator).
	Function struct {
		ExprBase
		Catalog, Schema, Name string
		Args                  []Expr
		Distinct              bool
		Filter                Expr // nil when absent
		OrderBy               []Order
		IsOperator            bool
		ExportState           bool
	}
	// Window is a call with OVER.
	Window struct {
		ExprBase
		Kind                  string // WINDOW_AGGREGATE, WINDOW_LAG, ...
		Catalog, Schema, Name string
		Args                  []Expr
		Partitions            []Expr
		Orders                []Order
		ArgOrders             []Order
		Start, End            string
		StartExpr, EndExpr    Expr
		OffsetExpr            Expr
		DefaultExpr           Expr
		Filter                Expr
		IgnoreNulls           bool
		Distinct              bool
		Exclude               string
	}
	// Comparison is =, <>, <, <=, >, >=, IS [NOT] DISTINCT FROM.
	Comparison struct {
		ExprBase
		Op          string // COMPARE_EQUAL, ...
		Left, Right Expr
	}
	// Conjunction is AND or OR over two or more operands.
	Conjunction struct {
		ExprBase
		Op   string // CONJUNCTION_AND, CONJUNCTION_OR
		Args []Expr
	}
	// Operator is IN, NOT IN, NOT, IS NULL, IS NOT NULL, COALESCE, TRY, array and struct access, GROUPING, UNPACK.
	Operator struct {
		ExprBase
		Op   string
		Args []Expr
	}
	// Between is x BETWEEN a AND b.
	Between struct {
		ExprBase
		Input, Lower, Upper Expr
	}
	// Case is CASE.
	Case struct {
		ExprBase
		Checks []CaseCheck
		Else   Expr
	}
	// Cast is CAST or TRY_CAST.
	Cast struct {
		ExprBase
		Child Expr
		Type  TypeName
		Try   bool
	}
	// Collate is COLLATE.
	Collate struct {
		ExprBase
		Child     Expr
		Collation string
	}
	// Star is *, t.*, or COLUMNS(...).
	Star struct {
		ExprBase
		Relation         string
		Exclude          []string
		QualifiedExclude []QualifiedName
		Replace          []Named
		Rename           []Rename
		Columns          bool
		Expr             Expr // argument of COLUMNS
	}
	// Subquery is a scalar subquery, EXISTS, or ANY (also IN).
	Subquery struct {
		ExprBase
		Kind       string // SCALAR, EXISTS, NOT_EXISTS, ANY
		Comparison string // for ANY
		Child      Expr   // left side of ANY
		Query      Query
	}
	// Lambda is x -> expr or lambda x: expr, and JSON's -> operator.
	Lambda struct {
		ExprBase
		Params Expr
		Body   Expr
		Syntax string
	}
	// Positional is #1.
	Positional struct {
		ExprBase
		Index int
	}
	// Parameter is ?, $1 or $name; always refused.
	Parameter struct {
		ExprBase
		Identifier string
	}
	// TypeExpr is a type standing as an expression.
	TypeExpr struct {
		ExprBase
		Catalog, Schema, Name string
		Args                  []Expr
	}
	// Default is the word DEFAULT; always refused.
	Default struct{ ExprBase }
)

// CaseCheck is one WHEN ... THEN.
type CaseCheck struct{ When, Then Expr }

// Named is one REPLACE item of a star.
type Named struct {
	Name string
	Expr Expr
}

// QualifiedName is a column name of EXCLUDE or RENAME with what qualifies it.
type QualifiedName struct{ Catalog, Schema, Table, Column string }

// Rename is one RENAME item of a star.
type Rename struct {
	From QualifiedName
	To   string
}

// Value is a literal. Raw is DuckDB's JSON of the value, "" when null.
type Value struct {
	Type   TypeName
	IsNull bool
	Raw    string
}

// TypeName is a type as written or as DuckDB made it: ID is DuckDB's word
// (INTEGER, DECIMAL, UNBOUND ...), Expr the written type when ID is UNBOUND,
// Info the canonical JSON of what else describes it (width, scale, children).
type TypeName struct {
	ID   string
	Expr Expr
	Info string
}
