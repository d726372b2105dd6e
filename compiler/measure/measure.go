package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Input is what the meaning of a text depends on besides the text.
type Input struct {
	Parser  sqlast.Parser
	View    resolve.View
	Catalog *semantic.Catalog
	Options metric.Options
}

// Write writes out the measures and views of a text; nil when it has none. Places
// of its errors are places of the text. What is written stays within sqlast.MaxText
// and the time of ctx. Codes: limit.text, limit.tree, request.cancelled, parse.*, resolve.*, metric.*,
// policy.column, unsupported.*.
func Write(ctx context.Context, text string, in Input) (*Text, error) {
	if !calls(text) && !mentions(text, in.Catalog.Views) {
		return nil, nil
	}
	w := &rewrite{ctx: ctx, in: in, asked: text, measures: metric.NewMeasures(in.View, in.Catalog, in.Options)}
	w.views = newViews(in, w.measures)
	if err := w.read(); err != nil {
		return nil, err
	}
	for _, lv := range w.levels {
		if len(lv.calls) > 0 {
			w.level(lv)
		}
	}
	w.replaceViews()
	if err := w.measures.Failed(); err != nil {
		return nil, err
	}
	if w.failure != nil {
		return nil, w.failure
	}
	if err := w.errs.Err(); err != nil {
		return nil, err
	}
	return w.write()
}

// rewrite is the state of one Write.
type rewrite struct {
	ctx      context.Context
	in       Input
	asked    string
	plain    string // the asked text, with an aggregate in place of calls and spaces in place of AT
	bound    *resolve.Bound
	columns  map[sqlast.Offset]resolve.Use
	measures *metric.Measures
	views    *views
	levels   []*level
	ctes     []string
	prefix   string // of the aliases made here
	made     int    // how many were
	edits    []edit
	errs     diag.List
	failure  error
}

func (w *rewrite) refuse(e *diag.Error, at int) {
	w.errs = append(w.errs, e.At(diag.PosAt("", w.asked, at)))
}

// fail keeps an error of a lower stage.
func (w *rewrite) fail(err error) {
	if w.failure == nil {
		w.failure = err
	}
}

// ended reports that the time of the question is over.
func (w *rewrite) ended() bool {
	if err := w.ctx.Err(); err != nil {
		w.fail(diag.Wrap(err, diag.RequestCancelled, "the call was cancelled"))
		return true
	}
	return false
}

// read parses the text twice: as it is but for AT, to find the calls, and with
// another aggregate in their places, to bind all other names.
func (w *rewrite) read() error {
	up, err := lift(w.asked)
	if err != nil {
		return err
	}
	st, err := sqlast.Parse(w.ctx, w.in.Parser, up.text)
	if err != nil {
		return err
	}
	found := &finder{text: up.text, lifted: up}
	found.query(st.Root)
	for _, at := range up.at {
		found.errs = append(found.errs, syntax(w.asked, at, "AT stands behind no call of a measure"))
	}
	if err := found.errs.Err(); err != nil {
		return err
	}
	w.plain = stoodIn(up.text, found.levels)
	if st, err = sqlast.Parse(w.ctx, w.in.Parser, w.plain); err != nil {
		return err
	}
	again := &finder{text: w.plain, lifted: &lifted{}}
	again.query(st.Root)
	if len(again.levels) != len(found.levels) {
		return diag.New(diag.BugSplice, "the text and the tree disagree about the measures")
	}
	w.levels, w.ctes = again.levels, again.ctes
	for i, lv := range w.levels {
		lv.calls = found.levels[i].calls
	}
	if w.bound, err = resolve.Resolve(w.ctx, st, w.views, resolve.Options{Measure: w.callable}); err != nil {
		return err
	}
	w.columns = columnsAt(w.bound)
	w.prefix = freshPrefix(w.asked)
	return nil
}

