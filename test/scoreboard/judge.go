package main

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// same reports whether a cell of an answer is what was expected: text by text,
// numbers by value, floats within one part in a thousand million, lists item by
// item. A moment may be written with T and Z.
func same(got, want any, typ string) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	if list, ok := want.([]any); ok {
		items, ok := got.([]any)
		if !ok || len(items) != len(list) {
			return false
		}
		for i := range list {
			if !same(items[i], list[i], strings.TrimSuffix(typ, "[]")) {
				return false
			}
		}
		return true
	}
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	switch {
	case g == w:
		return true
	case strings.HasPrefix(typ, "TIMESTAMP"):
		return g == strings.TrimSuffix(strings.Replace(w, "T", " ", 1), "Z")
	case typ == "DOUBLE" || typ == "FLOAT":
		return near(g, w)
	case typ == "DATE":
		return g == strings.TrimSuffix(w, " 00:00:00")
	case typ == "VARCHAR" || typ == "BOOLEAN":
		return false
	}
	x, okX := new(big.Rat).SetString(g)
	y, okY := new(big.Rat).SetString(w)
	return okX && okY && x.Cmp(y) == 0
}

func near(g, w string) bool {
	x, errX := strconv.ParseFloat(g, 64)
	y, errY := strconv.ParseFloat(w, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-9*max(1, math.Abs(x), math.Abs(y))
}

func sameRow(got, want []any, types []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !same(got[i], want[i], types[i]) {
			return false
		}
	}
	return true
}

// sameRows compares in order, or as multisets.
func sameRows(got, want [][]any, types []string, ordered bool) bool {
	if len(got) != len(want) {
		return false
	}
	taken := make([]bool, len(got))
	for i, w := range want {
		found := false
		for j, g := range got {
			if !taken[j] && (!ordered || i == j) && sameRow(g, w, types) {
				taken[j], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// only keeps the named columns, in that order.
func (a *answer) only(names []string) (*answer, error) {
	out := &answer{columns: names, sql: a.sql, rows: make([][]any, len(a.rows))}
	for _, n := range names {
		at := -1
		for i, c := range a.columns {
			if strings.EqualFold(c, n) {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("the answer has no column %q, but %q", n, a.columns)
		}
		out.types = append(out.types, a.types[at])
		for i, r := range a.rows {
			out.rows[i] = append(out.rows[i], r[at])
		}
	}
	return out, nil
}

func rowsText(rows [][]any) string {
	out := make([]string, len(rows))
	for i, r := range rows {
		cells := make([]string, len(r))
		for j, c := range r {
			if cells[j] = "NULL"; c != nil {
				cells[j] = fmt.Sprint(c)
			}
		}
		out[i] = strings.Join(cells, " | ")
	}
	return strings.Join(out, "\n")
}
