package metric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// context says over which rows a metric is computed, beside those of its group.
// The zero value is the group itself. Contexts reach down to the leaves: the
// running value of a ratio is the ratio of the running values.
type context struct {
	all   bool              // without the caller's filters on dimensions
	drop  []int             // keys that do not count
	shift []semantic.Period // earlier by all of them
	run   *semantic.Cumulative
	cut   bool             // only up to the point in its period that the data have come to in the last one
	where []semantic.Where // of the metrics above; not part of where rows are looked up
}

// here reports that the rows are those of the group.
func (c context) here() bool {
	return !c.all && len(c.drop) == 0 && len(c.shift) == 0 && c.run == nil && !c.cut
}

func (c context) dropping(keys []int) context {
	c.drop = slices.Clone(c.drop)
	for _, k := range keys {
		if !slices.Contains(c.drop, k) {
			c.drop = append(c.drop, k)
		}
	}
	slices.Sort(c.drop)
	return c
}

func (c context) shifted(by semantic.Period) context {
	c.shift = append(slices.Clone(c.shift), by)
	return c
}

func (c context) filtered(by []semantic.Where) context {
	c.where = append(slices.Clip(c.where), by...)
	return c
}

// lookup is a source in the making, with the builders of its frames.
type lookup struct {
	*Source
	part  *builder         // of Source.Frame
	whole *builder         // of Source.Whole; nil until a leaf needs it
	fact  *resolve.Visible // running: whose days it has
}

// sourceOf gives the source for a context of one measure; nil when it was refused.
// Equal contexts of the same rows share one. A running one is its fact's own, since
// its days are.
func (p *planner) sourceOf(c context, of *semantic.Metric) *lookup {
	s := &Source{Shift: c.shift, Time: -1}
	if len(c.shift) > 0 || c.run != nil || c.cut {
		var ok bool
		if s.Time, ok = p.timeKey(c, of); !ok {
			return nil
		}
	}
	if c.run != nil {
		// the total of a running value is that of the same day
		c.drop = slices.DeleteFunc(slices.Clone(c.drop), func(k int) bool { return k == s.Time })
		if s.Run = p.running(c, s.Time, of); s.Run == nil {
			return nil
		}
	}
	part := p.frameOf(c, s, of)
	if part == nil {
		return nil
	}
	id := fmt.Sprint(part.frame.Number, c.drop, c.shift)
	if c.run != nil {
		id += fmt.Sprintf(" %s %+v", of.Entity.Key(), *c.run)
		if c.run.Window != nil {
			id += fmt.Sprintf(" %+v", *c.run.Window)
		}
	}
	if l, ok := p.lookups[id]; ok {
		return l
	}
	l := p.makeLookup(c, s, part)
	if c.run != nil {
		l.fact = p.entity(of.Entity)
	}
	p.lookups[id] = l
	return l
}

func (p *planner) makeLookup(c context, s *Source, part *builder) *lookup {
	s.Frame, s.Moved = part.frame, len(c.shift) > 0 && part != p.rows
	for _, level := range p.levels() {
		kept := slices.DeleteFunc(slices.Clone(level), func(k int) bool { return slices.Contains(c.drop, k) })
		s.Levels = append(s.Levels, kept)
		part.level(kept)
	}
	p.plan.Sources = append(p.plan.Sources, s)
	s.Number = len(p.plan.Sources)
	l := &lookup{Source: s, part: part}
	p.sources = append(p.sources, l)
	return l
}

// levels are the sets of keys that the answer has rows for.
func (p *planner) levels() [][]int {
	all := make([]int, len(p.q.Dimensions))
	for i := range all {
		all[i] = i
	}
	switch p.q.Totals {
	case "total":
		return [][]int{all, {}}
	case "subtotals":
		out := [][]int{all}
		for n := len(all) - 1; n >= 0; n-- {
			out = append(out, all[:n])
		}
		return out
	}
	return [][]int{all}
}

// level asks a frame for its rows by some of the keys.
func (b *builder) level(keys []int) {
	if !slices.ContainsFunc(b.frame.Levels, func(o []int) bool { return slices.Equal(o, keys) }) {
		b.frame.Levels = append(b.frame.Levels, keys)
	}
}

// frameOf gives the frame that has the rows of a context. Contexts that differ
// in keys, or look at other buckets of the same rows, share one: frames are told
// apart by what they ask.
func (p *planner) frameOf(c context, s *Source, of *semantic.Metric) *builder {
	q := p.q
	if c.all {
		q.Filters, q.Segments = p.kept(q.Filters, of), nil
	}
	if s.Time >= 0 || len(c.shift) > 0 {
		times, ok := p.ranges(c, s, of)
		if !ok {
			return nil
		}
		q.Time = times
	}
	if s.Run != nil && s.Run.Coarse != nil {
		q.Dimensions = slices.Clone(q.Dimensions)
		q.Dimensions[s.Time].Grain = s.Run.Grain
	}
	var mark *Watermark
	if c.cut {
		mark = p.watermark(of, s.Time)
	}
	id := p.asks(q)
	if id == p.asks(p.q) && mark == nil {
		return p.rows
	}
	if mark != nil {
		id += fmt.Sprint(" to date ", mark.Number)
	}
	if b, ok := p.frames[id]; ok {
		return b
	}
	b := p.frame(q)
	b.frame.Cut, b.lifted = mark, c.all
	p.frames[id] = b
	return b
}

