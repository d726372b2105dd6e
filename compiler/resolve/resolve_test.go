package resolve_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// everyone shows a catalog with the classes that its models declare, minus the
// fields listed as hidden ("customers.email").
type everyone struct {
	c      *semantic.Catalog
	hidden []string
}

func (v everyone) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := v.c.Entity(n)
	if e == nil {
		return nil, nil
	}
	out := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}}
	for _, f := range e.Fields {
		out.Fields[f.Name.Key()] = f.Visibility
	}
	for _, h := range v.hidden {
		if entity, field, _ := strings.Cut(h, "."); entity == e.Name.Key() {
			delete(out.Fields, field)
		}
	}
	return out, nil
}

func (v everyone) Names() []string {
	var out []string
	for _, e := range v.c.Entities {
		out = append(out, string(e.Name))
	}
	return out
}

// bind parses and resolves a text. Text between « and » is the model's.
func bind(db *ducktest.DB, view resolve.View, text string) (*resolve.Bound, error) {
	var opts resolve.Options
	for {
		start := strings.Index(text, "«")
		if start < 0 {
			break
		}
		text = strings.Replace(text, "«", "", 1)
		end := strings.Index(text, "»")
		text = strings.Replace(text, "»", "", 1)
		opts.ModelSpans = append(opts.ModelSpans, resolve.Span{Start: start, End: end})
	}
	st, err := sqlast.Parse(context.Background(), db, text)
	if err != nil {
		return nil, err
	}
	return resolve.Resolve(context.Background(), st, view, opts)
}

// TestResolve prints what resolve knows of a statement. The view is everyone's;
// hidden=customers.email takes a field away.
func TestResolve(t *testing.T) {
	db := ducktest.Open(t, nil)
	datadriven.Walk(t, "testdata/resolve", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			require.Equal(t, "resolve", d.Cmd)
			view := everyone{c: semantictest.Shop()}
			for _, a := range d.CmdArgs {
				require.Equal(t, "hidden", a.Key)
				view.hidden = append(view.hidden, a.Vals...)
			}
			b, err := bind(db, view, d.Input)
			if err != nil {
				return err.Error()
			}
			return show(b)
		})
	})
}

func show(b *resolve.Bound) string {
	var s strings.Builder
	for i, r := range b.Refs {
		fmt.Fprintf(&s, "ref %d: %s as %s%s columns=%v", i, r.Entity.Name, r.Alias, map[bool]string{true: " (+as)"}[r.AddAlias], r.Columns)
		for _, c := range r.Conjuncts {
			fmt.Fprintf(&s, " where[%s]", c.SQL)
		}
		if len(r.Met) > 0 {
			fmt.Fprintf(&s, " met=%v", r.Met)
		}
		fmt.Fprintf(&s, " %q\n", b.Statement.Text[r.Name.Start:r.Name.End])
	}
	for _, u := range b.Uses {
		fmt.Fprintf(&s, "use %d.%s %s", u.Ref, u.Column, u.Clause)
		if u.Aggregate != "" {
			fmt.Fprintf(&s, " in %s", u.Aggregate)
		}
		if u.Bare {
			s.WriteString(" bare")
		}
		if u.Literal {
			s.WriteString(" literal")
		}
		if u.Other != nil {
			fmt.Fprintf(&s, " with %d.%s", u.OtherRef, u.Other.Column)
		}
		if u.JoinType != "" {
			s.WriteString(" " + u.JoinType)
		}
		if u.Origin == resolve.Model {
			s.WriteString(" model")
		}
		s.WriteString("\n")
	}
	for _, o := range b.Outputs {
		fmt.Fprintf(&s, "out %q", o.Name)
		for _, f := range o.From {
			fmt.Fprintf(&s, " %s.%s", f.Entity, f.Column)
		}
		if o.Bare {
			s.WriteString(" bare")
		}
		s.WriteString("\n")
	}
	for _, x := range b.Stars {
		fmt.Fprintf(&s, "star %q -> %s\n", b.Statement.Text[x.Span.Start:x.Span.End], x.SQL)
	}
	for _, n := range b.Names {
		fmt.Fprintf(&s, "name after %q: %s\n", b.Statement.Text[max(0, n.At-12):n.At], n.Label)
	}
	for _, f := range b.Functions {
		fmt.Fprintf(&s, "function %s %s/%d\n", f.Kind, f.Name, f.Args)
	}
	if b.Ordered {
		s.WriteString("ordered\n")
	}
	if len(b.Unordered) > 0 {
		fmt.Fprintf(&s, "unordered %q\n", b.Unordered)
	}
	if b.Limit != nil {
		fmt.Fprintf(&s, "limit %d\n", *b.Limit)
	}
	return s.String()
}
