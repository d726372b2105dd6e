package emit_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/resolve"
	"plumbline/engine/duck/ducktest"
	"plumbline/semantic"
)

// view shows a whole catalog except what hidden names: entity or entity.field.
// masked and selectOnly name fields: entity.field.
type view struct {
	catalog                    *semantic.Catalog
	hidden, masked, selectOnly map[string]bool
}

func (v view) Entity(n semantic.Name) (*resolve.Visible, error) {
	e := v.catalog.Entity(n)
	if e == nil || v.hidden[e.Name.Key()] {
		return nil, nil
	}
	vis := &resolve.Visible{Entity: e, Fields: map[string]semantic.Visibility{}, Masked: map[string]bool{}, SelectOnly: map[string]bool{}}
	for _, f := range e.Fields {
		key := e.Name.Key() + "." + f.Name.Key()
		vis.Masked[f.Name.Key()], vis.SelectOnly[f.Name.Key()] = v.masked[key], v.selectOnly[key]
		if !v.hidden[e.Name.Key()+"."+f.Name.Key()] {
			vis.Fields[f.Name.Key()] = f.Visibility
		}
	}
	return vis, nil
}

func (v view) Names() []string {
	var out []string
	for _, e := range v.catalog.Entities {
		if !v.hidden[e.Name.Key()] {
			out = append(out, string(e.Name))
		}
	}
	return out
}

// open makes a database with the catalog's tables, and a view per entity under
// the entity's own name with its computed dimensions, so that emitted text runs.
func open(t testing.TB, c *semantic.Catalog) *ducktest.DB {
	db := ducktest.Open(t, c)
	for _, e := range c.Entities {
		cols := "*"
		for _, d := range e.Dimensions {
			if d.Expr != "" {
				cols += ", (" + d.Expr + ") AS " + semantic.Quote(string(d.Name))
			}
		}
		db.Exec(t, "CREATE VIEW "+semantic.Quote(string(e.Name))+" AS SELECT "+cols+" FROM "+semantic.StorageName(e.Name))
	}
	return db
}

// modelOf reads the tiny models of the traps. Indented lines belong to the
// entity above them; every field is a dimension, every measure a metric.
//
//	entity orders time=at
//	  region varchar
//	  dim big boolean = total > 100
//	  measure revenue = sum(total) where status = 'paid' fill 0
//	  join buyer customers: buyer_id = id complete
//	  filter fixed live: NOT deleted
//	  hierarchy geography region city
//	metric share = a / b
//	metric running {"Of": "revenue", "Cumulative": {}}
//	zone Europe/Copenhagen
//	calendar retail days: day, retail_week = week_start
func modelOf(t testing.TB, text string) *semantic.Catalog {
	var entities []*semantic.Entity
	var metrics []*semantic.Metric
	var parameters []*semantic.Parameter
	var settings semantic.TimeSettings
	var calendars []*semantic.Calendar
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			switch words[0] {
			case "entity":
				e := &semantic.Entity{Name: semantic.Name(words[1])}
				for _, w := range words[2:] {
					if key, ok := strings.CutPrefix(w, "key="); ok {
						e.PrimaryKey = namesOf(strings.Split(key, ","))
						continue
					}
					e.TimeDimension = semantic.Name(strings.TrimPrefix(w, "time="))
				}
				entities = append(entities, e)
			case "metric":
				if strings.HasPrefix(words[2], "{") {
					metrics = append(metrics, metricInJSON(t, words[1], line[strings.Index(line, "{"):]))
					continue
				}
				metrics = append(metrics, metricOf(t, strings.TrimPrefix(line, "metric ")))
			case "calendar":
				calendars = append(calendars, calendarLine(line))
			case "parameter":
				parameters = append(parameters, parameterOf(words))
			case "zone":
				settings.Zone = words[1]
			case "week":
				settings.WeekStart = words[1]
			case "fiscal":
				settings.FiscalStart, _ = strconv.Atoi(words[1])
			default:
				require.Fail(t, "model", line)
			}
			continue
		}
		e := entities[len(entities)-1]
		if m := entityLine(t, e, words, strings.TrimSpace(line)); m != nil {
			metrics = append(metrics, m)
		}
	}
	return semantic.NewCatalog(semantic.Catalog{Revision: "tiny", Entities: entities, Metrics: metrics, Parameters: parameters, Time: settings, Calendars: calendars})
}

// calendarLine reads: calendar name entity: date, grain = start, ...
func calendarLine(line string) *semantic.Calendar {
	head, list, _ := strings.Cut(line, ": ")
	words, parts := strings.Fields(head), strings.Split(list, ", ")
	out := &semantic.Calendar{Name: semantic.Name(words[1]), Entity: semantic.Name(words[2]), Date: semantic.Name(parts[0])}
	for _, p := range parts[1:] {
		name, start, _ := strings.Cut(p, " = ")
		out.Grains = append(out.Grains, semantic.CalendarGrain{Name: semantic.Name(name), Start: semantic.Name(start)})
	}
	return out
}

