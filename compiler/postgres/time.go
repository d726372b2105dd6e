package postgres

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"plumbline/compiler/sqlast"
)

// valueFunctions are the words that PostgreSQL reads as functions. The time zone of
// the session is UTC on both sides.
var valueFunctions = map[string]struct{ label, t string }{
	"SVFOP_CURRENT_DATE": {"current_date", tDate}, "SVFOP_CURRENT_TIMESTAMP": {"current_timestamp", tTimestamptz}, "SVFOP_LOCALTIMESTAMP": {"localtimestamp", tTimestamp},
}

func (t *translator) clock(n *valueFunction) value {
	f := valueFunctions[n.Op]
	if f.label == "" {
		t.refuse(n.Location, "", "this word for the session or the time is not supported")
	}
	e := call("now")
	if f.t != tTimestamptz {
		e = cast(e, duckTypes[f.t])
	}
	return value{t: f.t, at: n.Location, e: e}
}

func clockFunction(c *scalarCall) value {
	c.takes(0, 0)
	return typed(tTimestamptz, call("now"))
}

// parts of dates and times that are whole numbers.
var dateParts = strings.Fields("year quarter month week day dow isodow doy isoyear decade century millennium")

var timeParts = strings.Fields("hour minute")

var intervalParts = strings.Fields("year month day hour minute")

// extract reads EXTRACT, which gives numeric, and date_part, which gives double
// precision.
func extract(c *scalarCall) value {
	c.takes(2, 2)
	part := c.word(0)
	v := c.args[1]
	if !isTime(v.t) && v.t != tInterval {
		c.bad(1)
	}
	out := c.part(part, v)
	if c.name == "date_part" {
		return typed(tFloat8, cast(out.e, "DOUBLE"))
	}
	return out
}

func (c *scalarCall) part(part string, v value) value {
	micros := func(name string, digits int) value {
		e := decimal(call("date_part", text("microseconds"), v.e), 18, 0)
		if name == "epoch" {
			ts := cast(v.e, "TIMESTAMP")
			seconds := decimal(call("date_part", text("epoch"), call("date_trunc", text("second"), ts)), 18, 0)
			e = op("%", call("date_part", text("microseconds"), ts), number(1000000))
			e = op("+", op("*", seconds, decimal(text("1000000"), 7, 0)), decimal(e, 18, 0))
		}
		return value{t: tNumeric, scale: digits, e: op("*", e, decimal(text("0."+strings.Repeat("0", digits-1)+"1"), digits+1, digits))}
	}
	whole := slices.Contains(dateParts, part) && v.t != tInterval || slices.Contains(timeParts, part) && v.t != tDate || slices.Contains(intervalParts, part) && v.t == tInterval
	switch {
	case whole:
		return typed(tNumeric, decimal(call("date_part", text(part), v.e), 19, 0))
	case part == "second" && v.t != tDate:
		return micros(part, 6)
	case part == "milliseconds" && v.t != tDate:
		return micros(part, 3)
	case part == "microseconds" && v.t != tDate:
		return typed(tNumeric, decimal(call("date_part", text(part), v.e), 19, 0))
	case part == "epoch" && v.t != tInterval:
		out := micros(part, 6)
		out.padded = v.t == tDate
		return out
	}
	c.refuse("", "the part %q of %s is not supported", part, v.t)
	return value{}
}

// word is an argument that names a part of a date.
func (c *scalarCall) word(i int) string {
	s := c.args[i].literal
	if s == nil {
		c.refuse("write the part as a literal", "%s takes the name of a part that is written out", c.name)
	}
	return strings.ToLower(*s)
}

func dateTrunc(c *scalarCall) value {
	c.takes(2, 2)
	part, v := c.word(0), c.args[1]
	if v.t == tUnknown {
		c.bad(1)
	}
	if !isTime(v.t) || !slices.Contains(strings.Fields("second minute hour day week month quarter year decade century"), part) {
		c.refuse("", "%s to %q of %s is not supported", c.name, part, v.t)
	}
	to := v.t
	if to == tDate {
		v, to = c.t.implicit(v, tTimestamp), tTimestamptz // PostgreSQL has no date_trunc of a date
		return typed(to, cast(call("date_trunc", text(part), v.e), duckTypes[to]))
	}
	return typed(to, call("date_trunc", text(part), v.e))
}

