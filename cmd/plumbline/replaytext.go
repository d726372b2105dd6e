package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/policy"
)

// replayed is what audit replay prints.
type replayed struct {
	recorded      *recorded
	before, after engine.Summary
	changes       []changed
	show          bool
}

// changed is a question that would change, and how often it was asked.
type changed struct {
	*engine.Change
	times int
}

// headline says in a sentence how much changes.
func (r *replayed) headline() string {
	if len(r.changes) == 0 {
		return fmt.Sprintf("none of %s would change", count(len(r.recorded.questions), "question"))
	}
	return fmt.Sprintf("%d of %s would change", len(r.changes), count(len(r.recorded.questions), "question"))
}

// counts says what becomes of the questions, by kinds; one may be of several.
func (r *replayed) counts() []string {
	kinds := []struct {
		text string
		is   func(changed) bool
	}{
		{"allowed -> refused", func(c changed) bool { return c.Decision() && outcomeOf(&c.Before) == "allow" }},
		{"refused -> allowed", func(c changed) bool { return c.Decision() && outcomeOf(&c.After) == "allow" }},
		{"refused for another reason", func(c changed) bool { return c.Refusal() }},
		{"other rows", func(c changed) bool { return c.Rows != nil && c.Rows.Removed+c.Rows.Added > 0 }},
		{"other columns or masks", func(c changed) bool { return len(c.Columns)+len(c.Answer) > 0 }},
		{"perhaps other rows, not compared", func(c changed) bool { return c.Unsure }},
		{"other rules alone", rulesAlone},
	}
	var out []string
	for _, k := range kinds {
		n := 0
		for _, c := range r.changes {
			if k.is(c) {
				n++
			}
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, k.text))
		}
	}
	return out
}

func rulesAlone(c changed) bool {
	return !c.Decision() && !c.Refusal() && !c.Unsure && len(c.Columns)+len(c.Answer) == 0 && (c.Rows == nil || c.Rows.Removed+c.Rows.Added == 0)
}

