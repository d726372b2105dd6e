package semantic

import (
	"cmp"
	"slices"

	"github.com/agnivade/levenshtein"
)

// Nearest gives up to three of among that a misspelt name may have meant, best
// first, each once. The name itself is no help and is left out; its spelling in
// another case is one. A swap of two letters counts as two.
func Nearest(name string, among []string) []string {
	type near struct {
		name     string
		distance int
	}
	key := Name(name).Key()
	limit := 1
	if n := len([]rune(key)); n > 3 {
		limit = max(2, n/3)
	}
	var found []near
	for _, n := range among {
		if d := levenshtein.ComputeDistance(key, Name(n).Key()); n != name && d <= limit {
			found = append(found, near{n, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(a.distance-b.distance, cmp.Compare(a.name, b.name)) })
	found = slices.Compact(found)
	var out []string
	for _, f := range found[:min(3, len(found))] {
		out = append(out, f.name)
	}
	return out
}
