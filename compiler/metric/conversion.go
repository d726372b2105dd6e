package metric

import (
	"fmt"
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Conversion is what makes a leg one of base events: its fact is the relation of all
// base events, each with the first converted event at or after it. Who is credited is
// settled among all base events that pass the metric's own filters and the model's;
// the question's filters come after, on the base events.
type Conversion struct {
	Base      *Leg        // of the base's entity, without keys or leaves
	Own       []Condition // which of its rows are base events; the others only give the answer its groups. They have no ID
	Converted *Leg
	On        []semantic.JoinPair
	Key       []semantic.Name // of the base's entity: settles which of several at one time is the last
	Window    semantic.Period
	Times     [2]Operand // of a base event and of a converted one; Bucket says how they are stored
}

// conversion gives the value of a conversion metric in a frame: one leaf counts the
// base events, another those of them that were followed by a converted one.
func (b *builder) conversion(m *semantic.Metric, where []semantic.Where) Value {
	c := m.Conversion
	base, converted := b.catalog.Metric(c.Base), b.catalog.Metric(c.Converted)
	id := fmt.Sprintf("conversion %s %s %v %v %v", base.Name.Key(), converted.Name.Key(), c.On, c.Window, where)
	leaf := func(of bool) *Leaf {
		for _, l := range b.frame.Leaves {
			if l.id == id && l.Converted == of {
				return l
			}
		}
		return b.eventsLeaf(m, where, id, of)
	}
	if c.Give == "count" {
		return leaf(true)
	}
	return &Ratio{Num: leaf(true), Den: leaf(false)}
}

func (b *builder) eventsLeaf(m *semantic.Metric, where []semantic.Where, id string, converted bool) *Leaf {
	base := b.catalog.Metric(m.Conversion.Base)
	l := b.legOf(b.entity(base.Entity), b.asking, id)
	if l.Conversion == nil {
		l.Leg.Conversion = b.events(m, where)
	}
	fill := l.fact.Entity.Measure(base.Measure).Fill
	out := &Leaf{Index: len(b.frame.Leaves), Leg: l.Leg, Measure: &semantic.Measure{Agg: semantic.Count}, Converted: converted, Fill: fill, Type: "bigint", id: id}
	b.frame.Leaves = append(b.frame.Leaves, out)
	return out
}

// events plans both sides of a conversion.
func (b *builder) events(m *semantic.Metric, where []semantic.Where) *Conversion {
	c := m.Conversion
	out := &Conversion{On: c.On, Window: c.Window}
	for i, name := range []semantic.Name{c.Base, c.Converted} {
		of := b.catalog.Metric(name)
		side, own := b.side(of, append(slices.Clip(where), of.Where...))
		if i == 0 {
			out.Base, out.Own, out.Key = side.Leg, own, side.fact.Entity.PrimaryKey
		} else {
			out.Converted = side.Leg
			for _, c := range own {
				side.Where = append(side.Where, b.condition(c))
			}
		}
		d := side.fact.Entity.Dimension(side.fact.Entity.TimeDimension)
		column := d.Name
		if d.Field != "" {
			column = d.Field
		}
		stored, err := b.timeColumn(side.fact.Entity, d)
		if err != nil {
			b.refuse(err)
		}
		out.Times[i] = Operand{Table: side.Tables[0], Column: column, Bucket: &stored}
	}
	return out
}

// side plans the events of one metric, and gives the conditions that make rows events.
func (b *builder) side(of *semantic.Metric, where []semantic.Where) (leg, []Condition) {
	fact := b.entity(of.Entity)
	l := leg{Leg: &Leg{}, fact: fact, asked: b.asking}
	t := b.addTable(l.Leg, &Table{Entity: fact.Entity})
	b.sides = append(b.sides, l)
	if requires(fact) {
		b.refuse(diag.New(diag.UnsupportedAsk, "metric %q looks for events of %q, which is asked with a filter that would have to come first", b.asking, fact.Entity.Name).
			WithHint("ask the metrics %q is made of apart", b.asking))
	}
	var own []Condition
	measure := fact.Entity.Measure(of.Measure)
	for _, text := range []string{measure.Filter, of.Filter} {
		if text != "" {
			expr := b.expr(t, text)
			own = append(own, Condition{Model: &expr, By: of.Name})
		}
	}
	for _, w := range where {
		if c, ok := b.whereCondition(l, of, w); ok {
			if c.Operand.Table.Over() != nil {
				b.refuse(diag.New(diag.UnsupportedAsk, "the condition of metric %q on %q lies behind a bridge, and events have one partner there", of.Name, w.Field))
				continue
			}
			own = append(own, c)
		}
	}
	return l, own
}

// conversionFields lists the fields that a conversion reads beside its metrics; false
// when it has a form that is not supported.
func (s *scope) conversionFields(m *semantic.Metric) ([]fieldOf, bool) {
	c := m.Conversion
	var out []fieldOf
	for i, name := range []semantic.Name{c.Base, c.Converted} {
		of := s.catalog.Metric(name)
		if of == nil || of.Kind != semantic.SimpleMetric {
			return nil, false
		}
		vis := s.entity(of.Entity)
		measure := vis.Entity.Measure(of.Measure)
		d := vis.Entity.Dimension(vis.Entity.TimeDimension)
		if measure.Agg != semantic.Count || measure.Field != "" || measure.Expr != "" || measure.Semi != nil || d == nil || i == 0 && len(vis.Entity.PrimaryKey) == 0 {
			return nil, false
		}
		for _, f := range s.reads(vis.Entity, d) {
			out = append(out, fieldOf{vis, f})
		}
		for _, p := range c.On {
			out = append(out, fieldOf{vis, []semantic.Name{p.From, p.To}[i]})
		}
		if i == 0 {
			for _, k := range vis.Entity.PrimaryKey {
				out = append(out, fieldOf{vis, k})
			}
		}
	}
	return out, len(c.On) > 0 && c.Window.N > 0
}

// converts reports that a subject may ask a conversion whose two metrics it may ask.
func (s *scope) converts(m *semantic.Metric) bool {
	if m.Kind != semantic.ConversionMetric {
		return true
	}
	fields, ok := s.conversionFields(m)
	if !ok {
		s.fail(diag.New(diag.UnsupportedAsk, "metric %q has a form that is not supported", m.Name).At(m.Pos))
		return false
	}
	return !slices.ContainsFunc(fields, func(f fieldOf) bool { return !present(f.of, f.name) })
}

// conversionMask names a masked field that a conversion reads; "" for none.
func (s *scope) conversionMask(m *semantic.Metric) string {
	if m.Kind != semantic.ConversionMetric {
		return ""
	}
	fields, _ := s.conversionFields(m)
	for _, f := range fields {
		if f.of.Masked[f.name.Key()] {
			return naming(f.of, f.name)
		}
	}
	return ""
}

// conditioned gives the facts whose rows a metric's own conditions hold for.
func (s *scope) conditioned(m *semantic.Metric) []*resolve.Visible {
	out := s.facts(m)
	if m.Kind == semantic.ConversionMetric {
		out = append(slices.Clip(out), s.entity(s.catalog.Metric(m.Conversion.Converted).Entity))
	}
	return out
}
