package resolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// resultOf gives the type of a measure's values: DuckDB's word for what is no
// number, and some number's for what is one; "" when it is not known.
func (m *typeCheck) resultOf(s *semantic.Measure, e *semantic.Entity) string {
	of := m.found[s]
	if f := e.Field(s.Field); f != nil {
		of = f.Type.SQL()
	}
	switch s.Agg {
	case semantic.Min, semantic.Max, semantic.First, semantic.Last, semantic.Custom:
		return of
	case semantic.Percentile:
		if s.Discrete {
			return of
		}
	case semantic.StringAgg:
		return "VARCHAR"
	case semantic.ListAgg:
		return of + "[]"
	case semantic.Count, semantic.CountDistinct, semantic.ApproxDistinct:
		return "BIGINT"
	}
	return "DOUBLE"
}

// typeOf gives the type of a metric's values as resultOf does. The catalog's
// metrics form no cycle.
func (m *typeCheck) typeOf(metric *semantic.Metric) string {
	switch metric.Kind {
	case semantic.SimpleMetric:
		if e := m.catalog.Entity(metric.Entity); e != nil && e.Measure(metric.Measure) != nil {
			return m.resultOf(e.Measure(metric.Measure), e)
		}
		return ""
	case semantic.CompareMetric:
		if of := m.catalog.Metric(metric.Of); of != nil && metric.Compare.Give == "value" {
			return m.typeOf(of)
		}
	}
	return "DOUBLE"
}

// metrics holds what metrics compute with to numbers, and what they rank to values in order.
func (m *typeCheck) metrics() {
	for _, metric := range m.catalog.Metrics {
		verb := ""
		switch metric.Kind {
		case semantic.RatioMetric:
			verb = "a ratio divides numbers"
		case semantic.DerivedMetric:
			verb = "a derived metric computes with numbers"
		case semantic.CumulativeMetric:
			verb = "a cumulative metric adds up numbers"
		case semantic.ShareMetric:
			verb = "a share divides numbers"
		case semantic.CompareMetric:
			if metric.Compare.Give != "value" {
				verb = "a " + metric.Compare.Give + " is one of numbers"
			}
		case semantic.RankMetric:
			of := m.catalog.Metric(metric.Of)
			if of != nil && kindOf(m.typeOf(of)) == semantic.KindOther && m.typeOf(of) != "" {
				m.invalid(metric.Pos, "a rank needs values that have an order; metric %q is of type %s", of.Name, strings.ToLower(m.typeOf(of)))
			}
		}
		if verb == "" {
			continue
		}
		for _, name := range metric.Parts() {
			of := m.catalog.Metric(name)
			if of == nil {
				continue
			}
			if found := m.typeOf(of); found != "" && kindOf(found) != semantic.KindNumber {
				m.invalid(metric.Pos, "%s; metric %q is %s", verb, of.Name, m.inWords(of, found))
			}
		}
	}
}

// inWords says where the type of a metric comes from.
func (m *typeCheck) inWords(metric *semantic.Metric, found string) string {
	if e := m.catalog.Entity(metric.Entity); e != nil && metric.Kind == semantic.SimpleMetric {
		return fmt.Sprintf("the %s of the type %s", e.Measure(metric.Measure).Agg, strings.ToLower(found))
	}
	return "of the type " + strings.ToLower(found)
}

// measureDimensions holds the type that a dimension states for a measure with an
// expression against the one that it computes.
func (m *typeCheck) measureDimensions() {
	for _, e := range m.catalog.Entities {
		for _, d := range e.Dimensions {
			if d.Of == nil || m.catalog.Entity(d.Of.Entity) == nil {
				continue
			}
			other := m.catalog.Entity(d.Of.Entity)
			s := other.Measure(d.Of.Measure)
			if s == nil || s.Expr == "" || m.found[s] == "" {
				continue
			}
			found := m.resultOf(s, other)
			exact := kindOf(found) == semantic.KindNumber // of a number only the kind is known here
			if complaint := declared(d.Type)(found); complaint != "" && !(exact && d.Type.Kind() == semantic.KindNumber) {
				m.invalid(d.Pos, "dimension %s: %s", d.Name, complaint)
			}
		}
	}
}

// collations finds those that DuckDB does not have.
func (m *typeCheck) collations() error {
	at := map[string]*semantic.Dimension{}
	for _, e := range m.catalog.Entities {
		for _, d := range e.Dimensions {
			if _, seen := at[d.Collation]; d.Collation != "" && !seen {
				at[d.Collation] = d
			}
		}
	}
	names := slices.Sorted(maps.Keys(at))
	if len(names) == 0 {
		return nil
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "SELECT max('a' COLLATE " + name + ") = 'A'"
	}
	typed, err := m.typer.Types(m.ctx, texts)
	if err != nil {
		return err
	}
	for i, name := range names {
		if !typed[i].OK {
			m.invalid(at[name].Pos, "dimension %s: there is no collation %q", at[name].Name, name)
		}
	}
	return nil
}

func (m *typeCheck) invalid(pos diag.Pos, format string, args ...any) {
	m.errs = append(m.errs, diag.New(diag.ModelInvalid, format, args...).At(pos))
}
