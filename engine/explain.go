package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/policy"
)

// Explanation is the account of a question that was proved but not run. It says
// only what the subject may know: row rules are spelled out for subjects with
// the role "operator", named as present for all others.
type Explanation struct {
	SQL      string           `json:"sql"`       // over entities
	FinalSQL string           `json:"final_sql"` // operators only; "" otherwise
	Facts    policy.Facts     `json:"facts"`
	Verdict  string           `json:"verdict"`
	Reasons  []policy.Reason  `json:"reasons"`
	Rules    []policy.RuleRef `json:"rules"`
	Logged   []policy.Logged  `json:"logged"` // rules in log-only mode, operators only
	Fences   []Fence          `json:"fences"`
	Proof    []string         `json:"proof"` // the scans of the bound plan, one each
	Plan     string           `json:"plan"`  // the bound plan's operators, operators only
	Columns  []string         `json:"columns"`
}

// Fence is what stands round one reference to an entity.
type Fence struct {
	Entity    string   `json:"entity"`
	Columns   []string `json:"columns"`
	Masked    []string `json:"masked"`
	Rows      string   `json:"rows"` // all, none, a row rule, or its SQL for operators
	Conjuncts []string `json:"conjuncts"`
}

// RoleOperator may see how rules are spelled.
const RoleOperator = "operator"

// explain gives the account after prove. A refusal by a stage before is the
// error of that stage, as for any question.
func (q *query) explain(context.Context) (*Answer, error) {
	spelled := slices.Contains(q.req.Subject.Roles, RoleOperator)
	x := &Explanation{SQL: q.shownSQL(), Facts: q.shownFacts(), Verdict: q.decision.Verdict.String(), Reasons: q.decision.Reasons, Rules: rules(q.decision), Logged: []policy.Logged{}, Fences: []Fence{}}
	if x.Reasons == nil {
		x.Reasons = []policy.Reason{}
	}
	for _, r := range q.bound.Refs {
		access := q.decision.Entities[r.Entity.Name.Key()]
		f := Fence{Entity: string(r.Entity.Name), Columns: []string{}, Masked: []string{}, Rows: rowsInWords(access.Rows, spelled), Conjuncts: []string{}}
		for _, c := range r.Columns {
			if q.closed(r.Entity.Name, c) {
				continue
			}
			f.Columns = append(f.Columns, string(c))
			if access.Columns[c.Key()].Mask != nil {
				f.Masked = append(f.Masked, string(c))
			}
		}
		for _, c := range r.Conjuncts {
			if !q.closed(r.Entity.Name, c.Column) {
				f.Conjuncts = append(f.Conjuncts, c.SQL)
			}
		}
		x.Fences = append(x.Fences, f)
	}
	for _, entity := range q.evidence.Scans {
		x.Proof = append(x.Proof, "scan of "+entity+" stands in its fence")
	}
	for _, o := range q.bound.Outputs {
		x.Columns = append(x.Columns, o.Name+q.lineage(o.From))
	}
	if spelled {
		x.Logged = append(x.Logged, q.tried()...)
		x.FinalSQL, x.Plan = q.proved.Text(), q.evidence.Plan
	}
	return &Answer{QueryID: q.id, Explain: x, Applied: q.applied(), Warnings: []string{}}, nil
}

func rowsInWords(p policy.Predicate, spelled bool) string {
	switch {
	case p.Truth == policy.Always:
		return "all"
	case p.Truth == policy.Never:
		return "none"
	case spelled:
		return p.SQL
	}
	return "a row rule"
}

// lineage writes what an output is computed from: " <- orders.total_cents".
// A field that is closed to the subject has no name there.
func (q *query) lineage(from []resolve.ColumnID) string {
	var parts []string
	for _, c := range from {
		part := string(c.Entity) + "." + string(c.Column)
		if q.closed(c.Entity, c.Column) {
			part = "a field of " + string(c.Entity)
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " <- " + strings.Join(parts, ", ")
}

// Text writes the account for people, one part after the other in the order of the stages.
func (x *Explanation) Text() string {
	var b strings.Builder
	part := func(title string, lines ...string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString(title + "\n")
		for _, l := range lines {
			for part := range strings.SplitSeq(strings.TrimRight(l, "\n"), "\n") {
				b.WriteString("  " + part + "\n")
			}
		}
	}
	part("sql over entities", x.SQL)
	part("columns", x.Columns...)
	var facts []string
	for _, e := range x.Facts.Entities {
		for _, c := range e.Columns {
			facts = append(facts, e.Name+"."+c.Name+" ("+c.Class+") in "+c.Clause+" by "+c.Origin)
		}
	}
	part("facts", facts...)
	decision := []string{x.Verdict}
	for _, r := range x.Rules {
		decision = append(decision, fmt.Sprintf("rule %s at %s:%d", r.ID, r.File, r.Line))
	}
	part("decision", decision...)
	var logged []string
	for _, l := range x.Logged {
		logged = append(logged, fmt.Sprintf("%s.%s at %s:%d would %s", l.Document, l.Rule.ID, l.Rule.File, l.Rule.Line, l.Would))
	}
	part("log only", logged...)
	var fences []string
	for _, f := range x.Fences {
		line := f.Entity + " (" + strings.Join(f.Columns, ", ") + ") rows: " + f.Rows
		if len(f.Masked) > 0 {
			line += "; masked: " + strings.Join(f.Masked, ", ")
		}
		if len(f.Conjuncts) > 0 {
			line += "; inside: " + strings.Join(f.Conjuncts, " AND ")
		}
		fences = append(fences, line)
	}
	part("fences", fences...)
	part("proof", x.Proof...)
	if x.FinalSQL != "" {
		part("final sql", x.FinalSQL)
		part("plan", x.Plan)
	}
	return b.String()
}
