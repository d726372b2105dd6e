package changes

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic"
)

// TestEveryPartIsClassified: a part that a noun gains must be put into the table,
// with its class and what it names, or changes of it would be misjudged.
func TestEveryPartIsClassified(t *testing.T) {
	nouns := map[reflect.Type]bool{}
	gather(reflect.TypeFor[semantic.Catalog](), nouns)
	for n := range nouns {
		known, ok := parts[n]
		if n == typeOf[semantic.Catalog]() || n == typeOf[semantic.Test]() || n == typeOf[semantic.TestRows]() || n.PkgPath() != "plumbline/semantic" {
			continue // tests are about the models, not part of them; places are no nouns
		}
		require.True(t, ok, "%s is in no table", n)
		var names []string
		for i := range n.NumField() {
			f := n.Field(i)
			names = append(names, f.Name)
			p, ok := known[f.Name]
			require.True(t, ok, "%s.%s is not classified", n, f.Name)
			if p.class == meaning {
				checkLead(t, n, f, p.lead)
			}
		}
		for name := range known {
			require.Contains(t, names, name, "%s has no part %s", n, name)
		}
	}
	for n := range parts {
		require.True(t, nouns[n], "%s is no part of a catalog", n)
	}
}

// gather finds every struct that a type holds.
func gather(t reflect.Type, into map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		gather(t.Elem(), into)
	case reflect.Struct:
		if into[t] {
			return
		}
		into[t] = true
		for i := range t.NumField() {
			gather(t.Field(i).Type, into)
		}
	}
}

// checkLead: what holds nouns is walked; a Name names something unless it is
// known to name nothing of a catalog; a part has a kind that texts are made of.
func checkLead(t *testing.T, n reflect.Type, f reflect.StructField, l lead) {
	inner := f.Type
	for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
		inner = inner.Elem()
	}
	switch inner.Kind() {
	case reflect.Struct:
		require.True(t, l == within || l == toEvents, "%s.%s holds parts that are not walked", n, f.Name)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Interface:
	default:
		t.Fatalf("%s.%s has a kind that is not compared: %s", n, f.Name, inner)
	}
	namesNothing := []string{"SourceRef.Source", "CalendarGrain.Name", "ViewColumn.Name"}
	if inner == typeOf[semantic.Name]() && !slices.Contains(namesNothing, n.Name()+"."+f.Name) {
		require.NotEqual(t, nothing, l, "%s.%s names something that is not followed", n, f.Name)
	}
}
