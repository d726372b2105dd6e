// Package measure gives meaning to MEASURE(m) and AGGREGATE(m) in SQL that a
// caller writes over entities and views. It turns such a text into one that has
// entities and reviewed functions only, which then goes the way of any text:
// resolve, decide, rewrite, prove. It stands between the request and the parser.
//
// A measure belongs to one entity of the query's FROM. Without AT it is computed
// over the rows of that entity that stand in the group, each counted once however
// often joins repeat it. With AT the group's keys alone choose the rows, as the
// modifiers change them from left to right:
//
//	ALL             all rows
//	ALL a, b        the keys a and b choose no longer
//	SET a = expr    the key a is expr; CURRENT a in it, or a, is the group's own
//	WHERE p         of those rows the ones for which p holds
//	VISIBLE         of those rows the ones that the query's FROM and WHERE leave
//
// This is the paper "Measures in SQL" (arXiv 2406.00251) but for three things.
// WHERE keeps the keys; write ALL before it to drop them. A measure is always
// called, by MEASURE or AGGREGATE. A group in which the entity has no row gives
// the measure's fill, or NULL, also for counts, as in a question of metrics.
//
// How it is written: where no join of the query repeats or invents rows of the
// entity, the measure becomes its aggregate in place. Otherwise it is aggregated
// alone, by the keys, in a derived table that joins the query's FROM, and the call
// becomes max() over that table's one value. The caller's text is never printed
// from its tree: ranges of it are copied. Aliases that are made here begin with a
// word that occurs nowhere in the text.
package measure
