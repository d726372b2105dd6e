package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// whereCondition makes a metric's condition on a dimension one on the rows of a
// leg. The model wrote it, so it may read what callers may not filter by.
func (b *builder) whereCondition(l leg, m *semantic.Metric, w semantic.Where) (Condition, bool) {
	p, _, ok := b.wherePlace(l.fact, w)
	if !ok {
		b.fail(diag.New(diag.BugInternal, "a condition of metric %q lost its dimension", m.Name))
		return Condition{}, false
	}
	op, t, err := b.tested(l, p, w.Field, w.Grain, func(of operandType) (Test, *diag.Error) {
		return test(of, Filter{Field: w.Field, Op: w.Op, Values: w.Values, Grain: w.Grain})
	})
	if err != nil {
		b.refuse(diag.New(diag.UnsupportedAsk, "the condition of metric %q on %q: %s", m.Name, w.Field, err.Msg).WithHint("%s", err.Hint))
		return Condition{}, false
	}
	if over := op.Table.Over(); over != nil && over.Bridge.Allocate == semantic.AllocateWeight {
		b.refuse(diag.New(diag.UnsupportedAsk, "the condition of metric %q on %q lies behind a bridge with weights, which would weigh this metric alone", m.Name, w.Field).
			WithHint("ask without that metric, and filter by %q", w.Field))
		return Condition{}, false
	}
	return Condition{Operand: op, Test: t}, true
}

// tested places a dimension in a leg and makes a test of it.
func (b *builder) tested(l leg, p place, field, grain string, make func(operandType) (Test, *diag.Error)) (Operand, Test, *diag.Error) {
	op, err := b.operand(l, p, grain)
	if err == nil {
		err = b.noFilter(p.dim, grain)
	}
	if err != nil {
		return op, nil, err
	}
	of := operandType{name: field, typ: p.dim.Type, time: op.Bucket}
	if of.time == nil && p.dim.Type.Kind() == semantic.KindTime {
		col, err := b.timeColumn(p.path.to.Entity, p.dim)
		if err != nil {
			return op, nil, err
		}
		of.time = &col
	}
	t, err := make(of)
	return op, t, err
}

// wherePlace finds the one dimension that a metric's condition means from a fact,
// and the masked field that keeps it from its meaning; false when there is none
// for the subject.
func (s *scope) wherePlace(fact *resolve.Visible, w semantic.Where) (p place, masked string, ok bool) {
	there := func(vis *resolve.Visible, n semantic.Name) *semantic.Dimension {
		d := vis.Entity.Dimension(n)
		if d == nil || d.Of != nil && !s.rolledUp(vis, d.Of) || slices.ContainsFunc(s.reads(vis.Entity, d), func(f semantic.Name) bool { return !present(vis, f) }) {
			return nil
		}
		return d
	}
	var found []place
	if fold(w.Field) != MetricTime {
		found = s.placesOver(fact, w.Field, there)
	} else if d := there(fact, fact.Entity.TimeDimension); d != nil {
		found = []place{{path{to: fact}, d}}
	}
	if len(found) != 1 {
		return place{}, "", false
	}
	p = found[0]
	for _, f := range s.reads(p.path.to.Entity, p.dim) {
		if p.path.to.Masked[f.Key()] {
			return p, naming(p.path.to, f), true
		}
	}
	return p, "", true
}

// whereStands reports whether a metric's own conditions can be placed on all rows
// that it aggregates.
func (s *scope) whereStands(m *semantic.Metric) bool {
	if len(m.Where) == 0 {
		return true
	}
	facts := s.conditioned(m)
	return !slices.ContainsFunc(m.Where, func(w semantic.Where) bool {
		return slices.ContainsFunc(facts, func(f *resolve.Visible) bool {
			_, _, ok := s.wherePlace(f, w)
			return !ok
		})
	})
}

// whereMask names a masked field that a metric's own conditions read; "" for none.
func (s *scope) whereMask(m *semantic.Metric) string {
	for _, w := range m.Where {
		for _, f := range s.conditioned(m) {
			if _, masked, _ := s.wherePlace(f, w); masked != "" {
				return masked
			}
		}
	}
	return ""
}
