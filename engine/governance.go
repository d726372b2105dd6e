package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/policy/opa"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// Governance is the policies of a workspace over its models, without its data: for
// those who write policies and answer for them. What it tells names every rule and
// everything hidden, so no transport offers it.
type Governance struct {
	w        *world
	now      time.Time
	subjects []Known
}

// Known is a subject that the workspace declares, and where.
type Known struct {
	policy.Subject
	Declared []string `json:"declared"` // plumbline.cue, subjects.json, or both
}

// OpenGovernance loads the models and policies in root. A worker without data reads
// the models' SQL. The caller closes it.
func OpenGovernance(ctx context.Context, root string, opts Options) (*Governance, error) {
	now := time.Now()
	if opts.Now != nil {
		now = opts.Now()
	}
	ws, catalog, err := load.Dir(root)
	if err != nil {
		return nil, err
	}
	ws.Limits.Workers = 1
	pool, err := openPool(ctx, ws, nil, opts)
	if err != nil {
		return nil, err
	}
	expressions, err := resolve.CheckModel(ctx, pool, catalog)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	key := make([]byte, 32) // that a hash mask is there is told, and no hash
	_, _ = rand.Read(key)   // crypto/rand.Read never fails
	rules, err := opa.Open(ws.Policies, opa.Options{MaskKey: key, Catalog: catalog, Expression: func(ctx context.Context, f *semantic.Field, expr string) ([]resolve.Span, error) {
		return resolve.CheckMask(ctx, pool, typer{pool}, f, expr)
	}})
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	w := &world{ws: ws, catalog: catalog, expressions: expressions, policy: rules, pool: pool, functions: functionNames()}
	return &Governance{w: w, now: now, subjects: knownSubjects(ws, rules)}, nil
}

// Close ends the worker.
func (g *Governance) Close() error { return g.w.close() }

// knownSubjects are the subjects of the configuration, then those that the policies
// declare; one that is declared alike in both stands once.
func knownSubjects(ws *semantic.Workspace, rules *opa.Policy) []Known {
	var out []Known
	add := func(list []policy.Subject, file string) {
		for _, s := range list {
			i := slices.IndexFunc(out, func(k Known) bool { return sameSubject(k.Subject, s) })
			if i < 0 {
				out = append(out, Known{Subject: s})
				i = len(out) - 1
			}
			if !slices.Contains(out[i].Declared, file) {
				out[i].Declared = append(out[i].Declared, file)
			}
		}
	}
	add(sampleSubjects(ws), "plumbline.cue")
	add(rules.Samples(), "subjects.json")
	return out
}

func sameSubject(a, b policy.Subject) bool {
	x, errA := json.Marshal(a) // keys of claims are sorted
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// Choice narrows an account to one subject, to those of a role, to one entity; ""
// leaves all.
type Choice struct {
	As     string
	Role   string
	Entity string
}

// chosen gives the subjects of a choice, and refuses one that leaves nobody.
func (g *Governance) chosen(c Choice) ([]Known, error) {
	var out []Known
	var ids []string
	for _, k := range g.subjects {
		ids = append(ids, string(k.ID))
		if (c.As == "" || string(k.ID) == c.As) && (c.Role == "" || slices.Contains(k.Roles, c.Role)) {
			out = append(out, k)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case c.As != "" && !slices.Contains(ids, c.As):
		return nil, diag.New(diag.RequestSubject, "neither plumbline.cue nor subjects.json declares a subject %q", c.As).Suggest(semantic.Nearest(c.As, ids)...)
	}
	return nil, diag.New(diag.RequestSubject, "no declared subject has the role %q", c.Role).WithHint("give a role of plumbline.cue or of subjects.json beside the policies")
}

// entities gives the entities of a choice, in the models' order.
func (g *Governance) entities(name string) ([]*semantic.Entity, error) {
	if name == "" {
		return g.w.catalog.Entities, nil
	}
	e := g.w.catalog.Entity(semantic.Name(name))
	if e == nil {
		return nil, diag.New(diag.ModelUnknown, "the models have no entity %q", name).Suggest(semantic.Nearest(name, entityNames(g.w.catalog))...)
	}
	return []*semantic.Entity{e}, nil
}

// RuleList writes rules as people look them up: "tenant rego/access.rego:73".
func RuleList(rules []policy.RuleRef) string {
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = ruleText(r)
	}
	return strings.Join(parts, ", ")
}
