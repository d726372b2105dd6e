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
			fmt.Fprintf(&b, "  dimension %s %s %s %s reads=%v%s%s%s\n", d.Name, d.Kind, d.Type, d.Visibility, d.Reads,
				optional(" grains=", strings.Join(d.Grains, ",")), optional(" expr=", d.Expr), optional(" at ", d.ExprPos.String()))
		}
		for _, m := range e.Measures {
			fill := "null"
			if m.Fill != nil {
				fill = fmt.Sprint(*m.Fill)
			}
			fmt.Fprintf(&b, "  measure %s %s(%s%s) fill=%s%s%s%s\n", m.Name, m.Agg, m.Field, m.Expr, fill,
				optional(" where ", m.Filter), optional(" at ", m.FilterPos.String()), optional(" expr at ", m.ExprPos.String()))
		}
		for _, r := range e.Relationships {
			fmt.Fprintf(&b, "  relationship %s %s %s on %v complete=%t\n", r.Name, r.Kind, r.To, r.On, r.Complete)
		}
		for _, f := range e.Filters {
			fmt.Fprintf(&b, "  filter %s %s %s%s%s\n", f.Name, f.Kind, f.Field, optional(" expr=", f.Expr), optional(" at ", f.ExprPos.String()))
		}
	}
	for _, m := range c.Metrics {
		if m.Kind == semantic.RatioMetric {
			fmt.Fprintf(&b, "metric %s ratio %s / %s%s\n", m.Name, m.Numerator, m.Denominator, optional(" unit=", m.Unit))
			continue
		}
		fmt.Fprintf(&b, "metric %s %s.%s%s\n", m.Name, m.Entity, m.Measure, optional(" unit=", m.Unit))
	}
	return b.String()
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
