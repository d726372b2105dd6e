package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// workspace is what stands beside a case's model. The files it names need not
// exist, since a case brings its rows.
const workspace = `package workspace

import "plumbline.dev/schema:plumbline"

workspace: plumbline.#Workspace & {
	name: "scoreboard"
	sources: files: {kind: "files", root: "."}
}
`

// described says what a workspace says of every part of a model and no answer
// depends on, so that a case need not.
const described = `package models

import "plumbline.dev/schema:plumbline"

model: plumbline.#Model & {
	entities: [_]: {
		description: *"rows of a case" | string
		grain:       *"one row" | string
		source: {source: *"files" | string, path: *"none.csv" | string}
		fields: [_]: description:      *"field of a case" | string
		dimensions: [_]: description:  *"dimension of a case" | string
		measures: [_]: description:    *"measure of a case" | string
		filters: [_]: description:     *"filter of a case" | string
		segments: [_]: description:    *"segment of a case" | string
		hierarchies: [_]: description: *"hierarchy of a case" | string
	}
	metrics: [_]: description:    *"metric of a case" | string
	calendars: [_]: description:  *"calendar of a case" | string
	parameters: [_]: description: *"parameter of a case" | string
	views: [_]: description:      *"view of a case" | string
	tests: [_]: description:      *"test of a case" | string
}
`

// refusedAtLoad is the comment of a file whose model must not load.
var refusedAtLoad = regexp.MustCompile(`(?m)^// refused: ([a-z_.]+)$`)

// verdict says how a case ended.
type verdict string

// The verdicts. Only wrong and unexpected are failures.
const (
	right      verdict = "right"
	refused    verdict = "refused"    // as expected
	unexpected verdict = "unexpected" // refused where an answer was expected
	wrong      verdict = "wrong"      // other rows, another code, or an answer where a refusal was expected
)

// result is one case's end. Why is for people.
type result struct {
	Case    string // file:test, below the suite's folder
	Verdict verdict
	Why     string
}

// suite runs every case file of a folder and the folders in it, sorted by name.
func suite(ctx context.Context, dir string) ([]result, error) {
	var files []string
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(file) == ".cue" {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no case files (*.cue)", dir)
	}
	slices.Sort(files)
	var out []result
	for _, file := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		results, err := caseFile(ctx, filepath.ToSlash(name), text)
		if err != nil {
			return nil, err
		}
		out = append(out, results...)
	}
	return out, nil
}

// caseFile runs the tests of one file. Its error is the machine's, never the case's.
func caseFile(ctx context.Context, name string, text []byte) ([]result, error) {
	catalog, err := catalogOf(text)
	var p *pipeline
	if err == nil {
		p, err = openPipeline(ctx, catalog)
	}
	if want := refusedAtLoad.FindSubmatch(text); want != nil {
		if err == nil {
			p.close()
		}
		return []result{judgeRefusal(name, err, string(want[1]))}, nil
	}
	if err != nil {
		return []result{{name, unexpected, "the model: " + oneLine(err)}}, nil
	}
	defer p.close()
	if len(catalog.Tests) == 0 {
		return []result{{name, wrong, "there is no test in this file"}}, nil
	}
	out := make([]result, len(catalog.Tests))
	for i, t := range catalog.Tests {
		out[i] = runTest(ctx, p, t)
		out[i].Case = name + ":" + string(t.Name)
	}
	return out, nil
}

// catalogOf loads a model text as the only one of a workspace.
func catalogOf(text []byte) (*semantic.Catalog, error) {
	root, err := os.MkdirTemp("", "scoreboard-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if err := os.Mkdir(filepath.Join(root, "models"), 0o700); err != nil {
		return nil, err
	}
	for file, content := range map[string][]byte{load.ConfigFile: []byte(workspace), "models/case.cue": text, "models/described.cue": []byte(described)} {
		if err := os.WriteFile(filepath.Join(root, file), content, 0o600); err != nil {
			return nil, err
		}
	}
	_, catalog, err := load.Dir(root)
	return catalog, err
}

func runTest(ctx context.Context, p *pipeline, t *semantic.Test) result {
	now := time.Now()
	if t.Now != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, t.Now); err != nil {
			return result{Verdict: wrong, Why: "now: " + err.Error()}
		}
	}
	if err := p.fill(ctx, t.Rows); err != nil {
		return result{Verdict: wrong, Why: "rows: " + err.Error()}
	}
	var got *answer
	var err error
	if t.SQL != "" {
		got, err = p.sql(ctx, t.SQL)
	} else {
		got, err = p.question(ctx, t.Question, now)
	}
	if t.Refused != "" {
		r := judgeRefusal("", err, t.Refused)
		if err == nil {
			r.Why += "\n" + rowsText(got.rows)
		}
		return r
	}
	if err != nil {
		return judgeFailure(err, got)
	}
	return judgeAnswer(got, t)
}

func judgeRefusal(name string, err error, want string) result {
	if err == nil {
		return result{name, wrong, "answered, not refused with " + want}
	}
	for _, e := range diag.All(err) {
		if string(e.Code) == want {
			return result{name, refused, oneLine(err)}
		}
	}
	return result{name, wrong, fmt.Sprintf("not refused with %s: %s", want, oneLine(err))}
}

// judgeFailure tells a refusal from a failure of our own, which is never right.
func judgeFailure(err error, got *answer) result {
	r := result{Verdict: unexpected, Why: oneLine(err)}
	if code := string(diag.CodeOf(err)); code == "" || strings.HasPrefix(code, "bug.") {
		r.Verdict = wrong
		if got != nil {
			r.Why += "\n" + got.sql
		}
	}
	return r
}

func judgeAnswer(got *answer, t *semantic.Test) result {
	if len(t.Columns) > 0 {
		kept, err := got.only(t.Columns)
		if err != nil {
			return result{Verdict: wrong, Why: err.Error()}
		}
		got = kept
	}
	if sameRows(got.rows, t.Expect, got.types, t.Ordered) {
		return result{Verdict: right}
	}
	return result{Verdict: wrong, Why: fmt.Sprintf("got\n%s\nwant\n%s\nby\n%s", rowsText(got.rows), rowsText(t.Expect), got.sql)}
}

// oneLine is an error with its causes.
func oneLine(err error) string {
	text := err.Error()
	for _, e := range diag.All(err) {
		if e.Err != nil {
			text += " (" + e.Err.Error() + ")"
		}
	}
	return strings.ReplaceAll(text, "\n", "; ")
}
