package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// line is one question of a corpus file: id, category, text, expected words,
// separated by tabs.
type line struct {
	id, category, text, expected string
}

// readCorpus reads a file of lines below its header. In a text, \t and \n stand
// for a tab and a line end, and @gen:KIND:N for a generated text.
func readCorpus(path string) ([]line, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []line
	for n, l := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
		cells := strings.Split(l, "\t")
		if n == 0 && cells[0] == "id" {
			continue
		}
		if len(cells) != 4 {
			return nil, fmt.Errorf("%s:%d: %d columns, want id, category, sql, expected", path, n+1, len(cells))
		}
		text, err := expand(cells[2])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		out = append(out, line{cells[0], cells[1], text, cells[3]})
	}
	if len(out) == 0 {
		return nil, errors.New(path + ": no lines")
	}
	return out, nil
}

// toolPrefix opens a line that is a tool call: {"tool":"name", then its arguments.
var toolPrefix = regexp.MustCompile(`^\{"tool":"(\w+)",?`)

// toolCall takes the tool's name out of a line and leaves the arguments as they
// are written, repeated keys included.
func toolCall(text string) (name string, arguments []byte, err error) {
	m := toolPrefix.FindStringSubmatch(text)
	if m == nil {
		return "", nil, fmt.Errorf("%q is no tool call", text)
	}
	return m[1], []byte("{" + text[len(m[0]):]), nil
}

func expand(text string) (string, error) {
	spec, ok := strings.CutPrefix(text, "@gen:")
	if !ok {
		return strings.NewReplacer(`\t`, "\t", `\n`, "\n").Replace(text), nil
	}
	kind, count, _ := strings.Cut(spec, ":")
	n, err := strconv.Atoi(count)
	if err != nil {
		return "", fmt.Errorf("generated text %q has no count", text)
	}
	generate, ok := generators[kind]
	if !ok {
		return "", fmt.Errorf("generated text %q is of no known kind", text)
	}
	return generate(n), nil
}

// generators make texts of a size that a file cannot hold.
var generators = map[string]func(n int) string{
	"deep_parens": func(n int) string {
		return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n)
	},
	"deep_subquery": func(n int) string {
		return strings.Repeat("SELECT * FROM (", n) + "SELECT 1 AS x" + strings.Repeat(") t", n)
	},
	"in_list": func(n int) string {
		return "SELECT count(*) FROM orders WHERE id IN (" + list(n, ",", func(i int) string { return strconv.Itoa(i) }) + ")"
	},
	"and_chain": func(n int) string {
		return "SELECT count(*) FROM orders WHERE " + list(n, " AND ", func(i int) string { return "id<>" + strconv.Itoa(i) })
	},
	"select_list": func(n int) string {
		return "SELECT " + list(n, ",", func(i int) string { return "id+" + strconv.Itoa(i) }) + " FROM orders"
	},
	"union_all": func(n int) string {
		return list(n, " UNION ALL ", func(int) string { return "SELECT id FROM orders" })
	},
	"joins": func(n int) string {
		return "SELECT count(*) FROM orders o0 " + list(n-1, " ", func(i int) string {
			return fmt.Sprintf("JOIN orders o%d ON o%d.id=o%d.customer_id", i+1, i+1, i)
		})
	},
	"case_nest": func(n int) string {
		return "SELECT " + strings.Repeat("CASE WHEN true THEN ", n) + "1" + strings.Repeat(" END", n)
	},
	"long_literal": func(n int) string { return "SELECT '" + strings.Repeat("x", n) + "'" },
	"deep_list": func(n int) string {
		return "SELECT " + strings.Repeat("[", n) + "1" + strings.Repeat("]", n)
	},
	"cte_chain_double": func(n int) string {
		chain := list(n-1, "", func(i int) string {
			return fmt.Sprintf(", c%d AS (SELECT a.x FROM c%d a, c%d b)", i+1, i, i)
		})
		return fmt.Sprintf("WITH c0 AS (SELECT 1 x)%s SELECT count(*) FROM c%d", chain, n-1)
	},
	"not_chain":    func(n int) string { return "SELECT " + strings.Repeat("NOT ", n) + "true" },
	"concat_chain": func(n int) string { return "SELECT " + list(n, " || ", func(int) string { return "'a'" }) },
	"comment_bomb": func(n int) string { return "SELECT 1 /*" + strings.Repeat("*", n) + "*/" },
}

func list(n int, between string, item func(i int) string) string {
	items := make([]string, max(n, 0))
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, between)
}
