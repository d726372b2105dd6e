package metric

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"plumbline/semantic/diag"
)

// MetricTime is the dimension that stands for each fact's own time dimension.
const MetricTime = "metric_time"

// Question is a metric question as a caller sends it. Decode reads it strictly.
// It asks for metrics, or with Rows for the rows of an entity as they are.
type Question struct {
	Metrics    []string       `json:"metrics,omitempty"`
	Dimensions []DimensionRef `json:"dimensions,omitempty"`
	Filters    []Filter       `json:"filters,omitempty"`
	Segments   []string       `json:"segments,omitempty"` // segment, or entity.segment
	Time       []TimeRange    `json:"time,omitempty"`
	Order      []Order        `json:"order,omitempty"`
	Limit      *int           `json:"limit,omitempty"`
	Offset     int            `json:"offset,omitempty"` // rows passed over before the first
	// Totals adds rows that are computed over several groups: "total" one over all,
	// "subtotals" one for each leading run of the dimensions as well. The column
	// rolled_up tells which dimensions a row is over.
	Totals string `json:"totals,omitempty"`
	Top    *Top   `json:"top,omitempty"`
	// FillGaps adds the missing buckets between the first and the last of the time
	// dimension, for every combination of the other dimensions.
	FillGaps bool `json:"fill_gaps,omitempty"`
	// Rows names an entity: the answer is its rows, with Dimensions as columns (its
	// output fields and dimensions), not grouped.
	Rows       string         `json:"rows,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Zone       string         `json:"zone,omitempty"`       // IANA name in place of the model's
	WeekStart  string         `json:"week_start,omitempty"` // monday or sunday, in place of the model's
}

// DimensionRef names a dimension to group by: dimension, entity.dimension, a
// role path from the measure's entity (role.role.dimension), or metric_time.
// In JSON it may also be the name alone.
type DimensionRef struct {
	Name  string `json:"name"`
	Grain string `json:"grain,omitempty"` // a grain of time, or of a calendar
}

// Filter compares a dimension, or an asked metric after aggregation (also spelled
// metric.NAME), with values: text, numbers, booleans or null. Grain makes a time filter compare
// buckets; without it the raw column is compared. Instead of a comparison it may
// hold Any or All: filters of which one, or each, must hold.
type Filter struct {
	Field  string   `json:"field,omitempty"`
	Op     string   `json:"op,omitempty"`
	Values []any    `json:"values,omitempty"`
	Grain  string   `json:"grain,omitempty"`
	Any    []Filter `json:"any,omitempty"`
	All    []Filter `json:"all,omitempty"`
}

// TimeRange keeps from <= field < to. A date as To means that whole day. Either
// end may be left out. In place of both, Last asks for that many complete periods
// before the one that contains now ("3 months"), or with IncludingCurrent for that
// many of which the current one is the last; This asks for the current period
// ("month"). The current period is kept as far as it has come: through the day, or
// the hour, minute or second of shorter periods, that now lies in.
type TimeRange struct {
	Field            string `json:"field"`
	From             string `json:"from,omitempty"`
	To               string `json:"to,omitempty"`
	Last             string `json:"last,omitempty"`
	IncludingCurrent bool   `json:"including_current,omitempty"`
	This             string `json:"this,omitempty"`
}

// Order names an asked metric or dimension.
type Order struct {
	By   string `json:"by"`
	Desc bool   `json:"desc,omitempty"`
}

// Top keeps the N greatest groups of one dimension by a metric, computed over all
// other dimensions; with Other the rest is one more row, recomputed from its
// rows. The column is_other tells it apart.
type Top struct {
	Dimension string `json:"dimension"`
	By        string `json:"by"`
	N         int    `json:"n"`
	Other     bool   `json:"other,omitempty"`
}

// Decode reads a question strictly: unknown and repeated arguments are refused,
// numbers keep their digits. Codes: request.malformed, request.unknown_argument.
func Decode(raw []byte) (Question, error) {
	var q Question
	if err := noRepeats(raw); err != nil {
		return Question{}, err
	}
	if err := strict(raw, &q); err != nil {
		return Question{}, malformed(err)
	}
	return q, nil
}

// UnmarshalJSON accepts an object or the name alone.
func (d *DimensionRef) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*d = DimensionRef{}
		return json.Unmarshal(raw, &d.Name)
	}
	type plain DimensionRef
	return strict(raw, (*plain)(d))
}

// UnmarshalJSON keeps numbers as they were written.
func (f *Filter) UnmarshalJSON(raw []byte) error {
	type plain Filter
	return strict(raw, (*plain)(f))
}

func strict(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("text after the question")
	}
	return nil
}

// malformed words a JSON error for the caller. encoding/json gives no type for
// an unknown field, so its text is read here and only here.
func malformed(err error) error {
	if _, name, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return diag.New(diag.RequestUnknownArg, "a question has no argument %s here", name).
			WithHint("a question has metrics, dimensions [{name, grain}], filters [{field, op, values, grain} or {any: [...]}], segments, time [{field, from, to} or {field, last, including_current} or {field, this}], order [{by, desc}], limit, offset, totals, top {dimension, by, n, other}, fill_gaps, rows, parameters, zone and week_start")
	}
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) && t.Field != "" {
		return diag.Wrap(err, diag.RequestMalformed, "argument %q has the wrong type", t.Field)
	}
	return diag.Wrap(err, diag.RequestMalformed, "the question is not well-formed JSON of the tool's shape")
}

// noRepeats refuses an object that says one thing twice: encoding/json would
// keep the last and lose the first in silence.
func noRepeats(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := walkObject(dec); err != nil {
		var d *diag.Error
		if errors.As(err, &d) {
			return d
		}
		return malformed(err)
	}
	return nil
}

func walkObject(dec *json.Decoder) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprint(key))
			if seen[name] {
				return diag.New(diag.RequestMalformed, "argument %q appears twice", name)
			}
			seen[name] = true
		}
		if err := walkObject(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}
