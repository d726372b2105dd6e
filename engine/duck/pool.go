package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Config says what workers hold and what each may take. Memory, Temp, Threads
// and Workers must be positive.
type Config struct {
	Relations      []semantic.Storage
	TempDir        string // parent of the pool's private folder; made when missing
	Memory         int64  // private bytes a worker may hold, at least MinMemory
	Temp           int64  // bytes of temp space per worker
	Threads        int    // threads per worker
	Workers        int    // questions that run at once
	Grace          time.Duration
	Materialize    bool   // copy the rows into tables when the pool opens, in place of views over the files
	RequireSandbox bool   // refuse to open where the operating system offers none
	Executable     string // "" means this program

	noDataLimit bool          // test of the watchdog: leave out RLIMIT_DATA
	reading     time.Duration // test of slow reading; 0 means readingTime
	wasteful    bool          // test of worn workers: leave out the allocators' settings
}

// MinMemory is the least memory in which a worker starts and answers.
const MinMemory = 256 << 20

const (
	defaultGrace = 250 * time.Millisecond
	setupTime    = 60 * time.Second // of a worker, or of the builder
	watchEvery   = 20 * time.Millisecond
	retryAfter   = 200 * time.Millisecond // between failing starts
	takingTime   = 2 * time.Second        // of a request by an idle worker, which needs microseconds
)

// Pool is a set of locked workers. It may be used by any number of goroutines;
// it satisfies sqlast.Parser and prove.Planner.
type Pool struct {
	cfg     Config
	dir     string
	setup   setup
	sandbox string
	rels    []semantic.Storage

	ctx    context.Context // done when the pool closes
	cancel context.CancelFunc
	wg     sync.WaitGroup // slots
	starts chan func()    // run on the one thread that starts processes
	ended  chan struct{}  // that thread's goroutine is gone
	runs   chan struct{}  // a token per question that runs
	free   chan struct{}  // a token per idle worker

	mu    sync.Mutex
	idle  []*process // last in, first out: a lone caller meets warm caches
	alive map[*process]bool
	seq   int
	calls sync.WaitGroup
}

// Open builds the databases and starts the workers. It returns when the first
// one is ready; the others follow. Codes: source.missing, source.corrupt (one
// per relation, all at once), config.sandbox, config.invalid, bug.internal.
// On an error nothing is left running and nothing is left on disk.
func Open(ctx context.Context, cfg Config) (*Pool, error) {
	p, err := newPool(cfg)
	if err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func newPool(cfg Config) (*Pool, error) {
	if cfg.Memory < MinMemory || cfg.Temp <= 0 || cfg.Threads <= 0 || cfg.Workers <= 0 {
		return nil, diag.New(diag.ConfigInvalid, "limits must be positive and memory at least %d MiB per worker", MinMemory>>20)
	}
	if cfg.Grace == 0 {
		cfg.Grace = defaultGrace
	}
	if cfg.reading == 0 {
		cfg.reading = readingTime
	}
	if cfg.Executable == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, diag.Wrap(err, diag.BugInternal, "the server cannot find its own program")
		}
		cfg.Executable = self
	}
	dir, err := privateDir(cfg.TempDir)
	if err != nil {
		return nil, diag.Wrap(err, diag.ConfigInvalid, "the folder for temporary files cannot be used")
	}
	db := filepath.Join(dir, "db") // apart from the workers' folders, which no other worker may read
	if err := os.Mkdir(db, 0o700); err != nil {
		return nil, diag.Wrap(err, diag.ConfigInvalid, "the folder for temporary files cannot be used")
	}
	p := &Pool{cfg: cfg, dir: dir, setup: newSetup(cfg, db), rels: cfg.Relations, starts: make(chan func()), ended: make(chan struct{}),
		runs: make(chan struct{}, cfg.Workers), free: make(chan struct{}, cfg.Workers+1), alive: map[*process]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	go p.starter()
	return p, nil
}

func newSetup(cfg Config, db string) setup {
	s := setup{Dir: db, Memory: cfg.Memory, TempBytes: cfg.Temp, Threads: cfg.Threads, Tables: cfg.Materialize, DataLimit: !cfg.noDataLimit}
	for _, r := range cfg.Relations {
		s.Files = append(s.Files, r.Files...)
		for _, f := range r.Files {
			s.ReadDirs = append(s.ReadDirs, filepath.Dir(f))
		}
	}
	slices.Sort(s.Files)
	s.Files = slices.Compact(s.Files)
	slices.Sort(s.ReadDirs)
	s.ReadDirs = slices.Compact(s.ReadDirs)
	return s
}

// FolderPattern names a folder that the next pool with the same parent removes
// when the process of the number is gone.
const FolderPattern = "plumbline-pool-%d-"

// privateDir makes the pool's folder and removes those of servers that were
// killed: spilled rows must not outlive them.
func privateDir(parent string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(parent, "plumbline-pool-*"))
	for _, d := range old {
		parts := strings.Split(filepath.Base(d), "-")
		if pid, err := strconv.Atoi(parts[2]); err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			os.RemoveAll(d)
		}
	}
	return os.MkdirTemp(parent, fmt.Sprintf(FolderPattern, os.Getpid()))
}

// starter starts all processes from one thread that lives as long as the pool:
// on Linux a worker dies with the thread that started it.
func (p *Pool) starter() {
	defer close(p.ended)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for f := range p.starts {
		f()
	}
}

