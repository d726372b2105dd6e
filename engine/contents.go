package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Contents tells what a dimension holds, in the rows that the subject sees: its most
// frequent values, and for times and numbers the first and the last.
type Contents struct {
	Dimension string          `json:"dimension"` // table.dimension
	Type      string          `json:"type"`
	Values    []ContentsValue `json:"values,omitempty"`
	More      bool            `json:"more,omitempty"` // there are other values, less frequent
	Min       any             `json:"min,omitempty"`
	Max       any             `json:"max,omitempty"`
	Zone      string          `json:"zone,omitempty"` // that times are written in
	Masked    string          `json:"masked,omitempty"`
	// MinGroup is how many rows a value must have to be told; 0 for any number.
	MinGroup int `json:"min_group,omitempty"`
}

// ContentsValue is one value and how many rows have it.
type ContentsValue struct {
	Value any `json:"value"`
	Rows  any `json:"rows"`
}

// How many values are told, without a limit and at most.
const (
	someValues = 20
	maxValues  = 200
)

// Contents answers what a dimension holds. It is asked by SQL through the whole
// pipeline, as any question of the subject; only what the subject may select is
// told, and as it may see it. The entity's fixed filters apply, as in metrics.
func (e *Engine) Contents(ctx context.Context, d Describing) (*Contents, error) {
	w, release := e.world()
	defer release()
	req := d.request()
	v := newView(ctx, w, d.Subject, e.moment(req))
	at, err := v.valued(d)
	if err != nil {
		if auditErr := e.refused(ctx, req, err); auditErr != nil {
			err = auditErr
		}
		return nil, err
	}
	out := &Contents{Dimension: string(at.vis.Entity.Name) + "." + string(at.dim.Name), Type: string(at.dim.Type), Masked: at.mask}
	if out.MinGroup = at.group; at.group > 0 && !at.counted() {
		return out, nil // the first and the last value are single rows
	}
	n := d.Limit
	if n <= 0 {
		n = someValues
	}
	n = min(n, maxValues)
	req.SQL, req.ours = at.question(n+1), true
	ans, err := e.ask(ctx, w, req)
	if err != nil {
		return nil, err
	}
	rows := ans.Table.Rows
	if at.bounded() && len(rows) > 0 {
		out.Min, out.Max = rows[0][0], rows[0][1]
	}
	if at.dim.Kind == semantic.KindTime {
		out.local(at, w.catalog.Time.Zone)
	}
	if !at.counted() {
		return out, nil
	}
	out.More = len(rows) > n
	for _, row := range rows[:min(n, len(rows))] {
		out.Values = append(out.Values, ContentsValue{row[len(row)-2], row[len(row)-1]})
	}
	return out, nil
}

// bounded reports that the first and the last value mean something; counted that
// single values do. The values of bins are not the column's.
func (at valued) bounded() bool {
	return at.group == 0 && (at.dim.Kind == semantic.KindTime || at.dim.Kind == semantic.KindNumber)
}
func (at valued) counted() bool { return at.dim.Kind != semantic.KindTime && at.dim.Bins == nil }

// question is the one SELECT that gives bounds, values or both.
func (at valued) question(limit int) string {
	column, from := semantic.Quote(string(at.column)), " FROM "+semantic.Quote(string(at.vis.Entity.Name))+fixedWhere(at.vis.Entity)
	switch {
	case !at.counted():
		return fmt.Sprintf(`SELECT min(%s) AS "min", max(%s) AS "max"%s`, column, column, from)
	case at.bounded():
		return fmt.Sprintf(`SELECT min(min(%s)) OVER () AS "min", max(max(%s)) OVER () AS "max", %s AS "value", count(*) AS "rows"%s GROUP BY 3 ORDER BY 4 DESC NULLS LAST, 3 ASC NULLS LAST LIMIT %d`,
			column, column, column, from, limit)
	}
	return fmt.Sprintf(`SELECT %s AS "value", count(*) AS "rows"%s GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC NULLS LAST LIMIT %d`, column, from, limit)
}

// local writes bounds of a time dimension in the model's zone.
func (o *Contents) local(at valued, zone string) {
	_, b := metric.TimeColumn(at.vis.Entity, at.dim, zone)
	if o.Type != "date" {
		o.Zone = b.Shown
	}
	for _, end := range []*any{&o.Min, &o.Max} {
		s, _ := (*end).(string)
		if t, ok := b.Instant(s); ok {
			*end = b.Local(t)
		}
	}
}