func age(c *scalarCall) value {
	c.takes(2, 2)
	for i, v := range c.args {
		if !isTime(v.t) {
			c.bad(i)
		}
	}
	return typed(tInterval, call("age", cast(c.args[0].e, "TIMESTAMP"), cast(c.args[1].e, "TIMESTAMP")))
}

func makeDate(c *scalarCall) value {
	c.takes(3, 3)
	year := c.integer(0)
	e := call("make_date", cast(year, "BIGINT"), cast(c.integer(1), "BIGINT"), cast(c.integer(2), "BIGINT"))
	return typed(tDate, guarded(compare("COMPARE_GREATERTHAN", year, number(0)), e, year, "DATE"))
}

// timezone reads AT TIME ZONE. A local time may be none or two instants: it is
// read in UTC only.
func timezone(c *scalarCall) value {
	c.takes(2, 2)
	zone, v := c.args[0].literal, c.args[1]
	if zone == nil {
		c.refuse("write the zone as a literal", "AT TIME ZONE takes a zone that is written out")
	}
	if _, err := time.LoadLocation(*zone); err != nil || *zone != "UTC" && !strings.Contains(*zone, "/") {
		c.refuse("write UTC or a name as Europe/Paris", "this time zone is not supported")
	}
	switch {
	case v.t == tTimestamptz:
		return typed(tTimestamp, call("timezone", text(*zone), v.e))
	case v.t == tTimestamp && *zone == "UTC":
		return typed(tTimestamptz, call("timezone", text(*zone), v.e))
	}
	c.refuse("cast it to timestamptz first", "AT TIME ZONE %q of %s is not supported", *zone, v.t)
	return value{}
}

// A template is a format of to_char, to_date or to_timestamp in parts.
type template struct {
	pieces []piece
}

// piece is a part of a template: a pattern of strftime, or a literal.
type piece struct {
	strftime string // "" for a literal
	literal  string
	form     string                          // the regular expression of what is read by it; "" when it is only written
	wrap     func(e sqlast.Expr) sqlast.Expr // what is done to what strftime wrote
}

func upper(e sqlast.Expr) sqlast.Expr { return call("upper", e) }
func lower(e sqlast.Expr) sqlast.Expr { return call("lower", e) }
func padded(e sqlast.Expr) sqlast.Expr {
	return call("rpad", e, number(9), text(" "))
}

// patterns are the parts of formats by their names. Those in capitals are found in
// any case; the longest name that fits is meant.
var patterns = []struct {
	name string
	any  bool // in any case
	piece
}{
	{"FMMonth", false, piece{strftime: "%B"}}, {"FMMONTH", false, piece{strftime: "%B", wrap: upper}}, {"FMmonth", false, piece{strftime: "%B", wrap: lower}},
	{"FMDay", false, piece{strftime: "%A"}}, {"FMDAY", false, piece{strftime: "%A", wrap: upper}}, {"FMday", false, piece{strftime: "%A", wrap: lower}},
	{"FMHH24", true, piece{strftime: "%-H"}}, {"FMMM", true, piece{strftime: "%-m"}}, {"FMDD", true, piece{strftime: "%-d"}},
	{"Month", false, piece{strftime: "%B", wrap: padded}}, {"IYYY", true, piece{strftime: "%G"}},
	{"YYYY", true, piece{strftime: "%Y", form: "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"}},
	{"HH24", true, piece{strftime: "%H", form: "([01][0-9]|2[0-3])"}}, {"HH12", true, piece{strftime: "%I"}},
	{"Day", false, piece{strftime: "%A", wrap: padded}},
	{"Mon", false, piece{strftime: "%b"}}, {"MON", false, piece{strftime: "%b", wrap: upper}}, {"mon", false, piece{strftime: "%b", wrap: lower}},
	{"DDD", true, piece{strftime: "%j"}},
	{"Dy", false, piece{strftime: "%a"}}, {"DY", false, piece{strftime: "%a", wrap: upper}}, {"dy", false, piece{strftime: "%a", wrap: lower}},
	{"MM", true, piece{strftime: "%m", form: "(0[1-9]|1[0-2])"}}, {"MI", true, piece{strftime: "%M", form: "[0-5][0-9]"}},
	{"DD", true, piece{strftime: "%d", form: "(0[1-9]|[12][0-9]|3[01])"}}, {"HH", true, piece{strftime: "%I"}},
	{"SS", true, piece{strftime: "%S", form: "[0-5][0-9]"}}, {"MS", true, piece{strftime: "%g"}}, {"US", true, piece{strftime: "%f"}},
	{"IW", true, piece{strftime: "%V"}}, {"YY", true, piece{strftime: "%y"}},
	{"AM", false, piece{strftime: "%p"}}, {"PM", false, piece{strftime: "%p"}}, {"am", false, piece{strftime: "%p", wrap: lower}}, {"pm", false, piece{strftime: "%p", wrap: lower}},
}