func (p *Pool) start(ctx context.Context) error {
	if err := p.build(ctx); err != nil {
		return err
	}
	first := make(chan error, 1)
	p.wg.Add(1)
	go p.slot(first)
	select {
	case err := <-first:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return stopped(ctx)
	}
	for range p.cfg.Workers {
		p.wg.Add(1)
		go p.slot(nil)
	}
	return nil
}

// slot keeps one worker alive until the pool closes.
func (p *Pool) slot(first chan<- error) {
	defer p.wg.Done()
	for p.ctx.Err() == nil {
		started := time.Now()
		w, err := p.launch()
		if first != nil {
			first <- err
			if err != nil {
				return
			}
			first = nil
		}
		if err == nil {
			p.put(w)
			select {
			case <-w.gone:
			case <-p.ctx.Done():
			}
			p.drop(w)
			p.bury(w)
		}
		if time.Since(started) < retryAfter {
			select {
			case <-time.After(retryAfter):
			case <-p.ctx.Done():
			}
		}
	}
}

// launch starts a worker, hands it its setup and waits until it is locked.
func (p *Pool) launch() (*process, error) {
	ctx, cancel := context.WithTimeout(p.ctx, setupTime)
	defer cancel()
	w, rep, err := p.begin(ctx, verbServe, p.setup)
	if err != nil {
		return nil, err
	}
	if rep.Sandbox == "" && p.cfg.RequireSandbox {
		p.bury(w)
		return nil, diag.New(diag.ConfigSandbox, "the operating system offers no sandbox for workers").
			WithHint("use a Linux kernel with landlock, or set require_os_sandbox to false")
	}
	p.mu.Lock()
	p.sandbox = rep.Sandbox
	p.mu.Unlock()
	w.baseline, w.mapped = residentBytes(w.pid), mappedBytes(w.pid)
	return w, nil
}

// begin starts a process and makes the first call, which sets it up.
func (p *Pool) begin(ctx context.Context, verb string, s setup) (*process, reply, error) {
	p.mu.Lock()
	p.seq++
	s.Temp = filepath.Join(p.dir, fmt.Sprintf("worker-%d", p.seq))
	p.mu.Unlock()
	if err := os.Mkdir(s.Temp, 0o700); err != nil {
		return nil, reply{}, diag.Wrap(err, diag.BugInternal, "a worker's folder cannot be made")
	}
	var w *process
	var err error
	done := make(chan struct{})
	p.starts <- func() { w, err = startProcess(p.cfg.Executable, s.Temp, p.allocators()); close(done) }
	<-done
	if err != nil {
		os.RemoveAll(s.Temp)
		return nil, reply{}, diag.Wrap(err, diag.BugInternal, "a worker cannot be started")
	}
	p.mu.Lock()
	p.alive[w] = true
	p.mu.Unlock()
	rep, _, err := w.call(ctx, callLimits{memory: p.cfg.Memory, grace: p.cfg.Grace}, request{Verb: verb, Setup: &s}, nil)
	if err == nil && rep.Fail != nil {
		err = errors.New(rep.Fail.Raw)
	}
	if err != nil {
		p.bury(w)
		if ctx.Err() != nil {
			return nil, reply{}, stopped(ctx)
		}
		return nil, reply{}, diag.Wrap(fmt.Errorf("%w: %s", err, w.stderr.String()), diag.BugInternal, "a worker cannot be made ready")
	}
	return w, rep, nil
}

func (p *Pool) allocators() []string {
	if p.cfg.wasteful {
		return nil
	}
	return thrifty
}

// bury ends a process, waits for it and wipes its folder.
func (p *Pool) bury(w *process) {
	w.kill()
	w.wait()
	os.RemoveAll(w.temp)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.alive, w)
}

func (p *Pool) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	s := p.setup
	for _, r := range p.rels {
		rel := relation{Entity: string(r.Entity.Name), From: r.From}
		for _, f := range r.Entity.Fields {
			rel.Columns = append(rel.Columns, column{Name: string(f.Name), Source: f.Column, Type: f.Type.SQL()})
		}
		s.Relations = append(s.Relations, rel)
	}
	w, rep, err := p.begin(ctx, verbBuild, s)
	if err != nil {
		return err
	}
	p.bury(w)
	var errs diag.List
	for _, f := range rep.Broken {
		errs = append(errs, p.broken(f))
	}
	return errs.Err()
}

// Sandbox names the operating system's sandbox that confines the workers, ""
// when there is none.
func (p *Pool) Sandbox() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sandbox
}

// PIDs gives the process ids of the workers, for tests.
func (p *Pool) PIDs() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []int
	for w := range p.alive {
		out = append(out, w.pid)
	}
	slices.Sort(out)
	return out
}

// Close ends the questions in flight with request.cancelled, ends and awaits
// every process and goroutine, and wipes the pool's folder. It may be called
// more than once.
func (p *Pool) Close() error {
	p.mu.Lock()
	again := p.ctx.Err() != nil
	p.cancel()
	p.mu.Unlock()
	p.wg.Wait()
	p.calls.Wait()
	if !again {
		close(p.starts)
	}
	<-p.ended
	if err := os.RemoveAll(p.dir); err != nil {
		return diag.Wrap(err, diag.BugInternal, "the workers' folder cannot be removed")
	}
	return nil
}
