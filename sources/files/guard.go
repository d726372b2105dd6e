package files

import (
	"fmt"
	"strings"

	"plumbline/semantic"
)

// exact gives the pattern of the texts that become a value of a field's type
// without losing anything; "" where DuckDB's own cast loses nothing. Without it
// DuckDB reads 1.5 as the integer 2, a time as its day, and drops an offset.
// A JSON number with a fraction passes through a double, which keeps 15 digits.
func exact(f *semantic.Field, json bool) string {
	const day = `[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}`
	base, _, _ := strings.Cut(string(f.Type), "(")
	switch base {
	case "tinyint", "smallint", "integer", "bigint", "hugeint":
		return ` *[+-]?[0-9]+ *`
	case "decimal":
		width, scale := 18, 3 // DuckDB's DECIMAL
		if _, args, ok := strings.Cut(string(f.Type), "("); ok {
			scale = 0                                        // DECIMAL(n)
			_, _ = fmt.Sscanf(args, "%d,%d", &width, &scale) // the model's types were read strictly; without a scale one number is read
		}
		if json && width > 15 {
			width = max(15, scale+1)
		}
		return fmt.Sprintf(` *[+-]?([0-9]+|[0-9]{1,%d}\.[0-9]{0,%d}0*|\.[0-9]{1,%d}0*) *`, max(width-scale, 1), scale, max(scale, 1))
	case "date":
		return day
	case "timestamp":
		utc := `(Z|[+]00(:?00)?)?`
		if f.Zone != "" {
			utc = "" // local times carry no offset
		}
		return day + `([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?` + utc + `)?`
	}
	return ""
}

// textOf is the type in which a column of a text file is read: text where its
// values are guarded, else the declared type.
func textOf(e *semantic.Entity, col string) string {
	if f := fieldOf(e, col); f != nil && exact(f, false) == "" {
		return f.Type.SQL()
	}
	return "VARCHAR"
}

func fieldOf(e *semantic.Entity, col string) *semantic.Field {
	for _, f := range e.Fields {
		if f.Column == col {
			return f
		}
	}
	return nil
}

// guarded casts the text columns of a reader to the declared types and fails on
// a value that a cast would change or refuse (a 30 February): a plain cast would
// blame the query. The error names a file, by which engine/duck
// knows that the source is to blame and not the query.
func guarded(e *semantic.Entity, found []file, reader string) string {
	cols := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		name := semantic.Quote(f.Column)
		cols[i] = name
		if pattern := exact(f, e.Source.Format == "ndjson"); pattern != "" {
			msg := fmt.Sprintf("a value of column %q is no %s; files: %s", f.Column, f.Type, found[0].path)
			cols[i] = fmt.Sprintf("CASE WHEN %[1]s IS NULL THEN NULL ELSE coalesce(CASE WHEN regexp_full_match(%[1]s, %[2]s) THEN TRY_CAST(%[1]s AS %[3]s) END, error(%[4]s)) END AS %[1]s",
				name, semantic.QuoteText(pattern), f.Type.SQL(), semantic.QuoteText(msg))
		}
	}
	return "(SELECT " + strings.Join(cols, ", ") + " FROM " + reader + ")"
}
