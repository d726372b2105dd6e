package load

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// test builds a test block. What its question asks, the compiler knows.
func (b *builder) test(n node, label string, raw rawTest) *semantic.Test {
	t := &semantic.Test{
		Name: nameOf(label), Description: raw.Description, Question: bytes.Clone(raw.Question), SQL: raw.SQL, As: raw.As, Now: raw.Now,
		Columns: raw.Columns, Expect: raw.Expect, Ordered: raw.Ordered, Refused: raw.Refused, Pos: n.label(),
	}
	switch {
	case raw.Question != nil && raw.SQL != "":
		n.child("sql").invalid("a test asks a question or sends sql, not both")
	case raw.Question == nil && raw.SQL == "" && raw.Description != "":
		n.invalid("a test asks a question or sends sql; %q does neither", label)
	}
	if raw.Now != "" {
		if _, err := time.Parse(time.RFC3339, raw.Now); err != nil {
			n.child("now").invalid("now is a moment with its offset, for example 2026-03-31T12:00:00Z")
		}
	}
	if raw.As != "" && b.workspace != nil {
		known := texts(b.workspace.Subjects, func(s semantic.SubjectSpec) semantic.Name { return semantic.Name(s.ID) })
		if !slices.Contains(known, raw.As) {
			n.child("as").unknown("subject", raw.As, " in "+ConfigFile, known)
		}
	}
	n.expected(raw)
	n.testRows(b, t, raw.Rows)
	return t
}

// expected checks what a test wants: an answer or a refusal.
func (n node) expected(raw rawTest) {
	if raw.Refused != "" {
		codes := texts(diag.Registry(), func(i diag.Info) semantic.Name { return semantic.Name(i.Code) })
		if !slices.Contains(codes, raw.Refused) {
			n.child("refused").unknown("code", raw.Refused, "", codes)
		}
		for part, set := range map[string]bool{"expect": raw.Expect != nil, "columns": raw.Columns != nil, "ordered": raw.Ordered} {
			if set {
				n.child(part).invalid("a test expects an answer or a refusal; with refused it has no %s", part)
			}
		}
		return
	}
	if raw.Expect == nil {
		if raw.Description != "" {
			n.invalid("a test expects an answer or a refusal; it has neither expect nor refused")
		}
		return
	}
	width := len(raw.Columns)
	for i, row := range raw.Expect {
		if raw.Columns == nil && i == 0 {
			width = len(row)
		}
		if len(row) != width {
			n.child("expect", strconv.Itoa(i)).invalid("every row has %d values; this one has %d", width, len(row))
		}
	}
}

// testRows checks that the rows of a test are of entities and fields that exist.
func (n node) testRows(b *builder, t *semantic.Test, rows map[string][]map[string]any) {
	if rows != nil {
		t.Rows = []semantic.TestRows{} // every entity empty is not the live data
	}
	for _, label := range n.child("rows").scope(slices.Collect(maps.Keys(rows)), "entity") {
		at := n.child("rows", label)
		e, ok := find(b.entities, label, entityName)
		if !ok {
			at.unknown("entity", label, "", texts(b.entities, entityName))
			continue
		}
		for i, row := range rows[label] {
			for _, field := range slices.Sorted(maps.Keys(row)) {
				if _, known := find(e.Fields, field, fieldName); !known {
					at.child(strconv.Itoa(i), field).unknown("field", field, fmt.Sprintf(" in entity %q", e.Name), texts(e.Fields, fieldName))
				}
			}
		}
		t.Rows = append(t.Rows, semantic.TestRows{Entity: e.Name, Rows: rows[label]})
	}
}
