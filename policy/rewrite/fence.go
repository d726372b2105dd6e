package rewrite

import (
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// fencesOf writes the fence of every reference.
func fencesOf(b *resolve.Bound, d policy.Decision, limited limited) ([]Fence, error) {
	var errs diag.List
	fences := make([]Fence, len(b.Refs))
	unused := unusedNames("none", b)
	for i := range b.Refs {
		access := d.Entities[b.Refs[i].Entity.Name.Key()]
		ref := withKey(b.Refs[i], access.MinGroup.Size)
		w := writer{ref: &ref, access: access, limited: limited[i], unused: unused,
			pos: diag.PosAt("", b.Statement.Text, ref.Name.Start)}
		text, err := w.fence()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fences[i] = Fence{Entity: ref.Entity.Name.Key(), Text: text}
	}
	return fences, errs.Err()
}

// writer writes one fence.
type writer struct {
	ref     *resolve.Ref
	access  policy.EntityAccess
	limited map[string]string // the names of limited columns, by key
	unused  func() string
	pos     diag.Pos
}

func (w *writer) fence() (string, *diag.Error) {
	if !w.access.Visible {
		return "", diag.New(diag.PolicyDenied, "the decision does not cover %q", w.ref.Alias).At(w.pos)
	}
	stored, computed, err := w.columns()
	if err != nil {
		return "", err
	}
	if len(computed) == 0 {
		return w.stored(stored, w.limited)
	}
	inner, err := w.stored(stored, nil) // whose names the model's expressions read
	if err != nil {
		return "", err
	}
	list := make([]string, 0, len(w.ref.Columns))
	for _, c := range w.ref.Columns {
		if expr, ok := computed[c.Key()]; ok {
			list = append(list, as("("+expr+")", string(w.ref.Entity.Dimension(c).Name), w.limited[c.Key()]))
			continue
		}
		name := string(w.ref.Entity.Field(c).Name)
		list = append(list, as(semantic.Quote(name), name, w.limited[c.Key()]))
	}
	return "(SELECT " + strings.Join(list, ", ") + " FROM " + inner + ")", nil
}

// as names a select item by its column, or by another name when there is one.
func as(sql, column, other string) string {
	if other != "" {
		column = other
	}
	if name := semantic.Quote(column); name != sql {
		return sql + " AS " + name
	}
	return sql
}

// columns splits what the reference needs into stored fields, with those that a
// computed dimension reads, and the computed dimensions' expressions by key.
func (w *writer) columns() (stored []*semantic.Field, computed map[string]string, err *diag.Error) {
	seen := map[string]bool{}
	add := func(n semantic.Name) *diag.Error {
		f := w.ref.Entity.Field(n)
		if f == nil {
			return diag.New(diag.BugInternal, "a reference needs a column that its entity does not have").At(w.pos)
		}
		if _, ok := w.access.Columns[f.Name.Key()]; !ok {
			return diag.New(diag.PolicyColumn, "a column of %q is not covered by the decision", w.ref.Alias).At(w.pos)
		}
		if !seen[f.Name.Key()] {
			seen[f.Name.Key()] = true
			stored = append(stored, f)
		}
		return nil
	}
	computed = map[string]string{}
	var reads []semantic.Name
	for _, c := range w.ref.Columns {
		dim := w.ref.Entity.Dimension(c)
		switch {
		case w.ref.Entity.Field(c) != nil || dim == nil:
			if err := add(c); err != nil {
				return nil, nil, err
			}
		case dim.Expr == "":
			computed[c.Key()] = semantic.Quote(string(dim.Field))
			reads = append(reads, dim.Field)
		default:
			computed[c.Key()] = closed(dim.Expr)
			reads = append(reads, dim.Reads...)
		}
	}
	for _, r := range reads {
		if err := add(r); err != nil {
			return nil, nil, err
		}
	}
	return stored, computed, nil
}

// closed ends an expression so that a comment in it cannot swallow what follows.
func closed(expr string) string {
	if strings.Contains(expr, "--") {
		return expr + "\n"
	}
	return expr
}

// stored writes the part of a fence that reads storage: rule first, on raw
// values; masks above it; an end wherever there is a rule or a mask.
func (w *writer) stored(fields []*semantic.Field, limited map[string]string) (string, *diag.Error) {
	mask := func(f *semantic.Field) *policy.Mask { return w.access.Columns[f.Name.Key()].Mask }
	end := w.access.Rows.Truth != policy.Always || slices.ContainsFunc(fields, func(f *semantic.Field) bool { return mask(f) != nil })
	list := make([]string, 0, len(fields))
	for _, f := range fields {
		sql := semantic.Quote(string(f.Name))
		if m := mask(f); m != nil {
			sql = "(" + m.SQL + ")"
		}
		if end {
			// The rows alone, and not the dictionary they came with, on which DuckDB
			// would call what it believes cannot fail.
			sql = "COALESCE(" + sql + ", NULL)"
		}
		list = append(list, as(sql, string(f.Name), limited[f.Name.Key()]))
	}
	if len(list) == 0 {
		list = append(list, "1 AS "+semantic.Quote(w.constant()))
	}
	sql := "(SELECT " + strings.Join(list, ", ") + " FROM " + semantic.StorageName(w.ref.Entity.Name)
	if !end {
		return sql + ")", nil
	}
	where, err := w.condition()
	if err != nil {
		return "", err
	}
	if where != "" {
		sql += " WHERE " + where
	}
	return sql + " OFFSET 0)", nil
}

// constant names the column of a fence of which no column is used.
func (w *writer) constant() string {
	for {
		if name := w.unused(); w.ref.Entity.Field(semantic.Name(name)) == nil {
			return name
		}
	}
}

// condition is the row rule, and the caller's literal conditions that may stand
// beside it. One on a masked column stays outside: inside it would test the raw
// value.
func (w *writer) condition() (string, *diag.Error) {
	var parts []string
	switch rows := w.access.Rows; {
	case rows.Truth == policy.Always:
	case rows.Truth == policy.When && strings.TrimSpace(rows.SQL) != "":
		parts = append(parts, "("+rows.SQL+")")
	case rows.Truth == policy.When:
		return "", diag.New(diag.PolicyUnsay, "the row rule of %q cannot be said", w.ref.Alias).At(w.pos)
	default:
		return "false", nil
	}
	for _, c := range w.ref.Conjuncts {
		column, visible := w.access.Columns[c.Column.Key()]
		if w.ref.Entity.Field(c.Column) != nil && visible && column.Mask == nil {
			parts = append(parts, "("+c.SQL+")")
		}
	}
	return strings.Join(parts, " AND "), nil
}