// left says which records were not asked again.
func (r *replayed) left() string {
	var parts []string
	for why, n := range r.recorded.left {
		parts = append(parts, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// byRule counts the changed questions for each rule that applies on one side only.
func (r *replayed) byRule() []string {
	counts := map[string]int{}
	for _, c := range r.changes {
		for _, name := range ruleChanges(c.Change) {
			counts[name]++
		}
		switch {
		case len(c.Gone)+len(c.New) > 0:
		case c.Decision() && c.Before.Verdict != c.After.Verdict:
			counts[noRule]++
		default:
			counts[sameRules]++
		}
	}
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s: %s", name, count(n, "question")))
	}
	slices.Sort(out)
	return out
}

// What is said where no rule applies on one side only.
const (
	sameRules = "the same rules, which say something else"
	noRule    = "no rule opens what is named"
)

// ruleChanges names rules as a diff does: + applies only under the other policies.
func ruleChanges(c *engine.Change) []string {
	var out []string
	for _, side := range []struct {
		sign  string
		rules []policy.RuleRef
	}{{"- ", c.Gone}, {"+ ", c.New}} {
		for _, rule := range side.rules {
			out = append(out, side.sign+ruleName(rule))
		}
	}
	return out
}

// decisionText is how a question ended: allow, or the code and the reasons.
func decisionText(r *audit.Record) string {
	if outcomeOf(r) == "allow" {
		return "allow"
	}
	text := outcomeOf(r) + " " + r.Outcome
	for _, reason := range r.Reasons {
		text += "; " + oneLine(reason.Text, 200)
		if reason.Rule != (policy.RuleRef{}) {
			text += " (" + ruleName(reason.Rule) + ")"
		}
	}
	return text
}

// says tells in lines what changes of a question.
func (c changed) says() []string {
	var out []string
	if c.Decision() || c.Refusal() {
		out = append(out, decisionText(&c.Before)+" -> "+decisionText(&c.After))
	}
	if r := c.Rows; r != nil && r.Removed+r.Added > 0 {
		what := "rows"
		if c.Before.FinalSQL == "" {
			what = "told"
		}
		out = append(out, fmt.Sprintf("%s: %d removed, %d added (%d -> %d)", what, r.Removed, r.Added, r.Before, r.After))
	}
	if len(c.Answer) > 0 {
		out = append(out, "columns of the answer: "+strings.Join(c.Answer, ", "))
	}
	for _, text := range c.Columns {
		out = append(out, "column "+text)
	}
	for _, name := range ruleChanges(c.Change) {
		out = append(out, "rule "+name)
	}
	if c.Note != "" {
		out = append(out, c.Note)
	}
	return out
}

func (r *replayed) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "policy %.12s -> %.12s, models %.12s -> %.12s\n%s\n", r.before.Policy, r.after.Policy, r.before.Model, r.after.Model, r.headline())
	for _, line := range r.counts() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	if left := r.left(); left != "" {
		fmt.Fprintf(&b, "not asked again: %s\n", left)
	}
	if rules := r.byRule(); len(rules) > 0 {
		fmt.Fprintf(&b, "\nby rule\n  %s\n", strings.Join(rules, "\n  "))
	}
	for _, c := range r.changes {
		fmt.Fprintf(&b, "\n%s %s, %s, last %s, %s\n  %s\n", c.Of.Subject.ID, c.Of.Tool, count(c.times, "time"), c.Of.Time.UTC().Format(time.RFC3339), c.Of.ID, oneLine(asked(&c.Of), 400))
		for _, line := range c.says() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for line := range strings.Lines(r.values(c)) {
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

// values are the rows that differ, where they are asked for.
func (r *replayed) values(c changed) string {
	if !r.show || c.Rows == nil {
		return ""
	}
	return c.Rows.Diff.Text(c.Rows.Columns)
}

// markdown is the same for a pull request.
func (r *replayed) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Policy: %s\n\n`%.12s` → `%.12s`", r.headline(), r.before.Policy, r.after.Policy)
	if r.before.Model != r.after.Model {
		fmt.Fprintf(&b, ", models `%.12s` → `%.12s`", r.before.Model, r.after.Model)
	}
	b.WriteString("\n\n")
	for _, line := range r.counts() {
		fmt.Fprintf(&b, "- %s\n", escaped(line))
	}
	if left := r.left(); left != "" {
		fmt.Fprintf(&b, "- not asked again: %s\n", escaped(left))
	}
	if rules := r.byRule(); len(rules) > 0 {
		b.WriteString("\n**By rule**\n\n")
		for _, line := range rules {
			fmt.Fprintf(&b, "- %s\n", escaped(strings.Replace(strings.Replace(line, "+ ", "now: ", 1), "- ", "no longer: ", 1)))
		}
	}
	if len(r.changes) > 0 {
		b.WriteString("\n| subject | question | times | change |\n|---|---|---|---|\n")
	}
	for _, c := range r.changes {
		var says []string
		for _, line := range c.says() {
			says = append(says, escaped(line))
		}
		fmt.Fprintf(&b, "| %s | %s %s | %d | %s |\n", escaped(string(c.Of.Subject.ID)), escaped(c.Of.Tool), escaped(oneLine(asked(&c.Of), 200)), c.times, strings.Join(says, "<br>"))
	}
	for _, c := range r.changes {
		if values := r.values(c); values != "" {
			fmt.Fprintf(&b, "\n%s:\n\n", escaped(oneLine(asked(&c.Of), 200)))
			for line := range strings.Lines(values) {
				b.WriteString("    " + line)
			}
		}
	}
	return b.String()
}

// json is the same as data.
func (r *replayed) json() any {
	type side struct {
		Outcome string           `json:"outcome"`
		Reasons []policy.Reason  `json:"reasons"`
		Rules   []policy.RuleRef `json:"rules"`
	}
	type change struct {
		ID       string           `json:"id"`
		Subject  policy.Subject   `json:"subject"`
		Tool     string           `json:"tool"`
		Question any              `json:"question"`
		Time     time.Time        `json:"time"`
		Times    int              `json:"times"`
		Before   side             `json:"before"`
		After    side             `json:"after"`
		Gone     []policy.RuleRef `json:"rules_gone"`
		New      []policy.RuleRef `json:"rules_new"`
		Columns  []string         `json:"columns"`
		Answer   []string         `json:"answer_columns"`
		Removed  int              `json:"rows_removed"`
		Added    int              `json:"rows_added"`
		Missing  [][]any          `json:"removed,omitempty"` // with --show
		Extra    [][]any          `json:"added,omitempty"`
		Note     string           `json:"note"`
	}
	list := []change{}
	for _, c := range r.changes {
		x := change{ID: c.Of.ID, Subject: c.Of.Subject, Tool: c.Of.Tool, Question: c.Of.Question, Time: c.Of.Time, Times: c.times,
			Before: side{c.Before.Outcome, c.Before.Reasons, c.Before.Rules}, After: side{c.After.Outcome, c.After.Reasons, c.After.Rules},
			Gone: append([]policy.RuleRef{}, c.Gone...), New: append([]policy.RuleRef{}, c.New...),
			Columns: append([]string{}, c.Columns...), Answer: append([]string{}, c.Answer...), Note: c.Note}
		if c.Rows != nil {
			x.Removed, x.Added = c.Rows.Removed, c.Rows.Added
			if r.show {
				x.Missing, x.Extra = c.Rows.Diff.Missing, c.Rows.Diff.Unexpected
			}
		}
		list = append(list, x)
	}
	return map[string]any{"policy_before": r.before.Policy, "policy_after": r.after.Policy, "model_before": r.before.Model, "model_after": r.after.Model,
		"questions": len(r.recorded.questions), "changes": list, "left_out": r.recorded.left}
}
