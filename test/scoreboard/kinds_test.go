package main

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/metric"
)

// kindsModel has two facts under one hub, and metrics of every kind over them.
const kindsModel = `package models

import "plumbline.dev/schema:plumbline"

model: plumbline.#Model & {
	entities: {
		places: {primary_key: ["id"], fields: {id: type: "bigint", region: type: "varchar"}, dimensions: region: field: "region", measures: place_count: agg: "count"}
		sales: {
			primary_key: ["id"]
			time_dimension: "day"
			fields: {id: type: "bigint", place_id: type: "bigint", day: type: "date", v: type: "bigint", who: type: "varchar"}
			dimensions: {day: field: "day", who: field: "who"}
			measures: {total: {agg: "sum", field: "v"}, total0: {agg: "sum", field: "v", fill: 0}, events: agg: "count", people_seen: {agg: "count_distinct", field: "who"}, p90: {agg: "percentile", field: "v", quantile: 0.9}, mid: {agg: "median", field: "v"}, mean: {agg: "avg", field: "v"}, at_end: {agg: "sum", field: "v", semi_additive: {over: "day", pick: "last", per: ["who"]}}}
			relationships: place: {to: "places", kind: "many_to_one", on: [{from: "place_id", to: "id"}]}
		}
		visits: {
			primary_key: ["id"]
			time_dimension: "at"
			fields: {id: type: "bigint", place_id: type: "bigint", at: type: "timestamptz", n: type: "bigint"}
			dimensions: at: field: "at"
			measures: {seen: {agg: "sum", field: "n"}}
			relationships: place: {to: "places", kind: "many_to_one", on: [{from: "place_id", to: "id"}]}
		}
	}
	metrics: {
		simple: {entity: "sales", measure: "total"}
		filled: {entity: "sales", measure: "total0"}
		filtered: {entity: "sales", measure: "events", filter: "v > 5"}
		conditioned: {entity: "sales", measure: "total", where: [{field: "region", op: "=", values: ["eu"]}]}
		people: {entity: "sales", measure: "people_seen"}
		percentile: {entity: "sales", measure: "p90"}
		median: {entity: "sales", measure: "mid"}
		mean: {entity: "sales", measure: "mean"}
		balance: {entity: "sales", measure: "at_end"}
		other_fact: {entity: "visits", measure: "seen"}
		ratio: {numerator: "simple", denominator: "other_fact"}
		derived: expr: "filled - people"
		nested: expr: "derived / ratio"
		running: cumulative: of: "simple"
		running_ratio: cumulative: of: "mean"
		trailing: cumulative: {of: "filtered", window: "7 days", include_current: true}
		to_date: cumulative: {of: "simple", to_date: "month"}
		before: compare: {of: "simple", offset: "1 month", give: "value"}
		growth: compare: {of: "people", offset: "1 month", give: "growth"}
		share_visible: share: {of: "simple", scope: "visible"}
		share_all: share: {of: "people", scope: "all"}
		share_parent: share: {of: "simple", scope: "parent"}
		rank: rank: of: "simple"
		dense: rank: {of: "people", asc: true, ties: "dense"}
		signed: {entity: "sales", measure: "events"}
		converted: conversion: {base: "signed", converted: "filtered", on: [{from: "who", to: "who"}], window: "1 month", give: "count"}
		conversion_rate: conversion: {base: "signed", converted: "filtered", on: [{from: "who", to: "who"}], window: "1 month"}
		of_running: expr: "running - to_date"
		since_running: compare: {of: "running", offset: "1 month", give: "difference"}
		share_of_running: share: {of: "to_date", scope: "visible"}
	}
}
`

