package engine

import (
	"cmp"
	"context"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/policy"
	"plumbline/semantic"
)

// view is the catalog as one subject may see it, asked entity by entity from
// the policy. It remembers what it was asked, so that a question's decision and
// its names rest on the same access. It lives in one goroutine.
type view struct {
	ctx     context.Context // of the question; the view never outlives it
	w       *world
	subject policy.Subject
	now     time.Time
	seen    map[string]*resolve.Visible
	access  map[string]policy.EntityAccess
	asked   map[string]bool // entities that were named, by key
	listed  []Metric        // nil until metrics was asked
	failure error           // the first decision that failed
}

func newView(ctx context.Context, w *world, s policy.Subject, now time.Time) *view {
	return &view{ctx: ctx, w: w, subject: s, now: now, seen: map[string]*resolve.Visible{}, access: map[string]policy.EntityAccess{}, asked: map[string]bool{}}
}

// Entity satisfies resolve.View: hidden and missing are both nil.
func (v *view) Entity(n semantic.Name) (*resolve.Visible, error) {
	v.asked[n.Key()] = true
	return v.entity(n)
}

// looked gives the access of the entities that a question named, also when it was
// refused before they were known.
func (v *view) looked() map[string]policy.EntityAccess {
	out := map[string]policy.EntityAccess{}
	for key := range v.asked {
		out[key] = v.access[key]
	}
	return out
}

func (v *view) entity(n semantic.Name) (*resolve.Visible, error) {
	e := v.w.catalog.Entity(n)
	if e == nil {
		return nil, nil
	}
	key := e.Name.Key()
	if vis, ok := v.seen[key]; ok {
		return vis, nil
	}
	access, err := v.w.policy.Entity(v.ctx, v.subject, v.now, e)
	if err != nil {
		v.failure = cmp.Or(v.failure, err)
		return nil, err
	}
	v.access[key] = access
	if !access.Visible {
		v.seen[key] = nil
		return nil, nil
	}
	vis := &resolve.Visible{Entity: e, Fields: make(map[string]semantic.Visibility, len(access.Columns)), Masked: map[string]bool{}, SelectOnly: map[string]bool{}}
	for k, c := range access.Columns {
		vis.Fields[k] = c.Class
		if c.Mask != nil {
			vis.Masked[k], vis.SelectOnly[k] = true, !c.Mask.Filterable
		}
	}
	v.seen[key] = vis
	return vis, nil
}

// Names satisfies resolve.View.
func (v *view) Names() []string {
	var out []string
	for _, e := range v.w.catalog.Entities {
		if vis, err := v.entity(e.Name); err == nil && vis != nil {
			out = append(out, string(e.Name))
		}
	}
	return out
}

// touched gives the access of the entities that a statement refers to.
func (v *view) touched(b *resolve.Bound) map[string]policy.EntityAccess {
	out := make(map[string]policy.EntityAccess, len(b.Refs))
	for _, r := range b.Refs {
		out[r.Entity.Name.Key()] = v.access[r.Entity.Name.Key()]
	}
	return out
}

// allRows reports that the subject sees every row of an entity, one by one and no column masked.
func (v *view) allRows(n semantic.Name) bool {
	if vis, err := v.Entity(n); err != nil || vis == nil {
		return false
	}
	access := v.access[n.Key()]
	for _, c := range access.Columns {
		if c.Mask != nil {
			return false
		}
	}
	return access.Rows.Truth == policy.Always && access.MinGroup.Size <= 1
}
