package resolve

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"

	"plumbline/semantic/diag"
)

// castLiteral is a text literal that a bound expression reads as another type.
type castLiteral struct{ text, to string }

// castLiterals finds, for each of the n items of a SELECT without anything
// else, the text literals that its bound plan casts. Casts that may fail in
// peace (TRY_CAST) do not count. One item alone may aggregate: all of the plan is its.
func castLiterals(plan []byte, n int) ([][]castLiteral, error) {
	var p struct {
		Plans []struct {
			Type        string `json:"type"`
			Expressions []any  `json:"expressions"`
		} `json:"plans"`
	}
	if err := json.Unmarshal(plan, &p); err != nil || len(p.Plans) != 1 || len(p.Plans[0].Expressions) != n {
		return nil, diag.Wrap(err, diag.BugInternal, "the bound plan of a model's expressions has an unknown form")
	}
	expressions := p.Plans[0].Expressions
	if n == 1 {
		var whole any
		if err := json.Unmarshal(plan, &whole); err != nil {
			return nil, diag.Wrap(err, diag.BugInternal, "the bound plan of a model's expression has an unknown form")
		}
		expressions = []any{whole}
	}
	out := make([][]castLiteral, n)
	for i, e := range expressions {
		walkJSON(e, func(node map[string]any) {
			child, _ := node["child"].(map[string]any)
			if node["expression_class"] != "BOUND_CAST" || node["try_cast"] == true || child["expression_class"] != "BOUND_CONSTANT" {
				return
			}
			value, _ := child["value"].(map[string]any)
			text, ok := value["value"].(string)
			if ok && typeID(value["type"]) == "VARCHAR" {
				out[i] = append(out[i], castLiteral{text, typeID(node["return_type"])})
			}
		})
	}
	return out, nil
}

func typeID(t any) string {
	of, _ := t.(map[string]any)
	id, _ := of["id"].(string)
	return id
}

func walkJSON(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(v)
		for _, child := range v {
			walkJSON(child, visit)
		}
	case []any:
		for _, child := range v {
			walkJSON(child, visit)
		}
	}
}

// readable reports whether DuckDB reads the text as the type. It is sure of
// numbers, booleans, and dates and times that begin with a date written with
// digits; it says yes for types that models do not compare with.
func (l castLiteral) readable() bool {
	text := strings.TrimSpace(l.text)
	lower := strings.ToLower(text)
	switch l.to {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DECIMAL":
		_, ok := new(big.Rat).SetString(strings.ReplaceAll(text, "_", ""))
		return ok && !strings.Contains(text, "/")
	case "FLOAT", "DOUBLE":
		_, ok := new(big.Rat).SetString(strings.ReplaceAll(text, "_", ""))
		return ok && !strings.Contains(text, "/") || slices.Contains([]string{"nan", "inf", "infinity"}, strings.TrimLeft(lower, "+-"))
	case "BOOLEAN":
		return slices.Contains([]string{"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"}, lower)
	case "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		if slices.Contains([]string{"infinity", "-infinity", "epoch"}, lower) {
			return true
		}
		day := strings.NewReplacer("/", "-", "\\", "-").Replace(text)
		if i := strings.IndexAny(day, " Tt"); i >= 0 {
			day = day[:i]
		}
		_, err := time.Parse("2006-1-2", day)
		return err == nil
	}
	return true
}