// kindsRows have gaps, orphans, NULLs and ends of months.
func kindsRows() map[string][]row {
	day := func(text string) any { return clock(text + " 00:00:00") }
	return map[string][]row{
		"places": {{"id": 1.0, "region": "eu"}, {"id": 2.0, "region": "us"}, {"id": 3.0, "region": nil}},
		"sales": {
			{"id": 1.0, "place_id": 1.0, "day": day("2024-01-30"), "v": 10.0, "who": "a"}, {"id": 2.0, "place_id": 1.0, "day": day("2024-01-31"), "v": 4.0, "who": "b"},
			{"id": 3.0, "place_id": 2.0, "day": day("2024-02-29"), "v": 6.0, "who": "a"}, {"id": 4.0, "place_id": nil, "day": day("2024-02-29"), "v": nil, "who": "c"},
			{"id": 5.0, "place_id": 9.0, "day": day("2024-03-01"), "v": 7.0, "who": nil}, {"id": 6.0, "place_id": 1.0, "day": nil, "v": 8.0, "who": "a"},
			{"id": 7.0, "place_id": 2.0, "day": day("2024-01-30"), "v": 6.0, "who": "b"},
		},
		"visits": {
			{"id": 1.0, "place_id": 1.0, "at": clock("2024-01-31 23:30:00"), "n": 2.0}, {"id": 2.0, "place_id": 2.0, "at": clock("2024-02-10 12:00:00"), "n": 0.0},
			{"id": 3.0, "place_id": 3.0, "at": clock("2024-03-01 00:00:00"), "n": 5.0},
		},
	}
}

// kindsMeanings are the expressions of kindsModel.
func kindsMeanings(o *oracle) {
	o.meanings = map[string]meaning{"v > 5": func(r row, _ map[string]any) any { return r["v"] != nil && r["v"].(float64) > 5 }}
	o.arithmetic = map[string]func(func(string) any) any{
		"filled - people":   func(of func(string) any) any { return calculate(of("filled"), of("people"), "-") },
		"running - to_date": func(of func(string) any) any { return calculate(of("running"), of("to_date"), "-") },
		"derived / ratio":   func(of func(string) any) any { return calculate(of("derived"), of("ratio"), "/") },
	}
}

// TestKindsInPairs asks every kind of metric beside every other, grouped in
// several ways, and compares with the oracle.
func TestKindsInPairs(t *testing.T) {
	ctx := context.Background()
	catalog, err := catalogOf([]byte(kindsModel))
	require.NoError(t, err)
	o := &oracle{catalog: catalog, rows: kindsRows(), now: clock("2024-03-15 12:00:00")}
	kindsMeanings(o)
	w := &world{oracle: o}
	p, err := openPipeline(ctx, catalog)
	require.NoError(t, err)
	defer p.close()
	p.sparing = true
	require.NoError(t, p.fill(ctx, w.testRows()))

	month := metric.DimensionRef{Name: metric.MetricTime, Grain: "month"}
	region := metric.DimensionRef{Name: "region"}
	answered, refusals := 0, map[string]int{}
	for i, a := range catalog.Metrics {
		for _, b := range catalog.Metrics[i+1:] {
			for _, dims := range [][]metric.DimensionRef{nil, {region}, {month}, {month, region}} {
				q := metric.Question{Metrics: []string{string(a.Name), string(b.Name)}, Dimensions: dims}
				if w.needTime(q) && (len(dims) == 0 || dims[0] != month) {
					continue
				}
				raw, err := json.Marshal(q)
				require.NoError(t, err)
				got, err := p.question(ctx, raw, o.now)
				if why := limitOf(err); why != "" {
					refusals[why]++
					continue
				}
				if !check(t, err == nil, "%s: %v", raw, err) {
					continue
				}
				answered++
				want := shownLines(o.answer(q), q)
				if w.needTime(q) {
					got.rows, want = told(got.rows, len(dims)), told(want, len(dims))
				}
				check(t, sameRows(got.rows, want, got.types, true), "%s\ngot\n%s\nwant\n%s\n%s", raw, rowsText(got.rows), rowsText(want), got.sql)
			}
		}
	}
	t.Logf("%d answered, refused: %v", answered, refusals)
	require.Greater(t, answered, 600)
}

func check(t *testing.T, ok bool, format string, args ...any) bool {
	if !ok {
		t.Errorf(format, args...)
	}
	return ok
}
