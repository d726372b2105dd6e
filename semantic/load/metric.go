package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// allMetrics builds the metrics below n and then checks what they are made of.
func (b *builder) allMetrics(n node, raw map[string]rawMetric) {
	for _, label := range n.scope(slices.Collect(maps.Keys(raw)), "metric") {
		b.metrics = append(b.metrics, b.metric(n.child(label), label, raw[label]))
	}
	for _, m := range b.metrics {
		b.madeOf(n.child(string(m.Name)), m)
	}
	b.errs = append(b.errs, semantic.MetricCycles(b.metrics)...)
	for _, m := range b.metrics {
		b.inherit(m, map[*semantic.Metric]bool{})
	}
}

// metricParts are the fields of a metric that tell its kind, with the kind.
var metricParts = []struct {
	name string
	kind semantic.MetricKind
}{
	{"entity", semantic.SimpleMetric}, {"measure", semantic.SimpleMetric}, {"filter", semantic.SimpleMetric},
	{"numerator", semantic.RatioMetric}, {"denominator", semantic.RatioMetric},
	{"expr", semantic.DerivedMetric}, {"cumulative", semantic.CumulativeMetric}, {"compare", semantic.CompareMetric},
	{"share", semantic.ShareMetric}, {"rank", semantic.RankMetric}, {"conversion", semantic.ConversionMetric},
}

// kindOf tells a metric's kind from the parts that it has, and refuses parts of
// several kinds; "" when it has none.
func (n node) kindOf(r rawMetric) semantic.MetricKind {
	has := map[string]bool{
		"entity": r.Entity != "", "measure": r.Measure != "", "filter": r.Filter != "",
		"numerator": r.Numerator != "", "denominator": r.Denominator != "", "expr": r.Expr != "",
		"cumulative": r.Cumulative != nil, "compare": r.Compare != nil, "share": r.Share != nil, "rank": r.Rank != nil, "conversion": r.Conversion != nil,
	}
	kind := semantic.MetricKind("")
	for _, part := range slices.Backward(metricParts) { // the kinds with one part are the clearer sign
		if !has[part.name] {
			continue
		}
		if kind == "" || part.kind == kind {
			kind = part.kind
			continue
		}
		n.child(part.name).invalid("a metric is of one kind; this is a %s metric, which has no %s", kind, part.name)
	}
	return kind
}

func (b *builder) metric(n node, label string, r rawMetric) *semantic.Metric {
	m := &semantic.Metric{
		Name: nameOf(label), Description: r.Description, Kind: n.kindOf(r), Entity: nameOf(r.Entity), Measure: nameOf(r.Measure),
		Filter: r.Filter, Numerator: nameOf(r.Numerator), Denominator: nameOf(r.Denominator), Expr: r.Expr,
		Unit: r.Unit, Format: r.Format, Owner: r.Owner, Tags: r.Tags, Synonyms: r.Synonyms, Pos: n.label(),
	}
	n.reserved("metric", label)
	if r.Filter != "" {
		m.FilterPos = b.places.text(n.child("filter").path)
	}
	if r.Expr != "" {
		m.ExprPos = b.places.text(n.child("expr").path)
	}
	if m.Kind == "" && r.Description != "" {
		n.invalid("a metric has entity and measure, numerator and denominator, expr, or one of cumulative, compare, share, rank and conversion; %q has none", label)
	}
	if c := r.Cumulative; c != nil {
		m.Of, m.Cumulative = nameOf(c.Of), n.child("cumulative").cumulative(c)
	}
	if c := r.Compare; c != nil {
		m.Of, m.Compare = nameOf(c.Of), &semantic.Compare{Offset: period(c.Offset), Give: c.Give, ToDate: c.ToDate}
	}
	if s := r.Share; s != nil {
		m.Of, m.Share = nameOf(s.Of), &semantic.Share{Scope: s.Scope, Within: s.Within}
		if s.Scope == "parent" && len(s.Within) > 0 {
			n.child("share", "within").invalid("the scope parent says what the total keeps; within goes with visible and all")
		}
		n.child("share").within(b, s.Within)
	}
	if k := r.Rank; k != nil {
		m.Of, m.Rank = nameOf(k.Of), &semantic.Rank{Asc: k.Asc, Within: k.Within, Ties: k.Ties}
		n.child("rank").within(b, k.Within)
	}
	if c := r.Conversion; c != nil {
		m.Conversion = &semantic.Conversion{Base: nameOf(c.Base), Converted: nameOf(c.Converted), Window: period(c.Window), Give: c.Give}
		for _, pair := range c.On {
			m.Conversion.On = append(m.Conversion.On, semantic.JoinPair{From: nameOf(pair.From), To: nameOf(pair.To)})
		}
	}
	for i, w := range r.Where {
		m.Where = append(m.Where, n.child("where", strconv.Itoa(i)).where(b, w))
	}
	return m
}

