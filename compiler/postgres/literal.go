package postgres

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plumbline/compiler/sqlast"
)

// constant reads a literal.
func (t *translator) constant(c *constant) value {
	switch {
	case c.Int != nil:
		t.plainNumber(c.Location)
		return wholeNumber(c.Int.V, c.Location)
	case c.Float != nil:
		t.plainNumber(c.Location)
		if n, err := strconv.ParseInt(c.Float.V, 10, 64); err == nil {
			return wholeNumber(n, c.Location)
		}
		return t.numeric(c.Float.V, c.Location)
	case c.Bool != nil:
		return value{t: tBool, at: c.Location, e: boolean(c.Bool.V)}
	case c.Text != nil:
		t.worked(len(c.Text.V) / textCost)
		return value{t: tUnknown, at: c.Location, literal: &c.Text.V, e: text(c.Text.V)}
	case c.IsNull:
		return value{t: tUnknown, at: c.Location, e: null()}
	}
	t.refuse(c.Location, "", "this form of a literal is not supported")
	return value{}
}

func wholeNumber(n int64, place int) value {
	v := value{t: tInt4, at: place, e: number(n), whole: &n}
	if n != int64(int32(n)) {
		v.t = tInt8
	}
	return v
}

var plainDigits = regexp.MustCompile(`^-?\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?([^0-9A-Za-z_]|$)`)

// plainNumber refuses what PostgreSQL 15 reads otherwise than the parser here,
// which is of a later version: 0x1F and 1_000.
func (t *translator) plainNumber(place int) {
	if place >= 0 && !plainDigits.MatchString(t.text[place:]) {
		t.refuse(place, "write it in decimal digits", "this form of a number is not PostgreSQL 15's")
	}
}

var numericText = regexp.MustCompile(`^\s*([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]{1,3}))?\s*$`)

// numeric makes a literal of type numeric: its digits are written out.
func (t *translator) numeric(s string, place int) value {
	m := numericText.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		t.refuse(place, "", "this is no numeric literal that is read here")
	}
	exponent, _ := strconv.Atoi(m[4])
	digits, scale := m[2]+m[3], len(m[3])-exponent
	if scale < 0 {
		digits, scale = digits+strings.Repeat("0", -scale), 0
	}
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	whole := strings.TrimLeft(digits[:len(digits)-scale], "0")
	if len(whole)+scale > maxDigits {
		t.refuse(place, "", "a numeric literal of more than %d digits is not supported", maxDigits)
	}
	plain := m[1] + whole
	if whole == "" {
		plain = m[1] + "0"
	}
	if scale > 0 {
		plain += "." + digits[len(digits)-scale:]
	}
	return value{t: tNumeric, at: place, scale: scale, e: decimal(text(strings.TrimPrefix(plain, "+")), max(len(whole)+scale, 1), scale)}
}

// maxDigits is how many digits DuckDB's widest decimal has.
const maxDigits = 38

// literalLike makes a literal in quotes what the other side of an operator is.
func (t *translator) literalLike(v, other value) value {
	if other.t == tOpaque {
		t.refuse(other.at, "", "values of this type, and masked ones, are shown and nothing more")
	}
	return t.literal(v, other.t)
}

// literal makes a literal in quotes, or NULL, a value of a type. Only the forms
// that both systems read alike are read.
func (t *translator) literal(v value, to string) value {
	out := value{t: to, at: v.at}
	if v.literal == nil {
		out.e = null()
		if d := duckTypes[to]; d != "" {
			out.e, out.exact = cast(out.e, d), true
		}
		return out
	}
	s := *v.literal
	switch to {
	case tText:
		out.e = text(s)
	case tInt2, tInt4, tInt8:
		n, err := strconv.ParseInt(strings.TrimPrefix(strings.Trim(s, " "), "+"), 10, map[string]int{tInt2: 16, tInt4: 32, tInt8: 64}[to])
		if err != nil {
			t.badLiteral(v, to, "digits")
		}
		out.e, out.whole = number(n), &n
	case tNumeric:
		out = t.numeric(s, v.at)
	case tFloat8:
		if m := numericText.FindStringSubmatch(s); m == nil || m[2]+m[3] == "" {
			t.badLiteral(v, to, "digits")
		}
		out.e = cast(text(strings.Trim(s, " ")), "DOUBLE")
	case tBool:
		out.e = boolean(t.boolean(v, s))
	case tDate, tTimestamp, tTimestamptz:
		out.e = cast(text(t.timeText(v, s, to)), duckTypes[to])
	case tInterval:
		out.e = intervalOf(t.intervalParts(v, s))
	case tJSON:
		if !json.Valid([]byte(s)) {
			t.badLiteral(v, to, "JSON")
		}
		out.e = cast(text(s), "JSON")
	case tUUID:
		if !uuidText.MatchString(s) {
			t.badLiteral(v, to, "8-4-4-4-12 hexadecimal digits")
		}
		out.e = cast(text(s), "UUID")
	default:
		t.refuse(v.at, "", "a literal of type %s is not supported", to)
	}
	return out
}

var uuidText = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (t *translator) badLiteral(v value, to, form string) {
	t.refuse(v.at, "write "+form, "this is no literal of type %s in a form that is read here", to)
}

var (
	trueWords  = strings.Fields("t tr tru true y ye yes on 1")
	falseWords = strings.Fields("f fa fal fals false n no of off 0")
)

