package load

import (
	"encoding/json"

	"plumbline/semantic"
)

// mask reads a mask. Whether it fits its field is told where masks become SQL.
func (n node) mask(raw rawMask) *semantic.Mask {
	width := string(raw.Width)
	var text string
	if json.Unmarshal(raw.Width, &text) == nil {
		width = text
	}
	return &semantic.Mask{Kind: raw.Kind, N: raw.N, Width: width, Expr: raw.Expr, Purpose: raw.Purpose, Scope: raw.Scope,
		Filterable: raw.Filterable, Pos: n.label(), ExprPos: n.b.places.text(n.child("expr").path)}
}

// maskedKeys refuses masks on keys: a mask of the model holds for every subject, so
// that no question could ever join by such a key, and no check could count its rows.
func (b *builder) maskedKeys() {
	refuse := func(e *semantic.Entity, name semantic.Name, key string) {
		if f, ok := find(e.Fields, string(name), fieldName); ok && f.Mask != nil {
			node{b: b, path: []string{"model", "entities", string(e.Name), "fields", string(f.Name), "mask"}}.
				invalid("a mask of the model holds for every subject, so a key has none; field %q is part of %s", f.Name, key)
		}
	}
	for _, e := range b.entities {
		for _, name := range e.PrimaryKey {
			refuse(e, name, "the primary key")
		}
		for _, r := range e.Relationships {
			to, known := find(b.entities, string(r.To), func(e *semantic.Entity) semantic.Name { return e.Name })
			for _, pair := range r.On {
				refuse(e, pair.From, "the relationship "+string(r.Name))
				if known {
					refuse(to, pair.To, "the relationship "+string(r.Name)+" of "+string(e.Name))
				}
			}
		}
	}
}
