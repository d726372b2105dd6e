package main

import (
	"errors"
	"fmt"

	"plumbline"
	"plumbline/engine"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

type initCmd struct {
	Folder string `arg:"" help:"Folder to write; must not hold a workspace already."`
}

// Run writes a workspace with the sample models and policies, and no data.
func (c initCmd) Run(e *env) error {
	if err := load.Init(c.Folder, plumbline.Files); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]string{"workspace": c.Folder})
	}
	fmt.Fprintf(e.stdout, "wrote %s: plumbline.cue, models/, rego/\nnext: put data/ in place, then plumbline check -C %s\n", c.Folder, c.Folder)
	return nil
}

// unconfined is said wherever the operating system offers no sandbox.
const unconfined = "note: this system cannot confine the workers (no landlock); see docs/security.md"

type checkCmd struct {
	Data bool   `help:"Also count what the data break of the models' promises: keys that repeat, rows without a partner, versions that overlap, bridges, calendars, hierarchies, and fields that drifted. Example: plumbline check -C shop --data"`
	As   string `default:"operator" help:"Subject of plumbline.cue that sees every row, for --data."`
}

// Run loads everything as serve does, self-test included, and reports all mistakes at once.
func (c checkCmd) Run(e *env) (err error) {
	eng, err := e.open(engine.Options{SelfTest: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	var warnings diag.List
	if c.Data {
		s, ok := eng.Subject(c.As)
		if !ok {
			return diag.New(diag.RequestSubject, "plumbline.cue declares no subject %q", c.As).WithHint("give --as a subject that sees every row")
		}
		if warnings, err = eng.CheckData(e.ctx, s); err != nil {
			return &warned{warnings, err}
		}
	}
	sum := eng.Summary()
	if e.cli.JSON {
		return e.print(checked{sum, failures(warnings)})
	}
	e.warn(warnings)
	fmt.Fprintf(e.stdout, "%s: %d entities, %d metrics, policy %.12s, models %.12s: all checks passed%s\n",
		sum.Name, sum.Entities, sum.Metrics, sum.Policy, sum.Model, withWarnings(len(warnings)))
	if !sum.Sandboxed {
		fmt.Fprintln(e.stdout, unconfined)
	}
	return nil
}

// checked is what check prints as JSON.
type checked struct {
	engine.Summary
	Warnings []failure `json:"warnings"`
}

func withWarnings(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ", with 1 warning"
	}
	return fmt.Sprintf(", with %d warnings", n)
}

// warn prints warnings as errors are printed, each behind its word.
func (e *env) warn(list diag.List) {
	for _, d := range list {
		fmt.Fprintln(e.stderr, "warning:", d.Error())
	}
}
