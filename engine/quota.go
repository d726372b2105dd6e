package engine

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// quota counts what subjects have asked: calls of the last minute, and the sets of
// filters of the last hour on entities with a minimum group. It lives as long as the
// process, across reloads; the zero value is ready.
type quota struct {
	mu    sync.Mutex
	calls map[policy.SubjectID]*minute
	sets  map[setsOf]map[[sha256.Size]byte]time.Time // when each was asked last
}

type setsOf struct {
	subject policy.SubjectID
	entity  string
}

// minute counts by the second.
type minute struct {
	second [60]int64
	calls  [60]int
}

// between counts the calls after one second and up to another.
func (m *minute) between(from, to int64) int {
	sum := 0
	for i, second := range m.second {
		if from < second && second <= to {
			sum += m.calls[i]
		}
	}
	return sum
}

// filterSetsLast is how long a set of filters counts.
const filterSetsLast = time.Hour

// count adds n calls at a time and gives those of the minute that ends then.
func (q *quota) count(s policy.SubjectID, now time.Time, n int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[policy.SubjectID]*minute{}
	}
	m, at := q.calls[s], now.Unix()
	if m == nil {
		m = &minute{}
		q.calls[s] = m
	}
	if i := at % 60; m.second[i] != at {
		m.second[i], m.calls[i] = at, 0
	}
	m.calls[at%60] += n
	return m.between(at-60, at)
}

// free is how long it takes until fewer calls than limit are of the last minute.
func (q *quota) free(s policy.SubjectID, now time.Time, limit int) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait, at := int64(1), now.Unix()
	for wait < 60 && q.calls[s].between(at+wait-60, at) >= limit {
		wait++
	}
	return time.Duration(wait) * time.Second
}

// take notes a set of filters; false when it is another one than the limit allows,
// with how long it takes until one of the others no longer counts.
func (q *quota) take(of setsOf, set [sha256.Size]byte, limit int, now time.Time) (wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, sets := range q.sets {
		for s, at := range sets {
			if now.Sub(at) >= filterSetsLast {
				delete(sets, s)
			}
		}
		if len(sets) == 0 {
			delete(q.sets, key)
		}
	}
	sets := q.sets[of]
	if _, known := sets[set]; !known && len(sets) >= limit {
		oldest := now
		for _, at := range sets {
			if at.Before(oldest) {
				oldest = at
			}
		}
		return oldest.Add(filterSetsLast).Sub(now), false
	}
	if sets == nil {
		if q.sets == nil {
			q.sets = map[setsOf]map[[sha256.Size]byte]time.Time{}
		}
		sets = map[[sha256.Size]byte]time.Time{}
		q.sets[of] = sets
	}
	sets[set] = now
	return 0, true
}

// called counts a call, of whatever tool, and refuses one too many of the last
// minute.
func (q *query) called(limit int) error {
	if q.own() {
		return nil
	}
	q.e.quota.count(q.req.Subject.ID, q.e.now(), 1)
	return q.callsLeft(limit)
}

// own reports a question that the program asks for itself, at a moment of its own, or
// again.
func (q *query) own() bool { return !q.req.at.IsZero() || q.req.replay != nil }

// callsLeft holds a call, which was counted, to a limit. A refused call does not count.
func (q *query) callsLeft(limit int) error {
	id, now := q.req.Subject.ID, q.e.now()
	if q.own() || q.e.quota.count(id, now, 0) <= limit {
		return nil
	}
	q.e.quota.count(id, now, -1)
	return diag.New(diag.LimitCalls, "you may call %d times in a minute, and have", limit).WithHint("ask again in %s", q.e.quota.free(id, now, limit))
}

// filterSets counts the groups that a question picks against what policy allows of
// each entity with a minimum group in an hour. A question that was seen before counts
// as any other; one that is only explained does not.
func (q *query) filterSets() error {
	var of []resolve.Ref
	for _, r := range q.bound.Refs {
		if q.decision.Entities[r.Entity.Name.Key()].MinGroup.FilterSets > 0 {
			of = append(of, r)
		}
	}
	if len(of) == 0 || q.own() {
		return nil
	}
	text, err := q.picked(of[0].Node.At)
	if err != nil {
		return err
	}
	set, now := sha256.Sum256([]byte(text)), q.e.now()
	for _, r := range of {
		limit := q.decision.Entities[r.Entity.Name.Key()].MinGroup.FilterSets
		if wait, ok := q.e.quota.take(setsOf{q.req.Subject.ID, r.Entity.Name.Key()}, set, limit, now); !ok {
			return diag.New(diag.LimitFilterSets, "you may ask for %q by %d different sets of filters and groups in an hour, and have", r.Entity.Name, limit).
				WithHint("ask by one of those again, or in %s by another", wait.Round(time.Minute).String())
		}
	}
	return nil
}

// picked is what picks the rows and groups of the one SELECT of a statement, spelled
// alike however it is laid out: all of it but plain aggregates, order and limit.
func (q *query) picked(at sqlast.Offset) (string, error) {
	st := q.stmt
	c, err := sqlast.ClausesAt(st.Text, at)
	if err != nil {
		return "", err
	}
	parts := []sqlast.Range{c.From, c.Where, c.Having}
	parts = append(parts, c.Group...)
	root, ok := st.Root.(*sqlast.SelectNode)
	for i, item := range c.Items {
		if !ok || len(root.Select) != len(c.Items) || !q.plainAggregate(root.Select[i]) {
			parts = append(parts, item)
		}
	}
	var out []string
	for _, p := range parts {
		for _, t := range sqlast.Tokens(st.Text[p.Start:p.End]) {
			word := st.Text[p.Start+t.Start : p.Start+t.End]
			if t.Kind == sqlast.Word {
				word = semantic.Name(word).Key()
			}
			out = append(out, word)
		}
		out = append(out, ";")
	}
	return strings.Join(out, " "), nil
}

// plainAggregate recognises count(*), and an aggregate over a column as it is.
func (q *query) plainAggregate(e sqlast.Expr) bool {
	f, ok := e.(*sqlast.Function)
	if !ok || f.Filter != nil || len(f.Args) > 1 || !q.w.aggregates[f.Name] {
		return false
	}
	return !slices.ContainsFunc(f.Args, func(a sqlast.Expr) bool { _, column := a.(*sqlast.ColumnRef); return !column })
}
