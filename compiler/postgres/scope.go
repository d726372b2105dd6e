package postgres

import (
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// field is one column that a name may stand for.
type field struct {
	label  string // as PostgreSQL knows it
	model  bool   // the label is the model's: lower case finds it in any case
	starry bool   // a star shows it
	value  value  // its type; the expression is made afresh at each use
	whole  value  // of a select list: the value with all that is known of it
	make   func(place int) sqlast.Expr
}

// relation is one item of FROM.
type relation struct {
	label  string
	model  bool
	name   string // in the translated text
	fields []*field
}

// scope is what names mean in one query: the items of its FROM, then what the
// queries around it see.
type scope struct {
	relations []*relation
	fields    []*field // in the order of a star; columns that USING merges stand once
	ctes      map[string]*table
	windows   map[string]*windowDef
	outer     *scope
}

// table is a WITH item.
type table struct {
	name   string
	fields []*field
}

// named reports whether a name of the text means a label. PostgreSQL has folded
// unquoted names, so that one with a capital was quoted and is meant exactly.
func named(name, label string, model bool) bool {
	return name == label || model && name == strings.ToLower(name) && name == semantic.Name(label).Key()
}

func (s *scope) cte(name string) *table {
	for ; s != nil; s = s.outer {
		if c := s.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

func (s *scope) window(name string) *windowDef { return s.windows[name] }

// column finds what a name of one or two parts stands for.
func (t *translator) column(c *columnRef, s *scope) value {
	parts := t.strings(c.Fields, c.Location)
	var f *field
	switch len(parts) {
	case 1:
		f = t.bare(parts[0], c.Location, s)
	case 2:
		if r := t.relation(parts[0], c.Location, s); r != nil {
			f = t.among(r.fields, parts[1], c.Location)
		}
	default:
		t.refuse(c.Location, "write table.column", "a name of %d parts is not supported", len(parts))
	}
	if f == nil {
		t.unknown("column", strings.Join(parts, "."), c.Location, s.labels())
	}
	v := f.value
	v.e, v.at = f.make(c.Location), c.Location
	return v
}

func (t *translator) bare(name string, place int, s *scope) *field {
	for ; s != nil; s = s.outer {
		if f := t.among(s.fields, name, place); f != nil {
			return f
		}
	}
	return nil
}

func (t *translator) among(list []*field, name string, place int) *field {
	var found *field
	for _, f := range list {
		if !named(name, f.label, f.model) {
			continue
		}
		if found != nil {
			panic(&refusal{t.fail(diag.ResolveAmbiguous, place, "%q means more than one column here", name).WithHint("write table.column")})
		}
		found = f
	}
	return found
}

func (t *translator) relation(name string, place int, s *scope) *relation {
	for ; s != nil; s = s.outer {
		for _, r := range s.relations {
			if named(name, r.label, r.model) {
				return r
			}
		}
	}
	return nil
}

// unknown refuses a name; what is hidden and what is missing look alike, since
// neither is in a scope.
func (t *translator) unknown(what, name string, place int, among []string) {
	e := t.fail(diag.ResolveUnknown, place, "no %s %q is known here", what, name)
	e.DidYouMean = semantic.Nearest(name, among)
	panic(&refusal{e})
}

func (s *scope) labels() []string {
	var out []string
	for ; s != nil; s = s.outer {
		for _, f := range s.fields {
			out = append(out, f.label)
		}
	}
	return out
}

// entity makes the relation of an entity as this subject sees it.
func (t *translator) entity(r *rangeVar) (*relation, *semantic.Entity) {
	visible, err := t.view.Entity(semantic.Name(r.Name))
	if err != nil {
		panic(&refusal{err})
	}
	if visible == nil || !named(r.Name, string(visible.Entity.Name), true) {
		t.unknown("table", r.Name, r.Location, t.view.Names())
	}
	e := visible.Entity
	rel := &relation{label: string(e.Name), model: true}
	add := func(n semantic.Name, of semantic.Type) {
		t.worked(1)
		class, ok := visible.Class(n)
		if !ok || class == semantic.Private {
			return
		}
		f := &field{label: string(n), model: true, starry: class == semantic.Output, value: typeOfField(of)}
		if visible.Masked[n.Key()] || masked(visible, e.Dimension(n)) {
			f.value = value{t: tOpaque}
		}
		rel.fields = append(rel.fields, f)
	}
	for _, f := range e.Fields {
		add(f.Name, f.Type)
	}
	for _, d := range e.Dimensions {
		if d.Expr != "" && e.Field(d.Name) == nil {
			add(d.Name, d.Type)
		}
	}
	return rel, e
}

// masked reports a computed dimension that reads a masked field.
func masked(v *resolve.Visible, d *semantic.Dimension) bool {
	return d != nil && slices.ContainsFunc(d.Reads, func(n semantic.Name) bool { return v.Masked[n.Key()] })
}

// settle gives the columns of a relation their expressions, once its name in the
// translated text is known.
func (r *relation) settle(t *translator, label string) {
	r.label = label
	r.name = t.fresh(label)
	for _, f := range r.fields {
		name := f.label
		f.make = func(place int) sqlast.Expr { return column(place, r.name, name) }
	}
}

// strings reads a list of names.
func (t *translator) strings(list []node, place int) []string {
	out := make([]string, len(list))
	for i, n := range list {
		s, ok := n.v.(*stringNode)
		if !ok {
			t.refuse(place, "", "this form of a name is not supported")
		}
		out[i] = s.Val
	}
	return out
}
