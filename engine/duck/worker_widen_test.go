package duck

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWidens(t *testing.T) {
	for _, c := range []struct {
		have, declared string
		want           bool
	}{
		{"BIGINT", "BIGINT", true}, {"INTEGER", "BIGINT", true}, {"BIGINT", "INTEGER", false}, {"DOUBLE", "BIGINT", false}, {"BIGINT", "DOUBLE", false},
		{"INTEGER", "DOUBLE", true}, {"UBIGINT", "BIGINT", false}, {"UBIGINT", "HUGEINT", true}, {"FLOAT", "DOUBLE", true}, {"DOUBLE", "FLOAT", false},
		{"DECIMAL(9,2)", "DECIMAL(12,2)", true}, {"DECIMAL(9,2)", "DECIMAL(12, 4)", true}, {"DECIMAL(9,2)", "DECIMAL(9,3)", false}, {"DECIMAL(9,2)", "DECIMAL(9,1)", false},
		{"INTEGER", "DECIMAL(12,2)", true}, {"INTEGER", "DECIMAL(11,2)", false}, {"DOUBLE", "DECIMAL(12,2)", false}, {"DECIMAL(9,2)", "DOUBLE", false},
		{"DATE", "TIMESTAMP", true}, {"TIMESTAMP", "DATE", false}, {"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", false}, {"TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", true},
		{"TIMESTAMPTZ", "TIMESTAMP", false}, {"TIMESTAMP_NS", "TIMESTAMP", true}, {"VARCHAR", "BIGINT", false}, {"VARCHAR", "DATE", false}, {"BLOB", "VARCHAR", false}, {"UNKNOWN", "VARCHAR", false},
	} {
		require.Equal(t, c.want, widens(c.have, c.declared), "%s as %s", c.have, c.declared)
	}
}
