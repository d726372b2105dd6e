package plumbline.lib_test

import data.plumbline.lib

ask := {
	"subject": {"id": "someone", "roles": ["analyst"], "claims": {"tenant": "acme", "regions": ["eu", "us"], "none": [], "level": 3, "mixed": ["eu", 1]}},
	"now": "2026-03-31T23:02:01Z",
	"entity": {
		"name": "orders",
		"tags": ["finance"],
		"fields": [{"name": "email", "type": "varchar", "class": "output", "tags": ["pii"]}],
	},
}

email := ask.entity.fields[0]

test_roles if {
	lib.role("analyst") with input as ask
	not lib.role("support") with input as ask
	every path in ["subject", "subject/id", "subject/roles", "subject/claims"] {
		not lib.role("analyst") with input as json.remove(ask, [path])
	}
}

test_text_claims if {
	lib.text_claim("tenant") == "acme" with input as ask
	every name in ["missing", "regions", "level"] {
		not lib.text_claim(name) with input as ask
	}
	not lib.text_claim("tenant") with input as {}
}

test_list_claims if {
	lib.list_claim("regions") == ["eu", "us"] with input as ask
	lib.list_claim("none") == [] with input as ask
	every name in ["missing", "tenant", "level", "mixed"] {
		not lib.list_claim(name) with input as ask
	}
	not lib.list_claim("regions") with input as {}
}

test_fields_and_tags if {
	lib.has_field("email") with input as ask
	not lib.has_field("phone") with input as ask
	not lib.has_field("email") with input as {}
	lib.tagged(email, "pii")
	not lib.tagged(email, "secret")
	lib.untagged(email, "secret")
	not lib.untagged(email, "pii")
}

test_entity_tags if {
	lib.entity_tagged("finance") with input as ask
	not lib.entity_tagged("hr") with input as ask
	not lib.entity_tagged("finance") with input as json.remove(ask, ["entity/tags"])
}

# Without tags nothing is known, so both say no.
test_missing_tags_say_nothing if {
	every field in [{}, {"tags": null}, {"tags": "pii"}] {
		not lib.tagged(field, "pii")
		not lib.untagged(field, "pii")
	}
}

test_days if {
	lib.today == "2026-03-31" with input as ask
	lib.days_ago(31) == "2026-02-28" with input as ask
	lib.months_ago(12) == "2025-03-31" with input as ask
	lib.start_of_month == "2026-03-01" with input as ask
	lib.start_of_year == "2026-01-01" with input as ask
	lib.midnight("2026-01-01") == "2026-01-01T00:00:00"
}

# Without a time there is no day, so a rule that compares with one does not hold.
test_no_day_without_a_time if {
	every of in [{}, {"now": null}, {"now": 5}] {
		not lib.today with input as of
		not lib.days_ago(90) with input as of
		not lib.months_ago(1) with input as of
		not lib.start_of_month with input as of
		not lib.start_of_year with input as of
	}
	not lib.midnight(null)
}
