package sqlast

// ExprTypes gives the table of classes and types to the tests.
func ExprTypes() map[string][]string { return exprTypes }

// CanonicalJSON reads raw and writes it again.
func CanonicalJSON(raw []byte) (string, error) {
	v, err := readJSON(raw)
	if err != nil {
		return "", err
	}
	return writeJSON(v), nil
}
