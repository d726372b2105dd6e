package load

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"plumbline/semantic"
	"plumbline/semantic/diag"
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

// settle is how long the files must rest before they are read: editors write in several steps.
const settle = 150 * time.Millisecond

// Watch reloads whenever plumbline.cue or a model file changes, and tells each
// outcome: a new generation, or the mistakes that keep the old one. It returns
// when ctx ends (nil), or when the folders cannot be watched.
func (l *Live) Watch(ctx context.Context, tell func(*Generation, error)) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return diag.Wrap(err, diag.ConfigInvalid, "the workspace cannot be watched")
	}
	defer func() { _ = w.Close() }() // nothing is lost with it
	if err := l.follow(w); err != nil {
		return err
	}
	rest := time.NewTimer(settle)
	rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-w.Events:
			if filepath.Ext(event.Name) == ".cue" && event.Op != fsnotify.Chmod {
				rest.Reset(settle)
			}
		case err := <-w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				rest.Reset(settle) // something was missed, so look
			}
		case <-rest.C:
			before := l.Current()
			now, err := l.Reload()
			if err == nil && now != before {
				err = l.follow(w)
			}
			if err != nil || now != before {
				tell(now, err)
			}
		}
	}
}

// follow watches the folders of the current workspace, and no others.
func (l *Live) follow(w *fsnotify.Watcher) error {
	now := l.Current().Workspace
	folders := []string{now.Root, now.Models}
	for _, folder := range folders {
		if err := w.Add(folder); err != nil {
			return diag.Wrap(err, diag.ConfigInvalid, "the folder %q cannot be watched", relative(now.Root, folder))
		}
	}
	for _, folder := range w.WatchList() {
		if !slices.Contains(folders, folder) {
			_ = w.Remove(folder) // it may be gone already
		}
	}
	return nil
}
