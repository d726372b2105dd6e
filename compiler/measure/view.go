package measure

import (
	"slices"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
)

// view is a declared view as one subject may use it.
type view struct {
	declared *semantic.View
	entity   *semantic.Entity
	shown    *resolve.Visible // its columns, as if it were an entity
	columns  []viewColumn
}

type viewColumn struct {
	name semantic.Name
	at   metric.Reached
}

func (v *view) has(measure semantic.Name) bool {
	return v.declared.Measures == nil || slices.ContainsFunc(v.declared.Measures, func(n semantic.Name) bool { return n.Key() == measure.Key() })
}

func (v *view) column(n semantic.Name) metric.Reached {
	i := slices.IndexFunc(v.columns, func(c viewColumn) bool { return c.name.Key() == n.Key() })
	return v.columns[i].at
}

// views shows the declared views beside the entities that a subject may see. A
// view has the columns that the subject may select where they are; one that has
// none is not there.
type views struct {
	resolve.View
	catalog  *semantic.Catalog
	measures *metric.Measures
	made     map[string]*view
}

// Entity satisfies resolve.View.
func (v *views) Entity(n semantic.Name) (*resolve.Visible, error) {
	if v.catalog.View(n) == nil || v.catalog.Entity(n) != nil {
		return v.View.Entity(n)
	}
	if shown := v.view(n); shown != nil {
		return shown.shown, nil
	}
	return nil, nil
}

// Names satisfies resolve.View.
func (v *views) Names() []string {
	out := v.View.Names()
	for _, d := range v.catalog.Views {
		if v.view(d.Name) != nil {
			out = append(out, string(d.Name))
		}
	}
	return out
}

// of gives the view that an entity of the bound text stands for, nil for a true entity.
func (v *views) of(e *semantic.Entity) *view {
	for _, made := range v.made {
		if made != nil && made.shown.Entity == e {
			return made
		}
	}
	return nil
}

func (v *views) view(n semantic.Name) *view {
	if made, ok := v.made[n.Key()]; ok {
		return made
	}
	made := v.make(v.catalog.View(n))
	v.made[n.Key()] = made
	return made
}

func (v *views) make(d *semantic.View) *view {
	out := &view{declared: d, entity: v.catalog.Entity(d.Entity)}
	like := semantic.Entity{Name: d.Name, Description: d.Description, Pos: d.Pos}
	shown := &resolve.Visible{Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}, SelectOnly: map[string]bool{}}
	for _, c := range d.Columns {
		at, ok := v.measures.Reach(d.Entity, c.Path)
		if !ok {
			continue
		}
		out.columns = append(out.columns, viewColumn{c.Name, at})
		like.Fields = append(like.Fields, &semantic.Field{Name: c.Name, Column: string(c.Name), Type: at.Dimension.Type, Visibility: semantic.Output})
		shown.Fields[c.Name.Key()] = semantic.Output
	}
	if len(out.columns) == 0 {
		return nil
	}
	shown.Entity = semantic.NewCatalog(semantic.Catalog{Entities: []*semantic.Entity{&like}}).Entities[0]
	out.shown = shown
	return out
}

// mentions reports that a word of a text names a view.
func mentions(text string, list []*semantic.View) bool {
	if len(list) == 0 {
		return false
	}
	for _, t := range sqlast.Tokens(text) {
		word := text[t.Start:t.End]
		switch t.Kind {
		case sqlast.QuotedName, sqlast.Text:
			quote := word[:1]
			word = strings.ReplaceAll(strings.Trim(word, quote), quote+quote, quote)
		case sqlast.Word:
		default:
			continue
		}
		if slices.ContainsFunc(list, func(v *semantic.View) bool { return equal(string(v.Name), word) }) {
			return true
		}
	}
	return false
}

// replaceViews writes each view of FROM as a query over entities.
func (w *rewrite) replaceViews() {
	for _, r := range w.bound.Refs {
		v := w.views.of(r.Entity)
		if v == nil {
			continue
		}
		at := r.Name.Start
		t := w.tables(v.entity)
		var cols []string
		for _, c := range v.columns {
			alias := t.path(c.at.Roles)
			cols = append(cols, semantic.Quote(alias)+"."+semantic.Quote(string(c.at.Column))+" AS "+semantic.Quote(string(c.name)))
		}
		w.capture(t, at)
		w.edits = append(w.edits, edit{r.Name.Start, r.Name.End, func(out *writer) {
			out.put(at, "(SELECT "+strings.Join(cols, ", ")+" FROM ")
			out.byModel(at, t.from())
			out.put(at, ")")
			if r.AddAlias {
				out.put(at, " AS "+semantic.Quote(r.Alias))
			}
		}})
	}
}

// Shown is a view as one subject may use it, for descriptions.
type Shown struct {
	View     *semantic.View
	Columns  []ShownColumn
	Measures []string
}

// ShownColumn is one column of a view, and the dimension behind it.
type ShownColumn struct {
	Name      semantic.Name
	Dimension *semantic.Dimension
}

// Views lists the views that a subject may use.
func Views(in Input) ([]Shown, error) {
	v := newViews(in, metric.NewMeasures(in.View, in.Catalog, in.Options))
	var out []Shown
	for _, d := range in.Catalog.Views {
		made := v.view(d.Name)
		if made == nil {
			continue
		}
		s := Shown{View: d}
		for _, c := range made.columns {
			s.Columns = append(s.Columns, ShownColumn{c.name, c.at.Dimension})
		}
		for _, m := range v.measures.Names(made.entity.Name) {
			if made.has(semantic.Name(m)) {
				s.Measures = append(s.Measures, m)
			}
		}
		out = append(out, s)
	}
	return out, v.measures.Failed()
}

func newViews(in Input, m *metric.Measures) *views {
	return &views{View: in.View, catalog: in.Catalog, measures: m, made: map[string]*view{}}
}