// valued is a dimension whose values the subject may read.
type valued struct {
	vis    *resolve.Visible
	dim    *semantic.Dimension
	column semantic.Name
	mask   string
	group  int // rows that each value must have; 0 for any number
}

// valued finds the dimension that a question names: table.dimension, the name
// alone where one table has it, or behind the role that leads to its table.
func (v *view) valued(d Describing) (valued, error) {
	qualifier, name := d.Table, d.Dimension
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		qualifier, name = name[:i], name[i+1:]
		qualifier = qualifier[strings.LastIndexByte(qualifier, '.')+1:] // of a path, the last role leads there
	}
	var found []valued
	var names []string
	for _, n := range v.Names() {
		vis, err := v.Entity(semantic.Name(n))
		if err != nil {
			return valued{}, err
		}
		for _, dim := range vis.Entity.Dimensions {
			if !selects(vis, dim) {
				continue
			}
			names = append(names, n+"."+string(dim.Name))
			if dim.Name.Key() == semantic.Name(name).Key() && (qualifier == "" || v.leads(qualifier, vis.Entity)) {
				found = append(found, valued{vis: vis, dim: dim})
			}
		}
	}
	switch {
	case len(found) == 0:
		return valued{}, diag.New(diag.ResolveUnknown, "no dimension %q whose values you may see", d.Dimension).
			Suggest(semantic.Nearest(d.Dimension, names)...).WithHint("name it as table.dimension; list_metrics shows dimensions")
	case len(found) > 1:
		var spelled []string
		for _, f := range found {
			spelled = append(spelled, string(f.vis.Entity.Name)+"."+string(f.dim.Name))
		}
		return valued{}, diag.New(diag.ResolveAmbiguous, "%q is a dimension of more than one table", d.Dimension).WithHint("say which: %s", strings.Join(spelled, " or "))
	}
	return v.open(found[0])
}

// open checks masks: values are told as the subject sees them, but not grouped by
// a mask that may only be selected, nor computed from one.
func (v *view) open(at valued) (valued, error) {
	at.column = at.dim.Name
	if at.dim.Field != "" {
		at.column = at.dim.Field
	}
	if v.grouped(at.vis.Entity.Name) {
		at.group = v.access[at.vis.Entity.Name.Key()].MinGroup.Size
	}
	closed := diag.New(diag.PolicyColumn, "%s.%s is masked for you, so its values cannot be counted", at.vis.Entity.Name, at.dim.Name)
	switch {
	case at.dim.Field == "" && masks(at.vis, at.column), at.vis.SelectOnly[at.column.Key()]:
		return valued{}, closed
	case at.vis.Masked[at.column.Key()]:
		at.mask = v.access[at.vis.Entity.Name.Key()].Columns[at.column.Key()].Mask.Kind
	}
	for _, f := range at.vis.Entity.Filters {
		if f.Kind != semantic.FixedFilter {
			continue
		}
		places, err := v.w.expressions.Columns(at.vis.Entity.Name, f.Expr)
		if err != nil {
			return valued{}, err
		}
		if slices.ContainsFunc(places, func(p resolve.Place) bool {
			_, ok := at.vis.Fields[p.Column.Key()]
			return p.Parameter == "" && (!ok || at.vis.Masked[p.Column.Key()])
		}) {
			return valued{}, diag.New(diag.PolicyColumn, "%q has a filter of its own on what you may not see, so its values cannot be counted", at.vis.Entity.Name)
		}
	}
	return at, nil
}

// selects reports that the subject may select a dimension that is a column.
func selects(vis *resolve.Visible, d *semantic.Dimension) bool {
	if d.Visibility != semantic.Output || d.Field == "" && d.Expr == "" {
		return false
	}
	reads := d.Reads
	if d.Field != "" {
		reads = []semantic.Name{d.Field}
	}
	return !slices.ContainsFunc(reads, func(n semantic.Name) bool { return vis.Fields[n.Key()] != semantic.Output })
}

// leads reports that a qualifier is an entity's name, or a role that leads to it.
func (v *view) leads(qualifier string, to *semantic.Entity) bool {
	key := semantic.Name(qualifier).Key()
	if to.Name.Key() == key {
		return true
	}
	for _, n := range v.Names() {
		if e := v.w.catalog.Entity(semantic.Name(n)); e != nil {
			if r := e.Relationship(semantic.Name(qualifier)); r != nil && r.To.Key() == to.Name.Key() {
				return true
			}
		}
	}
	return false
}
