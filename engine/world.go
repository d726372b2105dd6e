package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/engine/audit"
	"plumbline/engine/duck"
	"plumbline/policy"
	"plumbline/policy/opa"
	"plumbline/policy/prove"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
	"plumbline/sources/files"
)

// Engine answers questions over one workspace. Make one with Open; it may be
// used by any number of goroutines until Close.
type Engine struct {
	root    string
	opts    Options
	audit   *audit.Log
	now     func() time.Time
	quota   *quota
	drawn   [32]byte // keys hash masks where the workspace has no key of its own
	current atomic.Pointer[world]
	reload  sync.Mutex
	closed  bool // no reload any more; guarded by reload
	guest   bool // the audit log is another engine's, which closes it
}

// Options are what a caller of Open may set; the zero value is what serve uses.
type Options struct {
	Now         func() time.Time // the clock; nil means time.Now
	AuditTo     string           // overrides the workspace's audit path
	Temp        string           // parent of the workers' folders; "" means os.TempDir
	Materialize bool             // hold the rows in tables of the workers instead of reading the files for each question
	SelfTest    bool             // run the self-test before the first question
}

// world is one revision of everything a question rests on: models, policy, and
// the workers that hold their views. A reload makes a new one; the old one
// closes when its last question has ended.
type world struct {
	ws          *semantic.Workspace
	catalog     *semantic.Catalog
	expressions *resolve.Expressions
	policy      *opa.Policy
	pool        *duck.Pool
	functions   map[string]bool // names that texts may call
	aggregates  map[string]bool // of those, the aggregates
	memo        prove.Memo
	seen        seen
	sharing     sharing
	marks       marks

	rows string // folder of rows that this world wrote for itself; "" when it reads the sources

	uses   sync.WaitGroup // questions in flight
	mu     sync.Mutex
	closed bool
}

