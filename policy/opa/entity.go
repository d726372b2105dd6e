package opa

import (
	"context"
	"time"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// accessInput is what access rules see, without the row.
type accessInput struct {
	Subject policy.Subject `json:"subject"`
	Now     time.Time      `json:"now"`
	Entity  entityInput    `json:"entity"`
}

type entityInput struct {
	Name   string       `json:"name"`
	Tags   []string     `json:"tags"`
	Fields []fieldInput `json:"fields"`
}

type fieldInput struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Class string   `json:"class"`
	Tags  []string `json:"tags"`
}

// accessAnswer is the access package's answer, by document and rule id.
type accessAnswer struct {
	Visible map[string]bool                `json:"visible"`
	Columns map[string]map[string]string   `json:"columns"`
	Masks   map[string]map[string]maskSpec `json:"masks"`
	AllRows map[string]bool                `json:"all_rows"`
	// MinGroup is by rule id.
	MinGroup map[string]groupSpec `json:"min_group"`
}

// Entity says how one subject may use one entity: its columns, masks and rows.
// An entity that no rule makes visible gives the zero access. Errors are
// policy.unsayable where a rule cannot be said in SQL, and policy.denied where the
// evaluation failed; both mean that the entity is closed. They name the rule's place
// and no field, since a rule may read what the subject may not see; the detail is the
// error's cause. The answer may be shared with other callers: it must not be changed.
func (p *Policy) Entity(ctx context.Context, s policy.Subject, now time.Time, e *semantic.Entity) (policy.EntityAccess, error) {
	key, err := p.cacheKey(s, now, e)
	if err != nil {
		return policy.EntityAccess{}, err
	}
	if found, ok := p.cache.get(key); ok {
		return found, nil
	}
	access, err := p.decideEntity(ctx, s, now, e)
	if err != nil {
		return policy.EntityAccess{}, discreet(err)
	}
	if access.Logged, err = p.entityTrials(ctx, s, now, e, access); err != nil && ctx.Err() != nil {
		return policy.EntityAccess{}, err
	}
	p.cache.put(key, access)
	return access, nil
}

// discreet keeps the detail of a rule that cannot be said for the audit record.
func discreet(err error) error {
	detail := diag.All(err)[0]
	if detail.Code != diag.PolicyUnsay {
		return err
	}
	return diag.Wrap(detail, diag.PolicyUnsay, "a policy rule about this entity cannot be applied, so the entity is closed").
		WithHint("the policy's author finds the detail with plumbline check, or in the audit record").At(detail.Pos)
}

// decideEntity is Entity without the cache, with errors for the policy's author.
func (p *Policy) decideEntity(ctx context.Context, s policy.Subject, now time.Time, e *semantic.Entity) (policy.EntityAccess, error) {
	if err := checkClaims(s); err != nil {
		return policy.EntityAccess{}, err
	}
	input, err := inputValue(accessInput{Subject: s, Now: moment(now), Entity: describe(e)})
	if err != nil {
		return policy.EntityAccess{}, err
	}
	var answer accessAnswer
	if err := p.evaluate(ctx, p.entity, input, &answer); err != nil {
		return policy.EntityAccess{}, err
	}
	access := policy.EntityAccess{}
	if access.Rules, err = p.granted("visible", answer.Visible); err != nil || len(access.Rules) == 0 {
		return policy.EntityAccess{}, err
	}
	access.Visible = true
	var applied []policy.RuleRef
	if access.Columns, applied, err = p.columns(ctx, e, answer); err != nil {
		return policy.EntityAccess{}, err
	}
	access.Rules = append(access.Rules, applied...)
	if access.MinGroup, applied, err = p.minGroup(e, answer, access.Columns); err != nil {
		return policy.EntityAccess{}, err
	}
	access.Rules = append(access.Rules, applied...)
	all, err := p.granted("all_rows", answer.AllRows)
	if err != nil {
		return policy.EntityAccess{}, err
	}
	if len(all) > 0 {
		access.Rows = policy.Predicate{Truth: policy.Always, Rules: all}
		return access, nil
	}
	if access.Rows, err = p.predicate(ctx, input, e); err != nil {
		return policy.EntityAccess{}, err
	}
	return access, nil
}

// granted lists the rules of an access document that said true.
func (p *Policy) granted(doc string, said map[string]bool) ([]policy.RuleRef, error) {
	var out []policy.RuleRef
	for _, id := range sortedKeys(said) {
		if !said[id] {
			continue
		}
		r := p.rules.ref(accessPackage, doc, id)
		if r.File == "" {
			return nil, failed(errUncollected(doc, id))
		}
		out = append(out, r)
	}
	return out, nil
}

func describe(e *semantic.Entity) entityInput {
	in := entityInput{Name: string(e.Name), Tags: e.Tags, Fields: make([]fieldInput, len(e.Fields))}
	for i, f := range e.Fields {
		in.Fields[i] = fieldInput{Name: string(f.Name), Type: string(f.Type), Class: f.Visibility.String(), Tags: f.Tags}
	}
	return in
}

