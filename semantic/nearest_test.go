package semantic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name  string
		among []string
		want  []string
	}{
		{"revenu", []string{"units", "revenue", "revenues"}, []string{"revenue", "revenues"}},
		{"grian", []string{"grain"}, []string{"grain"}},
		{"Placed", []string{"placed", "Placed"}, []string{"placed"}},
		{"id", []string{"at", "ip", "ib", "ix", "iz", "ip"}, []string{"ib", "ip", "ix"}},
		{"größe", []string{"grösse", "total"}, []string{"grösse"}},
		{"nothing", []string{"alike"}, nil},
	} {
		require.Equal(t, c.want, Nearest(c.name, c.among), c.name)
	}
}
