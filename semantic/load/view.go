package load

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func (b *builder) view(n node, label string, raw rawView) *semantic.View {
	v := &semantic.View{Name: nameOf(label), Description: raw.Description, Entity: nameOf(raw.Entity), Pos: n.label()}
	if e := alike(b.entities, label, entityName); e != nil {
		b.errs = append(b.errs, diag.New(diag.ModelDuplicate, "view %q has the name of an entity, and SQL could not tell them apart", label).
			At(v.Pos).WithHint("the entity is at %s", e.Pos))
	}
	e, ok := find(b.entities, raw.Entity, entityName)
	if !ok && raw.Entity != "" {
		n.child("entity").unknown("entity", raw.Entity, "", texts(b.entities, entityName))
	}
	for _, name := range n.child("columns").scope(slices.Collect(maps.Keys(raw.Columns)), "column") {
		at := n.child("columns", name)
		if ok {
			at.column(b, e, raw.Columns[name])
		}
		v.Columns = append(v.Columns, semantic.ViewColumn{Name: nameOf(name), Path: raw.Columns[name], Pos: at.label()})
	}
	if len(raw.Columns) == 0 && len(b.places.written[key(n.child("columns").path)]) > 0 {
		n.child("columns").invalid("a view has one column or more; %q has none", label)
	}
	if raw.Measures != nil {
		v.Measures = []semantic.Name{} // none is not all
	}
	for i, name := range raw.Measures {
		at := n.child("measures", strconv.Itoa(i))
		if ok {
			if _, known := find(e.Measures, name, measureName); !known {
				at.unknown("measure", name, fmt.Sprintf(" in entity %q", e.Name), texts(e.Measures, measureName))
			}
		}
		if slices.Contains(raw.Measures[:i], name) {
			at.invalid("measure %q is listed twice", name)
		}
		v.Measures = append(v.Measures, nameOf(name))
	}
	if ok {
		b.apart(v, e)
	}
	return v
}

// column checks the path of a view's column: roles from its entity, each leading
// to one row, and a dimension at the end.
func (n node) column(b *builder, from *semantic.Entity, path string) {
	parts := strings.Split(path, ".")
	for _, role := range parts[:len(parts)-1] {
		r, ok := find(from.Relationships, role, relationshipName)
		if !ok {
			n.unknown("relationship", role, fmt.Sprintf(" in entity %q", from.Name), texts(from.Relationships, relationshipName))
			return
		}
		if !toOne(r) {
			n.invalid("a row of a view has one value in each column; relationship %q of entity %q is %s", role, from.Name, r.Kind)
			return
		}
		if from, ok = find(b.entities, string(r.To), entityName); !ok {
			return // reported at the relationship
		}
	}
	n.dimensionOf(from, parts[len(parts)-1])
}

// apart refuses a column with the name of one of the view's measures.
func (b *builder) apart(v *semantic.View, e *semantic.Entity) {
	for _, c := range v.Columns {
		m := alike(e.Measures, string(c.Name), measureName)
		if m != nil && (v.Measures == nil || slices.Contains(v.Measures, m.Name)) {
			b.errs = append(b.errs, diag.New(diag.ModelDuplicate, "column %q of view %q has the name of one of its measures", c.Name, v.Name).At(c.Pos))
		}
	}
}
