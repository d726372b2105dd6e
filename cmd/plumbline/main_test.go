package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plumbline/engine/duck"
)

func TestMain(m *testing.M) {
	duck.WorkerMain() // does not return in a worker process
	testscript.Main(m, map[string]func(){
		"plumbline": func() { os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// sampleScale keeps the scripts' data small: 400 customers, 10,000 orders.
const sampleScale = "0.02"

// TestScripts runs the program as a user does. One sample workspace is written
// once; each script gets its path as $SHOP and must not change it.
func TestScripts(t *testing.T) {
	shop := filepath.Join(t.TempDir(), "shop")
	var out strings.Builder
	if code := run(context.Background(), []string{"demo", shop, "--write", "--scale", sampleScale}, nil, &out, &out); code != 0 {
		t.Fatalf("demo --write gave %d:\n%s", code, out.String())
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE_GOLDEN") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SHOP", shop)
			program, _, _ := strings.Cut(env.Getenv("PATH"), string(os.PathListSeparator))
			env.Setenv("PLUMBLINE", filepath.Join(program, "plumbline")) // for a script without PATH
			env.Setenv("SCALE", sampleScale)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"steady": steady},
	})
}

var unsteady = regexp.MustCompile(`q[0-9a-f]{18}`)

// revisions are the hashes of models and policies.
var revisions = regexp.MustCompile("(policy|models|_revision\":|->) ([\"`]?)[0-9a-f]{12,64}|`[0-9a-f]{12}`")

// steady FILE writes FILE again with what differs from run to run, or changes with
// every edit of the sample, replaced: query ids, revisions.
func steady(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := unsteady.ReplaceAllString(ts.ReadFile(name), "q")
		text = revisions.ReplaceAllString(text, "$1 ${2}r")
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}
