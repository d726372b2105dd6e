package opa

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/loader"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Options are what a bundle needs from the server.
type Options struct {
	// MaskKey keys the hashes and tokens of this deployment; at least 16 bytes. Without
	// it such a mask closes its entity. It is never printed; what stands in SQL is
	// derived from it per column or per purpose.
	MaskKey []byte
	// Catalog holds the relationships that row rules may go through; nil holds none.
	Catalog *semantic.Catalog
	// Expression reads the expressions of masks; without it such a mask closes its entity.
	Expression ExpressionCheck
	// Timeout bounds one evaluation; zero means two seconds. An evaluation takes
	// well under a millisecond: the bound is for runaway rules, and wide enough
	// that a busy machine does not deny.
	Timeout time.Duration
}

const defaultTimeout = 2 * time.Second

// Policy is one loaded bundle. It never changes after Open, apart from its cache
// of decisions, and any number of goroutines may use it.
type Policy struct {
	revision string
	options  Options
	samples  []policy.Subject
	rules    ruleTable
	readsNow bool // an access rule may read input.now

	entity   rego.PreparedEvalQuery
	rows     map[string]rego.PreparedPartialQuery // by rule id
	question rego.PreparedEvalQuery
	verify   rego.PreparedEvalQuery
	trials   trials

	cache       accessCache
	expressions expressionCache
}

// Revision is a hash of the bundle's policies and data.
func (p *Policy) Revision() string { return p.revision }

// Samples are the subjects declared in subjects.json beside the policies.
func (p *Policy) Samples() []policy.Subject { return slices.Clone(p.samples) }

// Open loads every .rego file below dir except tests, data.json and data.yaml of
// each folder, the JSON schemas in its folder schemas, and the sample subjects in
// subjects.json.
// Where dir is a symbolic link, what it leads to is looked up once, so that turning
// the link changes every file at once.
// It reports all mistakes as config.policy with file and line.
func Open(dir string, options Options) (*Policy, error) {
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	files, dir, err := readBundle(dir)
	if err != nil {
		return nil, err
	}
	modules, err := parse(files.modules)
	if err != nil {
		return nil, err
	}
	compiler, err := compile(dir, modules)
	if err != nil {
		return nil, err
	}
	rules, err := collectRules(compiler)
	if err != nil {
		return nil, err
	}
	p := &Policy{revision: files.revision, options: options, samples: files.samples, rules: rules, readsNow: readsNow(compiler)}
	if err := p.prepare(compiler, files.data); err != nil {
		return nil, err
	}
	return p, nil
}

// Revision reads the bundle in dir and gives the revision that its policy has.
func Revision(dir string) (string, error) {
	files, _, err := readBundle(dir)
	return files.revision, err
}

type bundle struct {
	modules  map[string]string // file as shown to people: text
	data     map[string]any
	samples  []policy.Subject
	revision string
}

// readBundle reads the files in dir, and gives the folder that dir leads to.
func readBundle(dir string) (b bundle, target string, err error) {
	b = bundle{modules: map[string]string{}, data: map[string]any{}}
	hash := sha256.New()
	root := filepath.Base(filepath.Clean(dir))
	if target, err = filepath.EvalSymlinks(dir); err != nil {
		return b, dir, diag.Wrap(err, diag.ConfigRego, "the policy bundle %q cannot be read", root)
	}
	err = filepath.WalkDir(target, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(target, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		rule := strings.HasSuffix(rel, ".rego") && !strings.HasSuffix(rel, "_test.rego")
		if !rule && !isData(rel) && rel != "subjects.json" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(hash, "%s %d\n%s", rel, len(text), text)
		if rule {
			b.modules[path.Join(root, rel)] = string(text)
			return nil
		}
		if isData(rel) {
			return b.addData(path.Join(root, rel), rel, text)
		}
		return b.readSamples(path.Join(root, rel), text)
	})
	if err == nil && len(b.modules) == 0 {
		return b, target, diag.New(diag.ConfigRego, "a policy bundle has at least one .rego file; %q has none", root).
			WithHint("set the folder of policies in plumbline.cue, or run plumbline init")
	}
	b.revision = hex.EncodeToString(hash.Sum(nil)[:8])
	var told *diag.Error
	if err != nil && !errors.As(err, &told) {
		err = diag.Wrap(err, diag.ConfigRego, "the policy bundle %q cannot be read", root)
	}
	return b, target, err
}

func (b *bundle) readSamples(name string, text []byte) error {
	var samples struct {
		Subjects []policy.Subject `json:"sample_subjects"`
	}
	err := decodeJSON(name, text, &samples)
	b.samples = samples.Subjects
	return err
}

// decodeJSON decodes one value, exact numbers, no unknown fields.
func decodeJSON(name string, text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil && dec.More() {
		err = errors.New("more than one JSON value")
	}
	if err != nil {
		return misshapen(err, name, text, dec.InputOffset())
	}
	return nil
}

