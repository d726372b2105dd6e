package emit_test

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"plumbline/semantic"
)

// The longer lines of the tiny models:
//
//	entity orders time=at key=id
//	  measure p90 = percentile(total) q=0.9 discrete by=at order=a,-b sep=; semi=last:at:account where NOT deleted fill 0
//	  of order_count bigint = orders.order_count via buyer width=10
//	  join buyer customers: a = b and c = d complete valid=at,from,to
//	  join rate rates: currency = code as_of=at,time
//	  join persons persons: through=owners,account,person,weight,share
//	metric paid = orders.revenue filter status = 'paid' where region = ["eu"]; plan is_null
//	metric share = a / b where region = ["eu"]

// measureOf reads a measure line.
func measureOf(t testing.TB, line string) *semantic.Measure {
	m := measureHead.FindStringSubmatch(line)
	require.NotNil(t, m, line)
	out := &semantic.Measure{Name: semantic.Name(m[1]), Agg: semantic.Agg(m[2]), Synonyms: []string{"total " + m[1]}}
	arg, rest := bracketed(t, strings.TrimPrefix(line, m[0]))
	switch {
	case regexp.MustCompile(`^\w+$`).MatchString(arg):
		out.Field = semantic.Name(arg)
	case arg != "*":
		out.Expr = arg
	}
	if before, fill, ok := strings.Cut(rest, " fill "); ok {
		n, err := strconv.Atoi(fill)
		require.NoError(t, err, line)
		out.Fill, rest = &n, before
	}
	rest, out.Filter, _ = strings.Cut(rest, " where ")
	for _, w := range strings.Fields(rest) {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "q":
			out.Quantile = value
		case "discrete":
			out.Discrete = true
		case "by":
			out.By = semantic.Name(value)
		case "order":
			for _, o := range strings.Split(value, ",") {
				name, desc := strings.CutPrefix(o, "-")
				out.Order = append(out.Order, semantic.OrderBy{By: semantic.Name(name), Desc: desc})
			}
		case "sep":
			out.Separator = value
		case "semi":
			parts := strings.Split(value, ":")
			out.Semi = &semantic.SemiAdditive{Pick: semantic.Agg(parts[0]), Over: semantic.Name(parts[1]), Per: namesOf(parts[2:])}
		default:
			require.Fail(t, "measure", line)
		}
	}
	return out
}

var measureHead = regexp.MustCompile(`^measure (\w+) = (\w+)`)

// bracketed cuts a text that begins with a bracket behind the one that closes it.
func bracketed(t testing.TB, text string) (inside, rest string) {
	depth := 0
	for i, c := range text {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			return text[1:i], text[i+1:]
		}
	}
	require.Fail(t, "no bracket closes", text)
	return "", ""
}

func namesOf(parts []string) []semantic.Name {
	var out []semantic.Name
	for _, p := range parts {
		out = append(out, semantic.Name(p))
	}
	return out
}

// metricOf reads what stands behind "metric ".
func metricOf(t testing.TB, text string) *semantic.Metric {
	name, of, ok := strings.Cut(text, " = ")
	require.True(t, ok, text)
	out := &semantic.Metric{Name: semantic.Name(name), Kind: semantic.SimpleMetric}
	of, where, _ := strings.Cut(of, " where ")
	out.Where = wheres(t, where)
	if num, den, ok := strings.Cut(of, " / "); ok {
		out.Kind, out.Numerator, out.Denominator = semantic.RatioMetric, semantic.Name(num), semantic.Name(den)
		return out
	}
	of, out.Filter, _ = strings.Cut(of, " filter ")
	entity, measure, ok := strings.Cut(of, ".")
	require.True(t, ok, text)
	out.Entity, out.Measure = semantic.Name(entity), semantic.Name(measure)
	return out
}

// wheres reads conditions: field[@grain] op [values], with semicolons between.
func wheres(t testing.TB, text string) []semantic.Where {
	var out []semantic.Where
	for _, part := range strings.Split(text, ";") {
		words := strings.SplitN(strings.TrimSpace(part), " ", 3)
		if words[0] == "" {
			continue
		}
		w := semantic.Where{Op: words[1]}
		w.Field, w.Grain, _ = strings.Cut(words[0], "@")
		if len(words) > 2 {
			dec := json.NewDecoder(strings.NewReader(words[2]))
			dec.UseNumber()
			require.NoError(t, dec.Decode(&w.Values), text)
		}
		out = append(out, w)
	}
	return out
}

// joinOf reads a join line.
func joinOf(t testing.TB, line string) *semantic.Relationship {
	head, rest, ok := strings.Cut(strings.TrimPrefix(line, "join "), ": ")
	require.True(t, ok, line)
	name, to, _ := strings.Cut(head, " ")
	r := &semantic.Relationship{Name: semantic.Name(name), To: semantic.Name(to), Kind: semantic.ManyToOne}
	words := strings.Fields(rest)
	for i := 0; i < len(words); i++ {
		key, value, _ := strings.Cut(words[i], "=")
		parts := namesOf(strings.Split(value, ","))
		switch {
		case i+2 < len(words) && words[i+1] == "=":
			r.On = append(r.On, semantic.JoinPair{From: semantic.Name(words[i]), To: semantic.Name(words[i+2])})
			i += 2
		case key == "and":
		case key == "complete":
			r.Complete = true
		case key == "one_to_one", key == "one_to_many":
			r.Kind = semantic.RelationshipKind(key)
		case key == "valid":
			r.Valid = &semantic.Validity{At: parts[0], From: parts[1], To: parts[2]}
		case key == "as_of":
			r.AsOf = &semantic.AsOf{At: parts[0], Time: parts[1]}
		case key == "through":
			r.Kind = semantic.ManyToMany
			r.Through = &semantic.Bridge{Entity: parts[0], Near: parts[1], Far: parts[2], Allocate: semantic.Allocation(parts[3])}
			if len(parts) > 4 {
				r.Through.Weight = parts[4]
			}
		default:
			require.Fail(t, "join", line)
		}
	}
	return r
}

// parameterOf reads: parameter name type [default=v] [allowed=a,b]; without a default it is required.
func parameterOf(words []string) *semantic.Parameter {
	out := &semantic.Parameter{Name: semantic.Name(words[1]), Type: semantic.Type(words[2]), Required: true}
	for _, w := range words[3:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "default":
			out.Default, out.Required = value, false
		case "allowed":
			out.Allowed = strings.Split(value, ",")
		}
	}
	return out
}

// ofLine reads a dimension that is a measure of another entity.
func ofLine(t testing.TB, line string) *semantic.Dimension {
	words := strings.Fields(line)
	require.GreaterOrEqual(t, len(words), 7, line)
	entity, measure, _ := strings.Cut(words[4], ".")
	typ := semantic.Type(words[2])
	d := &semantic.Dimension{Name: semantic.Name(words[1]), Type: typ, Kind: typ.Kind(), Visibility: semantic.Output,
		Of: &semantic.MeasureOf{Entity: semantic.Name(entity), Measure: semantic.Name(measure), Role: semantic.Name(words[6])}}
	if len(words) > 7 {
		d.Bins = &semantic.Bins{Width: strings.TrimPrefix(words[7], "width=")}
	}
	return d
}
