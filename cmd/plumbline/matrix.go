package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"plumbline/engine"
	"plumbline/policy"
)

type matrixCmd struct {
	As     string `help:"Only this subject of plumbline.cue or subjects.json."`
	Role   string `help:"Only subjects with this role."`
	Entity string `help:"Only this entity."`
	Format string `enum:"text,json,csv" default:"text" help:"text, json or csv. Cells of the CSV that a spreadsheet would compute begin with an apostrophe."`
}

// Run prints who may see what under which rule, for every subject that the
// workspace declares. It reads models and policies and no data, and spells out row
// conditions: it is for those who can read the policies anyway. It exits with 1 when
// a rule cannot be applied.
func (c matrixCmd) Run(e *env) (err error) {
	g, err := engine.OpenGovernance(e.ctx, e.cli.Dir, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	m, err := g.Matrix(e.ctx, engine.Choice{As: c.As, Role: c.Role, Entity: c.Entity})
	if err != nil {
		return err
	}
	e.stdout = plain{e.stdout}
	switch {
	case e.cli.JSON || c.Format == "json":
		err = e.print(m)
	case c.Format == "csv":
		err = matrixCSV(e.stdout, m)
	default:
		_, err = io.WriteString(e.stdout, matrixText(m))
	}
	if err == nil && faulty(m) {
		err = exitCode(1)
	}
	return err
}

func faulty(m *engine.Matrix) bool {
	return slices.ContainsFunc(m.Subjects, func(s engine.SubjectAccess) bool {
		return slices.ContainsFunc(s.Entities, func(a engine.EntityAccess) bool { return a.Fault != "" })
	})
}

// matrixText prints a part for each subject: what it sees, then what is closed to it.
func matrixText(m *engine.Matrix) string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy %.12s, models %.12s\n", m.Policy, m.Model)
	for _, s := range m.Subjects {
		fmt.Fprintf(&b, "\nsubject %s  roles: %s  claims: %s  (%s)\n", s.ID, orNone(strings.Join(s.Roles, ", ")), claims(s.Claims), strings.Join(s.Declared, ", "))
		var hidden []string
		for _, a := range s.Entities {
			if !a.Visible && a.Fault == "" {
				hidden = append(hidden, a.Entity)
				continue
			}
			entityText(&b, a)
		}
		if len(hidden) > 0 {
			fmt.Fprintf(&b, "  hidden entities: %s\n", strings.Join(hidden, ", "))
		}
		closedText(&b, "  ", "metrics closed", s.Metrics)
	}
	return b.String()
}

func entityText(b *strings.Builder, a engine.EntityAccess) {
	fmt.Fprintf(b, "  %s%s\n", a.Entity, by(a.Rules))
	if a.Fault != "" {
		fmt.Fprintf(b, "    closed: %s\n", a.Fault)
		return
	}
	fmt.Fprintf(b, "    rows: %s%s\n", rowsText(a.Rows), by(a.Rows.Rules))
	fmt.Fprintf(b, "    questions: %s\n", questionText(a.Question))
	if a.MinGroup.Size > 1 || a.MinGroup.FilterSets > 0 {
		fmt.Fprintf(b, "    groups: %s%s\n", groupText(a.MinGroup), by(one(a.MinGroup.Rule)))
	}
	for _, l := range a.Logged {
		fmt.Fprintf(b, "    log only: would %s%s\n", l.Would, by([]policy.RuleRef{l.Rule}))
	}
	for _, line := range together(a.Columns, func(c engine.ColumnAccess) (string, string) { return c.Column, columnText(c) + by(c.Rules) }) {
		fmt.Fprintf(b, "    %s\n", line)
	}
	closedText(b, "    ", "measures closed", a.Measures)
}

func closedText(b *strings.Builder, indent, title string, list []engine.Closed) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, title)
	for _, line := range together(list, func(c engine.Closed) (string, string) { return c.Name, c.Why }) {
		fmt.Fprintf(b, "%s  %s\n", indent, line)
	}
}

// by tells which rules said it; nothing where none did.
func by(rules []policy.RuleRef) string {
	if len(rules) == 0 {
		return ""
	}
	return "  by " + engine.RuleList(rules)
}

func one(rule *policy.RuleRef) []policy.RuleRef {
	if rule == nil {
		return nil
	}
	return []policy.RuleRef{*rule}
}

func rowsText(r engine.RowAccess) string {
	if r.Seen == "some" {
		return r.Condition
	}
	return r.Seen
}

func questionText(q engine.QuestionAccess) string {
	text := "allowed" + by(q.Rules)
	if q.Verdict != policy.Allow.String() {
		text = "denied"
		for _, r := range q.Reasons {
			text += ": " + r.Text
			if r.Rule.File != "" {
				text += by([]policy.RuleRef{r.Rule})
			}
		}
	}
	return text + fmt.Sprintf("; at most %d rows, %d bytes, %d ms", q.Limits.Rows, q.Limits.Bytes, q.Limits.TimeMS)
}

