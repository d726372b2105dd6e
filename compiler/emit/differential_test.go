package emit_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// questionsPerData is how many questions are asked of one set of rows.
const questionsPerData = 6

// TestAnswersAgreeWithTheOracle asks random questions over random rows: what can
// be placed must give the oracle's rows in its order; what cannot must be refused.
func TestAnswersAgreeWithTheOracle(t *testing.T) {
	w := newWorld(t, semantictest.Shop())
	answered, refused, excluded := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawData(rt)
		fillTables(rt, w.db, rows)
		for range questionsPerData {
			q := drawQuestion(rt)
			text, ok := ask(rt, w, q)
			if !ok && exclusive(rt, w, q) {
				if len(q.Dimensions) > 0 {
					require.Empty(rt, rows.answer(q), "filters that exclude each other: %s", asJSON(q))
				}
				excluded++
				continue
			}
			require.Equal(rt, placed(q), ok, "refused or not: %s", asJSON(q))
			if !ok {
				refused++
				continue
			}
			answered++
			resolves(rt, w, view{catalog: w.catalog}, text)
			want := lines(rows.answer(q))
			require.Equal(rt, want, run(rt, w.db, text), "%s\n%s", asJSON(q), text.SQL)
		}
	})
	require.Greater(t, answered, 50)
	require.Greater(t, refused, 10)
	require.Greater(t, answered, 10*excluded)
}

// exclusive reports that a question that can be placed is refused because its
// filters exclude each other, and for nothing else.
func exclusive(rt *rapid.T, w *world, q metric.Question) bool {
	read, err := metric.Decode([]byte(asJSON(q)))
	require.NoError(rt, err)
	_, err = metric.Build(view{catalog: w.catalog}, w.catalog, read, metric.Options{Expressions: w.exprs})
	for _, e := range diag.All(err) {
		if !strings.Contains(e.Msg, "exclude each other") {
			return false
		}
	}
	return placed(q)
}

// TestOrderOfPartsChangesNothing permutes metrics, dimensions and filters (I2)
// and compiles each form often (I10).
func TestOrderOfPartsChangesNothing(t *testing.T) {
	w := newWorld(t, semantictest.Shop())
	rapid.Check(t, func(rt *rapid.T) {
		fillTables(rt, w.db, drawData(rt))
		q := drawQuestion(rt)
		q.Limit, q.Order = nil, nil
		text, ok := ask(rt, w, q)
		if !ok {
			return
		}
		for range 50 {
			again, _ := ask(rt, w, q)
			require.Equal(rt, text, again)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		p := metric.Question{Metrics: shuffled(r, q.Metrics), Dimensions: shuffled(r, q.Dimensions), Filters: shuffled(r, q.Filters), Time: shuffled(r, q.Time)}
		other, ok := ask(rt, w, p)
		require.True(rt, ok)
		require.Equal(rt, byName(run(rt, w.db, text), text), byName(run(rt, w.db, other), other), "%s\n%s", asJSON(q), asJSON(p))
	})
}

func shuffled[T any](r *rand.Rand, list []T) []T {
	out := slices.Clone(list)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// byName makes rows independent of the order of rows and columns.
func byName(rows []string, text emit.Text) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		cells := strings.Split(row, "\t")
		for j := range cells {
			cells[j] = text.Columns[j].Name + "=" + cells[j]
		}
		slices.Sort(cells)
		out[i] = strings.Join(cells, " ")
	}
	slices.Sort(out)
	return out
}

// ask compiles a question after a round trip through JSON.
func ask(rt *rapid.T, w *world, q metric.Question) (emit.Text, bool) {
	read, err := metric.Decode([]byte(asJSON(q)))
	require.NoError(rt, err)
	plan, err := metric.Build(view{catalog: w.catalog}, w.catalog, read, metric.Options{Expressions: w.exprs})
	if err != nil {
		return emit.Text{}, false
	}
	text, err := emit.SQL(plan)
	require.NoError(rt, err)
	return text, true
}

func asJSON(q metric.Question) string {
	raw, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func lines(rows [][]any) []string {
	out := []string{}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = show(v)
		}
		out = append(out, strings.Join(cells, "\t"))
	}
	return out
}

func run(rt *rapid.T, db *ducktest.DB, text emit.Text) []string {
	rows, err := db.Query(text.SQL)
	require.NoError(rt, err, text.SQL)
	defer rows.Close()
	var out [][]any
	for rows.Next() {
		vals, ptrs := make([]any, len(text.Columns)), make([]any, len(text.Columns))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		require.NoError(rt, rows.Scan(ptrs...))
		out = append(out, vals)
	}
	require.NoError(rt, rows.Err())
	return lines(out)
}

