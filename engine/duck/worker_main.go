package duck

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// workerArg is the first argument of a worker process.
const workerArg = "worker"

// File descriptors of a worker: DuckDB may print on the standard streams.
const (
	requestFD = 3
	replyFD   = 4
)

// WorkerMain must be the first call of main, and of TestMain in packages that
// open a pool. In a worker process it serves until its pipe closes and then
// exits; in any other process it returns at once.
func WorkerMain() {
	if len(os.Args) != 2 || os.Args[1] != workerArg {
		return
	}
	in, out := os.NewFile(requestFD, "requests"), os.NewFile(replyFD, "replies")
	if in == nil || out == nil {
		fmt.Fprintln(os.Stderr, "a worker is started by the server, not by hand")
		os.Exit(2)
	}
	w := &worker{in: in, out: out, work: make(chan job)}
	go w.listen()
	if err := w.serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// worker is one worker process. Requests are handled one at a time; listen runs
// beside the handling so that a cancel reaches a running query.
type worker struct {
	in    io.Reader
	out   io.Writer
	work  chan job
	setup *setup
	main  *instance // the views
	twins *instance // the empty copies

	mu        sync.Mutex
	stop      context.CancelFunc // of the request in hand
	cancelled uint64             // id of the last cancelled request
}

type job struct {
	req     request
	payload []byte
}

// listen reads frames. When the server closes the pipe or sends what is no
// frame, the process ends, whatever DuckDB is doing.
func (w *worker) listen() {
	for {
		var req request
		payload, err := readFrame(w.in, &req, func() int64 { return frameLimit })
		if err != nil {
			w.end(err)
		}
		if req.Verb != verbCancel {
			w.work <- job{req, payload}
			continue
		}
		w.mu.Lock()
		w.cancelled = req.ID
		if w.stop != nil {
			w.stop()
		}
		w.mu.Unlock()
	}
}

// end wipes the worker's own folder and exits.
func (w *worker) end(cause error) {
	if s := w.setup; s != nil {
		entries, _ := os.ReadDir(s.Temp)
		for _, e := range entries {
			os.RemoveAll(filepath.Join(s.Temp, e.Name()))
		}
	}
	if cause == io.EOF { //nolint:errorlint // A torn frame wraps io.EOF and is a failure.
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, cause)
	os.Exit(1)
}

func (w *worker) serve() error {
	for j := range w.work {
		if err := writeFrame(w.out, reply{ID: j.req.ID, Taken: true}, nil); err != nil {
			return err
		}
		ctx, done := w.begin(j.req.ID)
		rep, payload := w.handle(ctx, j)
		done()
		rep.ID = j.req.ID
		if err := writeFrame(w.out, rep, payload); err != nil {
			return err
		}
	}
	return nil
}

// begin makes the context of a request; a cancel that came before it counts.
func (w *worker) begin(id uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop = cancel
	if w.cancelled == id {
		cancel()
	}
	return ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stop = nil
		cancel()
	}
}

func (w *worker) handle(ctx context.Context, j job) (reply, []byte) {
	texts, err := splitTexts(j.payload, j.req.Lens)
	if err != nil {
		return failed(failSetup, err.Error()), nil
	}
	ready := w.main != nil
	switch {
	case j.req.Verb == verbBuild && !ready && j.req.Setup != nil:
		return w.build(j.req.Setup), nil
	case j.req.Verb == verbServe && !ready && j.req.Setup != nil:
		return w.open(j.req.Setup), nil
	case j.req.Verb == verbParse && ready && len(texts) == 1:
		return w.parse(ctx, string(texts[0]))
	case j.req.Verb == verbForeign && ready && len(texts) == 1:
		return w.parsePostgres(string(texts[0]))
	case j.req.Verb == verbCheck && ready:
		return w.check(ctx, texts)
	case j.req.Verb == verbRun && ready && len(texts) == 1:
		return w.run(ctx, string(texts[0]), j.req.Rows, j.req.Bytes)
	case j.req.Verb == verbProbe && ready && len(texts) == 2:
		return w.probe(ctx, j.req.Probe, string(texts[0]), string(texts[1])), nil
	}
	return failed(failSetup, fmt.Sprintf("the worker does not expect %q", j.req.Verb)), nil
}

func failed(kind, raw string) reply { return reply{Fail: &failure{Kind: kind, Raw: raw}} }

// confine bounds the process: limits first, then the operating system's
// sandbox, both before DuckDB is opened, so that every thread it makes inherits them.
func (w *worker) confine(s *setup, write ...string) (sandbox string, err error) {
	w.setup = s
	if err := os.Chdir(s.Temp); err != nil {
		return "", err
	}
	if err := limitProcess(s); err != nil {
		return "", err
	}
	return sandboxProcess(append([]string{s.Dir}, s.ReadDirs...), write)
}

// open makes the worker ready to answer.
func (w *worker) open(s *setup) reply {
	sandbox, err := w.confine(s, s.Temp)
	if err != nil {
		return failed(failSetup, err.Error())
	}
	twins, err := openTwins(s)
	if err != nil {
		return failed(failSetup, err.Error())
	}
	main, err := openViews(s)
	if err != nil {
		twins.close()
		return failed(failSetup, err.Error())
	}
	w.main, w.twins = main, twins
	return reply{Sandbox: sandbox}
}
