# METADATA
# title: Questions about the subject and the model that every policy asks
# description: >-
#   Each rule here is undefined when what it reads is missing or of another type,
#   so a rule that builds on it does not hold.
# schemas:
#   - input: schema.any.input
package plumbline.lib

# The subject has the role. A subject with a part missing has none.
role(name) if {
	complete_subject
	name in input.subject.roles
}

# A claim that is text and not empty. A claim that is missing, null, a list or a
# number gives nothing to compare with.
text_claim(name) := value if {
	value := input.subject.claims[name]
	is_string(value)
	value != ""
}

# The entity under decision has the field.
has_field(name) if {
	some field in input.entity.fields
	field.name == name
}

# The field is known not to carry the tag. Without tags nothing is known.
untagged(field, tag) if {
	is_array(field.tags)
	not tag in field.tags
}

# A question's facts are complete: a rule that denies cannot miss its field.
complete_question if {
	complete_subject
	is_string(input.tool)
	is_string(input.now)
	is_array(input.entities)
	is_array(input.metrics)
	is_array(input.functions)
	is_array(input.nodes)
	is_object(input.limits)
	every entity in input.entities {
		is_string(entity.name)
		is_array(entity.tags)
		is_array(entity.columns)
		is_array(entity.filters_met)
		every column in entity.columns {
			object.keys(column) == {"name", "class", "masked", "tags", "clause", "other", "origin"}
		}
	}
}

# The account of the final text is complete.
complete_summary if {
	complete_subject
	is_array(input.relations)
	is_array(input.functions)
	is_array(input.nodes)
	is_array(input.scans)
	every relation in input.relations {
		is_string(relation.entity)
		is_array(relation.columns)
		is_array(relation.masked)
		is_string(relation.predicate)
		is_boolean(relation.fenced)
	}
}

complete_subject if {
	is_string(input.subject.id)
	is_array(input.subject.roles)
	is_object(input.subject.claims)
}

# A claim that is a list of text.
list_claim(name) := value if {
	value := input.subject.claims[name]
	is_array(value)
	every item in value {
		is_string(item)
	}
}

# The field is known to carry the tag.
tagged(field, tag) if {
	is_array(field.tags)
	tag in field.tags
}

# The entity under decision carries the tag.
entity_tagged(tag) if {
	is_array(input.entity.tags)
	tag in input.entity.tags
}

# The day of the question, and days before it, as row rules compare dates:
# "2026-05-04". Days are those of UTC.
today := days_ago(0)

days_ago(n) := time.format([time.add_date(moment, 0, 0, 0 - n), "UTC", "2006-01-02"])

months_ago(n) := time.format([time.add_date(moment, 0, 0 - n, 0), "UTC", "2006-01-02"])

start_of_month := concat("", [time.format([moment, "UTC", "2006-01"]), "-01"])

start_of_year := concat("", [time.format([moment, "UTC", "2006"]), "-01-01"])

# The first moment of a day, as row rules compare timestamps.
midnight(day) := concat("", [day, "T00:00:00"]) if is_string(day)

moment := time.parse_rfc3339_ns(input.now)
