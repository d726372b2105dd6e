package sqlast_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
)

// nodes is one value of each node type.
var nodes = []any{
	&sqlast.SelectNode{}, &sqlast.SetOperation{}, &sqlast.RecursiveCTE{},
	&sqlast.EmptyRef{}, &sqlast.BaseTable{}, &sqlast.JoinRef{}, &sqlast.SubqueryRef{}, &sqlast.TableFunction{},
	&sqlast.ValuesRef{}, &sqlast.PivotRef{}, &sqlast.ShowRef{},
	&sqlast.OrderBy{}, &sqlast.Limit{}, &sqlast.Distinct{},
	&sqlast.ColumnRef{}, &sqlast.Constant{}, &sqlast.Function{}, &sqlast.Window{}, &sqlast.Comparison{}, &sqlast.Conjunction{},
	&sqlast.Operator{}, &sqlast.Between{}, &sqlast.Case{}, &sqlast.Cast{}, &sqlast.Collate{}, &sqlast.Star{}, &sqlast.Subquery{},
	&sqlast.Lambda{}, &sqlast.Positional{}, &sqlast.Parameter{}, &sqlast.TypeExpr{}, &sqlast.Default{},
}

// parts are the structs of tree.go that are no nodes but stand inside them.
var parts = []string{"Statement", "QueryBase", "CTE", "Sample", "RefBase", "PivotColumn", "PivotEntry", "Order", "ExprBase",
	"CaseCheck", "Named", "QualifiedName", "Rename", "Value", "TypeName"}

func TestNodesAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tree.go", nil, 0)
	require.NoError(t, err)
	have := slices.Clone(parts)
	for _, n := range nodes {
		have = append(have, reflect.TypeOf(n).Elem().Name())
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.StructType); ok {
				want = append(want, spec.Name.Name)
			}
		}
		return true
	})
	require.ElementsMatch(t, want, have)
}

// planter fills every field that can hold a node and keeps what it planted.
type planter struct{ planted []any }

func (p *planter) fill(v reflect.Value) {
	var child any
	switch v.Type() {
	case reflect.TypeFor[sqlast.Expr]():
		child = &sqlast.Positional{Index: len(p.planted)}
	case reflect.TypeFor[sqlast.Query]():
		child = &sqlast.SetOperation{Op: "planted"}
	case reflect.TypeFor[sqlast.TableRef]():
		child = &sqlast.EmptyRef{}
	case reflect.TypeFor[sqlast.Modifier]():
		child = &sqlast.Limit{}
	case reflect.TypeFor[*sqlast.Function]():
		child = &sqlast.Function{}
	}
	if child != nil {
		p.planted = append(p.planted, child)
		v.Set(reflect.ValueOf(child))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			p.fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		p.fill(v.Index(0))
		p.fill(v.Index(1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		p.fill(v.Elem())
	}
}

func TestWalkReachesEveryChild(t *testing.T) {
	for _, n := range nodes {
		node := reflect.New(reflect.TypeOf(n).Elem())
		p := &planter{}
		p.fill(node.Elem())
		seen := map[any]bool{}
		sqlast.Walk(node.Interface(), func(n any) bool {
			require.False(t, seen[n], "%T visited twice", n)
			seen[n] = true
			return true
		})
		for i, child := range p.planted {
			require.True(t, seen[child], "%T: child %d (%T) is not reached", n, i, child)
		}
		require.Len(t, seen, len(p.planted)+1)

		stopped := 0
		sqlast.Walk(node.Interface(), func(any) bool { stopped++; return false })
		require.Equal(t, 1, stopped)
	}
}

// TestEqualSeesEveryEdit changes one leaf, list or child at a time.
func TestEqualSeesEveryEdit(t *testing.T) {
	db := ducktest.Open(t, nil)
	edits := 0
	for _, text := range corpus(t) {
		a, err := sqlast.Parse(context.Background(), db, text)
		if err != nil {
			continue
		}
		b, err := sqlast.Parse(context.Background(), db, text)
		require.NoError(t, err)
		require.True(t, sqlast.Equal(a.Root, b.Root), text)
		edit(reflect.ValueOf(&b.Root).Elem(), func(path string) {
			edits++
			require.False(t, sqlast.Equal(a.Root, b.Root), "%s: an edit of %s is not seen", text, path)
		}, "")
		require.True(t, sqlast.Equal(a.Root, b.Root), text)
	}
	require.Greater(t, edits, 3000)
}

// edit makes each single change below v, calls check, and takes it back.
func edit(v reflect.Value, check func(string), path string) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	try := func(to reflect.Value) {
		v.Set(to)
		check(path)
		v.Set(old)
	}
	if v.Type() == reflect.TypeFor[sqlast.Offset]() {
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		try(reflect.Zero(v.Type()))
		to := v.Elem()
		if to.Kind() == reflect.Pointer {
			to = to.Elem()
		}
		edit(to, check, path)
	case reflect.Struct:
		for i := range v.NumField() {
			edit(v.Field(i), check, path+"."+v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			try(v.Slice(0, v.Len()-1))
			for i := range v.Len() {
				edit(v.Index(i), check, path+"[]")
			}
		}
		try(reflect.Append(v.Slice3(0, v.Len(), v.Len()), reflect.Zero(v.Type().Elem())))
	case reflect.String:
		try(reflect.ValueOf(v.String() + "x").Convert(v.Type()))
	case reflect.Bool:
		try(reflect.ValueOf(!v.Bool()))
	case reflect.Int:
		try(reflect.ValueOf(int(v.Int()) + 1).Convert(v.Type()))
	}
}

func TestEqualIgnoresPlaces(t *testing.T) {
	db := ducktest.Open(t, nil)
	parse := func(text string) sqlast.Query {
		st, err := sqlast.Parse(context.Background(), db, text)
		require.NoError(t, err)
		return st.Root
	}
	require.True(t, sqlast.Equal(parse("SELECT a+1 FROM t"), parse("select (a  +  1) /* x */ from t -- y")))
	require.False(t, sqlast.Equal(parse("SELECT a+1 FROM t"), parse("SELECT a+1 FROM T")))
	require.False(t, sqlast.Equal(parse("SELECT a-(1-b)"), parse("SELECT a-1-b")))
}
