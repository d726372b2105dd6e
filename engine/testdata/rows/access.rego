
# Rules on every entity, for an analyst who belongs to a tenant.
rows.customers if {
	own("customers")
	input.row.region in {"eu", "us"}
}

rows.orders if {
	own("orders")
	input.row.customers.plan != "free"
}

rows.order_items if {
	of("order_items")
	input.row.orders.customers.plan != "free"
	input.row.products.category in data.shop.categories[lib.text_claim("tenant")]
}

rows.products if {
	of("products")
	input.row.category in data.shop.categories[lib.text_claim("tenant")]
}

rows.labels if {
	of("labels")
	input.row.family != "price"
}

rows.product_labels if {
	of("product_labels")
	not input.row.labels.family == "price"
}

rows.visits if {
	own("web_visits")
	input.row.channel != "mail"
	input.row.visited_on >= lib.months_ago(12)
}

rows.plans if {
	own("plan_history")
	input.row.plan != "enterprise"
}

rows.reps if {
	own("sales_reps")
	some account in input.row.accounts
	account.region == "latam"
	account.plan == "enterprise"
}

rows.owners if {
	own("account_owners")
	input.row.sales_reps.department != "inside"
}

rows.purchases if own("purchases")

rows.rates if {
	of("exchange_rates")
	input.row.rate < 1.2
}

rows.balances if {
	of("account_balances")
	input.row.customers.region == "eu"
	input.row.customers.tenant == lib.text_claim("tenant")
}

rows.tickets if {
	own("support_tickets")
	not input.row.customers.region == "latam"
}

all_rows.days if of("calendar_days")

of(name) if {
	lib.role("analyst")
	input.entity.name == name
}

own(name) if {
	of(name)
	input.row.tenant == lib.text_claim("tenant")
}
