// Package metric turns a metric question into a plan: which facts are
// aggregated, over which joins, under which filters, and how the facts are put
// together. compiler/emit writes the plan as SQL that names entities only.
//
// It promises: every measure is aggregated over its own entity's rows before it
// meets another fact, so no join ever repeats a row (one Leg per fact); a
// dimension that cannot be placed beside a measure is refused, never allocated;
// every filter of the question and of the model stands in the plan; equal
// questions give equal plans. All mistakes of a question are reported at once.
// A thing the subject may not see is answered as if it were missing.
//
// Words: a leaf is one aggregate over one entity's rows; a leg is one entity
// with its joins, filters and leaves; a key is what rows are grouped by; a table
// is one reference to an entity inside a leg.
//
// Choices that answer what other systems leave open:
//   - Joins are LEFT from the fact: a row without a partner is counted under
//     NULL. INNER only where the relationship is complete, no filter of the model
//     stands on the other side and Options.AllRows says that the subject sees all
//     of it, or where a filter of the caller drops the NULL rows anyway.
//   - The model's filters on a joined entity stand in ON, as a row rule would: its
//     rows go, the fact's rows stay and count under NULL, and the plan warns of it
//     (docs/decisions/0023).
//   - A masked field is read by nothing but a plain dimension: not by a join, a
//     measure, a filter of the model or a computed dimension. What reads one is
//     refused and not listed (docs/decisions/0022).
//   - An entity that requires a filter the subject may not write, or whose filters
//     read what the subject has not, is answered as missing.
//   - != and not_in keep rows without a value; a null inside a list is meant.
//   - A filter on a time dimension tests the raw column unless a grain is written.
//     A value without time of day is that whole day, in the catalog's zone.
//   - Buckets of a day and longer are DATEs in the catalog's zone; buckets of an
//     hour and shorter are TIMESTAMPs in UTC, cut on the instant.
//   - A name that could mean two things is refused, whichever is nearer.
//   - A ratio is a DOUBLE, since the engine divides decimals as doubles; its two
//     sides are exact. Division by zero gives NULL.
//   - A fill stands where the measure's fact has no row for the group after the
//     measure's own filter. A sum over rows that are all NULL stays NULL.
package metric
