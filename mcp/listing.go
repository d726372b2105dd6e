package mcp

import (
	"fmt"
	"strings"

	"plumbline/engine"
)

// How many metrics list_metrics gives unless it is asked for another number, and
// how many of them with all that goes with each.
const (
	listedMetrics = 200
	wholeMetrics  = 10
)

// listing is an answer of list_metrics.
type listing struct {
	Total, Shown int
	Metrics      []engine.Metric
	search       string
}

// brief is a metric on one line.
type brief struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"`
	Description string `json:"description"`
	Unit        string `json:"unit,omitempty"`
}

// whole reports that a metric is told with its dimensions: when the list is short
// enough to be read whole, and for the one whose name was looked for.
func (l listing) whole(m engine.Metric) bool {
	return len(l.Metrics) <= wholeMetrics || strings.EqualFold(m.Name, strings.TrimSpace(l.search))
}

// structured is the listing as data; metrics that are not told whole have no dimensions.
func (l listing) structured() any {
	list := make([]any, len(l.Metrics))
	for i, m := range l.Metrics {
		if list[i] = m; !l.whole(m) {
			list[i] = brief{m.Name, m.Kind, m.Summary(), m.Unit}
		}
	}
	return struct {
		Total   int   `json:"total"`
		Shown   int   `json:"shown"`
		Metrics []any `json:"metrics"`
	}{l.Total, l.Shown, list}
}

// text lists metrics compactly: a line each, and below it what goes with those that
// are told whole.
func (l listing) text() string {
	if l.Total == 0 {
		return "no metric matches; leave search out to list all\n"
	}
	var b strings.Builder
	b.WriteString(plural(l.Total, "metric"))
	if l.Shown < l.Total {
		fmt.Fprintf(&b, ", %d shown: search or raise limit", l.Shown)
	}
	b.WriteByte('\n')
	short := false
	for _, m := range l.Metrics {
		b.WriteString(m.Name)
		if m.Kind != "simple" {
			fmt.Fprintf(&b, " (%s)", m.Kind)
		}
		b.WriteString(": " + m.Summary())
		if m.Unit != "" {
			fmt.Fprintf(&b, " [%s]", m.Unit)
		}
		b.WriteByte('\n')
		if !l.whole(m) {
			short = true
			continue
		}
		fmt.Fprintf(&b, "  by %s\n", dimensions(m))
		b.WriteString(extras(m))
	}
	if short {
		b.WriteString("search for a metric's name to see its dimensions\n")
	}
	return b.String()
}
