# METADATA
# title: Checks on the final text, after every other stage
# description: >-
#   The proof has passed already; these are the checks a security team reads and
#   extends.
# schemas:
#   - input: schema.verify.input
package plumbline.verify

import data.plumbline.lib

allow["guarded"] if {
	lib.complete_summary
	every relation in input.relations {
		guarded(relation)
	}
}

deny["unguarded"] := sprintf("read without row rule or mask: %s", [concat(", ", names)]) if {
	names := {relation.entity |
		some relation in input.relations
		not guarded(relation)
	}
	count(names) > 0
}

guarded(relation) if {
	relation.predicate == "always"
	count(relation.masked) == 0
}

guarded(relation) if {
	relation.predicate != ""
	relation.fenced == true
}
