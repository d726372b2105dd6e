package metric

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"plumbline/semantic"
)

// maxTextValue bounds one text value, in bytes.
const maxTextValue = 4096

var (
	plainNumber = regexp.MustCompile(`^-?[0-9]{1,38}(\.[0-9]{1,38})?$`)
	exponent    = regexp.MustCompile(`^-?[0-9]{1,38}(\.[0-9]{1,38})?[eE][+-]?[0-9]{1,2}$`)
	uuidText    = regexp.MustCompile(`^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$`)
)

// literal writes a caller's value as a literal of a type that is not a time.
// The second result says what was expected, "" when the value fits.
func literal(t semantic.Type, value any) (sql, expected string) {
	switch t.Kind() {
	case semantic.KindText:
		return textLiteral(t, value)
	case semantic.KindNumber:
		return numberLiteral(t, value)
	case semantic.KindBoolean:
		if b, ok := value.(bool); ok {
			return strings.ToUpper(strconv.FormatBool(b)), ""
		}
		return "", "true or false"
	}
	return "", "no value: this type can be tested for null only"
}

func textLiteral(t semantic.Type, value any) (sql, expected string) {
	s, ok := value.(string)
	switch {
	case !ok:
		return "", "text"
	case t == "uuid" && !uuidText.MatchString(s):
		return "", "a UUID"
	case strings.ContainsRune(s, 0) || !utf8.ValidString(s):
		return "", "text without NUL bytes, in UTF-8"
	case len(s) > maxTextValue:
		return "", "text of at most " + strconv.Itoa(maxTextValue) + " bytes"
	case t == "uuid":
		return "UUID " + semantic.QuoteText(s), ""
	}
	return semantic.QuoteText(s), ""
}

// numberLiteral keeps the digits as they were sent. Text is taken for numbers
// of 16 digits and more only: answers give those as text, so callers send them back so.
func numberLiteral(t semantic.Type, value any) (sql, expected string) {
	expected = "a number"
	s := ""
	switch v := value.(type) {
	case json.Number:
		s = v.String()
	case int:
		s = strconv.Itoa(v)
	case int64:
		s = strconv.FormatInt(v, 10)
	case float64:
		s = strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		if digits(v) < 16 {
			return "", expected
		}
		s = v
	default:
		return "", expected
	}
	if exponent.MatchString(s) {
		r, ok := new(big.Rat).SetString(s)
		if !ok || !r.IsInt() {
			return "", "a number in plain digits"
		}
		s = r.Num().String()
	}
	if !plainNumber.MatchString(s) || digits(s) > 38 {
		return "", "a number of at most 38 digits"
	}
	if whole(t) && strings.Contains(s, ".") {
		return "", "a whole number"
	}
	return s, ""
}

func digits(s string) int {
	n := 0
	for _, c := range s {
		if c >= '0' && c <= '9' {
			n++
		}
	}
	return n
}

// whole reports whether a type holds whole numbers only.
func whole(t semantic.Type) bool {
	switch t {
	case "tinyint", "smallint", "integer", "bigint", "hugeint":
		return true
	}
	return false
}
