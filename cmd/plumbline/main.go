// Command plumbline serves governed metrics beside raw SQL over MCP. This folder
// is the only one that names every floor: it wires them, reads flags and signals.
//
// Exit codes: 0 answered; 1 refused (the question, the model or the policy must
// change), or a test of the models failed, or diff --exit-code found a change; 2
// wrong usage, or revisions that diff cannot compare; 3 our failure (a source, the engine, a bug).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"plumbline/engine"
	"plumbline/engine/duck"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// version is set by the linker for releases.
var version = "0.1.0-dev"

// cli is the whole command line.
type cli struct {
	Dir  string `short:"C" default:"." type:"path" help:"Folder of plumbline.cue."`
	JSON bool   `name:"json" help:"Print JSON."`

	Demo    demoCmd    `cmd:"" help:"Write a sample workspace with generated data and show two people asking. Example: plumbline demo"`
	Init    initCmd    `cmd:"" help:"Write a workspace to start from. Example: plumbline init shop"`
	Serve   serveCmd   `cmd:"" help:"Serve MCP over HTTP or stdio. Example: plumbline serve -C shop --stdio"`
	Check   checkCmd   `cmd:"" help:"Check configuration, models, policies and sources. Example: plumbline check -C shop"`
	Test    testCmd    `cmd:"" help:"Run the tests that the models hold: questions with their expected answers. Example: plumbline test -C shop --run revenue"`
	Diff    diffCmd    `cmd:"" help:"Say which metrics change their definition, and their values on the data at hand, between two revisions of the models. Example: plumbline diff -C shop HEAD~1"`
	Query   queryCmd   `cmd:"" help:"Ask a metric question. Example: plumbline query -C shop --as ana revenue --by plan"`
	SQL     sqlCmd     `cmd:"" name:"sql" help:"Ask in SQL. Example: plumbline sql -C shop --as ana 'SELECT count(*) FROM orders'"`
	Explain explainCmd `cmd:"" help:"Show how a SQL or metric question is governed. Example: plumbline explain -C shop --as ana 'SELECT id FROM orders'"`
	Metrics metricsCmd `cmd:"" help:"List metrics. Example: plumbline metrics -C shop --as ana revenue"`
	Audit   auditCmd   `cmd:"" help:"Who may see what under which rule, and what was decided. Example: plumbline audit matrix -C shop"`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// env is what commands use of the process.
type env struct {
	ctx    context.Context
	cli    *cli
	stdin  io.ReadCloser
	stdout io.Writer
	stderr io.Writer
}

func main() {
	duck.WorkerMain() // does not return in a worker process
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it gives the exit code.
func run(ctx context.Context, args []string, stdin io.ReadCloser, stdout, stderr io.Writer) int {
	var c cli
	e := &env{ctx: ctx, cli: &c, stdin: stdin, stdout: stdout, stderr: stderr}
	code := -1
	parser, err := kong.New(&c, kong.Name("plumbline"), kong.UsageOnError(), kong.Writers(stdout, stderr),
		kong.Description("Governed metrics beside raw SQL, over MCP."), kong.Exit(func(n int) { code = n }))
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 3
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if code >= 0 { // --help has printed and asked to leave
		return code
	}
	if err != nil {
		fmt.Fprintf(stderr, "plumbline: %v\nrun plumbline --help for usage\n", err)
		return 2
	}
	switch err := k.Run(e); {
	case err == nil:
		return 0
	case errors.As(err, new(exitCode)) && !errors.As(err, new(*diag.Error)):
		var exit exitCode
		errors.As(err, &exit)
		return int(exit)
	case errors.As(err, new(trouble)):
		return max(2, e.fail(err))
	default:
		return e.fail(err)
	}
}

// exitCode ends a command that has said everything already.
type exitCode int

// Error is for whoever meets it elsewhere than in run.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// fail prints an error and gives its exit code.
func (e *env) fail(err error) int {
	all := diag.All(err)
	code := 1
	for _, d := range all {
		family, _, _ := strings.Cut(string(d.Code), ".")
		switch family {
		case "bug", "execute", "source":
			code = 3
		}
	}
	var w *warned
	var warnings diag.List
	if errors.As(err, &w) {
		warnings = w.warnings
	}
	if e.cli.JSON {
		out := map[string]any{"errors": failures(all)}
		if w != nil {
			out["warnings"] = failures(warnings)
		}
		_ = e.print(out)
		return code
	}
	e.warn(warnings)
	for _, d := range all {
		fmt.Fprintln(e.stderr, d.Error())
	}
	return code
}

// warned is an error with what was found beside it.
type warned struct {
	warnings diag.List
	error
}

// Unwrap gives the error.
func (w *warned) Unwrap() error { return w.error }

// failure is an error, or a warning, as JSON.
type failure struct {
	Code       string   `json:"code"`
	Message    string   `json:"message"`
	Where      string   `json:"where,omitempty"`
	Hint       string   `json:"hint,omitempty"`
	DidYouMean []string `json:"did_you_mean,omitempty"`
}

func failures(list diag.List) []failure {
	out := make([]failure, len(list))
	for i, d := range list {
		out[i] = failure{string(d.Code), d.Msg, d.Pos.String(), d.Hint, d.DidYouMean}
	}
	return out
}

func (e *env) print(v any) error {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// open starts an engine on the workspace of -C. The caller closes it.
func (e *env) open(opts engine.Options) (*engine.Engine, error) {
	return engine.Open(e.ctx, e.cli.Dir, opts)
}

// withSubject opens the engine and finds who asks: --as, or the stdio subject.
func (e *env) withSubject(as string, ask func(*engine.Engine, policy.Subject) error) (err error) {
	eng, err := e.open(engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if as == "" {
		as = eng.Workspace().Server.StdioSubject
	}
	s, ok := eng.Subject(as)
	if !ok {
		return diag.New(diag.RequestSubject, "plumbline.cue declares no subject %q", as).WithHint("give --as one of its subjects")
	}
	return ask(eng, s)
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(e *env) error {
	if e.cli.JSON {
		return e.print(map[string]string{"version": version})
	}
	_, err := fmt.Fprintln(e.stdout, "plumbline", version)
	return err
}
