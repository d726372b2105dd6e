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

// pair is a row of orders, with the row of customers that it was joined to.
type pair struct {
	order, customer int
	status, region  string // "" for NULL
	total           int    // 0 for NULL
}

// groupWorld makes random orders and customers, some of whose keys repeat.
type groupWorld struct {
	r         *rand.Rand
	orders    []pair
	customers []pair
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
	db.Exec(t, "DELETE FROM plumbline.base.customers")
	w.orders, w.customers = nil, nil
	for i := range 12 {
		c := pair{customer: i + 1, region: w.pick("eu", "us", "")}
		if w.r.IntN(8) == 0 {
			c.customer = 1 + w.r.IntN(12) // the promise of the key is broken: a join repeats orders
		}
		w.customers = append(w.customers, c)
		db.Exec(t, fmt.Sprintf("INSERT INTO plumbline.base.customers (id, region, tenant) VALUES (%d, %s, 'acme')", c.customer, text(c.region)))
	}
	for i := range 10 + w.r.IntN(40) {
		o := pair{order: i + 1, customer: 1 + w.r.IntN(14), status: w.pick("paid", "open", "paid", ""), total: w.r.IntN(100)}
		total := fmt.Sprint(o.total)
		if o.total < 20 {
			o.total, total = 0, "NULL"
		}
		tenant := w.pick("acme", "acme", "globex")
		db.Exec(t, fmt.Sprintf("INSERT INTO plumbline.base.orders (id, customer_id, status, total_cents, tenant) VALUES (%d, %d, %s, %s, '%s')",
			o.order, o.customer, text(o.status), total, tenant))
		if tenant == "acme" {
			w.orders = append(w.orders, o)
		}
	}
}

// joined are the rows that a question reads.
func (w *groupWorld) joined(join bool) []pair {
	if !join {
		return w.orders
	}
	var out []pair
	for _, o := range w.orders {
		for _, c := range w.customers {
			if c.customer == o.customer {
				o.region = c.region
				out = append(out, o)
			}
		}
	}
	return out
}

var groupFilters = []struct {
	sql  string
	keep func(pair) bool
}{
	{"", func(pair) bool { return true }},
	{" WHERE o.total_cents > 50", func(p pair) bool { return p.total > 50 }},
	{" WHERE o.id <> 3", func(p pair) bool { return p.order != 3 }},
	{" WHERE o.status = 'paid' OR o.id < 8", func(p pair) bool { return p.status == "paid" || p.order < 8 }},
	{" WHERE o.status IS NULL", func(p pair) bool { return p.status == "" }},
}

var groupValues = []struct {
	sql   string
	reads string // whose column
	join  bool
	value func([]pair) (value string, rows int) // rows with a value
}{
	{"count(*)", "", false, func(g []pair) (string, int) { return fmt.Sprint(len(g)), len(g) }},
	{"sum(o.total_cents)", "o", false, func(g []pair) (string, int) {
		sum, n := 0, 0
		for _, p := range g {
			if sum += p.total; p.total > 0 {
				n++
			}
		}
		return fmt.Sprint(sum), n
	}},
	{"count(DISTINCT o.status)", "o", false, func(g []pair) (string, int) {
		seen, n := map[string]bool{}, 0
		for _, p := range g {
			if p.status != "" {
				seen[p.status] = true
				n++
			}
		}
		return fmt.Sprint(len(seen)), n
	}},
	{"sum(c.id)", "c", true, func(g []pair) (string, int) {
		sum := 0
		for _, p := range g {
			sum += p.customer
		}
		return fmt.Sprint(sum), len(g)
	}},
}

func different(g []pair, key func(pair) int) int {
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
			sizes := map[string]int{"o": 3 + w.r.IntN(5), "c": w.r.IntN(2) * (3 + w.r.IntN(3))}
			d := groupRules()
			for entity, alias := range map[string]string{"orders": "o", "customers": "c"} {
				a := d.Entities[entity]
				a.MinGroup = policy.MinGroup{Size: sizes[alias]}
				d.Entities[entity] = a
			}
			s, h := w.question(t, db, d, sizes)
			shown, hidden = shown+s, hidden+h
		}
	}
	require.Greater(t, shown, 200)
	require.Greater(t, hidden, 200)
}

func (w *groupWorld) question(t *testing.T, db *ducktest.DB, d policy.Decision, sizes map[string]int) (shown, hidden int) {
	join := w.r.IntN(2) == 0
	key, keyOf := w.pick("o.status", "o.customer_id", "1"), func(p pair) string { return "1" }
	if join && w.r.IntN(2) == 0 {
		key = "c.region"
	}
	switch key {
	case "o.status":
		keyOf = func(p pair) string { return p.status }
	case "o.customer_id":
		keyOf = func(p pair) string { return fmt.Sprint(p.customer) }
	case "c.region":
		keyOf = func(p pair) string { return p.region }
	}
	filter, value := groupFilters[w.r.IntN(len(groupFilters))], groupValues[w.r.IntN(len(groupValues))]
	for value.join && !join {
		value = groupValues[w.r.IntN(len(groupValues))]
	}
	from := " FROM orders o"
	if join {
		from += " JOIN customers c ON c.id = o.customer_id"
	}
	asked := "SELECT " + key + " AS k, " + value.sql + " AS v" + from + filter.sql + " GROUP BY " + w.pick("1", "ALL", key)
	if strings.HasSuffix(asked, "GROUP BY 1") && key == "1" {
		asked = strings.TrimSuffix(asked, "1") + "ALL"
	}
	groups := map[string][]pair{}
	for _, p := range w.joined(join) {
		if filter.keep(p) {
			groups[keyOf(p)] = append(groups[keyOf(p)], p)
		}
	}
	var want []string
	for k, g := range groups {
		result, rows := value.value(g)
		orders, customers := different(g, func(p pair) int { return p.order }), different(g, func(p pair) int { return p.customer })
		keep := orders >= sizes["o"] && !(join && customers < sizes["c"])
		switch {
		case value.reads == "o":
			keep = keep && rows >= sizes["o"] && orders == len(g)
		case value.reads == "c" && sizes["c"] > 0:
			keep = keep && customers == len(g)
		}
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
