package audit

import (
	"encoding/json"
	"fmt"
	"strings"

	"plumbline/policy"
)

// maxRecord bounds one record, where a quarter of the file is not less. A few
// requests can so never push out the history that was kept before them.
const maxRecord = 1 << 20

// bound is how many bytes a record of the log may have.
func (l *Log) bound() int {
	if l.spec.MaxBytes > 0 {
		return int(min(maxRecord, l.spec.MaxBytes/4))
	}
	return maxRecord
}

// smallest is where cutting ends: what is left of each field says what it was.
const smallest = 32

// line writes a record on one line. In one that would be too long every field that
// can grow is cut, with a mark that says how much there was.
func line(r Record, bound int) ([]byte, error) {
	out, err := json.Marshal(r)
	for size := bound / 8; err == nil && len(out) >= bound; size /= 2 {
		out, err = json.Marshal(cutTo(r, max(size, smallest)))
		if size <= smallest {
			break
		}
	}
	return append(out, '\n'), err
}

// Cut gives the start of a text that is longer than size bytes, with its length.
func Cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return fmt.Sprintf("%s [cut, %d bytes]", strings.ToValidUTF8(text[:size], ""), len(text))
}

// cutTo gives a record whose fields have about size bytes each at the most.
func cutTo(r Record, size int) Record {
	r.Question = cutJSON(r.Question, size)
	if claims, err := json.Marshal(r.Subject.Claims); err == nil && len(claims) > size {
		r.Subject.Claims = map[string]any{"cut": fmt.Sprintf("%d bytes", len(claims))}
	}
	for _, text := range []*string{&r.Normalised, &r.FinalSQL, &r.RawError, &r.Tool, &r.Outcome} {
		*text = Cut(*text, size)
	}
	r.Subject.ID = policy.SubjectID(Cut(string(r.Subject.ID), size))
	same := func(s string) string { return s }
	for _, list := range []*[]string{&r.Subject.Roles, &r.Functions, &r.BesideSQL, &r.Sources, &r.Errors} {
		*list = cutList(*list, size, same)
	}
	r.Entities = cutList(r.Entities, size, func(s string) EntityUse { return EntityUse{Entity: s} })
	r.Reasons = cutList(r.Reasons, size, func(s string) policy.Reason { return policy.Reason{Text: s} })
	r.Rules = cutList(r.Rules, size, func(s string) policy.RuleRef { return policy.RuleRef{ID: s} })
	return r
}

// cutJSON makes a long JSON value a text with its start.
func cutJSON(value json.RawMessage, size int) json.RawMessage {
	if len(value) <= size {
		return value
	}
	text, _ := json.Marshal(Cut(string(value), size)) // a string always marshals
	return text
}

// cutList keeps the first items that fit; the last one then says how many there
// were, with the start of the first that did not fit.
func cutList[T any](list []T, size int, say func(string) T) []T {
	left := size
	for i, item := range list {
		text, err := json.Marshal(item)
		if err != nil {
			return list // then the record itself does not marshal
		}
		if left -= len(text); left < 0 {
			return append(list[:i:i], say(fmt.Sprintf("%s [cut, %d of %d items left out]", Cut(string(text), left+len(text)), len(list)-i, len(list))))
		}
	}
	return list
}
