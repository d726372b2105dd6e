package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suites are the files of the corpus. In expressions.sql each line is an
// expression over the entity v, in queries.sql texts end with a semicolon; lines
// that begin with -- say what follows.
var suites = []string{"expressions", "queries"}

// testCase is one text to ask.
type testCase struct{ name, sql string }

func readCases(dir, suite string) ([]testCase, error) {
	b, err := os.ReadFile(filepath.Join(dir, suite+".sql"))
	if err != nil {
		return nil, err
	}
	var out []testCase
	var text []string
	for _, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "" {
			continue
		}
		if suite == "expressions" {
			out = append(out, testCase{line, expression(line)})
			continue
		}
		text = append(text, line)
		if body, ok := strings.CutSuffix(strings.Join(text, "\n"), ";"); ok {
			out, text = append(out, testCase{body, body}), nil
		}
	}
	if len(text) > 0 {
		return nil, fmt.Errorf("%s: the last text has no semicolon", suite)
	}
	return out, nil
}

// expression asks for an expression in each row of v. A condition behind WHERE
// picks the rows.
func expression(line string) string {
	line, where, picked := strings.Cut(line, " WHERE ")
	if picked {
		return "SELECT id, " + line + " FROM v WHERE " + where + " ORDER BY id"
	}
	return "SELECT id, " + line + " FROM v ORDER BY id"
}

// answer is what PostgreSQL says to one text: columns and rows, or the code of its error.
type answer struct {
	sql     string
	failed  string   // SQLSTATE
	columns []string // name|type
	rows    [][]string
}

// null stands for NULL in rows.
const null = "␀"

func (a answer) equal(b answer) bool { return a.String() == b.String() }

// String is the form in which answers are recorded.
func (a answer) String() string {
	var b strings.Builder
	if a.failed != "" {
		return "ERROR " + a.failed + "\n"
	}
	b.WriteString(strings.Join(a.columns, "\t") + "\n")
	w := csv.NewWriter(&b)
	_ = w.WriteAll(a.rows) // a strings.Builder does not fail
	return b.String()
}

const separator = "\n----\n"

func writeAnswers(dir, suite string, list []answer) error {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(a.sql + separator + a.String() + "\n\n")
	}
	return os.WriteFile(filepath.Join(dir, suite+".answers"), []byte(b.String()), 0o644)
}

func readAnswers(dir, suite string) ([]answer, error) {
	b, err := os.ReadFile(filepath.Join(dir, suite+".answers"))
	if err != nil {
		return nil, err
	}
	var out []answer
	for _, block := range strings.Split(strings.TrimSuffix(string(b), "\n\n\n"), "\n\n\n") {
		sql, body, ok := strings.Cut(block, separator)
		if !ok {
			return nil, fmt.Errorf("%s: a recorded answer has no %q", suite, strings.TrimSpace(separator))
		}
		a := answer{sql: sql}
		if code, failed := strings.CutPrefix(body, "ERROR "); failed {
			a.failed = strings.TrimSpace(code)
			out = append(out, a)
			continue
		}
		head, rest, _ := strings.Cut(body, "\n")
		a.columns = strings.Split(head, "\t")
		if a.rows, err = csv.NewReader(strings.NewReader(rest)).ReadAll(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", suite, sql, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// askServer asks the server of the environment, by psql, all texts in one session.
func askServer(dir string, list []testCase) ([]answer, error) {
	schema, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
	if err != nil {
		return nil, err
	}
	data, err := filepath.Abs(filepath.Join(dir, "workspace", "data"))
	if err != nil {
		return nil, err
	}
	var script bytes.Buffer
	script.WriteString(strings.ReplaceAll(string(schema), "DATA", data))
	script.WriteString("\n\\pset null " + null + "\n\\pset format csv\n\\set VERBOSITY sqlstate\n")
	for _, c := range list {
		fmt.Fprintf(&script, "\\echo @columns\n%s \\gdesc\n\\echo @rows\n%s;\n", c.sql, c.sql)
	}
	cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=0", "-f", "-")
	cmd.Stdin = &script
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("psql: %w\n%s", err, out)
	}
	parts := strings.Split(string(out), "@columns\n")
	if strings.TrimSpace(parts[0]) != "" || len(parts) != len(list)+1 {
		return nil, fmt.Errorf("the tables could not be made, or %d texts had %d answers:\n%s", len(list), len(parts)-1, parts[0])
	}
	answers := make([]answer, len(list))
	for i, c := range list {
		if answers[i], err = parseAnswer(c.sql, parts[i+1]); err != nil {
			return nil, fmt.Errorf("%s: %w", c.sql, err)
		}
	}
	return answers, nil
}

func parseAnswer(sql, out string) (answer, error) {
	a := answer{sql: sql}
	head, body, _ := strings.Cut(out, "@rows\n")
	for _, part := range []string{head, body} {
		if i := strings.Index(part, "ERROR:  "); i >= 0 {
			a.failed = strings.TrimSpace(strings.SplitN(part[i+len("ERROR:  "):], "\n", 2)[0])
			return a, nil
		}
	}
	columns, err := csv.NewReader(strings.NewReader(head)).ReadAll()
	if err != nil {
		return a, err
	}
	if len(columns) == 0 {
		return a, fmt.Errorf("psql answers with %q", out)
	}
	for _, c := range columns[1:] {
		a.columns = append(a.columns, c[0]+"|"+c[1])
	}
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil {
		return a, err
	}
	if len(rows) == 0 {
		return a, fmt.Errorf("psql answers with %q", out)
	}
	a.rows = rows[1:]
	return a, nil
}
