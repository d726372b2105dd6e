package opa

import (
	"plumbline/semantic"
	"plumbline/semantic/semantictest"
)

// relatedShop is the shop with a relationship of each kind that a rule may go
// through, and of each that it may not.
func relatedShop() *semantic.Catalog {
	shop := semantictest.Kinds()
	add := func(entity semantic.Name, r semantic.Relationship) {
		e := shop.Entity(entity)
		e.Relationships = append(e.Relationships, &r)
	}
	on := func(pairs ...semantic.Name) (out []semantic.JoinPair) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, semantic.JoinPair{From: pairs[i], To: pairs[i+1]})
		}
		return out
	}
	add("customers", semantic.Relationship{Name: "orders", To: "orders", Kind: semantic.OneToMany, On: on("id", "customer_id")})
	add("customers", semantic.Relationship{Name: "tickets", To: "support_tickets", Kind: semantic.OneToMany, On: on("id", "customer_id")})
	add("orders", semantic.Relationship{Name: "lines", To: "order_items", Kind: semantic.OneToMany, On: on("id", "order_id")})
	add("orders", semantic.Relationship{Name: "first_line", To: "order_items", Kind: semantic.OneToOne, On: on("id", "order_id", "total_cents", "line")})
	add("orders", semantic.Relationship{Name: "then", To: "customers", Kind: semantic.ManyToOne, On: on("customer_id", "id"),
		AsOf: &semantic.AsOf{At: "order_date", Time: "signed_up"}})
	add("orders", semantic.Relationship{Name: "scored", To: "customers", Kind: semantic.ManyToOne, On: on("total_cents", "risk_score")})
	add("orders", semantic.Relationship{Name: "status", To: "customers", Kind: semantic.ManyToOne, On: on("customer_id", "id")})
	add("products", semantic.Relationship{Name: "parent", To: "products", Kind: semantic.ManyToOne, On: on("category", "label")})
	return shop
}
