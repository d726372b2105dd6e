package resolve

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/compiler/sqlast"
	"plumbline/semantic/diag"
)

// functionAllowed looks a call up in the reviewed functions and checks the size
// of what it makes. A function that is not reviewed and one that does not exist
// are refused alike.
func (r *resolver) functionAllowed(catalog, schema, name string, args []sqlast.Expr, at sqlast.Offset) (Function, bool) {
	key := strings.ToLower(name)
	var spec Function
	if catalog == "" && (schema == "" || schema == "main") {
		for _, kind := range []FunctionKind{Aggregate, WindowOnly, Scalar} {
			if f, ok := functions[kind][key]; ok {
				spec = f
				break
			}
		}
	}
	if spec.Kind == "" {
		if schema != "" {
			name = schema + "." + name
		}
		r.report(diag.ResolveFunction, at, "%q is not one of the reviewed functions", name)
		return spec, false
	}
	switch spec.Size {
	case sizeCount:
		return spec, r.countBound(spec, args, at)
	case sizeSeries:
		return spec, r.seriesBound(spec.Name, args, at, maxList)
	case sizeFormat:
		return spec, r.formatBound(spec, args, at)
	}
	return spec, true
}

func (r *resolver) tableFunctionAllowed(f *sqlast.Function) bool {
	name := strings.ToLower(f.Name)
	spec, ok := functions[TableFunction][name]
	if !ok || f.Catalog != "" || f.Schema != "" && f.Schema != "main" {
		r.report(diag.ResolveFunction, f.At, "%q is not one of the reviewed table functions", f.Name).Hint = "query the entities of the catalog"
		return false
	}
	return spec.Size != sizeSeries || r.seriesBound(name, f.Args, f.At, maxRows)
}

func (r *resolver) bounded(at sqlast.Offset, hint, format string, args ...any) bool {
	r.report(diag.ResolveFunction, at, format, args...).Hint = hint
	return false
}

// countBound checks repeat, lpad and rpad.
func (r *resolver) countBound(spec Function, args []sqlast.Expr, at sqlast.Offset) bool {
	if len(args) < 2 {
		return r.bounded(at, "", "%s takes a text and a count", spec.Name)
	}
	n, ok := integer(args[1])
	if !ok || n > maxCount {
		return r.bounded(at, "write the count as a number", "%s takes a literal count of at most %d", spec.Name, maxCount)
	}
	if c, ok := args[0].(*sqlast.Constant); ok && int64(len(c.Value.Raw))*n > maxText {
		return r.bounded(at, "make it shorter", "%s may make at most %d bytes", spec.Name, maxText)
	}
	return true
}

func integer(e sqlast.Expr) (int64, bool) {
	c, ok := e.(*sqlast.Constant)
	if !ok || c.Value.IsNull {
		return 0, false
	}
	n, err := strconv.ParseInt(c.Value.Raw, 10, 64)
	return n, err == nil
}

// seriesBound checks that range and generate_series make a bounded list from
// literal numbers, or from literal dates and a step of days or more. The text of a
// metric question fills the buckets between the first and the last of the data.
func (r *resolver) seriesBound(name string, args []sqlast.Expr, at sqlast.Offset, limit int64) bool {
	if !r.model && r.origin(at) == Model {
		return true
	}
	n, ok := numberSeries(args)
	if !ok {
		n, ok = dateSeries(args)
	}
	if !ok || n > limit {
		return r.bounded(at, "write the bounds as literals", "%s takes literal bounds that make at most %d elements", name, limit)
	}
	return true
}

func numberSeries(args []sqlast.Expr) (int64, bool) {
	if len(args) == 0 || len(args) > 3 {
		return 0, false
	}
	nums := make([]int64, len(args))
	for i, a := range args {
		n, ok := integer(a)
		if !ok || n > 1<<40 || n < -(1<<40) {
			return 0, false
		}
		nums[i] = n
	}
	start, stop, step := int64(0), nums[0], int64(1)
	if len(nums) > 1 {
		start, stop = nums[0], nums[1]
	}
	if len(nums) > 2 {
		step = nums[2]
	}
	if step == 0 {
		return 0, true
	}
	return max((stop-start)/step+1, 0), true
}

var dayTexts = []string{"2006-01-02", "2006-01-02 15:04:05"}

func dateSeries(args []sqlast.Expr) (int64, bool) {
	if len(args) != 3 {
		return 0, false
	}
	var ends [2]time.Time
	for i := range ends {
		cast, ok := args[i].(*sqlast.Cast)
		if !ok {
			return 0, false
		}
		c, ok := cast.Child.(*sqlast.Constant)
		var s string
		if !ok || json.Unmarshal([]byte(c.Value.Raw), &s) != nil {
			return 0, false
		}
		ok = false
		for _, layout := range dayTexts {
			if t, err := time.Parse(layout, s); err == nil {
				ends[i], ok = t, true
			}
		}
		if !ok {
			return 0, false
		}
	}
	step, ok := args[2].(*sqlast.Function)
	hours := map[string]float64{"to_hours": 1, "to_days": 24, "to_weeks": 168, "to_months": 672, "to_quarters": 2016, "to_years": 8760}
	if !ok || hours[step.Name] == 0 || len(step.Args) != 1 || !isConstant(step.Args[0]) {
		return 0, false
	}
	return int64(ends[1].Sub(ends[0]).Abs().Hours()/hours[step.Name]) + 1, true
}

var wideField = regexp.MustCompile(`[0-9]{4}|\*|\{[^}:]*:[^}]*\{`)

// formatBound checks that the fields of format and printf stay narrow.
func (r *resolver) formatBound(spec Function, args []sqlast.Expr, at sqlast.Offset) bool {
	if len(args) > 0 {
		if c, ok := args[0].(*sqlast.Constant); ok && !wideField.MatchString(c.Value.Raw) {
			return true
		}
	}
	return r.bounded(at, "write the format as a literal with field widths under 1000", "%s takes a literal format", spec.Name)
}

// typeName checks the type of a cast.
func (r *resolver) typeName(t sqlast.TypeName, at sqlast.Offset) {
	if t.Expr == nil {
		if t.ID != "" && t.ID != "UNBOUND" && !slices.Contains(typeNames, strings.ReplaceAll(strings.ToLower(t.ID), " ", "_")) {
			r.report(diag.ResolveFunction, at, "a cast to this type is not supported")
		}
		return
	}
	r.typeExpr(t.Expr, at)
}

func (r *resolver) typeExpr(e sqlast.Expr, at sqlast.Offset) {
	switch e := e.(type) {
	case *sqlast.TypeExpr:
		known := slices.Contains(typeNames, strings.ReplaceAll(strings.ToLower(e.Name), " ", "_"))
		if e.Catalog != "" || e.Schema != "" || !known {
			r.report(diag.ResolveFunction, at, "a cast to type %q is not supported", e.Name)
		}
		for _, a := range e.Args {
			r.typeExpr(a, at)
		}
	case *sqlast.Constant:
	default:
		r.report(diag.ResolveFunction, at, "a cast to this type is not supported")
	}
}

// typeWord is the name of a type as written, "" when it is nested or qualified.
func typeWord(t sqlast.TypeName) string {
	if e, ok := t.Expr.(*sqlast.TypeExpr); ok && e.Schema == "" && e.Catalog == "" && len(e.Args) == 0 {
		return e.Name
	}
	if t.Expr == nil {
		return t.ID
	}
	return ""
}
