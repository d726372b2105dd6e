package main

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"plumbline/engine"
)

// settle is how long files must rest before they are read: editors write in several steps.
const settle = 200 * time.Millisecond

// watch tells changed whenever a file of the configuration, the models or the
// policies has changed and rested, until ctx ends. It follows folders that appear.
func watch(ctx context.Context, root string, eng *engine.Engine, changed chan<- struct{}) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // nothing is lost with it
	follow := func() error {
		ws := eng.Workspace()
		if err := w.Add(root); err != nil {
			return err
		}
		for _, dir := range []string{ws.Models, ws.Policies} {
			if err := addTree(w, dir); err != nil {
				return err
			}
		}
		return nil
	}
	if err := follow(); err != nil {
		return err
	}
	rest := time.NewTimer(settle)
	rest.Stop()
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
			if err := follow(); err != nil {
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
func watched(name string) bool {
	switch filepath.Ext(name) {
	case ".cue", ".rego", ".json", "":
		return true
	}
	return false
}

func addTree(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return w.Add(path)
	})
}
