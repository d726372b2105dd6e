// Package schema holds the CUE definitions that models and plumbline.cue import.
// They are plain CUE: the stock cue command uses them from a workspace's
// cue.mod/pkg, the server from the copy embedded here.
package schema

import "embed"

// FS holds the definitions: model.cue and workspace.cue the shapes,
// references.cue what one part of a model demands of another.
//
//go:embed *.cue
var FS embed.FS

// Dir is where a workspace keeps the definitions for the stock cue command,
// below its root, with slashes.
const Dir = "cue.mod/pkg/plumbline.dev/schema"

// ImportPath is the path under which models import the definitions.
const ImportPath = "plumbline.dev/schema"

// References is the file that semantic/load leaves out: it repeats those checks
// in Go, all at once and with nearest names.
const References = "references.cue"
