package resolve

import "strings"

// failingCasts gives for each type the types to which a cast of some value fails. A
// cast to another type either holds for every value or is none. TRY_CAST never fails.
var failingCasts = map[string]string{
	"BIGINT":      "DECIMAL INTEGER SMALLINT TINYINT UBIGINT",
	"BLOB":        "UUID",
	"DATE":        "TIMESTAMP TIMESTAMPTZ",
	"DECIMAL":     "INTEGER SMALLINT TINYINT UBIGINT",
	"DOUBLE":      "BIGINT DECIMAL FLOAT HUGEINT INTEGER SMALLINT TINYINT UBIGINT",
	"FLOAT":       "BIGINT DECIMAL HUGEINT INTEGER SMALLINT TINYINT UBIGINT",
	"HUGEINT":     "BIGINT DECIMAL INTEGER SMALLINT TINYINT UBIGINT",
	"INTEGER":     "SMALLINT TINYINT UBIGINT",
	"JSON":        "BIGINT BOOLEAN DATE DECIMAL DOUBLE FLOAT HUGEINT INTEGER INTERVAL SMALLINT TIME TIMESTAMP TIMESTAMPTZ TINYINT UBIGINT UUID",
	"SMALLINT":    "TINYINT UBIGINT",
	"TIMESTAMP":   "TIME TIMESTAMPTZ",
	"TIMESTAMPTZ": "TIMESTAMP",
	"TINYINT":     "UBIGINT",
	"UBIGINT":     "BIGINT DECIMAL INTEGER SMALLINT TINYINT",
	"VARCHAR":     "BIGINT BLOB BOOLEAN DATE DECIMAL DOUBLE FLOAT HUGEINT INTEGER INTERVAL JSON SMALLINT TIME TIMESTAMP TIMESTAMPTZ TINYINT UBIGINT UUID",
}

// FailingCasts gives for each type the types to which casting some value fails.
func FailingCasts() map[string][]string {
	out := make(map[string][]string, len(failingCasts))
	for from, to := range failingCasts {
		out[from] = strings.Fields(to)
	}
	return out
}
