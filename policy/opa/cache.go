package opa

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// maxCached bounds the cache; when it is full it starts again, which costs one
// evaluation per entry still in use.
const maxCached = 20_000

// cacheKey is all that an access rule can see. The revision is not part of it:
// each Policy has a cache of its own. The entity is told by its place in memory,
// since a reload makes new ones. now counts only when a rule may read it, and then
// to the minute, as the rule sees it.
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

// expressionCache keeps what is known of the expressions of masks. The zero value
// is empty and ready.
type expressionCache struct {
	mu    sync.Mutex
	known map[expressionKey]expressionFound
}

type expressionKey struct {
	column semantic.Name
	typ    semantic.Type
	expr   string
}

type expressionFound struct {
	spans []resolve.Span
	err   error
}

// check asks once for each expression. A check that was cut short is not kept.
func (c *expressionCache) check(ctx context.Context, ask ExpressionCheck, f *semantic.Field, expr string) ([]resolve.Span, error) {
	key := expressionKey{f.Name, f.Type, expr}
	c.mu.Lock()
	found, ok := c.known[key]
	c.mu.Unlock()
	if ok {
		return found.spans, found.err
	}
	found.spans, found.err = ask(ctx, f, expr)
	if found.err != nil && diag.CodeOf(found.err) != diag.ModelSQL {
		return nil, found.err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCached {
		c.known = map[expressionKey]expressionFound{}
	}
	c.known[key] = found
	return found.spans, found.err
}

// moment is the time as access rules see it. A rule that reads the time is decided
// anew when it changes; to the minute, so that not every question does that.
func moment(now time.Time) time.Time { return now.UTC().Truncate(time.Minute) }

func (p *Policy) cacheKey(s policy.Subject, now time.Time, e *semantic.Entity) (cacheKey, error) {
	text, err := json.Marshal(s) // map keys are sorted
	if err != nil {
		return cacheKey{}, failed(err)
	}
	k := cacheKey{entity: e, subject: string(text)}
	if p.readsNow {
		k.now = moment(now)
	}
	return k, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func errUncollected(doc, id string) error {
	return fmt.Errorf("%s.%s does not come from a rule of the package", doc, id)
}
