package rowdiff

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"plumbline/engine/shape"
)

// shownRows bounds the rows of each kind that Text prints.
const shownRows = 20

// Text prints the difference as a table: missing rows behind -, unexpected ones
// behind +. "" when there is none.
func (d Diff) Text(columns []shape.Column) string {
	if d.Empty() {
		return ""
	}
	if d.Reordered {
		return "the rows are right and their order is not\n"
	}
	head := []string{" "}
	for _, c := range columns {
		head = append(head, c.Name)
	}
	table := [][]string{head}
	table = append(table, signed("-", columns, d.Missing)...)
	table = append(table, signed("+", columns, d.Unexpected)...)
	var b strings.Builder
	write(&b, table)
	for _, more := range []struct{ sign, rows int }{{'-', len(d.Missing)}, {'+', len(d.Unexpected)}} {
		if more.rows > shownRows {
			fmt.Fprintf(&b, "%c and %d more\n", more.sign, more.rows-shownRows)
		}
	}
	return b.String()
}

func signed(sign string, columns []shape.Column, rows [][]any) [][]string {
	var out [][]string
	for _, row := range rows[:min(len(rows), shownRows)] {
		line := []string{sign}
		for i, v := range row {
			typ := ""
			if i < len(columns) {
				typ = columns[i].Type
			}
			line = append(line, Cell(typ, v))
		}
		out = append(out, line)
	}
	return out
}

// write prints rows in columns of equal width.
func write(b *strings.Builder, table [][]string) {
	var widths []int
	for _, row := range table {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range table {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// Cell prints a value so that no two print alike: text in quotes, NULL bare.
func Cell(typ string, v any) string {
	if v == nil {
		return "NULL"
	}
	if s, ok := v.(string); ok && Numeric(typ) && Number(v) != nil {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(text)
}
