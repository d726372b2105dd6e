package plumbline.access

tester if "tester" in input.subject.roles

shape(name) if {
	name in input.subject.roles
	input.entity.name in {"orders", "people", "edges"}
}

visible.tester if {
	tester
	input.entity.name != "tenants"
}

columns.tester[field.name] := field.class if {
	tester
	some field in input.entity.fields
	not field.name in {"secret"}
}

all_rows.shared if {
	tester
	input.entity.name == "items"
}

# The masks of people, one of each kind.
mask := {
	"name": {"kind": "first", "n": 2},
	"mail": {"kind": "hash", "filterable": true},
	"phone": {"kind": "redact"},
	"iban": {"kind": "last", "n": 3, "filterable": true},
	"born": {"kind": "year", "filterable": true},
	"joined": {"kind": "year"},
	"salary": {"kind": "null"},
	"points": {"kind": "range", "width": 100, "filterable": true},
	"nick": {"kind": "expression", "expr": "left(nick, 1)", "filterable": true},
	"person": {"kind": "token", "purpose": "twins", "scope": "acme"},
}

masks.people[name] := spec if {
	tester
	not "unmasked" in input.subject.roles
	input.entity.name == "people"
	some name, spec in mask
}

# A rule that is too wide, and one without masks: the check must find both.
all_rows.allrows if shape("allrows")

rows.unmasked if {
	shape("unmasked")
	input.row.tenant == input.subject.claims.tenant
}

# Each shape lets the same rows through.
rows.equal if {
	shape("equal")
	input.row.tenant == input.subject.claims.tenant
}

rows["in"] if {
	shape("in")
	input.row.tenant in input.subject.claims.tenants
}

rows.one if {
	shape("or")
	input.row.tenant == "none"
}

rows.other if {
	shape("or")
	input.row.tenant == input.subject.claims.tenant
}

rows["not"] if {
	shape("not")
	not input.row.tenant in {"globex", "initech"}
}

rows.prefix if {
	shape("prefix")
	startswith(input.row.tenant, "ac")
}

rows.suffix if {
	shape("suffix")
	endswith(input.row.tenant, "me")
}

rows.contains if {
	shape("contains")
	contains(input.row.tenant, "cm")
}

rows.since if {
	shape("since")
	input.row.opened >= "2026-01-01T00:00:00"
}

rows.empty if {
	shape("empty")
	input.row.dropped == null
}

rows.fields if {
	shape("fields")
	input.row.tenant == input.row.home
}

rows.related if {
	shape("related")
	input.row.tenants.own == "yes"
}
