package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// The days that the data covers.
var (
	firstDay = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	span     = lastDay.AddDate(0, 0, 1).Sub(firstDay)
)

// Each table draws from its own generator, so that a change of one leaves the
// others' bytes alone.
const (
	seedCustomers = iota + 1
	seedProducts
	seedOrders
	seedTickets
	seedBalances
	seedPlans
	seedRates
	seedPurchases
	seedOwners
	seedLabels
	seedVisits
)

func newRand(table uint64) *rand.Rand { return rand.New(rand.NewPCG(0x706c756d62, table)) }

// world is what several tables must agree on.
type world struct {
	customers []customer
	products  []product
	orders    int
	tickets   int
	visits    int
}

// customer is one row of customers.csv and what makes it buy and complain.
type customer struct {
	id                        int64
	name, email, phone, ssn   string // "" is null
	region, plan, tenant      string
	signedUp                  time.Time
	risk                      float64 // negative is null
	buys, buysLately, worries float64 // weights; buysLately counts from fade
}

// product is one row of products.csv.
type product struct {
	id             int64
	name, category string
	price          int64
	size           string
	active         bool
}

// fade is the day from which some customers buy less.
var fade = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)

func newWorld(scale float64) *world {
	count := func(full float64) int { return int(math.Ceil(full * scale)) }
	w := &world{orders: count(500_000), tickets: count(40_000), visits: count(100_000)}
	w.customers = newCustomers(max(count(20_000), 200))
	w.products = newProducts(600)
	return w
}

var (
	firstNames = strings.Fields("Ada Björn Chloé Dmitri Émilie Fatima Grace Håkon Ines José Käthe Łukasz Mei Nguyễn Olga Pedro Quinn Renée Søren Tomáš Ursula Victor Wei Xenia Yūki Zoë")
	lastNames  = strings.Fields("Ångström Brown Çelik Díaz Eriksson Fischer García Hopper Ivanov Jones Kowalski Lovelace Müller Nakamura O'Brien Petrov Ruiz Smith Tanaka Ünal Virtanen Weiß Xu Yamada Žižka 李")
	industries = strings.Fields("Logistics Foods Robotics Textiles Energy Optics Books Tools")
	// oddNames stand at fixed places, so that each is present at every scale.
	oddNames = []string{
		`Anne "Ace" O'Neil`, "Smith, John", "Two\nLines", "Emoji 🚀 Works", "NULL", "select", "Robert'); DROP TABLE orders;--",
		"=SUM(A1:A9)", "Zoe\u0308 Decomposed", "مرحبا", " padded ", `back\slash`, "%_", "null",
	}
)

func newCustomers(n int) []customer {
	r := newRand(seedCustomers)
	out := make([]customer, n)
	days := float64(span / (24 * time.Hour))
	for i := range out {
		share := float64(i) / float64(n)
		c := customer{
			id: int64(i + 1), signedUp: firstDay.AddDate(0, 0, int(days*share*share)),
			tenant: pick(r, "acme", 45, "globex", 35, "initech", 20),
			plan:   pick(r, "free", 60, "pro", 32, "enterprise", 8),
			region: pick(r, "eu", 38, "us", 34, "apac", 16, "latam", 9, "", 3),
			phone:  fmt.Sprintf("+1-555-%03d-%04d", r.IntN(1000), r.IntN(10_000)),
			ssn:    fmt.Sprintf("9%02d-%02d-%04d", i/10_000%100, 10+i%90, i%10_000),
			risk:   math.Round(r.Float64()*10_000) / 10_000,
		}
		c.name, c.email = nameOf(r, c)
		c.email = drop(r, 4, c.email)
		c.phone = drop(r, 10, c.phone)
		c.ssn = drop(r, 2, c.ssn)
		if r.IntN(100) == 0 {
			c.risk = -1
		}
		c.weigh(r)
		out[i] = c
	}
	return out
}

// weigh decides how often a customer buys and complains. A third fades from the
// second quarter of 2026, one in twenty is often in trouble, some never buy.
func (c *customer) weigh(r *rand.Rand) {
	c.buys = map[string]float64{"free": 0.3, "pro": 0.6, "enterprise": 1}[c.plan] * float64(20+r.IntN(81)) / 100
	c.worries = map[string]float64{"free": 0.02, "pro": 0.04, "enterprise": 0.16}[c.plan]
	if r.IntN(33) == 0 {
		c.buys = 0
	}
	c.buysLately = c.buys
	if r.IntN(3) == 0 {
		c.buysLately *= 0.3
	}
	if r.IntN(20) == 0 {
		c.worries *= 6
	}
}

func nameOf(r *rand.Rand, c customer) (name, email string) {
	first, last := firstNames[r.IntN(len(firstNames))], lastNames[r.IntN(len(lastNames))]
	name = first + " " + last
	if c.plan == "enterprise" {
		name = last + " " + industries[r.IntN(len(industries))]
	}
	if i := int(c.id) % 199; i < len(oddNames) {
		name = oddNames[i]
	}
	return name, fmt.Sprintf("user%d@%s.example", c.id, c.tenant)
}

func newProducts(n int) []product {
	r := newRand(seedProducts)
	nouns := strings.Fields("Lamp Chair Kettle Notebook Cable Jacket Röhre Ventil Schraube Bolt Gasket Pump 茶碗 Boots Drill Mug")
	odd := []string{"select", "order", "NULL", `15" Screen`, "Nuts, Bolts & More", "Line\nBreak", "🧰 Kit", "group by"}
	out := make([]product, n)
	for i := range out {
		p := product{
			id: int64(i + 1), name: fmt.Sprintf("%s %03d", nouns[r.IntN(len(nouns))], i+1),
			category: pick(r, "home", 30, "tools", 25, "clothing", 20, "plumbing", 12, "order", 6, "select", 3, "", 4),
			price:    199 + skewed(r, 49_800),
			size:     pick(r, "S", 20, "M", 25, "L", 20, "XL", 10, "36½", 5, "groß", 5, "", 15),
			active:   r.IntN(10) > 0,
		}
		if i%71 < len(odd) {
			p.name = odd[i%71]
		}
		out[i] = p
	}
	return out
}

// skewed draws from [0, limit), small numbers most.
func skewed(r *rand.Rand, limit float64) int64 {
	x := r.Float64()
	return int64(limit * x * x * x)
}

// at is how many customers had signed up by day, the earliest first.
func (w *world) at(day time.Time) int {
	share := float64(day.Sub(firstDay)) / float64(span)
	return max(len(w.customers)/50, int(math.Sqrt(share)*float64(len(w.customers))))
}

// draw picks a customer who had signed up by day, by weight (at most 1).
func (w *world) draw(r *rand.Rand, day time.Time, weight func(*customer) float64) *customer {
	n := w.at(day)
	for {
		c := &w.customers[r.IntN(n)]
		if !c.signedUp.After(day) && r.Float64() < weight(c) {
			return c
		}
	}
}

// pick draws one of the words by weight: word, weight, word, weight.
func pick(r *rand.Rand, wordsAndWeights ...any) string {
	total := 0
	for i := 1; i < len(wordsAndWeights); i += 2 {
		total += wordsAndWeights[i].(int)
	}
	left := r.IntN(total)
	for i := 1; ; i += 2 {
		if left -= wordsAndWeights[i].(int); left < 0 {
			return wordsAndWeights[i-1].(string)
		}
	}
}

// drop turns about percent of a hundred values into null.
func drop(r *rand.Rand, percent int, value string) string {
	if r.IntN(100) < percent {
		return ""
	}
	return value
}
