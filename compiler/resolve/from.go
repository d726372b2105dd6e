package resolve

import (
	"strconv"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// from binds one FROM tree and gives what it offers. Items to the right see
// those to their left (DuckDB's implicit lateral), nearest join first.
func (r *resolver) from(t sqlast.TableRef, outer *scope, ctes *env) *level {
	if t == nil {
		return &level{}
	}
	if s := sqlast.Ref(t).Sample; s != nil {
		r.refuse(sqlast.Ref(t).At, "filter or limit the rows instead", "TABLESAMPLE is not supported, since a sample is another one each time")
	}
	switch t := t.(type) {
	case *sqlast.EmptyRef:
		return &level{}
	case *sqlast.BaseTable:
		r.kinds["BASE_TABLE"] = true
		return r.baseTable(t, ctes)
	case *sqlast.JoinRef:
		r.kinds["JOIN"] = true
		return r.join(t, outer, ctes)
	case *sqlast.SubqueryRef:
		r.kinds["SUBQUERY_REF"] = true
		return r.subqueryRef(t, outer, ctes)
	case *sqlast.TableFunction:
		r.kinds["TABLE_FUNCTION"] = true
		return r.tableFunction(t, outer, ctes)
	case *sqlast.ValuesRef:
		r.kinds["EXPRESSION_LIST"] = true
		return r.values(t, outer, ctes)
	case *sqlast.PivotRef:
		r.kinds["PIVOT"] = true
		return r.pivot(t, outer, ctes)
	case *sqlast.ShowRef:
		r.refuse(t.At, "describe_table and list_metrics answer this", "%s is not supported in SQL", t.ShowType)
	default:
		r.report(diag.UnsupportedNode, sqlast.Ref(t).At, "this kind of table reference is not supported")
	}
	return &level{broken: true}
}

func (r *resolver) baseTable(t *sqlast.BaseTable, ctes *env) *level {
	if t.AtClause != nil {
		r.refuse(t.At, "ask for the current rows", "time travel with AT is not supported")
		return &level{broken: true}
	}
	if t.Catalog == "" && t.Schema == "" {
		if e := ctes.find(fold(t.Table)); e != nil {
			return r.cteRef(t, e)
		}
	}
	if t.Catalog != "" || t.Schema != "" {
		r.unknown(t.At, "table", tableText(t), r.view.Names())
		return &level{broken: true}
	}
	v, err := r.view.Entity(semantic.Name(t.Table))
	if err != nil {
		r.fatal = err
		return &level{broken: true}
	}
	if v == nil {
		r.unknown(t.At, "table", t.Table, r.view.Names())
		return &level{broken: true}
	}
	return r.entity(t, v)
}

// tableText is the name as the asker wrote it.
func tableText(t *sqlast.BaseTable) string {
	out := t.Table
	if t.Schema != "" {
		out = t.Schema + "." + out
	}
	if t.Catalog != "" {
		out = t.Catalog + "." + out
	}
	return out
}

func (r *resolver) cteRef(t *sqlast.BaseTable, e *env) *level {
	cols, ok := rename(e.cols, t.ColumnAliases)
	if !ok && !e.broken {
		r.refuse(t.At, "name at most as many columns as it has", "the column list of %q is longer than the table", aliasOf(t.Alias, t.Table))
	}
	return &level{rels: []*relation{{alias: aliasOf(t.Alias, t.Table), ref: -1, cols: dedupe(cols)}}, broken: e.broken}
}

func aliasOf(alias, name string) string {
	if alias != "" {
		return alias
	}
	return name
}

// entity makes the reference of an entity: its span, and the columns a caller
// may name. Fields of class private exist for the model's own text only.
func (r *resolver) entity(t *sqlast.BaseTable, v *Visible) *level {
	start, end, parts, err := sqlast.NamePath(r.text, t.At)
	if err != nil || len(parts) != 1 || parts[0] != t.Table {
		r.add(err, t.At)
		return &level{broken: true}
	}
	path := Span{start, end}
	ref := &reference{visible: v, used: map[string]bool{}, full: len(t.ColumnAliases) > 0}
	ref.Ref = Ref{Node: t, Entity: v.Entity, Name: path, Alias: aliasOf(t.Alias, t.Table), AddAlias: t.Alias == ""}
	r.refs = append(r.refs, ref)
	rel := &relation{alias: ref.Alias, ref: len(r.refs) - 1}
	for _, n := range columnNames(v, r.origin(t.At) == Model) {
		class, _ := v.Class(n)
		rel.cols = append(rel.cols, column{name: string(n), from: lineage{{rel.ref, n}}, bare: true, direct: true,
			private: class == semantic.Private, class: class})
	}
	cols, ok := rename(rel.cols, t.ColumnAliases)
	if !ok {
		r.refuse(t.At, "name at most as many columns as it has", "the column list of %q is longer than the table", ref.Alias)
	}
	rel.cols = dedupe(cols)
	for _, c := range rel.cols {
		r.columns = append(r.columns, c.name)
	}
	return &level{rels: []*relation{rel}}
}

func (r *resolver) subqueryRef(t *sqlast.SubqueryRef, outer *scope, ctes *env) *level {
	failed := len(r.errs)
	cols, ok := rename(derived(r.query(t.Query, outer, ctes, false)), t.ColumnAliases)
	broken := len(r.errs) > failed
	if !ok && !broken {
		r.refuse(t.At, "name at most as many columns as it has", "the column list of %q is longer than its query", t.Alias)
	}
	return &level{rels: []*relation{{alias: t.Alias, ref: -1, cols: dedupe(cols)}}, broken: broken}
}

func (r *resolver) values(t *sqlast.ValuesRef, outer *scope, ctes *env) *level {
	if len(t.Rows) == 0 {
		return &level{rels: []*relation{{alias: t.Alias, ref: -1}}}
	}
	cols := make([]column, len(t.Rows[0]))
	for i := range cols {
		cols[i].name = "col" + strconv.Itoa(i)
	}
	for _, row := range t.Rows {
		if len(row) != len(cols) {
			r.refuse(place(row[0]), "give each row the same number of values", "the rows of VALUES differ in length")
			return &level{broken: true}
		}
		for i, e := range row {
			cols[i].from.add(r.collect(func() { r.expr(e, ctx{scope: outer, ctes: ctes, clause: InOutput}) })...)
		}
	}
	cols, ok := rename(cols, t.ExpectedNames)
	if !ok {
		r.refuse(t.At, "name at most as many columns as there are", "the column list of VALUES is longer than its rows")
	}
	return &level{rels: []*relation{{alias: t.Alias, ref: -1, cols: dedupe(cols)}}}
}

// tableFunction binds range, generate_series and unnest; nothing else makes rows.
func (r *resolver) tableFunction(t *sqlast.TableFunction, outer *scope, ctes *env) *level {
	f := t.Function
	name := fold(f.Name)
	if !r.tableFunctionAllowed(f) {
		return &level{broken: true}
	}
	if t.WithOrdinality {
		r.refuse(t.At, "use row_number()", "WITH ORDINALITY is not supported")
	}
	r.bound.Functions = append(r.bound.Functions, FunctionUse{Name: name, Kind: "table", Args: len(f.Args), At: f.At})
	from := r.collect(func() {
		for _, a := range f.Args {
			r.expr(a, ctx{scope: outer, ctes: ctes, clause: InOutput})
		}
	})
	cols, ok := rename([]column{{name: name, from: from}}, t.ColumnAliases)
	if !ok {
		r.refuse(t.At, "name one column", "%s makes one column", name)
	}
	return &level{rels: []*relation{{alias: aliasOf(t.Alias, name), ref: -1, cols: cols}}}
}

func (r *resolver) join(t *sqlast.JoinRef, outer *scope, ctes *env) *level {
	left := r.from(t.Left, outer, ctes)
	right := r.from(t.Right, &scope{left, outer}, ctes)
	for _, rel := range right.rels {
		if rel.alias != "" && left.relation(fold(rel.alias)) != nil {
			r.report(diag.ResolveDuplicate, sqlast.Ref(t.Right).At, "%q names two relations of one FROM", rel.alias).Hint = "give one of them an alias"
		}
	}
	both := join(left, right)
	r.kinds["JOIN_"+t.Type] = true
	switch {
	case t.Kind == "POSITIONAL":
		r.refuse(t.At, "join on a key", "POSITIONAL JOIN depends on the order of rows and is not supported")
	case t.Kind == "NATURAL":
		r.using(t, left, right, both, r.common(t, left, right))
	case len(t.Using) > 0:
		r.using(t, left, right, both, t.Using)
	}
	if t.Condition != nil {
		r.on(t, left, right, &scope{both, outer}, ctes)
	}
	hold(t, left, right)
	if t.Type == "SEMI" || t.Type == "ANTI" {
		return &level{rels: left.rels, using: left.using, broken: both.broken}
	}
	return both
}

// common gives the column names that NATURAL joins on, in the left side's
// order, and makes both sides offer all their columns.
func (r *resolver) common(t *sqlast.JoinRef, left, right *level) []string {
	for _, l := range []*level{left, right} {
		for _, rel := range l.rels {
			if rel.ref >= 0 {
				r.refs[rel.ref].full = true
			}
		}
	}
	var out []string
	seen := map[string]bool{}
	for _, rel := range left.rels {
		for i := range rel.cols {
			key := fold(rel.cols[i].name)
			if hits, _ := right.find(key, Caller); len(hits) > 0 && !seen[key] && !rel.cols[i].private {
				out, seen[key] = append(out, rel.cols[i].name), true
			}
		}
	}
	if len(out) == 0 && !left.broken && !right.broken {
		r.refuse(t.At, "join with ON", "NATURAL JOIN finds no common column")
	}
	return out
}

// using merges the named columns of both sides.
func (r *resolver) using(t *sqlast.JoinRef, left, right, both *level, names []string) {
	for _, name := range names {
		key := fold(name)
		l, lok := r.usingSide(t, left, name)
		rt, rok := r.usingSide(t, right, name)
		if !lok || !rok {
			both.broken = true
			continue
		}
		m := &merged{key: key}
		kept := both.using[:0:0]
		for _, old := range both.using {
			if old.key == key && (old == left.mergedBy(l) || old == right.mergedBy(rt)) {
				m.members = append(m.members, old.members...)
				continue
			}
			kept = append(kept, old)
		}
		for _, h := range []hit{l, rt} {
			if !m.holds(h) {
				m.members = append(m.members, h)
			}
		}
		switch t.Type {
		case "RIGHT":
			m.primary = m.stands(right.mergedBy(rt), rt)
		case "FULL":
			m.primary = -1
		default:
			m.primary = m.stands(left.mergedBy(l), l)
		}
		both.using = append(kept, m)
	}
}

// stands says which member is the column's value: h, or what stood for it already.
func (m *merged) stands(old *merged, h hit) int {
	if old == nil {
		return m.index(h)
	}
	if old.primary < 0 {
		return -1
	}
	return m.index(old.members[old.primary])
}

func (m *merged) holds(h hit) bool { return m.index(h) >= 0 }

func (m *merged) index(h hit) int {
	for i, k := range m.members {
		if k.col == h.col {
			return i
		}
	}
	return -1
}

// usingSide finds the one column of a side that USING names and records its use.
func (r *resolver) usingSide(t *sqlast.JoinRef, side *level, name string) (hit, bool) {
	hits, ambiguous := side.find(fold(name), Caller)
	switch {
	case len(hits) == 0:
		if !side.broken {
			r.unknown(t.At, "column to join USING", name, (&scope{level: side}).names(Caller))
		}
		return hit{}, false
	case ambiguous:
		r.report(diag.ResolveAmbiguous, t.At, "column %q of USING belongs to more than one relation of one side", name).Hint = "join with ON"
		return hit{}, false
	}
	for _, h := range hits {
		r.touch(h.col.from)
		if !h.col.direct {
			continue
		}
		if h.col.class < semantic.FilterOnly {
			r.report(diag.ResolveUse, t.At, "column %q may be joined only in ON, by equality with another column", h.col.name).Hint = "join with ON"
			continue
		}
		r.record(h, Use{Clause: InUsing, Bare: true, JoinType: joinWord(t), At: t.At})
	}
	return hits[0], true
}
