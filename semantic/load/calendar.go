package load

import (
	"maps"
	"slices"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func (b *builder) calendar(n node, label string, raw rawCalendar) *semantic.Calendar {
	c := &semantic.Calendar{Name: nameOf(label), Description: raw.Description, Entity: nameOf(raw.Entity), Date: nameOf(raw.Date), Pos: n.label()}
	e, ok := find(b.entities, raw.Entity, entityName)
	if !ok && raw.Entity != "" {
		n.child("entity").unknown("entity", raw.Entity, "", texts(b.entities, entityName))
	}
	if ok {
		d := nameOf(raw.Date)
		if n.child("date").dateField(e, raw.Date) && (len(e.PrimaryKey) != 1 || e.PrimaryKey[0] != d) {
			n.child("date").refuse(diag.New(diag.ModelInvalid, "a calendar has one row per day; its date is the primary key of entity %q", e.Name).
				WithHint("write primary_key: [%q] there", d))
		}
	}
	for _, name := range n.child("grains").scope(slices.Collect(maps.Keys(raw.Grains)), "grain") {
		at, start := n.child("grains", name), raw.Grains[name]
		if ok {
			at.dateField(e, start)
		}
		b.ownGrain(at, c, name)
		c.Grains = append(c.Grains, semantic.CalendarGrain{Name: nameOf(name), Start: nameOf(start)})
	}
	if len(c.Grains) == 0 && raw.Description != "" && len(b.places.written[key(n.child("grains").path)]) > 0 {
		n.child("grains").invalid("a calendar has one grain or more; %q has none", label)
	}
	return c
}

// ownGrain refuses the name of a grain that a question could not tell from another.
func (b *builder) ownGrain(n node, c *semantic.Calendar, name string) {
	look := nameOf(name).Look()
	if slices.Contains(append(slices.Clone(semantic.Grains), semantic.FiscalQuarter, semantic.FiscalYear), look) {
		b.errs = append(b.errs, diag.New(diag.ModelDuplicate, "%q is a grain of every time already, and no calendar's own", name).At(n.label()))
	}
	for _, other := range b.calendars {
		if slices.ContainsFunc(other.Grains, func(g semantic.CalendarGrain) bool { return g.Name.Look() == look }) {
			b.errs = append(b.errs, diag.New(diag.ModelDuplicate, "grain %q of calendar %q is one of calendar %q already", name, c.Name, other.Name).At(n.label()))
		}
	}
}

// dateField checks that the value of n names a field of e that is a date.
func (n node) dateField(e *semantic.Entity, name string) bool {
	f := n.fieldOf(e, name)
	if f != nil && f.Type != "" && f.Type != "date" {
		n.invalid("a calendar's days are dates; field %q is %s", f.Name, f.Type)
		return false
	}
	return f != nil
}
