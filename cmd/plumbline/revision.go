package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// revision is a workspace whose models are compared: a folder, as it stands or
// as git keeps it.
type revision struct {
	name   string // as the user wrote it
	folder string
	remove func() error
}

// revisionOf finds what the user names: a folder that holds a workspace, or else
// a revision of the repository that root lies in, whose CUE files are written to
// a temporary folder. The working tree is never touched. Code: config.revision.
func revisionOf(ctx context.Context, root, name string) (*revision, error) {
	if _, err := os.Stat(filepath.Join(name, load.ConfigFile)); err == nil {
		return &revision{name, name, func() error { return nil }}, nil
	}
	files, err := modelsAt(ctx, root, name)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "plumbline-revision-")
	if err != nil {
		return nil, diag.Wrap(err, diag.ConfigRevision, "the models of %q cannot be written to a temporary folder", name)
	}
	r := &revision{name, folder, func() error { return os.RemoveAll(folder) }}
	for _, f := range files {
		to := filepath.Join(folder, filepath.FromSlash(f.path))
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			err = os.WriteFile(to, f.text, 0o600)
		}
		if err != nil {
			return nil, errors.Join(diag.Wrap(err, diag.ConfigRevision, "the models of %q cannot be written to a temporary folder", name), r.remove())
		}
	}
	return r, nil
}

// workingTree is the name of the workspace as it stands.
const workingTree = "the working tree"

// place tells in which revision a mistake stands, as git does: HEAD~1:models/orders.cue.
// In the working tree the path says it.
func (r *revision) place(err error) error {
	if err == nil {
		return nil
	}
	var out diag.List
	for _, d := range diag.All(err) {
		if d.Pos.File != "" && r.name != workingTree {
			pos := d.Pos
			pos.File = r.name + ":" + pos.File
			d = d.At(pos)
		}
		out = append(out, d)
	}
	return out.Err()
}

// file is a CUE file of a revision, by its path below the workspace.
type file struct {
	path, object string
	text         []byte
}

// modelsAt reads the CUE files below root as a revision has them, from git's
// objects, so that no attribute and no filter of the checkout changes them.
func modelsAt(ctx context.Context, root, name string) ([]file, error) {
	if name == "" || strings.HasPrefix(name, "-") {
		return nil, diag.New(diag.ConfigRevision, "a revision is a folder with a workspace, or a name that git knows, and %q is neither", name)
	}
	git := git{ctx, root}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, diag.Wrap(err, diag.ConfigRevision, "%q is no folder with a workspace, and git, which would know it as a revision, is not installed", name).
			WithHint("install git, or name a folder that holds the other revision")
	}
	if _, err := git.run(nil, "rev-parse", "--git-dir"); err != nil {
		return nil, diag.Wrap(err, diag.ConfigRevision, "%q is no folder with a workspace, and this workspace is in no git repository that can be read", name).
			WithHint("name a folder that holds the other revision; git said: %s", firstLine(err))
	}
	commit, err := git.run(nil, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil {
		return nil, diag.Wrap(err, diag.ConfigRevision, "%q is no folder with a workspace and no revision of this repository", name).
			WithHint("in a shallow clone older revisions are missing: fetch them first")
	}
	list, err := git.run(nil, "ls-tree", "-r", "-z", strings.TrimSpace(string(commit)))
	if err != nil {
		return nil, git.failed(err, name)
	}
	files, err := cueFiles(string(list), name)
	if err != nil {
		return nil, err
	}
	return files, git.read(files, name)
}

// cueFiles picks the CUE files of git's listing: "mode type object\tpath\0".
func cueFiles(list, name string) ([]file, error) {
	var out []file
	for entry := range strings.SplitSeq(list, "\x00") {
		head, path, _ := strings.Cut(entry, "\t")
		if filepath.Ext(path) != ".cue" || !filepath.IsLocal(filepath.FromSlash(path)) {
			continue
		}
		words := strings.Fields(head)
		if len(words) != 3 || words[1] != "blob" || words[0] == "120000" {
			return nil, diag.New(diag.ConfigRevision, "the models of a revision are plain files, and %s is none", path).At(diag.Pos{File: name + ":" + path})
		}
		out = append(out, file{path: path, object: words[2]})
	}
	if len(out) == 0 {
		return nil, diag.New(diag.ConfigRevision, "the revision %q has no models where this workspace is", name).
			WithHint("the workspace may have been elsewhere then: check it out beside this one and name the folder")
	}
	return out, nil
}

// git runs git in a folder.
type git struct {
	ctx context.Context
	dir string
}

func (g git) run(stdin io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-C", g.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.Stdin = stdin
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s\n%w", strings.TrimSpace(stderr.String()), err)
	}
	return out, nil
}

func (g git) failed(err error, name string) error {
	return diag.Wrap(err, diag.ConfigRevision, "git cannot read the revision %q", name).WithHint("git said: %s", firstLine(err))
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// read fills the texts of files by their objects.
func (g git) read(files []file, name string) error {
	var objects strings.Builder
	for _, f := range files {
		objects.WriteString(f.object + "\n")
	}
	out, err := g.run(strings.NewReader(objects.String()), "cat-file", "--batch")
	if err != nil {
		return g.failed(err, name)
	}
	in := bufio.NewReader(bytes.NewReader(out))
	for i := range files {
		head, err := in.ReadString('\n')
		if err != nil {
			return g.failed(err, name)
		}
		var size int
		if _, err := fmt.Sscanf(head, files[i].object+" blob %d", &size); err != nil {
			return g.failed(errors.New(strings.TrimSpace(head)), name)
		}
		files[i].text = make([]byte, size)
		if _, err := io.ReadFull(in, files[i].text); err != nil {
			return g.failed(err, name)
		}
		if _, err := in.Discard(1); err != nil {
			return g.failed(err, name)
		}
	}
	return nil
}
