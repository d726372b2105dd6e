package shape

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"plumbline/semantic/diag"
)

// column makes a one-column batch; fill appends the values.
func column(t *testing.T, typ arrow.DataType, fill func(array.Builder)) []arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ, Nullable: true}}, nil))
	defer b.Release()
	fill(b.Field(0))
	rec := b.NewRecordBatch()
	t.Cleanup(rec.Release)
	return []arrow.RecordBatch{rec}
}

var wide = Limits{Rows: 1000, Bytes: 1 << 20}

func TestValuesTravelExactly(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 30, 0, 123456000, time.UTC)
	ts, err := arrow.TimestampFromTime(at, arrow.Microsecond)
	require.NoError(t, err)
	huge := decimal128.New(math.MaxInt64, math.MaxUint64) // the largest HUGEINT
	dec, err := decimal128.FromString("-0.05", 12, 2)
	require.NoError(t, err)
	cases := []struct {
		name string
		typ  arrow.DataType
		fill func(array.Builder)
		want string
	}{
		{"bigint past 2^53", arrow.PrimitiveTypes.Int64, func(b array.Builder) {
			b.(*array.Int64Builder).AppendValues([]int64{9007199254740993, 9007199254740992, -1}, nil)
		}, `[["9007199254740993"],[9007199254740992],[-1]]`},
		{"ubigint", arrow.PrimitiveTypes.Uint64, func(b array.Builder) { b.(*array.Uint64Builder).Append(math.MaxUint64) }, `[["18446744073709551615"]]`},
		{"hugeint", &arrow.Decimal128Type{Precision: 38}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(huge) }, `[["170141183460469231731687303715884105727"]]`},
		{"decimal", &arrow.Decimal128Type{Precision: 12, Scale: 2}, func(b array.Builder) { b.(*array.Decimal128Builder).Append(dec) }, `[["-0.05"]]`},
		{"double", arrow.PrimitiveTypes.Float64, func(b array.Builder) {
			b.(*array.Float64Builder).AppendValues([]float64{0.1, 1e300, math.NaN(), math.Inf(-1), 1e-9, math.Copysign(0, -1)}, nil)
		}, `[[0.1],[1e+300],[null],[null],[1e-09],[0]]`},
		{"null", arrow.BinaryTypes.String, func(b array.Builder) { b.AppendNull(); b.(*array.StringBuilder).Append("") }, `[[null],[""]]`},
		{"date has no clock", arrow.FixedWidthTypes.Date32, func(b array.Builder) { b.(*array.Date32Builder).Append(arrow.Date32FromTime(at)) }, `[["2026-03-29"]]`},
		{"timestamp has no zone", &arrow.TimestampType{Unit: arrow.Microsecond}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(ts) }, `[["2026-03-29T01:30:00.123456"]]`},
		{"timestamptz ends in Z", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(ts) }, `[["2026-03-29T01:30:00.123456Z"]]`},
		{"list", arrow.ListOf(arrow.PrimitiveTypes.Int32), func(b array.Builder) {
			l := b.(*array.ListBuilder)
			l.Append(true)
			l.ValueBuilder().(*array.Int32Builder).AppendValues([]int32{1, 2}, nil)
			l.AppendNull()
			l.Append(true)
		}, `[[[1,2]],[null],[[]]]`},
		{"struct keeps its order", arrow.StructOf(arrow.Field{Name: "z", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}), func(b array.Builder) {
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.StringBuilder).Append("é\"")
			s.FieldBuilder(1).(*array.Int32Builder).Append(3)
		}, `[[{"z":"é\"","a":3}]]`},
		{"struct without names is a list", arrow.StructOf(arrow.Field{Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Type: arrow.BinaryTypes.String}), func(b array.Builder) {
			s := b.(*array.StructBuilder)
			s.Append(true)
			s.FieldBuilder(0).(*array.Int32Builder).Append(3)
			s.FieldBuilder(1).(*array.StringBuilder).AppendNull()
		}, `[[[3,null]]]`},
		{"map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), func(b array.Builder) {
			m := b.(*array.MapBuilder)
			m.Append(true)
			m.KeyBuilder().(*array.StringBuilder).Append("k")
			m.ItemBuilder().(*array.Int32Builder).Append(7)
		}, `[[[{"key":"k","value":7}]]]`},
		{"interval", arrow.FixedWidthTypes.MonthDayNanoInterval, func(b array.Builder) {
			b.(*array.MonthDayNanoIntervalBuilder).Append(arrow.MonthDayNanoInterval{Months: 1, Days: 2, Nanoseconds: 1500000000})
		}, `[["P1M2DT1.5S"]]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Rows([]Column{{Name: "c"}}, column(t, c.typ, c.fill), wide)
			require.NoError(t, err)
			j, err := json.Marshal(got.Rows)
			require.NoError(t, err)
			require.Equal(t, c.want, string(j))
		})
	}
}

func TestNonFiniteIsCounted(t *testing.T) {
	got, err := Rows([]Column{{Name: "c"}}, column(t, arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		b.(*array.Float64Builder).AppendValues([]float64{math.NaN(), 1, math.Inf(1)}, nil)
	}), wide)
	require.NoError(t, err)
	require.Equal(t, 2, got.NonFinite)
}

func TestCutsAreSaid(t *testing.T) {
	batches := column(t, arrow.BinaryTypes.String, func(b array.Builder) {
		b.(*array.StringBuilder).AppendValues([]string{"aaaa", "bbbb", "cccc"}, nil)
	})
	got, err := Rows([]Column{{Name: "c"}}, batches, Limits{Rows: 2, Bytes: 1000})
	require.NoError(t, err)
	require.True(t, got.Truncated)
	require.Equal(t, "rows", got.CutBy)
	require.Len(t, got.Rows, 2)

	got, err = Rows([]Column{{Name: "c"}}, batches, Limits{Rows: 3, Bytes: 1000})
	require.NoError(t, err)
	require.False(t, got.Truncated, "as many rows as the limit is the whole answer")

	got, err = Rows([]Column{{Name: "c"}}, batches, Limits{Rows: 3, Bytes: 20})
	require.NoError(t, err)
	require.Equal(t, "bytes", got.CutBy)

	_, err = Rows([]Column{{Name: "c"}}, batches, Limits{Rows: 3, Bytes: 5})
	require.Equal(t, diag.LimitBytes, diag.CodeOf(err))
}

func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z ,"=\n\r<ß]{0,6}`), 2, 4).Draw(t, "cells")
		table := Table{Columns: make([]Column, len(want)), Rows: [][]any{make([]any, len(want))}}
		for i, s := range want {
			table.Columns[i].Name, table.Rows[0][i] = "c", s
		}
		got, err := csv.NewReader(strings.NewReader(table.CSV())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if strings.ReplaceAll(want[i], "\r\n", "\n") != got[1][i] { // encoding/csv folds line ends in quoted cells
				t.Fatalf("cell %d: %q became %q", i, want[i], got[1][i])
			}
		}
	})
}

func TestCSVKeepsNullAndEmptyApart(t *testing.T) {
	table := Table{Columns: []Column{{Name: "a"}, {Name: "b"}}, Rows: [][]any{{nil, ""}, {json.Number("1"), true}}}
	require.Equal(t, "a,b\n,\"\"\n1,true\n", table.CSV())
}
