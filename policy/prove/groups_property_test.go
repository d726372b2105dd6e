package prove_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/engine/duck/ducktest"
	"plumbline/policy"
)

// order is a row of orders.
type order struct {
	id, customer int
	status       string // "" for NULL
	total        int    // 0 for NULL
}

// groupWorld makes random orders, some of whose keys repeat.
type groupWorld struct {
	r      *rand.Rand
	orders []order
}

func (w *groupWorld) pick(words ...string) string { return words[w.r.IntN(len(words))] }

func text(s string) string {
	if s == "" {
		return "NULL"
	}
	return "'" + s + "'"
}

func (w *groupWorld) fill(t *testing.T, db *ducktest.DB) {
	db.Exec(t, "DELETE FROM plumbline.base.orders")
	w.orders = nil
	for i := range 10 + w.r.IntN(40) {
		o := order{id: i + 1, customer: 1 + w.r.IntN(14), status: w.pick("paid", "open", "paid", ""), total: w.r.IntN(100)}
		total := fmt.Sprint(o.total)
		if w.r.IntN(8) == 0 {
			o.id = 1 + w.r.IntN(i+1) // the promise of the key is broken
		}
		if o.total < 20 {
			o.total, total = 0, "NULL"
		}
		tenant := w.pick("acme", "acme", "globex")
		db.Exec(t, fmt.Sprintf("INSERT INTO plumbline.base.orders (id, customer_id, status, total_cents, tenant) VALUES (%d, %d, %s, %s, '%s')",
			o.id, o.customer, text(o.status), total, tenant))
		if tenant == "acme" {
			w.orders = append(w.orders, o)
		}
	}
}

var groupFilters = []struct {
	sql  string
	keep func(order) bool
}{
	{"", func(order) bool { return true }},
	{" WHERE o.total_cents > 50", func(p order) bool { return p.total > 50 }},
	{" WHERE o.id <> 3", func(p order) bool { return p.id != 3 }},
	{" WHERE o.status = 'paid' OR o.id < 8", func(p order) bool { return p.status == "paid" || p.id < 8 }},
	{" WHERE o.status IS NULL", func(p order) bool { return p.status == "" }},
}

var groupValues = []struct {
	sql   string
	reads bool                                   // a column
	value func([]order) (value string, rows int) // rows with a value
}{
	{"count(*)", false, func(g []order) (string, int) { return fmt.Sprint(len(g)), len(g) }},
	{"sum(o.total_cents)", true, func(g []order) (string, int) {
		sum, n := 0, 0
		for _, p := range g {
			if sum += p.total; p.total > 0 {
				n++
			}
		}
		return fmt.Sprint(sum), n
	}},
	{"count(DISTINCT o.status)", true, func(g []order) (string, int) {
		seen, n := map[string]bool{}, 0
		for _, p := range g {
			if p.status != "" {
				seen[p.status] = true
				n++
			}
		}
		return fmt.Sprint(len(seen)), n
	}},
}

func different(g []order, key func(order) int) int {
	seen := map[int]bool{}
	for _, p := range g {
		seen[key(p)] = true
	}
	return len(seen)
}

// TestRandomGroups asks for random groups of random rows: an answer has every group
// of the size with its values, and no other.
func TestRandomGroups(t *testing.T) {
	db := openShop(t)
	w := &groupWorld{r: rand.New(rand.NewPCG(20240331, 5))}
	shown, hidden := 0, 0
	for range 60 {
		w.fill(t, db)
		for range 6 {
			d, size := groupRules(), 3+w.r.IntN(5)
			a := d.Entities["orders"]
			a.MinGroup = policy.MinGroup{Size: size}
			d.Entities["orders"] = a
			s, h := w.question(t, db, d, size)
			shown, hidden = shown+s, hidden+h
		}
	}
	require.Greater(t, shown, 200)
	require.Greater(t, hidden, 200)
}

func (w *groupWorld) question(t *testing.T, db *ducktest.DB, d policy.Decision, size int) (shown, hidden int) {
	key, keyOf := w.pick("o.status", "o.customer_id", "1"), func(p order) string { return "1" }
	switch key {
	case "o.status":
		keyOf = func(p order) string { return p.status }
	case "o.customer_id":
		keyOf = func(p order) string { return fmt.Sprint(p.customer) }
	}
	filter, value := groupFilters[w.r.IntN(len(groupFilters))], groupValues[w.r.IntN(len(groupValues))]
	asked := "SELECT " + key + " AS k, " + value.sql + " AS v FROM orders o" + filter.sql + " GROUP BY " + w.pick("1", "ALL", key)
	if strings.HasSuffix(asked, "GROUP BY 1") && key == "1" {
		asked = strings.TrimSuffix(asked, "1") + "ALL"
	}
	groups := map[string][]order{}
	for _, p := range w.orders {
		if filter.keep(p) {
			groups[keyOf(p)] = append(groups[keyOf(p)], p)
		}
	}
	var want []string
	for k, g := range groups {
		result, rows := value.value(g)
		keep := different(g, func(p order) int { return p.id }) >= size && (!value.reads || rows >= size)
		if !keep {
			hidden++
			continue
		}
		shown++
		if k == "" {
			k = "<nil>"
		}
		want = append(want, k+"\t"+result)
	}
	final, err := ask(db, asked, d)
	require.NoError(t, err, asked)
	got := db.Rows(t, final)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"), "%s\n%s", asked, final)
	return shown, hidden
}
