package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Asker answers one question as the subject of a workspace. The error is a
// failure of the run itself; a refusal is an Answer with a code.
type Asker interface {
	SQL(ctx context.Context, subject, text string) (Answer, error)
	// Tool calls a tool with arguments as a client writes them.
	Tool(ctx context.Context, subject, name string, arguments []byte) (Answer, error)
	Close() error
}

// opener starts what answers for the workspace in dir.
type opener func(ctx context.Context, dir string, s setting) (Asker, error)

// subject is who asks in every line.
const subject = "tester"

// grouped is subject with minimum groups, and asks the lines about those.
const grouped = "grouped"

// seed makes the worlds.
const seed = 20260501

// finding is what one line came to in one setting.
type finding struct {
	line    line
	setting setting
	verdict verdict
	reason  string
	code    string // of the refusal; "" for an answer
}

// runner runs lines against both worlds of one setting.
type runner struct {
	setting setting
	a, b    Asker
	dirs    [2]string
	before  map[string]string // files of both workspaces
}

// start writes both worlds below root and opens them.
func start(ctx context.Context, root string, s setting, open opener) (*runner, error) {
	r := &runner{setting: s, dirs: [2]string{filepath.Join(root, "a"), filepath.Join(root, "b")}}
	world := full(seed)
	for i, tables := range [][]table{world, visible(world, seed)} {
		if err := writeWorkspace(ctx, r.dirs[i], s, tables); err != nil {
			return nil, err
		}
	}
	var err error
	if r.a, err = open(ctx, r.dirs[0], s); err != nil {
		return nil, err
	}
	if r.b, err = open(ctx, r.dirs[1], s); err != nil {
		return nil, err
	}
	r.before, err = r.files()
	return r, err
}

func (r *runner) close() error {
	if err := r.a.Close(); err != nil {
		return err
	}
	return r.b.Close()
}

// line asks both worlds, judges, and looks whether everything else still stands.
func (r *runner) line(ctx context.Context, l line) (finding, error) {
	f := finding{line: l, setting: r.setting}
	if _, ok := later[l.category]; ok {
		f.verdict = notYet
		return f, nil
	}
	a, b, err := r.ask(ctx, l)
	if err != nil {
		return f, err
	}
	f.code = a.Code
	f.verdict, f.reason = judge(l, a, b)
	if broken, err := r.broken(ctx); err != nil || broken != "" {
		f.verdict, f.reason = leak, "afterwards "+broken
		return f, err
	}
	return f, nil
}

// ask puts a line to both worlds: as SQL, or as the tool call that it spells.
func (r *runner) ask(ctx context.Context, l line) (a, b Answer, err error) {
	switch l.category {
	case "metric-api":
	case "k-anonymity":
		return r.twice(func(w Asker) (Answer, error) { return w.SQL(ctx, grouped, l.text) })
	default:
		return r.both(ctx, l.text)
	}
	name, arguments, err := toolCall(l.text)
	if err != nil {
		return a, b, err
	}
	return r.twice(func(w Asker) (Answer, error) { return w.Tool(ctx, subject, name, arguments) })
}

// both asks the two worlds the same SQL.
func (r *runner) both(ctx context.Context, text string) (a, b Answer, err error) {
	return r.twice(func(w Asker) (Answer, error) { return w.SQL(ctx, subject, text) })
}

// twice asks the two worlds at once.
func (r *runner) twice(ask func(Asker) (Answer, error)) (a, b Answer, err error) {
	var errA, errB error
	var wg sync.WaitGroup
	wg.Go(func() { a, errA = ask(r.a) })
	wg.Go(func() { b, errB = ask(r.b) })
	wg.Wait()
	if errA != nil {
		return a, b, errA
	}
	return a, b, errB
}