func groupText(g engine.GroupAccess) string {
	var parts []string
	if g.Size > 1 {
		parts = append(parts, fmt.Sprintf("at least %d rows behind each", g.Size))
	}
	if g.FilterSets > 0 {
		parts = append(parts, fmt.Sprintf("at most %d sets of filters an hour", g.FilterSets))
	}
	return strings.Join(parts, ", ")
}

// together writes the names of which the same is to be said on one line, in the order
// in which they come: "id, plan: output".
func together[T any](list []T, says func(T) (name, text string)) []string {
	var order []string
	names := map[string][]string{}
	for _, item := range list {
		name, text := says(item)
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], name)
	}
	for i, text := range order {
		order[i] = strings.Join(names[text], ", ") + ": " + text
	}
	return order
}

func columnText(c engine.ColumnAccess) string {
	text := c.Class
	if c.Computed {
		text += ", computed"
	}
	if c.Mask != "" {
		text += ", masked: " + c.Mask
		if c.Filterable {
			text += ", filterable"
		}
	}
	return text
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func claims(c map[string]any) string {
	text, err := json.Marshal(c)
	if err != nil {
		return "?"
	}
	return string(text)
}

var matrixHead = []string{"subject", "roles", "claims", "entity", "kind", "name", "visible", "class", "model_class", "mask", "filterable", "rules",
	"rows", "condition", "row_rules", "question", "question_rules", "reasons", "max_rows", "max_bytes", "max_ms", "min_group", "filter_sets", "why_closed"}

// matrixCSV prints a line for each subject and entity, column, closed measure and
// closed metric. A subject's account of an entity stands on its line alone.
func matrixCSV(w io.Writer, m *engine.Matrix) error {
	var whole bytes.Buffer
	out := csv.NewWriter(&whole)
	write := func(cells map[string]string) error {
		line := make([]string, len(matrixHead))
		for i, h := range matrixHead {
			line[i] = unformula(cells[h])
		}
		return out.Write(line)
	}
	if err := out.Write(matrixHead); err != nil {
		return err
	}
	for _, s := range m.Subjects {
		for _, cells := range subjectCells(s) {
			cells["subject"], cells["roles"], cells["claims"] = string(s.ID), strings.Join(s.Roles, " "), claims(s.Claims)
			if err := write(cells); err != nil {
				return err
			}
		}
	}
	out.Flush()
	_, err := w.Write(whole.Bytes())
	return errors.Join(out.Error(), err)
}

func subjectCells(s engine.SubjectAccess) []map[string]string {
	var out []map[string]string
	for _, a := range s.Entities {
		out = append(out, entityCells(a))
		for _, c := range a.Columns {
			kind := "field"
			if c.Computed {
				kind = "dimension"
			}
			out = append(out, map[string]string{"entity": a.Entity, "kind": kind, "name": c.Column, "visible": strconv.FormatBool(c.Class != "hidden"),
				"class": c.Class, "model_class": c.Model, "mask": c.Mask, "filterable": strconv.FormatBool(c.Filterable), "rules": engine.RuleList(c.Rules)})
		}
		for _, x := range a.Measures {
			out = append(out, map[string]string{"entity": a.Entity, "kind": "measure", "name": x.Name, "visible": "false", "why_closed": x.Why})
		}
	}
	for _, x := range s.Metrics {
		out = append(out, map[string]string{"kind": "metric", "name": x.Name, "visible": "false", "why_closed": x.Why})
	}
	return out
}

func entityCells(a engine.EntityAccess) map[string]string {
	cells := map[string]string{"entity": a.Entity, "kind": "entity", "name": a.Entity, "visible": strconv.FormatBool(a.Visible), "rules": engine.RuleList(a.Rules), "why_closed": a.Fault}
	if !a.Visible {
		return cells
	}
	var reasons []string
	for _, r := range a.Question.Reasons {
		reasons = append(reasons, r.Text)
	}
	cells["rows"], cells["condition"], cells["row_rules"] = a.Rows.Seen, a.Rows.Condition, engine.RuleList(a.Rows.Rules)
	cells["question"], cells["question_rules"], cells["reasons"] = a.Question.Verdict, engine.RuleList(a.Question.Rules), strings.Join(reasons, "; ")
	l := a.Question.Limits
	cells["max_rows"], cells["max_bytes"], cells["max_ms"] = fmt.Sprint(l.Rows), fmt.Sprint(l.Bytes), fmt.Sprint(l.TimeMS)
	cells["min_group"], cells["filter_sets"] = fmt.Sprint(a.MinGroup.Size), fmt.Sprint(a.MinGroup.FilterSets)
	return cells
}

// unformula keeps a spreadsheet from computing a cell: a text that begins like a
// formula is given an apostrophe, which spreadsheets read as "text follows".
func unformula(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
