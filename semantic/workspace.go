package semantic

import (
	"os"
	"strings"
	"time"

	"plumbline/semantic/diag"
)

// Workspace is plumbline.cue: where models, policies and rows are, and the limits.
// Durations and sizes have defaults filled by semantic/load, so zero means zero.
type Workspace struct {
	Name     string
	Root     string // absolute folder of plumbline.cue
	Models   string // absolute folder
	Policies string // absolute folder of Rego
	Sources  []SourceSpec
	Limits   Limits
	Server   Server
	Audit    AuditSpec
	Subjects []SubjectSpec // who may ask, by transport
}

// SourceSpec is one source of rows.
type SourceSpec struct {
	Name Name
	Kind string // "files"
	Root string // files: absolute folder; nothing outside is read
}

// Source finds a source by name; nil when there is none.
func (w *Workspace) Source(n Name) *SourceSpec {
	for i := range w.Sources {
		if w.Sources[i].Name.Key() == n.Key() {
			return &w.Sources[i]
		}
	}
	return nil
}

// Limits bound every question. Bytes are bytes; policy may lower them, never raise.
type Limits struct {
	Time    time.Duration // per question, queueing included
	Rows    int           // rows of an answer
	Bytes   int64         // bytes of an answer
	Calls   int           // of one subject in a minute
	Memory  int64         // bytes per worker
	Temp    int64         // bytes of temp space per worker
	Workers int           // worker processes that answer
	Threads int           // threads per worker
}

// Server is how callers reach us.
type Server struct {
	Listen           string // host:port for HTTP
	Origins          []string
	StdioSubject     string    // subject id of the stdio transport; "" means none, so stdio is refused
	MaskKey          SecretRef // keys hash masks; zero draws a key at each start
	RequireOSSandbox bool
}

// AuditSpec is where records go.
type AuditSpec struct {
	Path     string // absolute file
	MaxBytes int64  // rotated past this size
	Keep     int    // rotated files kept
}

// SubjectSpec is a subject that the configuration knows. Token is a secret
// reference, never the secret itself.
type SubjectSpec struct {
	ID     string
	Roles  []string
	Claims map[string]any // text, number, boolean or list of text
	Token  SecretRef      // HTTP bearer token; zero means no HTTP access
}

// SecretRef names a secret in the environment or in a file. The zero value names none.
type SecretRef struct {
	Env  string
	File string // absolute
}

// Read gives the secret that what (for errors) has, without spaces around it; ""
// for the zero value. An empty or missing one is config.invalid and names where
// it should stand, never what stands there.
func (s SecretRef) Read(what string) (string, error) {
	switch {
	case s.Env != "":
		v := strings.TrimSpace(os.Getenv(s.Env))
		if v == "" {
			return "", diag.New(diag.ConfigInvalid, "%s is to stand in the environment variable %s, which is not set", what, s.Env)
		}
		return v, nil
	case s.File != "":
		b, err := os.ReadFile(s.File)
		v := strings.TrimSpace(string(b))
		if err != nil || v == "" {
			return "", diag.Wrap(err, diag.ConfigInvalid, "%s is to stand in a file that cannot be read or is empty", what)
		}
		return v, nil
	}
	return "", nil
}