// asks says which rows and keys a question asks for, by what may differ between
// the frames of one.
func (p *planner) asks(q Question) string {
	text, err := json.Marshal([]any{q.Filters, q.Segments, q.Time, q.Dimensions})
	if err != nil {
		p.fail(diag.Wrap(err, diag.BugInternal, "a question cannot be written"))
	}
	return string(text)
}

// kept are the filters that a total over all keeps: those on time, as time ranges
// are, and those that an entity requires.
func (p *planner) kept(filters []Filter, of *semantic.Metric) []Filter {
	return keeping(filters, func(field string) bool { return p.onTime(field, of) || p.onRequired(field, of) })
}

// keeping picks the filters all of whose fields pass.
func keeping(filters []Filter, field func(string) bool) []Filter {
	var passes func(f Filter) bool
	passes = func(f Filter) bool {
		parts := slices.Concat(f.Any, f.All)
		if len(parts) == 0 {
			return field(f.Field)
		}
		return !slices.ContainsFunc(parts, func(x Filter) bool { return !passes(x) })
	}
	var out []Filter
	for _, f := range filters {
		if passes(f) {
			out = append(out, f)
		}
	}
	return out
}

// flat takes filters of which all must hold out of their brackets: they mean the
// same beside the others.
func flat(filters []Filter) []Filter {
	var out []Filter
	for _, f := range filters {
		if len(f.All) > 0 && len(f.Any) == 0 && f.Field == "" && f.Op == "" && len(f.Values) == 0 && f.Grain == "" {
			out = append(out, flat(f.All)...)
			continue
		}
		out = append(out, f)
	}
	return out
}

// onTime reports that a spelling means a time dimension beside a metric.
func (p *planner) onTime(field string, of *semantic.Metric) bool {
	if fold(field) == MetricTime {
		return true
	}
	for _, fact := range p.facts(of) {
		for _, at := range p.places(fact, field) {
			if at.dim.Type.Kind() == semantic.KindTime {
				return true
			}
		}
	}
	return false
}

// onRequired reports that a spelling means a field that an entity requires a filter on.
func (p *planner) onRequired(field string, of *semantic.Metric) bool {
	for _, fact := range p.facts(of) {
		found := p.places(fact, field)
		if d := p.dimension(fact, fact.Entity.TimeDimension); d != nil && fold(field) == MetricTime {
			found = []place{{path{to: fact}, d}}
		}
		for _, at := range found {
			if slices.ContainsFunc(at.path.to.Entity.Filters, func(f *semantic.Filter) bool {
				return f.Kind == semantic.RequiredFilter && f.Field.Key() == at.dim.Field.Key()
			}) {
				return true
			}
		}
	}
	return false
}

// ownTime reports that a spelling means each fact's own time dimension.
func (p *planner) ownTime(field string, of *semantic.Metric) bool {
	return !slices.ContainsFunc(p.facts(of), func(fact *resolve.Visible) bool { return !p.timeOfFact(field, fact) })
}

// timeOfFact reports that a spelling means a fact's own time dimension.
func (p *planner) timeOfFact(field string, fact *resolve.Visible) bool {
	if fold(field) == MetricTime {
		return true
	}
	at := p.places(fact, field)
	return len(at) == 1 && len(at[0].path.roles) == 0 && fact.Entity.TimeDimension.Key() == at[0].dim.Name.Key()
}

// timeKey finds the time dimension that a metric over time goes along. A shift
// alone does without one where the question has a range: -1.
func (p *planner) timeKey(c context, of *semantic.Metric) (int, bool) {
	found := -1
	for i, d := range p.q.Dimensions {
		if d.Grain == "" || !p.ownTime(d.Name, of) {
			continue
		}
		if found >= 0 {
			p.refuse(diag.New(diag.MetricGrain, "metric %q goes along time, and the question has time at two grains", p.asking).
				WithHint("ask for one grain"))
			return 0, false
		}
		found = i
	}
	if found < 0 && (c.run != nil || c.cut || len(p.timed(of)) == 0) {
		hint := `add {"name": "metric_time", "grain": "month"} to dimensions`
		if c.run == nil && !c.cut {
			hint += `, or a range of metric_time to time`
		}
		p.refuse(diag.New(diag.MetricGrain, "metric %q goes along time, and the question has no time dimension of it with a grain", p.asking).WithHint("%s", hint))
		return 0, false
	}
	if found >= 0 && !slices.Contains(semantic.Grains, fold(p.q.Dimensions[found].Grain)) && !fiscal(p.q.Dimensions[found].Grain) {
		p.refuse(diag.New(diag.UnsupportedAsk, "metric %q goes along time, and %q is a calendar's grain, whose periods are not counted in days or months", p.asking, p.q.Dimensions[found].Grain).
			WithHint("its grains are %s", strings.Join(semantic.Grains, ", ")))
		return 0, false
	}
	return found, true
}

func fiscal(grain string) bool {
	return fold(grain) == semantic.FiscalQuarter || fold(grain) == semantic.FiscalYear
}

// timed are the question's ranges on the own time of a metric, by their index.
func (p *planner) timed(of *semantic.Metric) []int {
	var out []int
	for i, r := range p.q.Time {
		if p.ownTime(r.Field, of) {
			out = append(out, i)
		}
	}
	return out
}
