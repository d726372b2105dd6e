package plumbline.question_test

import data.plumbline.limits
import data.plumbline.question

column := {"name": "id", "class": "output", "masked": false, "tags": [], "clause": "output", "other": "", "origin": "caller"}

ask(roles, entity) := {
	"subject": {"id": "someone", "roles": roles, "claims": {}},
	"tool": "query_sql",
	"now": "2026-05-04T03:02:01Z",
	"entities": [{"name": entity, "tags": [], "columns": [column], "filters_met": []}],
	"metrics": [],
	"functions": [],
	"nodes": [],
	"limits": {"time_ms": 1000, "rows": 1000, "bytes": 1000, "calls": 1000},
}

allowed(of) if {
	count(question.allow) > 0 with input as of
	count(question.deny) == 0 with input as of
}

test_known_roles_may_ask if {
	every role in ["analyst", "support", "operator"] {
		allowed(ask([role], "customers"))
	}
}

test_unknown_role_may_not_ask if {
	not allowed(ask(["intern"], "customers"))
	not allowed(ask([], "customers"))
}

test_support_is_told_whom_to_ask_for_balances if {
	reasons := question.deny with input as ask(["support"], "account_balances")
	reasons == {"support_balances": "support may not ask for account_balances; ask an analyst"}
	not allowed(ask(["support"], "account_balances"))
	allowed(ask(["support", "analyst"], "account_balances"))
	allowed(ask(["analyst"], "account_balances"))
}

test_every_missing_field_denies if {
	whole := ask(["analyst"], "customers")
	paths := [
		"subject", "subject/id", "subject/roles", "subject/claims", "tool", "now", "entities", "metrics", "functions",
		"nodes", "limits", "entities/0/name", "entities/0/tags", "entities/0/columns", "entities/0/filters_met",
		"entities/0/columns/0/name", "entities/0/columns/0/class", "entities/0/columns/0/masked",
		"entities/0/columns/0/tags", "entities/0/columns/0/clause", "entities/0/columns/0/other",
		"entities/0/columns/0/origin",
	]
	every path in paths {
		not allowed(json.remove(whole, [path]))
	}
}

test_only_support_alone_is_told_so if {
	count(question.deny) == 0 with input as ask(["intern"], "account_balances")
	count(question.deny) == 0 with input as ask(["support", "operator"], "account_balances")
	allowed(ask(["support", "operator"], "account_balances"))
}

# A list that is an object holds nothing that a rule would look at.
test_every_object_for_a_list_denies if {
	whole := ask(["analyst"], "customers")
	every path in ["/entities", "/metrics", "/functions", "/nodes", "/entities/0/tags", "/entities/0/columns", "/entities/0/filters_met"] {
		not allowed(json.patch(whole, [{"op": "replace", "path": path, "value": {}}]))
	}
	every path in ["/tool", "/now", "/entities/0/name"] {
		not allowed(json.patch(whole, [{"op": "replace", "path": path, "value": 5}]))
	}
	not allowed(json.patch(whole, [{"op": "replace", "path": "/limits", "value": []}]))
}

test_every_null_denies if {
	every key in object.keys(ask(["analyst"], "customers")) {
		not allowed(object.union(ask(["analyst"], "customers"), {key: null}))
	}
}

test_support_gets_fewer_rows if {
	limits.lower.support.rows == 500 with input as ask(["support"], "customers")
	count(limits.lower) == 0 with input as ask(["analyst"], "customers")
}
