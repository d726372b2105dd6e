package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

type logCmd struct {
	File string `type:"path" help:"Audit file; audit.path of plumbline.cue when left out. Rotated files beside it are read too."`
	logFilter
	Limit  int  `help:"Only the newest records, so many."`
	Follow bool `help:"Go on with records as they are written."`
}

// logFilter chooses records; what is left out chooses all.
type logFilter struct {
	Since   string   `help:"Since a moment, a day, or so long ago: 2026-05-04T12:00:00Z, 2026-05-04, 90m, 7d."`
	Subject []string `help:"Of this subject. Repeatable." sep:"none"`
	Outcome string   `enum:",allow,deny,error" default:"" help:"allow, deny (refused, whatever the reason) or error (our failure)."`
	Tool    []string `help:"Asked by this tool. Repeatable." sep:"none"`
	Code    []string `help:"With this error code. Repeatable." sep:"none"`
	Entity  []string `help:"That use this entity. Repeatable." sep:"none"`
	Rule    []string `help:"To which this rule applied, by its id. Repeatable." sep:"none"`
}

// Run prints records, oldest first. It exits with 1 when a line is no record.
func (c logCmd) Run(e *env) (err error) {
	keep, err := c.keep(time.Now())
	if err != nil {
		return err
	}
	path, err := auditFile(e.cli.Dir, c.File)
	if err != nil {
		return err
	}
	e.stdout, e.stderr = plain{e.stdout}, plain{e.stderr}
	p := &logPrinter{env: e, keep: keep, limit: c.Limit, reader: audit.NewReader(path)}
	defer func() { err = errors.Join(err, p.reader.Close()) }()
	if c.Follow {
		err = p.follow(path)
	} else {
		err = p.all()
	}
	if err == nil && p.broken > 0 {
		err = exitCode(1)
	}
	return err
}

// auditFile finds the audit file of a workspace.
func auditFile(dir, file string) (string, error) {
	if file != "" {
		return file, nil
	}
	ws, _, err := load.Dir(dir)
	if err != nil {
		return "", err
	}
	return ws.Audit.Path, nil
}

// keep makes the filter's question to a record.
func (f logFilter) keep(now time.Time) (func(*audit.Record) bool, error) {
	since, err := moment(f.Since, now)
	if err != nil {
		return nil, err
	}
	among := func(list []string, has ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(has, func(s string) bool { return slices.Contains(list, s) })
	}
	return func(r *audit.Record) bool {
		var codes, entities, ids []string
		for _, e := range r.Errors {
			codes = append(codes, codeIn(e))
		}
		for _, u := range r.Entities {
			entities = append(entities, u.Entity)
		}
		for _, rule := range r.Rules {
			ids = append(ids, rule.ID)
		}
		return !r.Time.Before(since) && among(f.Subject, string(r.Subject.ID)) && among(f.Tool, r.Tool) &&
			(f.Outcome == "" || f.Outcome == outcomeOf(r)) && among(f.Code, append(codes, r.Outcome)...) &&
			among(f.Entity, entities...) && among(f.Rule, ids...)
	}, nil
}

// codeIn finds the code in an error as a caller saw it: "1:12: resolve.unknown: ...".
func codeIn(text string) string {
	for part := range strings.SplitSeq(text, ": ") {
		if !strings.Contains(part, " ") && strings.Contains(part, ".") && !strings.Contains(part, ":") {
			return part
		}
	}
	return ""
}

// outcomeOf says how a question ended: allow, deny, or error where the fault is ours.
func outcomeOf(r *audit.Record) string {
	family, _, coded := strings.Cut(r.Outcome, ".")
	switch {
	case !coded:
		return "allow"
	case family == "execute" || family == "source" || family == "bug":
		return "error"
	}
	return "deny"
}

// moment reads a point in time; "" is the beginning of all.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, diag.New(diag.RequestMalformed, "--since is a moment, a day, or so long ago, and %q is none", text).
		WithHint("write 2026-05-04T12:00:00Z, 2026-05-04, 90m or 7d")
}

// logPrinter prints what a reader gives.
type logPrinter struct {
	env    *env
	keep   func(*audit.Record) bool
	limit  int
	reader *audit.Reader
	last   []audit.Entry // with a limit: the newest so far
	broken int
	met    bool // a line, whether chosen or not
}

