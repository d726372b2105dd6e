package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"plumbline/policy"
	"plumbline/semantic"
	"plumbline/semantic/diag"
)

// toolCheck is the tool of CheckData's questions in the audit record.
const toolCheck = "check_data"

// CheckData asks whether the data keep what the models promise: primary keys
// that do not repeat, and partners that complete relationships always find. The
// questions pass the whole pipeline as the given subject, so they see no more
// than it does; give one that sees every row. Broken promises come all at once,
// as model.data at the model's place; no value of the data is told.
func (e *Engine) CheckData(ctx context.Context, s policy.Subject) error {
	w, release := e.world()
	defer release()
	var broken diag.List
	for _, entity := range w.catalog.Entities {
		if len(entity.PrimaryKey) > 0 {
			n, err := e.count(ctx, s, repeated(entity))
			if err != nil {
				return err
			}
			if n != "0" {
				broken = append(broken, diag.New(diag.ModelData, "the primary key of %q does not repeat, but %s of its values do", entity.Name, n).
					At(entity.Pos).WithHint("a metric that reaches it would count rows several times: correct the data or the key"))
			}
		}
		for _, r := range entity.Relationships {
			if !r.Complete {
				continue
			}
			n, err := e.count(ctx, s, orphans(entity, r))
			if err != nil {
				return err
			}
			if n != "0" {
				broken = append(broken, diag.New(diag.ModelData, "relationship %q of %q is declared complete, but %s of its rows find no partner", r.Name, entity.Name, n).
					At(r.Pos).WithHint("such rows would vanish from answers: correct the data, or leave complete out"))
			}
		}
	}
	return broken.Err()
}

// repeated counts the key values that stand in more than one row; a key with a
// NULL in it meets nothing and does not count.
func repeated(e *semantic.Entity) string {
	var keys, known []string
	for _, k := range e.PrimaryKey {
		keys = append(keys, semantic.Quote(string(k)))
		known = append(known, semantic.Quote(string(k))+" IS NOT NULL")
	}
	return fmt.Sprintf("SELECT count(*) AS n FROM (SELECT 1 AS one FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1) AS k",
		semantic.Quote(string(e.Name)), strings.Join(known, " AND "), strings.Join(keys, ", "))
}

// orphans counts the rows of e that find no partner over r.
func orphans(e *semantic.Entity, r *semantic.Relationship) string {
	var on []string
	for _, p := range r.On {
		on = append(on, `"p".`+semantic.Quote(string(p.To))+` = "e".`+semantic.Quote(string(p.From)))
	}
	return fmt.Sprintf(`SELECT count(*) AS n FROM %s AS "e" WHERE NOT EXISTS (SELECT 1 FROM %s AS "p" WHERE %s)`,
		semantic.Quote(string(e.Name)), semantic.Quote(string(r.To)), strings.Join(on, " AND "))
}

// count asks one question of ours and gives its one number.
func (e *Engine) count(ctx context.Context, s policy.Subject, text string) (string, error) {
	asked, err := json.Marshal(map[string]string{"sql": text})
	if err != nil {
		return "", err
	}
	ans, err := e.Answer(ctx, Request{Tool: toolCheck, Subject: s, SQL: text, Asked: asked, ours: true})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(ans.Table.Rows[0][0]), nil
}
