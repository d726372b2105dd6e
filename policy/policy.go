// Package policy is the vocabulary of governance: who asks (Subject), what the
// question does (Facts), what was decided (Decision), what an entity looks like
// to a subject (EntityAccess). policy/opa decides, policy/rewrite applies,
// policy/prove checks the final text.
//
// The zero value of every type here is the closed door: Verdict 0 is Deny, a
// Predicate 0 lets no row through, a column that is not listed is hidden.
package policy

import (
	"time"

	"plumbline/semantic"
)

// SubjectID names a subject; it is given by the transport, never by a caller.
type SubjectID string

// Subject is who asks. Claims hold text, numbers, booleans and lists of text.
type Subject struct {
	ID     SubjectID      `json:"id"`
	Roles  []string       `json:"roles"`
	Claims map[string]any `json:"claims"`
}

// Verdict says yes or no. The zero value is Deny.
type Verdict int

// The verdicts.
const (
	Deny Verdict = iota
	Allow
)

// String gives the word the audit record uses.
func (v Verdict) String() string {
	if v == Allow {
		return "allow"
	}
	return "deny"
}

// RuleRef is the rule that made a decision: its annotation id, file and line.
type RuleRef struct {
	ID   string `json:"id"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Logged is a rule in log-only mode that would have spoken, and what it would have
// done, in words for the policy's author: "would deny it: ...".
type Logged struct {
	Rule     RuleRef `json:"rule"`
	Document string  `json:"document"` // visible, columns, masks, rows, deny, ...
	Would    string  `json:"would"`
}

// Truth says whether a predicate is constant. The zero value is Never.
type Truth int

// The truths of a row predicate.
const (
	Never  Truth = iota // no row
	Always              // every row, spelled out by the policy
	When                // rows for which SQL is true
)

// Predicate is a row rule resolved for one subject. SQL is a condition over the
// entity's fields as bare quoted names ("tenant" = 'acme'), set only for When.
// It is true, false or NULL for a row; NULL keeps the row out.
type Predicate struct {
	Truth Truth
	SQL   string
	Rules []RuleRef
	// Reads are the fields the condition reads, hidden ones included.
	Reads []semantic.Name
	// Through are the other entities whose storage the condition reads, for a rule
	// through a relationship; nil for most.
	Through []semantic.Name
}

// Mask replaces a column's value inside the fence, so that filters, sorts and
// aggregates see the mask. SQL is an expression over the bare quoted column.
type Mask struct {
	Kind       string // null, hash, redact, first, last, year, range, expression, token
	SQL        string
	Filterable bool // may still be filtered and grouped
	// Space names, for a token, the columns in which equal values have equal tokens;
	// "" for other masks, whose values match nothing but those of their own column.
	Space string
	Rule  RuleRef
}

// ColumnAccess is one field as a subject may use it.
type ColumnAccess struct {
	Class semantic.Visibility // never wider than the model's
	Mask  *Mask               // nil when the value is shown as it is
}

// EntityAccess is one entity as a subject may use it. The zero value is an
// entity that does not exist for the subject.
type EntityAccess struct {
	Visible bool
	Columns map[string]ColumnAccess // by field key; absent is hidden
	Rows    Predicate
	// MinGroup is what an answer over this entity owes to its rows.
	MinGroup MinGroup
	Rules    []RuleRef
	// Logged are the rules in log-only mode that would have spoken.
	Logged []Logged
}

// MinGroup obliges answers over an entity to groups of a size. The zero value
// obliges to nothing.
type MinGroup struct {
	Size       int     // the fewest rows of the entity behind each row of an answer; 0 and 1 ask for none
	FilterSets int     // the most different sets of filters per subject, entity and hour; 0 is no bound
	Rule       RuleRef // that set Size
}

// Facts is what Rego decides on: complete, flat, made in Go, no field ever absent.
type Facts struct {
	Subject   Subject      `json:"subject"`
	Tool      string       `json:"tool"`
	Now       time.Time    `json:"now"`
	Entities  []EntityFact `json:"entities"`
	Metrics   []string     `json:"metrics"`
	Functions []string     `json:"functions"`
	Nodes     []string     `json:"nodes"`
	Limits    Limits       `json:"limits"`
}

// EntityFact is one entity of a question with all uses of its columns. Row
// filters, masks and required filters are per reference; the fact is per entity,
// and a required filter counts as met only when every reference meets it.
type EntityFact struct {
	Name       string       `json:"name"`
	Tags       []string     `json:"tags"`
	Columns    []ColumnFact `json:"columns"`
	FiltersMet []string     `json:"filters_met"`
}

// ColumnFact is one use of one column.
type ColumnFact struct {
	Name   string   `json:"name"`
	Class  string   `json:"class"`
	Masked bool     `json:"masked"`
	Tags   []string `json:"tags"`
	Clause string   `json:"clause"`
	Other  string   `json:"other"` // join: entity.column of the other side; "" otherwise
	Origin string   `json:"origin"`
}

// Limits are the bounds in force for a question: milliseconds, rows, bytes, calls of
// the subject in a minute. Zero is none left.
type Limits struct {
	TimeMS int64 `json:"time_ms"`
	Rows   int64 `json:"rows"`
	Bytes  int64 `json:"bytes"`
	Calls  int64 `json:"calls"`
}

// Reason is one reason of a denial, as the policy words it.
type Reason struct {
	Text string  `json:"text"`
	Rule RuleRef `json:"rule"`
}

// Decision is the one decision on a question. Entities holds the access of
// every entity the question touches, by key.
type Decision struct {
	Verdict  Verdict
	Reasons  []Reason
	Entities map[string]EntityAccess
	Limits   Limits // never wider than the facts' limits
	Rules    []RuleRef
	// Logged are the rules in log-only mode that would have spoken.
	Logged   []Logged
	Revision string // of the policy bundle
}

// Summary is a flat account of the final text, made by policy/prove for Rego's
// verify package.
type Summary struct {
	Subject   Subject           `json:"subject"`
	Relations []SummaryRelation `json:"relations"`
	Functions []string          `json:"functions"`
	Nodes     []string          `json:"nodes"`
	Scans     []string          `json:"scans"` // storage relations the bound plan reads, one per scan, also those that only rules read
}

// SummaryRelation is one base table of the final text and the fence it stands in.
type SummaryRelation struct {
	Entity    string   `json:"entity"`
	Columns   []string `json:"columns"`   // what the fence offers
	Masked    []string `json:"masked"`    // of those, the masked ones
	Predicate string   `json:"predicate"` // "always", "never" or the SQL
	Fenced    bool     `json:"fenced"`    // ends with OFFSET 0
}
