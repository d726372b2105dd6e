package resolve

import (
	"encoding/json"
	"slices"

	"plumbline/compiler/sqlast"
)

// pivot binds PIVOT with listed values, and UNPIVOT. Every column of the source
// counts here without being named, so the source shows all its columns and each
// must be one that may be selected.
func (r *resolver) pivot(t *sqlast.PivotRef, outer *scope, ctes *env) *level {
	first, failed := len(r.refs), len(r.errs)
	src := r.from(t.Source, outer, ctes)
	for _, ref := range r.refs[first:] {
		ref.full = true
	}
	p := &pivoting{r: r, t: t, sc: &scope{src, outer}, ctes: ctes, gone: map[*column]bool{}}
	var cols []column
	if len(t.UnpivotNames) > 0 {
		cols = p.unpivot()
	} else {
		cols = p.columns()
	}
	cols, ok := rename(cols, t.ColumnAliases)
	broken := len(r.errs) > failed
	if !ok && !broken {
		r.refuse(t.At, "name at most as many columns as it has", "the column list of PIVOT is longer than its result")
	}
	return &level{rels: []*relation{{alias: t.Alias, ref: -1, cols: dedupe(derived(cols))}}, broken: broken}
}

// pivoting is one PIVOT in the making.
type pivoting struct {
	r    *resolver
	t    *sqlast.PivotRef
	sc   *scope
	ctes *env
	gone map[*column]bool // source columns that the pivot uses up
}

// read binds an expression of the pivot and marks the columns it uses up.
func (p *pivoting) read(e sqlast.Expr) lineage {
	sqlast.Walk(e, func(n any) bool {
		switch n := n.(type) {
		case *sqlast.Subquery:
			p.r.refuse(place(n), "join it first", "a query inside PIVOT is not supported")
			return false
		case *sqlast.ColumnRef:
			if h, found := p.r.peek(n, p.sc.level); found && h.col != nil {
				p.gone[h.col] = true
			}
		}
		return true
	})
	return p.r.collect(func() { p.r.expr(e, ctx{scope: p.sc, ctes: p.ctes, clause: InPivot, bare: true}) })
}

// rest gives the source columns that stay: all that are not used up.
func (p *pivoting) rest() []column {
	var out []column
	for _, rel := range p.sc.rels {
		for i := range rel.cols {
			c := &rel.cols[i]
			if p.gone[c] || c.private {
				continue
			}
			out = append(out, p.keep(hit{rel, c}))
		}
	}
	return out
}

func (p *pivoting) keep(h hit) column {
	p.r.touch(h.col.from)
	if h.col.direct {
		p.r.record(h, Use{Clause: InPivot, Bare: true, At: p.at()})
	}
	return *h.col
}

func (p *pivoting) at() sqlast.Offset {
	if p.t.At != sqlast.NoOffset {
		return p.t.At
	}
	return sqlast.Ref(p.t.Source).At
}

// columns gives the result of PIVOT: the groups, then one column per value and
// aggregate, named as DuckDB names them.
func (p *pivoting) columns() []column {
	var from lineage
	names := []string{""}
	for _, pc := range p.t.Pivots {
		if pc.Enum != "" || len(pc.Entries) == 0 || len(pc.Exprs) == 0 {
			p.r.refuse(p.at(), "list the values: ON column IN ('a', 'b')", "PIVOT without listed values is not supported")
			return nil
		}
		for _, e := range pc.Exprs {
			from.add(p.read(e)...)
		}
		var next []string
		for _, prefix := range names {
			for _, entry := range pc.Entries {
				name, ok := entryName(entry)
				if !ok {
					p.r.refuse(p.at(), "write the values as literals", "PIVOT takes literal values")
					return nil
				}
				next = append(next, glue(prefix, name))
			}
		}
		names = next
	}
	aggregates := []string{""}
	if len(p.t.Aggregates) > 0 {
		aggregates = nil
	}
	for _, a := range p.t.Aggregates {
		from.add(p.read(a)...)
		name := sqlast.Meta(a).Alias
		if name == "" && len(p.t.Aggregates) > 1 {
			name = resultName(a)
		}
		aggregates = append(aggregates, name)
	}
	out := p.groups()
	for _, n := range names {
		for _, a := range aggregates {
			out = append(out, column{name: glue(n, a), from: from})
		}
	}
	return out
}

// groups gives the grouping columns: those named, or all that are left.
func (p *pivoting) groups() []column {
	if len(p.t.Groups) == 0 {
		return p.rest()
	}
	var out []column
	for _, g := range p.t.Groups {
		hits, _ := p.sc.find(fold(g), Caller)
		if len(hits) != 1 {
			if !p.sc.anyBroken() {
				p.r.unknown(p.at(), "column to group the PIVOT by", g, p.sc.names(Caller))
			}
			continue
		}
		out = append(out, p.keep(hits[0]))
	}
	return out
}

func glue(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "_" + b
}

// entryName names the columns of one IN value.
func entryName(e sqlast.PivotEntry) (string, bool) {
	values := e.Values
	if e.Star != nil {
		c, ok := e.Star.(*sqlast.Constant)
		if !ok {
			return "", false
		}
		values = []sqlast.Value{c.Value}
	}
	if e.Alias != "" {
		return e.Alias, len(values) > 0
	}
	name := ""
	for _, v := range values {
		var s string
		switch {
		case v.IsNull:
			s = "NULL"
		case v.Type.ID == "VARCHAR":
			if json.Unmarshal([]byte(v.Raw), &s) != nil {
				return "", false
			}
		case v.Type.ID == "INTEGER" || v.Type.ID == "BIGINT":
			s = v.Raw
		default:
			return "", false
		}
		name = glue(name, s)
	}
	return name, len(values) > 0
}

// unpivot gives the result of UNPIVOT: what stays, the name column, the values.
func (p *pivoting) unpivot() []column {
	var from lineage
	var names []string
	for _, pc := range p.t.Pivots {
		names = append(names, pc.UnpivotNames...)
		for _, entry := range pc.Entries {
			for _, e := range unpivoted(entry.Star) {
				ref, ok := e.(*sqlast.ColumnRef)
				if !ok {
					p.r.refuse(p.at(), "list the columns", "UNPIVOT takes a list of columns")
					return nil
				}
				from.add(p.read(ref)...)
			}
		}
	}
	out := p.rest()
	for _, n := range names {
		out = append(out, column{name: n})
	}
	for _, n := range p.t.UnpivotNames {
		out = append(out, column{name: n, from: slices.Clone(from)})
	}
	return out
}

// unpivoted gives the columns of one entry: one, or those of a row.
func unpivoted(e sqlast.Expr) []sqlast.Expr {
	if f, ok := e.(*sqlast.Function); ok && f.Name == "row" {
		return f.Args
	}
	return []sqlast.Expr{e}
}
