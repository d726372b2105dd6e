// Package rewrite puts the fences round each entity reference of a bound
// statement, by splicing text.
//
// It takes what resolve found and what the policy decided, and promises: the
// caller's text is never printed from a tree, only byte spans of it are replaced;
// the spliced text is parsed again and equals the tree that was meant; a hidden
// column or an entity that was not decided is a refusal. Whether the result may
// run is not decided here but by policy/prove, which shares no code with this
// package.
//
// A fence is
//
//	(SELECT "id", (NULL) AS "email" FROM "plumbline"."base"."customers" WHERE ("tenant" = 'acme') OFFSET 0) AS "customers"
//
// Without a row rule and a mask it has neither WHERE nor OFFSET, which are there
// to keep the engine from running the caller's expressions on rows the rule
// takes out.
package rewrite
