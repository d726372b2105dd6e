package engine

import (
	"context"

	"plumbline/policy"
	"plumbline/semantic/diag"
)

// frontDoor are texts that the engine itself must refuse before anything runs.
var frontDoor = []string{
	`COPY (SELECT 1) TO 'plumbline_self_test.csv'`,
	`CREATE TABLE plumbline_self_test AS SELECT 1`,
	`SELECT * FROM read_text('/etc/hostname')`,
	`SELECT * FROM '/etc/hostname'`,
	`SELECT * FROM glob('/*')`,
	`ATTACH ':memory:' AS self_test`,
	`SELECT 1; SELECT 2`,
}

// selfTest shows, before the first caller is served, that a write and an outside
// read are refused, through the front door and by a worker itself.
func (e *Engine) selfTest(ctx context.Context, attempts []string) error {
	for i, text := range attempts {
		s := policy.Subject{ID: "self-test", Roles: []string{}, Claims: map[string]any{}}
		_, err := e.Answer(ctx, Request{Tool: ToolSQL, Subject: s, SQL: text})
		switch code := diag.CodeOf(err); code {
		case diag.ParseReadOnly, diag.ParseStatements, diag.ResolveUnknown, diag.ResolveFunction, diag.UnsupportedNode, diag.UnsupportedText, diag.ParseSyntax:
		default:
			return diag.Wrap(err, diag.ConfigSelfTest, "front-door attempt %d was not refused as it must be (got %q)", i+1, code).
				WithHint("do not serve; report it")
		}
	}
	return e.Pool().SelfTest(ctx)
}
