package sqlast

// ExprTypes gives the table of classes and types to the tests.
func ExprTypes() map[string][]string { return exprTypes }
