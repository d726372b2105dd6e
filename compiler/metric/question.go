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
type Question struct {
	Metrics    []string       `json:"metrics"`
	Dimensions []DimensionRef `json:"dimensions,omitempty"`
	Filters    []Filter       `json:"filters,omitempty"`
	Time       []TimeRange    `json:"time,omitempty"`
	Order      []Order        `json:"order,omitempty"`
	Limit      *int           `json:"limit,omitempty"`
}

// DimensionRef names a dimension to group by: dimension, entity.dimension, a
// role path from the measure's entity (role.role.dimension), or metric_time.
// In JSON it may also be the name alone.
type DimensionRef struct {
	Name  string `json:"name"`
	Grain string `json:"grain,omitempty"`
}

// Filter compares a dimension, or an asked metric after aggregation (also spelled
// metric.NAME), with values: text, numbers, booleans or null. Grain makes a time filter compare
// buckets; without it the raw column is compared.
type Filter struct {
	Field  string `json:"field"`
	Op     string `json:"op"`
	Values []any  `json:"values,omitempty"`
	Grain  string `json:"grain,omitempty"`
}

// TimeRange keeps from <= field < to. A date as To means that whole day. Either
// end may be left out.
type TimeRange struct {
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Order names an asked metric or dimension.
type Order struct {
	By   string `json:"by"`
	Desc bool   `json:"desc,omitempty"`
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
			WithHint("a question has metrics, dimensions [{name, grain}], filters [{field, op, values, grain}], time [{field, from, to}], order [{by, desc}] and limit")
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
