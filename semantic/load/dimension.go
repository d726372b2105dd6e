package load

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"plumbline/semantic"
	"plumbline/semantic/diag"
)

func (b *builder) dimension(n node, e *semantic.Entity, label string, raw rawDimension) *semantic.Dimension {
	d := &semantic.Dimension{
		Name: nameOf(label), Description: raw.Description, Type: b.typeOf(n.child("type"), raw.Type),
		Field: nameOf(raw.Field), Expr: raw.Expr, Collation: raw.Collation, Visibility: visibility(raw.Visibility),
		Tags: raw.Tags, Synonyms: raw.Synonyms, Pos: n.label(),
	}
	if raw.Expr != "" {
		d.ExprPos = b.places.text(n.child("expr").path)
	}
	if m := raw.Measure; m != nil {
		d.Of = &semantic.MeasureOf{Entity: nameOf(m.Entity), Measure: nameOf(m.Measure), Role: nameOf(m.Role)}
	}
	switch {
	case raw.Field != "" && raw.Expr != "":
		n.child("expr").invalid("a dimension has field or expr, not both")
	case (raw.Field != "" || raw.Expr != "") && d.Of != nil:
		n.child("measure").invalid("a dimension has one of field, expr and measure")
	case raw.Field != "":
		if f := n.child("field").fieldOf(e, raw.Field); f != nil {
			n.plain(d, f)
		}
	case raw.Expr != "":
		if raw.Type == "" {
			n.invalid("a dimension with expr states its type; %q has none", label)
		}
	case d.Of != nil:
		b.later = append(b.later, func() {
			b.measureOf(n.child("measure"), e, d)
			n.values(d, raw)
		})
	case raw.Description != "":
		n.invalid("a dimension has a field, an expr or a measure; %q has none", label)
	}
	if d.Of == nil {
		n.values(d, raw)
	}
	n.reserved("dimension", label)
	if f := alike(e.Fields, label, fieldName); f != nil && f.Name != d.Field && (d.Field == "" || d.Reads != nil) {
		b.errs = append(n.b.errs, diag.New(diag.ModelDuplicate, "dimension %q has the name of a field that it does not stand for", label).At(d.Pos))
	}
	return d
}

// values completes a dimension whose type is known, and checks what depends on it.
func (n node) values(d *semantic.Dimension, raw rawDimension) {
	d.Kind = d.Type.Kind()
	if d.Type != "" && raw.Kind != "" && raw.Kind != string(d.Kind) {
		n.child("kind").invalid("the kind of %s is %s", d.Type, d.Kind)
	}
	n.grains(d, raw.Grains)
	if d.Collation != "" && d.Type != "" && d.Type != "varchar" {
		n.child("collation").invalid("only text has a collation; %q is %s", d.Name, d.Type)
	}
	if raw.Bins != nil {
		d.Bins = n.child("bins").bins(d, raw.Bins)
	}
}

// plain completes a dimension that is a field.
func (n node) plain(d *semantic.Dimension, f *semantic.Field) {
	d.Reads = []semantic.Name{f.Name}
	d.Visibility = min(d.Visibility, f.Visibility)
	if d.Type != "" && f.Type != "" && d.Type != f.Type {
		n.child("type").invalid("a dimension has the type of its field, which is %s", f.Type)
	}
	d.Type = f.Type
}

// measureOf checks a dimension that is a measure of another entity, and gives it
// the measure's type.
func (b *builder) measureOf(n node, e *semantic.Entity, d *semantic.Dimension) {
	other, ok := find(b.entities, string(d.Of.Entity), entityName)
	if !ok {
		if d.Of.Entity != "" {
			n.child("entity").unknown("entity", string(d.Of.Entity), "", texts(b.entities, entityName))
		}
		return
	}
	if d.Of.Role != "" {
		n.child("role").side(other, d.Of.Role, e)
	}
	if d.Of.Measure == "" {
		return
	}
	m, ok := find(other.Measures, string(d.Of.Measure), measureName)
	if !ok {
		n.child("measure").unknown("measure", string(d.Of.Measure), fmt.Sprintf(" in entity %q", other.Name), texts(other.Measures, measureName))
		return
	}
	t, known := resultOf(m, other)
	switch {
	case !known && d.Type == "":
		n.invalid("the type of measure %q is that of its expr; the dimension states it", m.Name)
	case known && d.Type != "" && d.Type.Kind() != t.Kind():
		n.invalid("the dimension has the type of its measure, which is %s", t)
	case known:
		d.Type = t
	}
}

