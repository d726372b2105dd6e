package load

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"plumbline/semantic/diag"
	"plumbline/semantic/schema"
)

// moduleText makes a workspace a CUE module of its own, so that the stock cue
// command finds the schema copy and needs no network.
const moduleText = `module: "plumbline.example/workspace@v0"
language: version: "v0.17.0"
`

// Init writes a workspace into dir: the given files (plumbline.cue, models and
// policies), a CUE module file, and the schema for the stock cue command. dir is
// made when it is not there. Init overwrites nothing: when any of its files
// exists it writes none and lists them all, with code config.invalid.
func Init(dir string, files fs.FS) error {
	texts, err := workspaceFiles(files)
	if err != nil {
		return diag.Wrap(err, diag.BugInternal, "the sample workspace cannot be read")
	}
	var taken diag.List
	for name := range texts {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); !errors.Is(err, fs.ErrNotExist) {
			taken = append(taken, diag.New(diag.ConfigInvalid, "a new workspace overwrites nothing, and the file exists").At(diag.Pos{File: name}))
		}
	}
	if len(taken) > 0 {
		return taken.Err()
	}
	for name, text := range texts {
		if err := writeNew(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return diag.Wrap(err, diag.ConfigInvalid, "the file cannot be written").At(diag.Pos{File: name})
		}
	}
	return nil
}

// workspaceFiles gives every file of a new workspace by its path with slashes.
func workspaceFiles(files fs.FS) (map[string][]byte, error) {
	texts := map[string][]byte{"cue.mod/module.cue": []byte(moduleText)}
	add := func(from fs.FS, below string) error {
		return fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			texts[path.Join(below, name)], err = fs.ReadFile(from, name)
			return err
		})
	}
	if err := add(schema.FS, schema.Dir); err != nil {
		return nil, err
	}
	return texts, add(files, ".")
}

// writeNew writes a file that must not exist yet.
func writeNew(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
