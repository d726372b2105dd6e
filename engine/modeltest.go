package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/metric"
	"plumbline/engine/rowdiff"
	"plumbline/engine/shape"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// TestResult is how one test of the models came out.
type TestResult struct {
	Test    *semantic.Test
	Passed  bool
	Err     *diag.Error    // why the question was refused, or the test cannot be asked; nil when rows were compared
	Columns []shape.Column // of the answer
	Diff    rowdiff.Diff   // between what is expected and the answer
	Faults  []string       // what else is wrong, as sentences
}

// Text says in lines why a test did not pass; "" when it did.
func (r *TestResult) Text() string {
	if r.Passed {
		return ""
	}
	var b strings.Builder
	for _, f := range r.Faults {
		b.WriteString(f + "\n")
	}
	if r.Err != nil {
		if r.Test.Refused != "" {
			b.WriteString("a refusal with " + r.Test.Refused + " is expected, and it is refused with another\n")
		}
		b.WriteString(r.Err.Error() + "\n")
	}
	b.WriteString(r.Diff.Text(r.Columns))
	return b.String()
}

// Tests gives the tests that the models in force hold.
func (e *Engine) Tests() []*semantic.Test { return e.current.Load().catalog.Tests }

// Test asks the questions of the models' tests, each through the whole pipeline
// as its subject, or as the given one when it names none; that one should see
// everything. A test with rows of its own is asked in workers that hold these
// rows alone, and tests of equal rows share them. The clock of a test stands
// still, at its own moment or at stillMoment. The results come in the order of
// tests; the error is one that ended the run.
func (e *Engine) Test(ctx context.Context, tests []*semantic.Test, as string) ([]TestResult, error) {
	results := make([]TestResult, len(tests))
	for i, t := range tests {
		results[i].Test = t
	}
	for _, group := range equalRows(tests) {
		rows := tests[group[0]].Rows
		on, err := e.holding(ctx, rows)
		for _, i := range group {
			if ctx.Err() != nil {
				break
			}
			if err != nil {
				results[i].Err = diag.All(err)[0].At(tests[i].Pos)
				continue
			}
			on.test(ctx, &results[i], as)
		}
		if on != nil && on != e {
			err = on.Close()
			if err != nil {
				return nil, err
			}
		}
		if ctx.Err() != nil {
			return nil, diag.Wrap(ctx.Err(), diag.RequestCancelled, "the tests were cancelled")
		}
	}
	return results, nil
}

// holding gives the engine that holds the rows of a test: e itself for live data.
func (e *Engine) holding(ctx context.Context, rows []semantic.TestRows) (*Engine, error) {
	if rows == nil {
		return e, nil
	}
	return e.withRows(ctx, rows)
}

// equalRows groups the places of tests that have the same rows, in order.
func equalRows(tests []*semantic.Test) [][]int {
	var out [][]int
	at := map[string]int{}
	for i, t := range tests {
		key, err := json.Marshal(t.Rows)
		g, seen := at[string(key)]
		if err != nil || !seen {
			g = len(out)
			out = append(out, nil)
			if err == nil {
				at[string(key)] = g
			}
		}
		out[g] = append(out[g], i)
	}
	return out
}

// test asks one test and judges what comes back.
func (e *Engine) test(ctx context.Context, r *TestResult, as string) {
	req, err := e.asTest(r.Test, as)
	if err != nil {
		r.Err = diag.All(err)[0].At(r.Test.Pos)
		return
	}
	ans, err := e.Answer(ctx, req)
	switch want := r.Test.Refused; {
	case err != nil:
		r.Err = diag.All(err)[0]
		r.Passed = want != "" && slices.ContainsFunc(diag.All(err), func(d *diag.Error) bool { return string(d.Code) == want })
	case want != "":
		r.Faults = append(r.Faults, "it is answered, and a refusal with "+want+" is expected")
	default:
		r.judge(ans)
		r.Passed = r.Diff.Empty() && len(r.Faults) == 0
	}
}

