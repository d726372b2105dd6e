package metric

import (
	"slices"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// A calendar is a table with one row per day. A time dimension asked by one of its
// grains joins the table by the local day, LEFT, so that a day the calendar does
// not have is counted under NULL; the group is the field with the period's first
// day. The table's own filters and rules apply, as to every joined entity.

// calendarGrain finds a grain of a calendar that the subject may use for a
// dimension; nil when there is none. The model's own grains go first.
func (s *scope) calendarGrain(d *semantic.Dimension, grain string) (*semantic.Calendar, *semantic.CalendarGrain) {
	if grain == "" || isUnit(grain) || d.Type.Kind() != semantic.KindTime {
		return nil, nil
	}
	for _, c := range s.catalog.Calendars {
		for i := range c.Grains {
			if g := &c.Grains[i]; g.Name.Key() == grain && s.dated(c, g) != nil {
				return c, g
			}
		}
	}
	return nil, nil
}

// dated gives the entity of a calendar when the subject has the days of a grain,
// and may group by its periods, unmasked; nil otherwise.
func (s *scope) dated(c *semantic.Calendar, g *semantic.CalendarGrain) *resolve.Visible {
	vis := s.entity(c.Entity)
	if vis == nil || !present(vis, c.Date) || vis.Masked[c.Date.Key()] || vis.Fields[g.Start.Key()] < semantic.Output || vis.Masked[g.Start.Key()] {
		return nil
	}
	return vis
}

// calendarGrains lists the grains of all calendars that the subject may use.
func (s *scope) calendarGrains() []string {
	var out []string
	for _, c := range s.catalog.Calendars {
		for i := range c.Grains {
			if g := &c.Grains[i]; s.dated(c, g) != nil {
				out = append(out, string(g.Name))
			}
		}
	}
	return out
}

// noFilter refuses a filter by a calendar's period, nil for other grains: a day
// that begins none would match nothing in silence.
func (s *scope) noFilter(d *semantic.Dimension, grain string) *diag.Error {
	c, g := s.calendarGrain(d, fold(grain))
	if c == nil {
		return nil
	}
	return diag.New(diag.UnsupportedAsk, "a filter by %s, a period of calendar %q, is not supported", g.Name, c.Name).
		WithHint("group by it, or use a time range with the period's first and last day")
}

// inCalendar places a time dimension in a leg as the calendar's period that its
// local day lies in.
func (b *builder) inCalendar(l leg, p place, column semantic.Name, c *semantic.Calendar, g *semantic.CalendarGrain) (Operand, *diag.Error) {
	vis := b.entity(c.Entity)
	if slices.ContainsFunc(vis.Entity.Filters, func(f *semantic.Filter) bool { return f.Kind == semantic.RequiredFilter }) {
		return Operand{}, diag.New(diag.UnsupportedAsk, "calendar %q is kept in %q, which requires a filter that no question can give it", c.Name, c.Entity).
			WithHint("ask by another grain: %s", listed(p.dim.Grains))
	}
	day, err := b.timeColumn(p.path.to.Entity, p.dim)
	if err != nil {
		return Operand{}, err
	}
	day.Grain = "day"
	from := b.table(l.Leg, p.path)
	// No path of roles has a name like this one, so no other table is taken for it.
	key := from.path + ".\x00" + c.Name.Key() + "." + column.Key()
	i := slices.IndexFunc(l.Tables, func(t *Table) bool { return t.path == key })
	if i >= 0 {
		return Operand{Table: l.Tables[i], Column: g.Start}, nil
	}
	join := &semantic.Relationship{Name: c.Name, To: c.Entity, Kind: semantic.ManyToOne}
	t := b.addTable(l.Leg, &Table{Entity: vis.Entity, Parent: from, Join: join, Date: c.Date,
		Day: &Operand{Table: from, Column: column, Bucket: &day}, path: key})
	return Operand{Table: t, Column: g.Start}, nil
}
