package engine

import (
	"encoding/json"
	"reflect"
	"sync"

	"plumbline/policy"
	"plumbline/policy/prove"
)

// seen keeps questions that were proved before, so that an equal question of an
// equal subject needs only a decision and a run. What is kept is thrown away
// when the subject's access to a touched entity differs from what it rests on,
// and with the whole world on a reload. Rows are never kept.
type seen struct {
	mu      sync.Mutex
	entries map[string]*query
	order   []string // oldest first
}

// maxSeen bounds the kept questions; each holds a tree and a proof, some 50 kB.
const maxSeen = 512

func (s *seen) get(key string) *query {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[key]
}

func (s *seen) put(key string, q *query) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = map[string]*query{}
	}
	if _, ok := s.entries[key]; !ok {
		if len(s.order) == maxSeen {
			delete(s.entries, s.order[0])
			s.order = s.order[1:]
		}
		s.order = append(s.order, key)
	}
	s.entries[key] = q
}

func (q *query) seenKey() string {
	key, err := json.Marshal([]any{q.req.Subject, q.req.Tool, q.text, q.model, q.metricNames()})
	if err != nil {
		return "" // a claim that is no JSON is never kept
	}
	return string(key)
}

// reuse takes the proof of an equal question when every access it rests on is
// still the same, and gives the kept question; nil when there is none.
func (q *query) reuse() *query {
	key := q.seenKey()
	if key == "" {
		return nil
	}
	old := q.w.seen.get(key)
	if old == nil {
		return nil
	}
	for _, r := range old.bound.Refs {
		if _, err := q.view.Entity(r.Entity.Name); err != nil {
			return nil
		}
		k := r.Entity.Name.Key()
		if !reflect.DeepEqual(q.view.access[k], old.decision.Entities[k]) {
			return nil
		}
	}
	q.stmt, q.bound, q.rewritten, q.proved, q.evidence = old.stmt, old.bound, old.rewritten, old.proved, old.evidence
	q.cached = true
	return old
}

// forget undoes reuse: the stages run as for a question that was never seen.
func (q *query) forget() {
	q.stmt, q.bound, q.facts, q.rewritten, q.proved, q.evidence = nil, nil, nil, nil, prove.Proved{}, nil
	q.cached, q.decided, q.decision, q.limits = false, false, policy.Decision{}, q.w.limits()
}

// keep remembers a proved question. Only what reuse takes is kept.
func (q *query) keep() {
	key := q.seenKey()
	if key == "" || q.decision.Verdict != policy.Allow {
		return
	}
	q.w.seen.put(key, &query{stmt: q.stmt, bound: q.bound, decision: q.decision, rewritten: q.rewritten, proved: q.proved, evidence: q.evidence, limits: q.limits})
}
