package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"plumbline/engine"
)

// settle is how long files must rest before they are read: editors write in several steps.
const settle = 200 * time.Millisecond

// watch notices changes of the configuration, the models and the policies.
type watch struct {
	*fsnotify.Watcher
	root string
	eng  *engine.Engine
}

// newWatch begins to watch: what changes from now on is noticed.
func newWatch(root string, eng *engine.Engine) (*watch, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	out := &watch{w, root, eng}
	if err := out.follow(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return out, nil
}

// follow watches every folder that there is; those that appear are added later, and
// one that is away for a moment is when it is back.
func (w *watch) follow() error {
	ws := w.eng.Workspace()
	if err := w.Add(w.root); err != nil {
		return err
	}
	for _, dir := range []string{ws.Models, ws.Policies} {
		if err := addTree(w.Watcher, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// run tells changed whenever a file has changed and all have rested, until ctx ends.
func (w *watch) run(ctx context.Context, changed chan<- struct{}) error {
	defer func() { _ = w.Close() }() // nothing is lost with it
	rest := time.NewTimer(settle)
	if !w.eng.Stale() { // else a change came before the watch
		rest.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-w.Events:
			if event.Op != fsnotify.Chmod && watched(event.Name) {
				rest.Reset(settle)
			}
		case <-w.Errors: //nolint:errcheck // Something was missed, and a look finds it whatever it was.
			rest.Reset(settle)
		case <-rest.C:
			if err := w.follow(); err != nil {
				return err
			}
			select {
			case changed <- struct{}{}:
			default: // a reload is due already
			}
		}
	}
}

// watched leaves out what editors and the audit log write beside the workspace's files.
// A folder counts, whatever its name.
func watched(name string) bool {
	switch filepath.Ext(name) {
	case ".cue", ".rego", ".json", ".yaml", "":
		return true
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// addTree watches the folders below dir, which may be a symbolic link to one.
func addTree(w *fsnotify.Watcher, dir string) error {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return w.Add(path)
	})
}
