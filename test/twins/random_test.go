package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine"
)

// questionCount is how many random questions are asked; QUESTIONS in the environment
// asks for another number, and RANDOM_SEEDS for others than the fixed ones.
func questionCount(t *testing.T) (count int, first uint64) {
	count, first = 3000, 20240331
	if text := os.Getenv("QUESTIONS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		count = n
	}
	if os.Getenv("RANDOM_SEEDS") != "" {
		first = rand.Uint64()
	}
	t.Logf("questions from seed %d", first)
	return count, first
}

// asked is one random question: who asks what, over which storage.
type asked struct {
	shape, text string
	explain     bool
	storage     int
	features    []string
}

// randomQuestion draws one question.
func randomQuestion(calls *callTable, seed uint64) asked {
	g := &generator{r: rand.New(rand.NewPCG(seed, 3)), calls: calls}
	q := asked{shape: g.pick(shapes...), storage: g.r.IntN(len(storages)), explain: g.chance(5), text: g.question()}
	q.features = slices.Sorted(maps.Keys(g.features))
	return q
}

// tally counts what questions of one feature came to.
type tally struct{ answered, refused, unordered, limited, differ, ours int }

// TestRandomQuestions asks random questions in both worlds of every storage: the
// same rows, columns and errors, or it is a leak.
func TestRandomQuestions(t *testing.T) {
	calls, twins := newCallTable(t), openTwins(t)
	count, first := questionCount(t)
	questions := make([]asked, count)
	for i := range questions {
		questions[i] = randomQuestion(calls, first+uint64(i))
	}
	all, counts, codes := &tally{}, map[string]*tally{}, map[string]int{}
	for i, got := range askAll(twins, questions) {
		q := questions[i]
		if got.leak != "" && all.differ < 5 {
			small := twins[q.storage].reduce(q)
			t.Errorf("%s, rule %q: %s\n%s\nshorter: %s", storages[q.storage], q.shape, got.leak, q.text, small.text)
		}
		all.add(got)
		codes[got.a.Code]++
		for _, f := range append(q.features, "storage "+storages[q.storage], "rule "+q.shape) {
			if counts[f] == nil {
				counts[f] = &tally{}
			}
			counts[f].add(got)
		}
	}
	t.Log("\n" + tallies(counts))
	t.Logf("refused with %v", codes)
	t.Logf("answered %d, of them %d in an order that is not said; refused %d; ended by a limit %d", all.answered+all.unordered, all.unordered, all.refused, all.limited)
	t.Logf("security: random-twins cases=%d leaks=%d overblocks=%d", count, all.differ, all.ours)
	require.Zero(t, all.differ)
	require.LessOrEqual(t, all.ours, count/100)
	require.Greater(t, all.answered, count*6/10, "most questions run")
	require.LessOrEqual(t, all.limited, count/50)
	findLeaks(t, calls, twins)
}

// findLeaks asks as subjects whose policy lets too much through:
// other rows, or values without their masks. The worlds must differ.
func findLeaks(t *testing.T, calls *callTable, twins []twinEngines) {
	t.Helper()
	for wide, least := range map[string]int{"allrows": 30, "unmasked": 5} {
		questions := make([]asked, 200)
		for i := range questions {
			questions[i] = randomQuestion(calls, uint64(i))
			questions[i].shape = wide
		}
		answered, found := 0, 0
		for _, got := range askAll(twins, questions) {
			if got.leak != "" {
				found++
			}
			if !got.a.refused() {
				answered++
			}
		}
		t.Logf("%s: %d of %d answers", wide, found, answered)
		require.Greater(t, found*100, answered*least, wide)
	}
}

// reduce takes tokens out of a question as long as the worlds still differ.
func (w twinEngines) reduce(q asked) asked {
	for size := len(sqlast.Tokens(q.text)) / 2; size > 0; {
		shorter, found := q, false
		for at := 0; !found && at+size <= len(sqlast.Tokens(q.text)); at++ {
			tokens := sqlast.Tokens(q.text)
			shorter.text = q.text[:tokens[at].Start] + q.text[tokens[at+size-1].End:]
			found = w.compare(shorter).leak != ""
		}
		if found {
			q = shorter
		} else {
			size /= 2
		}
	}
	return q
}

// compared is what a question came to in both worlds.
type compared struct {
	leak string // in what the worlds differ; "" in nothing
	a    Answer
	// unordered answers depend on an order that the text does not say.
	unordered, limited bool
	ours               bool // a rule of our own broke
}

func (c *tally) add(got compared) {
	if got.ours {
		c.ours++
	}
	switch {
	case got.leak != "":
		c.differ++
	case got.limited:
		c.limited++
	case got.a.refused():
		c.refused++
	case got.unordered:
		c.unordered++
	default:
		c.answered++
	}
}

// askAll asks the questions, those of each storage one after the other.
func askAll(twins []twinEngines, questions []asked) []compared {
	out := make([]compared, len(questions))
	var wg sync.WaitGroup
	for s := range twins {
		wg.Go(func() {
			for i, q := range questions {
				if q.storage == s {
					out[i] = twins[s].compare(q)
				}
			}
		})
	}
	wg.Wait()
	return out
}