// stoodIn puts an aggregate in the place of each call, byte for byte. A lone call
// has its measure's name, so that other clauses may name it.
func stoodIn(text string, levels []*level) string {
	out := []byte(text)
	for _, lv := range levels {
		for _, c := range lv.calls {
			for i := c.at; i < c.end; i++ {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			copy(out[c.at:], "max(1)")
			if c.lone {
				copy(out[c.at:], "max(1)AS "+nameIn(text[c.at:c.end]))
			}
		}
	}
	return string(out)
}

// nameIn gives the name in a call as it stands there, quoted perhaps.
func nameIn(call string) string {
	toks := sqlast.Tokens(call)
	name := toks[len(toks)-2]
	return call[name.Start:name.End]
}

// freshPrefix gives a word that occurs nowhere in a text.
func freshPrefix(text string) string {
	text = strings.ToLower(text)
	for i := 0; ; i++ {
		word := "mx"
		if i > 0 {
			word = fmt.Sprintf("mx%d_", i)
		}
		if !strings.Contains(text, word) {
			return word
		}
	}
}

// fresh makes an alias.
func (w *rewrite) fresh(kind string) string {
	w.made++
	return fmt.Sprint(w.prefix, kind, w.made)
}

// source gives what a name in FROM stands for, nil when that has no measures.
func (w *rewrite) source(t *sqlast.BaseTable) *source {
	i := slices.IndexFunc(w.bound.Refs, func(r resolve.Ref) bool { return r.Node == t })
	if i < 0 {
		return nil
	}
	ref := w.bound.Refs[i]
	s := &source{node: t, ref: i, alias: ref.Alias, entity: ref.Entity}
	if v := w.views.of(ref.Entity); v != nil {
		s.view, s.entity = v, v.entity
	}
	return s
}

// level writes out the calls of one SELECT.
func (w *rewrite) level(lv *level) {
	var err error
	if lv.clauses, err = sqlast.ClausesAt(w.plain, sqlast.Offset(lv.calls[0].at)); err != nil {
		w.fail(err)
		return
	}
	failed := len(w.errs)
	check := &finder{text: w.asked}
	check.rows(lv, func(at int) bool { return slices.ContainsFunc(lv.calls, func(c *call) bool { return c.at == at }) })
	w.errs = append(w.errs, check.errs...)
	lv.sources = sourcesOf(lv.node.From, w.source)
	for _, c := range lv.calls {
		w.bind(lv, c)
	}
	if len(w.errs) > failed {
		return
	}
	l := &layout{rewrite: w, level: lv}
	for _, c := range lv.calls {
		if w.ended() {
			return
		}
		l.call(c)
	}
	l.join()
	w.label(lv)
}

// bind finds the source whose measure a call names.
func (w *rewrite) bind(lv *level, c *call) {
	var of, named []*source
	for _, s := range lv.sources {
		if c.qualifier != "" && !equal(s.alias, c.qualifier) {
			continue
		}
		named = append(named, s)
		if w.offers(s, c.name) {
			of = append(of, s)
		}
	}
	switch {
	case len(of) == 1:
		c.of = of[0]
	case len(of) > 1:
		w.refuse(diag.New(diag.ResolveAmbiguous, "measure %q belongs to more than one relation here", c.name).
			WithHint("say whose: MEASURE(%s.%s)", of[0].alias, c.name), c.at)
	default:
		w.unknown(named, c)
	}
}

func equal(a, b string) bool { return semantic.Name(a).Key() == semantic.Name(b).Key() }

// offers reports that a source has a measure for the subject.
func (w *rewrite) offers(s *source, name string) bool {
	return (s.view == nil || s.view.has(semantic.Name(name))) && w.measures.Offers(s.entity.Name, semantic.Name(name))
}

// callable reports that a relation of the text, an entity or a view, has a measure for the subject.
func (w *rewrite) callable(e *semantic.Entity, name string) bool {
	s := &source{entity: e}
	if v := w.views.of(e); v != nil {
		s.view, s.entity = v, v.entity
	}
	return w.offers(s, name)
}

// unknown says why no source has the measure. A hidden one is answered as a missing one.
func (w *rewrite) unknown(sources []*source, c *call) {
	var names []string
	for _, s := range sources {
		if s.view == nil || s.view.has(semantic.Name(c.name)) {
			if err := w.measures.Masked(s.entity.Name, semantic.Name(c.name)); err != nil {
				w.refuse(err, c.at)
				return
			}
		}
		for _, n := range w.measures.Names(s.entity.Name) {
			if (s.view == nil || s.view.has(semantic.Name(n))) && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	e := diag.New(diag.MetricUnknown, "no measure %q of the relations in this FROM", c.name).Suggest(semantic.Nearest(c.name, names)...)
	switch {
	case len(names) > 0:
		e = e.WithHint("they have %s", strings.Join(names, ", "))
	case c.qualifier != "" && len(sources) == 0:
		e = e.WithHint("%q is no entity or view in this FROM; measures belong to those, not to subqueries or CTEs", c.qualifier)
	default:
		e = e.WithHint("measures belong to entities and views that stand in FROM themselves, not in subqueries or CTEs")
	}
	w.refuse(e, c.at)
}

// label names the items that hold calls and have no alias: a lone call after its
// measure, others after the caller's own text.
func (w *rewrite) label(lv *level) {
	if len(lv.clauses.Items) != len(lv.node.Select) {
		w.fail(diag.New(diag.BugSplice, "the text and the tree disagree about the select list"))
		return
	}
	for i, e := range lv.node.Select {
		item := lv.clauses.Items[i]
		end, held, name := item.End, false, ""
		for _, c := range lv.calls {
			if c.at < item.Start || item.End <= c.at {
				continue
			}
			end = max(end, c.last(w.asked))
			if c.lone && !w.taken(lv, i, c.name) {
				name = string(c.of.entity.Measure(semantic.Name(c.name)).Name)
			}
			held = c.lone || sqlast.Meta(e).Alias == ""
		}
		if !held {
			continue
		}
		if name == "" {
			name = squeezed(w.asked[item.Start:end])
		}
		w.edits = append(w.edits, edit{end, end, func(out *writer) { out.put(item.Start, " AS "+semantic.Quote(name)) }})
	}
}

// taken reports that a measure's name means something else in the level already.
func (w *rewrite) taken(lv *level, item int, name string) bool {
	for i, e := range lv.node.Select {
		if i != item && equal(sqlast.Meta(e).Alias, name) {
			return true
		}
	}
	for _, s := range lv.sources {
		if vis, err := w.views.Entity(s.entity.Name); err == nil && vis != nil && has(vis.Entity, semantic.Name(name)) {
			return true
		}
	}
	return false
}

// squeezed is a text with one space in place of blanks and comments.
func squeezed(text string) string {
	var b strings.Builder
	end := 0
	for i, t := range sqlast.Tokens(text) {
		if i > 0 && t.Start > end {
			b.WriteString(" ")
		}
		b.WriteString(text[t.Start:t.End])
		end = t.End
	}
	return b.String()
}

// last gives the end of a call with its AT.
func (c *call) last(asked string) int {
	if !c.lifted {
		return c.end
	}
	toks := sqlast.Tokens(asked)
	i, _ := slices.BinarySearchFunc(toks, c.end, func(t sqlast.Token, at int) int { return t.Start - at })
	end := c.end
	for is(asked, toks, i, "at") && is(asked, toks, i+1, "(") {
		i = closing(asked, toks, i+1)
		end = toks[i].End
		i++
	}
	return end
}

func (w *rewrite) write() (*Text, error) {
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	out := &writer{asked: w.asked, edits: w.edits}
	out.all()
	if out.full {
		return nil, diag.New(diag.LimitText, "the text with its measures written out has more than %d bytes", sqlast.MaxText).
			WithHint("call fewer measures, or shorten the keys and conditions that they are taken by")
	}
	t := out.text()
	t.Applied, t.Warnings = w.measures.Applied(), w.measures.Warnings()
	for _, m := range w.in.Catalog.Metrics {
		if m.Kind == semantic.SimpleMetric && w.called(m) {
			t.Metrics = append(t.Metrics, string(m.Name))
		}
	}
	return t, nil
}

// called reports that a metric's measure is called somewhere.
func (w *rewrite) called(m *semantic.Metric) bool {
	return slices.ContainsFunc(w.levels, func(lv *level) bool {
		return slices.ContainsFunc(lv.calls, func(c *call) bool {
			return c.of.entity.Name.Key() == m.Entity.Key() && equal(c.name, string(m.Measure))
		})
	})
}
