package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// Closed says why the subject may not ask for a metric; "" when it may. It names
// what is hidden, so it is for those who write policies and for no caller.
func (m *Measures) Closed(d *semantic.Metric) string {
	if m.answerable(d, nil) && m.maskOf(d) == "" && !slices.ContainsFunc(m.facts(d), m.unaskable) {
		return ""
	}
	return m.reason(d)
}

// ClosedMeasure says why the subject may not ask for a measure; "" when it may.
func (m *Measures) ClosedMeasure(entity, measure semantic.Name) string {
	if m.Offers(entity, measure) {
		return ""
	}
	return m.reason(simple(entity, measure))
}

// reason finds the first thing that closes a metric.
func (s *scope) reason(d *semantic.Metric) string {
	if d.Kind == semantic.SimpleMetric {
		return s.reasonOf(d)
	}
	for _, name := range d.Parts() {
		part := s.catalog.Metric(name)
		if part != nil && (!s.answerable(part, nil) || s.maskOf(part) != "") {
			return "its part " + string(name) + " is closed: " + s.reason(part)
		}
	}
	if s.answerable(d, nil) {
		if masked := s.maskOf(d); masked != "" {
			return "reads " + masked + ", which is masked"
		}
	}
	return conditionsClosed
}

// conditionsClosed is said where a metric's conditions, or those that a question for
// it must have, read what the subject does not have.
const conditionsClosed = "its conditions read what is hidden or masked"

// reasonOf finds what closes a measure of one entity.
func (s *scope) reasonOf(d *semantic.Metric) string {
	vis := s.entity(d.Entity)
	if vis == nil {
		return s.reasonOfEntity(d.Entity)
	}
	measure := vis.Entity.Measure(d.Measure)
	reads := measureFields(vis.Entity, measure)
	for _, expr := range []string{measure.Expr, measure.Filter, d.Filter} {
		reads = append(reads, s.readIn(vis.Entity, expr)...)
	}
	if found := hiddenOrMasked(vis, reads); found != "" {
		return "reads " + found
	}
	return conditionsClosed
}

// reasonOfEntity says why no metric of an entity can be asked.
func (s *scope) reasonOfEntity(n semantic.Name) string {
	vis, err := s.view.Entity(n)
	if err != nil {
		return "no decision on " + string(n)
	}
	if vis == nil {
		return "reads " + string(n) + ", which is hidden"
	}
	for _, f := range vis.Entity.Filters {
		if f.Kind == semantic.RequiredFilter {
			if vis.Fields[f.Field.Key()] < semantic.FilterOnly || vis.SelectOnly[f.Field.Key()] {
				return string(n) + " requires a filter on " + string(f.Field) + ", which may not be filtered"
			}
			continue
		}
		if found := hiddenOrMasked(vis, s.readIn(vis.Entity, f.Expr)); found != "" {
			return "a filter of " + string(n) + " reads " + found
		}
	}
	return conditionsClosed
}

// readIn lists the fields that an expression reads.
func (s *scope) readIn(e *semantic.Entity, expr string) []semantic.Name {
	if expr == "" {
		return nil
	}
	var out []semantic.Name
	for _, p := range s.columns(e, expr) {
		out = append(out, p.Column)
	}
	return out
}

func hiddenOrMasked(vis *resolve.Visible, fields []semantic.Name) string {
	for _, f := range fields {
		name := string(vis.Entity.Name) + "." + string(f)
		switch {
		case !present(vis, f):
			return name + ", which is hidden"
		case vis.Masked[f.Key()]:
			return name + ", which is masked"
		}
	}
	return ""
}

// RolledUp reports that the subject may use a dimension that is a measure of
// another entity.
func (m *Measures) RolledUp(entity semantic.Name, d *semantic.Dimension) bool {
	vis := m.entity(entity)
	return vis != nil && d.Of != nil && m.rolledUp(vis, d.Of)
}
