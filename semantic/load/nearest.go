package load

import (
	"cmp"
	"slices"

	"github.com/agnivade/levenshtein"

	"plumbline/semantic"
)

// nearest gives up to three of names that look like word, best first.
func nearest(word string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	word = semantic.Name(word).Key()
	limit := 3 // a swap of two letters counts as two
	switch n := len([]rune(word)); {
	case n <= 3:
		limit = 1
	case n <= 9:
		limit = 2
	}
	var found []candidate
	for _, name := range names {
		if d := levenshtein.ComputeDistance(word, semantic.Name(name).Key()); d <= limit {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(a.distance-b.distance, cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.name)
	}
	return out
}
