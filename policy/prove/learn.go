package prove

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// rule is what DuckDB reads in the decision's words on one entity: the condition
// and the masks, as trees and as bound expressions. The zero value is a rule
// that is always true, with no mask.
type rule struct {
	where     []sqlast.Expr
	filter    []string
	masks     map[string]sqlast.Expr // by field key, aliased as the field
	items     map[string]string
	functions map[string]bool
}

// Memo keeps DuckDB's reading of rules and of fences alone, so that a question
// costs one planned text. It belongs to one catalog revision, since both depend
// on the fields' types. The zero value is empty and ready. Goroutines may share it.
type Memo struct {
	mu    sync.Mutex
	rules map[string]*rule // by the text that was planned
	scans map[string]scan
}

// memoSize bounds each half of a memo; a full half starts again.
const memoSize = 4096

// keep sets one entry under the memo's lock.
func keep[V any](m *Memo, half *map[string]V, text string, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if *half == nil || len(*half) >= memoSize {
		*half = map[string]V{}
	}
	(*half)[text] = v
}

func (m *Memo) keepRule(text string, r *rule) {
	if m != nil {
		keep(m, &m.rules, text, r)
	}
}

func (m *Memo) keepScan(text string, s scan) {
	if m != nil {
		keep(m, &m.scans, text, s)
	}
}

func (m *Memo) rule(text string) *rule {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rules[text]
}

func (m *Memo) scan(text string) (scan, bool) {
	if m == nil {
		return scan{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.scans[text]
	return s, ok
}

// learned is the first look at a question: its text and the rules it must keep.
type learned struct {
	final     Checked
	rules     map[string]*rule
	functions map[string]bool // bound names in rules and masks
}

// learnRules plans the text together with the rules that are not known yet.
func learnRules(ctx context.Context, pl Planner, in Input) (*learned, error) {
	if in.Decision.Verdict != policy.Allow {
		return nil, because("the decision is no")
	}
	out := &learned{rules: map[string]*rule{}, functions: map[string]bool{}}
	texts, asked := []string{in.Text}, []string{""}
	for _, key := range slices.Sorted(maps.Keys(in.Decision.Entities)) {
		access := in.Decision.Entities[key]
		if !access.Visible {
			continue
		}
		text := learningText(key, access)
		if text == "" {
			out.rules[key] = &rule{}
		} else if r := in.Memo.rule(text); r != nil {
			out.rules[key] = r
		} else {
			texts, asked = append(texts, text), append(asked, key)
		}
	}
	got, err := plan(ctx, pl, texts, in.Text)
	if err != nil {
		return nil, err
	}
	out.final = got[0]
	for i := 1; i < len(got); i++ {
		r, err := readRule(asked[i], texts[i], got[i], in.Decision.Entities[asked[i]])
		if err != nil {
			return nil, err
		}
		in.Memo.keepRule(texts[i], r)
		out.rules[asked[i]] = r
	}
	for _, r := range out.rules {
		maps.Copy(out.functions, r.functions)
	}
	return out, nil
}

// plan asks for all texts at once and refuses those that do not bind. That the
// final text does not is the asker's mistake: resolve knows names, and leaves
// types to DuckDB. That a rule or a fence does not is ours.
func plan(ctx context.Context, pl Planner, texts []string, final string) ([]Checked, error) {
	got, err := pl.Check(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(got) != len(texts) {
		return nil, because("the planner read %d texts of %d", len(got), len(texts))
	}
	for i, c := range got {
		if c.OK {
			continue
		}
		cause := because("DuckDB does not bind %s: %s", texts[i], c.Error)
		if texts[i] == final {
			return nil, diag.Wrap(cause, diag.ResolveShape, "the parts of a query fit together, and the engine cannot bind this one").
				WithHint("check the types and the number of the arguments of each function and operator, the forms of literals and patterns, and the columns of set operations")
		}
		return nil, cause
	}
	return got, nil
}

// masked lists the fields with a mask, by key, in order.
func masked(access policy.EntityAccess) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(access.Columns)) {
		if access.Columns[key].Mask != nil {
			out = append(out, key)
		}
	}
	return out
}

// alone makes a statement that reads a sub-query and nothing else. What DuckDB
// binds in FROM it binds as it does in the whole text; at the top of a statement
// it gives an untyped NULL a type.
func alone(sub string) string { return "FROM (" + sub + "\n)" }

// inside gives the sub-query of a statement made by alone; nil for another one.
func inside(q sqlast.Query) *sqlast.SelectNode {
	outer, ok := q.(*sqlast.SelectNode)
	if !ok {
		return nil
	}
	ref, ok := outer.From.(*sqlast.SubqueryRef)
	if !ok || !same(outer, &sqlast.SelectNode{Select: []sqlast.Expr{&sqlast.Star{}}, From: ref, Aggregates: plainAggregates}) {
		return nil
	}
	s, _ := ref.Query.(*sqlast.SelectNode)
	return s
}

// learningText reads an entity's masks and condition, as DuckDB would; "" when
// there are none.
func learningText(key string, access policy.EntityAccess) string {
	var items []string
	for _, field := range masked(access) {
		items = append(items, "COALESCE(("+access.Columns[field].Mask.SQL+"\n), NULL) AS "+semantic.Quote(field))
	}
	if len(items) == 0 && access.Rows.Truth == policy.Always {
		return ""
	}
	if len(items) == 0 {
		items = []string{"1"}
	}
	text := "SELECT " + strings.Join(items, ", ") + " FROM " + semantic.StorageName(semantic.Name(key))
	switch access.Rows.Truth {
	case policy.Always:
		return alone(text)
	case policy.When:
		return alone(text + " WHERE (" + access.Rows.SQL + "\n)")
	}
	return alone(text + " WHERE false")
}

// readRule turns DuckDB's reading of a learning text into a rule. The text must
// be exactly a select list and a condition over the entity's storage.
func readRule(key, text string, c Checked, access policy.EntityAccess) (*rule, error) {
	q, err := decodeTree(c, text)
	if err != nil {
		return nil, err
	}
	s, fields := inside(q), masked(access)
	if s == nil || !plainSelect(s, key) || len(s.Select) != max(1, len(fields)) || (s.Where == nil) != (access.Rows.Truth == policy.Always) {
		return nil, because("the rule of %q is not a condition and masks over its own fields", key)
	}
	p, err := readPlan(c.Plan, anyCall)
	if err != nil {
		return nil, err
	}
	if !p.alone || len(p.scans) != 1 || p.scans[0].table != key || !slices.Equal(p.scans[0].through, keysOf(access.Rows.Through)) {
		return nil, because("the rule of %q reads other rows than its own and those that it names", key)
	}
	r := &rule{where: conjuncts(s.Where), filter: p.scans[0].filter, functions: p.functions,
		masks: map[string]sqlast.Expr{}, items: map[string]string{}}
	for i, field := range fields {
		r.masks[field], _ = flattened(s.Select[i])
		r.items[field] = p.scans[0].items[i]
	}
	return r, nil
}

func keysOf(list []semantic.Name) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.Key())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plainSelect reports a select list over an entity's storage, with a condition or
// without one, and nothing else.
func plainSelect(s *sqlast.SelectNode, key string) bool {
	return same(s, &sqlast.SelectNode{Select: s.Select, From: storageOf(key), Where: s.Where, Aggregates: plainAggregates})
}

