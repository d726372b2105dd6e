package engine

import (
	"context"
	"fmt"
	"slices"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/policy/opa"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Matrix is who may see what, under which rule.
type Matrix struct {
	Policy   string          `json:"policy_revision"`
	Model    string          `json:"model_revision"`
	Subjects []SubjectAccess `json:"subjects"`
}

// SubjectAccess is what one subject may see.
type SubjectAccess struct {
	Known
	Entities []EntityAccess `json:"entities"`
	Metrics  []Closed       `json:"metrics_closed"` // metrics that it may not ask for
}

// EntityAccess is one entity as the rules give it to one subject.
type EntityAccess struct {
	Entity  string           `json:"entity"`
	Visible bool             `json:"visible"`
	Rules   []policy.RuleRef `json:"rules"` // that make it visible
	// Fault says why the entity is closed to the subject although rules speak of it:
	// one of them cannot be applied. "" when none is at fault.
	Fault    string          `json:"fault"`
	Rows     RowAccess       `json:"rows"`
	MinGroup GroupAccess     `json:"min_group"`
	Question QuestionAccess  `json:"question"`
	Columns  []ColumnAccess  `json:"columns"`
	Measures []Closed        `json:"measures_closed"` // that it may not ask for
	Logged   []policy.Logged `json:"logged"`          // in log-only mode: would have spoken
}

// RowAccess is which rows are seen. Condition is SQL, for "some".
type RowAccess struct {
	Seen      string           `json:"seen"` // all, some, none
	Condition string           `json:"condition"`
	Rules     []policy.RuleRef `json:"rules"`
}

// GroupAccess is what an answer over the entity owes to its rows; 0 asks for nothing.
type GroupAccess struct {
	Size       int             `json:"size"`        // the fewest rows behind each row of an answer
	FilterSets int             `json:"filter_sets"` // the most different sets of filters an hour
	Rule       *policy.RuleRef `json:"rule"`
}

// QuestionAccess is what the policy says of a question in SQL that counts the rows of
// this entity alone. Rules may say more of others.
type QuestionAccess struct {
	Verdict string           `json:"verdict"` // allow or deny
	Reasons []policy.Reason  `json:"reasons"`
	Rules   []policy.RuleRef `json:"rules"` // that allowed it, or set limits
	Limits  policy.Limits    `json:"limits"`
}

// ColumnAccess is one field or computed dimension as a subject may use it.
type ColumnAccess struct {
	Column     string           `json:"column"`
	Computed   bool             `json:"computed"`   // a dimension with an expression: what it reads decides
	Model      string           `json:"model"`      // the class that the model allows at most
	Class      string           `json:"class"`      // output, filter, join, private, hidden
	Mask       string           `json:"mask"`       // its kind; "" for none
	Filterable bool             `json:"filterable"` // may be filtered, grouped and ordered by
	Rules      []policy.RuleRef `json:"rules"`      // that give the class, then the mask
}

// Closed is a metric or a measure that may not be asked for, and why.
type Closed struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Matrix gives the access of every declared subject of the choice to every entity.
// The order is that of the declarations. Entities whose rules cannot be applied say
// so in Fault.
func (g *Governance) Matrix(ctx context.Context, c Choice) (*Matrix, error) {
	subjects, err := g.chosen(c)
	if err != nil {
		return nil, err
	}
	entities, err := g.entities(c.Entity)
	if err != nil {
		return nil, err
	}
	out := &Matrix{Policy: g.w.policy.Revision(), Model: g.w.catalog.Revision}
	for _, s := range subjects {
		one, err := g.subject(ctx, s, entities)
		if err != nil {
			return nil, err
		}
		if c.Entity == "" {
			one.Metrics = g.metrics(ctx, s)
		}
		out.Subjects = append(out.Subjects, one)
	}
	return out, nil
}

func (g *Governance) subject(ctx context.Context, s Known, entities []*semantic.Entity) (SubjectAccess, error) {
	out := SubjectAccess{Known: s, Metrics: []Closed{}}
	v := newView(ctx, g.w, s.Subject, g.now)
	measures := g.measures(v)
	for _, e := range entities {
		account, err := g.w.policy.Account(ctx, s.Subject, g.now, e)
		if ctx.Err() != nil {
			return out, diag.Wrap(ctx.Err(), diag.RequestCancelled, "the account was cancelled")
		}
		a := entityAccess(e, account)
		if err != nil {
			a.Fault = diag.All(err)[0].Error()
		}
		if a.Visible {
			a.Columns = columnsOf(v, measures, e, account)
			if a.Question, err = g.question(ctx, s.Subject, e, account.Access); err != nil {
				a.Fault = diag.All(err)[0].Error()
			}
			for _, m := range e.Measures {
				if why := measures.ClosedMeasure(e.Name, m.Name); why != "" {
					a.Measures = append(a.Measures, Closed{string(m.Name), why})
				}
			}
		}
		out.Entities = append(out.Entities, a)
	}
	return out, nil
}

func (g *Governance) measures(v *view) *metric.Measures {
	return metric.NewMeasures(v, g.w.catalog, metric.Options{Now: g.now, Expressions: g.w.expressions})
}

// metrics lists what the subject may not ask for.
func (g *Governance) metrics(ctx context.Context, s Known) []Closed {
	out := []Closed{}
	measures := g.measures(newView(ctx, g.w, s.Subject, g.now))
	for _, m := range g.w.catalog.Metrics {
		if why := measures.Closed(m); why != "" {
			out = append(out, Closed{string(m.Name), why})
		}
	}
	return out
}

func entityAccess(e *semantic.Entity, account opa.Account) EntityAccess {
	access := account.Access
	out := EntityAccess{Entity: string(e.Name), Visible: access.Visible, Rules: []policy.RuleRef{}, MinGroup: groupAccess(access.MinGroup),
		Rows:     RowAccess{Seen: "none", Rules: []policy.RuleRef{}},
		Question: QuestionAccess{Verdict: policy.Deny.String(), Reasons: []policy.Reason{}, Rules: []policy.RuleRef{}},
		Columns:  []ColumnAccess{}, Measures: []Closed{}, Logged: append([]policy.Logged{}, access.Logged...)}
	out.Rules = append(out.Rules, account.Visible...)
	if !access.Visible {
		return out
	}
	out.Rows.Rules = append(out.Rows.Rules, access.Rows.Rules...)
	switch access.Rows.Truth {
	case policy.Always:
		out.Rows.Seen = "all"
	case policy.When:
		out.Rows.Seen, out.Rows.Condition = "some", access.Rows.SQL
	}
	return out
}

func groupAccess(g policy.MinGroup) GroupAccess {
	out := GroupAccess{Size: g.Size, FilterSets: g.FilterSets}
	if g.Rule != (policy.RuleRef{}) {
		out.Rule = &g.Rule
	}
	return out
}

// columnsOf gives every field, then every dimension that is computed.
func columnsOf(v *view, measures *metric.Measures, e *semantic.Entity, account opa.Account) []ColumnAccess {
	out := []ColumnAccess{}
	for _, f := range e.Fields {
		c := ColumnAccess{Column: string(f.Name), Model: f.Visibility.String(), Class: hiddenClass, Rules: []policy.RuleRef{}}
		if access, ok := account.Access.Columns[f.Name.Key()]; ok {
			c.Class, c.Filterable = access.Class.String(), access.Class >= semantic.FilterOnly
			c.Rules = append(c.Rules, widest(account.Columns[f.Name.Key()])...)
			if access.Mask != nil {
				c.Mask, c.Filterable = access.Mask.Kind, c.Filterable && access.Mask.Filterable
				c.Rules = append(c.Rules, access.Mask.Rule)
			}
		}
		out = append(out, c)
	}
	vis, err := v.Entity(e.Name)
	if err != nil || vis == nil {
		return out
	}
	for _, d := range e.Dimensions {
		if d.Field == "" {
			out = append(out, computed(vis, measures, d, account))
		}
	}
	return out
}

// computed gives the access to a dimension that is computed: what it reads decides.
func computed(vis *resolve.Visible, measures *metric.Measures, d *semantic.Dimension, account opa.Account) ColumnAccess {
	c := ColumnAccess{Column: string(d.Name), Computed: true, Model: d.Visibility.String(), Class: hiddenClass, Rules: []policy.RuleRef{}}
	if class, ok := vis.Class(d.Name); ok && (d.Of == nil || measures.RolledUp(vis.Entity.Name, d)) {
		c.Class, c.Filterable = class.String(), class >= semantic.FilterOnly
	}
	for _, r := range d.Reads {
		access := account.Access.Columns[r.Key()]
		if c.Class == hiddenClass {
			continue
		}
		c.Rules = append(c.Rules, widest(account.Columns[r.Key()])...)
		if access.Mask != nil {
			c.Mask, c.Filterable, c.Rules = access.Mask.Kind, c.Filterable && access.Mask.Filterable, append(c.Rules, access.Mask.Rule)
		}
	}
	c.Rules = eachOnce(c.Rules)
	return c
}

// eachOnce keeps the first of equals.
func eachOnce[T comparable](list []T) []T {
	out := []T{}
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// hiddenClass is the class of what does not exist for a subject.
const hiddenClass = "hidden"

// widest keeps the rules whose class holds: of several the widest does.
func widest(grants []opa.Grant) []policy.RuleRef {
	var out []policy.RuleRef
	best := semantic.Private
	for _, g := range grants {
		best = max(best, g.Class)
	}
	for _, g := range grants {
		if g.Class == best {
			out = append(out, g.Rule)
		}
	}
	return out
}

// question asks what the policy says of a count of an entity's rows.
func (g *Governance) question(ctx context.Context, s policy.Subject, e *semantic.Entity, access policy.EntityAccess) (QuestionAccess, error) {
	out := QuestionAccess{Verdict: policy.Deny.String(), Reasons: []policy.Reason{}, Rules: []policy.RuleRef{}}
	facts := policy.Facts{Subject: s, Tool: ToolSQL, Now: g.now, Limits: g.w.limits().facts(),
		Entities: []policy.EntityFact{{Name: string(e.Name), Tags: e.Tags}}, Functions: []string{"count_star"}, Nodes: []string{}}
	d, err := g.w.policy.Decide(ctx, facts, map[string]policy.EntityAccess{e.Name.Key(): access})
	if err != nil {
		return out, err
	}
	out.Verdict, out.Limits = d.Verdict.String(), d.Limits
	out.Reasons = append(out.Reasons, d.Reasons...)
	for _, r := range d.Rules {
		if !slices.ContainsFunc(d.Reasons, func(x policy.Reason) bool { return x.Rule == r }) {
			out.Rules = append(out.Rules, r)
		}
	}
	return out, nil
}

func ruleText(r policy.RuleRef) string {
	if r.File == "" {
		return r.ID
	}
	return fmt.Sprintf("%s %s:%d", r.ID, r.File, r.Line)
}
