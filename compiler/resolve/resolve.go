package resolve

import (
	"context"
	"errors"
	"slices"
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Options say who wrote the text.
type Options struct {
	// ModelSpans are the byte ranges that the model wrote; all other text is
	// the caller's.
	ModelSpans []Span
	// Measure reports that the asker may call a measure of an entity; nil for none.
	Measure func(e *semantic.Entity, name string) bool
}

// Resolve binds every name of stmt to what view shows and returns the facts, or
// every refusal at once as a diag.List sorted by place (resolve.*, unsupported.*).
// An error of the view ends it. It never changes stmt.
func Resolve(ctx context.Context, stmt *sqlast.Statement, view View, opts Options) (*Bound, error) {
	r := &resolver{text: stmt.Text, view: view, opts: opts, bound: &Bound{Statement: stmt}, kinds: map[string]bool{}, labels: map[string]sqlast.Offset{}}
	cols := r.query(stmt.Root, nil, nil, true)
	if r.fatal != nil {
		return nil, r.fatal
	}
	if err := ctx.Err(); err != nil {
		return nil, diag.Wrap(err, diag.RequestCancelled, "the call ended before its names were resolved")
	}
	if len(r.errs) == 0 {
		r.lostStars()
		r.namesAreCertain(cols)
		r.labelsAreNoColumns()
	}
	r.finish(cols)
	if err := r.errs.Err(); err != nil {
		return nil, err
	}
	return r.bound, nil
}

// namesAreCertain refuses a result column whose name in DuckDB is not known here.
func (r *resolver) namesAreCertain(cols []column) {
	for i, c := range cols {
		if c.name == "" {
			r.refuse(sqlast.NoOffset, "give it a name with AS", "the name of result column %d is not certain", i+1)
		}
	}
}

// labelsAreNoColumns refuses a printed expression that is also the name of an
// entity's column here: were it printed otherwise by DuckDB, the name would be
// read further out.
func (r *resolver) labelsAreNoColumns() {
	for _, name := range r.columns {
		if at, ok := r.labels[fold(name)]; ok {
			r.refuse(at, "give it a name with AS", "this result column has no name of its own, and %q is a column of a table here", name)
		}
	}
}

// resolver is the state of one Resolve.
type resolver struct {
	text  string
	view  View
	opts  Options
	model bool // the text is an expression of the model, whose author reads the errors
	bound *Bound
	refs  []*reference
	uses  []Use
	sinks []*lineage // collectors of the expressions being read
	kinds map[string]bool
	// columns are the names of all entity columns in the text, labels the printed
	// expressions that name a result column.
	columns []string
	labels  map[string]sqlast.Offset
	errs    diag.List
	fatal   error
}

// reference is a Ref in the making.
type reference struct {
	Ref
	visible *Visible
	used    map[string]bool
	full    bool // a column may count without being named
	silent  bool // a star that is not in the text shows each column of the fence
}

func (r *resolver) report(code diag.Code, at sqlast.Offset, format string, args ...any) *diag.Error {
	e := diag.New(code, format, args...).At(r.pos(at))
	for _, old := range r.errs {
		if old.Code == e.Code && old.Pos == e.Pos && old.Msg == e.Msg {
			return old
		}
	}
	r.errs = append(r.errs, e)
	return e
}

// add keeps an error of a lower stage; one without a code is a place in the
// text that does not hold what the tree says.
func (r *resolver) add(err error, at sqlast.Offset) {
	var e *diag.Error
	if errors.As(err, &e) {
		r.errs = append(r.errs, e)
		return
	}
	r.report(diag.BugSplice, at, "the text and the tree disagree here")
}

// refuse reports a form whose columns cannot be traced, with the way out.
func (r *resolver) refuse(at sqlast.Offset, hint, format string, args ...any) {
	r.report(diag.ResolveShape, at, format, args...).Hint = hint
}

func (r *resolver) pos(at sqlast.Offset) diag.Pos {
	if at == sqlast.NoOffset {
		return diag.Pos{}
	}
	return diag.PosAt("", r.text, int(at))
}

func (r *resolver) origin(at sqlast.Offset) Origin {
	for _, s := range r.opts.ModelSpans {
		if s.Contains(int(at)) {
			return Model
		}
	}
	return Caller
}

// unknown reports a name that resolves to nothing, with the nearest ones. Names
// in the model's own text are not the asker's, and a hidden one must not be told.
func (r *resolver) unknown(at sqlast.Offset, what, name string, candidates []string) {
	if r.origin(at) == Model && !r.model {
		r.report(diag.ResolveUnknown, at, "the question needs something that is not known here")
		return
	}
	r.report(diag.ResolveUnknown, at, "no %s %q is known here", what, name).DidYouMean = semantic.Nearest(name, candidates)
}

// unknownColumn reports a column that none of the relations has. A measure of one
// of them is called, not read.
func (r *resolver) unknownColumn(at sqlast.Offset, names []string, rels []*relation, candidates []string) {
	name := names[len(names)-1]
	for _, rel := range rels {
		if r.opts.Measure == nil || r.origin(at) == Model || rel.ref < 0 || len(names) > 2 || !r.opts.Measure(r.refs[rel.ref].Entity, name) {
			continue
		}
		call := make([]string, len(names))
		for i, n := range names {
			call[i] = Identifier(n)
		}
		r.report(diag.ResolveUnknown, at, "no column %q is known here: it is a measure", dotted(names)).Hint = "write MEASURE(" + strings.Join(call, ".") + ") in place of the column, with no aggregate around it, in a grouped query"
		return
	}
	r.unknown(at, "column", dotted(names), candidates)
}

// collect runs read with a fresh collector and gives what it gathered; the
// collectors around it gather the same.
func (r *resolver) collect(read func()) lineage {
	var l lineage
	r.sinks = append(r.sinks, &l)
	read()
	r.sinks = r.sinks[:len(r.sinks)-1]
	return l
}

func (r *resolver) touch(l lineage) {
	for _, s := range r.sinks {
		s.add(l...)
	}
}

// finish orders the facts and says what each fence must hold.
func (r *resolver) finish(cols []column) {
	for _, ref := range r.refs {
		for _, name := range columnNames(ref.visible, true) {
			class, _ := ref.visible.Class(name)
			// One that may not be selected counts by its name only, where no list of names
			// and no unwritten star needs its place.
			unnamed := class == semantic.Output || class != semantic.Private && (ref.silent || len(ref.Node.ColumnAliases) > 0)
			if ref.used[name.Key()] || ref.full && unnamed {
				ref.Columns = append(ref.Columns, name)
				if ref.silent && class != semantic.Output {
					r.refuse(ref.Node.At, "write (SELECT columns FROM ...)", "this form shows every column of %q, also one that may not be selected", ref.Alias)
				}
			}
		}
	}
	r.sortRefs()
	slices.SortStableFunc(r.uses, func(a, b Use) int { return int(a.At - b.At) })
	r.bound.Uses = slices.Compact(r.uses)
	slices.SortStableFunc(r.bound.Functions, func(a, b FunctionUse) int { return int(a.At - b.At) })
	slices.SortFunc(r.bound.Stars, func(a, b StarSplice) int { return a.Span.Start - b.Span.Start })
	slices.SortFunc(r.bound.Names, func(a, b NameSplice) int { return a.At - b.At })
	for k := range r.kinds {
		r.bound.Kinds = append(r.bound.Kinds, k)
	}
	slices.Sort(r.bound.Kinds)
	for _, c := range cols {
		out := Output{Name: c.name, Bare: c.bare}
		for _, s := range c.from {
			id := ColumnID{Entity: r.refs[s.ref].Entity.Name, Column: s.name}
			if !slices.Contains(out.From, id) {
				out.From = append(out.From, id)
			}
		}
		r.bound.Outputs = append(r.bound.Outputs, out)
	}
}

// sortRefs puts references into text order and renumbers the uses. Two nodes
// over the same text (a window named once and used twice) cannot be spliced.
func (r *resolver) sortRefs() {
	order := make([]int, len(r.refs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.refs[a].Name.Start - r.refs[b].Name.Start })
	renumbered := make([]int, len(order))
	for to, from := range order {
		renumbered[from] = to
		r.bound.Refs = append(r.bound.Refs, r.refs[from].Ref)
		if to > 0 && r.bound.Refs[to-1].Name.Start == r.refs[from].Name.Start {
			r.refuse(sqlast.Offset(r.refs[from].Name.Start), "write the window out at each place", "one reference is read at two places")
		}
	}
	for i := range r.uses {
		u := &r.uses[i]
		u.Ref = renumbered[u.Ref]
		if u.Other != nil {
			u.OtherRef = renumbered[u.OtherRef]
		}
	}
}

// columnNames lists the columns a raw query may see of an entity in declared
// order, fields first, then computed dimensions; with private ones on request.
func columnNames(v *Visible, private bool) []semantic.Name {
	var out []semantic.Name
	add := func(n semantic.Name) {
		if class, ok := v.Class(n); ok && (private || class != semantic.Private) {
			out = append(out, n)
		}
	}
	for _, f := range v.Entity.Fields {
		add(f.Name)
	}
	for _, d := range v.Entity.Dimensions {
		if d.Expr != "" && v.Entity.Field(d.Name) == nil {
			add(d.Name)
		}
	}
	return out
}
