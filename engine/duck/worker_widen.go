package duck

import (
	"fmt"
	"slices"
	"strings"
)

// wider lists, for the types of files, the declared types that keep every value.
// Nanoseconds are the one exception: DuckDB's TIMESTAMP counts microseconds, and
// writers that know only nanoseconds are common.
var wider = map[string][]string{
	"TINYINT":      {"SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"},
	"SMALLINT":     {"INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"},
	"INTEGER":      {"BIGINT", "HUGEINT", "DOUBLE"},
	"BIGINT":       {"HUGEINT"},
	"UTINYINT":     {"SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"},
	"USMALLINT":    {"INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"},
	"UINTEGER":     {"BIGINT", "HUGEINT", "DOUBLE"},
	"UBIGINT":      {"HUGEINT"},
	"FLOAT":        {"DOUBLE"},
	"DATE":         {"TIMESTAMP"},
	"TIMESTAMP_S":  {"TIMESTAMP"},
	"TIMESTAMP_MS": {"TIMESTAMP"},
	"TIMESTAMP_NS": {"TIMESTAMP"},
	"ENUM":         {"VARCHAR"},
	"UUID":         {"VARCHAR"},
	"JSON":         {"VARCHAR"},
	"VARCHAR":      {"UUID", "JSON"},
}

// digits of the integer types, for DECIMAL.
var digits = map[string]int{"TINYINT": 3, "UTINYINT": 3, "SMALLINT": 5, "USMALLINT": 5, "INTEGER": 10, "UINTEGER": 10, "BIGINT": 19, "UBIGINT": 20}

// widens reports whether a cast from a file's type to the declared one keeps
// every value, so that no number is rounded in silence.
func widens(have, declared string) bool {
	if declared == "TIMESTAMP WITH TIME ZONE" {
		declared = "TIMESTAMPTZ"
	}
	declared = strings.ReplaceAll(declared, " ", "")
	if have == declared || slices.Contains(wider[have], declared) {
		return true
	}
	w, s, ok := decimal(declared)
	if !ok {
		return false
	}
	if n, ok := digits[have]; ok {
		return w-s >= n
	}
	hw, hs, ok := decimal(have)
	return ok && s >= hs && w-s >= hw-hs
}

func decimal(t string) (width, scale int, ok bool) {
	n, err := fmt.Sscanf(t, "DECIMAL(%d,%d)", &width, &scale)
	return width, scale, n == 2 && err == nil
}
