package plumbline.access_test

import data.plumbline.access

fields := [
	{"name": "id", "type": "bigint", "class": "output", "tags": []},
	{"name": "tenant", "type": "varchar", "class": "output", "tags": []},
	{"name": "email", "type": "varchar", "class": "output", "tags": ["pii"]},
	{"name": "phone", "type": "varchar", "class": "filter", "tags": ["pii"]},
	{"name": "ssn", "type": "varchar", "class": "join", "tags": ["pii"]},
]

entity(name) := {"name": name, "tags": [], "fields": fields}

products := {"name": "products", "tags": [], "fields": [{"name": "id", "type": "bigint", "class": "output", "tags": []}]}

ask(role, claims, of) := {
	"subject": {"id": "someone", "roles": [role], "claims": claims},
	"now": "2026-05-04T03:02:01Z",
	"entity": of,
	"row": {"id": 1, "tenant": "acme", "email": "a@x", "phone": "1", "ssn": "2"},
}

analyst := ask("analyst", {"tenant": "acme"}, entity("customers"))

support := ask("support", {"tenant": "acme"}, entity("customers"))

operator := ask("operator", {}, entity("customers"))

test_analyst_reads_own_tenant if {
	access.visible.analyst with input as analyst
	access.rows.analyst_tenant with input as analyst
	count(access.all_rows) == 0 with input as analyst
}

test_analyst_does_not_read_another_tenant if {
	count(access.rows) == 0 with input as ask("analyst", {"tenant": "globex"}, entity("customers"))
}

test_null_row_belongs_to_no_tenant if {
	of := json_row(analyst, "tenant", null)
	count(access.rows) == 0 with input as of
}

json_row(of, column, value) := object.union(of, {"row": {column: value}})

# A claim that is missing or of another type gives no row, for every role but operator.
test_bad_tenant_claim_gives_no_row if {
	every role in ["analyst", "support"] {
		every claims in [{}, {"tenant": null}, {"tenant": ""}, {"tenant": ["acme"]}, {"tenant": 5}, {"tenant": true}, {"tenant": {"a": 1}}] {
			count(access.rows) == 0 with input as ask(role, claims, entity("customers"))
			count(access.all_rows) == 0 with input as ask(role, claims, entity("customers"))
		}
	}
}

test_products_belong_to_no_tenant if {
	access.all_rows.shared with input as ask("analyst", {}, products)
}

test_analyst_sees_no_personal_data if {
	columns := access.columns with input as analyst
	columns.analyst == {"id": "output", "tenant": "output"}
	columns.analyst_keys == {"ssn": "join"}
}

test_support_sees_masks_and_no_keys if {
	columns := access.columns with input as support
	columns.support == {"id": "output", "tenant": "output", "email": "output", "phone": "filter"}
	listed(columns) == {"id", "tenant", "email", "phone"}
	masks := access.masks with input as support
	masks.support_email == {"email": {"kind": "hash", "filterable": true}}
}

test_support_sees_how_names_begin if {
	customers := {"name": "customers", "tags": [], "fields": [{"name": "name", "type": "varchar", "class": "output", "tags": []}]}
	masks := access.masks with input as ask("support", {"tenant": "acme"}, customers)
	masks.support_name == {"name": {"kind": "first", "n": 2}}
	no_masks := access.masks with input as ask("operator", {}, customers)
	object.get(no_masks, "support_name", {}) == {}
}

test_support_sees_three_entities if {
	access.visible.support with input as support
	access.visible.support with input as ask("support", {"tenant": "acme"}, entity("account_balances"))
	count(access.visible) == 0 with input as ask("support", {"tenant": "acme"}, entity("orders"))
}

test_support_reads_no_balance if {
	count(access.rows) == 0 with input as ask("support", {"tenant": "acme"}, entity("account_balances"))
	count(access.all_rows) == 0 with input as ask("support", {"tenant": "acme"}, entity("account_balances"))
}

test_support_reads_own_tenant if {
	access.rows.support_tenant with input as support
	count(access.rows) == 0 with input as ask("support", {"tenant": "globex"}, entity("customers"))
}

test_operator_sees_everything if {
	access.visible.operator with input as operator
	access.all_rows.operator with input as operator
	access.columns.operator.email == "output" with input as operator
	masks := access.masks with input as operator
	listed(masks) == set()
}

test_unknown_role_sees_nothing if closed(ask("intern", {"tenant": "acme"}, entity("customers")))

