// Package load reads a workspace: plumbline.cue and the CUE models, into a
// *semantic.Workspace and a *semantic.Catalog, or into every mistake at once,
// each with its place in the user's file, sorted.
//
// It promises that a catalog it gives is whole: names are NFC and unique without
// regard to case, every reference meets what it names, every aggregate and grain
// fits its type, relationships reach keys and form no unnamed cycle, metrics are of
// one kind each. It leaves SQL to the compiler: expressions are text here, those of
// derived metrics too, with the place where each begins; Dimension.Reads is filled
// for plain fields only, and what derived metrics are made of is not known yet.
//
// The road: the shapes of semantic/schema are laid over the workspace's own
// copy, CUE evaluates and refuses what does not fit, the syntax trees give the
// places and betray what CUE would silently merge, and Go checks the rest. When
// CUE refuses, the models are evaluated once more without the schema, so that
// wrong references are reported together with wrong shapes.
//
// It is the only home of CUE. Each load uses a new cue.Context, because one that
// lives long never gives memory back.
package load

import (
	"os"
	"path/filepath"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// ConfigFile is the file that makes a folder a workspace.
const ConfigFile = "plumbline.cue"

// Dir loads the workspace at root. The error is a diag.List of all mistakes, with
// codes config.invalid and model.*; places are relative to root, with slashes.
// On an error both results are nil. The catalog's SQL is not checked yet.
func Dir(root string) (*semantic.Workspace, *semantic.Catalog, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, nil, diag.Wrap(err, diag.ConfigInvalid, "the workspace folder %q cannot be named", root)
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return nil, nil, diag.List{diag.Wrap(err, diag.ConfigInvalid, "there is no workspace folder %q", root).
			WithHint("plumbline init writes one")}
	}
	w, errs := workspace(abs)
	models := filepath.Join(abs, "models")
	if w != nil {
		models = w.Models
	}
	catalog, modelErrs := model(abs, models, w)
	if errs = append(errs, modelErrs...); len(errs) > 0 {
		return nil, nil, errs.Err()
	}
	return w, catalog, nil
}
