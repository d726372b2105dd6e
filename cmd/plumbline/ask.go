package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/engine"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

type sqlCmd struct {
	As      string `help:"Subject of plumbline.cue that asks; the stdio subject when left out."`
	Dialect string `help:"How the text is written: postgres, or left out for DuckDB's dialect."`
	Text    string `arg:"" help:"One SELECT, or - to read it from standard input."`
}

// askedSQL is the record of a question in SQL.
type askedSQL struct {
	SQL     string `json:"sql"`
	Dialect string `json:"dialect,omitempty"`
}

// Run asks in SQL.
func (c sqlCmd) Run(e *env) error {
	text, err := e.text(c.Text)
	if err != nil {
		return err
	}
	return e.withSubject(c.As, func(eng *engine.Engine, s policy.Subject) error {
		asked, err := json.Marshal(askedSQL{SQL: text, Dialect: c.Dialect})
		if err != nil {
			return err
		}
		ans, err := eng.Answer(e.ctx, engine.Request{Tool: engine.ToolSQL, Subject: s, SQL: text, Dialect: c.Dialect, Asked: asked})
		return e.answer(ans, err)
	})
}

func (e *env) text(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	b, err := io.ReadAll(e.stdin)
	if err != nil {
		return "", diag.Wrap(err, diag.RequestMalformed, "standard input cannot be read")
	}
	return string(b), nil
}

// question is the command line's form of a metric question.
type question struct {
	Metrics  []string `arg:"" optional:"" help:"Metric names."`
	By       []string `help:"Dimension to group by; time as name:grain. Repeatable." sep:"none"`
	Where    []string `help:"Filter as 'field op value', e.g. 'plan = enterprise'. Repeatable." sep:"none"`
	From     string   `help:"Keep metric_time from this date on."`
	To       string   `help:"Keep metric_time through this day."`
	Last     string   `help:"Keep the last complete periods of metric_time, e.g. '3 months'."`
	This     string   `help:"Keep the current period of metric_time so far, e.g. month."`
	Zone     string   `help:"IANA time zone of days, in place of the model's."`
	Order    []string `help:"Name to order by; name:desc for descending. Repeatable." sep:"none"`
	Limit    *int     `help:"How many rows."`
	Question string   `help:"The whole question as JSON, as query_metrics takes it; @file reads a file."`
}

func (q question) build() (*metric.Question, error) {
	if q.Question != "" {
		raw := []byte(q.Question)
		if name, ok := strings.CutPrefix(q.Question, "@"); ok {
			var err error
			if raw, err = os.ReadFile(name); err != nil {
				return nil, diag.Wrap(err, diag.RequestMalformed, "the question file cannot be read")
			}
		}
		out, err := metric.Decode(raw)
		return &out, err
	}
	out := &metric.Question{Metrics: q.Metrics, Limit: q.Limit, Zone: q.Zone}
	for _, by := range q.By {
		name, grain, _ := strings.Cut(by, ":")
		out.Dimensions = append(out.Dimensions, metric.DimensionRef{Name: name, Grain: grain})
	}
	for _, w := range q.Where {
		parts := strings.SplitN(strings.TrimSpace(w), " ", 3)
		if len(parts) < 2 {
			return nil, diag.New(diag.RequestMalformed, "a filter is written 'field op value'").WithHint("for example --where 'plan = enterprise'")
		}
		f := metric.Filter{Field: parts[0], Op: parts[1]}
		if len(parts) == 3 {
			for _, v := range strings.Split(parts[2], ",") {
				f.Values = append(f.Values, strings.TrimSpace(v))
			}
		}
		out.Filters = append(out.Filters, f)
	}
	if q.From != "" || q.To != "" || q.Last != "" || q.This != "" {
		out.Time = append(out.Time, metric.TimeRange{Field: metric.MetricTime, From: q.From, To: q.To, Last: q.Last, This: q.This})
	}
	for _, o := range q.Order {
		name, desc := strings.CutSuffix(o, ":desc")
		out.Order = append(out.Order, metric.Order{By: name, Desc: desc})
	}
	return out, nil
}

type queryCmd struct {
	As  string `help:"Subject of plumbline.cue that asks; the stdio subject when left out."`
	SQL bool   `name:"show-sql" help:"Print the compiled SQL too."`
	Def bool   `name:"define" help:"Say what each metric is."`
	question
}

