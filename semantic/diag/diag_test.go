package diag_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic/diag"
)

// TestAll: an error tells itself and not its cause; a list tells all its members,
// however deep either is wrapped.
func TestAll(t *testing.T) {
	one, two := diag.New(diag.ModelSQL, "one"), diag.New(diag.ModelUnknown, "two")
	list := diag.List{one, two}
	over := diag.Wrap(list, diag.PolicyDenied, "over")
	for _, c := range []struct {
		name string
		err  error
		want []*diag.Error
	}{
		{"nothing", nil, nil},
		{"an error", one, []*diag.Error{one}},
		{"a list", list, list},
		{"an error over a list", over, []*diag.Error{over}},
		{"a wrapped error", fmt.Errorf("more: %w", one), []*diag.Error{one}},
		{"a wrapped list", fmt.Errorf("more: %w", list), list},
		{"a wrapped error over a list", fmt.Errorf("more: %w", over), []*diag.Error{over}},
		{"an error before a list", errors.Join(two, list), []*diag.Error{two}},
		{"a list before an error", errors.Join(list, over), list},
		{"a foreign error first", errors.Join(errors.New("foreign"), list), list},
	} {
		require.Equal(t, c.want, diag.All(c.err), c.name)
	}
	for _, foreign := range []error{errors.New("foreign"), diag.List{}} { // an empty list is no error to return
		require.Equal(t, diag.BugInternal, diag.CodeOf(foreign))
		require.Equal(t, foreign, diag.All(foreign)[0].Err)
	}
}
