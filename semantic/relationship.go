package semantic

import "plumbline/semantic/diag"

// Relationship joins an entity to another. On is an AND of equalities.
// Name is its role, unique per entity; a path is written role.role.dimension.
type Relationship struct {
	Name     Name
	To       Name
	Kind     RelationshipKind
	On       []JoinPair
	Complete bool      // every row finds its partner: an inner join may be used
	Valid    *Validity // to-one: the partner is the version valid at a time of the row; nil when rows have one version
	AsOf     *AsOf     // to-one: the partner is the last one at or before a time of the row; nil otherwise
	Through  *Bridge   // many_to_many: the entity between; nil otherwise
	Pos      diag.Pos
}

// RelationshipKind says how many rows of To one row of the entity meets.
type RelationshipKind string

// The kinds.
const (
	ManyToOne RelationshipKind = "many_to_one"
	OneToOne  RelationshipKind = "one_to_one"
	OneToMany RelationshipKind = "one_to_many" // never walked from the fact; it documents the other side
	// ManyToMany goes through a declared bridge; its On is empty.
	ManyToMany RelationshipKind = "many_to_many"
)

// JoinPair is one equality: From is a field of the entity, To of the other.
type JoinPair struct{ From, To Name }

// Validity picks among versions of a row (slowly changing dimension, type 2): the
// one with From <= At < To. A NULL To never ends. The key is unique per version.
type Validity struct {
	At   Name // time field of the entity
	From Name // fields of the other entity
	To   Name
}

// AsOf picks the last row of the other entity whose Time is at or before At.
type AsOf struct {
	At   Name // time field of the entity
	Time Name // time field of the other entity
}

// Bridge is the entity between two that are many to many. It has a to-one
// relationship to each: Near leads to the entity that declares the relationship,
// Far to the other. A pair that stands in the bridge more than once counts once,
// with the greatest of its weights; a pair whose partner is missing is grouped
// under NULL, as is a row without pairs, whole. A filter behind the bridge keeps a
// row once when any one partner passes all of them; where the question groups by the
// bridge, only partners that pass have groups, and under weights only their parts count.
type Bridge struct {
	Entity   Name
	Near     Name
	Far      Name
	Allocate Allocation
	Weight   Name // weight: the bridge's field that holds each pair's part
}

// Allocation says what part of a row's value each partner gets.
type Allocation string

// The allocations. Only with weights do the groups add up to the total.
const (
	AllocateNone     Allocation = "none"     // each partner gets the whole value; a group of several partners counts it for each
	AllocateDistinct Allocation = "distinct" // each group gets the whole value once, however many partners it holds
	AllocateWeight   Allocation = "weight"   // each partner gets the value times the pair's weight; sums and counts only
)