// metricInJSON reads a metric of any kind from its parts in JSON.
func metricInJSON(t testing.TB, name, parts string) *semantic.Metric {
	m := &semantic.Metric{Name: semantic.Name(name)}
	require.NoError(t, json.Unmarshal([]byte(parts), m), parts)
	switch {
	case m.Expr != "":
		m.Kind = semantic.DerivedMetric
	case m.Cumulative != nil:
		m.Kind = semantic.CumulativeMetric
	case m.Compare != nil:
		m.Kind = semantic.CompareMetric
	case m.Share != nil:
		m.Kind = semantic.ShareMetric
	case m.Rank != nil:
		m.Kind = semantic.RankMetric
	case m.Conversion != nil:
		m.Kind = semantic.ConversionMetric
	}
	return m
}

var (
	filterLine = regexp.MustCompile(`^filter (\w+) (\w+)(?: on (\w+))?(?: unless (\w+))?(?:: (.*))?$`)
	allGrains  = []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}
)

func entityLine(t testing.TB, e *semantic.Entity, words []string, line string) *semantic.Metric {
	switch words[0] {
	case "measure":
		out := measureOf(t, line)
		e.Measures = append(e.Measures, out)
		return &semantic.Metric{Name: out.Name, Kind: semantic.SimpleMetric, Entity: e.Name, Measure: out.Name}
	case "join":
		r := joinOf(t, line)
		e.Relationships = append(e.Relationships, r)
	case "filter":
		m := filterLine.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		f := &semantic.Filter{Kind: semantic.FilterKind(m[1]), Name: semantic.Name(m[2]), Field: semantic.Name(m[3]), Expr: m[5]}
		if m[4] != "" {
			f.Unless = []semantic.Name{semantic.Name(m[4])}
		}
		e.Filters = append(e.Filters, f)
	case "hierarchy":
		h := &semantic.Hierarchy{Name: semantic.Name(words[1])}
		for _, level := range words[2:] {
			h.Levels = append(h.Levels, semantic.Name(level))
		}
		e.Hierarchies = append(e.Hierarchies, h)
	case "bins": // bins name of field width=W
		var f *semantic.Field
		for _, x := range e.Fields {
			if x.Name == semantic.Name(words[3]) {
				f = x
			}
		}
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: semantic.Name(words[1]), Type: f.Type, Kind: f.Type.Kind(), Field: f.Name, Reads: []semantic.Name{f.Name},
			Visibility: semantic.Output, Bins: &semantic.Bins{Width: strings.TrimPrefix(words[4], "width=")}})
	case "of":
		e.Dimensions = append(e.Dimensions, ofLine(t, line))
	case "segment":
		name, expr, _ := strings.Cut(strings.TrimPrefix(line, "segment "), ": ")
		e.Segments = append(e.Segments, &semantic.Segment{Name: semantic.Name(name), Expr: expr})
	case "dim":
		typ := semantic.Type(words[2])
		_, expr, _ := strings.Cut(line, " = ")
		e.Dimensions = append(e.Dimensions, &semantic.Dimension{Name: semantic.Name(words[1]), Type: typ, Kind: typ.Kind(), Expr: expr, Visibility: semantic.Output})
	default:
		field(t, e, words)
	}
	return nil
}

// field reads: name type [visibility] [zone=Z] [aka=synonym] [nodim: no dimension names it]
func field(t testing.TB, e *semantic.Entity, words []string) {
	f := &semantic.Field{Name: semantic.Name(words[0]), Column: words[0], Type: semantic.Type(words[1]), Visibility: semantic.Output}
	var synonyms []string
	nodim := false
	for _, w := range words[2:] {
		if z, ok := strings.CutPrefix(w, "zone="); ok {
			f.Zone = z
			continue
		}
		if s, ok := strings.CutPrefix(w, "aka="); ok {
			synonyms = append(synonyms, s)
			continue
		}
		if w == "nodim" {
			nodim = true
			continue
		}
		v, ok := semantic.ParseVisibility(w)
		require.True(t, ok, w)
		f.Visibility = v
	}
	e.Fields = append(e.Fields, f)
	if nodim {
		return
	}
	d := &semantic.Dimension{Name: f.Name, Type: f.Type, Kind: f.Type.Kind(), Field: f.Name, Reads: []semantic.Name{f.Name}, Visibility: f.Visibility, Synonyms: synonyms}
	if d.Kind == semantic.KindTime {
		d.Grains = allGrains
		if f.Type == "date" {
			d.Grains = allGrains[3:]
		}
	}
	e.Dimensions = append(e.Dimensions, d)
}
