package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumbline/policy"
	"plumbline/policy/opa"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Why is why one subject may or may not see one column: what the rules about it say,
// and which say nothing.
type Why struct {
	Known
	Answer       string           `json:"answer"` // one sentence
	Entity       string           `json:"entity"`
	Visible      bool             `json:"entity_visible"`
	VisibleRules []policy.RuleRef `json:"entity_rules"`  // that make the entity visible
	SilentRules  []policy.RuleRef `json:"entity_silent"` // visible rules that do not hold
	Fault        string           `json:"fault"`         // as of EntityAccess
	Column       ColumnAccess     `json:"column"`
	// Fields are the column's own field, or those that a computed dimension reads.
	Fields []FieldWhy `json:"fields"`
}

// FieldWhy is what the rules say of one field.
type FieldWhy struct {
	Field    string           `json:"field"`
	Model    string           `json:"model"` // the class that the model allows at most
	Declared string           `json:"declared"`
	Tags     []string         `json:"tags"`
	Grants   []Granted        `json:"grants"` // the columns rules that open it
	Silent   []policy.RuleRef `json:"silent"` // the columns rules that do not
	Mask     string           `json:"mask"`   // its kind; "" for none
	MaskRule *policy.RuleRef  `json:"mask_rule"`
}

// Granted is the class that a columns rule gives, before the model's own bound.
type Granted struct {
	Rule  policy.RuleRef `json:"rule"`
	Class string         `json:"class"`
}

