package postgres

import "context"

// Work is what one translation did, and what it may do.
type Work struct{ Done, MostDone, Printed, MostPrinted int }

// TranslateCounted is Translate, which tells its work.
func TranslateCounted(ctx context.Context, text string, in Input, w *Work) (*Text, error) {
	raw, err := in.Postgres.ParsePostgres(ctx, text)
	if err != nil {
		return nil, err
	}
	tree, err := readTree(text, raw)
	if err != nil {
		return nil, err
	}
	out := &Text{asked: text}
	tr := newTranslator(ctx, text, in.View)
	_, err = out.build(tr, tree)
	// The last step is counted too, and then refused.
	*w = Work{tr.work, maxWork + len(text), tr.printed, maxPrinted + 6*len(text)}
	return out, err
}