// misshapen tells where JSON is wrong, and which member, never its value.
func misshapen(err error, name string, text []byte, offset int64) *diag.Error {
	what := "the file is JSON of the documented shape"
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &syntax):
		what, offset = "the file is JSON, and this is not", syntax.Offset
	case errors.As(err, &typed) && typed.Field != "":
		what, offset = what+"; "+typed.Field+" has another type", typed.Offset
	case isUnknown:
		what += "; it has no member " + unknown
		if i := bytes.Index(text, []byte(unknown)); i >= 0 {
			offset = int64(i)
		}
	}
	line := 1 + bytes.Count(text[:min(int(offset), len(text))], []byte{'\n'})
	return diag.Wrap(err, diag.ConfigRego, "%s", what).At(diag.Pos{File: name, Line: line})
}

func parse(texts map[string]string) (map[string]*ast.Module, error) {
	modules := make(map[string]*ast.Module, len(texts))
	var list diag.List
	for name, text := range texts {
		m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{
			RegoVersion: ast.RegoV1, Capabilities: capabilities(), ProcessAnnotation: true})
		if err != nil {
			list = append(list, regoErrors(err)...)
			continue
		}
		if m == nil {
			list = append(list, diag.New(diag.ConfigRego, "a policy file has a package; this one is empty").At(diag.Pos{File: name}))
			continue
		}
		modules[name] = m
	}
	return modules, list.Err()
}

func compile(dir string, modules map[string]*ast.Module) (*ast.Compiler, error) {
	c := ast.NewCompiler().WithCapabilities(capabilities()).WithStrict(true).WithKeepModules(true)
	schemas := filepath.Join(dir, "schemas")
	if _, err := os.Stat(schemas); err == nil {
		set, err := loader.Schemas(schemas)
		if err != nil {
			return nil, diag.Wrap(err, diag.ConfigRego, "the folder schemas holds JSON schemas")
		}
		c = c.WithSchemas(set).WithUseTypeCheckAnnotations(true)
	}
	c.Compile(modules)
	if c.Failed() {
		return nil, regoErrors(c.Errors).Err()
	}
	return c, nil
}

// regoErrors gives OPA's errors as ours, each with its place.
func regoErrors(err error) diag.List {
	var many ast.Errors
	if !errors.As(err, &many) {
		return diag.List{diag.Wrap(err, diag.ConfigRego, "the policy bundle does not compile")}
	}
	list := make(diag.List, len(many))
	for i, e := range many {
		list[i] = diag.Wrap(e, diag.ConfigRego, "%s", oneLine(e.Message)).At(pos(e.Location))
	}
	return list
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func pos(l *ast.Location) diag.Pos {
	if l == nil {
		return diag.Pos{}
	}
	return diag.Pos{File: l.File, Line: l.Row, Col: l.Col}
}

// prepare compiles the queries. A document without a rule is the empty object,
// which never means yes.
func (p *Policy) prepare(c *ast.Compiler, data map[string]any) error {
	ctx, store := context.Background(), inmem.NewFromObject(data)
	prepare := func(query string) (rego.PreparedEvalQuery, error) {
		return rego.New(rego.Compiler(c), rego.Store(store), rego.Query(query), rego.StrictBuiltinErrors(true)).PrepareForEval(ctx)
	}
	p.trials = trials{}
	var errs []error
	for _, q := range []struct {
		into *rego.PreparedEvalQuery
		docs []string
	}{
		{&p.entity, []string{accessPackage + ".visible", accessPackage + ".columns", accessPackage + ".masks", accessPackage + ".all_rows", accessPackage + ".min_group"}},
		{&p.question, []string{questionPackage + ".allow", questionPackage + ".deny", limitsPackage + ".lower"}},
		{&p.verify, []string{verifyPackage + ".allow", verifyPackage + ".deny"}},
	} {
		var err error
		*q.into, err = prepare(p.rules.query(false, q.docs...))
		errs = append(errs, err)
		if p.rules.hasTrial(q.docs) {
			pkg := q.docs[0][:strings.LastIndexByte(q.docs[0], '.')]
			p.trials[pkg], err = prepare(p.rules.query(true, q.docs...))
			errs = append(errs, err)
		}
	}
	p.rows = make(map[string]rego.PreparedPartialQuery)
	for _, r := range slices.Concat(p.rules.of(accessPackage, "rows"), p.rules.tried(accessPackage, "rows")) {
		ref := ast.MustParseRef("data." + accessPackage + ".rows").Append(ast.StringTerm(r.ID))
		prepared, err := rego.New(rego.Compiler(c), rego.Store(store), rego.StrictBuiltinErrors(true),
			rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref))))).PrepareForPartial(ctx)
		errs = append(errs, err)
		p.rows[r.ID] = prepared
	}
	if err := errors.Join(errs...); err != nil {
		return diag.Wrap(err, diag.ConfigRego, "the policy bundle cannot be prepared")
	}
	return nil
}

func isString(t *ast.Term) bool {
	_, ok := t.Value.(ast.String)
	return ok
}
