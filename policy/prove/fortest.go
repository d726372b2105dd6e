package prove

import "testing"

// ForTest makes a Proved of any text, so that engine/duck can test how it runs
// and stops hostile statements. It panics outside a test binary.
func ForTest(t testing.TB, text string) Proved {
	if !testing.Testing() {
		panic("prove.ForTest outside a test")
	}
	t.Helper()
	return Proved{text: text}
}