// template reads a format that is written out.
func (c *scalarCall) template(i int) template {
	s := c.args[i].literal
	if s == nil {
		c.refuse("write the format as a literal", "%s takes a format that is written out", c.name)
	}
	if len(*s) > maxPattern {
		c.t.longPattern(c.at)
	}
	var out template
	rest := *s
next:
	for rest != "" {
		if rest[0] == '"' {
			text, after, ok := strings.Cut(rest[1:], `"`)
			if !ok || strings.Contains(text, `\`) {
				c.refuse("", "a text in a format ends with a quote")
			}
			out.pieces, rest = append(out.pieces, piece{literal: text, form: quoteMeta(text)}), after
			continue
		}
		for _, p := range patterns {
			if len(rest) >= len(p.name) && (rest[:len(p.name)] == p.name || p.any && strings.EqualFold(rest[:len(p.name)], p.name)) {
				out.pieces, rest = append(out.pieces, p.piece), rest[len(p.name):]
				continue next
			}
		}
		r := rune(rest[0])
		if r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\\' {
			c.refuse(`use YYYY MM DD HH24 MI SS and their like, and put text into "..."`, "a part of this format is not supported")
		}
		out.pieces, rest = append(out.pieces, piece{literal: rest[:1], form: quoteMeta(rest[:1])}), rest[1:]
	}
	return out
}

func toChar(c *scalarCall) value {
	c.takes(2, 2)
	v := c.args[0]
	if v.t == tTimestamptz || v.t == tDate {
		v = typed(tTimestamp, cast(v.e, "TIMESTAMP"))
	}
	if v.t != tTimestamp {
		c.refuse("round numbers, and cast them to text", "to_char of %s is not supported", v.t)
	}
	var parts []sqlast.Expr
	run := ""
	flush := func() {
		if run != "" {
			parts, run = append(parts, call("strftime", v.e, text(run))), ""
		}
	}
	for _, p := range c.template(1).pieces {
		if p.wrap == nil {
			run += p.strftime + strings.ReplaceAll(p.literal, "%", "%%")
			continue
		}
		flush()
		parts = append(parts, p.wrap(call("strftime", v.e, text(p.strftime))))
	}
	flush()
	if len(parts) == 0 {
		c.refuse("", "the format is empty")
	}
	out := parts[0]
	for _, p := range parts[1:] {
		out = op("||", out, p)
	}
	return typed(tText, out)
}

// parsed reads a text by a format: a text that does not have its exact form, which
// PostgreSQL may read more or less of, fails.
func (c *scalarCall) parsed() sqlast.Expr {
	s := c.text(0)
	form, format := "", ""
	seen := map[string]bool{}
	for _, p := range c.template(1).pieces {
		if p.form == "" || p.strftime != "" && seen[p.strftime] {
			c.refuse("use YYYY, MM, DD, HH24, MI and SS, each once", "a part of this format is not read by %s", c.name)
		}
		seen[p.strftime] = true
		form += p.form
		format += p.strftime + strings.ReplaceAll(p.literal, "%", "%%")
	}
	if !seen["%Y"] {
		c.refuse("begin with YYYY", "%s takes a format with a year", c.name)
	}
	return guarded(call("regexp_full_match", s, text(form)), call("strptime", s, text(format)), s, "TIMESTAMP")
}

func toDate(c *scalarCall) value {
	c.takes(2, 2)
	return typed(tDate, cast(c.parsed(), "DATE"))
}

func toTimestamp(c *scalarCall) value {
	c.takes(1, 2)
	if len(c.args) == 1 {
		return typed(tTimestamptz, call("to_timestamp", c.double(0)))
	}
	return typed(tTimestamptz, cast(c.parsed(), duckTypes[tTimestamptz]))
}
