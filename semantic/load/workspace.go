package load

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// workspace loads plumbline.cue; nil when it has a mistake.
func workspace(root string) (*semantic.Workspace, diag.List) {
	file := filepath.Join(root, ConfigFile)
	text, err := os.ReadFile(file)
	if err != nil {
		e := diag.Wrap(err, diag.ConfigInvalid, "a workspace has a file %s", ConfigFile).At(diag.Pos{File: ConfigFile})
		return nil, diag.List{e.WithHint("plumbline init writes one")}
	}
	evaluated := evaluate(root, root, ConfigFile, map[string][]byte{file: text}, shapes())
	r := &reader{
		places: newPlaces(root, evaluated.instance.Files), definitions: definitions(),
		invalid: diag.ConfigInvalid, syntax: diag.ConfigInvalid,
	}
	if evaluated.instance.Err != nil {
		return nil, unique(r.refusals(evaluated.instance.Err))
	}
	errs := r.lint(evaluated.instance.Files, "workspace", "#Workspace")
	value := evaluated.value.LookupPath(cue.ParsePath("workspace"))
	if err = value.Validate(cue.Concrete(true)); err == nil {
		err = evaluated.value.Err()
	}
	if err != nil {
		return nil, unique(append(errs, r.refusals(err)...))
	}
	var raw rawWorkspace
	if err := decode(value, &raw); err != nil {
		return nil, append(errs, diag.Wrap(err, diag.BugInternal, "the schema and the loader disagree"))
	}
	c := configurer{root: root, places: r.places, errs: errs}
	w := c.configure(raw)
	if len(c.errs) > 0 {
		return nil, unique(c.errs)
	}
	return w, nil
}

// configurer makes the workspace from the raw one.
type configurer struct {
	root   string
	places *places
	errs   diag.List
}

// invalid reports a mistake at a path below workspace. It never repeats a value.
func (c *configurer) invalid(e *diag.Error, path ...string) {
	c.errs = append(c.errs, e.At(c.places.value(append([]string{"workspace"}, path...))))
}

func (c *configurer) configure(raw rawWorkspace) *semantic.Workspace {
	w := &semantic.Workspace{
		Name: raw.Name, Root: c.root, Models: c.absolute(raw.Models), Policies: c.absolute(raw.Policies),
		Limits: c.limits(raw.Limits),
		Server: semantic.Server{
			Listen: raw.Server.Listen, Origins: raw.Server.Origins,
			StdioSubject: raw.Server.StdioSubject, RequireOSSandbox: raw.Server.RequireOSSandbox,
			MaskKey: c.secret(raw.Server.MaskKey, "server", "mask_key"),
		},
		Audit: semantic.AuditSpec{Path: c.absolute(raw.Audit.Path), MaxBytes: c.size(raw.Audit.MaxBytes), Keep: raw.Audit.Keep},
	}
	for _, name := range c.scope("sources", slices.Collect(maps.Keys(raw.Sources))) {
		s := raw.Sources[name]
		w.Sources = append(w.Sources, semantic.SourceSpec{Name: nameOf(name), Kind: s.Kind, Root: c.absolute(s.Root)})
	}
	for _, id := range c.scope("subjects", slices.Collect(maps.Keys(raw.Subjects))) {
		w.Subjects = append(w.Subjects, c.subject(id, raw.Subjects[id]))
	}
	if len(w.Sources) == 0 {
		c.invalid(diag.New(diag.ConfigInvalid, "a workspace has at least one source"), "sources")
	}
	c.listen(raw.Server.Listen)
	if id := raw.Server.StdioSubject; id != "" {
		if _, ok := raw.Subjects[id]; !ok {
			e := diag.New(diag.ConfigInvalid, "stdio_subject names a subject; there is no %q", id)
			c.invalid(e.Suggest(semantic.Nearest(id, slices.Collect(maps.Keys(raw.Subjects)))...), "server", "stdio_subject")
		}
	}
	return w
}

func (c *configurer) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.root, filepath.FromSlash(path))
}

// scope orders names as they are written and refuses those that differ only by case.
func (c *configurer) scope(list string, names []string) []string {
	path := []string{"workspace", list}
	c.places.rank(path, names)
	first := map[string]string{}
	for _, name := range names {
		k := semantic.Name(name).Look()
		if other, taken := first[k]; taken {
			c.invalid(diag.New(diag.ConfigInvalid, "%q and %q have one name: case and composition do not tell names apart", other, name), list, name)
		}
		first[k] = name
	}
	return names
}

func (c *configurer) limits(raw rawLimits) semantic.Limits {
	timeout, err := time.ParseDuration(raw.Time)
	if err != nil {
		c.invalid(diag.Wrap(err, diag.ConfigInvalid, "%s", wording["time"]), "limits", "time")
	}
	return semantic.Limits{
		Time: timeout, Rows: raw.Rows, Bytes: c.size(raw.Bytes), Calls: raw.Calls, Memory: c.size(raw.Memory), Temp: c.size(raw.Temp),
		Workers: raw.Workers, Threads: raw.Threads,
	}
}

var units = []struct {
	suffix string
	bytes  int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}}

// size reads a number of bytes that the schema let pass.
func (c *configurer) size(text string) int64 {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.suffix); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err == nil {
				return n * u.bytes
			}
		}
	}
	c.errs = append(c.errs, diag.New(diag.ConfigInvalid, "%s", sizeRule).At(diag.Pos{File: ConfigFile}))
	return 0
}

func (c *configurer) listen(address string) {
	_, port, err := net.SplitHostPort(address)
	if n, convErr := strconv.Atoi(port); err != nil || convErr != nil || n > 65535 {
		c.invalid(diag.New(diag.ConfigInvalid, "%s", wording["listen"]), "server", "listen")
	}
}

func (c *configurer) subject(id string, raw rawSubject) semantic.SubjectSpec {
	s := semantic.SubjectSpec{ID: id, Roles: raw.Roles, Claims: map[string]any{}, Token: c.secret(raw.Token, "subjects", id, "token")}
	for name, claim := range raw.Claims {
		s.Claims[name] = claim
		if list, ok := claim.([]any); ok {
			s.Claims[name] = textsOf(list)
		}
	}
	return s
}

// secret reads where a secret is: exactly one of env and file, when it is given at all.
func (c *configurer) secret(raw rawSecret, path ...string) semantic.SecretRef {
	given := len(c.places.written[key(append([]string{"workspace"}, path...))]) > 0
	if raw.Env != "" && raw.File != "" || given && raw == (rawSecret{}) {
		c.invalid(diag.New(diag.ConfigInvalid, "a secret is in env or in file; %s does not name exactly one", strings.Join(path, ".")), path...)
	}
	ref := semantic.SecretRef{Env: raw.Env}
	if raw.File != "" {
		ref.File = c.absolute(raw.File)
	}
	return ref
}

// textsOf is a list that the schema holds to text.
func textsOf(list []any) []string {
	out := make([]string, 0, len(list))
	for _, item := range list {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
