package semantic

import (
	"strings"

	"plumbline/semantic/diag"
)

// MetricCycles reports metrics that are made from themselves as model.cycle: each
// cycle once, at its first metric in the order of the list. A part that is not in
// the list is passed over.
func MetricCycles(list []*Metric) diag.List {
	byName := make(map[string]*Metric, len(list))
	for _, m := range list {
		byName[m.Name.Key()] = m
	}
	const open, done = 1, 2
	var (
		out   diag.List
		state = map[*Metric]int{}
		path  []*Metric
		visit func(*Metric)
	)
	visit = func(m *Metric) {
		state[m] = open
		path = append(path, m)
		for _, name := range m.Parts() {
			part := byName[name.Key()]
			switch {
			case part == nil || state[part] == done:
			case state[part] == open:
				from := 0
				for path[from] != part {
					from++
				}
				out = append(out, cycleError(path[from:]))
			default:
				visit(part)
			}
		}
		path = path[:len(path)-1]
		state[m] = done
	}
	for _, m := range list {
		if state[m] == 0 {
			visit(m)
		}
	}
	return out
}

func cycleError(cycle []*Metric) *diag.Error {
	var names []string
	for _, m := range cycle {
		names = append(names, string(m.Name))
	}
	names = append(names, names[0])
	return diag.New(diag.ModelCycle, "a metric is not made from itself: %s", strings.Join(names, " -> ")).At(cycle[0].Pos)
}
