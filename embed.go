// Package plumbline carries the sample workspace that init and demo write: this
// repository's own plumbline.cue, models and policies. It holds no code.
package plumbline

import "embed"

// Files is a workspace without its data: plumbline.cue, models and rego.
//
//go:embed plumbline.cue models rego
var Files embed.FS
