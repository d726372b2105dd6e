# METADATA
# title: What a subject sees of an entity
# description: >-
#   analyst reads the own tenant, without personal data. support reads the own
#   tenant's customers and tickets, with masks. operator reads everything.
# schemas:
#   - input: schema.access.input
package plumbline.access

import data.plumbline.lib

# Which entities exist for the subject.
visible.operator if lib.role("operator")

visible.analyst if lib.role("analyst")

# Support learns that balances exist, and from whom to ask for them (question.rego).
visible.support if {
	lib.role("support")
	input.entity.name in {"customers", "support_tickets", "account_balances"}
}

# Which columns exist, at most as wide as the model says.
columns.operator[field.name] := field.class if {
	lib.role("operator")
	some field in input.entity.fields
}

columns.analyst[field.name] := field.class if {
	lib.role("analyst")
	some field in input.entity.fields
	lib.untagged(field, "pii")
}

# Join keys stay, also personal ones: they can be matched and never read.
columns.analyst_keys[field.name] := "join" if {
	lib.role("analyst")
	some field in input.entity.fields
	field.class == "join"
}

columns.support[field.name] := field.class if {
	lib.role("support")
	some field in input.entity.fields
	field.class != "join"
}

# Support sees that two mails are equal, not what they say, and how a name begins.
# A phone number can be looked up and is never shown: the model says so.
masks.support_email[field.name] := {"kind": "hash", "filterable": true} if {
	support_only
	some field in input.entity.fields
	field.name == "email"
}

masks.support_name[field.name] := {"kind": "first", "n": 2} if {
	support_only
	input.entity.name == "customers"
	some field in input.entity.fields
	field.name == "name"
}

# Every row, spelled out.
all_rows.operator if lib.role("operator")

# What belongs to no tenant.
all_rows.shared if {
	lib.role("analyst")
	input.entity.name in {"products", "labels", "product_labels", "exchange_rates", "calendar_days"}
}

# Rows of the subject's tenant. Without a tenant claim there is no row.
rows.analyst_tenant if {
	lib.role("analyst")
	lib.has_field("tenant")
	input.row.tenant == lib.text_claim("tenant")
}

rows.support_tenant if {
	lib.role("support")
	input.entity.name in {"customers", "support_tickets"}
	input.row.tenant == lib.text_claim("tenant")
}

support_only if {
	lib.role("support")
	not lib.role("operator")
}
