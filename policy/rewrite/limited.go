package rewrite

import (
	"strconv"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// A column that may not stand in every clause is offered by its fence under a
// name that occurs nowhere in the text, and only those references that resolve
// judged are respelled. Whatever else the text says, it cannot reach the column;
// and prove sees from the name alone which reference reads what.

// limited holds those names by reference and column key.
type limited []map[string]string

// limit names the limited columns of each reference. A reference with a list of
// column names cannot have any, since the list would name them again.
func limit(b *resolve.Bound, d policy.Decision) (limited, error) {
	var errs diag.List
	out := make(limited, len(b.Refs))
	unused := unusedNames("only", b)
	for i := range b.Refs {
		ref := &b.Refs[i]
		access := d.Entities[ref.Entity.Name.Key()]
		out[i] = map[string]string{}
		for _, c := range ref.Columns {
			if class(ref.Entity, access, c) < semantic.Output {
				out[i][c.Key()] = unused()
			}
		}
		if len(out[i]) > 0 && len(ref.Node.ColumnAliases) > 0 {
			errs = append(errs, diag.New(diag.ResolveShape, "a list of column names stands beside columns that may all be selected; %q has others", ref.Alias).
				WithHint("select the columns in a query of their own: FROM (SELECT a, b FROM ...) AS t(x, y)").At(diag.PosAt("", b.Statement.Text, ref.Name.Start)))
		}
	}
	return out, errs.Err()
}

// class is the strictest class of a column and of what it reads.
func class(e *semantic.Entity, access policy.EntityAccess, n semantic.Name) semantic.Visibility {
	field := func(n semantic.Name) semantic.Visibility {
		f := e.Field(n)
		if f == nil {
			return semantic.Private
		}
		return min(f.Visibility, access.Columns[n.Key()].Class)
	}
	dim := e.Dimension(n)
	if e.Field(n) != nil || dim == nil {
		return field(n)
	}
	out, reads := dim.Visibility, dim.Reads
	if dim.Expr == "" {
		reads = []semantic.Name{dim.Field}
	}
	for _, r := range reads {
		out = min(out, field(r))
	}
	return out
}

// respelling is one reference to a limited column.
type respelling struct {
	part  int          // of the name, which is respelled
	span  resolve.Span // of that part
	name  string       // the new one
	label string       // the column as the text spells it
	item  int          // where the label goes, for a select item that is the column alone; 0 for others
}

// respell finds the references to limited columns, by place.
func (l limited) respell(b *resolve.Bound) (map[sqlast.Offset]*respelling, error) {
	out := map[sqlast.Offset]*respelling{}
	for _, u := range b.Uses {
		name, ok := l[u.Ref][u.Column.Key()]
		if !ok {
			continue
		}
		parts, err := sqlast.ColumnParts(b.Statement.Text, u.At)
		if err != nil {
			return nil, err
		}
		at := min(1, len(parts)-1) // behind the relation's name, when there is one
		r := respelling{part: at, span: resolve.Span{Start: parts[at].Start, End: parts[at].End}, name: name, label: parts[at].Name}
		if old := out[u.At]; len(parts) > 2 || semantic.Name(r.label).Key() != u.Column.Key() || old != nil && *old != r {
			return nil, diag.New(diag.BugSplice, "a reference to a column is not its name").At(diag.PosAt("", b.Statement.Text, int(u.At)))
		}
		out[u.At] = &r
	}
	return out, labelled(b.Statement, out)
}

// labelled finds the select items that are a respelled column alone and have no
// name of their own: their label is spliced in.
func labelled(st *sqlast.Statement, spelled map[sqlast.Offset]*respelling) (err error) {
	if len(spelled) == 0 {
		return nil
	}
	sqlast.Walk(st.Root, func(n any) bool {
		q, ok := n.(*sqlast.SelectNode)
		if !ok {
			return true
		}
		for _, e := range q.Select {
			c, ok := e.(*sqlast.ColumnRef)
			if !ok || c.Alias != "" || spelled[c.At] == nil {
				continue
			}
			end, failed := sqlast.ItemEnd(st.Text, c.At)
			if failed != nil {
				err = failed
			}
			spelled[c.At].item = end
		}
		return true
	})
	return err
}

// shift gives where the spans of a text lie once it is spliced. What is spliced
// in at the edge of a span is not of it.
func shift(spans []resolve.Span, list []splice) []resolve.Span {
	moved := func(at int, edge bool) int {
		out := at
		for _, s := range list {
			if s.End < at || s.End == at && (s.Start < s.End || edge) {
				out += len(s.text) - (s.End - s.Start)
			}
		}
		return out
	}
	out := make([]resolve.Span, len(spans))
	for i, s := range spans {
		out[i] = resolve.Span{Start: moved(s.Start, true), End: moved(s.End, false)}
	}
	return out
}

// unusedNames gives names with a prefix that occur nowhere in the text, in any
// case, and are no column of an entity in it.
func unusedNames(prefix string, b *resolve.Bound) func() string {
	taken := strings.ToLower(b.Statement.Text)
	columns := map[string]bool{}
	for _, ref := range b.Refs {
		for _, f := range ref.Entity.Fields {
			columns[f.Name.Key()] = true
		}
		for _, d := range ref.Entity.Dimensions {
			columns[d.Name.Key()] = true
		}
	}
	n := 0
	return func() string {
		for {
			n++
			if name := prefix + "_" + strconv.Itoa(n); !strings.Contains(taken, name) && !columns[name] {
				return name
			}
		}
	}
}
