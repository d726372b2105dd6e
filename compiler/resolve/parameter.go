package resolve

import (
	"strings"

	"plumbline/compiler/sqlast"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// DuckDB's tree does not say where a parameter stands, and sqlast refuses every
// text that holds one. So an expression of the model is parsed with each $name
// replaced by a plain name of the same length that stands nowhere else in the
// text and is no name of the scope: it is then read like a column, in place.

// parametersOf finds the $names of a text and gives the text to parse in their
// place, with the parameter that each stand-in stands for, by its lower-case
// name. taken reports the names of the scope.
func (m *modelCheck) parametersOf(x *modelExpr, taken func(string) bool) bool {
	x.sql, x.parameters = x.text, nil
	if !strings.ContainsAny(x.text, "$?") {
		return true
	}
	text, ok := []byte(x.text), true
	for _, t := range sqlast.Tokens(x.text) {
		if t.Kind != sqlast.Param {
			continue
		}
		name, at := x.text[t.Start+1:t.End], diag.PosAt("", x.text, t.Start)
		p := m.catalog.Parameter(semantic.Name(name))
		if p == nil {
			err := diag.New(diag.ModelSQL, "there is no parameter %q", x.text[t.Start:t.End]).At(at)
			if near := semantic.Nearest(name, m.parameterNames()); len(near) > 0 {
				err = err.Suggest(near...)
			} else {
				err = err.WithHint("declare it under parameters; an expression reads it as $name")
			}
			m.report(x, err)
			ok = false
			continue
		}
		stand := m.standIn(x.text, name, taken)
		if stand == "" {
			m.report(x, diag.New(diag.ModelSQL, "the parameter %q cannot be told from other names here", name).At(at).WithHint("rename the parameter"))
			ok = false
			continue
		}
		copy(text[t.Start:t.End], stand)
		if x.parameters == nil {
			x.parameters = map[string]*semantic.Parameter{}
		}
		x.parameters[fold(stand)] = p
	}
	x.sql = string(text)
	return ok
}

// standIn gives a name of the length of $name that means nothing else; "" when
// there is none.
func (m *modelCheck) standIn(text, name string, taken func(string) bool) string {
	used := map[string]bool{}
	for _, t := range sqlast.Tokens(text) {
		used[fold(strings.Trim(text[t.Start:t.End], `"`))] = true
	}
	for _, first := range "_qxzjkwvybdfghlmnprstcuaeio" {
		stand := string(first) + name
		if key := fold(stand); !used[key] && !keywords[key] && functions[Scalar][key].Name == "" && functions[Aggregate][key].Name == "" && !taken(stand) {
			return stand
		}
	}
	return ""
}

// typedText gives an expression as CheckTypes binds it: each $name is NULL of the
// parameter's type.
func typedText(c *semantic.Catalog, text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var out strings.Builder
	at := 0
	for _, t := range sqlast.Tokens(text) {
		if t.Kind != sqlast.Param {
			continue
		}
		p := c.Parameter(semantic.Name(text[t.Start+1 : t.End]))
		if p == nil {
			continue // never after CheckModel
		}
		out.WriteString(text[at:t.Start] + "CAST(NULL AS " + p.Type.SQL() + ")")
		at = t.End
	}
	return out.String() + text[at:]
}

func (m *modelCheck) parameterNames() []string {
	var out []string
	for _, p := range m.catalog.Parameters {
		out = append(out, string(p.Name))
	}
	return out
}

func (m *modelCheck) metricNames() []string {
	var out []string
	for _, p := range m.catalog.Metrics {
		out = append(out, string(p.Name))
	}
	return out
}