// asTest makes the request of a test.
func (e *Engine) asTest(t *semantic.Test, as string) (Request, error) {
	req := Request{Tool: ToolSQL, SQL: t.SQL, at: stillMoment, still: true}
	if t.As != "" {
		as = t.As
	}
	var ok bool
	if req.Subject, ok = e.Subject(as); !ok {
		return req, diag.New(diag.RequestSubject, "a test is asked as a subject of plumbline.cue, and %q is none", as).
			Suggest(semantic.Nearest(as, subjectIDs(e.Workspace()))...).WithHint("name one in the test, or by --as for tests that name none")
	}
	var err error
	if t.Now != "" {
		if req.at, err = time.Parse(time.RFC3339Nano, t.Now); err != nil {
			return req, diag.Wrap(err, diag.ModelInvalid, "the moment of a test is written as 2026-05-04T12:00:00Z")
		}
	}
	if t.SQL == "" {
		q, err := metric.Decode(t.Question)
		if err != nil {
			return req, err
		}
		req.Tool, req.Question = ToolMetrics, &q
	}
	req.Asked, err = json.Marshal(map[string]any{"test": t.Name, "sql": t.SQL, "question": req.Question})
	return req, err
}

func subjectIDs(ws *semantic.Workspace) []string {
	out := make([]string, len(ws.Subjects))
	for i, s := range ws.Subjects {
		out[i] = s.ID
	}
	return out
}

// judge holds an answer against the rows that are expected.
func (r *TestResult) judge(ans *Answer) {
	t := ans.Table
	r.Columns = t.Columns
	if t.Truncated && (ans.LimitSource != "question" || t.CutBy == "bytes") {
		r.Faults = append(r.Faults, "the answer has more rows than may be given, so it cannot be compared; narrow the question")
		return
	}
	want, faults := arranged(r.Test, t.Columns)
	if r.Faults = faults; len(faults) == 0 {
		r.Diff = rowdiff.Rows(t.Columns, want, t.Rows, r.Test.Ordered)
	}
}

// arranged gives the expected rows with their columns in the answer's order.
func arranged(t *semantic.Test, columns []shape.Column) ([][]any, []string) {
	if t.Columns == nil {
		return t.Expect, nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	order := t.Columns
	var faults []string
	for _, n := range order {
		if !slices.Contains(names, n) {
			faults = append(faults, "the answer has no column "+quoted(n))
		}
	}
	from := make([]int, len(names))
	for i, n := range names {
		if from[i] = slices.Index(order, n); from[i] < 0 {
			faults = append(faults, "the test does not name the column "+quoted(n)+" of the answer")
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(columns) || len(faults) == 0 && len(order) != len(columns) {
		faults = append(faults, "a column stands twice in the answer or in the test; leave columns out, or give each a name")
	}
	if len(faults) > 0 {
		return nil, faults
	}
	out := make([][]any, len(t.Expect))
	for i, row := range t.Expect {
		if out[i] = row; len(row) != len(order) {
			continue // is equal to no row, and is shown as it stands
		}
		out[i] = make([]any, len(columns))
		for c, at := range from {
			out[i][c] = row[at]
		}
	}
	return out, nil
}

func quoted(name string) string { return `"` + name + `"` }

// stillMoment is when tests are asked that name no moment: the same in every
// run, and early enough that nobody takes it for today.
var stillMoment = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// clockWords are the functions whose value is the moment at which they run.
var clockWords = []string{"now", "today", "ago", "get_current_timestamp", "transaction_timestamp",
	"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}

// still refuses what would read the real clock in a question that is asked at
// another moment. age of one argument counts up to today.
func (q *query) still() error {
	if !q.req.still {
		return nil
	}
	for _, f := range q.bound.Functions {
		if slices.Contains(clockWords, f.Name) || f.Name == "age" && f.Args == 1 {
			return diag.New(diag.UnsupportedAsk, "a test does not depend on the day it runs, and %s reads the clock", f.Name).
				WithHint("write the date; in a metric question a relative range counts from the test's own moment")
		}
	}
	return nil
}
