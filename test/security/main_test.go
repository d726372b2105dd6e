package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func echo(text string, names ...string) suite {
	return suite{names, []string{"echo", text}}
}

// TestSuitesMustSpeak: a suite that fails, leaks, blocks, is silent or asks
// nothing fails the command.
func TestSuitesMustSpeak(t *testing.T) {
	ctx := context.Background()
	rows, err := echo("x_test.go:1: security: random twins cases=30 leaks=0 overblocks=0", "random twins").run(ctx)
	require.NoError(t, err)
	require.Equal(t, []row{{"random twins", 30, 0, 0}}, rows)
	for want, s := range map[string]suite{
		"1 leaks":       echo("security: a cases=3 leaks=1 overblocks=0", "a"),
		"2 over-blocks": echo("security: a cases=3 leaks=0 overblocks=2", "a"),
		"0 cases":       echo("security: a cases=0 leaks=0 overblocks=0", "a"),
		`about "b"`:     echo("security: a cases=3 leaks=0 overblocks=0", "a", "b"),
		"exit status":   {nil, []string{"false"}},
	} {
		_, err := s.run(ctx)
		require.ErrorContains(t, err, want)
	}
}

func TestDocumentQuotesTheTable(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("docs", 0o755))
	text := "# A\n" + begin + "\nold\n" + end + "\nrest\n"
	require.NoError(t, os.WriteFile(document, []byte(text), 0o644))
	table := render([]row{{"a", 3, 0, 0}})
	require.ErrorContains(t, inDocument(table, false), "other figures")
	require.NoError(t, inDocument(table, true))
	require.NoError(t, inDocument(table, false))
	raw, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, "# A\n"+begin+"\n"+table+end+"\nrest\n", string(raw))
}
