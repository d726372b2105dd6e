// Package diag holds the one error type that leaves the program, the places it
// points at, and the closed registry of codes (registry.go).
//
// It stands below every floor and knows none of them. An error states the rule,
// then the offence, then the way out:
//
//	orders.sql:3:14: resolve.unknown: no column "revnue" on "orders" (did you mean "revenue"?)
//
// Msg and Hint are shown to the asker, so they never carry a data value, a
// secret, a storage name or a name the subject may not see. Err keeps the raw
// cause for the audit record only and is never printed by Error.
package diag

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file or in the caller's text. The zero Pos is "no place".
type Pos struct {
	File string `json:"file,omitempty"` // path as the user knows it; "" for the caller's own text
	Line int    `json:"line,omitempty"` // from 1; 0 means unknown
	Col  int    `json:"col,omitempty"`  // from 1, in bytes; 0 means unknown
}

// IsZero reports whether the place is unknown.
func (p Pos) IsZero() bool { return p == Pos{} }

// String gives file:line:col, leaving out what is unknown; "" for the zero Pos.
func (p Pos) String() string {
	var parts []string
	if p.File != "" {
		parts = append(parts, p.File)
	}
	if p.Line > 0 {
		parts = append(parts, fmt.Sprint(p.Line))
		if p.Col > 0 {
			parts = append(parts, fmt.Sprint(p.Col))
		}
	}
	return strings.Join(parts, ":")
}

// PosAt turns a byte offset into text into a line and a column (both from 1).
// An offset outside the text gives the zero Pos.
func PosAt(file, text string, offset int) Pos {
	if offset < 0 || offset > len(text) {
		return Pos{}
	}
	head := text[:offset]
	return Pos{File: file, Line: strings.Count(head, "\n") + 1, Col: offset - strings.LastIndexByte(head, '\n')}
}

// Error is a refusal or a failure with a code from the registry.
// The zero value is not a valid error: make one with New or Wrap.
// It is immutable once returned and safe to share between goroutines.
type Error struct {
	Code       Code
	Pos        Pos
	Msg        string   // the rule and the offence; lower case, no full stop
	Hint       string   // the way out; "" when there is none
	DidYouMean []string // nearest names the subject may see, best first
	Err        error    // raw cause, for the audit record only; may be nil
}

// New makes an error. It panics when code is not registered, since a code
// outside the closed list is a programming mistake that any test finds.
func New(code Code, format string, args ...any) *Error {
	mustBeRegistered(code)
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Wrap makes an error that keeps cause for the audit record.
func Wrap(cause error, code Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.Err = cause
	return e
}

// At returns a copy of e that points at pos.
func (e *Error) At(pos Pos) *Error { c := *e; c.Pos = pos; return &c }

// WithHint returns a copy of e with a way out.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// Suggest returns a copy of e with nearest names.
func (e *Error) Suggest(names ...string) *Error { c := *e; c.DidYouMean = names; return &c }

// Error prints place, code, message, suggestion and hint on one line; never Err.
func (e *Error) Error() string {
	var b strings.Builder
	if p := e.Pos.String(); p != "" {
		b.WriteString(p + ": ")
	}
	b.WriteString(string(e.Code) + ": " + e.Msg)
	if len(e.DidYouMean) > 0 {
		quoted := make([]string, len(e.DidYouMean))
		for i, n := range e.DidYouMean {
			quoted[i] = fmt.Sprintf("%q", n)
		}
		b.WriteString(" (did you mean " + strings.Join(quoted, " or ") + "?)")
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap gives the raw cause.
func (e *Error) Unwrap() error { return e.Err }

// List is several errors of one stage. A nil or empty List is no error: return
// it through Err, never directly as an error.
type List []*Error

// Err sorts the list by place, then code, then message, and gives nil when it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	slices.SortStableFunc(l, func(a, b *Error) int {
		for _, c := range []int{
			strings.Compare(a.Pos.File, b.Pos.File), a.Pos.Line - b.Pos.Line, a.Pos.Col - b.Pos.Col,
			strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Msg, b.Msg),
		} {
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return l
}

// Error prints one error per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, e := range l {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find the members.
func (l List) Unwrap() []error {
	out := make([]error, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}

// All gives every *Error inside err, in order; an error that carries none
// becomes one bug.internal with err as its raw cause. nil gives nil.
func All(err error) []*Error {
	if err == nil {
		return nil
	}
	if found := outermost(err); found != nil {
		return found
	}
	return []*Error{Wrap(err, BugInternal, "an unexpected failure inside the server").WithHint("report it with the query id")}
}

// outermost finds the first *Error, or the List that it is the first of. What an
// *Error wraps is its cause, also when that is a List.
func outermost(err error) []*Error {
	var first *Error
	if !errors.As(err, &first) {
		return nil
	}
	var list List
	if errors.As(err, &list) && len(list) > 0 && list[0] == first {
		return list
	}
	return []*Error{first}
}

// CodeOf gives the code of the first *Error in err; "" for nil, bug.internal for a foreign error.
func CodeOf(err error) Code {
	all := All(err)
	if len(all) == 0 {
		return ""
	}
	return all[0].Code
}
