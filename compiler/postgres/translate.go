package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// Parser reads PostgreSQL text. The engine's workers are one: the parser is C.
type Parser interface {
	// ParsePostgres gives what cparse.Parse gives for the text.
	ParsePostgres(ctx context.Context, text string) ([]byte, error)
}

// Input is what the meaning of a text depends on besides the text.
type Input struct {
	Postgres Parser
	DuckDB   sqlast.Parser
	View     resolve.View
}

// Text is a translated text. It is never changed.
type Text struct {
	SQL    string // DuckDB's dialect, over the same entities
	asked  string
	places []origin
}

// origin says from which byte of the asked text a run of the translated one comes.
type origin struct{ start, from int }

// Translate reads one SELECT of PostgreSQL. Places of its errors are places of
// the text. Codes: limit.text, limit.tree, parse.*, resolve.unknown,
// resolve.ambiguous, unsupported.postgres, request.cancelled, bug.splice; errors of the parsers and
// of the view are passed on as they are.
func Translate(ctx context.Context, text string, in Input) (*Text, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	raw, err := in.Postgres.ParsePostgres(ctx, text)
	if err != nil {
		return nil, err
	}
	tree, err := readTree(text, raw)
	if err != nil {
		return nil, err
	}
	out := &Text{asked: text}
	meant, err := out.build(newTranslator(ctx, text, in.View), tree)
	if err != nil {
		return nil, err
	}
	read, err := sqlast.Parse(ctx, in.DuckDB, out.SQL)
	var d *diag.Error
	switch {
	case errors.As(err, &d) && d.Code == diag.ParseSyntax, err == nil && !sqlast.Equal(read.Root, meant):
		return nil, diag.Wrap(err, diag.BugSplice, "the engine would not read this PostgreSQL text as it is meant")
	case err != nil:
		return nil, out.Explain(err)
	}
	return out, nil
}

// maxTokens keeps out what makes PostgreSQL's parser slow without making a tree
// that would be read, such as a name of thousands of parts.
const maxTokens = 3 * sqlast.MaxNodes

func checkText(text string) error {
	switch {
	case len(text) > sqlast.MaxText:
		return diag.New(diag.LimitText, "the text has %d bytes, more than %d", len(text), sqlast.MaxText)
	case strings.IndexByte(text, 0) >= 0:
		return diag.New(diag.ParseSyntax, "the text holds a NUL byte")
	case !utf8.ValidString(text):
		return diag.New(diag.ParseSyntax, "the text is not valid UTF-8")
	case len(sqlast.Tokens(text)) > maxTokens:
		return diag.New(diag.LimitTree, "the text has more than %d words and signs", maxTokens)
	}
	return nil
}

// build makes the tree that the PostgreSQL tree means, and writes it. A part that is
// refused panics with *refusal, which is recovered here alone.
func (t *Text) build(tr *translator, tree *selectStmt) (q sqlast.Query, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *refusal:
			q, err = nil, r.err
		default:
			panic(r)
		}
	}()
	q, _ = tr.query(tree, &scope{})
	t.SQL, t.places = tr.write(q)
	return q, nil
}

// refusal carries an error out of the translator.
type refusal struct{ err error }

// translator is the state of one translation.
type translator struct {
	ctx     context.Context // of the call whose translation this is
	text    string
	view    resolve.View
	taken   map[string]bool // names of relations in the translated text, in lower case
	numbers map[string]int  // the last number that was put behind a name
	work    int             // what was read and made so far, by the costs below
	printed int             // bytes written so far, by all printers
}

func newTranslator(ctx context.Context, text string, view resolve.View) *translator {
	return &translator{ctx: ctx, text: text, view: view, taken: map[string]bool{}, numbers: map[string]int{}}
}

// maxWork bounds what a translation reads and makes, and with that its memory, since
// some parts are read once more for each way in which they are needed: a few times
// what the engine would take at most.
const (
	maxWork  = 16 * sqlast.MaxNodes
	nodeCost = 4 // of an expression or a query; a column of a relation costs 1, and so do textCost bytes of a literal
	textCost = 4
)

// maxPrinted bounds what all printers of a translation write: expressions are also
// written to tell whether two are the same.
const maxPrinted = 16 * sqlast.MaxText

// worked counts work, and ends the translation when there was too much of it or
// when its call has ended.
func (t *translator) worked(cost int) {
	if err := t.ctx.Err(); err != nil {
		panic(&refusal{diag.Wrap(err, diag.RequestCancelled, "the call was cancelled")})
	}
	if t.work += cost; t.work > maxWork {
		panic(&refusal{diag.New(diag.LimitTree, "the query is too large to be translated")})
	}
}

// refuse ends the translation: what is asked has no answer that is sure to be
// PostgreSQL's.
func (t *translator) refuse(at int, hint, format string, args ...any) {
	e := diag.New(diag.UnsupportedPostgres, format, args...).At(t.pos(at))
	if hint != "" {
		e = e.WithHint("%s", hint)
	}
	panic(&refusal{e})
}

func (t *translator) fail(code diag.Code, at int, format string, args ...any) *diag.Error {
	return diag.New(code, format, args...).At(t.pos(at))
}

func (t *translator) pos(at int) diag.Pos {
	if at < 0 || at > len(t.text) {
		return diag.Pos{}
	}
	return diag.PosAt("", t.text, at)
}

// fresh gives a relation a name that no other relation of the text has, in any
// case: DuckDB folds names that PostgreSQL keeps apart.
func (t *translator) fresh(name string) string {
	out, key := name, strings.ToLower(name)
	for t.taken[strings.ToLower(out)] {
		t.numbers[key]++
		out = name + "_" + itoa(t.numbers[key]+1)
	}
	t.taken[strings.ToLower(out)] = true
	return out
}

// Explain moves the places of an error from the translated text to the asked one.
func (t *Text) Explain(err error) error {
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
	if e.Pos.File != "" || e.Pos.Line != 1 { // the translated text is one line
		return e
	}
	at := e.Pos.Col - 1
	i, found := slices.BinarySearchFunc(t.places, at, func(p origin, at int) int { return p.start - at })
	if !found {
		i--
	}
	if i < 0 {
		return e.At(diag.Pos{})
	}
	return e.At(diag.PosAt("", t.asked, t.places[i].from))
}
