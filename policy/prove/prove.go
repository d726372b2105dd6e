// Package prove reads the final text again, as DuckDB reads it, and accepts it
// only if every rule holds. It shares no code with policy/rewrite.
//
// Only Check makes a Proved, and engine/duck runs nothing else: skipping the
// proof does not compile.
//
// It reads twice. In the tree (tree.go, fence.go) every storage relation stands
// in a fence of exactly one shape, whose columns, masks and condition are those
// of the decision. In the bound, unoptimised plan (plan.go) every scan stands in
// the same shape, so that nothing between parsing and binding (a shadowing
// name, a correlation, a macro) could change what is read. The condition and the
// masks of the decision are themselves read by DuckDB, once per entity
// (learn.go), and compared as trees and as bound expressions; each fence, cut
// out of the text, must bind alone to the same scan.
//
// Words: a fence is the sub-query that stands for an entity; a rule is the row
// condition of the decision; an end is OFFSET 0, which keeps what the caller
// wrote from running below the rule.
package prove

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Proved is the ticket: a text that passed Check. The zero value carries no
// text and duck.Run refuses it.
type Proved struct{ text string }

// Text is the proved SQL; "" for the zero value.
func (p Proved) Text() string { return p.text }

// Planner reads texts as DuckDB does, on empty typed twins of the storage.
// engine/duck satisfies it.
type Planner interface {
	Check(ctx context.Context, texts []string) ([]Checked, error)
}

// Checked is DuckDB's reading of one text: its tree (json_serialize_sql), its
// bound, unoptimised plan (json_serialize_plan), and its result columns.
// OK is false when the text does not parse or bind; the other fields are then nil.
type Checked struct {
	OK      bool     `json:"ok"`
	Tree    []byte   `json:"tree"`
	Plan    []byte   `json:"plan"`
	Columns []Column `json:"columns"`
	Error   string   `json:"error"` // the engine's raw text, for the audit record only
}

// Column is a result column with DuckDB's type name.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Input is what a text is proved against. Everything but Text comes from the
// catalog and the decision, never from the text. The zero value proves only
// texts without an entity, without a function and without a result name.
type Input struct {
	Text     string
	Catalog  *semantic.Catalog
	Subject  policy.Subject // for the summary
	Decision policy.Decision
	// Private lists, by entity key, the private fields that the model's own
	// text needs; no fence may offer another private field.
	Private map[string][]semantic.Name
	// Model are the spans of Text that the model wrote: its references may read
	// columns of every class.
	Model []resolve.Span
	// Aggregates are the names among Functions that take many rows, lower case.
	Aggregates map[string]bool
	// Functions are the names a text may call, lower case. Operators count as
	// functions; what DuckDB itself puts into a plan is prove's own list.
	Functions map[string]bool
	// Names are the result columns of the text as it was asked.
	Names []string
	// RowCap bounds the LIMIT of the outermost query, which must be a number.
	RowCap int
	// Memo keeps DuckDB's reading of rules and fences between calls; nil keeps nothing.
	Memo *Memo
}

// Evidence is what the proof found, for Rego's verify package and for explain.
type Evidence struct {
	Summary policy.Summary
	Scans   []string // entity keys, one per scan that stands in a fence; what rules read beside is in Summary only
	Columns []Column // of the result, with types
	Plan    string   // the operators of the bound plan, one a line, indented
}

// Check proves a text. It fails with bug.prove when any rule does not hold, with
// resolve.shape when DuckDB cannot bind the text, and with limit.text or
// limit.tree when it has grown too large; the reasons stand only in the error's
// cause, for the audit record, since they may name storage. A failure of the
// planner itself is returned as it is.
func Check(ctx context.Context, pl Planner, in Input) (Proved, *Evidence, error) {
	r, err := learnRules(ctx, pl, in)
	if err != nil {
		return Proved{}, nil, refusal(err)
	}
	text, err := decodeTree(r.final, in.Text)
	if err != nil {
		return Proved{}, nil, refusal(err)
	}
	tree := readTree(in, r.rules, text)
	if err := tree.failed(); err != nil {
		return Proved{}, nil, refusal(err)
	}
	plan, err := readPlan(r.final.Plan, func(name string) bool { return in.Functions[name] || r.functions[name] })
	if err != nil {
		return Proved{}, nil, refusal(err)
	}
	alone, err := bindAlone(ctx, pl, in, tree.fences)
	if err != nil {
		return Proved{}, nil, refusal(err)
	}
	if err := errors.Join(
		sameScans(tree.fences, alone, r.rules, plan),
		wholeRows(tree.structs, plan),
		sameNames(in.Names, r.final.Columns),
		groupedPlan(tree, plan),
	); err != nil {
		return Proved{}, nil, refusal(err)
	}
	if plan.unread != "" { // as in (SELECT max(status) FROM orders) || NULL, which is NULL whatever the rows are
		return Proved{}, nil, diag.Wrap(because("the plan does not scan %q as its fence does", plan.unread), diag.ResolveShape,
			"every table of a query is read, and the engine leaves one of this query out").
			WithHint("leave out what does not depend on the rows of its table")
	}
	return Proved{in.Text}, evidence(in, r.final, tree, plan), nil
}

// reason is one rule that did not hold. Everything else that goes wrong is the
// planner's and is returned unchanged.
type reason string

func (r reason) Error() string { return string(r) }

func because(format string, args ...any) error { return reason(fmt.Sprintf(format, args...)) }

// together joins reasons, sorted and without repeats, since plans are visited
// in no order; nil when there are none.
func together(problems []error) error {
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(slices.CompactFunc(problems, func(a, b error) bool { return a.Error() == b.Error() })...)
}

func refusal(err error) error {
	var coded *diag.Error
	var r reason
	if errors.As(err, &coded) || !errors.As(err, &r) {
		return err
	}
	return diag.Wrap(err, diag.BugProve, "the final text proves that every rule holds, and this one did not, so nothing was run").
		WithHint("report it with the query id")
}

func sameNames(want []string, got []Column) error {
	names := make([]string, len(got))
	for i, c := range got {
		names[i] = c.Name
	}
	if !slices.Equal(want, names) {
		return because("result columns are %q, asked were %q", names, want)
	}
	return nil
}

func evidence(in Input, final Checked, tree *treeReader, plan *planReading) *Evidence {
	var scans []string
	s := policy.Summary{Subject: in.Subject, Functions: keys(tree.functions), Nodes: keys(tree.nodes)}
	for _, f := range tree.fences {
		s.Relations = append(s.Relations, f.relation)
	}
	for _, sc := range plan.scans {
		scans = append(scans, sc.table)
		s.Scans = append(append(s.Scans, sc.table), sc.through...)
	}
	return &Evidence{Summary: s, Scans: scans, Columns: final.Columns, Plan: plan.outline.String()}
}