// Run asks a metric question.
func (c queryCmd) Run(e *env) error {
	q, err := c.build()
	if err != nil {
		return err
	}
	return e.withSubject(c.As, func(eng *engine.Engine, s policy.Subject) error {
		asked, err := json.Marshal(q)
		if err != nil {
			return err
		}
		ans, err := eng.Answer(e.ctx, engine.Request{Tool: engine.ToolMetrics, Subject: s, Question: q, Asked: asked, ShowSQL: c.SQL, Define: c.Def})
		return e.answer(ans, err)
	})
}

// answer prints rows as CSV on standard output and what is said about them on
// standard error, so that the rows can be piped on.
func (e *env) answer(ans *engine.Answer, err error) error {
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(asMap(ans))
	}
	if ans.SQL != "" {
		fmt.Fprintln(e.stderr, ans.SQL)
	}
	for _, a := range ans.Applied {
		switch {
		case a.Origin == "caller":
		case a.Overridden:
			fmt.Fprintf(e.stderr, "# %s filter, overridden by yours: %s\n", a.Origin, a.Text)
		default:
			fmt.Fprintf(e.stderr, "# %s filter: %s\n", a.Origin, a.Text)
		}
	}
	for _, w := range ans.Warnings {
		fmt.Fprintf(e.stderr, "# %s\n", w)
	}
	if when := ans.When(); when != "" {
		fmt.Fprintf(e.stderr, "# %s\n", when)
	}
	for _, d := range ans.Definitions {
		fmt.Fprintf(e.stderr, "# %s\n", d.Text())
	}
	_, err = io.WriteString(e.stdout, ans.Table.CSV())
	return err
}

// asMap is an answer in JSON. What depends on time, and definitions, stand there
// only where an answer has them.
func asMap(ans *engine.Answer) map[string]any {
	out := map[string]any{
		"query_id": ans.QueryID, "columns": ans.Table.Columns, "rows": ans.Table.Rows, "truncated": ans.Table.Truncated,
		"limit": ans.Table.Limit, "limit_source": ans.LimitSource,
		"applied_filters": ans.Applied, "warnings": ans.Warnings, "sql": ans.SQL,
	}
	if ans.Zone != "" {
		out["zone"], out["as_of"] = ans.Zone, ans.AsOf
	}
	if ans.WeekStart != "" {
		out["week_start"] = ans.WeekStart
	}
	if ans.Partial != nil {
		out["partial_period"] = ans.Partial
	}
	if ans.Definitions != nil {
		out["definitions"] = ans.Definitions
	}
	return out
}

type explainCmd struct {
	As      string `help:"Subject of plumbline.cue that asks; the stdio subject when left out."`
	SQL     string `help:"One SELECT to explain, instead of a metric question."`
	Dialect string `help:"How the SELECT is written: postgres, or left out for DuckDB's dialect."`
	Why     string `placeholder:"ENTITY.COLUMN" help:"Say instead why the subject may or may not see a column: the rules that grant and mask it, and those that do not hold. Reads models and policies alone. Example: plumbline explain -C shop --as sam --why customers.name"`
	question
}

// Run explains a question: one argument that holds a space is SQL.
func (c explainCmd) Run(e *env) error {
	if c.Why != "" {
		return c.why(e)
	}
	req := engine.Request{Tool: engine.ToolExplain, SQL: c.SQL, Dialect: c.Dialect}
	if req.SQL == "" && len(c.Metrics) == 1 && strings.ContainsAny(c.Metrics[0], " \n\t") {
		req.SQL = c.Metrics[0]
	}
	if req.SQL == "" {
		q, err := c.build()
		if err != nil {
			return err
		}
		req.Question = q
	}
	asked, err := json.Marshal(struct {
		SQL      string           `json:"sql"`
		Dialect  string           `json:"dialect,omitempty"`
		Question *metric.Question `json:"question"`
	}{req.SQL, req.Dialect, req.Question})
	if err != nil {
		return err
	}
	req.Asked = asked
	return e.withSubject(c.As, func(eng *engine.Engine, s policy.Subject) error {
		req.Subject = s
		ans, err := eng.Answer(e.ctx, req)
		if err != nil {
			return err
		}
		if e.cli.JSON {
			return e.print(ans.Explain)
		}
		_, err = io.WriteString(e.stdout, ans.Explain.Text())
		return err
	})
}

