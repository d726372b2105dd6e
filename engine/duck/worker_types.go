package duck

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"plumbline/semantic"
)

// typeNames are DuckDB's names of the types without parts.
var typeNames = map[mapping.Type]string{
	mapping.TypeBoolean: "BOOLEAN", mapping.TypeTinyInt: "TINYINT", mapping.TypeSmallInt: "SMALLINT",
	mapping.TypeInteger: "INTEGER", mapping.TypeBigInt: "BIGINT", mapping.TypeUTinyInt: "UTINYINT",
	mapping.TypeUSmallInt: "USMALLINT", mapping.TypeUInteger: "UINTEGER", mapping.TypeUBigInt: "UBIGINT",
	mapping.TypeFloat: "FLOAT", mapping.TypeDouble: "DOUBLE", mapping.TypeTimestamp: "TIMESTAMP",
	mapping.TypeDate: "DATE", mapping.TypeTime: "TIME", mapping.TypeInterval: "INTERVAL",
	mapping.TypeHugeInt: "HUGEINT", mapping.TypeUHugeInt: "UHUGEINT", mapping.TypeVarchar: "VARCHAR",
	mapping.TypeBlob: "BLOB", mapping.TypeTimestampS: "TIMESTAMP_S", mapping.TypeTimestampMS: "TIMESTAMP_MS",
	mapping.TypeTimestampNS: "TIMESTAMP_NS", mapping.TypeEnum: "ENUM", mapping.TypeUUID: "UUID",
	mapping.TypeBit: "BIT", mapping.TypeTimeTZ: "TIMETZ", mapping.TypeTimestampTZ: "TIMESTAMPTZ",
	mapping.TypeAny: "ANY", mapping.TypeBigNum: "BIGNUM", mapping.TypeSQLNull: "NULL",
}

// typeName spells a type as the Go driver does: TIMESTAMPTZ, DECIMAL(12,2),
// VARCHAR[], STRUCT("a" INTEGER). A type that is not known is UNKNOWN.
func typeName(t mapping.LogicalType) string {
	if mapping.LogicalTypeGetAlias(t) == "JSON" {
		return "JSON"
	}
	part := func(child mapping.LogicalType) string {
		defer mapping.DestroyLogicalType(&child)
		return typeName(child)
	}
	switch id := mapping.GetTypeId(t); id {
	case mapping.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", mapping.DecimalWidth(t), mapping.DecimalScale(t))
	case mapping.TypeList:
		return part(mapping.ListTypeChildType(t)) + "[]"
	case mapping.TypeArray:
		return fmt.Sprintf("%s[%d]", part(mapping.ArrayTypeChildType(t)), mapping.ArrayTypeArraySize(t))
	case mapping.TypeMap:
		return "MAP(" + part(mapping.MapTypeKeyType(t)) + ", " + part(mapping.MapTypeValueType(t)) + ")"
	case mapping.TypeStruct:
		var fields []string
		for i := range mapping.StructTypeChildCount(t) {
			fields = append(fields, semantic.Quote(mapping.StructTypeChildName(t, i))+" "+part(mapping.StructTypeChildType(t, i)))
		}
		return "STRUCT(" + strings.Join(fields, ", ") + ")"
	case mapping.TypeUnion:
		var members []string
		for i := range mapping.UnionTypeMemberCount(t) {
			members = append(members, semantic.Quote(mapping.UnionTypeMemberName(t, i))+" "+part(mapping.UnionTypeMemberType(t, i)))
		}
		return "UNION(" + strings.Join(members, ", ") + ")"
	default:
		if name, ok := typeNames[id]; ok {
			return name
		}
		return "UNKNOWN"
	}
}
