// Command security runs every security suite and prints one table: suite, cases,
// leaks, over-blocks. It fails when a suite fails, leaks, blocks what must answer,
// or says nothing, and when the table of docs/security.md is another one.
//
//	go run ./test/security [-write]
//
// A suite is a test or a command that prints lines of the form
//
//	security: NAME cases=N leaks=N overblocks=N
//
// The figures are the same on every machine, since the suites have fixed seeds.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// suite is one command and the names of the lines that it owes.
type suite struct {
	names   []string
	command []string
}

// test runs some tests of one package.
func test(pkg, run string, names ...string) suite {
	return suite{names, []string{"go", "test", "-count=1", "-v", "-timeout=20m", pkg, "-run", run}}
}

// suites, in the order of the table.
var suites = []suite{
	test("./test/twins", "TestBypass", "bypass"),
	test("./test/twins", "TestRandomQuestions", "random-twins"),
	test("./test/twins", "TestThrowingFunctions", "throwing"),
	test("./test/twins", "TestLimits", "limits"),
	test("./policy/prove", "TestTamperedTexts", "tampering"),
}

// row is one line of the table.
type row struct {
	name                     string
	cases, leaks, overblocks int
}

const (
	document = "docs/security.md"
	begin    = "<!-- figures:begin -->"
	end      = "<!-- figures:end -->"
)

func main() {
	write := flag.Bool("write", false, "write the table into "+document)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, write bool) error {
	started := time.Now()
	var rows []row
	var errs []error
	for _, s := range suites {
		at := time.Now()
		got, err := s.run(ctx)
		rows, errs = append(rows, got...), append(errs, err)
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", strings.Join(s.names, ", "), time.Since(at).Seconds())
	}
	table := render(rows)
	fmt.Fprintf(out, "%s\n%.0f s in all\n", table, time.Since(started).Seconds())
	return errors.Join(append(errs, inDocument(table, write))...)
}

// run gives the rows of a suite, also of one that failed.
func (s suite) run(ctx context.Context) ([]row, error) {
	cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	failed := cmd.Run()
	rows := read(text.String())
	errs := []error{}
	if failed != nil {
		errs = append(errs, fmt.Errorf("%s: %w\n%s", strings.Join(s.command, " "), failed, text.String()))
	}
	for _, name := range s.names {
		found := false
		for _, r := range rows {
			found = found || r.name == name
		}
		if !found {
			errs = append(errs, fmt.Errorf("%s: no line about %q", strings.Join(s.command, " "), name))
		}
	}
	for _, r := range rows {
		if r.leaks+r.overblocks > 0 || r.cases == 0 {
			errs = append(errs, fmt.Errorf("%s: %d cases, %d leaks, %d over-blocks", r.name, r.cases, r.leaks, r.overblocks))
		}
	}
	return rows, errors.Join(errs...)
}

var line = regexp.MustCompile(`security: (.+?) cases=(\d+) leaks=(\d+) overblocks=(\d+)`)

func read(text string) []row {
	var out []row
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		r := row{name: m[1]}
		for i, n := range []*int{&r.cases, &r.leaks, &r.overblocks} {
			*n, _ = strconv.Atoi(m[i+2])
		}
		out = append(out, r)
	}
	return out
}

func render(rows []row) string {
	var b strings.Builder
	b.WriteString("| suite | cases | leaks | over-blocks |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", r.name, r.cases, r.leaks, r.overblocks)
	}
	return b.String()
}

// inDocument compares the table with the one that the document quotes, or writes it.
func inDocument(table string, write bool) error {
	raw, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	quoted, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table between %s and %s", document, begin, end)
	}
	if strings.TrimSpace(quoted) == strings.TrimSpace(table) {
		return nil
	}
	if !write {
		return fmt.Errorf("%s quotes other figures; make security WRITE=1 writes these", document)
	}
	return os.WriteFile(document, []byte(before+begin+"\n"+table+end+after), 0o644)
}
