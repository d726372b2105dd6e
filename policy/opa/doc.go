// Package opa evaluates the Rego bundle of a workspace: which entities and
// columns a subject may see, which rows, whether a question is allowed, and
// whether the final text passes. It is the one home of the OPA library.
//
// It promises: undefined, an error, a late answer or one that does not decode is
// Deny; a column that no rule lists is hidden; an entity without a row rule has no
// rows; rules can only tighten what the model and the workspace allow. It leaves
// to others: the class of each column in each clause (policy.CheckUses), applying
// rows and masks (policy/rewrite), and checking the final text (policy/prove).
//
// # The documents of a bundle
//
// Every rule that decides carries its id as the key after the document's name:
// rows.own_tenant, deny.balances. The id, file and line reach the audit record.
//
//	package             document                        value
//	plumbline.access    visible.ID                      true: the entity exists for the subject
//	                    columns.ID[field]               class: output, filter, join, private
//	                    masks.ID[field]                 {"kind": ..., "filterable": ..., and what the kind needs}
//	                    all_rows.ID                     true: every row, spelled out
//	                    rows.ID                         true for a row, over input.row.<field>
//	plumbline.question  allow.ID                        true: the question is allowed
//	                    deny.ID                         text: the reason, and the way out
//	plumbline.limits    lower.ID                        {"time_ms": ..., "rows": ..., "bytes": ..., "calls": ...}
//	plumbline.verify    allow.ID, deny.ID               as for a question, on the final text
//
// Input of access: subject {id, roles, claims}, now, entity {name, tags, fields:
// [{name, type, class, tags}]}, and row. Input of question and limits:
// policy.Facts. Input of verify: policy.Summary.
//
// Several ids are alternatives: an entity's rows are those of any rows rule, a
// column's class is the widest that a columns rule grants, never wider than the
// model's. A masks rule always wins, and stands on the model's mask where the model
// has one; two different masks on one column close the entity. Any deny rule beats every allow rule.
//
// A rule annotated with custom.mode "log" decides nothing; what it would have done
// is told in EntityAccess.Logged, Decision.Logged and by Verify.
//
// # Rows
//
// A rows rule is evaluated partially, per subject and entity, with input.row
// unknown, and what remains is printed as SQL. OPA can print SQL itself, but it
// drops what it cannot say, reads numbers as float64 and loses places, so
// predicate.go prints from the partial result and refuses everything that it does
// not know. Deliberate differences from Rego, all of them stricter:
//
//   - an order comparison (<, <=, >, >=), negated or not, never holds for NULL;
//   - operands of another type are refused, not false;
//   - a bare boolean field is refused (write == true), since null is not false in Rego.
//
// NULL is null, so input.row.x != "a" holds for NULL, as in Rego. Dates are text
// of the form 2006-01-02, timestamps 2006-01-02T15:04:05, with a zone for
// timestamptz; they compare as moments. NaN and the infinities are null.
package opa