# Each part of the input that is left out closes the door.
test_every_missing_field_denies if {
	every role in ["analyst", "support", "operator"] {
		every path in ["subject", "subject/id", "subject/roles", "subject/claims"] {
			closed(object_without(ask(role, {"tenant": "acme"}, entity("customers")), path))
		}
	}
	every role in ["analyst", "support"] {
		every path in ["subject/claims/tenant", "row", "row/tenant"] {
			of := object_without(ask(role, {"tenant": "acme"}, entity("customers")), path)
			count(access.rows) == 0 with input as of
			count(access.all_rows) == 0 with input as of
		}
	}
	every path in ["entity", "entity/name"] {
		count(access.all_rows) == 0 with input as object_without(analyst, path)
		closed(object_without(support, path))
	}
	every path in ["entity", "entity/fields"] {
		count(access.rows) == 0 with input as object_without(analyst, path)
		columns := access.columns with input as object_without(analyst, path)
		listed(columns) == set()
	}
}

# A field without its class, name or tags is not listed for the analyst.
test_every_missing_part_of_a_field_hides_it if {
	every part in ["name", "class", "tags"] {
		of := {"name": "customers", "tags": [], "fields": [object.remove(fields[0], [part])]}
		columns := access.columns with input as ask("analyst", {"tenant": "acme"}, of)
		columns.analyst == {}
		columns.analyst_keys == {}
	}
}

# The rules that give something, by document.
giving(by_rule) := {id | some id, v in by_rule; v != {}}

of_roles(roles, claims, of) := object.union(ask("none", claims, of), {"subject": {"roles": roles}})

test_each_rule_is_of_its_role if {
	every role, want in {"analyst": {"analyst", "analyst_keys"}, "support": {"support"}, "operator": {"operator"}} {
		of := ask(role, {"tenant": "acme"}, entity("customers"))
		columns := access.columns with input as of
		giving(columns) == want
		visible := access.visible with input as of
		visible == {role: true}
	}
	analyst_rows := access.rows with input as analyst
	analyst_rows == {"analyst_tenant": true}
	support_rows := access.rows with input as support
	support_rows == {"support_tenant": true}
	count(access.all_rows) == 0 with input as ask("support", {"tenant": "acme"}, products)
}

test_masks_are_of_their_fields if {
	nick := {"name": "nick", "type": "varchar", "class": "output", "tags": []}
	called := {"name": "name", "type": "varchar", "class": "output", "tags": []}
	of := {"name": "customers", "tags": [], "fields": [called, nick]}
	masks := access.masks with input as ask("support", {"tenant": "acme"}, of)
	listed(masks) == {"name"}
	elsewhere := access.masks with input as ask("support", {"tenant": "acme"}, object.union(of, {"name": "support_tickets"}))
	listed(elsewhere) == set()
}

test_only_support_has_masks if {
	every of in [analyst, operator] {
		masks := access.masks with input as of
		listed(masks) == set()
	}
}

test_operator_who_supports_has_no_masks if {
	masks := access.masks with input as of_roles(["support", "operator"], {"tenant": "acme"}, entity("customers"))
	listed(masks) == set()
}

# A claim that is no text equals no column, and neither does an empty one.
test_claim_and_column_alike_give_no_row if {
	every role in ["analyst", "support"] {
		every same in [5, true, "", null, ["acme"], {"a": 1}] {
			count(access.rows) == 0 with input as json_row(ask(role, {"tenant": same}, entity("customers")), "tenant", same)
		}
	}
}

test_entity_without_tenant_has_no_rows_of_one if {
	of := {"name": "customers", "tags": [], "fields": [fields[0]]}
	count(access.rows) == 0 with input as ask("analyst", {"tenant": "acme"}, of)
}

# Tags that are no list may hide one.
test_tags_of_another_type_hide_the_field if {
	every tags in [null, "pii", 5, {"pii": true}, {"a": "b"}] {
		of := {"name": "customers", "tags": [], "fields": [object.union(fields[0], {"tags": tags})]}
		columns := access.columns with input as ask("analyst", {"tenant": "acme"}, of)
		columns.analyst == {}
	}
}

closed(of) if {
	count(access.visible) == 0 with input as of
	count(access.all_rows) == 0 with input as of
	count(access.rows) == 0 with input as of
}

# All columns that any rule lists.
listed(by_rule) := {name | some name, _ in by_rule[_]}

object_without(whole, path) := json.remove(whole, [path])
