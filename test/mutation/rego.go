package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// library is the folder of the policies.
const library = "rego"

// edit replaces a part of a policy: a rule by nothing, an expression by true.
type edit struct {
	mutant
	file     string
	from, to int
	by       string
}

// regoEdits lists the rules and expressions of the policies. An expression that
// makes a variable is no check: without it the rule does not compile.
func regoEdits(opa string) ([]edit, error) {
	files, err := filepath.Glob(filepath.Join(library, "*.rego"))
	if err != nil {
		return nil, err
	}
	var out []edit
	seen := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.rego") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		raw, err := exec.Command(opa, "parse", "--format", "json", "--json-include", "locations,-comments", file).Output()
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		var tree struct{ Rules []map[string]any }
		if err := json.Unmarshal(raw, &tree); err != nil {
			return nil, err
		}
		add := func(node map[string]any, by, what string) error {
			from, part, err := placeOf(node, text)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			name := file + " " + what + strings.Join(strings.Fields(part), " ")
			if len(name) > 140 {
				name = name[:140]
			}
			if seen[name]++; seen[name] > 1 {
				name += fmt.Sprintf(" (%d)", seen[name])
			}
			out = append(out, edit{mutant{name}, file, from, from + len(part), by})
			return nil
		}
		for _, rule := range tree.Rules {
			if err := add(rule, "", "rule: "); err != nil {
				return nil, err
			}
			for _, e := range expressions(rule) {
				if err := add(e, "true", ""); err != nil {
					return nil, err
				}
			}
		}
	}
	return out, nil
}

// placeOf gives where a node stands in a text, and its own text.
func placeOf(node map[string]any, text []byte) (from int, part string, err error) {
	at, _ := node["location"].(map[string]any)
	row, ok1 := at["row"].(float64)
	col, ok2 := at["col"].(float64)
	coded, ok3 := at["text"].(string)
	raw, err := base64.StdEncoding.DecodeString(coded)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return 0, "", fmt.Errorf("a node has no place: %v", at)
	}
	for range int(row) - 1 {
		from += bytes.IndexByte(text[from:], '\n') + 1
	}
	from += int(col) - 1
	if !bytes.HasPrefix(text[from:], raw) {
		return 0, "", fmt.Errorf("the text at %v:%v is another one", row, col)
	}
	return from, string(raw), nil
}

// expressions lists the conditions in a rule's bodies, also those inside every
// and comprehensions.
func expressions(v any) []map[string]any {
	var out []map[string]any
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, expressions(item)...)
		}
	case map[string]any:
		body, _ := v["body"].([]any)
		for _, item := range body {
			e, _ := item.(map[string]any)
			if e["terms"] != nil && !declares(e) {
				out = append(out, e)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "location" {
				out = append(out, expressions(v[key])...)
			}
		}
	}
	return out
}

// declares reports that an expression makes a variable: some or :=.
func declares(e map[string]any) bool {
	switch terms := e["terms"].(type) {
	case map[string]any:
		return terms["symbols"] != nil
	case []any:
		raw, _ := json.Marshal(terms[0])
		return bytes.Contains(raw, []byte(`"assign"`))
	}
	return false
}

// tryPolicies runs the policies' own tests over a copy with each edit.
func tryPolicies(dir string) ([]result, error) {
	path, err := exec.Command("go", "tool", "-n", "opa").Output()
	if err != nil {
		return nil, fmt.Errorf("find opa: %w", err)
	}
	opa := strings.TrimSpace(string(path))
	edits, err := regoEdits(opa)
	if err != nil {
		return nil, err
	}
	if out, err := exec.Command(opa, "test", "--fail-on-empty", library).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the policies' tests fail without a mutant: %w\n%s", err, out)
	}
	out := make([]result, len(edits))
	return out, each(len(edits), func(i int) error {
		out[i] = result{edits[i].mutant, survived}
		copied := filepath.Join(dir, fmt.Sprint("rego", i))
		if err := edits[i].write(copied); err != nil {
			return err
		}
		err := exec.Command(opa, "test", "--fail-on-empty", copied).Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out[i].outcome, err = caught, nil
		}
		return err
	})
}

// write copies the policies with the edit made.
func (e edit) write(dir string) error {
	if err := os.CopyFS(dir, os.DirFS(library)); err != nil {
		return err
	}
	text, err := os.ReadFile(e.file)
	if err != nil {
		return err
	}
	text = slices.Concat(text[:e.from], []byte(e.by), text[e.to:])
	return os.WriteFile(filepath.Join(dir, filepath.Base(e.file)), text, 0o600)
}