// resultOf gives the type of a measure as DuckDB makes it; false where only an
// expression tells.
func resultOf(m *semantic.Measure, e *semantic.Entity) (semantic.Type, bool) {
	f, _ := find(e.Fields, string(m.Field), fieldName)
	switch m.Agg {
	case semantic.Count, semantic.CountDistinct, semantic.ApproxDistinct:
		return "bigint", true
	case semantic.Avg, semantic.Median, semantic.Stddev, semantic.Variance:
		return "double", true
	case semantic.StringAgg:
		return "varchar", true
	}
	if f == nil || f.Type == "" || m.Agg == semantic.ListAgg || m.Agg == semantic.Custom {
		return "", false
	}
	_, scale, exact := strings.Cut(string(f.Type), ",")
	switch {
	case m.Agg == semantic.Percentile && !m.Discrete:
		return "double", true
	case m.Agg != semantic.Sum:
		return f.Type, true
	case exact:
		return semantic.Type("decimal(38," + scale), true
	case f.Type == "float" || f.Type == "double":
		return "double", true
	}
	return "hugeint", true
}

// bins checks groups of numbers and gives their digits as decimal text.
func (n node) bins(d *semantic.Dimension, raw *rawBins) *semantic.Bins {
	if d.Type != "" && d.Kind != semantic.KindNumber {
		n.invalid("bins group numbers; %q is %s", d.Name, d.Type)
		return nil
	}
	if (raw.Width == "") == (len(raw.Edges) == 0) {
		n.invalid("bins have a width or edges, and not both")
		return nil
	}
	out := &semantic.Bins{}
	if raw.Width != "" {
		digits, value := decimalText(raw.Width)
		if value == nil || value.Sign() <= 0 {
			n.child("width").invalid("the width of bins is a number above 0, with at most 18 digits before and after the point")
		}
		out.Width = digits
	}
	var before *big.Rat
	for i, edge := range raw.Edges {
		digits, value := decimalText(edge)
		at := n.child("edges", strconv.Itoa(i))
		switch {
		case value == nil:
			at.invalid("an edge is a number with at most 18 digits before and after the point")
		case before != nil && value.Cmp(before) <= 0:
			at.invalid("edges ascend; this one is not above the one before it")
		}
		before = value
		out.Edges = append(out.Edges, digits)
	}
	return out
}

// decimalText spells a number without an exponent; a nil value where that takes
// too many digits.
func decimalText(n json.Number) (string, *big.Rat) {
	value, ok := new(big.Rat).SetString(n.String())
	if !ok || len(n.String()) > 40 {
		return "", nil
	}
	for places := range 19 {
		text := value.FloatString(places)
		if same, _ := new(big.Rat).SetString(text); same.Cmp(value) != 0 {
			continue
		}
		if whole, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), "."); len(whole) > 18 {
			return "", nil
		}
		return text, value
	}
	return "", nil
}

// grainsOf gives the grains that a type has, finest first.
func grainsOf(t semantic.Type) []string {
	switch t {
	case "date":
		return slices.Clone(semantic.Grains[slices.Index(semantic.Grains, "day"):])
	case "timestamp", "timestamptz":
		return slices.Clone(semantic.Grains)
	}
	return nil
}

func (n node) grains(d *semantic.Dimension, declared []string) {
	has := grainsOf(d.Type)
	if len(declared) == 0 || d.Type == "" {
		d.Grains = has
		return
	}
	for i, g := range declared {
		at := n.child("grains", strconv.Itoa(i))
		switch {
		case has == nil:
			at.invalid("only a date or timestamp has grains; %q is %s", d.Name, d.Type)
		case !slices.Contains(semantic.Grains, g): // reported by CUE
		case !slices.Contains(has, g):
			at.invalid("a %s has no grain %q; it has %s", d.Type, g, strings.Join(has, ", "))
		case slices.Contains(declared[:i], g):
			at.invalid("grain %q is listed twice", g)
		}
	}
	d.Grains = slices.DeleteFunc(has, func(g string) bool { return !slices.Contains(declared, g) })
}