// fillTables replaces the rows of the shop's tables.
func fillTables(rt *rapid.T, db *ducktest.DB, d data) {
	exec := func(stmt string) {
		_, err := db.DB.Exec(stmt)
		require.NoError(rt, err, stmt)
	}
	for _, e := range semantictest.Shop().Entities {
		exec("DELETE FROM " + semantic.StorageName(e.Name))
		var rows []string
		for _, r := range d[string(e.Name)] {
			cells := make([]string, len(e.Fields))
			for i, f := range e.Fields {
				cells[i] = sqlValue(r[string(f.Name)])
			}
			rows = append(rows, "("+strings.Join(cells, ", ")+")")
		}
		if len(rows) > 0 {
			exec("INSERT INTO " + semantic.StorageName(e.Name) + " VALUES " + strings.Join(rows, ", "))
		}
	}
}

func sqlValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return semantic.QuoteText(v)
	case time.Time:
		return "'" + v.Format(time.DateTime) + "'"
	}
	return fmt.Sprint(v)
}

// The pools that rows and filters draw from. Small, so that they meet.
var (
	regions    = []any{nil, "eu", "us", "x"}
	plans      = []any{nil, "free", "pro"}
	statuses   = []any{nil, "paid", "open"}
	names      = []any{nil, "Ann", "ann", "é", "O'Hara"}
	categories = []any{nil, "a", "b"}
	cents      = []any{nil, int64(0), int64(100), int64(250), int64(-100)}
	days       = []any{nil, day("2024-01-31 00:00:00"), day("2024-02-01 00:00:00"), day("2024-02-29 00:00:00"), day("2023-12-31 00:00:00")}
	moments    = []any{nil, day("2024-01-31 23:59:59"), day("2024-02-01 00:00:00"), day("2024-02-01 10:30:00"), day("2024-03-31 10:00:00")}
	risks      = []any{nil, 0.25, 0.5, 2.0}
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateTime, text)
	if err != nil {
		panic(err)
	}
	return t
}

func pick(rt *rapid.T, pool []any) any { return rapid.SampledFrom(pool).Draw(rt, "value") }

// id draws a foreign key: a partner, an orphan or NULL.
func id(rt *rapid.T, upTo int) any {
	if n := rapid.IntRange(0, upTo+1).Draw(rt, "id"); n > 0 {
		return int64(n)
	}
	return nil
}

func drawData(rt *rapid.T) data {
	d := data{}
	many := func(entity string, most int, make func(int) record) {
		for i := range rapid.IntRange(0, most).Draw(rt, entity) {
			d[entity] = append(d[entity], make(i+1))
		}
	}
	many("customers", 4, func(i int) record {
		return record{"id": int64(i), "name": pick(rt, names), "region": pick(rt, regions), "plan": pick(rt, plans), "risk_score": pick(rt, risks), "signed_up": pick(rt, days)}
	})
	many("products", 3, func(i int) record {
		return record{"id": int64(i), "category": pick(rt, categories), "label": pick(rt, names)}
	})
	many("orders", 7, func(i int) record {
		return record{"id": int64(i), "customer_id": id(rt, 4), "order_date": pick(rt, days), "created_at": pick(rt, moments), "status": pick(rt, statuses), "total_cents": pick(rt, cents), "order": pick(rt, plans)}
	})
	many("order_items", 7, func(i int) record {
		return record{"order_id": id(rt, 7), "line": int64(i), "product_id": id(rt, 3), "qty": pick(rt, cents[:3]), "price_cents": pick(rt, cents)}
	})
	many("support_tickets", 5, func(i int) record {
		return record{"id": int64(i), "customer_id": id(rt, 4), "created_at": pick(rt, moments), "priority": pick(rt, categories)}
	})
	return d
}

// texts are the text dimensions that questions filter by, with their values.
var texts = map[string][]any{"region": regions, "plan": plans, "status": statuses, "name": names, "category": categories, "priority": categories, "big_region": {"big", "small", nil}}

var (
	metricNames = []string{"revenue", "order_count", "paid_revenue", "avg_order", "buyers", "customer_count", "avg_risk", "units", "item_revenue", "ticket_count", "revenue_per_ticket", "paid_share"}
	textDims    = []string{"region", "plan", "name", "big_region", "region", "plan", "status", "category", "priority"}
	timeDims    = []string{metric.MetricTime, metric.MetricTime, "order_date", "created_at", "created_at", "created_at", "signed_up"}
	dayTexts    = []string{"2024-01-31", "2024-02-01", "2024-02-29", "2023-12-31"}
	grains      = []string{"day", "week", "month", "quarter", "year", "hour"}
	comparisons = []string{"<", "<=", ">", ">="}
)

// drawQuestion mostly draws until a question can be placed.
func drawQuestion(rt *rapid.T) metric.Question {
	tries := rapid.SampledFrom([]int{1, 30, 30, 30}).Draw(rt, "tries")
	for {
		if q := drawAny(rt); tries == 1 || placed(q) {
			return q
		}
		tries--
	}
}

