package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// list plans the rows of one entity as they are: one fact, its columns as keys,
// and no aggregate.
func (p *planner) list() {
	p.form()
	if len(p.q.Metrics) > 0 || p.q.Totals != "" || p.q.Top != nil || p.q.FillGaps {
		p.refuse(diag.New(diag.RequestMalformed, "rows asks for the rows of an entity as they are; metrics, totals, top and fill_gaps are about groups").
			WithHint("leave rows out to group, or leave those out"))
	}
	fact := p.entity(semantic.Name(p.q.Rows))
	if fact == nil {
		p.refuse(diag.New(diag.MetricUnknown, "no entity %q", p.q.Rows).Suggest(semantic.Nearest(p.q.Rows, p.view.Names())...).WithHint("search_tables lists the entities"))
		return
	}
	p.plan.Ungrouped = true
	p.asking = p.q.Rows
	b := p.rows
	b.leg(fact, p.asking)
	if len(b.q.Dimensions) == 0 {
		for _, f := range fact.Entity.Fields {
			if fact.Fields[f.Name.Key()] == semantic.Output {
				b.q.Dimensions = append(b.q.Dimensions, DimensionRef{Name: string(f.Name)})
			}
		}
	}
	b.rowColumns(fact)
	b.filters()
	b.segments()
	b.timeRanges()
	b.modelFilters()
	b.joins()
	b.keptRows()
	if p.failure != nil {
		return
	}
	p.plan.Keys = b.frame.Keys
	b.label()
	b.order()
}

// rowColumns places what rows show: dimensions by any spelling, and the entity's own
// output fields.
func (b *builder) rowColumns(fact *resolve.Visible) {
	l := b.legs[0]
	for i, ref := range b.q.Dimensions {
		if slices.ContainsFunc(b.q.Dimensions[:i], func(o DimensionRef) bool { return fold(o.Name) == fold(ref.Name) && fold(o.Grain) == fold(ref.Grain) }) {
			b.refuse(diag.New(diag.RequestMalformed, "column %q is asked for twice", ref.Name))
			continue
		}
		field := fact.Entity.Field(semantic.Name(ref.Name))
		if field != nil && ref.Grain == "" && fact.Fields[field.Name.Key()] == semantic.Output {
			l.Keys = append(l.Keys, Operand{Table: l.Tables[0], Column: field.Name})
			b.frame.Keys = append(b.frame.Keys, Key{Type: field.Type})
			b.spelled = append(b.spelled, DimensionRef{Name: string(field.Name)})
			continue
		}
		places, ok := b.placesOf(ref.Name, semantic.Output)
		if !ok {
			continue
		}
		if places[0].path.bridged() {
			b.refuse(diag.New(diag.MetricFanOut, "rows of %q cannot show %q: a row has several of them", b.q.Rows, ref.Name).WithHint("filter by it, or ask a metric by it"))
			continue
		}
		op, err := b.operand(l, places[0], ref.Grain)
		if err != nil {
			b.refuse(err)
			continue
		}
		key := Key{Grain: fold(ref.Grain), Type: places[0].dim.Type, Collation: places[0].dim.Collation}
		if key.Grain != "" {
			key.Type = BucketType(key.Grain)
		}
		l.Keys = append(l.Keys, op)
		b.frame.Keys = append(b.frame.Keys, key)
		b.spelled = append(b.spelled, DimensionRef{Name: canonical(ref.Name, places[0]), Grain: key.Grain})
	}
	if len(b.frame.Keys) == 0 && len(b.errs) == 0 {
		b.refuse(diag.New(diag.MetricUnknown, "entity %q has no column for you to show", b.q.Rows))
	}
}

// byKey orders rows by the primary key, so that equal questions give equal pages.
func (b *builder) byKey() []OrderTerm {
	l := b.legs[0]
	var out []OrderTerm
	for _, field := range l.fact.Entity.PrimaryKey {
		op := Operand{Table: l.Tables[0], Column: field}
		if l.fact.Fields[field.Key()] >= semantic.FilterOnly && !b.masked(op) {
			out = append(out, OrderTerm{Hidden: &op})
		}
	}
	return out
}

// masked reports that a column is masked for the subject.
func (b *builder) masked(o Operand) bool {
	vis := b.entity(o.Table.Entity.Name)
	if d := o.Table.Entity.Dimension(o.Column); d != nil && o.Table.Entity.Field(o.Column) == nil {
		return b.maskedIn(vis, d.Expr) != ""
	}
	return vis.Masked[o.Column.Key()]
}