// period reads a count of units; zero for what CUE refused.
func period(text string) semantic.Period {
	p, _ := semantic.ParsePeriod(text)
	return p
}

func (n node) cumulative(raw *rawCumulative) *semantic.Cumulative {
	c := &semantic.Cumulative{ToDate: raw.ToDate, Grain: raw.Grain, Coarser: raw.Coarser}
	size := func(grain string) int { return slices.Index(semantic.Grains, grain) }
	switch {
	case raw.Window != "" && raw.ToDate != "":
		n.child("to_date").invalid("a metric is cumulative over a window or to date, not both")
	case raw.Window != "" && raw.IncludeCurrent == nil:
		n.refuse(diag.New(diag.ModelInvalid, "a window says whether the current period is one of its own").WithHint("add include_current: true or false; both are in use, and they differ"))
	case raw.Window == "" && raw.IncludeCurrent != nil:
		n.child("include_current").invalid("only a window has include_current")
	}
	if raw.IncludeCurrent != nil {
		c.IncludeCurrent = *raw.IncludeCurrent
	}
	unit := raw.ToDate
	if unit == "day" {
		unit = "" // reported by CUE
	}
	if raw.Window != "" {
		window := period(raw.Window)
		c.Window, unit = &window, window.Unit
	}
	if unit != "" && size(raw.Grain) > size(unit) {
		n.child("grain").invalid("it is computed at a grain of a %s or finer, and %s is coarser", unit, raw.Grain)
	}
	return c
}

// within checks the dimensions that a total or a rank keeps.
func (n node) within(b *builder, names []string) {
	for i, name := range names {
		at := n.child("within", strconv.Itoa(i))
		at.dimensionAnywhere(b, name)
		if slices.Contains(names[:i], name) {
			at.invalid("dimension %q is listed twice", name)
		}
	}
}

// dimensionAnywhere checks the last part of a question's spelling of a dimension
// and gives the dimensions of that name; where it leads from, the compiler knows.
func (n node) dimensionAnywhere(b *builder, path string) []*semantic.Dimension {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if last == "" || nameOf(last).Key() == "metric_time" {
		return nil
	}
	var found []*semantic.Dimension
	var known []string
	for _, e := range b.entities {
		if d := alike(e.Dimensions, last, dimensionName); d != nil {
			found = append(found, d)
		}
		known = append(known, texts(e.Dimensions, dimensionName)...)
	}
	if found == nil {
		n.unknown("dimension", last, "", known)
	}
	return found
}

func (n node) where(b *builder, raw rawWhere) semantic.Where {
	dimensions := n.child("field").dimensionAnywhere(b, raw.Field)
	for i, v := range raw.Values {
		if len(dimensions) > 0 && !slices.ContainsFunc(dimensions, func(d *semantic.Dimension) bool { return mayBe(d, v) }) {
			n.child("values", strconv.Itoa(i)).invalid("the value does not fit; %q is %s", raw.Field, dimensions[0].Type)
		}
	}
	n.child("grain").anyGrain(b, raw.Grain)
	takes := ""
	switch raw.Op {
	case "is_null", "is_not_null":
		if len(raw.Values) > 0 {
			takes = "no values"
		}
	case "in", "not_in":
		if len(raw.Values) == 0 {
			takes = "at least one value"
		}
	case "between":
		if len(raw.Values) != 2 {
			takes = "two values, the first and the last"
		}
	case "=", "!=", "<", "<=", ">", ">=", "contains", "starts_with", "ends_with":
		if len(raw.Values) != 1 {
			takes = "one value; for several use in or not_in"
		}
	}
	if takes != "" {
		n.invalid("%s takes %s", raw.Op, takes)
	}
	return semantic.Where{Field: raw.Field, Op: raw.Op, Values: raw.Values, Grain: raw.Grain, Pos: n.label()}
}

// mayBe reports whether a value may be compared with a dimension. Text may be a
// time or the digits of a number.
func mayBe(d *semantic.Dimension, value any) bool {
	switch value.(type) {
	case json.Number, float64:
		return d.Kind == semantic.KindNumber || d.Type == ""
	case bool:
		return d.Kind == semantic.KindBoolean || d.Type == ""
	case string:
		return d.Kind != semantic.KindBoolean
	}
	return true
}

// anyGrain checks that the value of n is a grain of some time.
func (n node) anyGrain(b *builder, grain string) {
	known := append(slices.Clone(semantic.Grains), semantic.FiscalQuarter, semantic.FiscalYear)
	for _, c := range b.calendars {
		known = append(known, texts(c.Grains, func(g semantic.CalendarGrain) semantic.Name { return g.Name })...)
	}
	if grain != "" && !slices.ContainsFunc(known, func(g string) bool { return nameOf(g).Look() == nameOf(grain).Look() }) {
		n.unknown("grain", grain, "", known)
	}
}