// Open loads the workspace in root, starts its workers and proves them by the
// self-test. On an error nothing is left running.
func Open(ctx context.Context, root string, opts Options) (*Engine, error) {
	e := &Engine{root: root, opts: opts, now: opts.Now, quota: &quota{}}
	if e.now == nil {
		e.now = time.Now
	}
	_, _ = rand.Read(e.drawn[:]) // crypto/rand.Read never fails
	w, err := e.build(ctx)
	if err != nil {
		return nil, err
	}
	spec := w.ws.Audit
	if opts.AuditTo != "" {
		spec.Path = opts.AuditTo
	}
	if e.audit, err = audit.Open(spec); err != nil {
		return nil, errors.Join(err, w.close())
	}
	e.current.Store(w)
	if opts.SelfTest {
		if err := e.selfTest(ctx, frontDoor); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// Close waits for the questions in flight, ends the workers and the audit log.
// A reload under way ends first; none comes after.
func (e *Engine) Close() error {
	e.reload.Lock()
	defer e.reload.Unlock()
	e.closed = true
	err := e.current.Load().close()
	if e.guest {
		return err
	}
	return errors.Join(err, e.audit.Close())
}

// Reload builds a new world from the files and swaps it in. When that fails the
// old one stays and the error says why; so it does when the files change meanwhile,
// since what was read may be half of an edit. No question is dropped.
func (e *Engine) Reload(ctx context.Context) error {
	e.reload.Lock()
	defer e.reload.Unlock()
	if e.closed {
		return diag.New(diag.RequestCancelled, "the server has stopped")
	}
	w, err := e.build(ctx)
	if err != nil {
		return err
	}
	if e.changedSince(w) {
		return errors.Join(diag.New(diag.ConfigChanged, "what is loaded is one state of the files; they changed meanwhile"), w.close())
	}
	old := e.current.Swap(w)
	return old.close()
}

// Stale reports that the files are no longer those of the world in force, or cannot
// be read.
func (e *Engine) Stale() bool { return e.changedSince(e.current.Load()) }

// changedSince reports that a world would not be made of the same files again.
func (e *Engine) changedSince(w *world) bool {
	ws, catalog, err := load.Dir(e.root)
	if err != nil || catalog.Revision != w.catalog.Revision || !reflect.DeepEqual(ws, w.ws) {
		return true
	}
	revision, err := opa.Revision(ws.Policies)
	return err != nil || revision != w.policy.Revision()
}

// Workspace gives the configuration in force.
func (e *Engine) Workspace() *semantic.Workspace { return e.current.Load().ws }

// Pool gives the workers in force, for tests that stop one.
func (e *Engine) Pool() *duck.Pool { return e.current.Load().pool }

// world gives the current world and a function that lets it go.
func (e *Engine) world() (*world, func()) {
	for {
		w := e.current.Load()
		w.mu.Lock()
		if !w.closed {
			w.uses.Add(1)
			w.mu.Unlock()
			return w, w.uses.Done
		}
		w.mu.Unlock() // swapped out between Load and Lock: take the new one
		if e.current.Load() == w {
			return w, func() {} // the engine itself is closed; the workers refuse
		}
	}
}

func (w *world) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.uses.Wait()
	err := w.pool.Close()
	if w.rows != "" {
		err = errors.Join(err, os.RemoveAll(w.rows))
	}
	return err
}

// build loads and checks everything; what it starts it ends on an error.
func (e *Engine) build(ctx context.Context) (_ *world, err error) {
	ws, catalog, err := load.Dir(e.root)
	if err != nil {
		return nil, err
	}
	return e.under(ctx, ws, catalog, ws.Policies)
}

// under makes a world that is ruled by the bundle in a folder, and tries the bundle on
// every sample subject.
func (e *Engine) under(ctx context.Context, ws *semantic.Workspace, catalog *semantic.Catalog, dir string) (*world, error) {
	key, err := ws.Server.MaskKey.Read("server.mask_key")
	if err != nil {
		return nil, err
	}
	if key == "" {
		key = string(e.drawn[:])
	}
	var w *world // which the rules' masks are read by, once there is one
	rules, err := opa.Open(dir, opa.Options{MaskKey: []byte(key), Catalog: catalog, Expression: func(ctx context.Context, f *semantic.Field, expr string) ([]resolve.Span, error) {
		return resolve.CheckMask(ctx, w.pool, typer{w.pool}, f, expr)
	}})
	if err != nil {
		return nil, err
	}
	if w, err = e.furnish(ctx, ws, catalog, rules); err != nil {
		return nil, err
	}
	if err := rules.CheckSamples(ctx, sampleSubjects(ws), catalog); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// furnish opens workers over the sources of a workspace and checks the models' SQL.
func (e *Engine) furnish(ctx context.Context, ws *semantic.Workspace, catalog *semantic.Catalog, rules *opa.Policy) (*world, error) {
	relations, err := relations(ws, catalog)
	if err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, ws, relations, e.opts)
	if err != nil {
		return nil, err
	}
	expressions, err := resolve.CheckModel(ctx, pool, catalog)
	if err == nil {
		err = resolve.CheckTypes(ctx, typer{pool}, catalog)
	}
	if err == nil {
		err = resolve.CheckMasks(ctx, pool, typer{pool}, catalog)
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &world{ws: ws, catalog: catalog, expressions: expressions, policy: rules, pool: pool, functions: functionNames(), aggregates: functionNames(resolve.Aggregate)}, nil
}

// sampleSubjects are the subjects of the configuration; the policy bundle adds its own.
func sampleSubjects(ws *semantic.Workspace) []policy.Subject {
	out := make([]policy.Subject, 0, len(ws.Subjects))
	for _, s := range ws.Subjects {
		out = append(out, subjectOf(s))
	}
	return out
}

func subjectOf(s semantic.SubjectSpec) policy.Subject {
	roles, claims := s.Roles, s.Claims
	if roles == nil {
		roles = []string{}
	}
	if claims == nil {
		claims = map[string]any{}
	}
	return policy.Subject{ID: policy.SubjectID(s.ID), Roles: roles, Claims: claims}
}

// Subject gives the configured subject of that id; the zero subject and false
// when there is none.
func (e *Engine) Subject(id string) (policy.Subject, bool) {
	for _, s := range e.Workspace().Subjects {
		if s.ID == id {
			return subjectOf(s), true
		}
	}
	return policy.Subject{}, false
}

// relations are the entities' rows as the sources have them.
func relations(ws *semantic.Workspace, catalog *semantic.Catalog) ([]semantic.Storage, error) {
	var out []semantic.Storage
	var errs diag.List
	for _, e := range catalog.Entities {
		spec := ws.Source(e.Source.Source)
		if spec == nil {
			errs = append(errs, diag.New(diag.ModelUnknown, "entity %q names the source %q, which plumbline.cue does not declare", e.Name, e.Source.Source).At(e.Pos))
			continue
		}
		storage, err := files.Relation(*spec, e)
		if err != nil {
			errs = append(errs, diag.All(err)...)
			continue
		}
		out = append(out, storage)
	}
	return out, errs.Err()
}

func openPool(ctx context.Context, ws *semantic.Workspace, relations []semantic.Storage, opts Options) (*duck.Pool, error) {
	cfg := duck.Config{
		Relations: relations,
		Memory:    ws.Limits.Memory, Temp: ws.Limits.Temp, Threads: ws.Limits.Threads, Workers: ws.Limits.Workers,
		RequireSandbox: ws.Server.RequireOSSandbox, TempDir: opts.temp(), Materialize: opts.Materialize,
	}
	return duck.Open(ctx, cfg)
}

// temp is the parent of every folder that an engine makes for itself.
func (o Options) temp() string {
	if o.Temp == "" {
		return filepath.Join(os.TempDir(), "plumbline")
	}
	return o.Temp
}

// Summary is what check prints.
type Summary struct {
	Name      string `json:"name"`
	Entities  int    `json:"entities"`
	Metrics   int    `json:"metrics"`
	Model     string `json:"model_revision"`
	Policy    string `json:"policy_revision"`
	Sandboxed bool   `json:"sandboxed"` // the operating system confines the workers
}

// Summary describes the world in force.
func (e *Engine) Summary() Summary {
	w := e.current.Load()
	return Summary{Name: w.ws.Name, Entities: len(w.catalog.Entities), Metrics: len(w.catalog.Metrics), Model: w.catalog.Revision,
		Policy: w.policy.Revision(), Sandboxed: w.pool.Sandbox() != ""}
}

// functionNames are the reviewed functions, which alone a proved text may call; of
// the given kinds, or all.
func functionNames(kinds ...resolve.FunctionKind) map[string]bool {
	out := map[string]bool{}
	for _, f := range resolve.Functions() {
		if len(kinds) == 0 || slices.Contains(kinds, f.Kind) {
			out[f.Name] = true
		}
	}
	return out
}
