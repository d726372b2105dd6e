package load

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumbline/semantic"
)

func (b *builder) parameter(n node, label string, raw rawParameter) *semantic.Parameter {
	p := &semantic.Parameter{
		Name: nameOf(label), Description: raw.Description, Type: b.typeOf(n.child("type"), raw.Type),
		Required: raw.Default == nil, Pos: n.label(),
	}
	if p.Type == "" {
		return p
	}
	if p.Type.Kind() == semantic.KindOther || p.Type == "uuid" {
		n.child("type").invalid("a parameter is text, a number, a boolean, a date or a timestamp; %q is %s", label, p.Type)
		return p
	}
	if raw.Allowed != nil && len(raw.Allowed) == 0 {
		n.child("allowed").invalid("allowed lists one value or more; leave it out for any value of the type")
	}
	for i, value := range raw.Allowed {
		text, ok := n.child("allowed", strconv.Itoa(i)).valueOf(p, value)
		if ok && slices.Contains(p.Allowed, text) {
			n.child("allowed", strconv.Itoa(i)).invalid("the value is listed twice")
		}
		p.Allowed = append(p.Allowed, text)
	}
	if p.Required {
		return p
	}
	text, ok := n.child("default").valueOf(p, raw.Default)
	if ok && raw.Allowed != nil && !slices.Contains(p.Allowed, text) {
		n.child("default").invalid("the default is one of the allowed values")
	}
	p.Default = text
	return p
}

// valueOf gives a value of a parameter as text, in one spelling for each value:
// numbers without exponent, booleans as true and false, times as DuckDB prints
// them. It refuses what is not of the parameter's type.
func (n node) valueOf(p *semantic.Parameter, value any) (string, bool) {
	text, ok := "", false
	switch v := value.(type) {
	case string:
		text, ok = textOf(p.Type, v)
	case bool:
		text, ok = strconv.FormatBool(v), p.Type == "boolean"
	case json.Number:
		text, ok = numberOf(p.Type, v)
	case float64:
		return "", false // of a model that CUE refused
	}
	if !ok {
		n.invalid("parameter %q is %s, which this value is not", p.Name, p.Type)
	}
	return text, ok
}

func textOf(t semantic.Type, v string) (string, bool) {
	if strings.ContainsRune(v, 0) {
		return "", false
	}
	switch t {
	case "varchar":
		return v, true
	case "date":
		d, err := time.Parse(time.DateOnly, v)
		return d.Format(time.DateOnly), err == nil
	case "timestamp":
		for _, layout := range []string{"2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999", "2006-01-02T15:04", "2006-01-02 15:04"} {
			if d, err := time.Parse(layout, v); err == nil {
				return d.Format("2006-01-02 15:04:05.999999"), true
			}
		}
	case "timestamptz":
		d, err := time.Parse(time.RFC3339Nano, v)
		return d.UTC().Format("2006-01-02 15:04:05.999999") + "+00", err == nil
	}
	return "", false
}

// wholeBits are the bits of the whole types.
var wholeBits = map[semantic.Type]uint{"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 128}

func numberOf(t semantic.Type, v json.Number) (string, bool) {
	if t == "float" || t == "double" {
		f, err := v.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64), err == nil
	}
	value, ok := new(big.Rat).SetString(v.String())
	if !ok || len(v.String()) > 60 {
		return "", false
	}
	if bits, whole := wholeBits[t]; whole {
		limit := new(big.Int).Lsh(big.NewInt(1), bits-1)
		fits := value.IsInt() && value.Num().CmpAbs(limit) < 0
		return value.Num().String(), fits
	}
	m := decimal.FindStringSubmatch(string(t))
	if m == nil {
		return "", false
	}
	width, _ := strconv.Atoi(m[1]) // digits, as matched
	scale, _ := strconv.Atoi(m[2])
	text := value.FloatString(scale)
	same, _ := new(big.Rat).SetString(text)
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(text), "0")
	return text, same.Cmp(value) == 0 && len(digits) <= width
}
