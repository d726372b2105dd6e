package plumbline.access

rows.tenant if {
	tester
	input.entity.name == "orders"
	input.row.tenant == input.subject.claims.tenant
}
