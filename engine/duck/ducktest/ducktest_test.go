package ducktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/semantictest"
)

func TestCheckReadsAsDuckDBDoes(t *testing.T) {
	db := Open(t, semantictest.Shop())
	got, err := db.Check(context.Background(), []string{
		`SELECT "id", "größe" FROM "plumbline"."base"."orders"`,
		`SELECT * FROM orders`, // only the storage name exists
		`SELEC 1`,
	})
	require.NoError(t, err)
	require.True(t, got[0].OK)
	require.Equal(t, "größe", got[0].Columns[1].Name)
	require.Contains(t, string(got[0].Plan), `"table":"orders"`)
	require.False(t, got[1].OK)
	require.False(t, got[2].OK)
}
