# METADATA
# title: Whether a question is allowed
# description: >-
#   Column classes and row rules hold already. Any deny beats every allow, and its
#   text goes to the asker: say what is not allowed and what would be.
# schemas:
#   - input: schema.question.input
package plumbline.question

import data.plumbline.lib

allow["known_role"] if {
	lib.complete_question
	some role in input.subject.roles
	role in {"analyst", "support", "operator"}
}

deny["support_balances"] := "support may not ask for account_balances; ask an analyst" if {
	lib.role("support")
	not lib.role("analyst")
	not lib.role("operator")
	some entity in input.entities
	entity.name == "account_balances"
}
