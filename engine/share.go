package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"

	"plumbline/engine/duck"
	"plumbline/semantic/diag"
)

// sharing lets equal proved texts that are asked at the same time run once. It
// stands below the policy: the text carries the rules, so equal texts see equal
// rows whoever asks. Nothing outlives the run; the zero value is ready.
type sharing struct {
	mu   sync.Mutex
	runs map[string]*sharedRun
}

// sharedRun is one run and those who wait for it or read its rows.
type sharedRun struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // callers that have neither left nor let go of the rows
	rows    *duck.Result
	err     error
}

// do gives the rows of key, running start unless an equal run is under way. The
// run goes on while anyone waits for it, until the deadline of the caller who
// began it: a caller whose ctx ends leaves, the last to leave cancels the run,
// and one with time left begins it again. The caller must call the function it
// gets, once, when the rows have been read. An error is a *diag.Error.
func (s *sharing) do(ctx context.Context, key string, start func(context.Context) (*duck.Result, error)) (*duck.Result, func(), error) {
	for {
		r, began := s.join(ctx, key, start)
		if err := r.await(ctx, began); err != nil {
			s.leave(key, r)
			return nil, nil, err
		}
		if r.err == nil {
			return r.rows, func() { s.leave(key, r) }, nil
		}
		s.leave(key, r)
		if code := diag.CodeOf(r.err); began || ctx.Err() != nil || code != diag.LimitTime && code != diag.RequestBusy {
			return nil, nil, r.err
		}
	}
}

// await waits for the end of a run or of ctx. Whoever began the run learns at
// the deadline from the run itself whether a worker was missing or too slow.
func (r *sharedRun) await(ctx context.Context, began bool) error {
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return diag.Wrap(context.Cause(ctx), diag.RequestCancelled, "the call was cancelled")
	}
	if began {
		<-r.done
		return nil
	}
	return diag.Wrap(context.Cause(ctx), diag.LimitTime, "the time limit passed").WithHint("ask for less: a shorter period, fewer groups")
}

// join gives the run of key, and whether the caller began it.
func (s *sharing) join(ctx context.Context, key string, start func(context.Context) (*duck.Result, error)) (*sharedRun, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[key]; r != nil {
		r.waiting++
		return r, false
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, ok := ctx.Deadline(); ok {
		cancel()
		own, cancel = context.WithDeadlineCause(context.WithoutCancel(ctx), deadline, errTime)
	}
	r := &sharedRun{done: make(chan struct{}), cancel: cancel, waiting: 1}
	if s.runs == nil {
		s.runs = map[string]*sharedRun{}
	}
	s.runs[key] = r
	go func() {
		rows, err := guarded(own, start)
		s.mu.Lock()
		defer s.mu.Unlock()
		r.rows, r.err = rows, err
		s.forget(key, r) // who comes now asks anew: the data may have changed
		if r.waiting == 0 && rows != nil {
			rows.Release()
		}
		r.cancel()
		close(r.done)
	}()
	return r, true
}

// guarded makes a panic of start an error, since nobody above this goroutine could.
func guarded(ctx context.Context, start func(context.Context) (*duck.Result, error)) (rows *duck.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			rows, err = nil, diag.Wrap(panicError{p, debug.Stack()}, diag.BugInternal, "something failed that no rule foresees")
		}
	}()
	return start(ctx)
}

// leave lets go of a run; the last one cancels it, or releases its rows.
func (s *sharing) leave(key string, r *sharedRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.waiting--; r.waiting > 0 {
		return
	}
	r.cancel()
	s.forget(key, r)
	if r.rows != nil {
		r.rows.Release()
	}
}

// forget takes r out of the table, if it is still the one there.
func (s *sharing) forget(key string, r *sharedRun) {
	if s.runs[key] == r {
		delete(s.runs, key)
	}
}
