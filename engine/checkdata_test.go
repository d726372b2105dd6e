package engine

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"plumbline"
	"plumbline/compiler/resolve"
	"plumbline/engine/audit"
	"plumbline/policy"
	"plumbline/policy/opa"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/load"
)

// promising is a catalog that promises all that can be promised of data.
func promising() *semantic.Catalog {
	field := func(name semantic.Name, t semantic.Type, samples ...string) *semantic.Field {
		return &semantic.Field{Name: name, Column: string(name), Type: t, Description: "the " + string(name), Visibility: semantic.Private, Samples: samples}
	}
	on := func(pairs ...semantic.Name) (out []semantic.JoinPair) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, semantic.JoinPair{From: pairs[i], To: pairs[i+1]})
		}
		return out
	}
	names := func(n ...semantic.Name) []semantic.Name { return n }
	place := func(name semantic.Name, expr string) *semantic.Dimension {
		d := &semantic.Dimension{Name: name, Description: "the " + string(name), Kind: semantic.KindText, Type: "varchar", Visibility: semantic.Output, Field: name, Reads: names(name)}
		if expr != "" {
			d.Field, d.Expr, d.Reads = "", expr, nil
		}
		return d
	}
	shops := &semantic.Entity{Name: "shops", PrimaryKey: names("id"),
		Fields:      []*semantic.Field{field("id", "bigint", "1"), field("city", "varchar", "Rome", "O'Fallon"), field("region", "varchar"), field("opened", "date", "2026-01-01", "no date")},
		Dimensions:  []*semantic.Dimension{place("city", ""), place("region", ""), place("half", "CASE WHEN region = 'east' THEN 'E' ELSE 'W' END")},
		Hierarchies: []*semantic.Hierarchy{{Name: "places", Levels: names("half", "region", "city")}},
		Relationships: []*semantic.Relationship{{Name: "owners", To: "owners", Kind: semantic.ManyToMany,
			Through: &semantic.Bridge{Entity: "owned", Near: "shop", Far: "owner", Allocate: semantic.AllocateWeight, Weight: "part"}}},
	}
	owners := &semantic.Entity{Name: "owners", PrimaryKey: names("id"), Fields: []*semantic.Field{field("id", "bigint")},
		Relationships: []*semantic.Relationship{{Name: "deeds", To: "deeds", Kind: semantic.OneToMany, On: on("id", "owner_id")}}}
	owned := &semantic.Entity{Name: "owned", Fields: []*semantic.Field{field("shop_id", "bigint"), field("owner_id", "bigint"), field("part", "decimal(5,4)")},
		Relationships: []*semantic.Relationship{
			{Name: "shop", To: "shops", Kind: semantic.ManyToOne, On: on("shop_id", "id")},
			{Name: "owner", To: "owners", Kind: semantic.ManyToOne, On: on("owner_id", "id")},
		}}
	deeds := &semantic.Entity{Name: "deeds", Fields: []*semantic.Field{field("owner_id", "bigint")},
		Relationships: []*semantic.Relationship{{Name: "owner", To: "owners", Kind: semantic.OneToOne, On: on("owner_id", "id")}}}
	prices := &semantic.Entity{Name: "prices", PrimaryKey: names("sku", "since"), Fields: []*semantic.Field{field("sku", "varchar"), field("since", "date"), field("until", "date")}}
	rates := &semantic.Entity{Name: "rates", Fields: []*semantic.Field{field("currency", "varchar"), field("at", "timestamp")}}
	sales := &semantic.Entity{Name: "sales",
		Fields: []*semantic.Field{field("id", "bigint"), field("shop_id", "bigint"), field("sku", "varchar"), field("day", "date"), field("currency", "varchar"), field("moment", "timestamp"), field("order", "bigint")},
		Relationships: []*semantic.Relationship{
			{Name: "shop", To: "shops", Kind: semantic.ManyToOne, On: on("shop_id", "id"), Complete: true},
			{Name: "other", To: "shops", Kind: semantic.ManyToOne, On: on("order", "id")},
			{Name: "price", To: "prices", Kind: semantic.ManyToOne, On: on("sku", "sku"), Valid: &semantic.Validity{At: "day", From: "since", To: "until"}},
			{Name: "rate", To: "rates", Kind: semantic.ManyToOne, On: on("currency", "currency"), AsOf: &semantic.AsOf{At: "moment", Time: "at"}},
		}}
	days := &semantic.Entity{Name: "days", Fields: []*semantic.Field{field("day", "date"), field("week", "date")}}
	all := []*semantic.Entity{shops, owners, owned, deeds, prices, rates, sales, days}
	for i, e := range all {
		e.Pos = diag.Pos{File: "m.cue", Line: i + 1}
	}
	return semantic.NewCatalog(semantic.Catalog{Entities: all,
		Calendars: []*semantic.Calendar{{Name: "retail", Entity: "days", Date: "day", Grains: []semantic.CalendarGrain{{Name: "retail_week", Start: "week"}}}}})
}

