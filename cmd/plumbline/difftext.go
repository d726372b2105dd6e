package main

import (
	"fmt"
	"io"
	"math/big"
	"strings"

	"plumbline/engine"
	"plumbline/semantic/changes"
)

// text prints the difference for a terminal: metrics first, then what they rest on.
func (d *difference) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s -> %s: %s\n", d.from, d.to, d.headline())
	for _, m := range d.report.Metrics {
		fmt.Fprintf(&b, "\nmetric %s  %s\n", m.Name, says(m))
		for _, ref := range m.Because {
			fmt.Fprintf(&b, "  because of %s\n", ref)
		}
		for _, ref := range m.By {
			fmt.Fprintf(&b, "  groups by way of %s\n", ref)
		}
		for _, line := range told(d.values[m.Name]) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for _, section := range sections(d.report) {
		fmt.Fprintf(&b, "\n%s\n", section.title)
		for _, line := range section.lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *difference) headline() string {
	switch {
	case len(d.report.Metrics) > 0:
		return counted(d.report.Metrics)
	case d.report.Meaning():
		return "no metric changed"
	case len(d.report.Nouns) > 0:
		return "no meaning changed"
	}
	return "nothing changed"
}

// counted says how many metrics were changed, added, removed and renamed.
func counted(list []changes.Metric) string {
	kinds := map[string]int{}
	for _, m := range list {
		switch {
		case m.What == changes.Added, m.What == changes.Removed, m.What == changes.Renamed:
			kinds[string(m.What)]++
		default:
			kinds["changed"]++
		}
	}
	var parts []string
	for _, kind := range []string{"changed", string(changes.Added), string(changes.Removed), string(changes.Renamed)} {
		switch n := kinds[kind]; {
		case n == 0:
		case len(parts) == 0:
			parts = append(parts, count(n, "metric")+" "+kind)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// says puts what became of a metric into words.
func says(m changes.Metric) string {
	text := string(m.What)
	switch {
	case m.What == changes.Grouped:
		text = "some groups changed"
	case m.What == changes.Renamed:
		return "renamed from " + string(m.From)
	}
	if m.From != "" {
		text += ", renamed from " + string(m.From)
	}
	return text
}

// told puts into words the differences of values; questions that gave the same are counted together.
func told(values []engine.Values) []string {
	var out, same []string
	for _, v := range values {
		by := "total"
		if v.By != "" {
			by = "by " + v.By
		}
		switch {
		case v.Equal() && len(v.Refused) == 0:
			same = append(same, by)
		case v.Equal(): // refused alike: nothing to say
		default:
			out = append(out, by+": "+differs(v))
		}
	}
	if len(same) > 0 {
		out = append(out, "same values: "+strings.Join(same, ", "))
	}
	return out
}

func differs(v engine.Values) string {
	if len(v.Refused) > 0 {
		return "not compared: " + answered(v.Refused[0]) + " before, " + answered(v.Refused[1]) + " now"
	}
	if v.By == "" {
		if v.Largest == nil {
			return "another value"
		}
		return percent(v.Largest, true)
	}
	var parts []string
	if v.Differ > 0 {
		part := fmt.Sprintf("%d of %d groups differ", v.Differ, v.Groups)
		if v.Largest != nil {
			part += ", by up to " + percent(v.Largest, false)
		}
		parts = append(parts, part)
	}
	if v.Gone > 0 {
		parts = append(parts, count(v.Gone, "group")+" gone")
	}
	if v.New > 0 {
		parts = append(parts, count(v.New, "group")+" new")
	}
	return strings.Join(parts, ", ")
}

func answered(code string) string {
	if code == "" {
		return "answered"
	}
	return code
}

// percent writes a part with one digit, or as many as it takes to be told from 0.
func percent(r *big.Rat, sign bool) string {
	f, _ := new(big.Rat).Mul(r, big.NewRat(100, 1)).Float64()
	text := fmt.Sprintf("%.1f", f)
	if strings.Trim(text, "-0.") == "" {
		text = fmt.Sprintf("%.1g", f)
	}
	if sign && f > 0 {
		text = "+" + text
	}
	return text + " %"
}

type section struct {
	title string
	lines []string
}

// sections list the nouns: what means something else, who may see what, and words.
func sections(r changes.Report) []section {
	defined, seen, worded := section{title: "definitions"}, section{title: "who may see what"}, section{title: "wording alone"}
	for _, c := range r.Nouns {
		if c.What != changes.Same && len(c.Meaning) == 0 && c.Ref.Kind != "metric" { // metrics have been told of
			defined.lines = append(defined.lines, fmt.Sprintf("%s  %s", c.Ref, c.What))
		}
		for _, e := range c.Meaning {
			defined.lines = append(defined.lines, edit(c.Ref, e))
		}
		for _, e := range c.Access {
			seen.lines = append(seen.lines, edit(c.Ref, e))
		}
		if len(c.Wording) > 0 && len(c.Meaning)+len(c.Access) == 0 {
			worded.lines = append(worded.lines, c.Ref.String())
		}
	}
	var out []section
	for _, s := range []section{defined, seen, worded} {
		if len(s.lines) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func edit(ref changes.Ref, e changes.Edit) string {
	return fmt.Sprintf("%s  %s: %s -> %s", ref, e.Part, orNothing(e.Old), orNothing(e.New))
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

// markdown prints the difference for a pull request.
func (d *difference) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### Metrics: %s\n\n`%s` → `%s`\n", d.headline(), d.from, d.to)
	if len(d.report.Metrics) > 0 {
		b.WriteString("\n| metric | change | because of | values |\n|---|---|---|---|\n")
	}
	for _, m := range d.report.Metrics {
		var refs []string
		for _, ref := range m.Because {
			refs = append(refs, escaped(ref.String()))
		}
		for _, ref := range m.By {
			refs = append(refs, escaped(ref.String())+" (groups)")
		}
		var values []string
		for _, line := range told(d.values[m.Name]) {
			values = append(values, escaped(line))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", escaped(string(m.Name)), escaped(says(m)), strings.Join(refs, "<br>"), strings.Join(values, "<br>"))
	}
	for _, section := range sections(d.report) {
		fmt.Fprintf(&b, "\n**%s**\n\n", section.title)
		for _, line := range section.lines {
			fmt.Fprintf(&b, "- %s\n", escaped(line))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escaped keeps a text on one line and from being read as Markdown.
func escaped(s string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`").Replace(s)
}

// json is the difference as data. A largest difference is a number: 0.1 is 10 %.
func (d *difference) json() any {
	type values struct {
		By      string   `json:"by"` // "" for the total
		Groups  int      `json:"groups"`
		Differ  int      `json:"differ"`
		Gone    int      `json:"gone"`
		New     int      `json:"new"`
		Largest *float64 `json:"largest"`
		Refused []string `json:"refused,omitempty"`
	}
	type metric struct {
		Name    string   `json:"name"`
		What    string   `json:"what"`
		From    string   `json:"from,omitempty"`
		Because []string `json:"because"`
		Groups  []string `json:"groups"`
		Values  []values `json:"values"`
	}
	type noun struct {
		Noun    string         `json:"noun"`
		What    string         `json:"what"`
		Meaning []changes.Edit `json:"meaning"`
		Access  []changes.Edit `json:"access"`
		Wording []changes.Edit `json:"wording"`
	}
	metrics, nouns := []metric{}, []noun{}
	for _, m := range d.report.Metrics {
		x := metric{Name: string(m.Name), What: string(m.What), From: string(m.From), Because: refTexts(m.Because), Groups: refTexts(m.By), Values: []values{}}
		for _, v := range d.values[m.Name] {
			y := values{By: v.By, Groups: v.Groups, Differ: v.Differ, Gone: v.Gone, New: v.New, Refused: v.Refused}
			if v.Largest != nil {
				f, _ := v.Largest.Float64()
				y.Largest = &f
			}
			x.Values = append(x.Values, y)
		}
		metrics = append(metrics, x)
	}
	for _, c := range d.report.Nouns {
		nouns = append(nouns, noun{c.Ref.String(), string(c.What), orEmpty(c.Meaning), orEmpty(c.Access), orEmpty(c.Wording)})
	}
	return struct {
		From    string   `json:"from"`
		To      string   `json:"to"`
		Changed bool     `json:"changed"` // some meaning, not wording or access alone
		Metrics []metric `json:"metrics"`
		Nouns   []noun   `json:"nouns"`
	}{d.from, d.to, d.report.Meaning(), metrics, nouns}
}

func refTexts(refs []changes.Ref) []string {
	out := make([]string, len(refs))
	for i, r := range refs {
		out[i] = r.String()
	}
	return out
}

func orEmpty(list []changes.Edit) []changes.Edit {
	if list == nil {
		return []changes.Edit{}
	}
	return list
}