func (p *logPrinter) give(x audit.Entry) error {
	p.met = true
	switch {
	case x.Err != nil:
		p.broken++
		fmt.Fprintf(p.env.stderr, "%s: not a record: %v\n", x.Where, x.Err)
	case !p.keep(&x.Record):
	case p.limit > 0:
		p.last = append(p.last, x)
		if len(p.last) > p.limit {
			p.last = p.last[1:]
		}
	default:
		return p.print(x)
	}
	return nil
}

func (p *logPrinter) print(x audit.Entry) error {
	text := recordLine(&x.Record)
	if p.env.cli.JSON {
		text = string(x.Line) + "\n"
	}
	_, err := p.env.stdout.Write([]byte(text))
	return err
}

// read prints what is there and was not printed yet.
func (p *logPrinter) read() error {
	if err := p.reader.Read(p.give); err != nil {
		return unreadableLog(err)
	}
	list := p.last
	p.last, p.limit = nil, 0 // what comes later is printed whole
	for _, x := range list {
		if err := p.print(x); err != nil {
			return err
		}
	}
	return nil
}

func unreadableLog(err error) error {
	var told *diag.Error
	if errors.As(err, &told) {
		return err
	}
	return diag.Wrap(err, diag.AuditFailed, "the audit file cannot be read").WithHint("only its owner may; check audit.path in plumbline.cue, or give --file")
}

// all prints what is there; a last line without an end is broken, since nobody waits for it.
func (p *logPrinter) all() error {
	if err := p.read(); err != nil {
		return err
	}
	if !p.met {
		fmt.Fprintln(p.env.stderr, "there is no record yet")
	}
	if x, ok := p.reader.Unfinished(); ok {
		return p.give(audit.Entry{Where: x.Where, Err: errors.New("the line has no end")})
	}
	return nil
}

// follow prints what is there, then what is written, until the command is stopped. It
// waits for the system to tell that a file of the folder has changed.
func (p *logPrinter) follow(path string) (err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return unreadableLog(err)
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := w.Add(filepath.Dir(path)); err != nil {
		return unreadableLog(err)
	}
	for {
		if err := p.read(); err != nil {
			return err
		}
		select {
		case <-p.env.ctx.Done():
			return nil
		case <-w.Events:
		case <-w.Errors: //nolint:errcheck // Something was missed, and the next reading finds it whatever it was.
		}
	}
}

// recordLine writes a record on one line: when, who, how, what came of it, what was
// asked, and for a denial the rules that denied.
func recordLine(r *audit.Record) string {
	outcome := outcomeOf(r)
	if outcome != "allow" {
		outcome += " " + r.Outcome
	}
	total := 0.0
	for _, ms := range r.StageMS {
		total += ms
	}
	parts := []string{r.Time.UTC().Format(time.RFC3339), string(r.Subject.ID), r.Tool, outcome, fmt.Sprintf("%d rows", r.Rows), fmt.Sprintf("%.0f ms", total), r.ID, oneLine(asked(r), 100)}
	for i := range parts {
		parts[i] = oneLine(cmp.Or(parts[i], "-"), 120)
	}
	for _, reason := range r.Reasons {
		if reason.Rule != (policy.RuleRef{}) {
			parts = append(parts, "by "+ruleName(reason.Rule))
		}
	}
	if r.Replays != "" {
		parts = append(parts, "replay of "+r.Replays)
	}
	return strings.Join(parts, "  ") + "\n"
}

func ruleName(r policy.RuleRef) string { return fmt.Sprintf("%s %s:%d", r.ID, r.File, r.Line) }

// asked is the question in short: the SQL, or the arguments that hold something.
func asked(r *audit.Record) string {
	var args map[string]any
	if json.Unmarshal(r.Question, &args) != nil {
		return string(r.Question)
	}
	if sql, ok := args["sql"].(string); ok && sql != "" {
		return sql
	}
	for name, value := range args {
		if value == nil || value == "" || value == false {
			delete(args, name)
		}
	}
	text, err := json.Marshal(args)
	if err != nil {
		return string(r.Question)
	}
	return string(text)
}
