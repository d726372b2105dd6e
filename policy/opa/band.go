package opa

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"plumbline/semantic"
)

// A band is a run of values [low, low + width). A value is shown as the low end
// of its band, which is of the column's type. Bands of numbers are counted from 0,
// bands of months and years from 2000-01-01, those of days and weeks from the
// Monday 2000-01-03. What is in no band is NULL: NULL itself, NaN, the infinities,
// moments outside the years 1 to 9999, and floating values so large that a band
// would hold one of them only. The lowest band of a whole or decimal type begins
// with the type's smallest value.

// band prints the low end of the band in which a column's value lies.
func (k masking) band(column, width string) (string, error) {
	base, args, _ := strings.Cut(string(k.field.Type), "(")
	sql, hint := "", ""
	switch base {
	case "tinyint", "smallint", "integer", "bigint", "hugeint":
		sql, hint = exactBand(column, k.field.Type, wholeMin[base], width, 0), "a whole number that the type holds"
	case "decimal":
		digits, scale := decimalDigits(args)
		low := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits+scale)), nil)
		sql, hint = exactBand(column, k.field.Type, low.Sub(big.NewInt(1), low), width, scale), "a number that the type holds"
	case "float", "double":
		sql, hint = floatBand(column, k.field.Type, width), `a number from 0.000001 to 1000000000000000`
	case "date", "timestamp":
		sql, hint = timeBand(column, k.field.Type, width), `a period such as "7 days", "1 month" or "10 years"`
	default:
		return "", k.refuse("a mask of kind %s is on a number, date or timestamp; %s puts it on another type", k.Kind, k.by())
	}
	switch {
	case sql != "":
		return sql, nil
	case k.Kind == "year":
		return "", k.refuse("a mask of kind year is on a date or timestamp; %s puts it on another type", k.by())
	}
	return "", k.refuse("the width of a band fits the column; that of %s does not", k.by()).WithHint("write %s", hint)
}

var wholeMin = map[string]*big.Int{
	"tinyint": power2(7), "smallint": power2(15), "integer": power2(31), "bigint": power2(63), "hugeint": power2(127),
}

// power2 is -2^n.
func power2(n uint) *big.Int { return new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), n)) }

var plainWidth = regexp.MustCompile(`^[0-9]{1,38}(\.[0-9]{1,38})?$`)

// widthOf reads a positive width in units of 10^-scale; nil when it is none.
func widthOf(width string, scale int) *big.Int {
	w, ok := new(big.Rat).SetString(width)
	if !ok || !plainWidth.MatchString(width) || w.Sign() <= 0 {
		return nil
	}
	w.Mul(w, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	if !w.IsInt() {
		return nil
	}
	return w.Num()
}

// exactBand prints bands of whole numbers and decimals. low is the type's smallest
// value in units of 10^-scale. Nothing overflows: below the first whole band the
// smallest value stands, and above it the rest is taken off towards zero first.
func exactBand(column string, t semantic.Type, low *big.Int, width string, scale int) string {
	w := widthOf(width, scale)
	if w == nil || w.CmpAbs(low) >= 0 {
		return ""
	}
	literal := func(n *big.Int) string {
		return "CAST('" + new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale) + "' AS " + t.SQL() + ")"
	}
	first := new(big.Int).Mul(new(big.Int).Quo(low, w), w)
	rest := column + " % " + literal(w)
	return fmt.Sprintf("CASE WHEN %[1]s < %[2]s THEN %[3]s WHEN %[4]s < 0 THEN CAST(%[1]s - %[4]s - %[5]s AS %[6]s) ELSE CAST(%[1]s - %[4]s AS %[6]s) END",
		column, literal(first), literal(low), rest, literal(w), t.SQL())
}

// floatBand prints bands of floating numbers, as exact as they are.
func floatBand(column string, t semantic.Type, width string) string {
	w := widthOf(width, 6)
	if w == nil || w.Cmp(new(big.Int).Exp(big.NewInt(10), big.NewInt(21), nil)) > 0 {
		return ""
	}
	most, _ := new(big.Rat).SetFrac(new(big.Int).Lsh(w, 53), big.NewInt(1_000_000)).Float64()
	value := "CAST(" + column + " AS DOUBLE)"
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN -%[2]e AND %[2]e THEN CAST(floor(%[1]s / CAST('%[3]s' AS DOUBLE)) * CAST('%[3]s' AS DOUBLE) AS %[4]s) END", value, most, width, t.SQL())
}

// timeBand prints bands of days or months.
func timeBand(column string, t semantic.Type, width string) string {
	p, ok := semantic.ParsePeriod(width)
	if !ok {
		return ""
	}
	count := map[string]int{"day": 1, "week": 7, "month": 1, "quarter": 3, "year": 12}[p.Unit] * p.N
	unit := "months"
	if p.Unit == "day" || p.Unit == "week" {
		unit = "days"
	}
	ends := "DATE '0001-01-01' AND DATE '9999-12-31'"
	if t == "timestamp" {
		ends = "TIMESTAMP '0001-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
	}
	return fmt.Sprintf("CASE WHEN %[1]s BETWEEN %[2]s THEN time_bucket(INTERVAL '%[3]d %[4]s', %[1]s) END", column, ends, count, unit)
}