// compare asks both worlds one question. Worlds that differ are asked twice more: what
// depends on hidden rows differs each time, what a moment brings, such as a worker
// that is gone or another order of adding, does not.
func (w twinEngines) compare(q asked) compared {
	out := w.once(q)
	for range 2 {
		if out.leak != "" {
			out = w.once(q)
		}
	}
	return out
}

func (w twinEngines) once(q asked) compared {
	var a, b told
	var wg sync.WaitGroup
	wg.Go(func() { a = w.a.whole(q) })
	wg.Go(func() { b = w.b.whole(q) })
	wg.Wait()
	out := compared{a: a.Answer, unordered: a.unordered}
	switch {
	case strings.HasPrefix(a.Code, "limit.") || strings.HasPrefix(b.Code, "limit."):
		out.limited = a.Code != b.Code || a.Code == "limit.time" || a.Code == "limit.memory"
		if out.limited {
			return out
		}
	}
	out.ours = strings.HasPrefix(a.Code, "bug.")
	out.leak = differFully(a, b)
	if word := telling(line{text: q.text}, a.Answer); out.leak == "" && word != "" {
		out.leak = fmt.Sprintf("the answer names %q", word)
	}
	return out
}

// told is an answer with what is told beside the rows.
type told struct {
	Answer
	beside    string
	unordered bool
}

// whole asks a question and gives all that the subject is told.
func (s server) whole(q asked) told {
	if q.explain {
		return s.explained(q)
	}
	who, _ := s.engine.Subject(q.shape)
	raw, _ := json.Marshal(map[string]string{"sql": q.text}) // text always marshals
	ans, err := s.engine.Answer(context.Background(), engine.Request{Tool: engine.ToolSQL, Subject: who, SQL: q.text, Asked: raw, ShowSQL: true})
	if err != nil {
		return told{Answer: refusal(err)}
	}
	got, err := answerOf(ans)
	if err != nil {
		return told{Answer: refusal(err)}
	}
	out := told{Answer: got, unordered: got.Cut}
	for _, w := range ans.Warnings {
		out.unordered = out.unordered || strings.Contains(w, "takes rows in an order that may change")
	}
	raw, _ = json.Marshal([]any{ans.Applied, ans.Warnings, ans.SQL, ans.LimitSource})
	out.beside = string(raw)
	return out
}

func (s server) explained(q asked) told {
	who, _ := s.engine.Subject(q.shape)
	raw, _ := json.Marshal(map[string]string{"sql": q.text}) // text always marshals
	ans, err := s.engine.Answer(context.Background(), engine.Request{Tool: engine.ToolExplain, Subject: who, SQL: q.text, Asked: raw})
	if err != nil {
		return told{Answer: refusal(err)}
	}
	raw, err = json.Marshal(ans.Explain)
	if err != nil {
		return told{Answer: refusal(err)}
	}
	return told{beside: string(raw)}
}

// differFully says in what two answers differ. What depends on an order that the
// text does not say has the same columns and no more.
func differFully(a, b told) string {
	switch {
	case a.Error != b.Error:
		return differ(a.Answer, b.Answer)
	case a.beside != b.beside:
		return fmt.Sprintf("%s is told beside the rows against %s", a.beside, b.beside)
	case a.unordered && !a.refused() && !b.refused():
		if !slices.Equal(a.Columns, b.Columns) {
			return fmt.Sprintf("columns %q against %q", a.Columns, b.Columns)
		}
		return ""
	}
	reason := differ(a.Answer, b.Answer)
	if reason == "row values" && nearly(a.Rows, b.Rows) {
		return ""
	}
	return reason
}

// nearly compares rows whose doubles may differ in the last digits, since sums
// depend on the order of what is added.
func nearly(a, b [][]string) bool {
	x, y := rounded(a), rounded(b)
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

func rounded(rows [][]string) []string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = make([]string, len(row))
		for j, cell := range row {
			out[i][j] = cell
			if f, err := strconv.ParseFloat(cell, 64); err == nil && strings.ContainsAny(cell, ".e") {
				if math.Abs(f) < 1e-9 {
					f = 0
				}
				out[i][j] = strconv.FormatFloat(f, 'e', 8, 64)
			}
		}
	}
	return sorted(out)
}

// tallies prints the tallies of all features but the single functions.
func tallies(counts map[string]*tally) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %9s %9s %9s\n", "feature", "answered", "refused", "different")
	functions, ran := 0, 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		if strings.HasPrefix(name, "function ") {
			functions++
			if c.answered+c.unordered > 0 {
				ran++
			}
			continue
		}
		fmt.Fprintf(&b, "%-24s %9d %9d %9d\n", name, c.answered+c.unordered, c.refused, c.differ)
	}
	fmt.Fprintf(&b, "%d functions called, %d of them in answers\n", functions, ran)
	return b.String()
}

// TestStatisticsTellNothing asks functions that DuckDB, when it plans, would compute
// on the smallest and the largest value of a column, where they fail.
func TestStatisticsTellNothing(t *testing.T) {
	twins := openTwins(t)
	var questions []asked
	for s := range twins {
		for _, call := range []string{"epoch_ns(o.at)", "epoch_ns(o.day)"} {
			questions = append(questions, asked{shape: "equal", storage: s, text: "SELECT " + call + " AS c1 FROM orders AS o"})
		}
	}
	for i, got := range askAll(twins, questions) {
		require.Empty(t, got.leak, questions[i].text)
		require.Empty(t, got.a.Error, questions[i].text)
	}
}
