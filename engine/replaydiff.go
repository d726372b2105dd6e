package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumbline/engine/audit"
	"plumbline/engine/rowdiff"
	"plumbline/engine/shape"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// Change is what becomes of a recorded question when other policies decide it.
type Change struct {
	Of     audit.Record // the record; the newest of equal ones
	Before audit.Record // asked again under the policies in force
	After  audit.Record // asked again under the others
	// Gone and New are the rules that apply on one side only.
	Gone, New []policy.RuleRef
	Columns   []string // uses of columns that differ, in words
	Answer    []string // how the answer's columns differ, in words
	Rows      *RowChange
	Note      string // what could not be compared, and why
	Unsure    bool   // rows that may differ could not be compared
}

// RowChange is how the rows of two answers differ.
type RowChange struct {
	Before, After  int
	Removed, Added int
	Columns        []shape.Column
	Diff           rowdiff.Diff // holds values
}

// Decision reports that what was answered is refused, or the other way round.
func (c *Change) Decision() bool { return answeredRecord(&c.Before) != answeredRecord(&c.After) }

// Refusal reports that it is refused on both sides, for another reason.
func (c *Change) Refusal() bool { return !c.Decision() && c.Before.Outcome != c.After.Outcome }

// Any reports that the two sides differ in something.
func (c *Change) Any() bool {
	return c.Decision() || c.Refusal() || len(c.Gone)+len(c.New)+len(c.Columns)+len(c.Answer) > 0 || c.Unsure || c.Rows != nil && c.Rows.Removed+c.Rows.Added > 0
}

func answeredRecord(r *audit.Record) bool { return !strings.Contains(r.Outcome, ".") }

// AskRecorded asks a recorded question in one engine, by the tool that was used.
type AskRecorded func(context.Context, *Replay) error

// Compare asks a recorded question under the policies of two engines over the same
// data. Queries are run only where the proved texts differ. The error is one that
// ended the comparison, or a record that could not be written.
func Compare(ctx context.Context, of audit.Record, before, after *Engine, ask AskRecorded) (*Change, error) {
	sides, err := askBoth(ctx, of, before, after, false, ask)
	if err != nil {
		return nil, err
	}
	c := &Change{Of: of, Before: sides[0].Record, After: sides[1].Record}
	c.rules()
	c.Columns = apartUses(c.Before.Entities, c.After.Entities)
	same := c.Before.FinalSQL == c.After.FinalSQL && c.Before.Model == c.After.Model
	switch {
	case same && c.Before.FinalSQL != "":
		return c, nil
	case readsClock(sides[0]) && readsClock(sides[1]):
		c.Note, c.Unsure = "rows not compared: the question reads the clock", true
		return c, nil
	case sides[0].Err != nil || sides[1].Err != nil:
		return c, nil
	case sides[0].Told == nil && of.Tool != ToolExplain:
		if sides, err = askBoth(ctx, of, before, after, true, ask); err != nil {
			return nil, err
		}
		c.Before, c.After = sides[0].Record, sides[1].Record
	}
	c.rows(sides[0].Told, sides[1].Told)
	return c, nil
}

// readsClock reports a query that was proved and whose rows depend on the moment at
// which it runs.
func readsClock(r *Replay) bool {
	return diag.CodeOf(r.Err) == diag.UnsupportedAsk && r.Record.FinalSQL != ""
}

// rules finds the rules that apply on one side only. A question that was refused before
// the policy was asked has met fewer; those that it did not meet say nothing.
func (c *Change) rules() {
	c.Gone, c.New = apartRules(c.Before.Rules, c.After.Rules)
	if c.After.Verdict == "" {
		c.Gone = nil
	}
	if c.Before.Verdict == "" {
		c.New = nil
	}
}

func askBoth(ctx context.Context, of audit.Record, before, after *Engine, rows bool, ask AskRecorded) ([2]*Replay, error) {
	sides := [2]*Replay{before.Replay(of, rows), after.Replay(of, rows)}
	for _, s := range sides {
		err := ask(ctx, s)
		if ctx.Err() != nil {
			return sides, diag.Wrap(ctx.Err(), diag.RequestCancelled, "the replay was cancelled")
		}
		if diag.CodeOf(err) == diag.AuditFailed {
			return sides, err
		}
		if s.Record.ID == "" {
			return sides, diag.Wrap(err, diag.BugInternal, "a recorded question was not asked")
		}
	}
	return sides, nil
}

// rows compares two answers as sets; their order is not compared.
func (c *Change) rows(before, after *shape.Table) {
	if before == nil || after == nil {
		return
	}
	was, is := columnNames(before), columnNames(after)
	for _, n := range was {
		if !slices.Contains(is, n) {
			c.Answer = append(c.Answer, "- "+n)
		}
	}
	for _, n := range is {
		if !slices.Contains(was, n) {
			c.Answer = append(c.Answer, "+ "+n)
		}
	}
	r := &RowChange{Before: len(before.Rows), After: len(after.Rows), Columns: after.Columns}
	if slices.Equal(was, is) {
		r.Diff = rowdiff.Rows(after.Columns, withoutEquals(before.Rows, after.Rows), withoutEquals(after.Rows, before.Rows), false)
		r.Removed, r.Added = len(r.Diff.Missing), len(r.Diff.Unexpected)
	}
	if before.Truncated || after.Truncated {
		c.Note = "only the first rows were compared; there are more"
	}
	c.Rows = r
}

func columnNames(t *shape.Table) []string {
	var out []string
	for _, c := range t.Columns {
		out = append(out, c.Name)
	}
	return out
}

// withoutEquals gives the rows that others do not hold as they are, so that only those
// need be compared by meaning.
func withoutEquals(rows, others [][]any) [][]any {
	counts := map[string]int{}
	for _, row := range others {
		counts[rowKey(row)]++
	}
	var out [][]any
	for _, row := range rows {
		if key := rowKey(row); counts[key] > 0 {
			counts[key]--
			continue
		}
		out = append(out, row)
	}
	return out
}

func rowKey(row []any) string {
	key, err := json.Marshal(row)
	if err != nil {
		return "" // cannot happen: an answer's values are JSON
	}
	return string(key)
}

// apartRules gives the rules that stand in one list only. They are told by their ids,
// since lines move with every edit.
func apartRules(before, after []policy.RuleRef) (gone, added []policy.RuleRef) {
	without := func(rules, others []policy.RuleRef) []policy.RuleRef {
		counts := map[string]int{}
		for _, r := range others {
			counts[r.ID]++
		}
		var out []policy.RuleRef
		for _, r := range rules {
			if counts[r.ID] > 0 {
				counts[r.ID]--
				continue
			}
			out = append(out, r)
		}
		return out
	}
	return without(before, after), without(after, before)
}

// apartUses says in words which columns are used in another way.
func apartUses(before, after []audit.EntityUse) []string {
	use := func(list []audit.EntityUse) map[string]string {
		out := map[string]string{}
		for _, u := range list {
			text := u.Class
			if u.Mask != "" {
				text += ", masked: " + u.Mask
			}
			out[u.Entity+"."+u.Column] = text
		}
		return out
	}
	was, is := use(before), use(after)
	if len(was) == 0 || len(is) == 0 {
		return nil // one side was refused before it was known what is used
	}
	var out []string
	for name, text := range was {
		if now, ok := is[name]; ok && now != text {
			out = append(out, fmt.Sprintf("%s: %s -> %s", name, text, now))
		}
	}
	slices.Sort(out)
	return out
}
