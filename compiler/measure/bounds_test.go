package measure_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// bounded writes out a text within a context.
func bounded(ctx context.Context, w *world, sql string) (*measure.Text, error) {
	none := map[string]bool{}
	return measure.Write(ctx, sql, measure.Input{Parser: w.db, View: view{w.catalog, none, none, none}, Catalog: w.catalog, Options: metric.Options{Expressions: w.exprs}})
}

// TestWhatIsWrittenIsBounded: keys and conditions are written more than once, so a
// text within the limit may ask for one that is far longer.
func TestWhatIsWrittenIsBounded(t *testing.T) {
	w := newWorld(t, shop())
	long := "'" + strings.Repeat("z", 30000) + "'"
	calls := func(n int, with string) string {
		return strings.Repeat("MEASURE(customer_count)"+with+", ", n-1) + "MEASURE(customer_count)" + with
	}
	for name, c := range map[string]struct {
		text string
		code diag.Code
	}{
		"a key set to itself":   {"SELECT region || " + long + " AS k, MEASURE(customer_count) AT (SET k = concat(" + strings.Repeat("k, ", 2000) + "k)) FROM customers GROUP BY ALL", diag.LimitText},
		"keys of many tables":   {"SELECT region || " + long + " AS k, MEASURE(customer_count) AT (WHERE id = 1), MEASURE(customer_count) AT (WHERE id = 2) FROM customers GROUP BY ALL", diag.LimitText},
		"conditions":            {"SELECT region, MEASURE(customer_count) AT (VISIBLE WHERE id = 1), MEASURE(customer_count) AT (VISIBLE WHERE id = 2) FROM customers WHERE plan <> " + long + " GROUP BY ALL", diag.LimitText},
		"names that are no key": {"SELECT region || " + long + " AS k, MEASURE(customer_count) AT (SET k = concat(" + strings.Repeat("name, ", 2000) + "name)) FROM customers GROUP BY ALL", diag.UnsupportedAsk},
		"calls":                 {"SELECT " + calls(201, "") + " FROM customers", diag.LimitTree},
		"calls with AT":         {"SELECT " + calls(201, " AT (ALL)") + " FROM customers", diag.LimitTree},
	} {
		require.Less(t, len(c.text), sqlast.MaxText, name)
		text, err := bounded(t.Context(), w, c.text)
		require.Equal(t, c.code, diag.CodeOf(err), "%s: %v", name, err)
		require.Nil(t, text, name)
		require.Less(t, len(err.Error()), 2000, "%s: the refusal repeats the text", name)
	}
	_, err := bounded(t.Context(), w, "SELECT "+calls(200, "")+" FROM customers")
	require.NoError(t, err)
}

// ending is a parser that ends the question's time with its second text.
type ending struct {
	sqlast.Parser
	texts int
	end   func()
}

func (e *ending) Serialize(ctx context.Context, text string) ([]byte, error) {
	out, err := e.Parser.Serialize(context.WithoutCancel(ctx), text)
	if e.texts++; e.texts == 2 {
		e.end()
	}
	return out, err
}

// TestWritingEndsWithItsTime: a question whose time is over is not written further.
func TestWritingEndsWithItsTime(t *testing.T) {
	w := newWorld(t, shop())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	none := map[string]bool{}
	in := measure.Input{Parser: &ending{Parser: w.db, end: cancel}, View: view{w.catalog, none, none, none}, Catalog: w.catalog, Options: metric.Options{Expressions: w.exprs}}
	text, err := measure.Write(ctx, "SELECT region, MEASURE(customer_count) FROM customers GROUP BY region", in)
	require.Equal(t, diag.RequestCancelled, diag.CodeOf(err))
	require.Nil(t, text)
}
