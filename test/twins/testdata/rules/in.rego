package plumbline.access

rows.tenants if {
	tester
	input.entity.name == "orders"
	input.row.tenant in input.subject.claims.tenants
}
