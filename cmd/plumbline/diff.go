package main

import (
	"errors"
	"path/filepath"
	"strings"

	"plumbline/engine"
	"plumbline/semantic"
	"plumbline/semantic/changes"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

type diffCmd struct {
	Rev      string `arg:"" help:"The older revision: a name that git knows, or a folder with a workspace."`
	Rev2     string `arg:"" optional:"" help:"The newer one; the working tree when left out."`
	Values   bool   `default:"true" negatable:"" help:"Ask for the metrics that changed, in both revisions, on the data at hand."`
	Markdown bool   `help:"Print Markdown, for a pull request."`
	ExitCode bool   `help:"Exit with 1 when something means something else."`
	As       string `default:"operator" help:"Subject of plumbline.cue that sees everything, for the values."`
}

// Run compares what the metrics of two revisions mean and say. The sources,
// policies and limits are those of -C for both, so that only the models differ.
// It exits with 0, by --exit-code with 1 when a meaning changed, and with 2 when
// the revisions cannot be compared.
func (c diffCmd) Run(e *env) (err error) {
	defer func() {
		if err != nil && !errors.As(err, new(exitCode)) {
			err = trouble{err}
		}
	}()
	older, err := revisionOf(e.ctx, e.cli.Dir, c.Rev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, older.remove()) }()
	newer := &revision{workingTree, e.cli.Dir, func() error { return nil }}
	if c.Rev2 != "" {
		if newer, err = revisionOf(e.ctx, e.cli.Dir, c.Rev2); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, newer.remove()) }()
	d, err := c.compare(e, older, newer)
	if err != nil {
		return err
	}
	switch {
	case e.cli.JSON:
		err = e.print(d.json())
	case c.Markdown:
		err = d.markdown(e.stdout)
	default:
		err = d.text(e.stdout)
	}
	if err == nil && c.ExitCode && d.report.Meaning() {
		err = exitCode(1)
	}
	return err
}

// trouble is a refusal of a command that says with 1 that something differs.
type trouble struct{ error }

// Unwrap gives the refusal.
func (t trouble) Unwrap() error { return t.error }

// difference is what diff prints.
type difference struct {
	from, to string
	report   changes.Report
	values   map[semantic.Name][]engine.Values // by the newer name; nil when values were not asked for
}

func (c diffCmd) compare(e *env, older, newer *revision) (*difference, error) {
	_, before, err := load.Dir(older.folder)
	if err != nil {
		return nil, older.place(err)
	}
	_, after, err := load.Dir(newer.folder)
	if err != nil {
		return nil, newer.place(err)
	}
	d := &difference{from: older.name, to: newer.name, report: changes.Between(before, after)}
	list := toCompare(d.report)
	if !c.Values || len(list) == 0 {
		return d, nil
	}
	values, err := c.compareValues(e, older, newer, list)
	if err != nil {
		return nil, err
	}
	d.values = map[semantic.Name][]engine.Values{}
	for i, m := range list {
		d.values[m.New] = values[i]
	}
	return d, nil
}

// toCompare gives the metrics that both revisions have and that may have other values.
func toCompare(r changes.Report) []engine.Compared {
	var out []engine.Compared
	for _, m := range r.Metrics {
		c := engine.Compared{Old: m.Name, New: m.Name, First: m.Dimensions}
		if m.What == changes.Added || m.What == changes.Removed {
			continue
		}
		if m.From != "" {
			c.Old = m.From
		}
		out = append(out, c)
	}
	return out
}

func (c diffCmd) compareValues(e *env, older, newer *revision, list []engine.Compared) (_ [][]engine.Values, err error) {
	eng, err := e.open(engine.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	s, ok := eng.Subject(c.As)
	if !ok {
		return nil, diag.New(diag.RequestSubject, "plumbline.cue declares no subject %q", c.As).
			WithHint("give --as a subject that sees everything, or --no-values to compare definitions alone")
	}
	before, err := eng.WithModels(e.ctx, older.folder)
	if err != nil {
		return nil, unfit(older.place(err))
	}
	defer func() { err = errors.Join(err, before.Close()) }()
	after := eng
	if filepath.Clean(newer.folder) != filepath.Clean(e.cli.Dir) {
		if after, err = eng.WithModels(e.ctx, newer.folder); err != nil {
			return nil, unfit(newer.place(err))
		}
		defer func() { err = errors.Join(err, after.Close()) }()
	}
	return before.CompareValues(e.ctx, after, s, list)
}

// unfit tells what to do where the data at hand are not those of a revision.
func unfit(err error) error {
	var out diag.List
	for _, d := range diag.All(err) {
		if strings.HasPrefix(string(d.Code), "source.") {
			d = d.WithHint("the data at hand are not those of this revision; --no-values compares definitions alone")
		}
		out = append(out, d)
	}
	return out.Err()
}
