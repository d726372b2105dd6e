package rewrite

import (
	"context"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/compiler/sqlast"
	"plumbline/policy"
	"plumbline/semantic/diag"
)

// Options bound the rewritten text.
type Options struct {
	// RowCap is the largest literal LIMIT of the outermost query: one more than
	// the rows an answer may hold, so that a cut shows. It must be positive.
	RowCap int
	// Model are the spans of the text that the model wrote.
	Model []resolve.Span
}

// Rewritten is the text to prove and run. It ends without a semicolon, but may
// end with a line comment.
type Rewritten struct {
	Text   string
	Fences []Fence        // one per reference, in text order
	Limit  int            // the literal LIMIT of the outermost query
	Model  []resolve.Span // of Text, that the model wrote
}

// Fence is what stands in place of one reference.
type Fence struct {
	Entity string // key
	Text   string // in brackets, without alias
}

// Apply writes the decision into the statement's text. It never changes b. Codes:
// policy.denied, policy.column and policy.unsayable when the decision does not
// carry the question; policy.group when a minimum group cannot be kept; limit.rows
// and unsupported.node for a LIMIT that cannot be capped; limit.text and limit.tree when the result outgrows a query's caps;
// bug.splice when it does not parse to the intended tree.
func Apply(ctx context.Context, p sqlast.Parser, b *resolve.Bound, d policy.Decision, opts Options) (*Rewritten, error) {
	if d.Verdict != policy.Allow {
		return nil, denied(d)
	}
	text := b.Statement.Text
	capped, err := capRows(b.Statement, opts.RowCap)
	if err != nil {
		return nil, err
	}
	limited, err := limit(b, d)
	if err != nil {
		return nil, err
	}
	fences, err := fencesOf(b, d, limited)
	if err != nil {
		return nil, err
	}
	spelled, err := limited.respell(b)
	if err != nil {
		return nil, err
	}
	grouped, err := groupsOf(ctx, p, b, d, opts.Model, limited, spelled)
	if err != nil {
		return nil, err
	}
	list := splices(b, fences, spelled, grouped, capped)
	spliced, err := apply(text, list)
	if err != nil {
		return nil, err
	}
	want, err := intended(ctx, p, b, fences, spelled, grouped, capped)
	if err != nil {
		return nil, err
	}
	got, err := sqlast.Parse(ctx, p, spliced)
	if err != nil {
		return nil, asBug(err)
	}
	if !sqlast.Equal(got.Root, want) {
		return nil, diag.New(diag.BugSplice, "the rewritten text does not parse to the intended tree")
	}
	return &Rewritten{Text: spliced, Fences: fences, Limit: capped.n, Model: append(shift(opts.Model, list), grouped.spans(list)...)}, nil
}

func denied(d policy.Decision) error {
	reasons := make([]string, len(d.Reasons))
	for i, r := range d.Reasons {
		reasons[i] = r.Text
	}
	if len(reasons) == 0 {
		return diag.New(diag.PolicyDenied, "no rule allows this question")
	}
	return diag.New(diag.PolicyDenied, "%s", strings.Join(reasons, "; "))
}

// asBug marks a refusal of our own text as our bug. Limits stay what they are,
// and so does a worker that is gone or a call that was cancelled.
func asBug(err error) error {
	family, _, _ := strings.Cut(string(diag.CodeOf(err)), ".")
	if family == "parse" || family == "unsupported" {
		return diag.Wrap(err, diag.BugSplice, "the rewritten text does not parse")
	}
	return err
}