// why accounts for one column. It names rules and what is hidden, so it is for those
// who can read the policies anyway, and no tool offers it.
func (c explainCmd) why(e *env) (err error) {
	if c.SQL != "" || len(c.Metrics) > 0 || c.Question != "" {
		return diag.New(diag.RequestMalformed, "--why asks about a column and takes no question beside it").WithHint("leave out one of the two")
	}
	g, err := engine.OpenGovernance(e.ctx, e.cli.Dir, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	accounts, err := g.Why(e.ctx, c.As, c.Why)
	if err != nil {
		return err
	}
	e.stdout = plain{e.stdout}
	if e.cli.JSON {
		return e.print(accounts)
	}
	for _, x := range accounts {
		if len(accounts) > 1 {
			fmt.Fprintf(e.stdout, "as %s declares: ", strings.Join(x.Declared, ", "))
		}
		fmt.Fprint(e.stdout, x.Text())
	}
	return nil
}

type metricsCmd struct {
	As        string   `help:"Subject of plumbline.cue that asks; the stdio subject when left out."`
	Dimension string   `help:"What a dimension holds instead, as table.dimension: frequent values, first and last."`
	Search    []string `arg:"" optional:"" help:"Words to look for."`
}

// wholeMetrics is how many metrics are listed with all that goes with each.
const wholeMetrics = 10

// Run lists metrics, or tells what a dimension holds.
func (c metricsCmd) Run(e *env) error {
	return e.withSubject(c.As, func(eng *engine.Engine, s policy.Subject) error {
		search := strings.Join(c.Search, " ")
		asked, err := json.Marshal(map[string]string{"search": search, "dimension": c.Dimension})
		if err != nil {
			return err
		}
		d := engine.Describing{Tool: engine.ToolList, Subject: s, Asked: asked, Search: search, Dimension: c.Dimension, Limit: math.MaxInt}
		if c.Dimension != "" {
			d.Limit = 0
			return e.contents(eng.Contents(e.ctx, d))
		}
		list, err := eng.Metrics(e.ctx, d)
		if err != nil {
			return err
		}
		if e.cli.JSON {
			return e.print(map[string]any{"metrics": list})
		}
		if len(list) == 0 {
			fmt.Fprintln(e.stderr, "no metric matches; leave the words out to list all")
		}
		short := false
		for _, m := range list {
			if len(list) <= wholeMetrics || strings.EqualFold(m.Name, search) {
				e.listed(m)
				continue
			}
			short = true
			fmt.Fprintf(e.stdout, "%s\t%s\n", m.Name, m.Summary())
		}
		if short {
			fmt.Fprintf(e.stderr, "# %d metrics; name one to see its dimensions\n", len(list))
		}
		return nil
	})
}

// listed prints one metric and below it what goes with it.
func (e *env) listed(m engine.Metric) {
	fmt.Fprintf(e.stdout, "%s\t%s\n", m.Name, m.Description)
	if m.Needs != "" {
		fmt.Fprintf(e.stdout, "\tneeds %s\n", m.Needs)
	}
	if len(m.Time) > 0 {
		fmt.Fprintf(e.stdout, "\tby %s\t%s\n", metric.MetricTime, strings.Join(m.Time, " "))
	}
	for _, d := range m.Dimensions {
		fmt.Fprintf(e.stdout, "\tby %s\t%s\n", d.Name, strings.Join(d.Grains, " "))
	}
	for _, h := range m.Hierarchies {
		fmt.Fprintf(e.stdout, "\thierarchy %s\t%s\n", h.Name, strings.Join(h.Levels, " > "))
	}
	for _, s := range m.Segments {
		fmt.Fprintf(e.stdout, "\tsegment %s\n", s)
	}
	for _, p := range m.Parameters {
		fmt.Fprintf(e.stdout, "\tparameter %s\n", p.Text())
	}
}

// contents prints what a dimension holds: values with their counts, the first and the last.
func (e *env) contents(c *engine.Contents, err error) error {
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(c)
	}
	if c.Min != nil {
		fmt.Fprintf(e.stdout, "first\t%v\nlast\t%v\n", c.Min, c.Max)
	}
	for _, v := range c.Values {
		value := v.Value
		if value == nil {
			value = "NULL"
		}
		fmt.Fprintf(e.stdout, "%v\t%v\n", value, v.Rows)
	}
	if c.More {
		fmt.Fprintln(e.stderr, "# there are more values, less frequent")
	}
	if c.MinGroup > 0 {
		fmt.Fprintf(e.stderr, "# values of fewer than %d rows are not told\n", c.MinGroup)
	}
	if c.Masked != "" {
		fmt.Fprintf(e.stderr, "# masked for you: %s\n", c.Masked)
	}
	return nil
}
