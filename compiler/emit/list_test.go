package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
)

func list(t *testing.T, v view, w *world) string {
	got, err := metric.List(v, w.catalog, w.exprs)
	require.NoError(t, err)
	var b strings.Builder
	for _, m := range got {
		fmt.Fprintf(&b, "%s: %s of %v", m.Name, m.Kind, m.Entities)
		if m.Unit != "" {
			b.WriteString(" in " + m.Unit)
		}
		if len(m.Required) > 0 {
			fmt.Fprintf(&b, ", needs %v", m.Required)
		}
		if len(m.Time) > 0 {
			fmt.Fprintf(&b, ", time by %v", m.Time)
		}
		b.WriteString("\n  by")
		for _, d := range m.Dimensions {
			b.WriteString(" " + d.Spelling)
			if d.FilterOnly {
				b.WriteString("(filter)")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