func (t *translator) boolean(v value, s string) bool {
	s = strings.ToLower(strings.Trim(s, " "))
	for i := range trueWords {
		if s == trueWords[i] {
			return true
		}
	}
	for i := range falseWords {
		if s == falseWords[i] {
			return false
		}
	}
	t.badLiteral(v, tBool, "true or false")
	return false
}

// timeLayouts are the forms of dates and times that are read, by type.
var timeLayouts = map[string][]string{
	tDate:      {"2006-01-02"},
	tTimestamp: {"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05"},
	tTimestamptz: {"2006-01-02", "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02T15:04:05Z07:00",
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05Z07"},
}

// moreThanMicros are fractions that PostgreSQL would round.
var moreThanMicros = regexp.MustCompile(`\.[0-9]{7}`)

func (t *translator) timeText(v value, s, to string) string {
	for _, layout := range timeLayouts[to] {
		at, err := time.Parse(layout, strings.Trim(s, " "))
		if err != nil || moreThanMicros.MatchString(s) || at.Year() < 1 {
			continue
		}
		switch to {
		case tDate:
			return at.Format("2006-01-02")
		case tTimestamp:
			return at.Format("2006-01-02 15:04:05.999999")
		}
		return at.UTC().Format("2006-01-02 15:04:05.999999+00")
	}
	t.badLiteral(v, to, "2024-12-31, with 23:59:59 behind it for a time")
	return ""
}

var (
	intervalPart  = regexp.MustCompile(`^\s*([+-]?[0-9]{1,9})\s*([a-zA-Z]+)(?:\s+|$)`)
	intervalClock = regexp.MustCompile(`^\s*([+-]?)([0-9]{1,6}):([0-5][0-9])(?::([0-5][0-9])(\.[0-9]{1,6})?)?\s*$`)
)

// intervalUnits are months, days and microseconds of each unit.
var intervalUnits = map[string][3]int64{
	"year": {12}, "years": {12}, "y": {12}, "yr": {12}, "yrs": {12}, "mon": {1}, "mons": {1}, "month": {1}, "months": {1},
	"week": {0, 7}, "weeks": {0, 7}, "w": {0, 7}, "day": {0, 1}, "days": {0, 1}, "d": {0, 1},
	"hour": {0, 0, 3600e6}, "hours": {0, 0, 3600e6}, "h": {0, 0, 3600e6}, "hr": {0, 0, 3600e6}, "hrs": {0, 0, 3600e6},
	"minute": {0, 0, 60e6}, "minutes": {0, 0, 60e6}, "min": {0, 0, 60e6}, "mins": {0, 0, 60e6},
	"second": {0, 0, 1e6}, "seconds": {0, 0, 1e6}, "sec": {0, 0, 1e6}, "secs": {0, 0, 1e6}, "s": {0, 0, 1e6},
	"millisecond": {0, 0, 1000}, "milliseconds": {0, 0, 1000}, "microsecond": {0, 0, 1}, "microseconds": {0, 0, 1},
}

// intervalOf writes months, days and microseconds; one of them alone as a function
// of a number, which is known to be the same for every row.
func intervalOf(parts [3]int64) sqlast.Expr {
	months, days, micros := parts[0], parts[1], parts[2]
	switch {
	case days == 0 && micros == 0:
		return call("to_months", number(months))
	case months == 0 && micros == 0:
		return call("to_days", number(days))
	case months == 0 && days == 0 && micros%3600e6 == 0:
		return call("to_hours", number(micros/3600e6))
	}
	return cast(text(itoa(int(months))+" months "+itoa(int(days))+" days "+itoa(int(micros))+" microseconds"), "INTERVAL")
}

// intervalParts reads whole numbers of units, and a time of day behind them, as
// PostgreSQL does: months, days and microseconds.
func (t *translator) intervalParts(v value, s string) (sum [3]int64) {
	rest := s
	for {
		m := intervalPart.FindStringSubmatch(rest)
		if m == nil {
			break
		}
		n, _ := strconv.ParseInt(m[1], 10, 64) // nine digits at most
		unit, ok := intervalUnits[strings.ToLower(m[2])]
		if !ok {
			t.badLiteral(v, tInterval, "units such as 1 year 2 days 03:04:05")
		}
		for i := range sum {
			sum[i] += n * unit[i]
		}
		rest = rest[len(m[0]):]
	}
	switch m := intervalClock.FindStringSubmatch(rest); {
	case m != nil:
		hours, _ := strconv.ParseInt(m[2], 10, 64)
		minutes, _ := strconv.ParseInt(m[3], 10, 64)
		seconds, _ := strconv.ParseFloat("0"+m[4]+m[5], 64)
		micros := hours*3600e6 + minutes*60e6 + int64(seconds*1e6+0.5)
		if m[1] == "-" {
			micros = -micros
		}
		sum[2] += micros
	case strings.Trim(rest, " ") != "" || strings.Trim(s, " ") == "":
		t.badLiteral(v, tInterval, "whole numbers of units, such as 1 year 2 days 03:04:05")
	}
	if max(sum[0], -sum[0]) > math.MaxInt32 || max(sum[1], -sum[1]) > math.MaxInt32 {
		t.badLiteral(v, tInterval, "a shorter one")
	}
	return sum
}
