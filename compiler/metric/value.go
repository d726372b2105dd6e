package metric

import (
	"encoding/json"
	"fmt"
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
	case semantic.KindBoolean:
		switch value {
		case true, "true":
			return "TRUE", ""
		case false, "false":
			return "FALSE", ""
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

// digitsOf keeps the digits of a number as they were sent, without an exponent.
// Text that is a number and nothing else is one: answers give long numbers as
// text, and callers send numbers so.
func digitsOf(value any) (number, expected string) {
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
		if !plainNumber.MatchString(v) && !exponent.MatchString(v) {
			return "", "a number"
		}
		s = v
	default:
		return "", "a number"
	}
	if exponent.MatchString(s) {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			return "", "a number"
		}
		decimals, _ := r.FloatPrec() // a power of ten divides: always exact
		s = r.FloatString(decimals)
	}
	if !plainNumber.MatchString(s) || digits(s) > maxDigits {
		return "", "a number of at most 38 digits"
	}
	return s, ""
}

// maxDigits is the width of the engine's widest exact number.
const maxDigits = 38

// fitted is a number as a literal. Between says that it lies between two
// neighbouring values of the type, and that the literal is the lower one.
type fitted struct {
	sql     string
	between bool
}

// fit writes a number so that comparing it with a column of the type is exact and
// never overflows: the engine brings both sides to one type, which must not take
// more than 38 digits.
func fit(t semantic.Type, number string) (out fitted, expected string) {
	before, after, _ := strings.Cut(strings.TrimPrefix(number, "-"), ".")
	before, after = strings.TrimLeft(before, "0"), strings.TrimRight(after, "0")
	width, scale, exact := precision(t)
	switch {
	case t == "" && len(after) > maxDecimals:
		return fitted{}, "a number of at most " + strconv.Itoa(maxDecimals) + " decimals"
	case !exact || max(len(before), width-scale)+max(len(after), scale) <= maxDigits:
		return fitted{sql: number}, ""
	case len(before) > width-scale:
		return fitted{}, "a number that fits " + string(t)
	}
	return fitted{floor(number, scale), true}, ""
}

// maxDecimals bounds the decimals of a number that is compared with a type only the engine knows.
const maxDecimals = 18

// floor gives the largest number of that many decimals that is not above n.
func floor(n string, scale int) string {
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		return n
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
	scaled := r.Mul(r, unit)
	whole := new(big.Int).Div(scaled.Num(), scaled.Denom()) // rounds down, since Denom is positive
	return new(big.Rat).Quo(new(big.Rat).SetInt(whole), unit).FloatString(scale)
}

// precision gives the digits of an exact type, and how many of them are decimals.
func precision(t semantic.Type) (width, scale int, exact bool) {
	if w, ok := wholeWidth[t]; ok {
		return w, 0, true
	}
	_, err := fmt.Sscanf(string(t), "decimal(%d,%d)", &width, &scale)
	return width, scale, err == nil
}

var wholeWidth = map[semantic.Type]int{"tinyint": 3, "smallint": 5, "integer": 10, "bigint": 19, "hugeint": maxDigits}

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
	_, ok := wholeWidth[t]
	return ok
}
