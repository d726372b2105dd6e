package plumbline.verify

allow.guarded if {
	every relation in input.relations {
		guarded(relation)
	}
}

guarded(relation) if relation.predicate == "always"

guarded(relation) if relation.fenced == true
