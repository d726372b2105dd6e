package load_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"plumbline/semantic"
)

// outline prints a catalog, one thing a line.
func outline(c *semantic.Catalog) string {
	var b strings.Builder
	fmt.Fprintf(&b, "time zone=%s week=%s fiscal=%d\n", c.Time.Zone, c.Time.WeekStart, c.Time.FiscalStart)
	for _, e := range c.Entities {
		fmt.Fprintf(&b, "entity %s: %s\n", e.Name, e.Pos)
		fmt.Fprintf(&b, "  source %s %s %s hive=%t\n  key %v time %q\n", e.Source.Source, e.Source.Path, e.Source.Format, e.Source.Hive, e.PrimaryKey, e.TimeDimension)
		for _, f := range e.Fields {
			fmt.Fprintf(&b, "  field %s %s %s%s%s\n", f.Name, f.Type, f.Visibility, optional(" domain=", f.JoinDomain), optional(" zone=", f.Zone))
		}
		for _, d := range e.Dimensions {
			fmt.Fprintf(&b, "  dimension %s %s %s %s reads=%v%s%s%s%s%s%s\n", d.Name, d.Kind, d.Type, d.Visibility, d.Reads,
				optional(" grains=", strings.Join(d.Grains, ",")), optional(" expr=", d.Expr), optional(" at ", d.ExprPos.String()),
				set(" of=", d.Of), set(" bins=", d.Bins), optional(" collation=", d.Collation))
		}
		for _, m := range e.Measures {
			fill := "null"
			if m.Fill != nil {
				fill = fmt.Sprint(*m.Fill)
			}
			fmt.Fprintf(&b, "  measure %s %s(%s%s) fill=%s%s%s%s", m.Name, m.Agg, m.Field, m.Expr, fill,
				optional(" where ", m.Filter), optional(" at ", m.FilterPos.String()), optional(" expr at ", m.ExprPos.String()))
			fmt.Fprintf(&b, "%s%s%s%s\n", optional(" quantile=", m.Quantile), optional(" by=", string(m.By)), optional(" separator=", m.Separator), set(" semi=", m.Semi))
			if m.Order != nil || m.Discrete {
				fmt.Fprintf(&b, "    order=%v discrete=%t\n", m.Order, m.Discrete)
			}
		}
		for _, r := range e.Relationships {
			fmt.Fprintf(&b, "  relationship %s %s %s on %v complete=%t%s%s%s\n", r.Name, r.Kind, r.To, r.On, r.Complete, set(" valid=", r.Valid), set(" as_of=", r.AsOf), set(" through=", r.Through))
		}
		for _, f := range e.Filters {
			fmt.Fprintf(&b, "  filter %s %s %s%s%s\n", f.Name, f.Kind, f.Field, optional(" expr=", f.Expr), optional(" at ", f.ExprPos.String()))
		}
	}
	for _, m := range c.Metrics {
		outlineMetric(&b, m)
	}
	for _, k := range c.Calendars {
		fmt.Fprintf(&b, "calendar %s %s.%s %v\n", k.Name, k.Entity, k.Date, k.Grains)
	}
	for _, p := range c.Parameters {
		fmt.Fprintf(&b, "parameter %s %s default=%q required=%t allowed=%q\n", p.Name, p.Type, p.Default, p.Required, p.Allowed)
	}
	for _, v := range c.Views {
		fmt.Fprintf(&b, "view %s of %s measures=%v\n", v.Name, v.Entity, v.Measures)
		for _, column := range v.Columns {
			fmt.Fprintf(&b, "  column %s = %s at %s\n", column.Name, column.Path, column.Pos)
		}
	}
	for _, t := range c.Tests {
		fmt.Fprintf(&b, "test %s rows=%v question=%s%s as=%q now=%q columns=%v expect=%#v ordered=%t refused=%q\n", t.Name, t.Rows, t.Question,
			optional(" sql=", t.SQL), t.As, t.Now, t.Columns, t.Expect, t.Ordered, t.Refused)
	}
	return b.String()
}

func outlineMetric(b *strings.Builder, m *semantic.Metric) {
	switch m.Kind {
	case semantic.SimpleMetric:
		fmt.Fprintf(b, "metric %s %s.%s%s", m.Name, m.Entity, m.Measure, optional(" filter=", m.Filter))
	case semantic.RatioMetric:
		fmt.Fprintf(b, "metric %s ratio %s / %s", m.Name, m.Numerator, m.Denominator)
	case semantic.DerivedMetric:
		fmt.Fprintf(b, "metric %s derived %s at %s", m.Name, m.Expr, m.ExprPos)
	default:
		running, window := m.Cumulative, ""
		if running != nil && running.Window != nil {
			window = fmt.Sprintf(" window=%v", *running.Window)
			running = &semantic.Cumulative{IncludeCurrent: running.IncludeCurrent, ToDate: running.ToDate, Grain: running.Grain, Coarser: running.Coarser}
		}
		fmt.Fprintf(b, "metric %s %s%s%s%s%s%s%s", m.Name, m.Kind, optional(" of ", string(m.Of)), set(" ", running), set(" ", m.Compare), set(" ", m.Share), set(" ", m.Rank), set(" ", m.Conversion))
		b.WriteString(window)
	}
	for _, w := range m.Where {
		fmt.Fprintf(b, " where %s %s %#v", w.Field, w.Op, w.Values)
	}
	fmt.Fprintf(b, "%s%s\n", optional(" unit=", m.Unit), optional(" owner=", m.Owner))
}

// set prints what is there.
func set[T any](label string, thing *T) string {
	if thing == nil {
		return ""
	}
	return fmt.Sprintf("%s%+v", label, *thing)
}

func optional(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

func outlineWorkspace(w *semantic.Workspace) string {
	var b strings.Builder
	local := func(path string) string {
		if rel, err := filepath.Rel(w.Root, path); err == nil {
			return filepath.ToSlash(rel)
		}
		return path
	}
	fmt.Fprintf(&b, "name %q models=%s policies=%s\n", w.Name, local(w.Models), local(w.Policies))
	for _, s := range w.Sources {
		fmt.Fprintf(&b, "source %s %s %s\n", s.Name, s.Kind, local(s.Root))
	}
	fmt.Fprintf(&b, "limits %+v\nserver %+v\n", w.Limits, w.Server)
	fmt.Fprintf(&b, "audit %s max=%d keep=%d\n", local(w.Audit.Path), w.Audit.MaxBytes, w.Audit.Keep)
	for _, s := range w.Subjects {
		fmt.Fprintf(&b, "subject %s roles=%v claims=%v token=%+v\n", s.ID, s.Roles, s.Claims, s.Token)
	}
	return b.String()
}
