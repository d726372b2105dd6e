package metric

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"plumbline/compiler/resolve"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Parameters stand in the model's expressions as $name. A value is bound as a
// literal of the parameter's type, and never as text of the query.

// parameters checks the values that a question gives, before any is read.
func (p *planner) parameters() {
	p.values = map[string]string{}
	if len(p.q.Parameters) == 0 {
		return
	}
	known := p.knownParameters()
	var names []string
	for _, x := range known {
		names = append(names, string(x.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(p.q.Parameters)) {
		declared := p.catalog.Parameter(semantic.Name(name))
		if declared == nil || !slices.Contains(known, declared) {
			p.refuse(diag.New(diag.RequestMalformed, "no parameter %q", name).Suggest(semantic.Nearest(name, names)...).
				WithHint("the parameters are %s", listed(names)))
			continue
		}
		if _, twice := p.values[declared.Name.Key()]; twice {
			p.refuse(diag.New(diag.RequestMalformed, "parameter %q is given twice", declared.Name))
			continue
		}
		literal, err := p.valueOf(declared, p.q.Parameters[name])
		if err != nil {
			p.refuse(err)
		}
		p.values[declared.Name.Key()] = literal // also when refused, which is told once
	}
}

// unread refuses parameters that nothing in the question reads: a value without an
// effect would look as if it had one.
func (p *planner) unread() {
	for _, name := range slices.Sorted(maps.Keys(p.q.Parameters)) {
		declared := p.catalog.Parameter(semantic.Name(name))
		if declared != nil && !p.readParameters[declared.Name.Key()] {
			p.refuse(diag.New(diag.RequestMalformed, "parameter %q is given, and nothing in the question reads it", name).WithHint("leave it out; list_metrics says which metrics take which parameters"))
		}
	}
}

// bind gives the literal of a parameter that an expression reads.
func (p *planner) bind(name semantic.Name) string {
	if p.readParameters == nil {
		p.readParameters = map[string]bool{}
	}
	p.readParameters[name.Key()] = true
	if literal, given := p.values[name.Key()]; given {
		return literal
	}
	declared := p.catalog.Parameter(name)
	if declared == nil {
		p.fail(diag.New(diag.BugInternal, "a parameter of the model is not there"))
		return "NULL"
	}
	if declared.Required {
		err := diag.New(diag.RequestMalformed, "parameter %q has no default and must be given", name)
		if declared.Allowed != nil {
			err = err.WithHint(`add "parameters": {%q: ...} with one of %s`, name, listed(declared.Allowed))
		} else {
			err = err.WithHint(`add "parameters": {%q: ...}, %s`, name, declared.Type)
		}
		p.refuse(err)
		return "NULL"
	}
	literal, err := p.literalOf(declared, declared.Default)
	if err != nil {
		p.fail(diag.Wrap(err, diag.BugInternal, "the default of parameter %q was never checked", name))
	}
	return literal
}

// valueOf is a value of the caller's as a literal, if it is allowed.
func (p *planner) valueOf(declared *semantic.Parameter, value any) (string, *diag.Error) {
	if value == nil {
		return "NULL", diag.New(diag.RequestMalformed, "parameter %q takes a value, and null is none", declared.Name)
	}
	literal, err := p.typed(declared, value)
	if err != nil || declared.Allowed == nil {
		return literal, err
	}
	for _, text := range declared.Allowed {
		if allowed, err := p.literalOf(declared, text); err == nil && (allowed == literal || sameNumber(text, value)) {
			return literal, nil
		}
	}
	return "NULL", diag.New(diag.RequestMalformed, "parameter %q does not take the value given", declared.Name).WithHint("it takes %s", listed(declared.Allowed))
}

// sameNumber reports that a text and a value are one number, whatever their digits.
func sameNumber(text string, value any) bool {
	digits, expected := digitsOf(value)
	a, ok := new(big.Rat).SetString(text)
	b, fine := new(big.Rat).SetString(digits)
	return expected == "" && ok && fine && a.Cmp(b) == 0
}

// literalOf reads a value that the model wrote as text.
func (p *planner) literalOf(declared *semantic.Parameter, text string) (string, *diag.Error) {
	var value any = text
	if declared.Type.Kind() == semantic.KindBoolean {
		value = strings.EqualFold(text, "true")
	}
	return p.typed(declared, value)
}

// typed writes a value as a literal of the parameter's type.
func (p *planner) typed(declared *semantic.Parameter, value any) (string, *diag.Error) {
	of := operandType{name: string(declared.Name), typ: declared.Type}
	if declared.Type.Kind() == semantic.KindTime {
		of.time = &Bucket{Type: declared.Type, Stored: utc, Shown: or(p.plan.Zone, utc)}
		if declared.Type == "timestamp" {
			of.time.Shown = utc // it is compared with stored times as they are
		}
	}
	if digits, expected := digitsOf(value); declared.Type.Kind() == semantic.KindNumber && expected == "" && !holds(declared.Type, digits) {
		return "NULL", diag.New(diag.RequestMalformed, "parameter %q takes a value of type %s, and the one given does not fit it", declared.Name, declared.Type)
	}
	b, err := of.bounds(value)
	if err == nil && b.between {
		err = diag.New(diag.MetricFilter, "the value has more decimals than %s", declared.Type)
	}
	if err != nil {
		out := diag.New(diag.RequestMalformed, "parameter %q: %s", declared.Name, err.Msg)
		out.Hint = err.Hint
		return "NULL", out
	}
	return "CAST(" + b.first + " AS " + declared.Type.SQL() + ")", nil
}

// holds reports that a number is one of a type's values, exactly unless it floats.
func holds(t semantic.Type, number string) bool {
	before, after, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	before, after = strings.TrimLeft(before, "0"), strings.TrimRight(after, "0")
	bits := map[semantic.Type]uint{"tinyint": 7, "smallint": 15, "integer": 31, "bigint": 63, "hugeint": 127}[t]
	width, scale, exact := precision(t)
	switch {
	case bits > 0:
		n, ok := new(big.Int).SetString(strings.Split(number, ".")[0], 10)
		limit := new(big.Int).Lsh(big.NewInt(1), bits)
		return ok && after == "" && n.Cmp(limit) < 0 && n.Cmp(new(big.Int).Neg(limit)) >= 0
	case exact:
		return len(before) <= width-scale && len(after) <= scale
	}
	return floating(t)
}

// boundIn gives the literals for the places of an expression: "" for columns.
func (p *planner) boundIn(places []resolve.Place) []string {
	var out []string
	for i, at := range places {
		if at.Parameter == "" {
			continue
		}
		if out == nil {
			out = make([]string, len(places))
		}
		out[i] = p.bind(at.Parameter)
	}
	return out
}

// parameter is a parameter's value in the arithmetic of a derived metric.
func (p *planner) parameter(name semantic.Name) Value {
	return &Apply{Kind: resolve.DerivedNumber, Text: p.bind(name)}
}