type row = map[string]any

func num(s string) json.Number { return json.Number(s) }

// kept are rows that keep every promise of promising, at their boundaries: an
// interval begins where the one before it ends, the last has no end, an as-of row
// is of the very moment, a NULL key is no orphan.
func kept() map[semantic.Name][]row {
	return map[semantic.Name][]row{
		"shops": {
			{"id": num("1"), "city": "Rome", "region": "east", "opened": "2026-01-01"}, {"id": num("2"), "city": "O'Fallon", "region": "west"},
			{"id": nil, "city": nil, "region": "west"}, {"id": nil, "city": nil, "region": "east"},
		},
		"owners": {{"id": num("1")}, {"id": num("2")}, {"id": num("3")}},
		"owned": {
			{"shop_id": num("1"), "owner_id": num("1"), "part": num("0.3333")}, {"shop_id": num("1"), "owner_id": num("2"), "part": num("0.3333")},
			{"shop_id": num("1"), "owner_id": num("3"), "part": num("0.3334")}, {"shop_id": num("2"), "owner_id": num("1"), "part": num("1")},
		},
		"deeds": {{"owner_id": num("1")}, {"owner_id": num("2")}},
		"prices": {
			{"sku": "a", "since": "2026-01-01", "until": "2026-02-01"}, {"sku": "a", "since": "2026-02-01", "until": nil},
			{"sku": "b", "since": "2026-01-15", "until": "2026-01-15"}, {"sku": "b", "since": "2026-01-16", "until": "2026-03-01"},
		},
		"rates": {{"currency": "eur", "at": "2026-01-01T00:00:00"}, {"currency": "usd", "at": "2026-01-01T00:00:00"}, {"currency": "eur", "at": "2026-01-02T00:00:00"}},
		"sales": {
			{"id": num("1"), "shop_id": num("1"), "sku": "a", "day": "2026-02-01", "currency": "eur", "moment": "2026-01-01T00:00:00", "order": num("2")},
			{"id": num("2"), "shop_id": num("2"), "sku": nil, "day": nil, "currency": "chf", "moment": nil, "order": nil},
		},
		"days": {{"day": "2026-01-01", "week": "2025-12-29"}, {"day": "2026-01-02", "week": "2025-12-29"}, {"day": "2026-01-03", "week": "2026-01-03"}},
	}
}

// checking opens engines over a catalog made in Go.
type checking struct {
	t       *testing.T
	engine  *Engine
	catalog *semantic.Catalog
}

func newChecking(t *testing.T, c *semantic.Catalog) checking {
	root := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, load.Init(root, plumbline.Files))
	ws, _, err := load.Dir(root)
	require.NoError(t, err)
	rules, err := opa.Open(ws.Policies, opa.Options{MaskKey: make([]byte, 32)})
	require.NoError(t, err)
	log, err := audit.Open(ws.Audit)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, log.Close()) })
	e := &Engine{audit: log, now: time.Now, quota: &quota{}, opts: Options{Temp: t.TempDir()}}
	e.current.Store(&world{ws: ws, catalog: c, policy: rules, functions: functionNames()})
	return checking{t, e, c}
}

// check gives what CheckData finds in rows, each on a line.
func (c checking) check(rows map[semantic.Name][]row) string {
	var given []semantic.TestRows
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		given = append(given, semantic.TestRows{Entity: n, Rows: rows[n]})
	}
	on, err := c.engine.withRows(c.t.Context(), given)
	require.NoError(c.t, err)
	defer func() { require.NoError(c.t, on.Close()) }()
	w := on.current.Load()
	w.expressions, err = resolve.CheckModel(c.t.Context(), w.pool, c.catalog)
	require.NoError(c.t, err)
	warnings, err := on.CheckData(c.t.Context(), policy.Subject{ID: "operator", Roles: []string{"operator"}, Claims: map[string]any{}})
	var out strings.Builder
	for _, d := range diag.All(err) {
		out.WriteString("error: " + d.Error() + "\n")
	}
	for _, d := range warnings {
		out.WriteString("warning: " + d.Error() + "\n")
	}
	return out.String()
}

