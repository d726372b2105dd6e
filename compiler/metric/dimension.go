package metric

import (
	"slices"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// dimensions resolves what the question groups by, once for each fact.
func (b *builder) dimensions() {
	for i, ref := range b.q.Dimensions {
		if ref.Name == "" {
			b.refuse(unnamed("dimensions", `{"name": ...}`))
			continue
		}
		if slices.ContainsFunc(b.q.Dimensions[:i], func(o DimensionRef) bool {
			return semantic.Name(o.Name).Key() == semantic.Name(ref.Name).Key() && fold(o.Grain) == fold(ref.Grain)
		}) {
			b.refuse(diag.New(diag.RequestMalformed, "dimension %q is asked for twice", ref.Name))
			continue
		}
		places, ok := b.placesOf(ref.Name, semantic.Output)
		if !ok {
			continue
		}
		operands := make([]Operand, len(b.legs))
		for j, l := range b.legs {
			op, err := b.key(l, places[j], ref)
			if err != nil {
				b.refuse(err)
				ok = false
				break
			}
			operands[j] = op
		}
		if !ok {
			continue
		}
		key := Key{Grain: fold(ref.Grain), Type: places[0].dim.Type, Collation: places[0].dim.Collation}
		if key.Grain != "" {
			key.Type = BucketType(key.Grain)
		}
		for j, l := range b.legs {
			l.Keys = append(l.Keys, operands[j])
		}
		b.frame.Keys = append(b.frame.Keys, key)
		b.spelled = append(b.spelled, DimensionRef{Name: canonical(ref.Name, places[0]), Grain: key.Grain})
	}
}

// unnamed refuses a part of a question that does not name what it is about.
func unnamed(part, want string) *diag.Error {
	return diag.New(diag.RequestMalformed, "an entry of %s has no name in it", part).WithHint("write %s", want)
}

// canonical is a plain name as the model writes it; a longer spelling stays as asked.
func canonical(spelling string, p place) string {
	switch {
	case fold(spelling) == MetricTime:
		return MetricTime
	case strings.Contains(spelling, "."):
		return spelling
	}
	return string(p.dim.Name)
}

func fold(word string) string { return semantic.Name(word).Key() }

// placesOf finds what a spelling means, fact by fact. It must mean the same
// dimension for all, unless it is metric_time. When it is refused, the places
// that were found are given still.
func (b *builder) placesOf(spelling string, least semantic.Visibility) ([]place, bool) {
	out := make([]place, len(b.legs))
	for i, l := range b.legs {
		var err *diag.Error
		if fold(spelling) == MetricTime {
			out[i], err = b.timeOf(l, least)
		} else {
			out[i], err = b.lookup(l.fact, spelling, l.asked, least)
		}
		if err != nil {
			b.refuse(err)
			out[i].dim = nil
		}
	}
	if slices.ContainsFunc(out, func(p place) bool { return p.dim == nil }) {
		return out, false
	}
	for i := 1; i < len(out) && fold(spelling) != MetricTime; i++ {
		if out[i].dim != out[0].dim {
			b.refuse(diag.New(diag.MetricAmbiguous, "%q means %s.%s for metric %q, but %s.%s for metric %q", spelling,
				out[0].path.to.Entity.Name, out[0].dim.Name, b.legs[0].asked, out[i].path.to.Entity.Name, out[i].dim.Name, b.legs[i].asked).
				WithHint("name a dimension that both have, as entity.dimension; for time use metric_time; or ask the metrics apart"))
			return out, false
		}
	}
	return out, true
}

// timeOf is metric_time for one fact.
func (b *builder) timeOf(l leg, least semantic.Visibility) (place, *diag.Error) {
	e := l.fact.Entity
	if e.TimeDimension != "" {
		if d := b.dimension(l.fact, e.TimeDimension); d != nil {
			if c, _ := b.class(l.fact, d); c >= least {
				return place{path{to: l.fact}, d}, nil
			}
		}
	}
	return place{}, diag.New(diag.MetricDimension, "metric %q has no time dimension of its own", l.asked).
		WithHint("%s has %s", l.asked, b.has(l.fact, least))
}

// key is what one fact groups by for one dimension of the question.
func (b *builder) key(l leg, p place, ref DimensionRef) (Operand, *diag.Error) {
	op, err := b.operand(l, p, ref.Grain)
	if err == nil && ref.Grain == "" && (p.dim.Type == "timestamp" || p.dim.Type == "timestamptz" || fold(ref.Name) == MetricTime) {
		err = diag.New(diag.MetricGrain, "a time dimension is asked at a grain, and %q has none here", ref.Name).
			WithHint("write {\"name\": %q, \"grain\": ...} with one of %s", ref.Name, listed(b.offered(p.dim)))
	}
	return op, err
}

// operand places a dimension in a leg. A computed dimension is a column of its
// entity's relation, as it is for SQL.
func (b *builder) operand(l leg, p place, grain string) (Operand, *diag.Error) {
	e := p.path.to.Entity
	column := p.dim.Name
	if p.dim.Field != "" {
		column = p.dim.Field
	} else if p.dim.Of == nil && e.Field(p.dim.Name) != nil {
		return Operand{}, diag.New(diag.UnsupportedAsk, "%q of %q is both a field and a computed dimension", p.dim.Name, e.Name)
	}
	op := Operand{Column: column}
	if p.dim.Of != nil {
		op.Table = b.measureOf(l, p)
	}
	if p.dim.Bins != nil {
		op.Bins = &Bins{*p.dim.Bins, floating(p.dim.Type), p.dim.Type == "float"}
	}
	if grain != "" {
		if c, g := b.calendarGrain(p.dim, fold(grain)); c != nil {
			return b.inCalendar(l, p, column, c, g)
		}
		var err *diag.Error
		if op.Bucket, err = b.bucket(p.path.to, p.dim, fold(grain)); err != nil {
			return Operand{}, err
		}
	}
	if op.Table == nil {
		op.Table = b.table(l.Leg, p.path)
	}
	return op, nil
}

// label names the key columns: as asked; with the grain where one dimension is
// asked at several; with the entity where a metric has the same name.
func (b *builder) label() {
	taken := map[string]bool{}
	for _, m := range b.plan.Metrics {
		taken[fold(m.Label)] = true
	}
	for i, ref := range b.spelled {
		name := ref.Name
		if slices.ContainsFunc(b.spelled, func(o DimensionRef) bool { return fold(o.Name) == fold(name) && o != ref }) {
			name += "_" + or(ref.Grain, "value")
		}
		if taken[fold(name)] {
			key := b.frame.Legs[0].Keys[i]
			name = string(key.Table.Entity.Name) + "." + name
		}
		if taken[fold(name)] {
			b.refuse(diag.New(diag.RequestMalformed, "two columns of the answer would be called %q", name))
		}
		taken[fold(name)] = true
		b.plan.Keys[i].Label = name
	}
}
