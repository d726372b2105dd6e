package opa

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plumbline/policy"
	"plumbline/semantic"
)

// maxCached bounds the cache; when it is full it starts again, which costs one
// evaluation per entry still in use.
const maxCached = 20_000

// cacheKey is all that an access rule can see. The revision is not part of it:
// each Policy has a cache of its own. The entity is told by its place in memory,
// since a reload makes new ones. now counts only when a rule may read it.
type cacheKey struct {
	entity  *semantic.Entity
	subject string
	now     time.Time
}

// accessCache keeps decided accesses. The zero value is empty and ready.
type accessCache struct {
	mu    sync.RWMutex
	known map[cacheKey]policy.EntityAccess
}

func (c *accessCache) get(k cacheKey) (policy.EntityAccess, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	a, ok := c.known[k]
	return a, ok
}

func (c *accessCache) put(k cacheKey, a policy.EntityAccess) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCached {
		c.known = map[cacheKey]policy.EntityAccess{}
	}
	c.known[k] = a
}

func (p *Policy) cacheKey(s policy.Subject, now time.Time, e *semantic.Entity) (cacheKey, error) {
	text, err := json.Marshal(s) // map keys are sorted
	if err != nil {
		return cacheKey{}, failed(err)
	}
	k := cacheKey{entity: e, subject: string(text)}
	if p.readsNow {
		k.now = now.UTC()
	}
	return k, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func errUncollected(doc, id string) error {
	return fmt.Errorf("%s.%s does not come from a rule of the package", doc, id)
}