func TestCheckData(t *testing.T) {
	c := newChecking(t, promising())
	// no date is a sample that no data hold; it shows that samples are looked for.
	const sound = `warning: model.data: 1 of the 2 samples of field "opened" of "shops" are no longer among its values; callers are shown them as examples: correct the samples
`
	require.Equal(t, sound, c.check(kept()))

	more := func(entity semantic.Name, rows ...row) func(map[semantic.Name][]row) {
		return func(m map[semantic.Name][]row) { m[entity] = append(m[entity], rows...) }
	}
	for _, f := range []struct {
		name   string
		breaks func(map[semantic.Name][]row)
		want   string
	}{
		{"key", more("shops", row{"id": num("2"), "city": "Rome", "region": "east"}), `error: m.cue:1: model.data: the primary key of "shops" does not repeat, but 1 of its values do`},
		{"complete", more("sales", row{"shop_id": nil}, row{"shop_id": num("9")}), `error: model.data: relationship "shop" of "sales" is declared complete, but 2 of its rows find no partner`},
		{"orphan", more("sales", row{"shop_id": num("1"), "order": num("9")}), `warning: model.data: relationship "other" of "sales" leads to "shops", where 1 of its rows find no partner`},
		{"bridge's end", more("owned", row{"shop_id": num("2"), "owner_id": num("9"), "part": num("0")}), `warning: model.data: relationship "owner" of "owned" leads to "owners", where 1 of its rows find no partner`},
		{"weights", more("owned", row{"shop_id": num("2"), "owner_id": num("2"), "part": num("0.0001")}), `warning: model.data: the weights of "owned" by "owners" do not add up to 1 for 1 row of "shops"`},
		{"no weight", more("owned", row{"shop_id": num("2"), "owner_id": num("2"), "part": nil}), `warning: model.data: the weights of "owned" by "owners" do not add up to 1 for 1 row of "shops"`},
		{"pair twice", more("owned", row{"shop_id": num("2"), "owner_id": num("1"), "part": num("0")}), `error: model.data: a pair stands in the bridge "owned" once, but 1 pair stands there several times`},
		{"one to one", more("deeds", row{"owner_id": num("2")}), `warning: model.data: relationship "owner" of "deeds" is declared one to one, but 1 partner has more than one row`},
		{"before the first version", more("sales", row{"shop_id": num("1"), "sku": "a", "day": "2025-12-31"}), `warning: model.data: relationship "price" of "sales" leads to "prices", where 1 of its rows find no partner`},
		{"at the end of the last version", more("sales", row{"shop_id": num("1"), "sku": "b", "day": "2026-03-01"}), `warning: model.data: relationship "price" of "sales" leads to "prices", where 1 of its rows find no partner`},
		{"before the first rate", more("sales", row{"shop_id": num("1"), "currency": "eur", "moment": "2025-12-31T23:59:59"}), `warning: model.data: relationship "rate" of "sales" leads to "rates", where 1 of its rows find no partner`},
		{"overlap", more("prices", row{"sku": "b", "since": "2026-02-28", "until": nil}), `error: model.data: relationship "price" takes the version of "prices" that is valid at a time, but 1 version ends after the next one of the key begins`},
		{"overlap with one that has no end", more("prices", row{"sku": "a", "since": "2027-01-01", "until": "2027-02-01"}), `error: model.data: relationship "price" takes the version of "prices" that is valid at a time, but 1 version ends after the next one of the key begins`},
		{"end before start", more("prices", row{"sku": "c", "since": "2026-02-01", "until": "2026-01-01"}), `error: model.data: relationship "price" takes the version of "prices" that is valid at a time, but 1 version ends before it begins`},
		{"two rates of one time", more("rates", row{"currency": "eur", "at": "2026-01-01T00:00:00"}), `error: model.data: relationship "rate" of "sales" takes the last row of "rates" at a time, but 1 time has more than one row of a key`},
		{"one city in two regions", more("shops", row{"id": num("3"), "city": "Rome", "region": "west"}), `warning: model.data: in the hierarchy "places" of "shops", a value of "city" lies in one value of "region", but 1 lies in several`},
		{"a day twice", more("days", row{"day": "2026-01-02", "week": "2025-12-29"}), `error: model.data: calendar "retail" has one row for each day, but 1 row repeats the date of another`},
		{"days missing", more("days", row{"day": "2026-01-06", "week": "2026-01-03"}), `error: model.data: calendar "retail" has one row for each day, but 2 days between its first and its last have no row`},
		{"no date", more("days", row{"day": nil, "week": "2026-01-03"}), `error: model.data: calendar "retail" has one row for each day, but 1 row has no date`},
		{"a week that begins later", more("days", row{"day": "2026-01-04", "week": "2026-01-05"}), `error: model.data: calendar "retail" has one row for each day, but 1 day has no retail_week, or one that begins later`},
		{"no rows", func(m map[semantic.Name][]row) { m["deeds"] = nil }, `warning: m.cue:4: model.data: "deeds" has no rows`},
		{"no value", func(m map[semantic.Name][]row) { m["sales"][0]["order"] = nil }, `warning: model.data: field "order" of "sales" has no value in any row`},
		{"no sample", func(m map[semantic.Name][]row) { m["shops"][1]["city"] = "Turin" }, `warning: model.data: 1 of the 2 samples of field "city" of "shops" are no longer among its values`},
		{"a text that is no date", more("days", row{"day": "2026-02-30", "week": "2026-01-03"}), `error: source.corrupt: a file behind "days" cannot be read as declared`},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := checking{t, c.engine, c.catalog}
			rows := kept()
			f.breaks(rows)
			got := strings.ReplaceAll(c.check(rows), sound, "")
			require.Contains(t, got, f.want)
			require.Equal(t, 1, strings.Count(got, "\n"), "one fault, one finding:\n%s", got)
		})
	}
}