// bindAlone plans each fence by itself: what binds alone is correlated with
// nothing. The result has one scan per fence.
func bindAlone(ctx context.Context, pl Planner, in Input, fences []*fence) ([]scan, error) {
	out := make([]scan, len(fences))
	var texts []string
	var asked []int
	for i, f := range fences {
		text := alone(enclosing(in.Text, int(f.at)))
		if s, ok := in.Memo.scan(text); ok {
			out[i] = s
			continue
		}
		texts, asked = append(texts, text), append(asked, i)
	}
	if len(texts) == 0 {
		return out, nil
	}
	got, err := plan(ctx, pl, texts, in.Text)
	if err != nil {
		return nil, err
	}
	for n, c := range got {
		s, err := readAlone(fences[asked[n]], texts[n], c)
		if err != nil {
			return nil, err
		}
		in.Memo.keepScan(texts[n], s)
		out[asked[n]] = s
	}
	return out, nil
}

// readAlone turns DuckDB's reading of a fence alone into its scan. The text must
// be the fence that stands in the whole text.
func readAlone(f *fence, text string, c Checked) (scan, error) {
	q, err := decodeTree(c, text)
	if err != nil {
		return scan{}, err
	}
	if s := inside(q); s == nil || !same(s, f.node) {
		return scan{}, because("the fence of %q, cut out, is another text", f.entity)
	}
	p, err := readPlan(c.Plan, anyCall)
	if err != nil {
		return scan{}, err
	}
	if !p.alone || len(p.scans) != 1 {
		return scan{}, because("the fence of %q binds to more than one scan", f.entity)
	}
	return p.scans[0], nil
}

// anyCall allows what the decision's own expressions call. A fence's calls are
// compared with those, and the whole plan allows only those and the text's.
func anyCall(string) bool { return true }

// decodeTree reads the tree that belongs to text.
func decodeTree(c Checked, text string) (sqlast.Query, error) {
	s, err := sqlast.Decode(text, c.Tree)
	switch code := diag.CodeOf(err); {
	case err == nil:
		return s.Root, nil
	case code == diag.LimitText || code == diag.LimitTree:
		return nil, diag.Wrap(err, code, "the query is too large once its names are spelled out").WithHint("ask for less")
	}
	return nil, because("the tree does not decode: %v", err)
}
