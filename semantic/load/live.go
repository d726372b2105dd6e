package load

import (
	"reflect"
	"sync"
	"sync/atomic"

	"plumbline/semantic"
)

// Generation is one loaded state of a workspace. It never changes; whoever holds
// one keeps a whole catalog, whatever is loaded meanwhile.
type Generation struct {
	Number    int64 // from 1; greater is newer
	Workspace *semantic.Workspace
	Catalog   *semantic.Catalog
}

// Live holds the newest generation without mistakes. Any number of goroutines may
// read it while another reloads. Make one with Open.
type Live struct {
	root    string
	check   func(*semantic.Workspace, *semantic.Catalog) error
	current atomic.Pointer[Generation]
	loading sync.Mutex // one load at a time
}

// Open loads the workspace at root and keeps it. check completes and judges each
// new catalog before anyone sees it (the compiler checks SQL there); nil means
// that there is nothing more to check.
func Open(root string, check func(*semantic.Workspace, *semantic.Catalog) error) (*Live, error) {
	if check == nil {
		check = func(*semantic.Workspace, *semantic.Catalog) error { return nil }
	}
	l := &Live{root: root, check: check}
	if _, err := l.Reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// Current gives the newest generation; never nil.
func (l *Live) Current() *Generation { return l.current.Load() }

// Reload loads the workspace again. A load with mistakes changes nothing and
// gives them; one that finds everything as it was keeps the generation.
func (l *Live) Reload() (*Generation, error) {
	l.loading.Lock()
	defer l.loading.Unlock()
	w, c, err := Dir(l.root)
	if err != nil {
		return l.current.Load(), err
	}
	old := l.current.Load()
	if old != nil && old.Catalog.Revision == c.Revision && reflect.DeepEqual(old.Workspace, w) {
		return old, nil
	}
	if err := l.check(w, c); err != nil {
		return old, err
	}
	next := &Generation{Number: 1, Workspace: w, Catalog: c}
	if old != nil {
		next.Number = old.Number + 1
	}
	l.current.Store(next)
	return next, nil
}