// broken says what a line has done to the server; "" for nothing: the next
// question works, and no file is new, gone or changed.
func (r *runner) broken(ctx context.Context) (string, error) {
	a, b, err := r.both(ctx, "SELECT count(*) AS n, sum(total_cents) AS s FROM orders")
	if err != nil {
		return "the server fails", err
	}
	if a.refused() || b.refused() || differ(a, b) != "" {
		return fmt.Sprintf("the next question gives %s and %s", outcome(a), outcome(b)), nil
	}
	now, err := r.files()
	if err != nil {
		return "the files are unreadable", err
	}
	if !maps.Equal(r.before, now) {
		return "a file of the workspace is new, gone or changed", nil
	}
	return "", nil
}

// files lists the files of both workspaces with size and time, without the
// server's own records.
func (r *runner) files() (map[string]string, error) { return filesIn(r.dirs[:]...) }

func filesIn(dirs ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				if d.Name() == "audit" || d.Name() == "temp" {
					return fs.SkipDir
				}
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			out[p] = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// early are the families of codes of stages that come before rules and rows.
var early = []string{"request.", "parse.", "resolve.", "unsupported.", "metric.", "limit.text", "limit.tree"}

// once says that a line need not be asked in further settings: its end is a limit,
// or it was refused before anything that differs between settings was looked at.
func once(f finding) bool {
	return unbounded(f.line) || slices.ContainsFunc(early, func(family string) bool { return strings.HasPrefix(f.code, family) })
}

// runAll runs the lines in the first setting, those that could end otherwise in
// the others, and gives the findings in that order.
func runAll(ctx context.Context, root string, lines []line, in []setting, open opener) ([]finding, error) {
	var out []finding
	for _, s := range in {
		r, err := start(ctx, filepath.Join(root, strings.ReplaceAll(s.String(), "/", "-")), s, open)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s, err)
		}
		var more []line
		for _, l := range lines {
			f, err := r.line(ctx, l)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", s, l.id, err)
			}
			out = append(out, f)
			if !once(f) {
				more = append(more, l)
			}
		}
		lines = more
		if err := r.close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// worst is the order in which a line's verdicts count.
var worst = []verdict{leak, block, notYet, pass}

// report prints the counts per category, each line by its worst setting, and
// every finding that is no pass. It gives the number of leaks and over-blocks.
func report(w io.Writer, findings []finding) (leaks, blocks int) {
	byLine := map[string]finding{}
	for _, f := range findings {
		old, ok := byLine[f.line.id]
		if !ok || slices.Index(worst, f.verdict) < slices.Index(worst, old.verdict) {
			byLine[f.line.id] = f
		}
	}
	counts, categories := map[string]map[verdict]int{}, []string{}
	for _, f := range byLine {
		if counts[f.line.category] == nil {
			counts[f.line.category] = map[verdict]int{}
			categories = append(categories, f.line.category)
		}
		counts[f.line.category][f.verdict]++
		counts[f.line.category]["lines"]++
		if f.code != "" {
			counts[f.line.category]["refused"]++
		}
	}
	slices.Sort(categories)
	total := map[verdict]int{}
	columns := []verdict{"lines", pass, leak, block, notYet, "refused"}
	fmt.Fprintf(w, "%-20s %8s %8s %8s %10s %8s %8s\n", "category", "lines", pass, leak, block, notYet, "refused")
	row := func(name string, c map[verdict]int) {
		fmt.Fprintf(w, "%-20s %8d %8d %8d %10d %8d %8d\n", name, c[columns[0]], c[columns[1]], c[columns[2]], c[columns[3]], c[columns[4]], c[columns[5]])
	}
	for _, c := range categories {
		row(c, counts[c])
		for v, n := range counts[c] {
			total[v] += n
		}
	}
	row("all", total)
	for _, f := range findings {
		if f.verdict == leak || f.verdict == block {
			fmt.Fprintf(w, "%s: %s %s (%s): %s\n  %s\n", f.verdict, f.line.category, f.line.id, f.setting, f.reason, short(f.line.text))
		}
	}
	return total[leak], total[block]
}

func short(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 200 {
		return text[:200] + "..."
	}
	return text
}

// temp gives a folder for the worlds and a function that removes it.
func temp() (string, func(), error) {
	dir, err := os.MkdirTemp("", "twins")
	return dir, func() { os.RemoveAll(dir) }, err
}
