package shape

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"plumbline/semantic/diag"
)

// exact is the largest integer that every JSON reader keeps.
const exact = 1 << 53

type shaper struct{ table *Table }

// value gives row r of an array. A type that is not listed is a bug, never a guess.
func (s *shaper) value(a arrow.Array, r int) (any, error) {
	if a.IsNull(r) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Null:
		return nil, nil
	case *array.Boolean:
		return a.Value(r), nil
	case *array.Int8:
		return integer(int64(a.Value(r))), nil
	case *array.Int16:
		return integer(int64(a.Value(r))), nil
	case *array.Int32:
		return integer(int64(a.Value(r))), nil
	case *array.Int64:
		return integer(a.Value(r)), nil
	case *array.Uint8:
		return integer(int64(a.Value(r))), nil
	case *array.Uint16:
		return integer(int64(a.Value(r))), nil
	case *array.Uint32:
		return integer(int64(a.Value(r))), nil
	case *array.Uint64:
		if v := a.Value(r); v > exact {
			return strconv.FormatUint(v, 10), nil
		}
		return integer(int64(a.Value(r))), nil
	case *array.Float32:
		return s.float(float64(a.Value(r)), 32), nil
	case *array.Float64:
		return s.float(a.Value(r), 64), nil
	case *array.Decimal128:
		return a.Value(r).ToString(a.DataType().(*arrow.Decimal128Type).Scale), nil
	case *array.Decimal256:
		return a.Value(r).ToString(a.DataType().(*arrow.Decimal256Type).Scale), nil
	case *array.String:
		return a.Value(r), nil
	case *array.LargeString:
		return a.Value(r), nil
	case *array.StringView:
		return a.Value(r), nil
	case *array.Binary:
		return base64.StdEncoding.EncodeToString(a.Value(r)), nil
	case *array.FixedSizeBinary:
		return base64.StdEncoding.EncodeToString(a.Value(r)), nil
	case *array.Date32:
		return a.Value(r).ToTime().Format(time.DateOnly), nil
	case *array.Time64:
		return a.Value(r).ToTime(a.DataType().(*arrow.Time64Type).Unit).Format("15:04:05.999999"), nil
	case *array.Timestamp:
		return timestamp(a, r), nil
	case *array.MonthDayNanoInterval:
		return interval(a.Value(r)), nil
	case *array.Dictionary:
		return s.value(a.Dictionary(), a.GetValueIndex(r))
	case *array.Struct:
		return s.structure(a, r)
	case *array.Map: // before the list types, which it embeds
		return s.list(a.ListValues(), a, r)
	case array.ListLike:
		return s.list(a.ListValues(), a, r)
	case array.ExtensionArray:
		return s.value(a.Storage(), r)
	}
	return nil, diag.New(diag.BugInternal, "a column has the type %s, which answers cannot carry", a.DataType().Name()).
		WithHint("cast the column to varchar")
}

func integer(v int64) any {
	if v > exact || v < -exact {
		return strconv.FormatInt(v, 10)
	}
	return json.Number(strconv.FormatInt(v, 10))
}

func (s *shaper) float(v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s.table.NonFinite++
		return nil
	}
	v += 0 // no negative zero: it is the number 0, and DuckDB's own divisions disagree on its sign
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return json.Number(strconv.FormatFloat(v, format, -1, bits))
}

func timestamp(a *array.Timestamp, r int) string {
	typ := a.DataType().(*arrow.TimestampType)
	t := a.Value(r).ToTime(typ.Unit).UTC()
	layout := "2006-01-02T15:04:05.999999999"
	if typ.TimeZone != "" {
		layout += "Z"
	}
	return t.Format(layout)
}

func interval(v arrow.MonthDayNanoInterval) string {
	return fmt.Sprintf("P%dM%dDT%sS", v.Months, v.Days, strconv.FormatFloat(float64(v.Nanoseconds)/1e9, 'f', -1, 64))
}

// structure gives a Struct; one without names, as row(1, 2) makes it, is a list,
// since its keys would all be "" and a JSON reader keeps one of them.
func (s *shaper) structure(a *array.Struct, r int) (any, error) {
	typ := a.DataType().(*arrow.StructType)
	if unnamed(typ) {
		out := make([]any, a.NumField())
		for i := range out {
			v, err := s.value(a.Field(i), r)
			if err != nil {
				return nil, err
			}
			out[i] = v
		}
		return out, nil
	}
	out := make(Struct, a.NumField())
	for i := range out {
		v, err := s.value(a.Field(i), r)
		if err != nil {
			return nil, err
		}
		out[i] = StructField{typ.Field(i).Name, v}
	}
	return out, nil
}

func unnamed(typ *arrow.StructType) bool {
	for _, f := range typ.Fields() {
		if f.Name != "" {
			return false
		}
	}
	return true
}

func (s *shaper) list(values arrow.Array, a array.ListLike, r int) (any, error) {
	from, to := a.ValueOffsets(r)
	out := make([]any, 0, to-from)
	for i := from; i < to; i++ {
		v, err := s.value(values, int(i))
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
