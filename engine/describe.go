package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"plumbline/compiler/measure"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// The describing tools. They pass the same policy and leave the same record as
// a question, and say nothing about what the subject may not see.
const (
	ToolList     = "list_metrics"
	ToolSearch   = "search_tables"
	ToolDescribe = "describe_table"
)

// Describing is a describing question.
type Describing struct {
	Tool    string
	Subject policy.Subject
	Asked   json.RawMessage
	Search  string // list_metrics, search_tables: words to look for; "" means all
	Table   string // describe_table
	// Dimension asks list_metrics and describe_table for the values of one.
	Dimension string
	Limit     int // how many; 0 means 50

	replay *Replay // as in Request
}

// request is the question as the pipeline takes it.
func (d Describing) request() Request {
	req := Request{Tool: d.Tool, Subject: d.Subject, Asked: d.Asked, replay: d.replay}
	if d.replay != nil {
		req.at = d.replay.of.Time
	}
	return req
}

// Table is one entity, or one view, as a subject may use it.
type Table struct {
	Name          string        `json:"name"`
	Description   string        `json:"description"`
	Grain         string        `json:"grain"`
	TimeDimension string        `json:"time_dimension,omitempty"`
	Columns       []Column      `json:"columns,omitempty"`
	Measures      []MeasureInfo `json:"measures,omitempty"`
	Joins         []Join        `json:"joins,omitempty"`
	Filters       []FilterInfo  `json:"filters,omitempty"`
	RowRule       bool          `json:"row_rule"`            // the subject sees only some rows
	MinGroup      int           `json:"min_group,omitempty"` // rows that each group of an answer has; 0 for any number
	Source        string        `json:"source,omitempty"`
	ViewOf        string        `json:"view_of,omitempty"`      // the entity whose rows a view shows
	SQLMeasures   []string      `json:"sql_measures,omitempty"` // search_tables: what MEASURE() takes
	Tags          []string      `json:"tags,omitempty"`
}

// Column is one column of a Table and how it may be used.
type Column struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Use         string   `json:"use"` // output, filter, join
	Mask        string   `json:"mask,omitempty"`
	Grains      []string `json:"grains,omitempty"`
	Computed    bool     `json:"computed,omitempty"`
	Samples     []string `json:"samples,omitempty"`
}

// MeasureInfo is one measure of a Table, asked for in SQL, or through the metrics
// that use it.
type MeasureInfo struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	SQL         string   `json:"sql"` // in a grouped query over the table
	Metrics     []string `json:"metrics,omitempty"`
}

// Join is one relationship to another visible entity.
type Join struct {
	Role string `json:"role"`
	To   string `json:"to"`
	Kind string `json:"kind"`
	On   string `json:"on"`
}

// FilterInfo is one filter of the model.
type FilterInfo struct {
	Kind        string `json:"kind"` // fixed, required, default
	Field       string `json:"field,omitempty"`
	Description string `json:"description"`
}

// Metric is one metric as a subject may ask for it.
type Metric struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Unit        string      `json:"unit,omitempty"`
	Format      string      `json:"format,omitempty"`
	Tables      []string    `json:"tables"`                // the facts it aggregates
	Time        []string    `json:"metric_time,omitempty"` // grains of metric_time
	Required    []string    `json:"required_filters,omitempty"`
	Dimensions  []Dimension `json:"dimensions"`
	Kind        string      `json:"kind"`
	Needs       string      `json:"needs,omitempty"` // what a question for it must have
	Segments    []string    `json:"segments,omitempty"`
	Hierarchies []Hierarchy `json:"hierarchies,omitempty"`
	Parameters  []Parameter `json:"parameters,omitempty"`

	synonyms []string
}

// Summary is the description on one short line.
func (m Metric) Summary() string {
	const most = 120
	line, rest, _ := strings.Cut(strings.TrimSpace(m.Description), "\n")
	if r := []rune(line); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	if rest != "" {
		line += " ..."
	}
	return line
}

// Hierarchy orders dimensions from coarse to fine; it is asked for as a dimension,
// with the finest level as its grain.
type Hierarchy struct {
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
}

