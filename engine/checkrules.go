package engine

import (
	"fmt"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// The promises of a model, each with the SQL that counts what breaks it. A NULL
// in a key meets nothing, so rows with one are left out except where a
// relationship says complete.

// broken is a promise about one number: say is asked when it is not 0.
func broken(at diag.Pos, ask string, say func(n int64) (msg, hint string)) promise {
	return promise{ask: ask, hold: func(n []int64) diag.List {
		if n[0] == 0 {
			return nil
		}
		msg, hint := say(n[0])
		return diag.List{diag.New(diag.ModelData, "%s", msg).At(at).WithHint("%s", hint)}
	}}
}

// warning is a promise that makes no number wrong by itself.
func warning(p promise) promise { p.warn = true; return p }

func keys(e *semantic.Entity) []promise {
	if len(e.PrimaryKey) == 0 {
		return nil
	}
	return []promise{broken(e.Pos, repeated(e, e.PrimaryKey), func(n int64) (string, string) {
		return fmt.Sprintf("the primary key of %q does not repeat, but %d of its values do", e.Name, n),
			"a metric that reaches it would count rows several times: correct the data or the key"
	})}
}

// partners are the promises of one relationship, on both its ends.
func partners(c *semantic.Catalog, e *semantic.Entity, r *semantic.Relationship) []promise {
	to := c.Entity(r.To)
	var out []promise
	switch r.Kind {
	case semantic.ManyToMany:
		return bridge(c, e, r)
	case semantic.OneToMany:
		return nil // it documents a to-one relationship of the other side
	case semantic.OneToOne:
		out = append(out, warning(broken(r.Pos, repeated(e, froms(r)), func(n int64) (string, string) {
			return fmt.Sprintf("relationship %q of %q is declared one to one, but %s more than one row", r.Name, e.Name, some(n, "partner has", "partners have")),
				"declare it many to one, or correct the data"
		})))
	}
	out = append(out, orphans(e, r))
	if r.Valid != nil {
		out = append(out, versions(to, r)...)
	}
	if r.AsOf != nil {
		keyed := append(tos(r), r.AsOf.Time)
		out = append(out, broken(r.Pos, repeated(to, keyed), func(n int64) (string, string) {
			return fmt.Sprintf("relationship %q of %q takes the last row of %q at a time, but %s more than one row of a key", r.Name, e.Name, r.To, some(n, "time has", "times have")),
				"which of them is taken would be chance: correct the data"
		}))
	}
	return out
}

// repeated counts the values of columns that stand in more than one row.
func repeated(e *semantic.Entity, columns []semantic.Name) string {
	return fmt.Sprintf("SELECT count(*) AS n FROM (SELECT 1 AS one FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1) AS k",
		quote(e.Name), known("", columns), quoteAll("", columns))
}

// orphans counts the rows without a partner: an error where the relationship
// says complete, also for rows that name none; a warning otherwise, for rows
// that name one.
func orphans(e *semantic.Entity, r *semantic.Relationship) promise {
	find := fmt.Sprintf(`SELECT count(*) AS n FROM %s AS "e" WHERE NOT EXISTS (SELECT 1 FROM %s AS "p" WHERE %s)`, quote(e.Name), quote(r.To), meets(r))
	if r.Complete {
		return broken(r.Pos, find, func(n int64) (string, string) {
			return fmt.Sprintf("relationship %q of %q is declared complete, but %d of its rows find no partner", r.Name, e.Name, n),
				"such rows would vanish from answers: correct the data, or leave complete out"
		})
	}
	named := froms(r)
	switch {
	case r.Valid != nil:
		named = append(named, r.Valid.At)
	case r.AsOf != nil:
		named = append(named, r.AsOf.At)
	}
	return warning(broken(r.Pos, find+" AND "+known(`"e".`, named), func(n int64) (string, string) {
		return fmt.Sprintf("relationship %q of %q leads to %q, where %d of its rows find no partner", r.Name, e.Name, r.To, n),
			"they count under NULL wherever a question groups by it"
	}))
}

// meets is the condition under which the row p is the partner of the row e.
func meets(r *semantic.Relationship) string {
	var all []string
	for _, p := range r.On {
		all = append(all, `"p".`+quote(p.To)+` = "e".`+quote(p.From))
	}
	if v := r.Valid; v != nil {
		all = append(all, `"p".`+quote(v.From)+` <= "e".`+quote(v.At),
			`("p".`+quote(v.To)+` IS NULL OR "e".`+quote(v.At)+` < "p".`+quote(v.To)+`)`)
	}
	if a := r.AsOf; a != nil {
		all = append(all, `"p".`+quote(a.Time)+` <= "e".`+quote(a.At))
	}
	return strings.Join(all, " AND ")
}

// versions: the intervals of one key are in order and do not overlap. Sorted by
// start, intervals that overlap make some neighbours overlap.
func versions(to *semantic.Entity, r *semantic.Relationship) []promise {
	from, until := quote(r.Valid.From), quote(r.Valid.To)
	overlap := fmt.Sprintf(`SELECT count(*) AS n FROM (SELECT %[2]s AS "its end", lead(%[1]s) OVER (PARTITION BY %[3]s ORDER BY %[1]s) AS "next start" FROM %[4]s WHERE %[5]s AND (%[2]s IS NULL OR %[2]s > %[1]s)) AS "v" WHERE "next start" IS NOT NULL AND ("its end" IS NULL OR "its end" > "next start")`,
		from, until, quoteAll("", tos(r)), quote(to.Name), known("", append(tos(r), r.Valid.From)))
	return []promise{
		broken(r.Pos, overlap, func(n int64) (string, string) {
			return fmt.Sprintf("relationship %q takes the version of %q that is valid at a time, but %s after the next one of the key begins", r.Name, to.Name, some(n, "version ends", "versions end")),
				"a row in between would have two partners and count twice: correct the intervals; an end is the first moment that is no longer part"
		}),
		broken(r.Pos, fmt.Sprintf("SELECT count(*) AS n FROM %s WHERE %s < %s", quote(to.Name), until, from), func(n int64) (string, string) {
			return fmt.Sprintf("relationship %q takes the version of %q that is valid at a time, but %s before it begins", r.Name, to.Name, some(n, "version ends", "versions each end")),
				"no row ever meets them: correct the intervals"
		}),
	}
}

// bridge: pairs are found by to-one relationships of the bridge, which are
// counted as such; here are the weights.
func bridge(c *semantic.Catalog, e *semantic.Entity, r *semantic.Relationship) []promise {
	b := c.Entity(r.Through.Entity)
	if r.Through.Allocate != semantic.AllocateWeight {
		return nil
	}
	near, far := froms(b.Relationship(r.Through.Near)), froms(b.Relationship(r.Through.Far))
	weight := quote(r.Through.Weight)
	sums := fmt.Sprintf("SELECT count(*) AS n FROM (SELECT 1 AS one FROM %s WHERE %s GROUP BY %s HAVING count(%[4]s) < count(*) OR abs(sum(CAST(%[4]s AS DOUBLE)) - 1) > 0.000000001) AS k",
		quote(b.Name), known("", near), quoteAll("", near), weight)
	return []promise{
		warning(broken(r.Pos, sums, func(n int64) (string, string) {
			return fmt.Sprintf("the weights of %q by %q do not add up to 1 for %s of %q", b.Name, r.Name, some(n, "row", "rows"), e.Name),
				"groups would not add up to the total: correct the weights"
		})),
		broken(r.Pos, repeated(b, append(near, far...)), func(n int64) (string, string) {
			return fmt.Sprintf("a pair stands in the bridge %q once, but %s there several times, with a weight each", b.Name, some(n, "pair stands", "pairs stand")),
				"which weight holds is not said: correct the data"
		}),
	}
}

// levels: each value of a level lies in one value of the level above it.
func levels(e *semantic.Entity, h *semantic.Hierarchy) []promise {
	var out []promise
	for i := 1; i < len(h.Levels); i++ {
		above, below := column(e, h.Levels[i-1]), column(e, h.Levels[i])
		if above == "" || below == "" {
			continue
		}
		ask := fmt.Sprintf("SELECT count(*) AS n FROM (SELECT 1 AS one FROM %[1]s WHERE %[2]s IS NOT NULL GROUP BY %[2]s HAVING count(DISTINCT %[3]s) > 1) AS k", quote(e.Name), below, above)
		out = append(out, warning(broken(h.Pos, ask, func(n int64) (string, string) {
			return fmt.Sprintf("in the hierarchy %q of %q, a value of %q lies in one value of %q, but %s in several", h.Name, e.Name, h.Levels[i], h.Levels[i-1], some(n, "lies", "lie")),
				"drilling down splits them: correct the data, or group by both levels"
		})))
	}
	return out
}

// column is how SQL over an entity names a dimension; "" for one that is made of
// another entity's measure or of bins, whose values SQL does not see as they are.
func column(e *semantic.Entity, n semantic.Name) string {
	switch d := e.Dimension(n); {
	case d == nil || d.Of != nil || d.Bins != nil:
		return ""
	case d.Field != "":
		return quote(d.Field)
	default:
		return quote(d.Name)
	}
}

// drift: what the model says of an entity's fields is still true of the data. An
// entity has rows, a field has values, and its samples are among them. Reading
// every field also casts every text to its declared type, so that a file that no
// longer fits is found in whichever row.
func drift(e *semantic.Entity) promise {
	counts := []string{"count(*)"}
	for _, f := range e.Fields {
		name := quote(f.Name)
		found := make([]string, 0, len(f.Samples)+1)
		for _, s := range f.Samples {
			value := semantic.QuoteText(s)
			if f.Type != "varchar" {
				value = "TRY_CAST(" + value + " AS " + f.Type.SQL() + ")"
			}
			found = append(found, fmt.Sprintf("max(CASE WHEN %s = %s THEN 1 ELSE 0 END)", name, value))
		}
		counts = append(counts, "count("+name+")", strings.Join(append(found, "0"), " + "))
	}
	for i := range counts {
		counts[i] += fmt.Sprintf(` AS "n%d"`, i)
	}
	ask := "SELECT " + strings.Join(counts, ", ") + " FROM " + quote(e.Name)
	return promise{ask: ask, warn: true, hold: func(n []int64) diag.List { return drifted(e, n) }}
}

func drifted(e *semantic.Entity, n []int64) diag.List {
	if n[0] == 0 {
		return diag.List{diag.New(diag.ModelData, "%q has no rows", e.Name).At(e.Pos).WithHint("its metrics have nothing to say: restore the source, or remove the entity")}
	}
	var out diag.List
	for i, f := range e.Fields {
		values, found := n[1+2*i], n[2+2*i]
		if f.Mask != nil { // what was counted are masks
			continue
		}
		switch missing := int64(len(f.Samples)) - found; {
		case values == 0:
			out = append(out, diag.New(diag.ModelData, "field %q of %q has no value in any row", f.Name, e.Name).
				At(f.Pos).WithHint("the column may have moved: correct the source or the field's column"))
		case missing > 0:
			out = append(out, diag.New(diag.ModelData, "%d of the %d samples of field %q of %q are no longer among its values", missing, len(f.Samples), f.Name, e.Name).
				At(f.Pos).WithHint("callers are shown them as examples: correct the samples"))
		}
	}
	return out
}

// days: a calendar has one row for each day between its first and its last, and
// each day's periods have begun by then.
func days(c *semantic.Catalog, cal *semantic.Calendar) []promise {
	e := c.Entity(cal.Entity)
	date := quote(cal.Date)
	counts := []string{"count(*) - count(" + date + ")", "count(" + date + ") - count(DISTINCT " + date + ")",
		"date_diff('day', min(" + date + "), max(" + date + ")) + 1 - count(DISTINCT " + date + ")"}
	says := [][2]string{{"row has no date", "rows have no date"}, {"row repeats the date of another", "rows repeat the date of others"}, {"day between its first and its last has no row", "days between its first and its last have no row"}}
	for _, g := range cal.Grains {
		start := quote(g.Start)
		counts = append(counts, fmt.Sprintf("count(CASE WHEN %[1]s IS NULL OR %[1]s > %[2]s THEN 1 END)", start, date))
		says = append(says, [2]string{fmt.Sprintf("day has no %s, or one that begins later", g.Name), fmt.Sprintf("days have no %s, or one that begins later", g.Name)})
	}
	for i := range counts {
		counts[i] += fmt.Sprintf(` AS "n%d"`, i)
	}
	return []promise{{ask: "SELECT " + strings.Join(counts, ", ") + " FROM " + quote(e.Name), hold: func(n []int64) diag.List {
		var out diag.List
		for i, say := range says {
			if n[i] != 0 {
				out = append(out, diag.New(diag.ModelData, "calendar %q has one row for each day, but %s", cal.Name, some(n[i], say[0], say[1])).
					At(cal.Pos).WithHint("rows of such days would count twice or under NULL: correct %q", e.Name))
			}
		}
		return out
	}}}
}

func quote(n semantic.Name) string { return semantic.Quote(string(n)) }

func quoteAll(before string, names []semantic.Name) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = before + quote(n)
	}
	return strings.Join(out, ", ")
}

// known is the condition that no column is NULL.
func known(before string, columns []semantic.Name) string {
	out := make([]string, len(columns))
	for i, n := range columns {
		out[i] = before + quote(n) + " IS NOT NULL"
	}
	return strings.Join(out, " AND ")
}

func froms(r *semantic.Relationship) []semantic.Name {
	var out []semantic.Name
	for _, p := range r.On {
		out = append(out, p.From)
	}
	return out
}

func tos(r *semantic.Relationship) []semantic.Name {
	var out []semantic.Name
	for _, p := range r.On {
		out = append(out, p.To)
	}
	return out
}

// some counts: 1 row, 2 rows.
func some(n int64, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}
