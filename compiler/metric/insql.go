package metric

import (
	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Measures gives the measures of entities, as one subject may use them, to text
// that a caller writes in SQL. It lives as long as one question.
type Measures struct{ *planner }

// NewMeasures begins for one question.
func NewMeasures(view resolve.View, catalog *semantic.Catalog, opts Options) *Measures {
	return &Measures{&planner{scope: newScope(view, catalog, opts.Expressions), opts: opts, plan: &Plan{}}}
}

// Failed gives what went wrong on the way, if anything did.
func (m *Measures) Failed() error {
	if m.failure != nil {
		return m.failure
	}
	return m.errs.Err()
}

// Warnings are what a reader of the answer would not expect.
func (m *Measures) Warnings() []string { return m.plan.Warnings }

// Offers reports that the subject may ask for a measure of an entity.
func (m *Measures) Offers(entity, measure semantic.Name) bool {
	alone := simple(entity, measure)
	return m.answerable(alone, nil) && m.maskOf(alone) == ""
}

// Names lists the measures of an entity that the subject may ask for.
func (m *Measures) Names(entity semantic.Name) []string {
	var out []string
	if vis := m.entity(entity); vis != nil {
		for _, x := range vis.Entity.Measures {
			if m.Offers(entity, x.Name) {
				out = append(out, string(x.Name))
			}
		}
	}
	return out
}

// Masked says which mask keeps a measure from its true number; nil when none does.
func (m *Measures) Masked(entity, measure semantic.Name) *diag.Error {
	alone := simple(entity, measure)
	masked := m.closedBy(alone)
	if masked == "" && m.answerable(alone, nil) {
		masked = m.maskOf(alone)
	}
	if masked == "" {
		return nil
	}
	return diag.New(diag.PolicyColumn, "measure %q reads %s, which is masked for you, so its number would be wrong", measure, masked).
		WithHint("describe_table lists the measures that you may ask")
}

// simple is a measure as a metric of its own.
func simple(entity, measure semantic.Name) *semantic.Metric {
	return &semantic.Metric{Name: measure, Kind: semantic.SimpleMetric, Entity: entity, Measure: measure}
}

// Leaf plans a measure that Offers, over the entity under an alias.
func (m *Measures) Leaf(entity, measure semantic.Name, alias string) *Leaf {
	b := m.frame(Question{})
	b.asking = string(measure)
	leaf := b.leaf(simple(entity, measure), m.entity(entity).Entity.Measure(measure), nil)
	leaf.Leg.Tables[0].As = alias
	return leaf
}

// Filters gives the model's own filters on an entity under an alias; overridden
// says whether the caller's conditions take the place of a default one.
func (m *Measures) Filters(t *Table, overridden func(fields []semantic.Name) bool) []Expr {
	var out []Expr
	b := m.first()
	for _, f := range t.Entity.Filters {
		if f.Kind == semantic.RequiredFilter {
			continue // the engine sees to it, scan by scan
		}
		over := f.Kind == semantic.DefaultFilter && overridden(append([]semantic.Name{f.Field}, f.Unless...))
		b.applied(t, f, over)
		if !over {
			out = append(out, b.expr(t, f.Expr))
		}
	}
	return out
}

// first is the frame whose filters are told.
func (m *Measures) first() *builder {
	if len(m.builders) == 0 {
		m.frame(Question{})
	}
	return m.builders[0]
}

// Applied lists the model's own filters on what was measured.
func (m *Measures) Applied() []AppliedFilter { return m.plan.Applied }

// Reached is a dimension as an entity reaches it over to-one relationships.
type Reached struct {
	Roles     []*semantic.Relationship
	Dimension *semantic.Dimension
	Column    semantic.Name // of the relation at the end of the roles
}

// Reach follows a dimension's spelling from an entity; false when the subject has
// no such dimension there, or may not select it.
func (m *Measures) Reach(entity semantic.Name, spelling string) (Reached, bool) {
	vis := m.entity(entity)
	if vis == nil {
		return Reached{}, false
	}
	p, err := m.lookup(vis, spelling, string(entity), semantic.Output)
	if err != nil {
		return Reached{}, false
	}
	column := p.dim.Name
	if p.dim.Field != "" {
		column = p.dim.Field
	} else if p.path.to.Entity.Field(p.dim.Name) != nil {
		return Reached{}, false // both a field and a computed dimension
	}
	return Reached{p.path.roles, p.dim, column}, true
}
