package opa

import (
	"context"
	"time"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// Account is what each rule about one entity says for one subject. It names what
// the subject may not see, so it is for those who write policies and for no caller.
type Account struct {
	Access  policy.EntityAccess // as Entity gives it
	Visible []policy.RuleRef    // the rules that make it visible
	Columns map[string][]Grant  // by field key: what each columns rule says
}

// Grant is one field as one columns rule opens it, before the model's own bound.
type Grant struct {
	Rule  policy.RuleRef
	Class semantic.Visibility
}

// Account asks the rules about one entity. Its errors are those of Entity, with the
// detail that a policy's author needs; what single rules say is given beside them
// where it could be found out.
func (p *Policy) Account(ctx context.Context, s policy.Subject, now time.Time, e *semantic.Entity) (Account, error) {
	out := Account{Columns: map[string][]Grant{}}
	access, err := p.decideEntity(ctx, s, now, e)
	if err != nil && diag.CodeOf(err) != diag.PolicyUnsay {
		return out, err
	}
	out.Access = access
	if err == nil {
		if out.Access.Logged, err = p.entityTrials(ctx, s, now, e, access); ctx.Err() != nil {
			return out, err
		}
		err = nil // what trials fail by is among what is logged
	}
	input, inputErr := inputValue(accessInput{Subject: s, Now: moment(now), Entity: describe(e)})
	if inputErr != nil {
		return out, inputErr
	}
	var said accessAnswer
	if evalErr := p.evaluate(ctx, p.entity, input, &said); evalErr != nil {
		return out, evalErr
	}
	for _, id := range sortedKeys(said.Visible) {
		if said.Visible[id] {
			out.Visible = append(out.Visible, p.rules.ref(accessPackage, "visible", id))
		}
	}
	for _, id := range sortedKeys(said.Columns) {
		for name, word := range said.Columns[id] {
			if class, ok := semantic.ParseVisibility(word); ok {
				key := semantic.Name(name).Key()
				out.Columns[key] = append(out.Columns[key], Grant{p.rules.ref(accessPackage, "columns", id), class})
			}
		}
	}
	return out, err
}

// AccessRules lists the rules of a document of package access: visible, columns,
// masks, all_rows or rows; sorted by id.
func (p *Policy) AccessRules(document string) []policy.RuleRef {
	return p.rules.of(accessPackage, document)
}
