package prove

import (
	"context"

	"plumbline/compiler/sqlast"
)

// TreeOf learns the rules for a text and gives two functions: one decodes the text's
// tree anew, the other reads a tree as Check does.
func TreeOf(ctx context.Context, pl Planner, in Input) (decode func() sqlast.Query, read func(sqlast.Query) error, err error) {
	r, err := learnRules(ctx, pl, in)
	if err != nil {
		return nil, nil, err
	}
	decode = func() sqlast.Query {
		q, err := decodeTree(r.final, in.Text)
		if err != nil {
			panic(err)
		}
		return q
	}
	return decode, func(q sqlast.Query) error { return readTree(in, r.rules, q).failed() }, nil
}
