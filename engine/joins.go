package engine

import (
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// condition says which rows a relationship joins, the whole of it: whoever joins in
// SQL by a part of it would repeat rows. false when it reads what the subject may
// not name.
func (v *view) condition(from, to *resolve.Visible, r *semantic.Relationship) (string, bool, error) {
	if r.Through != nil {
		return v.bridged(from, to, r.Through)
	}
	c := &joined{}
	for _, p := range r.On {
		c.add(c.name(from, p.From) + " = " + c.name(to, p.To))
	}
	if t := r.Valid; t != nil {
		at, until := c.name(from, t.At), c.name(to, t.To)
		c.add(at + " >= " + c.name(to, t.From))
		c.add("(" + at + " < " + until + " OR " + until + " IS NULL)")
	}
	text := strings.Join(c.parts, " AND ")
	if t := r.AsOf; t != nil {
		text += "; of these the last row at or before: the greatest " + c.name(to, t.Time) + " <= " + c.name(from, t.At) + ", as ASOF JOIN finds it"
	}
	return text, !c.hidden, nil
}

// bridged is the condition of two that are many to many: each joined to the table between.
func (v *view) bridged(from, to *resolve.Visible, b *semantic.Bridge) (string, bool, error) {
	bridge, err := v.Entity(b.Entity)
	if err != nil || bridge == nil {
		return "", false, err
	}
	var parts []string
	for _, role := range []semantic.Name{b.Near, b.Far} {
		other := from
		if role.Key() == b.Far.Key() {
			other = to
		}
		on, ok, err := v.condition(bridge, other, bridge.Entity.Relationship(role))
		if err != nil || !ok {
			return "", false, err
		}
		parts = append(parts, string(role)+" ("+on+")")
	}
	c := &joined{}
	shares := "each partner has a row's whole value, so groups do not add up"
	switch b.Allocate {
	case semantic.AllocateDistinct:
		shares = "each group has a row's whole value once, so groups do not add up"
	case semantic.AllocateWeight:
		shares = "each partner has a row's value times " + c.name(bridge, b.Weight)
	}
	return "through " + string(bridge.Entity.Name) + ": its " + strings.Join(parts, " and its ") + "; " + shares, !c.hidden, nil
}

// joined collects the parts of a condition.
type joined struct {
	parts  []string
	hidden bool // it names what is not shown
}

func (c *joined) add(part string) { c.parts = append(c.parts, part) }

func (c *joined) name(of *resolve.Visible, n semantic.Name) string {
	c.hidden = c.hidden || !shown(of, n)
	return resolve.Identifier(string(of.Entity.Name)) + "." + resolve.Identifier(string(n))
}
