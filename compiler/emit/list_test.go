package emit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
)

func list(t *testing.T, v view, w *world) string {
	got, err := metric.List(v, w.catalog, parsed{w.db})
	require.NoError(t, err)
	var b strings.Builder
	for _, m := range got {
		fmt.Fprintf(&b, "%s: %s of %v", m.Name, m.Kind, m.Entities)
		for label, value := range map[string]string{"": m.Unit} {
			if value != "" {
				b.WriteString(label + " in " + value)
			}
		}
		if len(m.Required) > 0 {
			fmt.Fprintf(&b, ", needs %v", m.Required)
		}
		if len(m.Time) > 0 {
			fmt.Fprintf(&b, ", time by %v", m.Time)
		}
		b.WriteString("\n  by")
		for _, d := range m.Dimensions {
			b.WriteString(" " + d.Spelling + strings.Repeat("(filter)", map[bool]int{true: 1}[d.FilterOnly]))
		}
		b.WriteString("\n")
	}
	return b.String()
}
