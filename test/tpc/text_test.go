package tpc

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// bareText writes a value of the Go driver as answers write it.
func bareText(v any, typ string) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case time.Time:
		switch {
		case typ == "DATE":
			return v.UTC().Format(time.DateOnly)
		case strings.HasPrefix(typ, "TIMESTAMP"):
			return v.UTC().Format("2006-01-02T15:04:05.999999999")
		}
		return v.UTC().Format("15:04:05.999999")
	case duckdb.Decimal:
		return v.String()
	case *big.Int:
		return v.String()
	}
	return fmt.Sprint(v)
}
