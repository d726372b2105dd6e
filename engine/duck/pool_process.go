package duck

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// process is one worker as the server sees it. One call at a time.
type process struct {
	cmd      *exec.Cmd
	pid      int
	temp     string
	in       *os.File // requests
	out      *os.File // replies
	replies  chan message
	gone     chan struct{} // closed when no reply can come any more
	limit    atomic.Int64  // bytes the next reply's payload may have
	killed   atomic.Bool
	last     uint64 // id of the last request
	baseline int64  // private memory when it was ready
	mapped   int64  // what RLIMIT_DATA counts, when it was ready
	grown    int64  // and by how much that had grown when its last call ended
	stderr   words
	reap     sync.Once
}

type message struct {
	rep     reply
	payload []byte
}

// Why a call ended without a reply.
var (
	errLost   = errors.New("the worker ended")
	errUnsent = errors.New("the worker ended before it had the request")
	errGrown  = errors.New("the worker grew past its memory")
	errGrace  = errors.New("the worker did not stop in its grace")
	errStray  = errors.New("the worker answered another request")
	errWedged = errors.New("the worker does not read")
)

// thrifty makes the two allocators of a worker give back what they freed.
// RLIMIT_DATA counts what is mapped, touched or not: by default 250 small joins
// map 500 MB, with these settings 90 MB, and later ones no more.
var thrifty = []string{
	"MALLOC_ARENA_MAX=2", "MALLOC_MMAP_THRESHOLD_=1048576", "MALLOC_TRIM_THRESHOLD_=1048576", // glibc
	"DUCKDB_JE_MALLOC_CONF=retain:false,dirty_decay_ms:500", // jemalloc, DuckDB's own
}

// startProcess starts a worker with nothing of the server's environment.
func startProcess(executable, temp string, allocators []string) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return nil, err
	}
	w := &process{temp: temp, in: in, out: out, replies: make(chan message, 2), gone: make(chan struct{})}
	w.cmd = exec.Command(executable, workerArg)
	w.cmd.Dir = temp
	w.cmd.Env = append([]string{"TZ=UTC", "HOME=" + temp, "TMPDIR=" + temp, "GOTRACEBACK=none"}, allocators...)
	w.cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	w.cmd.Stderr = &w.stderr
	w.cmd.WaitDelay = time.Second
	isolate(w.cmd)
	err = w.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	w.pid = w.cmd.Process.Pid
	go w.listen()
	return w, nil
}

// listen passes replies on. It ends when the worker does, or when it sends what
// is no frame or larger than was asked for; then it is killed.
func (w *process) listen() {
	defer close(w.gone)
	for {
		var m message
		var err error
		if m.payload, err = readFrame(w.out, &m.rep, w.limit.Load); err != nil {
			w.kill()
			return
		}
		select {
		case w.replies <- m:
		default: // nobody asked
			w.kill()
			return
		}
	}
}

// kill ends the process at once. It does not wait.
func (w *process) kill() {
	w.killed.Store(true)
	w.cmd.Process.Kill()
}

// wait reaps a killed process and returns when its goroutines are gone.
func (w *process) wait() {
	w.reap.Do(func() {
		w.cmd.Wait()
		w.in.Close()
		w.out.Close()
		<-w.gone
	})
}

// callLimits bound one call.
type callLimits struct {
	payload int64 // bytes of the reply
	memory  int64 // private bytes of the worker
	grace   time.Duration
	taking  time.Duration // until the request is in hand; 0 for a worker that only starts
}

// call sends a request and waits for its reply. When ctx is done the worker is
// told to stop; when it does not within its grace, or grows past its memory, it
// is killed. A reply that comes in the grace is still given, so that the worker
// can be used again; the caller looks at ctx first.
func (w *process) call(ctx context.Context, lim callLimits, req request, payload []byte) (reply, []byte, error) {
	w.last++
	req.ID = w.last
	w.limit.Store(lim.payload)
	if err := w.send(lim, req, payload); err != nil {
		w.kill()
		return reply{}, nil, err
	}
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	done := ctx.Done()
	var grace, taking <-chan time.Time
	if lim.taking > 0 {
		taking = time.After(lim.taking)
	}
	taken := false
	for {
		select {
		case m := <-w.replies:
			if m.rep.ID != req.ID {
				w.kill()
				return reply{}, nil, errStray
			}
			if m.rep.Taken {
				taken, taking = true, nil
				continue
			}
			return m.rep, m.payload, nil
		case <-w.gone:
			if !taken && len(w.replies) == 0 {
				return reply{}, nil, errUnsent
			}
			return reply{}, nil, errLost
		case <-taking: // an idle worker takes a request at once: this one stands still
			w.kill()
			return reply{}, nil, errUnsent
		case <-done:
			done = nil
			grace = time.After(lim.grace)
			if w.send(lim, request{ID: req.ID, Verb: verbCancel}, nil) != nil {
				w.kill()
			}
		case <-grace:
			w.kill()
			return reply{}, nil, errGrace
		case <-watch.C:
			if lim.memory > 0 && residentBytes(w.pid) > lim.memory {
				w.kill()
				return reply{}, nil, errGrown
			}
		}
	}
}

// send writes one frame. A worker reads at all times, so that a frame that does
// not go through in a second means that it is stuck.
func (w *process) send(lim callLimits, req request, payload []byte) error {
	w.in.SetWriteDeadline(time.Now().Add(lim.grace + time.Second))
	err := writeFrame(w.in, req, payload)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errWedged
	}
	if err != nil {
		return errUnsent
	}
	return nil
}

// ended reports whether the process is of no more use.
func (w *process) ended() bool {
	if w.killed.Load() {
		return true
	}
	select {
	case <-w.gone:
		return true
	default:
		return false
	}
}

// words keeps the beginning of what a worker prints: it has nothing to say but
// why it ends, and says that first.
type words struct {
	mu  sync.Mutex
	buf []byte
}

const maxWords = 4 << 10

// Write never fails.
func (t *words) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[:min(len(p), maxWords-len(t.buf))]...)
	return len(p), nil
}

func (t *words) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// outOfMemory reports whether the worker's last words are about memory: the Go
// runtime and C++ both end the process when RLIMIT_DATA refuses them memory or
// the stack of a thread.
func (t *words) outOfMemory() bool {
	s := strings.ToLower(t.String())
	for _, word := range []string{"out of memory", "cannot allocate memory", "bad_alloc", "pthread_create failed", "failed to create new os thread"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}
