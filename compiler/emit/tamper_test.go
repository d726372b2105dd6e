package emit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/compiler/emit"
	"plumbline/compiler/metric"
	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
	"plumbline/semantic/semantictest"
)

// TestAPlanThatLostAPartIsNotPrinted tampers with plans: T58.
func TestAPlanThatLostAPartIsNotPrinted(t *testing.T) {
	w := newWorld(t, semantictest.Shop())
	for name, tamper := range map[string]func(*metric.Plan){
		"a lost filter": func(p *metric.Plan) { p.Main().Legs[0].Where = p.Main().Legs[0].Where[1:] },
		"a doubled filter": func(p *metric.Plan) {
			p.Main().Legs[0].Where = append(p.Main().Legs[0].Where, p.Main().Legs[0].Where[0])
		},
		"a lost having":   func(p *metric.Plan) { p.Having = nil },
		"a lost metric":   func(p *metric.Plan) { p.Metrics = p.Metrics[:1]; p.Having = p.Having[:1] },
		"one more filter": func(p *metric.Plan) { p.Conditions++ },
	} {
		t.Run(name, func(t *testing.T) {
			_, plan, err := w.compile(`{"metrics": ["revenue", "paid_revenue"], "dimensions": ["plan"], "filters": [{"field": "status", "op": "=", "values": ["paid"]}, {"field": "revenue", "op": ">", "values": [1]}]}`,
				view{catalog: w.catalog}, metric.Options{Expressions: w.exprs})
			require.NoError(t, err)
			tamper(plan)
			_, err = emit.SQL(plan)
			require.Equal(t, diag.BugInternal, diag.CodeOf(err))
		})
	}
}

// brokenView fails on one entity.
type brokenView struct{ view }

var errView = errors.New("policy is gone")

func (v brokenView) Entity(n semantic.Name) (*resolve.Visible, error) {
	if n.Key() == "customers" {
		return nil, errView
	}
	return v.view.Entity(n)
}

// TestAFailingViewFailsTheQuestion: a failure to decide is never a missing entity.
func TestAFailingViewFailsTheQuestion(t *testing.T) {
	w := newWorld(t, semantictest.Shop())
	v := brokenView{view{catalog: w.catalog}}
	q := metric.Question{Metrics: []string{"revenue"}, Dimensions: []metric.DimensionRef{{Name: "plan"}}}
	_, err := metric.Build(v, w.catalog, q, metric.Options{Expressions: w.exprs})
	require.ErrorIs(t, err, errView)
	_, err = metric.List(v, w.catalog, w.exprs)
	require.ErrorIs(t, err, errView)
}