func drawAny(rt *rapid.T) metric.Question {
	q := metric.Question{Metrics: drawMetrics(rt)}
	for range rapid.IntRange(0, 2).Draw(rt, "dimensions") {
		d := metric.DimensionRef{Name: rapid.SampledFrom(textDims).Draw(rt, "dimension")}
		if rapid.IntRange(0, 2).Draw(rt, "time") == 0 {
			d = metric.DimensionRef{Name: rapid.SampledFrom(timeDims).Draw(rt, "dimension"), Grain: rapid.SampledFrom(grains).Draw(rt, "grain")}
			if d.Name == "signed_up" {
				d.Grain = "month"
			}
		}
		if !slices.ContainsFunc(q.Dimensions, func(o metric.DimensionRef) bool { return o.Name == d.Name }) {
			q.Dimensions = append(q.Dimensions, d)
		}
	}
	for range rapid.IntRange(0, 2).Draw(rt, "filters") {
		q.Filters = append(q.Filters, drawFilter(rt, q.Metrics))
	}
	if rapid.Bool().Draw(rt, "range") || slices.ContainsFunc(q.Metrics, func(m string) bool { return strings.Contains(m, "ticket") }) {
		q.Time = append(q.Time, metric.TimeRange{Field: metric.MetricTime, From: rapid.SampledFrom([]string{"2023-12-31", "2024-01-31"}).Draw(rt, "from"),
			To: rapid.SampledFrom([]string{"", "2024-01-31", "2024-02-01", "2024-03-31"}).Draw(rt, "to")})
	}
	drawOrder(rt, &q)
	return q
}

// drawMetrics prefers metrics that share dimensions.
func drawMetrics(rt *rapid.T) []string {
	var out []string
	for range rapid.IntRange(1, 4).Draw(rt, "metrics") {
		m := rapid.SampledFrom(metricNames).Draw(rt, "metric")
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func drawOrder(rt *rapid.T, q *metric.Question) {
	if rapid.Bool().Draw(rt, "ordered") {
		q.Order = append(q.Order, metric.Order{By: rapid.SampledFrom(q.Metrics).Draw(rt, "by"), Desc: rapid.Bool().Draw(rt, "desc")})
	}
	if len(q.Dimensions) > 0 && rapid.Bool().Draw(rt, "by key") {
		q.Order = append(q.Order, metric.Order{By: q.Dimensions[len(q.Dimensions)-1].Name, Desc: true})
	}
	if rapid.Bool().Draw(rt, "limited") {
		n := rapid.IntRange(1, 3).Draw(rt, "limit")
		q.Limit = &n
	}
}

func drawFilter(rt *rapid.T, metrics []string) metric.Filter {
	switch rapid.IntRange(0, 3).Draw(rt, "kind of filter") {
	case 0:
		return metric.Filter{Field: rapid.SampledFrom(metrics).Draw(rt, "having"), Op: rapid.SampledFrom(append(comparisons, "=", "!=")).Draw(rt, "op"), Values: []any{rapid.IntRange(-1, 250).Draw(rt, "value")}}
	case 1:
		return drawTimeFilter(rt)
	}
	field := rapid.SampledFrom(textDims).Draw(rt, "field")
	f := metric.Filter{Field: field, Op: rapid.SampledFrom([]string{"=", "!=", "in", "not_in", "is_null", "is_not_null", "<", ">=", "contains", "between"}).Draw(rt, "op")}
	switch f.Op {
	case "is_null", "is_not_null":
	case "in", "not_in":
		f.Values = rapid.SliceOfN(rapid.SampledFrom(texts[field]), 1, 3).Draw(rt, "values")
	case "=", "!=":
		f.Values = []any{pick(rt, texts[field])}
	case "between":
		f.Values = []any{"b", "p"}
	default:
		f.Values = []any{rapid.SampledFrom([]string{"a", "p", "e", "u"}).Draw(rt, "value")}
	}
	return f
}

func drawTimeFilter(rt *rapid.T) metric.Filter {
	f := metric.Filter{Field: rapid.SampledFrom(timeDims).Draw(rt, "field"), Op: rapid.SampledFrom(append(comparisons, "=", "!=", "in", "not_in", "between")).Draw(rt, "op")}
	one := func() any { return rapid.SampledFrom(dayTexts).Draw(rt, "day") }
	switch {
	case f.Field != "created_at" && rapid.IntRange(0, 3).Draw(rt, "with grain") == 0:
		f.Grain = "month"
		one = func() any { return rapid.SampledFrom([]string{"2024-01-01", "2024-02-01"}).Draw(rt, "month") }
	case f.Field == "created_at" && rapid.Bool().Draw(rt, "with time"):
		one = func() any {
			return rapid.SampledFrom([]string{"2024-01-31 23:59:59", "2024-02-01 10:30:00"}).Draw(rt, "moment")
		}
	}
	f.Values = []any{one()}
	switch f.Op {
	case "between":
		f.Values = append(f.Values, one())
	case "in", "not_in":
		f.Values = append(f.Values, one(), nil)
	}
	return f
}
