package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/engine/audit"
	"plumbline/mcp"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

type replayCmd struct {
	Policy string `required:"" type:"path" help:"Folder of the other policies."`
	Model  string `type:"path" help:"Folder of a workspace whose models go with them; the models in force when left out."`
	File   string `type:"path" help:"Audit file; audit.path of plumbline.cue when left out."`
	logFilter
	Limit  int    `default:"500" help:"At most so many different questions, the newest."`
	Format string `enum:"text,markdown,json" default:"text" help:"text, markdown (for a pull request) or json."`
	Show   bool   `help:"Print the rows that differ. Without it their number alone is told."`
}

// Run asks recorded questions again, as their subjects and at their moments, under
// the policies in force and under others, on the data at hand, and tells which would
// change. It exits with 1 when one would, and with 2 when that cannot be found out.
func (c replayCmd) Run(e *env) (err error) {
	defer func() {
		if err != nil && !errors.As(err, new(exitCode)) {
			err = trouble{err}
		}
	}()
	recorded, err := c.recorded(e)
	if err != nil {
		return err
	}
	before, err := e.open(engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, before.Close()) }()
	after, err := before.WithPolicy(e.ctx, c.Policy, c.Model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, after.Close()) }()
	r := &replayed{recorded: recorded, before: before.Summary(), after: after.Summary(), show: c.Show}
	for _, q := range recorded.questions {
		change, err := engine.Compare(e.ctx, q.Record, before, after, askRecorded)
		if err != nil {
			return err
		}
		if change.Any() {
			r.changes = append(r.changes, changed{change, q.times})
		}
	}
	e.stdout = plain{e.stdout}
	switch {
	case e.cli.JSON || c.Format == "json":
		err = e.print(r.json())
	case c.Format == "markdown":
		_, err = io.WriteString(e.stdout, r.markdown())
	default:
		_, err = io.WriteString(e.stdout, r.text())
	}
	if err == nil && len(r.changes) > 0 {
		err = exitCode(1)
	}
	return err
}

// askRecorded calls the tool that the record names with the arguments that it holds.
func askRecorded(ctx context.Context, r *engine.Replay) error {
	of := r.Recorded()
	if of.Tool != engine.ToolExplain {
		return mcp.Run(ctx, r, of.Tool, of.Subject, of.Question)
	}
	var asked struct {
		SQL      string          `json:"sql"`
		Question json.RawMessage `json:"question"`
	}
	req := engine.Request{Tool: of.Tool}
	err := json.Unmarshal(of.Question, &asked)
	if req.SQL = asked.SQL; err == nil && req.SQL == "" {
		var q metric.Question
		q, err = metric.Decode(asked.Question)
		req.Question = &q
	}
	if err != nil {
		return r.Refused(ctx, of.Tool, of.Subject, of.Question, err)
	}
	_, err = r.Answer(ctx, req)
	return err
}

// recorded are the questions of an audit file, and what was left out.
type recorded struct {
	questions []asking
	records   int
	left      map[string]int // records that are not asked again, by the reason
}

// asking is a recorded question and how often it was asked.
type asking struct {
	audit.Record
	times int
}

// recorded reads the questions of callers. Equal ones of one subject are asked once, at
// the newest moment.
func (c replayCmd) recorded(e *env) (*recorded, error) {
	keep, err := c.keep(time.Now())
	if err != nil {
		return nil, err
	}
	path, err := auditFile(e.cli.Dir, c.File)
	if err != nil {
		return nil, err
	}
	out := &recorded{left: map[string]int{}}
	newest := map[string]asking{}
	reader := audit.NewReader(path)
	err = reader.Read(func(x audit.Entry) error {
		if x.Err != nil {
			return diag.Wrap(x.Err, diag.RequestMalformed, "%s is not a record", x.Where).WithHint("plumbline audit log tells all such lines")
		}
		if !keep(&x.Record) {
			return nil
		}
		out.records++
		if why := notAskable(&x.Record); why != "" {
			out.left[why]++
			return nil
		}
		key, err := json.Marshal([]any{x.Record.Subject, x.Record.Tool, x.Record.Question})
		newest[string(key)] = asking{x.Record, newest[string(key)].times + 1}
		return err
	})
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, unreadableLog(err)
	}
	for _, q := range newest {
		out.questions = append(out.questions, q)
	}
	slices.SortFunc(out.questions, func(a, b asking) int {
		if d := a.Time.Compare(b.Time); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	if n := len(out.questions) - c.Limit; n > 0 {
		out.left["older than the newest by --limit"] += n
		out.questions = out.questions[n:]
	}
	return out, nil
}

// notAskable says why a record is not asked again; "" when it is.
func notAskable(r *audit.Record) string {
	var args map[string]json.RawMessage
	switch {
	case r.Replays != "":
		return "replays"
	case r.Tool != engine.ToolExplain && !slices.Contains(mcp.Tools(), r.Tool):
		return "the operator's own"
	case r.Subject.ID == "" || r.Subject.ID == "self-test":
		return "without a subject"
	case json.Unmarshal(r.Question, &args) != nil:
		return "cut, or no arguments"
	case args["test"] != nil || args["for"] != nil:
		return "the operator's own"
	case cutClaims(r.Subject):
		return "cut, or no arguments"
	}
	return ""
}

// cutClaims reports that a record was too long to hold its subject whole.
func cutClaims(s policy.Subject) bool {
	text, ok := s.Claims["cut"].(string)
	return ok && len(s.Claims) == 1 && strings.HasSuffix(text, " bytes")
}
