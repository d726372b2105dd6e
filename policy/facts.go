package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
)

// FactsOf tells what the bound statement does, for Rego. The facts are complete:
// every list is present (empty, never nil), sorted and without doubles, so that
// equal questions give equal facts and no rule meets a missing field. access
// holds what the subject may see of each entity, by entity key. FactsOf decides
// nothing and changes neither b nor access.
func FactsOf(b *resolve.Bound, access map[string]EntityAccess, s Subject, tool string, metrics []string, now time.Time, limits Limits) Facts {
	return Facts{
		Subject:   completeSubject(s),
		Tool:      tool,
		Now:       now.UTC(),
		Entities:  entityFacts(b, access),
		Metrics:   sortedSet(metrics),
		Functions: functionNames(b.Functions),
		Nodes:     sortedSet(b.Kinds),
		Limits:    limits,
	}
}

func completeSubject(s Subject) Subject {
	s.Roles = sortedSet(s.Roles)
	if s.Claims == nil {
		s.Claims = map[string]any{}
	}
	return s
}

func functionNames(uses []resolve.FunctionUse) []string {
	names := make([]string, len(uses))
	for i, f := range uses {
		names[i] = f.Name
	}
	return sortedSet(names)
}

// entityFacts groups the references and uses of b by entity. A required filter
// is met only when every reference to the entity meets it.
func entityFacts(b *resolve.Bound, access map[string]EntityAccess) []EntityFact {
	facts := map[string]*EntityFact{}
	for _, ref := range b.Refs {
		met := make([]string, len(ref.Met))
		for i, n := range ref.Met {
			met[i] = string(n)
		}
		met = sortedSet(met)
		fact := facts[ref.Entity.Name.Key()]
		if fact == nil {
			facts[ref.Entity.Name.Key()] = &EntityFact{Name: string(ref.Entity.Name),
				Tags: sortedSet(ref.Entity.Tags), Columns: []ColumnFact{}, FiltersMet: met}
			continue
		}
		fact.FiltersMet = slices.DeleteFunc(fact.FiltersMet, func(n string) bool { return !slices.Contains(met, n) })
	}
	known := columnsOf(b, access)
	for _, u := range b.Uses {
		e := b.Refs[u.Ref].Entity
		fact := facts[e.Name.Key()]
		fact.Columns = append(fact.Columns, columnFact(u, known[e].column(u.Column)))
	}
	out := make([]EntityFact, 0, len(facts))
	for _, fact := range facts {
		slices.SortFunc(fact.Columns, compareColumnFacts)
		fact.Columns = slices.CompactFunc(fact.Columns, func(a, b ColumnFact) bool { return compareColumnFacts(a, b) == 0 })
		out = append(out, *fact)
	}
	slices.SortFunc(out, func(a, b EntityFact) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func columnFact(u resolve.Use, c column) ColumnFact {
	f := ColumnFact{Name: c.name, Class: c.class.String(), Masked: len(c.masks) > 0, Tags: c.tags,
		Clause: string(u.Clause), Origin: "caller"}
	if u.Origin == resolve.Model {
		f.Origin = "model"
	}
	if u.Other != nil {
		f.Other = string(u.Other.Entity) + "." + string(u.Other.Column)
	}
	return f
}

// compareColumnFacts leaves out class, masks and tags: they follow from the name.
func compareColumnFacts(a, b ColumnFact) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Clause, b.Clause),
		strings.Compare(a.Other, b.Other), strings.Compare(a.Origin, b.Origin))
}

// column is a field or a dimension of an entity as one subject may use it.
type column struct {
	name  string
	known bool // false: hidden from the subject, or missing
	class semantic.Visibility
	model semantic.Visibility // the class that the model alone gives
	masks []*Mask             // of every field it reads
	tags  []string            // its own and those of every field it reads
}

// columns are the columns of one entity, as the model alone gives them and as the
// subject may use them.
type columns struct {
	access         EntityAccess
	model, visible resolve.Visible
}

// columnsOf prepares the columns of every entity that b refers to.
func columnsOf(b *resolve.Bound, access map[string]EntityAccess) map[*semantic.Entity]columns {
	out := map[*semantic.Entity]columns{}
	for _, ref := range b.Refs {
		e := ref.Entity
		if _, ok := out[e]; ok {
			continue
		}
		c := columns{access: access[e.Name.Key()],
			model:   resolve.Visible{Entity: e, Fields: make(map[string]semantic.Visibility, len(e.Fields))},
			visible: resolve.Visible{Entity: e, Fields: make(map[string]semantic.Visibility, len(e.Fields))}}
		for _, f := range e.Fields {
			key := f.Name.Key()
			c.model.Fields[key] = f.Visibility
			if a, ok := c.access.Columns[key]; ok && c.access.Visible {
				c.visible.Fields[key] = min(a.Class, f.Visibility)
			}
		}
		out[e] = c
	}
	return out
}

// column resolves a name as resolve does: a field first, then a dimension, whose
// class is the strictest of what it reads.
func (cs columns) column(n semantic.Name) column {
	e, access := cs.model.Entity, cs.access
	c := column{name: string(n), tags: []string{}}
	c.class, c.known = cs.visible.Class(n)
	c.model, _ = cs.model.Class(n)
	reads := []semantic.Name{n}
	if f := e.Field(n); f != nil {
		c.name = string(f.Name)
	} else if d := e.Dimension(n); d != nil {
		c.name, c.tags, reads = string(d.Name), slices.Clone(d.Tags), d.Reads
	}
	for _, r := range reads {
		if f := e.Field(r); f != nil {
			c.tags = append(c.tags, f.Tags...)
		}
		if m := access.Columns[r.Key()].Mask; m != nil {
			c.masks = append(c.masks, m)
		}
	}
	c.tags = sortedSet(c.tags)
	return c
}

// sortedSet copies, sorts and removes doubles; never nil.
func sortedSet(in []string) []string {
	out := append(make([]string, 0, len(in)), in...)
	slices.Sort(out)
	return slices.Compact(out)
}
