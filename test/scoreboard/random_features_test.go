package main

import (
	"pgregory.net/rapid"

	"plumbline/compiler/metric"
	"plumbline/semantic"
)

// enabledMeasures are the aggregates beside the plain ones.
func enabledMeasures(e *semantic.Entity) []semantic.Measure { return nil }

// enabledMetrics make metrics of metrics beside ratios.
func enabledMetrics() []func(w *world, numeric []semantic.Name) *semantic.Metric { return nil }

// drawExtras adds what questions have beside metrics, dimensions, filters and order.
func (w *world) drawExtras(rt *rapid.T, q metric.Question) (metric.Question, bool) { return q, true }
