package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"plumbline/engine"
	"plumbline/mcp"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

type serveCmd struct {
	Stdio  bool   `help:"Serve one client on standard input and output, as the stdio subject."`
	Listen string `help:"host:port for HTTP; server.listen of plumbline.cue when left out."`
}

// Run serves until a signal or, over stdio, until the client leaves. SIGHUP and
// changed files load models and policies again; a faulty change is reported and
// the old ones stay.
func (c serveCmd) Run(e *env) (err error) {
	eng, err := e.open(engine.Options{SelfTest: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	ws := eng.Workspace()
	if !eng.Summary().Sandboxed {
		fmt.Fprintln(e.stderr, unconfined)
	}
	defer e.reloads(eng)()
	if c.Stdio {
		err := mcp.New(eng, version, ws.Server.StdioSubject).Stdio(e.ctx, e.stdin, nopCloser{e.stdout})
		if e.ctx.Err() != nil || errors.Is(err, io.EOF) {
			return nil // the client left or a signal came
		}
		return err
	}
	listen := c.Listen
	if listen == "" {
		listen = ws.Server.Listen
	}
	tokens, err := readTokens(ws)
	if err != nil {
		return err
	}
	web, err := listenHTTP(mcp.New(eng, version, ""), listen, tokens, ws.Server.Origins)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "plumbline serves %s at http://%s/mcp for %d subjects\n", ws.Name, web.addr, len(tokens))
	return web.until(e.ctx)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// reloads listens for SIGHUP and for changed files until stop is called.
func (e *env) reloads(eng *engine.Engine) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(e.ctx)
	changed := make(chan struct{}, 1)
	var running sync.WaitGroup
	unnoticed := func(err error) {
		if err != nil {
			fmt.Fprintf(e.stderr, "changes of files are not noticed, send SIGHUP instead: %v\n", err)
		}
	}
	if w, err := newWatch(e.cli.Dir, eng); err != nil {
		unnoticed(err)
	} else {
		running.Go(func() { unnoticed(w.run(ctx, changed)) })
	}
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
			case <-changed:
			}
			if err := eng.Reload(ctx); err != nil {
				fmt.Fprintf(e.stderr, "the change is not taken, the old models and policies stay:\n%v\n", err)
				continue
			}
			fmt.Fprintln(e.stderr, "models and policies loaded again")
		}
	})
	return func() { signal.Stop(hup); cancel(); running.Wait() }
}

// readTokens reads the secrets of all subjects that have one; a missing one
// names itself, never its value.
func readTokens(ws *semantic.Workspace) ([]mcp.Token, error) {
	var out []mcp.Token
	var errs diag.List
	for _, s := range ws.Subjects {
		secret, err := s.Token.Read(fmt.Sprintf("the token of subject %q", s.ID))
		if err != nil {
			errs = append(errs, diag.All(err)...)
		}
		if secret != "" {
			out = append(out, mcp.Token{Subject: s.ID, Secret: secret})
		}
	}
	if len(errs) == 0 && len(out) == 0 {
		errs = append(errs, diag.New(diag.ConfigInvalid, "no subject has a token, so nobody could ask over HTTP").WithHint("give subjects a token in plumbline.cue, or serve --stdio"))
	}
	return out, errs.Err()
}

// web is a listening HTTP server.
type web struct {
	addr   string
	server *http.Server
	failed chan error
}

func listenHTTP(srv *mcp.Server, listen string, tokens []mcp.Token, origins []string) (*web, error) {
	handler, err := srv.HTTP(tokens, origins)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, diag.Wrap(err, diag.ConfigInvalid, "the server cannot listen on %q", listen).WithHint("choose another address with --listen")
	}
	w := &web{addr: l.Addr().String(), failed: make(chan error, 1),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}}
	go func() { w.failed <- w.server.Serve(l) }()
	return w, nil
}

// until serves until ctx ends, then gives running calls five seconds.
func (w *web) until(ctx context.Context) error {
	select {
	case err := <-w.failed:
		return err
	case <-ctx.Done():
	}
	return w.close(ctx)
}

func (w *web) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return w.server.Shutdown(ctx)
}