// Why accounts for a column, written entity.column, to the declared subjects of that
// id: to one for each declaration, where they differ.
func (g *Governance) Why(ctx context.Context, as, column string) ([]Why, error) {
	if as == "" {
		as = g.w.ws.Server.StdioSubject
	}
	subjects, err := g.chosen(Choice{As: as})
	if err != nil {
		return nil, err
	}
	entity, name, ok := strings.Cut(column, ".")
	if !ok {
		return nil, diag.New(diag.RequestMalformed, "a column is written entity.column; %q is not", column)
	}
	entities, err := g.entities(entity)
	if err != nil {
		return nil, err
	}
	named, fields, err := readBy(entities[0], semantic.Name(name))
	if err != nil {
		return nil, err
	}
	var out []Why
	for _, s := range subjects {
		one, err := g.why(ctx, s, entities[0], named, fields)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// readBy gives the field of a name, which may be that of its dimension, or the computed
// dimension of that name with the fields that it reads.
func readBy(e *semantic.Entity, name semantic.Name) (semantic.Name, []*semantic.Field, error) {
	for _, d := range e.Dimensions {
		switch {
		case d.Name.Key() != name.Key():
		case d.Field != "":
			name = d.Field
		default:
			out := []*semantic.Field{}
			for _, r := range d.Reads {
				out = append(out, e.Field(r))
			}
			return d.Name, out, nil
		}
	}
	if f := e.Field(name); f != nil {
		return f.Name, []*semantic.Field{f}, nil
	}
	var known []string
	for _, f := range e.Fields {
		known = append(known, string(f.Name))
	}
	for _, d := range e.Dimensions {
		known = append(known, string(d.Name))
	}
	return "", nil, diag.New(diag.ModelUnknown, "the entity %q has no column %q", e.Name, name).Suggest(semantic.Nearest(string(name), known)...)
}

func (g *Governance) why(ctx context.Context, s Known, e *semantic.Entity, name semantic.Name, fields []*semantic.Field) (Why, error) {
	out := Why{Known: s, Entity: string(e.Name), Fields: []FieldWhy{}, Column: ColumnAccess{Column: string(name), Computed: e.Field(name) == nil, Class: hiddenClass, Rules: []policy.RuleRef{}}}
	account, err := g.w.policy.Account(ctx, s.Subject, g.now, e)
	if ctx.Err() != nil {
		return out, diag.Wrap(ctx.Err(), diag.RequestCancelled, "the account was cancelled")
	}
	if err != nil {
		out.Fault = diag.All(err)[0].Error()
	}
	out.Visible, out.VisibleRules = account.Access.Visible, append([]policy.RuleRef{}, account.Visible...)
	out.SilentRules = without(g.w.policy.AccessRules("visible"), account.Visible)
	v := newView(ctx, g.w, s.Subject, g.now)
	for _, c := range columnsOf(v, g.measures(v), e, account) {
		if semantic.Name(c.Column).Key() == name.Key() {
			out.Column = c
		}
	}
	for _, f := range fields {
		out.Fields = append(out.Fields, g.field(f, account))
	}
	out.Answer = out.inWords()
	return out, nil
}

func (g *Governance) field(f *semantic.Field, account opa.Account) FieldWhy {
	out := FieldWhy{Field: string(f.Name), Model: f.Visibility.String(), Declared: f.Pos.String(), Tags: append([]string{}, f.Tags...), Grants: []Granted{}}
	var spoke []policy.RuleRef
	for _, x := range account.Columns[f.Name.Key()] {
		spoke = append(spoke, x.Rule)
		out.Grants = append(out.Grants, Granted{x.Rule, x.Class.String()})
	}
	out.Silent = without(g.w.policy.AccessRules("columns"), spoke)
	if mask := account.Access.Columns[f.Name.Key()].Mask; mask != nil {
		out.Mask, out.MaskRule = mask.Kind, &mask.Rule
	}
	return out
}

// without gives the rules of a list that are not among others.
func without(list, others []policy.RuleRef) []policy.RuleRef {
	out := []policy.RuleRef{}
	for _, r := range list {
		if !slices.Contains(others, r) {
			out = append(out, r)
		}
	}
	return out
}

// inWords answers the question in one sentence.
func (x *Why) inWords() string {
	column := x.Entity + "." + x.Column.Column
	switch {
	case x.Fault != "":
		return fmt.Sprintf("%s does not see %s: a rule about %s cannot be applied, so the entity is closed", x.ID, column, x.Entity)
	case !x.Visible:
		return fmt.Sprintf("%s does not see %s: no visible rule gives the entity %s", x.ID, column, x.Entity)
	case x.Column.Class == hiddenClass && x.Column.Computed:
		return fmt.Sprintf("%s does not see %s: something that it reads is closed", x.ID, column)
	case x.Column.Class == hiddenClass:
		return fmt.Sprintf("%s does not see %s: no columns rule grants it", x.ID, column)
	case x.Column.Class == semantic.Private.String():
		return fmt.Sprintf("%s does not see %s: its class is private, so only measures read it", x.ID, column)
	case x.Column.Class == semantic.JoinOnly.String():
		return fmt.Sprintf("%s does not see %s: its class is join, so it is matched and never read", x.ID, column)
	case x.Column.Class == semantic.FilterOnly.String():
		return fmt.Sprintf("%s does not see %s: its class is filter, so rows are chosen by it and it is never shown", x.ID, column)
	case x.Column.Mask != "":
		return fmt.Sprintf("%s sees %s masked: %s", x.ID, column, x.Column.Mask)
	}
	return fmt.Sprintf("%s sees %s", x.ID, column)
}

// Text writes the account for people.
func (x *Why) Text() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	silent := func(indent string, rules []policy.RuleRef) {
		if len(rules) > 0 {
			say("%sdid not hold: %s", indent, RuleList(rules))
		}
	}
	say("%s", x.Answer)
	if x.Fault != "" {
		say("  %s", x.Fault)
	}
	seen := "hidden"
	switch {
	case x.Fault != "":
		seen = "closed"
	case x.Visible:
		seen = "visible"
	}
	say("  entity %s: %s", x.Entity, seen)
	for _, r := range x.VisibleRules {
		say("    made visible by %s", ruleText(r))
	}
	silent("    ", x.SilentRules)
	if x.Column.Computed {
		say("  dimension %s: %s, computed of the fields below", x.Column.Column, x.Column.Class)
	}
	for _, f := range x.Fields {
		say("  field %s: the model allows %s at most, %s", f.Field, f.Model, f.Declared)
		for _, r := range f.Grants {
			say("    granted as %s by %s", r.Class, ruleText(r.Rule))
		}
		if f.MaskRule != nil {
			say("    masked as %s by %s", f.Mask, ruleText(*f.MaskRule))
		}
		silent("    ", f.Silent)
	}
	return b.String()
}
