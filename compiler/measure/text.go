package measure

import (
	"errors"
	"slices"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// Text is a caller's text with its measures written out.
type Text struct {
	SQL     string
	Model   []resolve.Span         // ranges that the model wrote
	Applied []metric.AppliedFilter // the model's own filters on what was measured
	// Warnings are what a reader of the answer would not expect.
	Warnings []string
	// Metrics are those that are the called measures and nothing more: who may not ask
	// for them may not call the measures.
	Metrics []string

	asked  string
	pieces []piece
}

// piece says where a run of the text came from: byte by byte when it is a copy,
// all of it from one place otherwise.
type piece struct {
	start, from int
	copied      bool
}

// Explain moves the places of an error from the written text to the asked one.
func (t *Text) Explain(err error) error {
	if err == nil {
		return nil
	}
	var one *diag.Error
	var list diag.List
	switch {
	case errors.As(err, &list):
		out := make(diag.List, len(list))
		for i, e := range list {
			out[i] = t.moved(e)
		}
		return out.Err()
	case errors.As(err, &one):
		return t.moved(one)
	}
	return err
}

func (t *Text) moved(e *diag.Error) *diag.Error {
	if e.Pos.File != "" || e.Pos.Line == 0 {
		return e
	}
	return e.At(diag.PosAt("", t.asked, t.place(offset(t.SQL, e.Pos))))
}

// offset is the byte of a text that a place means, 0 for no place.
func offset(text string, p diag.Pos) int {
	at := 0
	for range p.Line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return min(at+max(p.Col-1, 0), len(text))
}

// place gives the byte of the asked text that a byte of the written one comes from.
func (t *Text) place(at int) int {
	i, found := slices.BinarySearchFunc(t.pieces, at, func(p piece, at int) int { return p.start - at })
	if !found {
		i--
	}
	if i < 0 {
		return at
	}
	p := t.pieces[i]
	if p.copied {
		return min(p.from+at-p.start, len(t.asked))
	}
	return p.from
}

// edit replaces a range of the asked text.
type edit struct {
	start, end int
	write      func(*writer)
}

// writer writes the text, and keeps whose each part is and where it came from.
type writer struct {
	asked  string
	edits  []edit // in text order, apart from each other
	out    strings.Builder
	pieces []piece
	model  []resolve.Span
	full   bool // the text would pass sqlast.MaxText: nothing more is written
}

// copy writes a range of the asked text with the edits inside it, and more beside
// them. What is to be added behind its end is not inside.
func (w *writer) copy(start, end int, more ...edit) {
	edits := w.edits
	if len(more) > 0 {
		edits = append(slices.Clone(edits), more...)
		slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	}
	at := start
	for _, e := range edits {
		if w.full {
			return
		}
		if e.start < at || e.end > end || e.start == end {
			continue
		}
		w.plain(at, e.start)
		e.write(w)
		at = e.end
	}
	w.plain(at, end)
}

// all writes the whole text.
func (w *writer) all() {
	w.copy(0, len(w.asked))
	for _, e := range w.edits {
		if e.start == len(w.asked) && !w.full {
			e.write(w)
		}
	}
}

// room reports that so many bytes more stay within what a text may have.
func (w *writer) room(n int) bool {
	w.full = w.full || w.out.Len()+n > sqlast.MaxText
	return !w.full
}

func (w *writer) plain(start, end int) {
	if start < end && w.room(end-start) {
		w.pieces = append(w.pieces, piece{w.out.Len(), start, true})
		w.out.WriteString(w.asked[start:end])
	}
}

// put writes text that stands for a place of the asked text. What it names counts
// as named by the caller.
func (w *writer) put(from int, text string) {
	if w.room(len(text)) {
		w.pieces = append(w.pieces, piece{w.out.Len(), from, false})
		w.out.WriteString(text)
	}
}

// byModel writes text of the model.
func (w *writer) byModel(from int, text string) {
	start := w.out.Len()
	w.put(from, text)
	w.model = append(w.model, resolve.Span{Start: start, End: w.out.Len()})
}

func (w *writer) text() *Text {
	return &Text{SQL: w.out.String(), Model: w.model, asked: w.asked, pieces: w.pieces}
}