// Parameter is a value that a question for a metric may set.
type Parameter struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description,omitempty"`
	Default     string   `json:"default,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Allowed     []string `json:"allowed,omitempty"`
}

// Dimension is what a metric may be grouped or filtered by, under a spelling
// that means it and nothing else.
type Dimension struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Grains      []string `json:"grains,omitempty"`
	FilterOnly  bool     `json:"filter_only,omitempty"`
}

// Text writes a parameter on one line: its type, default and allowed values.
func (p Parameter) Text() string {
	out := p.Name + " " + p.Type
	if p.Required {
		out += ", required"
	} else {
		out += ", else " + p.Default
	}
	if len(p.Allowed) > 0 {
		out += ": " + strings.Join(p.Allowed, ", ")
	}
	return out
}

// Metrics answers list_metrics.
func (e *Engine) Metrics(ctx context.Context, d Describing) ([]Metric, error) {
	return describing(ctx, e, d, func(v *view) ([]Metric, error) {
		all, err := v.metrics()
		if err != nil {
			return nil, err
		}
		return rank(all, d, func(m Metric) []string {
			return slices.Concat([]string{m.Name, m.Description}, m.Tables, m.synonyms)
		}), nil
	})
}

// metrics lists what the subject may ask; the view remembers the list.
func (v *view) metrics() ([]Metric, error) {
	if v.listed != nil {
		return v.listed, nil
	}
	list, err := metric.List(v, v.w.catalog, v.w.expressions)
	if err != nil {
		return nil, err
	}
	out := make([]Metric, len(list))
	for i, m := range list {
		out[i] = Metric{Name: string(m.Name), Description: m.Description, Unit: m.Unit, Format: m.Format,
			Tables: []string{}, Time: m.Time, Required: m.Required, Dimensions: []Dimension{}, Kind: string(m.Kind), Segments: m.Segments, synonyms: m.Synonyms}
		if m.NeedsTime {
			out[i].Needs = "a time dimension with a grain"
		}
		for _, h := range m.Hierarchies {
			out[i].Hierarchies = append(out[i].Hierarchies, Hierarchy{h.Name, h.Levels})
		}
		for _, p := range m.Parameters {
			out[i].Parameters = append(out[i].Parameters, parameter(p))
		}
		for _, e := range m.Entities {
			out[i].Tables = append(out[i].Tables, string(e))
		}
		for _, dim := range m.Dimensions {
			out[i].Dimensions = append(out[i].Dimensions, Dimension{Name: dim.Spelling, Type: string(dim.Type), Description: dim.Description, Grains: dim.Grains, FilterOnly: dim.FilterOnly})
		}
	}
	v.listed = out
	return out, nil
}

func parameter(p *semantic.Parameter) Parameter {
	out := Parameter{Name: string(p.Name), Type: string(p.Type), Description: p.Description, Required: p.Required, Allowed: p.Allowed}
	if !p.Required {
		out.Default = p.Default
	}
	return out
}

// Tables answers search_tables: the entities without their columns.
func (e *Engine) Tables(ctx context.Context, d Describing) ([]Table, error) {
	return describing(ctx, e, d, func(v *view) ([]Table, error) {
		var all []Table
		words := map[string][]string{}
		for _, n := range v.Names() {
			vis, err := v.Entity(semantic.Name(n))
			if err != nil {
				return nil, err
			}
			t, err := v.table(vis)
			if err != nil {
				return nil, err
			}
			words[t.Name] = append([]string{t.Name, t.Description, t.Grain}, vis.Entity.Synonyms...)
			words[t.Name] = append(words[t.Name], t.listed()...)
			all = append(all, t)
		}
		views, err := v.viewTables()
		if err != nil {
			return nil, err
		}
		for _, t := range views {
			words[t.Name] = append([]string{t.Name, t.Description, t.Grain}, t.listed()...)
			all = append(all, t)
		}
		return rank(all, d, func(t Table) []string { return words[t.Name] }), nil
	})
}

// Table answers describe_table; a hidden entity is answered as a missing one.
func (e *Engine) Table(ctx context.Context, d Describing) (*Table, error) {
	return describing(ctx, e, d, func(v *view) (*Table, error) {
		vis, err := v.Entity(semantic.Name(d.Table))
		if err != nil {
			return nil, err
		}
		if vis == nil {
			return v.viewTable(d.Table)
		}
		t, err := v.table(vis)
		return &t, err
	})
}

// listed cuts a table to what a list of tables shows, and gives the words of the rest.
func (t *Table) listed() []string {
	var words []string
	for _, c := range t.Columns {
		words = append(words, c.Name, c.Description)
	}
	for _, m := range t.Measures {
		words = append(words, m.Name, m.Description)
		t.SQLMeasures = append(t.SQLMeasures, m.Name)
	}
	t.Columns, t.Measures, t.Joins, t.Filters = nil, nil, nil, nil
	return words
}

// viewTable describes a view; a hidden one is answered as a missing one.
func (v *view) viewTable(name string) (*Table, error) {
	list, err := v.viewTables()
	if err != nil {
		return nil, err
	}
	known := v.Names()
	for _, t := range list {
		if semantic.Name(t.Name).Key() == semantic.Name(name).Key() {
			return &t, nil
		}
		known = append(known, t.Name)
	}
	return nil, diag.New(diag.ResolveUnknown, "no table %q", name).Suggest(semantic.Nearest(name, known)...).
		WithHint("search_tables lists what you may see")
}

// viewTables describes the views that the subject may use.
func (v *view) viewTables() ([]Table, error) {
	list, err := measure.Views(measure.Input{View: v, Catalog: v.w.catalog, Options: metric.Options{Expressions: v.w.expressions}})
	if err != nil {
		return nil, err
	}
	out := make([]Table, len(list))
	for i, s := range list {
		e := v.w.catalog.Entity(s.View.Entity)
		out[i] = Table{Name: string(s.View.Name), Description: s.View.Description, Grain: e.Grain, ViewOf: string(e.Name),
			RowRule: v.access[e.Name.Key()].Rows.Truth != policy.Always}
		for _, c := range s.Columns {
			out[i].Columns = append(out[i].Columns, Column{Name: string(c.Name), Type: string(c.Dimension.Type), Description: c.Dimension.Description,
				Use: semantic.Output.String(), Grains: c.Dimension.Grains})
		}
		for _, m := range s.Measures {
			out[i].Measures = append(out[i].Measures, measureInfo(e.Measure(semantic.Name(m))))
		}
	}
	return out, nil
}

func measureInfo(m *semantic.Measure) MeasureInfo {
	return MeasureInfo{Name: string(m.Name), Description: m.Description, SQL: "MEASURE(" + resolve.Identifier(string(m.Name)) + ")"}
}

// describing runs fn under the clock, the policy and the audit of a question.
// An account that was interrupted is none: names may be missing from it.
func describing[T any](ctx context.Context, e *Engine, d Describing, fn func(*view) (T, error)) (out T, err error) {
	w, release := e.world()
	defer release()
	ctx, cancel := context.WithTimeoutCause(ctx, w.ws.Limits.Time, errTime)
	defer cancel()
	q := e.begin(ctx, w, d.request())
	defer func() {
		if p := recover(); p != nil {
			err = q.panicked(p)
		} else {
			err = q.explainContext(ctx, err)
		}
		if auditErr := q.write(ctx, nil, err); auditErr != nil {
			err = auditErr
		}
		if err != nil {
			out = *new(T)
		}
	}()
	defer q.time(stageResolve)()
	if err := q.called(q.limits.Calls); err != nil {
		return out, err
	}
	if out, err = fn(q.view); err == nil { // a list that lacks what could not be decided is none
		err = q.view.failure
	}
	if err == nil && ctx.Err() != nil {
		err = diag.Wrap(ctx.Err(), diag.RequestCancelled, "the call was cancelled")
	}
	return out, err
}

// table describes one entity by what its access allows.
func (v *view) table(vis *resolve.Visible) (Table, error) {
	e := vis.Entity
	access := v.access[e.Name.Key()]
	t := Table{Name: string(e.Name), Description: e.Description, Grain: e.Grain, Source: string(e.Source.Source),
		RowRule: access.Rows.Truth != policy.Always, MinGroup: access.MinGroup.Size, Tags: e.Tags}
	for _, f := range e.Fields {
		if !shown(vis, f.Name) {
			continue
		}
		class, _ := vis.Class(f.Name)
		c := Column{Name: string(f.Name), Type: string(f.Type), Description: f.Description, Use: class.String(), Samples: f.Samples}
		if m := access.Columns[f.Name.Key()].Mask; m != nil {
			c.Mask, c.Samples = m.Kind, nil
		}
		if t.MinGroup > 0 {
			c.Samples = nil // they are single values
		}
		if slices.ContainsFunc(access.Rows.Reads, func(n semantic.Name) bool { return n.Key() == f.Name.Key() }) {
			c.Samples = nil // they would name what the row rule keeps apart
		}
		if d := e.Dimension(f.Name); d != nil {
			c.Grains = d.Grains
		}
		t.Columns = append(t.Columns, c)
	}
	for _, d := range e.Dimensions {
		if class, _ := vis.Class(d.Name); shown(vis, d.Name) && d.Expr != "" {
			t.Columns = append(t.Columns, Column{Name: string(d.Name), Type: string(d.Type), Description: d.Description,
				Use: class.String(), Grains: d.Grains, Computed: true})
		}
	}
	if shown(vis, e.TimeDimension) {
		t.TimeDimension = string(e.TimeDimension)
	}
	for _, f := range e.Filters {
		if f.Field == "" || shown(vis, f.Field) {
			t.Filters = append(t.Filters, FilterInfo{Kind: string(f.Kind), Field: string(f.Field), Description: f.Description})
		}
	}
	return t, v.related(&t, vis)
}

// shown says whether a caller may name a field or dimension at all: it is
// neither hidden nor private.
func shown(vis *resolve.Visible, n semantic.Name) bool {
	class, ok := vis.Class(n)
	return ok && class != semantic.Private
}

// related fills the joins to visible entities and the measures that the subject may ask for.
func (v *view) related(t *Table, vis *resolve.Visible) error {
	for _, r := range vis.Entity.Relationships {
		to, err := v.Entity(r.To)
		if err != nil {
			return err
		}
		if to == nil {
			continue
		}
		on, ok, err := v.condition(vis, to, r)
		if err != nil {
			return err
		}
		if ok {
			t.Joins = append(t.Joins, Join{Role: string(r.Name), To: string(r.To), Kind: string(r.Kind), On: on})
		}
	}
	metrics, err := v.metrics()
	if err != nil {
		return err
	}
	offered := metric.NewMeasures(v, v.w.catalog, metric.Options{Expressions: v.w.expressions})
	for _, m := range vis.Entity.Measures {
		if !offered.Offers(vis.Entity.Name, m.Name) {
			continue
		}
		info := measureInfo(m)
		for _, d := range metrics {
			def := v.w.catalog.Metric(semantic.Name(d.Name))
			if def.Kind == semantic.SimpleMetric && def.Entity.Key() == vis.Entity.Name.Key() && def.Measure.Key() == m.Name.Key() {
				info.Metrics = append(info.Metrics, d.Name)
			}
		}
		t.Measures = append(t.Measures, info)
	}
	return offered.Failed()
}

// rank keeps what holds every word of the search, those that hold them in the
// name first, and cuts at the limit. No search keeps all in declared order.
func rank[T any](all []T, d Describing, words func(T) []string) []T {
	terms := strings.Fields(strings.ToLower(d.Search))
	type scored struct {
		item  T
		score int
	}
	var hits []scored
	for _, item := range all {
		w := words(item)
		score, every := 0, true
		for _, term := range terms {
			switch {
			case strings.Contains(strings.ToLower(w[0]), term):
				score += 2
			case strings.Contains(strings.ToLower(strings.Join(w, " ")), term):
				score++
			default:
				every = false
			}
		}
		if every {
			hits = append(hits, scored{item, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b scored) int { return b.score - a.score })
	limit := d.Limit
	if limit <= 0 {
		limit = 50
	}
	out := make([]T, 0, min(limit, len(hits)))
	for _, h := range hits[:min(limit, len(hits))] {
		out = append(out, h.item)
	}
	return out
}
