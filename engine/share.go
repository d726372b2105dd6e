package engine

import (
	"context"
	"sync"

	"plumbline/engine/duck"
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
// run goes on while anyone waits for it: a caller whose ctx ends leaves, and the
// last to leave cancels it. The caller must call the function it gets, once,
// when the rows have been read.
func (s *sharing) do(ctx context.Context, key string, start func(context.Context) (*duck.Result, error)) (*duck.Result, func(), error) {
	r := s.join(ctx, key, start)
	select {
	case <-r.done:
	case <-ctx.Done():
		s.leave(key, r)
		return nil, nil, context.Cause(ctx)
	}
	if r.err != nil {
		s.leave(key, r)
		return nil, nil, r.err
	}
	return r.rows, func() { s.leave(key, r) }, nil
}

func (s *sharing) join(ctx context.Context, key string, start func(context.Context) (*duck.Result, error)) *sharedRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[key]; r != nil {
		r.waiting++
		return r
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &sharedRun{done: make(chan struct{}), cancel: cancel, waiting: 1}
	if s.runs == nil {
		s.runs = map[string]*sharedRun{}
	}
	s.runs[key] = r
	go func() {
		rows, err := start(own)
		s.mu.Lock()
		defer s.mu.Unlock()
		r.rows, r.err = rows, err
		s.forget(key, r) // who comes now asks anew: the data may have changed
		if r.waiting == 0 && rows != nil {
			rows.Release()
		}
		close(r.done)
	}()
	return r
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
