package engine_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMeasuresPage runs each example of docs/measures.md over the sample.
func TestMeasuresPage(t *testing.T) {
	h := shop(t)
	page, err := os.ReadFile("../docs/measures.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(page, -1)
	require.NotEmpty(t, examples)
	for _, e := range examples {
		ans, err := h.sql("operator", string(e[1]))
		require.NoError(t, err, "%s", e[1])
		require.NotEmpty(t, ans.Table.Rows, "%s", e[1])
	}
}
