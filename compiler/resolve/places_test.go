package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// plants lists the edits that put something into each place of a tree that may hold it.
func plants(path string, v reflect.Value, what any) (out []func() string) {
	if v.Kind() == reflect.Interface && reflect.TypeOf(what).Implements(v.Type()) && !v.IsNil() {
		out = append(out, func() string { v.Set(reflect.ValueOf(what)); return path })
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			node := reflect.Indirect(reflect.ValueOf(v.Interface()))
			out = append(out, plants(path+"("+node.Type().Name()+")", node, what)...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, plants(path+"."+v.Type().Field(i).Name, v.Field(i), what)...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, plants(fmt.Sprintf("%s[%d]", path, i), v.Index(i), what)...)
		}
	}
	return out
}

// TestEveryPlaceIsBound plants what resolve must refuse into every place of texts of
// all forms, also what DuckDB's parser would not put there.
func TestEveryPlaceIsBound(t *testing.T) {
	db := ducktest.Open(t, nil)
	view := everyone{c: semantictest.Shop()}
	harmless := []string{"(Lambda).Params", ".Entries"} // names of parameters; the values of a PIVOT
	places := 0
	for _, text := range []string{
		`SELECT CASE WHEN o.id BETWEEN 1 AND 2 THEN 'a' ELSE 'b' COLLATE NOCASE END AS x, CAST(id AS DECIMAL(10, 2)) AS y, id IN (1, 2) AS z FROM orders o`,
		`SELECT sum(o.id) FILTER (WHERE o.id > 1) OVER (PARTITION BY o.status ORDER BY o.id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM orders o`,
		`SELECT DISTINCT ON (o.id) o.id, lag(o.id, 1, 0) OVER (ORDER BY o.id) AS l FROM orders o WHERE o.id > 1 ORDER BY o.id`,
		`SELECT status, list(o.id ORDER BY o.status) FILTER (WHERE id > 1) AS l, list_transform([1], lambda x: x + 1) AS j FROM orders o, (VALUES (1), (2)) AS v(a), range(3) AS r(n) GROUP BY status HAVING count(*) > 1 QUALIFY row_number() OVER () > 0`,
		`WITH RECURSIVE r(n) AS (SELECT id FROM orders UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r WHERE n = ANY (SELECT id FROM products) UNION SELECT 1 AS n ORDER BY n`,
		`SELECT o.id FROM orders o LEFT JOIN customers c ON c.id = o.customer_id AND c.region = 'eu' WHERE EXISTS (SELECT 1 FROM products WHERE id = o.id)`,
		`SELECT * REPLACE (id + 1 AS id) FROM orders`,
		`FROM orders PIVOT (sum(total_cents) AS s FOR status IN ('paid', 'open') GROUP BY tenant)`,
	} {
		st, err := sqlast.Parse(context.Background(), db, text)
		require.NoError(t, err)
		_, err = resolve.Resolve(context.Background(), st, view, resolve.Options{})
		require.NoError(t, err, text)
		for _, what := range []any{&sqlast.ColumnRef{Names: []string{"nope"}}, &sqlast.Parameter{}, &sqlast.Default{}, &sqlast.Positional{Index: 99},
			&sqlast.BaseTable{Catalog: "memory", Table: "orders"}, &sqlast.BaseTable{Table: "orders", AtClause: []byte("{}")}, &sqlast.BaseTable{Schema: "x", Table: "orders"}} {
			for i := range plants("", reflect.ValueOf(&st.Root).Elem(), what) {
				st, err := sqlast.Parse(context.Background(), db, text)
				require.NoError(t, err)
				path := plants("", reflect.ValueOf(&st.Root).Elem(), what)[i]()
				if _, err := resolve.Resolve(context.Background(), st, view, resolve.Options{}); err == nil && !strings.Contains(path, harmless[0]) && !strings.Contains(path, harmless[1]) {
					t.Errorf("%s: nothing refuses %T in%s", text, what, path)
				}
				places++
			}
		}
	}
	require.Greater(t, places, 300)
}

// failingView fails when it is asked for an entity.
type failingView struct{ everyone }

var errView = errors.New("the view is gone")

func (failingView) Entity(semantic.Name) (*resolve.Visible, error) { return nil, errView }

// TestResolveEnds: a view that fails and a call that ended are told as they are.
func TestResolveEnds(t *testing.T) {
	db := ducktest.Open(t, nil)
	shop := everyone{c: semantictest.Shop()}
	_, err := bind(db, failingView{shop}, `SELECT id FROM orders`)
	require.ErrorIs(t, err, errView)
	st, err := sqlast.Parse(context.Background(), db, `SELECT id FROM orders`)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = resolve.Resolve(ended, st, shop, resolve.Options{})
	require.Equal(t, diag.RequestCancelled, diag.CodeOf(err))
}

var errGone = errors.New("the parser is gone")

// failingParser fails from one call on.
type failingParser struct {
	*ducktest.DB
	left int
}

func (f *failingParser) Serialize(ctx context.Context, text string) ([]byte, error) {
	if f.left--; f.left < 0 {
		return nil, errGone
	}
	return f.DB.Serialize(ctx, text)
}

// TestCheckModelEnds: whichever call of the parser fails, what it says comes back.
func TestCheckModelEnds(t *testing.T) {
	db := ducktest.Open(t, nil)
	for calls := 0; ; calls++ {
		p := &failingParser{DB: db, left: calls}
		_, err := resolve.CheckModel(context.Background(), p, semantictest.Shop())
		if p.left >= 0 {
			require.NoError(t, err)
			require.Positive(t, calls)
			return
		}
		require.ErrorIs(t, err, errGone, "call %d", calls)
	}
}
