package plumbline.verify_test

import data.plumbline.verify

relation := {"entity": "orders", "columns": ["id"], "masked": [], "predicate": "\"tenant\" = 'acme'", "fenced": true}

summary(relations) := {
	"subject": {"id": "someone", "roles": ["analyst"], "claims": {}},
	"relations": relations,
	"functions": [],
	"nodes": [],
	"scans": [],
}

passes(of) if {
	count(verify.allow) > 0 with input as of
	count(verify.deny) == 0 with input as of
}

test_fenced_passes if {
	passes(summary([relation]))
	passes(summary([]))
	passes(summary([object.union(relation, {"predicate": "never"})]))
}

test_everything_spelled_out_needs_no_fence if {
	passes(summary([object.union(relation, {"predicate": "always", "fenced": false})]))
	not passes(summary([object.union(relation, {"predicate": "always", "fenced": false, "masked": ["id"]})]))
}

test_unfenced_is_refused_by_name if {
	bare := summary([relation, object.union(relation, {"fenced": false})])
	reasons := verify.deny with input as bare
	reasons == {"unguarded": "read without row rule or mask: orders"}
	not passes(bare)
	not passes(summary([object.union(relation, {"predicate": ""})]))
}

test_every_missing_field_refuses if {
	whole := summary([relation])
	paths := [
		"subject", "subject/id", "subject/roles", "subject/claims", "relations", "functions", "nodes", "scans",
		"relations/0/entity", "relations/0/columns", "relations/0/masked", "relations/0/predicate", "relations/0/fenced",
	]
	every path in paths {
		not passes(json.remove(whole, [path]))
	}
}

test_nothing_allows_what_is_unguarded if {
	bare := summary([object.union(relation, {"fenced": false})])
	count(verify.allow) == 0 with input as bare
}

test_every_part_of_another_type_refuses if {
	whole := summary([relation])
	every path in ["/relations", "/functions", "/nodes", "/scans", "/relations/0/columns", "/relations/0/masked"] {
		not passes(json.patch(whole, [{"op": "replace", "path": path, "value": {}}]))
	}
	every path in ["/relations/0/entity", "/relations/0/predicate"] {
		not passes(json.patch(whole, [{"op": "replace", "path": path, "value": 5}]))
	}
	open := object.union(relation, {"predicate": "always", "fenced": "no"})
	not passes(summary([open]))
}