// columns gives each listed field its class and mask, and the rules that did so.
// The widest class that a rule grants holds, never wider than the model's.
func (p *Policy) columns(ctx context.Context, e *semantic.Entity, answer accessAnswer) (map[string]policy.ColumnAccess, []policy.RuleRef, error) {
	out, applied, err := p.classes(e, answer.Columns)
	if err != nil {
		return nil, nil, err
	}
	if err := p.modelMasks(ctx, e, out); err != nil {
		return nil, nil, err
	}
	masked, err := p.masks(ctx, e, answer.Masks, out)
	return out, append(applied, masked...), err
}

// classes is columns without masks.
func (p *Policy) classes(e *semantic.Entity, granted map[string]map[string]string) (map[string]policy.ColumnAccess, []policy.RuleRef, error) {
	out := map[string]policy.ColumnAccess{}
	var applied []policy.RuleRef
	for _, id := range sortedKeys(granted) {
		rule := p.rules.ref(accessPackage, "columns", id)
		if rule.File == "" {
			return nil, nil, failed(errUncollected("columns", id))
		}
		for _, name := range sortedKeys(granted[id]) {
			f, err := fieldOf(e, name, rule)
			if err != nil {
				return nil, nil, err
			}
			class, ok := semantic.ParseVisibility(granted[id][name])
			if !ok {
				return nil, nil, diag.New(diag.PolicyUnsay, "a column's class is output, filter, join or private; columns.%s says another word", id).At(rulePos(rule))
			}
			if old, ok := out[f.Name.Key()]; ok {
				class = max(class, old.Class)
			}
			out[f.Name.Key()] = policy.ColumnAccess{Class: min(class, f.Visibility)}
		}
		if len(granted[id]) > 0 {
			applied = append(applied, rule)
		}
	}
	return out, applied, nil
}

// modelMasks puts the model's masks over the listed columns, for every subject.
func (p *Policy) modelMasks(ctx context.Context, e *semantic.Entity, columns map[string]policy.ColumnAccess) error {
	for _, f := range e.Fields {
		column, ok := columns[f.Name.Key()]
		if !ok || f.Mask == nil {
			continue
		}
		var err error
		if column.Mask, err = p.modelMask(ctx, e, f); err != nil {
			return err
		}
		columns[f.Name.Key()] = column
	}
	return nil
}

// modelMask prints the mask that the model puts on a field.
func (p *Policy) modelMask(ctx context.Context, e *semantic.Entity, f *semantic.Field) (*policy.Mask, error) {
	rule := policy.RuleRef{ID: modelRule, File: f.Mask.Pos.File, Line: f.Mask.Pos.Line}
	return p.maskOf(ctx, *f.Mask, e, f, rule, nil)
}

// modelRule names the model where it, and no rule of the policy, masks a field.
const modelRule = "model"

// masks puts the policy's masks over the listed columns, each on the model's mask
// where there is one. A mask on a column that is not listed changes nothing: it
// stays hidden.
func (p *Policy) masks(ctx context.Context, e *semantic.Entity, answer map[string]map[string]maskSpec, columns map[string]policy.ColumnAccess) ([]policy.RuleRef, error) {
	var applied []policy.RuleRef
	model := make(map[string]*policy.Mask, len(columns))
	for key, column := range columns {
		model[key] = column.Mask
	}
	for _, id := range sortedKeys(answer) {
		rule := p.rules.ref(accessPackage, "masks", id)
		if rule.File == "" {
			return nil, failed(errUncollected("masks", id))
		}
		for _, name := range sortedKeys(answer[id]) {
			f, err := fieldOf(e, name, rule)
			if err != nil {
				return nil, err
			}
			column, ok := columns[f.Name.Key()]
			if !ok {
				continue
			}
			under := model[f.Name.Key()]
			m, err := p.maskOf(ctx, answer[id][name].mask(), e, f, rule, under)
			if err != nil {
				return nil, err
			}
			if old := column.Mask; old != under && (old.SQL != m.SQL || old.Filterable != m.Filterable) {
				return nil, diag.New(diag.PolicyUnsay, "a column has one mask; masks.%s and masks.%s mask the same column in two ways", old.Rule.ID, id).At(rulePos(rule))
			}
			column.Mask = m
			columns[f.Name.Key()] = column
		}
		if len(answer[id]) > 0 {
			applied = append(applied, rule)
		}
	}
	return applied, nil
}

// fieldOf finds a field that a rule names, exactly as the model spells it.
func fieldOf(e *semantic.Entity, name string, rule policy.RuleRef) (*semantic.Field, error) {
	f := e.Field(semantic.Name(name))
	if f == nil || string(f.Name) != name {
		return nil, diag.New(diag.PolicyUnsay, "a rule names fields that the entity has, as the model spells them; rule %s names another", rule.ID).At(rulePos(rule))
	}
	return f, nil
}

func rulePos(r policy.RuleRef) diag.Pos { return diag.Pos{File: r.File, Line: r.Line} }