// madeOf checks the references of one metric.
func (b *builder) madeOf(n node, m *semantic.Metric) {
	switch m.Kind {
	case semantic.SimpleMetric:
		b.simple(n, m)
	case semantic.RatioMetric:
		for part, name := range map[string]semantic.Name{"numerator": m.Numerator, "denominator": m.Denominator} {
			if name == "" {
				n.invalid("a ratio has a numerator and a denominator; %s is missing", part)
			}
			n.child(part).metricOf(b, name)
		}
	case semantic.CumulativeMetric, semantic.CompareMetric, semantic.ShareMetric, semantic.RankMetric:
		n.child(string(m.Kind), "of").metricOf(b, m.Of)
	case semantic.ConversionMetric:
		b.conversion(n.child("conversion"), m)
	}
}

// metricOf finds the metric that the value of n names, and refuses when there is none.
func (n node) metricOf(b *builder, name semantic.Name) *semantic.Metric {
	m, ok := find(b.metrics, string(name), metricName)
	if !ok && name != "" {
		n.unknown("metric", string(name), "", texts(b.metrics, metricName))
	}
	return m
}

func (b *builder) simple(n node, m *semantic.Metric) {
	if m.Entity == "" || m.Measure == "" {
		if m.Description != "" {
			n.invalid("a metric of a measure has entity and measure; %q has not", m.Name)
		}
		return
	}
	e, ok := find(b.entities, string(m.Entity), entityName)
	if !ok {
		n.child("entity").unknown("entity", string(m.Entity), "", texts(b.entities, entityName))
		return
	}
	if _, ok := find(e.Measures, string(m.Measure), measureName); !ok {
		n.child("measure").unknown("measure", string(m.Measure), fmt.Sprintf(" in entity %q", e.Name), texts(e.Measures, measureName))
	}
}

// conversion checks that both sides count rows that have a time, and that on joins them.
func (b *builder) conversion(n node, m *semantic.Metric) {
	c := m.Conversion
	base := n.child("base").events(b, c.Base)
	converted := n.child("converted").events(b, c.Converted)
	if c.Base != "" && c.Base == c.Converted {
		n.child("converted").invalid("an event does not convert to itself; base and converted are both %q", c.Base)
	}
	if base == nil || converted == nil {
		return
	}
	for i, pair := range c.On {
		at := n.child("on", strconv.Itoa(i))
		at.child("from").fieldOf(base, string(pair.From))
		at.pair(base, converted, pair)
	}
	from, _ := find(base.Dimensions, string(base.TimeDimension), dimensionName)
	to, _ := find(converted.Dimensions, string(converted.TimeDimension), dimensionName)
	if from != nil && to != nil && from.Type != "" && to.Type != "" && from.Type != to.Type {
		n.child("converted").invalid("the times of both events are compared; that of entity %q is %s and that of entity %q is %s", base.Name, from.Type, converted.Name, to.Type)
	}
}

// events gives the entity whose rows the metric that n names counts; nil, and
// refused, when it counts none.
func (n node) events(b *builder, name semantic.Name) *semantic.Entity {
	m := n.metricOf(b, name)
	if m == nil {
		return nil
	}
	e, ok := find(b.entities, string(m.Entity), entityName)
	if m.Kind != semantic.SimpleMetric {
		n.invalid("a conversion is made from metrics that count rows; %q is a %s metric", name, m.Kind)
		return nil
	}
	if !ok {
		return nil // reported there
	}
	if s, ok := find(e.Measures, string(m.Measure), measureName); ok && (s.Agg != semantic.Count || s.Field != "" || s.Expr != "") {
		n.invalid("a conversion is made from metrics that count rows; %q is the %s of a value", name, s.Agg)
		return nil
	}
	if e.TimeDimension == "" {
		n.invalid("a conversion needs the time of its events, and entity %q declares no time_dimension", e.Name)
		return nil
	}
	return e
}

// inherit gives a metric the unit and format of what it is made from, where its
// values are of the same sort.
func (b *builder) inherit(m *semantic.Metric, seen map[*semantic.Metric]bool) {
	if seen[m] {
		return // a cycle, reported
	}
	seen[m] = true
	unit, format := "", ""
	switch {
	case m.Kind == semantic.SimpleMetric:
		if e, ok := find(b.entities, string(m.Entity), entityName); ok {
			if s, ok := find(e.Measures, string(m.Measure), measureName); ok {
				unit, format = s.Unit, s.Format
			}
		}
	case m.Kind == semantic.CumulativeMetric, m.Kind == semantic.CompareMetric && m.Compare.Give != "growth":
		if of, ok := find(b.metrics, string(m.Of), metricName); ok {
			b.inherit(of, seen)
			unit, format = of.Unit, of.Format
		}
	}
	if m.Unit == "" {
		m.Unit = unit
	}
	if m.Format == "" {
		m.Format = format
	}
}
